"""mbarriers, and the named barriers of a block."""

from __future__ import annotations

from dataclasses import dataclass

from ptx_text import Wrong


@dataclass
class Barrier:
    """A phase ends when all have arrived and all bytes are there."""

    arrivals: int
    pending: int
    bytes: int = 0
    phase: int = 0

    def arrive(self, count: int = 1, expected_bytes: int = 0) -> None:
        self.bytes += expected_bytes
        self.pending -= count
        if self.pending < 0:
            raise Wrong("arrives at a barrier whose phase expects no more arrivals")
        self.settle()

    def complete(self, size: int) -> None:
        self.bytes -= size
        self.settle()

    def settle(self) -> None:
        if self.pending == 0 and self.bytes == 0:
            self.phase, self.pending = self.phase + 1, self.arrivals


class Meeting:
    """The threads that come to a named barrier next: open until as many have come as it wants."""

    def __init__(self, wanted: int):
        self.wanted, self.count = wanted, 0

    def is_over(self) -> bool:
        return self.count >= self.wanted


class Meetings:
    """Those of a block."""

    def __init__(self) -> None:
        self.open: dict[int, Meeting] = {}

    def arrive(self, number: int, wanted: int, threads: int) -> Meeting:
        meeting = self.open.setdefault(number, Meeting(wanted))
        if meeting.wanted != wanted or wanted % threads:
            raise Wrong(
                f"comes to barrier {number} for {wanted} threads, others for {meeting.wanted}"
            )
        meeting.count += threads
        if meeting.is_over():
            del self.open[number]
        return meeting
