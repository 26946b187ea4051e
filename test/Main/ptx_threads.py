"""What threads of a block know, and what they have under way: vector clocks, barriers that carry
them on, groups of copies and products."""

from __future__ import annotations

from dataclasses import dataclass, field

from ptx_text import Wrong

WARPS_OF_GROUP, LANES = 4, 32


@dataclass
class Access:
    """Bytes that a thread has used, at its time. A write by a thread's own store is `plain`: copies
    and products see it only behind a proxy fence."""

    begin: int
    end: int
    thread: Thread
    time: int
    writes: bool
    text: str
    plain: bool = False
    fences: int = 0


@dataclass
class Group:
    """Products or copies that are waited for together."""

    registers: set[str] = field(default_factory=set)
    reads: list[Access] = field(default_factory=list)


@dataclass
class Thread:
    number: int
    tid: int
    stands_for: int  # threads of the block
    clock: list[int]
    at: int = 0
    registers: dict[str, int] = field(default_factory=dict)
    waits_for: object = None
    open_products: Group = field(default_factory=Group)
    products: list[Group] = field(default_factory=list)
    open_copies: Group = field(default_factory=Group)
    copies: list[Group] = field(default_factory=list)
    fences: int = 0
    sleeps: bool = False
    done: bool = False

    def reads_in_flight(self) -> list[Access]:
        groups = [self.open_products, *self.products, self.open_copies, *self.copies]
        return [read for group in groups for read in group.reads]

    def joins(self, clock: list[int]) -> None:
        self.clock = [max(a, b) for a, b in zip(self.clock, clock)]


@dataclass
class Barrier:
    """An mbarrier: a thread that has waited for a phase knows what its arrivals knew."""

    arrivals: int
    clock: list[int]
    pending: int = 0
    bytes: int = 0
    phases: int = 0
    gathered: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.pending, self.gathered = self.arrivals, list(self.clock)

    def tell(self, thread: Thread) -> None:
        self.gathered = [max(a, b) for a, b in zip(self.gathered, thread.clock)]
        thread.clock[thread.number] += 1

    def settle(self) -> None:
        if self.pending < 0:
            raise Wrong("more arrivals at a barrier than its phase has")
        if self.pending == 0 and self.bytes == 0:
            self.phases, self.pending, self.clock = (
                self.phases + 1,
                self.arrivals,
                list(self.gathered),
            )
