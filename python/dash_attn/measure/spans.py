"""Traces: spans of what roles did and waited for, out of the region `trace` of a kernel that was
built with one."""

from __future__ import annotations

import statistics
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

# Which events a trace of a level has, in its records.
ITEM = ("item", "item_end")
EVENTS = {"items": ITEM, "turns": (*ITEM, "turn", "given")}
RECORD, HEADS, WORKER_BITS, CLOCK = struct.Struct("<4I"), 2, 20, 1 << 32


@dataclass(frozen=True)
class Span:
    """begin, end: nanoseconds since the first lane began. of: a channel, or a product. number: a
    use, or an item. turn: of event `turn`."""

    event: str
    of: str
    begin: float
    end: float
    number: int
    turn: int


def traced_items(count: int, every: int) -> range:
    """The places in a worker's list of `count` items of those that have records: of each `every`
    the second, or the only one."""
    return range(min(1, count - 1) if every > 1 and count else 0, count, every)


@dataclass
class Lane:
    """One thread of a role. lost: records that it had no room for, the last ones. every: items
    that have records are `traced_items` of the worker's list."""

    worker: int
    name: str
    multiprocessor: int
    begin: float
    end: float
    lost: int
    spans: list[Span] = field(default_factory=list)
    every: int = 1

    @property
    def role(self) -> str:
        return self.name.partition(" ")[0]

    @property
    def traced(self) -> float:
        """Nanoseconds that records are of: all, or where not all items have records, those of the
        ones that do. One whose end had no room counts up to its last record."""
        if self.every == 1:
            return self.end - self.begin
        time, since = 0.0, None
        for span in self.spans:
            if span.event == "item":
                since = span.begin
            elif span.event == "item_end" and since is not None:
                time, since = time + span.end - since, None
        return time + (0.0 if since is None else self.spans[-1].end - since)


@dataclass(frozen=True)
class _Raw:
    place: str
    name: str
    begin: tuple[int, ...]
    end: tuple[int, ...]
    records: list[tuple[int, ...]]

    def cycles(self, clock: int, before: int) -> int:
        """Cycles since the lane began, of a clock that was read within 2^31 cycles behind
        `before`."""
        return before + (clock - self.begin[2] - before) % CLOCK


def decode(data: bytes, manifest: Mapping[str, Any]) -> list[Lane]:
    """The lanes of all workers. Raises ValueError, with the place, where the region is none, is
    cut, or was not written to its end."""
    trace = manifest.get("trace")
    if not trace:
        raise ValueError(
            f"the manifest of {manifest.get('name')!r}: expected a kernel with a trace, found none;"
            " build it with trace=items, turns or all"
        )
    lanes, room = trace["lanes"], trace["records"]
    worker_bytes = RECORD.size * room * len(lanes)
    if not data or len(data) % worker_bytes:
        raise ValueError(
            f"the region 'trace' has {len(data)} bytes: expected {worker_bytes} for each worker; it"
            " is cut, or of another kernel"
        )
    raw = [
        _read(data, number, name, room, f"worker {number // len(lanes)}, lane '{name}'")
        for number, name in enumerate(lanes * (len(data) // worker_bytes))
    ]
    return _in_time(raw, len(lanes), trace)


def _read(data: bytes, number: int, name: str, room: int, place: str) -> _Raw:
    at = RECORD.size * room * number
    begin, end = RECORD.unpack_from(data, at), RECORD.unpack_from(data, at + RECORD.size)
    if not any(begin):
        raise ValueError(
            f"{place}: expected a record of its beginning, found zeros: no kernel has written the"
            " region"
        )
    if not any(end):
        raise ValueError(
            f"{place}: has begun and not ended: the kernel was still running, or was ended"
        )
    if end[3] < HEADS:
        raise ValueError(
            f"{place}: expected at least {HEADS} records, found {end[3]}: the region is of another"
            " kernel"
        )
    stored = data[at + RECORD.size * HEADS : at + RECORD.size * min(end[3], room)]
    return _Raw(place, name, begin, end, list(RECORD.iter_unpack(stored)))


def _in_time(raw: Sequence[_Raw], lanes: int, trace: Mapping[str, Any]) -> list[Lane]:
    """Clocks are a multiprocessor's own, and exact; times are those of all, and coarse. So one
    gives lengths, and the other where they begin."""
    lengths, decoded = [], []
    for one in raw:
        cycles, spans = 0, []
        for number, (now, since, what, value) in enumerate(one.records, HEADS):
            event, of = what & 0xFF, what >> 8 & 0xFF
            if event >= len(trace["events"]) or of > len(trace["names"]):
                raise ValueError(
                    f"{one.place}, record {number}: expected an event and a name that the manifest"
                    f" has, found {event} and {of}: the region is cut, or of another kernel"
                )
            if trace["events"][event] not in EVENTS.get(trace.get("level"), trace["events"]):
                raise ValueError(
                    f"{one.place}, record {number}: expected an event of a trace of level"
                    f" '{trace['level']}', found '{trace['events'][event]}': the region is of"
                    " another kernel"
                )
            behind = one.cycles(now, cycles)
            if behind - cycles >= CLOCK // 2:
                raise ValueError(
                    f"{one.place}, record {number}: its clock goes back: the region is cut, or of"
                    " another kernel"
                )
            cycles = behind
            spans.append(
                (
                    trace["events"][event],
                    trace["names"][of - 1] if of else "",
                    cycles - (now - since) % CLOCK,
                    cycles,
                    value,
                    what >> 16,
                )
            )
        lengths.append(one.cycles(one.end[2], cycles))
        decoded.append(spans)
    times = [(one.begin[0] | one.begin[1] << 32, one.end[0] | one.end[1] << 32) for one in raw]
    rates = [(end - begin) / length for (begin, end), length in zip(times, lengths) if length]
    average = statistics.median(rates) if rates else 1.0
    if average <= 0:
        raise ValueError(
            f"times of lanes: expected ends behind beginnings, found {average:g} ns a cycle: the"
            " region is of another kernel"
        )
    first = min(begin for begin, _ in times)
    found = []
    for base in range(0, len(raw), lanes):
        # Multiprocessors are not equally fast. One whose lanes took no time that the timer shows is
        # taken for an average one.
        took, ran = (
            sum(end - begin for begin, end in times[base : base + lanes]),
            sum(lengths[base : base + lanes]),
        )
        rate = took / ran if took > 0 and ran else average
        ahead = [
            (one.begin[2] - raw[base].begin[2] + CLOCK // 2) % CLOCK - CLOCK // 2
            for one in raw[base : base + lanes]
        ]
        origin = statistics.median(
            begin - first - more * rate
            for (begin, _), more in zip(times[base : base + lanes], ahead)
        )
        for one, more, length, spans in zip(
            raw[base : base + lanes], ahead, lengths[base:], decoded[base:]
        ):

            def at(cycles: float, start: float = origin + more * rate, rate: float = rate) -> float:
                return start + cycles * rate

            found.append(
                Lane(
                    one.begin[3] & (1 << WORKER_BITS) - 1,
                    one.name,
                    one.begin[3] >> WORKER_BITS,
                    at(0),
                    at(length),
                    one.end[3] - HEADS - len(spans),
                    [
                        Span(event, of, at(begin), at(end), number, turn)
                        for event, of, begin, end, number, turn in spans
                    ],
                    trace.get("every", 1),
                )
            )
    return found
