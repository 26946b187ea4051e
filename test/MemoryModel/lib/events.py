"""What threads do to memory: events, and the order in which a program has them."""

from __future__ import annotations

from dataclasses import dataclass, field

INITIAL = "initial"  # the thread of the writes that were there before


@dataclass
class Place:
    """What an operand in brackets stands for: an address, and its state space."""

    address: str
    space: str = "global"


@dataclass
class Event:
    """A read, a write, a fence, or a point in time of a thread."""

    number: int
    thread: str
    block: str
    grid: str
    kind: str  # "read", "write", "fence", "proxy fence", "point", or "boundary" of a grid
    text: str
    line: int = -1  # of the instruction in its entry
    place: str = ""  # the bytes
    address: str = ""  # the virtual address through which they are reached
    space: str = ""  # state space of the place, or the only one that a proxy fence is for
    # Through which memory is accessed, or between which and the generic one a fence stands.
    proxy: str = "generic"
    strong: bool = False
    scope: str = ""
    acquires: bool = False
    releases: bool = False
    is_sc: bool = False
    direction: str = "both"  # of a proxy fence: "both", "release", "acquire"
    value: object = None  # written or read: a number or a z3 term
    only_reduces: bool = False  # the read of a `red`, which forms no acquire pattern (8.11.1)
    is_asynchronous: bool = False  # started by the thread, but not in its program order (8.9.1.1)

    @property
    def in_memory(self) -> bool:
        return self.kind in ("read", "write")


@dataclass
class Program:
    """Events and what is known of their order before anything runs."""

    events: list[Event] = field(default_factory=list)
    # Program order, and what is cited beside each use.
    order: list[tuple[int, int]] = field(default_factory=list)
    # A point of a thread, an asynchronous event that it starts.
    started: list[tuple[int, int]] = field(default_factory=list)
    synchronized: list[tuple[int, int]] = field(default_factory=list)
    # The write of the read of a read-modify-write.
    atomic: dict[int, int] = field(default_factory=dict)
    depends: list[tuple[int, int]] = field(default_factory=list)
    # What an execution has to satisfy, such as a loop that ends.
    required: list = field(default_factory=list)
    initial: dict[str, int] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)  # of addresses that are aliases
    meetings: dict[object, dict[str, list[int]]] = field(default_factory=dict)
    # Whether the question is about values, or only about which thread observes which.
    has_values: bool = True
    begins: dict[str, Event] = field(default_factory=dict)  # of grids that follow another

    def add(self, **fields) -> Event:
        event = Event(len(self.events), **fields)
        self.events.append(event)
        return event

    def program_order(self, thread: str) -> list[Event]:
        return [
            event for event in self.events if event.thread == thread and not event.is_asynchronous
        ]

    def end_grid(self, grid: str, following: str) -> None:
        """All threads of a grid are before its end, and that is before the start of all threads of
        the next (8.9.4)."""
        end = self.add(
            thread=f"end of {grid}", block="", grid=grid, kind="boundary", text=f"{grid} ends"
        )
        begin = self.add(
            thread=f"start of {following}",
            block="",
            grid=following,
            kind="boundary",
            text=f"{following} starts",
        )
        self.order += [
            (event.number, end.number)
            for event in self.events
            if event.grid == grid and not event.is_asynchronous and event is not end
        ]
        self.order.append((end.number, begin.number))
        self.begins[following] = begin

    def meet(self, key: object, event: Event, side: str) -> None:
        """`event` releases ("gives") or acquires ("takes") at a barrier: all who give are before
        all who take (8.9.4)."""
        meeting = self.meetings.setdefault(key, {"gives": [], "takes": []})
        for other in meeting["takes" if side == "gives" else "gives"]:
            pair = (event.number, other) if side == "gives" else (other, event.number)
            if self._sees(*pair):
                self.synchronized.append(pair)
        meeting[side].append(event.number)

    def _sees(self, giver: int, taker: int) -> bool:
        """Whether scopes of both include the other."""
        first, second = self.events[giver], self.events[taker]
        return (
            first.releases
            and second.acquires
            and in_scope(first, second)
            and in_scope(second, first)
        )


def in_scope(event: Event, other: Event) -> bool:
    """Whether `other` runs in a thread that the scope of `event` includes (8.5). Blocks here have
    clusters of their own, and all grids run on one device."""
    if event.scope in ("cta", "cluster"):
        return event.block == other.block and event.grid == other.grid
    return event.scope in ("gpu", "sys")


def morally_strong(first: Event, second: Event) -> bool:
    """8.7: related in program order, or both strong with scopes that include each other; via one
    proxy; overlapping completely."""
    if first.proxy != second.proxy or (
        first.in_memory and second.in_memory and first.address != second.address
    ):
        return False
    if first.thread == second.thread and not first.is_asynchronous and not second.is_asynchronous:
        return True
    return first.strong and second.strong and in_scope(first, second) and in_scope(second, first)
