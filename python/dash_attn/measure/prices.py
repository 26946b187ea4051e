"""What the cost model's prices should be, from what a traced kernel did
(dialects/dash/docs/schedules.md, Cost)."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import ArgumentError
from ..support.files import read_bytes, read_text
from .fit import DIGITS
from .predict import COSTS
from .spans import ITEM, Lane, Span, decode
from .tasks import Tasks, check

OF_STEP = ("q", "q_do")  # the channel that a step waits for first: Q alone, or with dO in one slot
SHORT = {"compute": "c", "reduce": "r", "latency": "latency", "boundary": "boundary"}  # in an order


@dataclass(frozen=True)
class Prices:
    """price: of a file of costs, in microseconds. before: what the order was made with; scale:
    what the trace's times were multiplied with; of: how many times each is a median of."""

    price: dict[str, Any]
    before: dict[str, float]
    scale: float
    of: dict[str, int]

    def __str__(self) -> str:
        told = ", ".join(
            f"{name} {self.price[name]:g} (made with {self.before[name]:g}, of {self.of[name]})"
            for name in COSTS
        )
        return (
            f"{self.price['headDim']} {self.price['mask']}: {told}"
            + f"; times {self.scale:.3f}, to be those of a plain kernel" * (self.scale != 1)
        )


def find(lanes: Sequence[Lane], order: Mapping[str, Any], plain_ms: float | None = None) -> Prices:
    """compute: of a step of an item, what was waited for a free slot taken off, as the model
    does itself; reduce: from where a turn and what it adds are there until it is given on;
    latency: from there to the end of a wait for it on another worker; boundary: what an item
    takes beyond its steps. Each a median. Raises ArgumentError where the trace has nothing to
    tell one of them from."""
    if plain_ms is not None and lanes and lanes[0].every > 1:
        raise ArgumentError(
            "--plain: expected a trace of all items, found one of one item in"
            f" {lanes[0].every}: those are slower than the others, and the time of the kernel does"
            " not say by how much; build with trace-every=1"
        )
    tasks, steps, rest = Tasks(order), list[float](), list[tuple[float, int]]()
    if not tasks.turns:
        raise ArgumentError(
            "prices of a trace: expected an order with chains, found one of a program that sums"
            " nothing across items; its prices are fitted to times (tools/scripts/fit_parts.py)"
        )
    for lane in lanes:
        if lane.role == "compute":
            of_lane, more = _of_consumer(
                lane, [len(item["visit"]) for item in tasks.items.get(lane.worker, [])]
            )
            steps += of_lane
            rest += more
    if not steps:
        raise ArgumentError(
            "prices of a trace: expected an item of two steps at least, found none; trace a longer"
            " problem, with trace=all"
        )
    compute = statistics.median(steps)
    adds, hops = _of_reducers(lanes, tasks)
    if not adds:
        raise ArgumentError(
            "prices of a trace: expected turns that are added, found none; contributions that are"
            " kept apart have no price here"
        )
    times = {
        "compute": steps,
        "reduce": adds,
        "latency": hops,
        "boundary": [one - count * compute for one, count in rest],
    }
    took = max(lane.end for lane in lanes) - min(lane.begin for lane in lanes)
    scale = 1.0 if plain_ms is None else plain_ms * 1e6 / took
    if not 0 < scale < 10:
        raise ArgumentError(
            f"--plain: expected about the {took / 1e6:.3f} ms that the traced kernel took, or less,"
            f" found {plain_ms}"
        )
    mask = (
        "full"
        if all(
            order["mask"].get(name) in (None, False)
            for name in ("causal", "window", "blocks", "union")
        )
        else "masked"
    )
    price = {
        name: round(max(0.0, statistics.median(found)) * scale / 1000, DIGITS) if found else 0.0
        for name, found in times.items()
    }
    return Prices(
        {"headDim": order["headDim"], "mask": mask, **price},
        {name: order["cost"][short] for name, short in SHORT.items()},
        scale,
        {name: len(found) for name, found in times.items()},
    )


def _of_consumer(lane: Lane, visits: Sequence[int]) -> tuple[list[float], list[tuple[float, int]]]:
    """Steps of a consumer in its items, and what items take with how many steps. Neither holds
    waits for a free slot."""
    steps, items = list[float](), list[tuple[float, int]]()
    number, begin, waited, since = -1, 0.0, 0.0, 0.0
    last: float | None = None
    behind = [Span("item_end", "", lane.end, lane.end, 0, 0)] if lane.every == 1 else []
    for span in [*lane.spans, *behind]:
        if span.event in ITEM:
            if 0 <= number < len(visits) and visits[number]:
                items.append((span.begin - begin - waited, visits[number]))
            number = span.number if span.event == "item" else -1
            begin, waited, since, last = span.begin, 0.0, 0.0, None
        elif span.event == "slot_empty":
            waited, since = waited + span.end - span.begin, since + span.end - span.begin
        elif span.event == "slot_full" and span.of in OF_STEP:
            if last is not None:
                steps.append(span.end - last - since)
            since, last = 0.0, span.end
    return steps, items


def _of_reducers(lanes: Sequence[Lane], tasks: Tasks) -> tuple[list[float], list[float]]:
    adds: list[float] = []
    taken: dict[tuple[tuple[int, ...], int], tuple[int, float, float]] = {}
    given: dict[tuple[tuple[int, ...], int], tuple[int, float]] = {}
    for lane in lanes:
        visits, ready = dict(tasks.visits(lane.worker)), dict[int, float]()
        for span in lane.spans:
            task = visits.get(span.number)
            if (
                task is None
                or span.event not in ("turn", "given")
                and not (span.event == "slot_full" and lane.role == "reduce")
            ):
                continue
            place = task[:3], tasks.turns[task]
            if span.event == "given":
                given[place] = lane.worker, span.end
                if span.number in ready:
                    adds.append(span.end - ready[span.number])
                continue
            ready[span.number] = max(ready.get(span.number, 0.0), span.end)
            if span.event == "turn":
                taken[place] = lane.worker, span.begin, span.end
    hops = []
    for (tile, turn), (worker, begin, end) in taken.items():
        ahead = given.get((tile, turn - 1))
        if ahead and ahead[0] != worker and begin < ahead[1]:
            hops.append(end - ahead[1])
    return adds, hops


def of_files(region: Path, manifest: Path, order: Path, plain_ms: float | None = None) -> Prices:
    """Raises ValueError where records are not the order."""
    lanes = decode(read_bytes(region, 1 << 34), json.loads(read_text(manifest)))
    of_order = json.loads(read_text(order))["schedules"][0]
    check(lanes, of_order)
    return find(lanes, of_order, plain_ms)


def whole(found: Sequence[Prices]) -> list[dict[str, Any]]:
    """As a file of costs has them: each head dim with both masks. Raises ArgumentError where one
    is missing or comes twice."""
    keys = [(one.price["headDim"], one.price["mask"]) for one in found]
    for head_dim in sorted({head_dim for head_dim, _ in keys}):
        for mask in ("full", "masked"):
            if (count := keys.count((head_dim, mask))) != 1:
                raise ArgumentError(
                    "a file of costs: expected one trace of a"
                    f" {'full' if mask == 'full' else 'causal'} mask for head dim {head_dim}, found"
                    f" {count}; give a --from-trace for each"
                )
    return [
        one.price
        for one in sorted(found, key=lambda one: (one.price["headDim"], one.price["mask"]))
    ]
