"""What an order was predicted to take, beside what a trace measured: where they differ most, in
words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import ArgumentError
from .shares import times
from .spans import ITEM, Lane, traced_items
from .tasks import Tasks, tasks_of

WORDS = {
    "work": "multiplying and what goes with it",
    "boundary": "beginning items",
    "turns": "waiting for turns",
    "slots": "waiting for slots",
    "adds": "adding",
    "other": "what has no record",
}
LARGEST = 5
Times = dict[str, float]


@dataclass(frozen=True)
class Step:
    """When a task was computed and added, in microseconds of the prediction."""

    begin: float
    computed: float
    adding: float
    added: float


def steps_of(order: Mapping[str, Any], predicted: Mapping[str, Any]) -> dict[tuple[int, ...], Step]:
    """By (sequence, head, q, kv, part). Raises ArgumentError where the prediction is of another
    order."""
    found: dict[tuple[int, ...], dict[str, tuple[float, float]]] = {}
    for event in predicted["traceEvents"]:
        if event["ph"] == "X" and event["cat"] in ("compute", "reduce") and "turn" in event["args"]:
            task = tuple(event["args"][name] for name in ("sequence", "head", "q", "kv", "part"))
            found.setdefault(task, {})[event["cat"]] = event["ts"], event["ts"] + event["dur"]
    # A task is computed, and then added where something is summed across items.
    parts = 1 + any("reduce" in one for one in found.values())
    expected = {task for item in order["items"] for task in tasks_of(item)}
    if set(found) != expected or any(len(one) != parts for one in found.values()):
        raise ArgumentError(
            f"the prediction: expected the {len(expected)} tasks of the order, found {len(found)};"
            " write both for the same program and options"
        )
    return {
        task: Step(*one["compute"], *one.get("reduce", one["compute"][1:] * 2))
        for task, one in found.items()
    }


def predicted_times(
    lanes: Sequence[Lane], order: Mapping[str, Any], steps: Mapping[tuple[int, ...], Step]
) -> dict[tuple[int, str], Times]:
    """What each worker's role was to do, in microseconds: `compute` and `reduce`, of the items that
    are traced. A reducer waits for its turn first, and then for what it adds, as in the kernel; its
    lanes take turns at the uses that they were measured to have, and their times are added up."""
    tasks, cost, found = Tasks(order), order["cost"], dict[tuple[int, str], Times]()
    worker_of = {task: item["worker"] for item in order["items"] for task in tasks_of(item)}
    before = {task: _before(order_of, turn) for order_of, task, turn in _turns(order)}
    for worker in sorted({lane.worker for lane in lanes}):
        own = {use: task for use, task in tasks.visits(worker) if task}
        every = next(lane.every for lane in lanes if lane.worker == worker)
        mine = [task for _, task in tasks.visits(worker, every) if task]
        if not mine:
            continue
        items, whole = _of_items(tasks.items[worker], every, steps)
        work, boundary = len(mine) * cost["c"], items * cost["boundary"]
        found[worker, "compute"] = {
            "work": work,
            "boundary": boundary,
            "slots": max(0.0, whole - work - boundary),
        }
        for lane in lanes:
            if lane.worker != worker or lane.role != "reduce":
                continue
            sums = found.setdefault(
                (worker, "reduce"), dict.fromkeys(("turns", "slots", "adds", "other"), 0.0)
            )
            adders = sum(one.worker == worker and one.role == "reduce" for one in lanes)
            for use in sorted(
                span.number for span in lane.spans if span.event == "given" and span.number in own
            ):
                step, ahead = (
                    steps[own[use]],
                    (before[own[use]] if order.get("apart") != "all" else None),
                )
                mine_before = next(
                    (own[one] for one in range(use - adders, -1, -adders) if one in own), None
                )
                last = steps[mine_before].added if mine_before else 0.0
                turn = (
                    steps[ahead].added + cost["latency"] * (worker_of[ahead] != worker)
                    if ahead
                    else 0.0
                )
                at_turn = max(last, min(turn, step.adding))
                at_slot = max(at_turn, min(step.computed, step.adding))
                for column, time in (
                    ("turns", at_turn - last),
                    ("slots", at_slot - at_turn),
                    ("other", step.adding - at_slot),
                    ("adds", step.added - step.adding),
                ):
                    sums[column] += max(0.0, time)
    return found


def _of_items(
    items: Sequence[Mapping[str, Any]], every: int, steps: Mapping[tuple[int, ...], Step]
) -> tuple[int, float]:
    """How many of a worker's items are traced and have a step, and how long they were to take: each
    from the end of the one before."""
    count, whole, last = 0, 0.0, 0.0
    traced = traced_items(len(items), every)
    for place, item in enumerate(items):
        ends = [steps[task].computed for task in tasks_of(item)]
        if ends and place in traced:
            count, whole = count + 1, whole + max(ends) - last
        last = max([last, *ends])
    return count, whole


def _turns(
    order: Mapping[str, Any],
) -> list[tuple[tuple[tuple[int, ...], ...], tuple[int, ...], int]]:
    found = []
    for chain in order["chains"]:
        tasks = tuple(
            (chain["sequence"], chain["head"], chain["q"], kv, part) for kv, part in chain["order"]
        )
        found += [(tasks, task, turn) for turn, task in enumerate(tasks)]
    return found


def _before(tasks: tuple[tuple[int, ...], ...], turn: int) -> tuple[int, ...] | None:
    return tasks[turn - 1] if turn else None


def measured_times(lanes: Sequence[Lane]) -> dict[tuple[int, str], Times]:
    """The same of a trace. Lanes of a warpgroup each do all of a consumer's work, so theirs are
    averaged; those of a reducer share it."""
    found: dict[tuple[int, str], Times] = {}
    for worker in sorted({lane.worker for lane in lanes}):
        for role, columns in (
            (
                "compute",
                {
                    "products": "work",
                    "tensor core": "work",
                    "element-wise": "work",
                    "copies": "work",
                    "other": "work",
                },
            ),
            ("reduce", {"copies": "adds"}),
        ):
            mine = [lane for lane in lanes if lane.worker == worker and lane.role == role]
            sums: Times = {}
            for column, time in times(mine)[role].items() if mine else ():
                name = columns.get(column, column)
                sums[name] = sums.get(name, 0.0) + time / 1000 / (
                    len(mine) if role == "compute" else 1
                )
            if mine:
                found[worker, role] = sums
    return found


def differences(
    lanes: Sequence[Lane],
    order: Mapping[str, Any],
    predicted: Mapping[str, Any],
    largest: int = LARGEST,
) -> list[str]:
    """Lines: how long all took, and the largest differences, of all workers on the mean or of
    one beside the others. Raises ArgumentError."""
    steps = steps_of(order, predicted)
    found, expected = measured_times(lanes), predicted_times(lanes, order, steps)
    traced = {lane.role for lane in lanes if any(span.event not in ITEM for span in lane.spans)}
    every = lanes[0].every
    # No wait for a slot has a record: it is among what has none.
    if not any(span.event == "slot_full" for lane in lanes for span in lane.spans):
        for one in (*found.values(), *expected.values()):
            one["other"] = one.get("other", 0.0) + one.pop("slots", 0.0)
    took = (max(lane.end for lane in lanes) - min(lane.begin for lane in lanes)) / 1000
    makespan = max(step.added for step in steps.values())
    ranked: list[tuple[float, str, int | None]] = []
    for role in [role for role in ("compute", "reduce") if role in traced]:
        keys = [key for key in expected if key[1] == role and key in found]
        for column in WORDS:
            pairs = {
                key[0]: (found[key].get(column, 0.0), expected[key].get(column, 0.0))
                for key in keys
            }
            if not pairs:
                continue
            mean = [sum(pair[side] for pair in pairs.values()) / len(pairs) for side in (0, 1)]
            ranked.append(
                (
                    abs(mean[0] - mean[1]),
                    (
                        f"{role}, all workers on the mean: {WORDS[column]} takes"
                        f" {_beside(*mean, makespan)}"
                    ),
                    None,
                )
            )
            for worker, (one, other) in pairs.items():
                apart = one - other - (mean[0] - mean[1])
                waits = worker if column == "turns" and apart > 0 else None
                ranked.append(
                    (
                        abs(apart),
                        (
                            f"{role} of worker {worker}: {WORDS[column]} takes"
                            f" {_beside(one, other, makespan)}, {abs(apart):.1f} µs"
                            f" {'more' if apart > 0 else 'less'} beyond the mean of all workers"
                        ),
                        waits,
                    )
                )
    ranked.sort(key=lambda one: -one[0])
    sampled = f" in the traced items, one in {every}" if every > 1 else ""
    return [
        (
            f"the order took {took:.1f} µs, predicted {makespan:.1f}: {took / makespan:.2f} of it;"
            f" the largest differences{sampled}:"
        ),
        *(
            f"{number}. {text}{'' if waits is None else _longest(lanes, order, waits)}"
            for number, (_, text, waits) in enumerate(ranked[:largest], 1)
        ),
    ]


def _beside(one: float, other: float, makespan: float) -> str:
    return (
        f"{one:.1f} µs, predicted {other:.1f} ({abs(one - other):.1f}"
        f" {'more' if one > other else 'less'}, {100 * abs(one - other) / makespan:.0f} % of the"
        " prediction)"
    )


def _longest(lanes: Sequence[Lane], order: Mapping[str, Any], worker: int) -> str:
    """A worker's longest wait for a turn, and the worker that it waited for."""
    tasks = Tasks(order)
    visits = dict(tasks.visits(worker))
    turns = [
        span
        for lane in lanes
        if lane.worker == worker
        for span in lane.spans
        if span.event == "turn" and visits.get(span.number)
    ]
    if not turns:
        return ""
    span = max(turns, key=lambda one: one.end - one.begin)
    task = visits[span.number]
    said = (
        f"; the longest wait, {(span.end - span.begin) / 1000:.1f} µs, is for turn"
        f" {tasks.turns[task]} of sequence {task[0]}, head {task[1]}, q tile {task[2]}"
    )
    ahead = next((_before(chain, turn) for chain, one, turn in _turns(order) if one == task), None)
    owner = next(
        (item["worker"] for item in order["items"] if ahead and ahead in tasks_of(item)),
        None,
    )
    return said + (
        f", behind kv tile {ahead[3]} of worker {owner}" if ahead and owner is not None else ""
    )
