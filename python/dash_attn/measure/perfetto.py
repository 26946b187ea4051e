"""A trace as events that Chrome and Perfetto read, beside what was predicted."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..support.files import write_text
from .shares import COLUMNS
from .spans import Lane, Span
from .tasks import Tasks


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
