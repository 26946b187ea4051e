"""Traces: spans of what roles did and waited for, out of the region `trace` of a kernel that was
built with one; whether they are the order, where time went, and their tracks."""

from __future__ import annotations

import json
import statistics
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..support.files import write_text

# Which events a trace of a level has, in its records.
ITEM = ("item", "item_end")
EVENTS = {"items": ITEM, "turns": (*ITEM, "turn", "given")}
RECORD, HEADS, WORKER_BITS, CLOCK = struct.Struct("<4I"), 2, 20, 1 << 32
# What a span counts as in the table; the others are work that has no record.
COLUMNS = {
    "products": "products",
    "issue": "products",
    "turn": "turns",
    "given": "adds",
    "slot_full": "slots",
    "slot_empty": "slots",
    "copies": "copies",
    "tensor_core": "tensor core",
    "elementwise": "element-wise",
}
ORDER = (
    "products",
    "tensor core",
    "element-wise",
    "slots",
    "turns",
    "adds",
    "copies",
    "boundary",
    "other",
)


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


# ---- Beside an order.


def tasks_of(item: Mapping[str, Any]) -> list[tuple[int, ...]]:
    """An item's tasks in its visits' order: (sequence, head, q, kv, part). An item owns a kv tile,
    or a q tile."""
    if "q" in item:
        return [(item["sequence"], item["head"], item["q"], kv, 0) for _, kv in item["visit"]]
    return [(item["sequence"], head, q, item["kv"], item["part"]) for head, q in item["visit"]]


class Tasks:
    """What an order, one of `schedules` of the JSON report, has each worker do."""

    def __init__(self, order: Mapping[str, Any]) -> None:
        self.items: dict[int, list[Mapping[str, Any]]] = {}
        for item in order["items"]:
            self.items.setdefault(item["worker"], []).append(item)
        self.turns = {
            (chain["sequence"], chain["head"], chain["q"], kv, part): turn
            for chain in order["chains"]
            for turn, (kv, part) in enumerate(chain["order"])
        }
        self.pieces = 2 * order["tiles"]["kv"] // order["tiles"]["q"] if order["parts"] > 1 else 0

    def visits(self, worker: int, every: int = 1) -> Iterator[tuple[int, tuple[int, ...] | None]]:
        """Uses of the slots that a worker adds: (use, (sequence, head, q, kv, part)), none of a
        piece of dK and dV. every: those of `traced_items`."""
        use, items = 0, self.items.get(worker, [])
        traced = traced_items(len(items), every)
        for place, item in enumerate(items):
            tasks: list[tuple[int, ...] | None] = [*tasks_of(item), *[None] * self.pieces]
            if place in traced:
                yield from enumerate(tasks, use)
            use += len(tasks)


def check(lanes: Sequence[Lane], order: Mapping[str, Any]) -> None:
    """Raises ValueError, with the place, where what was done is not the order: an item, a visit or
    a turn that is missing or comes twice, a turn that was taken before the one in front was on its
    way out. For lanes that lost records, the rest is checked."""
    tasks, taken, given = Tasks(order), {}, {}
    by_worker: dict[int, list[Lane]] = {}
    for lane in lanes:
        by_worker.setdefault(lane.worker, []).append(lane)
        items, expected = (
            [span.number for span in lane.spans if span.event == "item"],
            traced_items(len(tasks.items.get(lane.worker, [])), lane.every),
        )
        if items != [*expected[: len(items)]] or not lane.lost and len(items) != len(expected):
            raise ValueError(
                f"worker {lane.worker}, lane '{lane.name}': expected items 0 to {expected.stop - 1}"
                f"{f', one in {lane.every}' if lane.every > 1 else ''}, found {items[:20]}"
            )
    if missing := sorted(set(tasks.items) - set(by_worker)):
        raise ValueError(
            f"worker {missing[0]}: expected {len(tasks.items[missing[0]])} items, found no lane"
            " of it"
        )
    for worker, mine in sorted(by_worker.items()):
        visits = dict(tasks.visits(worker, mine[0].every))
        lost = any(lane.lost for lane in mine)
        turns = [span for lane in mine for span in lane.spans if span.event == "turn"]
        uses = sorted(span.number for span in turns)
        if turns and (len(set(uses)) != len(uses) or not lost and uses != sorted(visits)):
            wrong = sorted(set(visits).symmetric_difference(uses)) or [
                use for use in uses if uses.count(use) > 1
            ]
            raise ValueError(
                f"worker {worker}: expected a turn for each of {len(visits)} uses, found"
                f" {len(uses)}; use {wrong[0]} is missing or too many"
            )
        for span in turns:
            task = visits.get(span.number)
            if task is None:
                continue
            if span.turn != tasks.turns[task] & 0xFFFF:
                raise ValueError(
                    f"worker {worker}, use {span.number}: expected turn {tasks.turns[task]}, found"
                    f" {span.turn}"
                )
            taken[task[:3], span.turn] = span
        given |= {
            (visits[span.number][:3], tasks.turns[visits[span.number]]): span
            for lane in mine
            for span in lane.spans
            if span.event == "given" and visits.get(span.number)
        }
    for (tile, turn), span in taken.items():
        before = given.get((tile, turn - 1))
        if before and span.end < before.begin - TOLERANCE:
            raise ValueError(
                f"sequence {tile[0]}, head {tile[1]}, q tile {tile[2]}: turn {turn} was taken"
                f" {before.begin - span.end:.0f} ns before the one in front was added"
            )
    if not tasks.turns:
        _check_uses(lanes, tasks)


# The channels of what items walk, whose every slot has a tile of it: of those that own q, and kv.
WALKED = {"q": ("k",), "kv": ("q", "q_do")}


def _check_uses(lanes: Sequence[Lane], tasks: Tasks) -> None:
    """Where nothing is summed across items: in each item, a lane waits for as many slots of what
    it walks as the item has tasks, one use behind the other."""
    for lane in lanes:
        items = tasks.items.get(lane.worker, [])
        own = "q" if items and "q" in items[0] else "kv"
        uses: list[list[int]] = []
        for span in lane.spans:
            if span.event == "item":
                uses.append([])
            elif span.event in ("slot_empty", "slot_full") and span.of in WALKED[own] and uses:
                uses[-1].append(span.number)
        if lane.every > 1 or lane.lost or not any(uses):
            continue
        first = 0
        for number, (item, found) in enumerate(zip(items, uses)):
            count = len(item["visit"])
            if found != [*range(first, first + count)]:
                raise ValueError(
                    f"worker {lane.worker}, lane '{lane.name}', item {number}: expected {count}"
                    f" uses of '{WALKED[own][0]}' from {first} on, found {found[:20]}"
                )
            first += count


# Nanoseconds by which times of two multiprocessors may be off: where a lane begins and ends is read
# from a coarse timer. The most in six traces on an H100 was 575, with a timer that counts by 32.
TOLERANCE = 5000.0


# ---- What is written.


def of_workers(lanes: Sequence[Lane], workers: int) -> list[Lane]:
    """Lanes of the first workers, of all where `workers` is 0: a trace of 132 workers has hundreds
    of megabytes. Raises ValueError."""
    if workers < 0:
        raise ValueError(f"workers: expected a number of workers, or 0 for all, found {workers}")
    return [lane for lane in lanes if workers == 0 or lane.worker < workers]


def events(
    lanes: Sequence[Lane], title: str, process: int, order: Mapping[str, Any] | None = None
) -> Iterator[dict[str, Any]]:
    """Trace events as Chrome and Perfetto read them, with the tracks of the predicted ones: "w0
    compute", "w0 reduce", and those of further lanes."""
    tasks = Tasks(order) if order else None
    yield {"ph": "M", "pid": process, "tid": 0, "name": "process_name", "args": {"name": title}}
    for track, lane in enumerate(lanes):
        yield {
            "ph": "M",
            "pid": process,
            "tid": track,
            "name": "thread_name",
            "args": {"name": f"w{lane.worker} {lane.name}"},
        }
        yield {
            "ph": "M",
            "pid": process,
            "tid": track,
            "name": "thread_sort_index",
            "args": {"sort_index": track},
        }
        visits = dict(tasks.visits(lane.worker)) if tasks else {}
        for span in lane.spans:
            slice_ = {
                "pid": process,
                "tid": track,
                "name": _name(span, visits),
                "cat": COLUMNS.get(span.event, span.event),
                "ts": round(span.begin / 1000, 3),
                "args": {"number": span.number, "worker": lane.worker, "sm": lane.multiprocessor},
            }
            if span.end > span.begin:
                yield slice_ | {"ph": "X", "dur": round((span.end - span.begin) / 1000, 3)}
            else:
                yield slice_ | {"ph": "i", "s": "t"}


def _name(span: Span, visits: Mapping[int, tuple[int, ...] | None]) -> str:
    task = visits.get(span.number) if span.event in ("turn", "given") else None
    tile = f" s{task[0]} h{task[1]} {task[3]},{task[2]}" if task else ""
    return {
        "turn": f"wait for turn {span.turn}{tile}",
        "given": f"add{tile}",
        "slot_full": f"wait for {span.of} full",
        "slot_empty": f"wait for {span.of} empty",
        "products": f"wait for {span.of}",
        "issue": f"issued {span.of}",
        "copies": "wait for copies",
        "tensor_core": "wait for the tensor core",
        "item": f"item {span.number}",
        "item_end": f"end of item {span.number}",
    }.get(span.event, span.event)


def write(
    path: Path, measured: Iterable[dict[str, Any]], predicted: Mapping[str, Any] | None = None
) -> None:
    """One file of both. A worker is a process, in which each track of the prediction stands over
    that which was measured."""
    found = [*measured]
    both = (
        track_for_track([("predicted", predicted["traceEvents"]), ("measured", found)])
        if predicted
        else found
    )
    write_text(path, json.dumps({"displayTimeUnit": "ns", "traceEvents": both}))


def track_for_track(
    parts: Sequence[tuple[str, Sequence[Mapping[str, Any]]]],
) -> list[dict[str, Any]]:
    """Events of several traces in one, with a process for each worker: tracks of the same name lie
    under each other, in the order of the parts. Workers that the last part does not have are left
    out."""
    names: list[dict[tuple[int, int], str]] = [
        {
            (event["pid"], event["tid"]): event["args"]["name"]
            for event in events
            if event["name"] == "thread_name"
        }
        for _, events in parts
    ]
    wanted = {name.partition(" ")[0] for name in names[-1].values()}
    tracks = sorted(
        {
            (name, number)
            for number, of_part in enumerate(names)
            for name in of_part.values()
            if name.partition(" ")[0] in wanted
        },
        key=lambda track: _place_of(*track),
    )
    places = {
        track: (1 + int(track[0].partition(" ")[0][1:]), index)
        for index, track in enumerate(tracks)
    }
    found: list[dict[str, Any]] = []
    for (name, number), (process, thread) in places.items():
        worker, _, role = name.partition(" ")
        where = {"ph": "M", "pid": process, "tid": thread}
        found += [
            where | {"name": "process_name", "args": {"name": worker}},
            where | {"name": "process_sort_index", "args": {"sort_index": process}},
            where | {"name": "thread_name", "args": {"name": f"{role}, {parts[number][0]}"}},
            where | {"name": "thread_sort_index", "args": {"sort_index": thread}},
        ]
    for number, (_, events) in enumerate(parts):
        for event in events:
            place = places.get((names[number].get((event["pid"], event["tid"]), ""), number))
            if event["ph"] != "M" and place:
                found.append({**event, "pid": place[0], "tid": place[1]})
    return found


def _place_of(name: str, part: int) -> tuple[Any, ...]:
    """Roles that are predicted first, each before its further lanes."""
    worker, role, *more = name.split(" ")
    return (
        int(worker[1:]),
        ("compute", "reduce").index(role) if role in ("compute", "reduce") else 2,
        role,
        " ".join(more),
        part,
    )


def by_role(lane: Lane) -> str:
    """A key for `table` and `shares`: one line for each role."""
    return lane.role


def by_worker(lane: Lane) -> str:
    """A key for `table` and `shares`: one line for each role of each worker."""
    return f"w{lane.worker} {lane.role}"


def shares(
    lanes: Sequence[Lane], key: Callable[[Lane], str] = by_role
) -> dict[str, dict[str, float]]:
    """By role, or another key, what part of its lanes' time went where: columns as in ORDER.
    Where not all items are traced, what part of the time of those that are. boundary: of a role
    that multiplies, from where an item begins until its first slot is there."""
    found = times(lanes, key)
    for sums in found.values():
        whole = sum(sums.values()) or 1.0
        sums.update({column: time / whole for column, time in sums.items()})
    return found


def times(
    lanes: Sequence[Lane], key: Callable[[Lane], str] = by_role
) -> dict[str, dict[str, float]]:
    """The same in nanoseconds, over all lanes of a key."""
    found: dict[str, dict[str, float]] = {}
    for lane in lanes:
        sums = found.setdefault(key(lane), dict.fromkeys(ORDER, 0.0))
        before = sum(sums.values())
        item, multiplies = None, any(span.event == "products" for span in lane.spans)
        for span in lane.spans:
            if span.event in ITEM:
                item = span.begin if multiplies and span.event == "item" else None
                continue
            column, begin = COLUMNS[span.event], span.begin
            if item is not None:
                column, begin, item = "boundary", item, None
            sums[column] += span.end - begin
        sums["other"] += lane.traced - (sum(sums.values()) - before)
    return found


def table(lanes: Sequence[Lane], key: Callable[[Lane], str] = by_role) -> str:
    """`shares` in percent."""
    found = shares(lanes, key)
    wide = max((len(name) for name in found), default=0) + 1
    lines = [f"{'role':<{max(wide, 10)}}" + "".join(f"{column:>14}" for column in ORDER)]
    lines += [
        f"{name:<{max(wide, 10)}}" + "".join(f"{100 * sums[column]:>13.1f}%" for column in ORDER)
        for name, sums in found.items()
    ]
    if lanes and lanes[0].every > 1:
        lines.append(
            f"of the items that are traced: 1, {lanes[0].every + 1}, {2 * lanes[0].every + 1} and"
            " so on of each worker's list, from 0, or its only one"
        )
    if lost := sum(lane.lost for lane in lanes):
        lines.append(
            f"{lost} records had no room, the last ones of their lanes: build with a larger"
            " trace-records"
        )
    return "\n".join(lines)
