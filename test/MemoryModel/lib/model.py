"""The axioms of PTX ISA chapter 8, as formulas over what each read observes and over the coherence
order."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import z3

from events import INITIAL, Event, Program, morally_strong
from orders import Condition, Order, both, either, implies, negated
from proxies import Proxies

AXIOMS = {
    "coherence": (
        "8.10.1",
        (
            "a write that precedes an overlapping one in causality order precedes it in coherence"
            " order"
        ),
    ),
    "fence-sc": ("8.10.2", "the order of fence.sc cannot contradict causality order"),
    "atomicity": (
        "8.10.3",
        "no write comes between the read and the write of a morally strong read-modify-write",
    ),
    "no thin air": ("8.10.4", "what reads observe and what depends on them has no cycle"),
    "location": (
        "8.10.5",
        (
            "communication between morally strong operations cannot contradict program order on one"
            " location"
        ),
    ),
    "causality": ("8.10.6", "communication order cannot contradict causality order"),
}


@dataclass(frozen=True)
class Rules:
    """What is assumed beside the axioms."""

    reading: str = "path"  # of proxy fences, see proxies.py
    completes_with_fence: bool = True  # RULES["fence"]


class Model:
    """All executions of a program that the axioms allow."""

    def __init__(self, program: Program, rules: Rules = Rules(), without: str = ""):
        self.program, self.rules = program, rules
        self.events = list(program.events)
        self.solver = z3.Solver()
        self._add_initial_writes()
        self.reads = [event for event in self.events if event.kind == "read"]
        self.writes = [event for event in self.events if event.kind == "write"]
        self.reads_from = {
            (write.number, read.number): z3.Bool(f"rf {write.number} {read.number}")
            for read in self.reads
            for write in self.writes
            if write.place == read.place
        }
        self._observation()
        self._base_causality()
        self.proxies = Proxies(
            [event for event in self.events if self._counts(event)],
            self.base,
            self.base_before,
            rules.reading,
        )
        self._coherence_order(without)
        for axiom in AXIOMS:
            for term in (
                getattr(self, "_" + axiom.replace(" ", "_").replace("-", "_"))()
                if axiom != without
                else ()
            ):
                self.require(term)
        self.solver.add(*program.required)

    def _counts(self, event: Event) -> bool:
        return self.rules.completes_with_fence or not (
            event.kind == "proxy fence" and event.text.endswith("(completes)")
        )

    def _add_initial_writes(self) -> None:
        places = {event.place for event in self.events if event.in_memory}
        for place in sorted(places):
            self.events.append(
                Event(
                    len(self.events),
                    INITIAL,
                    "",
                    "",
                    "write",
                    f"{place} is {self.program.initial.get(place, 0)}",
                    place=place,
                    address=place,
                    value=self.program.initial.get(place, 0),
                )
            )

    # ---- Orders.

    def _observation(self) -> None:
        """8.9.2: a strong write is observed by a strong read, or through read-modify-writes between
        them."""
        self.solver.add(
            *(
                z3.PbEq(
                    [
                        (self.reads_from[w.number, r.number], 1)
                        for w in self.writes
                        if w.place == r.place
                    ],
                    1,
                )
                for r in self.reads
            )
        )
        if self.program.has_values:
            self.solver.add(
                *(
                    z3.Implies(chosen, self.events[w].value == self.events[r].value)
                    for (w, r), chosen in self.reads_from.items()
                )
            )
        strong = [
            pair
            for pair in self.reads_from
            if self.events[pair[0]].strong
            and morally_strong(self.events[pair[0]], self.events[pair[1]])
        ]
        seen = {pair: self.reads_from[pair] for pair in strong}
        atomic = self.program.atomic
        for read in atomic:  # Warshall over read-modify-writes
            inwards = [(w, term) for (w, r), term in seen.items() if r == read]
            outwards = [(r, term) for (w, r), term in seen.items() if w == atomic[read]]
            for w, left in inwards:
                for r, right in outwards:
                    if r != read and w != atomic[read]:
                        seen[w, r] = either([seen.get((w, r), False), both(left, right)])
        self.observed: dict[tuple[int, int], Condition] = seen

    def _patterns(self) -> tuple[list, list]:
        """8.8: release patterns as (first, write), acquire patterns as (read, last)."""
        releases, acquires = [], []
        threads = sorted({event.thread for event in self.program.events})
        for thread in threads:
            order = self.program.program_order(thread)
            for i, event in enumerate(order):
                later = order[i + 1 :]
                if event.kind == "write" and event.releases:
                    releases += [
                        (event, write)
                        for write in [event, *later]
                        if write.kind == "write" and write.strong and write.address == event.address
                    ]
                elif event.kind == "fence" and event.releases:
                    releases += [
                        (event, write) for write in later if write.kind == "write" and write.strong
                    ]
                if event.kind == "read" and event.strong and not event.only_reduces:
                    acquires += [
                        (event, last)
                        for last in [event, *later]
                        if last.acquires
                        and (
                            last.kind == "fence"
                            or last.kind == "read"
                            and last.address == event.address
                        )
                    ]
        return releases, acquires

    def _base_causality(self) -> None:
        """8.9.5: program order and synchronization, closed; behind it what asynchronous operations
        are started by."""
        conditional = []
        releases, acquires = self._patterns()
        for first, write in releases:
            for read, last in acquires:
                if first.thread != last.thread and morally_strong(first, last):
                    conditional.append(
                        (
                            first.number,
                            last.number,
                            self.observed.get((write.number, read.number), False),
                        )
                    )
        sc_fences = [event for event in self.events if event.is_sc]
        self.sc_rank = {event.number: z3.Int(f"sc {event.number}") for event in sc_fences}
        self.sc_pairs = [
            (a, b) for a in sc_fences for b in sc_fences if a is not b and morally_strong(a, b)
        ]
        conditional += [(a.number, b.number, self.sc_before(a, b)) for a, b in self.sc_pairs]
        if self.sc_rank:
            self.solver.add(z3.Distinct(*self.sc_rank.values()))
        order = self.program.order + self.program.synchronized
        self.base = Order(len(self.events), order, conditional)
        self.starts: dict[int, list[int]] = {}
        for begin, event in self.program.started:
            self.starts.setdefault(event, []).append(begin)

    def sc_before(self, first: Event, second: Event) -> Condition:
        return self.sc_rank[first.number] < self.sc_rank[second.number]

    @cache
    def _before(self, first: int, second: int) -> Condition:
        ways = [self.base.before(first, second)]
        ways += [
            True if first == begin else self.base.before(first, begin)
            for begin in self.starts.get(second, ())
        ]
        return either(ways)

    def base_before(self, first: Event, second: Event) -> Condition:
        return self._before(first.number, second.number)

    @cache
    def _cause(self, first: int, second: int) -> Condition:
        """8.9.5: the order that proxies keep, or an observation and that order behind it."""
        a, b = self.events[first], self.events[second]
        direct = (
            self.proxies.keeps(a, b)
            if a.in_memory and b.in_memory and a.place == b.place
            else self.base_before(a, b)
            if not (a.in_memory and b.in_memory)
            else False
        )
        ways = [direct]
        for (write, read), seen in self.observed.items():
            if write == first and read != second and self.events[read].place == b.place:
                ways.append(both(seen, self.proxies.keeps(self.events[read], b)))
        return either(ways)

    def cause(self, first: Event, second: Event) -> Condition:
        return self._cause(first.number, second.number)

    def _coherence_order(self, without: str) -> None:
        """8.9.6: a partial order of the writes of a place, total where they are morally strong."""
        pairs = [
            (a, b) for a in self.writes for b in self.writes if a is not b and a.place == b.place
        ]
        self.coherent: dict[tuple[int, int], Condition] = {}
        for a, b in pairs:
            known = without != "coherence"
            if INITIAL in (a.thread, b.thread):
                term: Condition = a.thread == INITIAL
            elif known and self.cause(a, b) is True:
                term = True
            elif known and self.cause(b, a) is True:
                term = False
            else:
                term = z3.Bool(f"co {a.number} {b.number}")
            self.coherent[a.number, b.number] = term
        for (a, b), term in self.coherent.items():
            if a < b:
                self.require(negated(both(term, self.coherent[b, a])))
                if morally_strong(self.events[a], self.events[b]):
                    self.require(either([term, self.coherent[b, a]]))
        for a, b in pairs:
            for c in self.writes:
                if c.place == a.place and c is not a and c is not b:
                    way = both(self.coherent[a.number, b.number], self.coherent[b.number, c.number])
                    self.require(implies(way, self.coherent[a.number, c.number]))

    @cache
    def _from_read(self, read: int, write: int) -> Condition:
        place = self.events[read].place
        return either(
            both(self.reads_from[other.number, read], self.coherent[other.number, write])
            for other in self.writes
            if other.place == place and other.number != write
        )

    def from_read(self, read: Event, write: Event) -> Condition:
        """8.9.7: the read observes a write that precedes this one in coherence order."""
        return self._from_read(read.number, write.number)

    # ---- Axioms.

    def _coherence(self):
        return [
            implies(self.cause(a, b), self.coherent[a.number, b.number])
            for a in self.writes
            for b in self.writes
            if a is not b and a.place == b.place
        ]

    def _fence_sc(self):
        return [
            negated(both(self.sc_before(a, b), self._before(b.number, a.number)))
            for a, b in self.sc_pairs
        ]

    def _atomicity(self):
        for read, write in self.program.atomic.items():
            for other in self.writes:
                if (
                    other.number != write
                    and other.place == self.events[write].place
                    and morally_strong(self.events[write], other)
                ):
                    yield negated(
                        both(
                            self.from_read(self.events[read], other),
                            self.coherent[other.number, write],
                        )
                    )

    def _no_thin_air(self):
        sources, targets = (
            {a for a, _ in self.program.depends},
            {b for _, b in self.program.depends},
        )
        yield from (
            implies(chosen, self.rank("air", w) < self.rank("air", r))
            for (w, r), chosen in self.reads_from.items()
            if w in targets and r in sources
        )
        yield from (self.rank("air", a) < self.rank("air", b) for a, b in self.program.depends)

    def _location(self):
        for thread in {event.thread for event in self.program.events}:
            order = [event for event in self.program.program_order(thread) if event.in_memory]
            yield from (
                self.rank("at", a.number) < self.rank("at", b.number)
                for i, a in enumerate(order)
                for b in order[i + 1 :]
                if a.address == b.address
            )
        for a, b, term in self.communication(lambda a, b: morally_strong(a, b)):
            yield implies(term(), self.rank("at", a.number) < self.rank("at", b.number))

    def _causality(self):
        for a, b, term in self.communication(lambda a, b: self.cause(b, a) is not False):
            yield negated(both(term(), self.cause(b, a)))
        yield from (negated(self.cause(event, event)) for event in self.events if event.in_memory)

    def communication(self, asked):
        """8.9.7: pairs that are asked for, with their condition, which is made on demand."""
        accesses: dict[str, list[Event]] = {}
        for event in self.reads + self.writes:
            accesses.setdefault(event.place, []).append(event)
        for a in self.reads + self.writes:
            for b in accesses[a.place]:
                if a is not b and "write" in (a.kind, b.kind) and asked(a, b):
                    if a.kind == "read":
                        if self.program.atomic.get(a.number) != b.number:
                            yield a, b, lambda a=a, b=b: self.from_read(a, b)
                    else:
                        table = self.reads_from if b.kind == "read" else self.coherent
                        yield a, b, lambda table=table, a=a, b=b: table[a.number, b.number]

    def rank(self, kind: str, event: int):
        return z3.Int(f"{kind} {event}")

    def require(self, term: Condition) -> None:
        if term is not True:
            self.solver.add(term)

    # ---- Questions.

    def final(self, place: str):
        """8.9.6: the value of a last write; where writes race there may be several."""
        value = z3.Int(f"final {place}")
        writes = [write for write in self.writes if write.place == place]
        self.require(
            either(
                both(
                    value == write.value,
                    *(
                        negated(self.coherent[write.number, other.number])
                        for other in writes
                        if other is not write
                    ),
                )
                for write in writes
            )
        )
        return value

    def allows(self, *outcome) -> z3.ModelRef | None:
        """An execution with this outcome, if the axioms allow one."""
        self.solver.push()
        self.solver.add(*outcome)
        found = self.solver.model() if self.solver.check() == z3.sat else None
        self.solver.pop()
        return found

    def first_execution(self, place: str, *outcome) -> z3.ModelRef | None:
        """The one whose reads of a place observe the earliest writes, and whose last write is the
        latest possible: the same with every solver."""
        fixed, found = list(outcome), self.allows(*outcome)
        if found is None:
            return None
        writes = sorted(
            (write for write in self.writes if write.place == place),
            key=lambda write: write.thread != INITIAL,
        )
        for read in self.reads:
            for term in (
                self.reads_from[write.number, read.number]
                for write in writes
                if read.place == place
            ):
                if (better := self.allows(*fixed, term)) is not None:
                    fixed, found = [*fixed, term], better
                    break
        for write in reversed(writes):
            if (better := self.allows(*fixed, self.final(place) == write.value)) is not None:
                return better
        return found

    def source(self, execution: z3.ModelRef, read: Event) -> Event:
        """Which write a read observes in an execution."""
        return next(
            self.events[w]
            for (w, r), chosen in self.reads_from.items()
            if r == read.number and z3.is_true(execution.eval(chosen, model_completion=True))
        )
