"""What an order has each worker do, and whether a trace did it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .spans import Lane, traced_items


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
