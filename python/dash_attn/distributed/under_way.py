"""Exchanges that a device does while the host goes on: which one it waits in, and since when."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


# An exchange more drops the oldest one. Threads that look drop those that have ended before.
MOST = 4096


class Recorded:
    """An event of a device, for threads that ask whether it has happened. Another thread that
    captures a graph goes on capturing: `driver` sees to it (`Driver.in_captures`). `on_device` is a
    context in which the event's device is the thread's own, or it would open one on device 0."""

    def __init__(self, event: Any, driver: Any, on_device: Callable[[], Any]) -> None:
        self._event, self._driver, self._on_device = event, driver, on_device

    def query(self) -> bool:
        with self._on_device(), self._driver.in_captures():
            return self._event.query()


@dataclass
class Exchanged:
    """where: for people; call: of attention, counted from 1; event: behind it on its stream; since:
    seconds of the host's clock when it was first seen to be the first, or 0."""

    where: str
    call: int
    event: Any
    since: float = 0.0


class UnderWay:
    """Those of one stream, oldest first. Several threads may look."""

    def __init__(self) -> None:
        self._exchanges, self._lock = deque[Exchanged](maxlen=MOST), threading.Lock()

    def add(self, where: str, call: int, event: Any) -> None:
        with self._lock:
            self._exchanges.append(Exchanged(where, call, event))

    def front(self) -> Exchanged | None:
        """The first one that has not ended."""
        with self._lock:
            while self._exchanges:
                one = self._exchanges[0]
                if not one.event.query():
                    one.since = one.since or time.monotonic()
                    return one
                self._exchanges.popleft()
        return None
