# RUN: %python %s
# REQUIRES: python
"""The checker itself: numbers worked out by hand, and reports with one thing wrong each."""

from __future__ import annotations

import copy
import random
import sys
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

import builders  # noqa: E402
from checks import document_differences, numbers  # noqa: E402
from cost import Cost, lower_bound, makespan  # noqa: E402
from order import EventGraph, Item, Order, dynamic_issue, min_workers, workers_wait  # noqa: E402
from orders import finishes, min_workers_by_trial, random_order  # noqa: E402
from problem import Blocks, Mask, Problem, Sequence  # noqa: E402
from report import (  # noqa: E402
    Json,
    Numbers,
    Setting,
    document,
    order_of,
    problem_of,
    schedule_json,
)


def active(problem: Problem) -> list[str]:
    """Rows of kv tiles, columns of q tiles."""
    return ["".join("x" if seen else "." for seen in row) for row in problem.active(0)]


def by_definition(problem: Problem) -> list[str]:
    """The same, pair by pair."""
    rows, mask = problem.sequences[0], problem.mask
    left, right = mask.bounds()

    def visible(i: int, j: int) -> bool:
        place = j - (i + rows.kv - rows.q)
        blocks = mask.blocks
        return (
            (left is None or -left <= place)
            and (right is None or place <= right)
            and (blocks is None or blocks.bits[j // blocks.kv][i // blocks.q] == "1")
        )

    def seen(kv: int, q: int) -> bool:
        return any(
            visible(i, j)
            for i in range(q * problem.tile_q, min((q + 1) * problem.tile_q, rows.q))
            for j in range(kv * problem.tile_kv, min((kv + 1) * problem.tile_kv, rows.kv))
        )

    return [
        "".join("x" if seen(kv, q) else "." for q in range(problem.q_tiles(0)))
        for kv in range(problem.kv_tiles(0))
    ]


def report(problem: Problem, order: Order, cost: Cost) -> Json:
    """A clean report of an order."""
    blank = schedule_json(problem, order, Numbers(0, 0, 1, False), Setting(cost=cost))
    found = numbers(problem, blank, EventGraph.of(order))
    return document(schedule_json(problem, order, found, Setting(cost=cost)))


class Masks(unittest.TestCase):
    def test_causal_is_aligned_at_the_bottom_right(self) -> None:
        causal = Mask(causal=True)
        self.assertEqual(active(Problem((Sequence(48, 48),), mask=causal)), ["xxx", ".xx", "..x"])
        self.assertEqual(active(Problem((Sequence(16, 48),), mask=causal)), ["x", "x", "x"])
        # Rows 0..31 see nothing: column 0 sits above row 32.
        self.assertEqual(active(Problem((Sequence(48, 16),), mask=causal)), ["..x"])
        self.assertEqual(active(Problem((Sequence(48, 17),), mask=causal)), [".xx", "..x"])

    def test_windows_and_blocks_match_the_definition(self) -> None:
        rng = random.Random(7)
        for _ in range(150):
            q, kv = rng.randrange(1, 60), rng.randrange(1, 60)
            window = None
            if rng.random() < 0.7:
                window = rng.randrange(-1, 40), rng.randrange(-1, 40)
            blocks = None
            if rng.random() < 0.5:
                size = rng.choice([8, 24])
                blocks = Blocks(
                    size,
                    8,
                    tuple(
                        "".join(rng.choice("01") for _ in range(-(-q // size)))
                        for _ in range(-(-kv // 8))
                    ),
                )
            mask = Mask(rng.random() < 0.5, window, blocks)
            problem = Problem((Sequence(q, kv),), rng.choice([16, 32]), 16, mask)
            self.assertEqual(active(problem), by_definition(problem), problem)

    def test_parts_share_a_group(self) -> None:
        problem = Problem((Sequence(16, 16),), heads=8, kv_heads=2, parts=2)
        self.assertEqual([list(problem.part_heads(1, part)) for part in range(2)], [[4, 5], [6, 7]])
        self.assertEqual([problem.owners()[0, head, 0, 0] for head in (0, 3, 4, 7)], [0, 1, 0, 1])
        self.assertEqual(problem.num_tasks(), 8)

    def test_parts_share_a_head(self) -> None:
        problem = Problem((Sequence(80, 48),), mask=Mask(causal=True), heads=4, kv_heads=2, parts=4)
        self.assertEqual(
            [list(problem.part_heads(1, part)) for part in range(4)], [[2], [2], [3], [3]]
        )
        tasks = {key: problem.item_tasks(key) for key in problem.item_keys()}
        # q tiles from 2 on see kv tile 0, those from 4 on kv tile 2: its one is of the second run.
        self.assertEqual([tasks[0, 1, 2, 0], tasks[0, 1, 3, 0]], [[(3, 2)], [(3, 3), (3, 4)]])
        self.assertEqual([tasks[0, 1, 2, 2], tasks[0, 1, 3, 2]], [[], [(3, 4)]])
        self.assertEqual(sum(map(len, tasks.values())), problem.num_tasks())


def two_by_two(chain_of_last: list[int], **cost: Any) -> float:
    """Makespan of two kv tiles on two workers, q up, with the chain of q tile 1 as given."""
    problem = builders.square(2, 1, causal=False)
    order = builders.ascending(problem, 2)
    order.chains[0, 0, 1] = [(kv, 0) for kv in chain_of_last]
    return makespan(EventGraph.of(order), Cost(**cost))


class Costs(unittest.TestCase):
    def test_recurrences_by_hand(self) -> None:
        # Worker 0: R 5, 10. Worker 1: C 3, R max(3, 5) + 2 = 7; C 10, R max(10, 10) + 2 = 12.
        self.assertEqual(two_by_two([0, 1], compute=3.0, reduce=2.0), 12.0)
        # Worker 1 adds to q tile 1 first: R 7, 12; worker 0: C 8, R max(8, 12) + 2 = 14.
        self.assertEqual(two_by_two([1, 0], compute=3.0, reduce=2.0), 14.0)

    def test_latency_counts_between_workers_only(self) -> None:
        # R of worker 1: max(3, 5 + 1) + 2 = 8; then C 11, R max(11, 10 + 1) + 2 = 13.
        self.assertEqual(two_by_two([0, 1], compute=3.0, reduce=2.0, latency=1.0), 13.0)
        order = builders.ascending(builders.square(2, 1, causal=False), 1)
        self.assertEqual(makespan(EventGraph.of(order), Cost(3.0, 2.0, 1.0)), 20.0)

    def test_buffers_let_compute_run_ahead(self) -> None:
        # Worker 0: C 3, 6; R 5, 8. Worker 1: C 3, 6; R max(3, 5) + 2 = 7, max(6, 7, 8) + 2 = 10.
        self.assertEqual(two_by_two([0, 1], compute=3.0, reduce=2.0, buffers=2), 10.0)

    def test_parts_add_their_sums_in_turn(self) -> None:
        problem = Problem((Sequence(16, 16),), 16, 16, heads=2, kv_heads=1, parts=2)
        cost = Cost(3.0, 2.0, 1.0, 2, 4.0, piece=1.0)
        self.assertEqual(cost.pieces(problem), 2)

        def time(workers: int) -> float:
            items = [Item(part % workers, 0, 0, part, 0, [(part, 0)]) for part in range(2)]
            order = Order(
                workers,
                items,
                {(0, head, 0): [(0, head)] for head in range(2)},
                {(0, 0, 0): [0, 1]},
            )
            return makespan(EventGraph.of(order), cost, cost.pieces(problem))

        # Both: C 4 + 3 = 7, R 9. Part 0 adds from 9 on, part 1 a hop behind its first piece: 11,
        # 12, 13.
        self.assertEqual(time(2), 13.0)
        # Pieces of part 0: 10, 11. The boundary behind needs no buffer, the task has that of 10: C
        # 7 + 4 + 3, R 16; then 17, 18.
        self.assertEqual(time(1), 18.0)
        # A chain of one; and behind an item of 3 at least the boundary of 4, as its buffer is free
        # 2 + 1 after.
        self.assertEqual(lower_bound(problem, 2, cost), 9.0)
        self.assertEqual(lower_bound(problem, 1, cost), 14.0)

    def test_paper_numbers(self) -> None:
        cost = Cost(5.0, 2.0)
        full, causal = builders.square(4, 2, causal=False), builders.square(4, 2, causal=True)
        for order, expected in [
            (builders.ascending(full, 4), 2 * 4 * 7 + 3 * 2),
            (builders.ascending(causal, 4), 2 * 4 * 7 + 3 * 2),
            (builders.descending(causal, 4), 2 * 5 * 7 / 2 + 3 * 2),
            (builders.shift(full, 4), 2 * 4 * 7),
            (builders.symmetric_shift(causal, 4), 2 * 5 * 7 / 2),
        ]:
            self.assertEqual(makespan(EventGraph.of(order), cost), expected)

    def test_each_bound_can_be_the_largest(self) -> None:
        causal, full = Mask(causal=True), Mask()

        def bound(mask: Mask, workers: int, c: float, r: float, buffers: int = 1) -> float:
            problem = Problem((Sequence(64, 64),), mask=mask)
            return lower_bound(problem, workers, Cost(c, r, 0.0, buffers))

        # Work: 10 tasks of 3 on 2 workers. Longest item: 4 tasks of 3.
        self.assertEqual(bound(causal, 2, 2.0, 1.0), 15.0)
        self.assertEqual(bound(causal, 4, 2.0, 1.0), 12.0)
        # Work with two buffers: 10 tasks of max(2, 1) on 2 workers.
        self.assertEqual(bound(causal, 2, 2.0, 1.0, buffers=2), 10.0)
        # Chain: 1 + 4 * 2 with two buffers, where an item takes 4 * 2.
        self.assertEqual(bound(full, 4, 1.0, 2.0, buffers=2), 9.0)
        # Crowding: of 4 items of 4 tasks, 3 workers give two to one.
        self.assertEqual(bound(full, 3, 1.0, 1.0), 16.0)


class Progress(unittest.TestCase):
    def test_min_workers_of_the_paper(self) -> None:
        full, causal = builders.square(4, 2, causal=False), builders.square(4, 2, causal=True)
        for order, least, dynamic in [
            (builders.ascending(full, 4), 1, True),
            (builders.descending(causal, 4), 4, True),
            (builders.shift(full, 4), 4, False),
            (builders.symmetric_shift(causal, 4), 2, False),
        ]:
            graph = EventGraph.of(order)
            self.assertEqual((min_workers(graph), dynamic_issue(graph)), (least, dynamic))

    def test_min_workers_is_what_residents_need(self) -> None:
        rng = random.Random(3)
        seen = set()
        for _ in range(300):
            problem = Problem(
                (Sequence(32, 64), Sequence(1, 20)),
                mask=Mask(causal=True),
                heads=2,
                kv_heads=1,
                parts=rng.choice([1, 2]),
            )
            graph = EventGraph.of(random_order(problem, rng.randrange(1, 6), rng))
            self.assertEqual(min_workers(graph), min_workers_by_trial(graph))
            seen.add((min_workers(graph), dynamic_issue(graph)))
        self.assertGreater(len(seen), 4)

    def test_plain_launches_finish_however_workers_start(self) -> None:
        rng = random.Random(5)
        seen = set()
        for _ in range(300):
            # With one kv tile, nothing has a second turn.
            problem = Problem((Sequence(32, rng.choice([1, 20])),), heads=2, kv_heads=1)
            graph = EventGraph.of(random_order(problem, rng.randrange(1, 4), rng))
            backwards = finishes(graph, 1, list(reversed(range(len(graph.lists)))))
            if not workers_wait(graph):
                self.assertTrue(backwards)
            seen.add((workers_wait(graph), min_workers(graph), backwards))
        self.assertIn((False, 1, True), seen)
        # min_workers is no promise without the order of starts.
        self.assertIn((True, 1, False), seen)

    def test_part_chains_hold_the_ends_of_items(self) -> None:
        items = [Item(part, 0, 0, part, 0, [(part, 0)]) for part in range(2)]
        chains = {(0, head, 0): [(0, head)] for head in range(2)}
        for parts, least, dynamic in [([0, 1], 1, True), ([1, 0], 2, False)]:
            graph = EventGraph.of(Order(2, items, chains, {(0, 0, 0): parts}))
            self.assertEqual((min_workers(graph), dynamic_issue(graph)), (least, dynamic))


class Reports(unittest.TestCase):
    def setUp(self) -> None:
        problem = Problem((Sequence(40, 30),), mask=Mask(causal=True), heads=4, kv_heads=2, parts=2)
        order = random_order(problem, 3, random.Random(1))
        self.clean = report(problem, order, Cost(2.1, 1.6, 0.3, 2))

    def differences(self, spoil: Callable[[Json, Json], Any]) -> str:
        """The differences after a change to the document and its schedule."""
        spoiled = copy.deepcopy(self.clean)
        spoil(spoiled, spoiled["schedules"][0])
        return "\n".join(document_differences(spoiled))

    def test_clean(self) -> None:
        self.assertEqual(document_differences(self.clean), [])
        schedule = self.clean["schedules"][0]
        again = schedule_json(
            problem_of(schedule), order_of(schedule), Numbers(0, 0, 1, False), Setting()
        )
        for member in ("items", "chains", "partChains", "mask", "sequences"):
            self.assertEqual(again[member], schedule[member])

    def test_one_thing_wrong(self) -> None:
        def busy(s: Json) -> list[list[int]]:
            return next(i["visit"] for i in s["items"] if len(i["visit"]) > 1)

        spoils: list[tuple[str, Callable[[Json, Json], Any]]] = [
            ("schema", lambda d, s: d.update(more=1)),
            ("schema", lambda d, s: d.update(version=2)),
            ("schema", lambda d, s: s.pop("level")),
            ("schema", lambda d, s: s["items"][0].update(worker=-1)),
            ("schema", lambda d, s: s["items"][-1]["visit"].append([0, "x"])),
            ("schema", lambda d, s: s["chains"][-1]["order"].append([0])),
            ("schema", lambda d, s: s["cost"].update(r=0)),
            ("schema", lambda d, s: s["tiles"].update(q=24)),
            ("kvHeads", lambda d, s: s.update(kvHeads=3)),
            ("parts", lambda d, s: s.update(parts=3)),
            ("2 times", lambda d, s: s["items"].append(s["items"][0])),
            ("missing", lambda d, s: s["items"].pop(3)),
            ("not part", lambda d, s: s["items"][0].update(kv=9)),
            ("of 3", lambda d, s: s["items"][0].update(worker=3)),
            ("missing", lambda d, s: busy(s).pop()),
            ("2 times", lambda d, s: busy(s).append(busy(s)[0])),
            ("not part", lambda d, s: busy(s).append([9, 9])),
            ("missing", lambda d, s: s["chains"].pop()),
            ("not part", lambda d, s: s["chains"][2]["order"].append([7, 0])),
            ("missing", lambda d, s: s["chains"][2]["order"].pop()),
            ("missing", lambda d, s: s["partChains"][0].update(order=[0, 0])),
            ("makespan", lambda d, s: s.update(makespan=s["makespan"] + 1e-9)),
            ("lowerBound", lambda d, s: s.update(lowerBound=s["lowerBound"] * 2)),
            ("minWorkers", lambda d, s: s.update(minWorkers=s["minWorkers"] + 1)),
            ("dynamicIssue", lambda d, s: s.update(dynamicIssue=not s["dynamicIssue"])),
        ]
        for number, (expected, spoil) in enumerate(spoils):
            with self.subTest(f"{number}: {expected}"):
                self.assertIn(expected, self.differences(spoil))

    def test_a_cycle(self) -> None:
        problem = builders.square(2, 1, causal=False)
        self.clean = report(problem, builders.ascending(problem, 1), Cost())
        self.assertIn("progress", self.differences(lambda d, s: s["chains"][0]["order"].reverse()))


if __name__ == "__main__":
    unittest.main()
