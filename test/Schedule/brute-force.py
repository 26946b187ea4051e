# RUN: %python %s --dash-opt dash-opt --examples %dash_examples --tmp %t
# REQUIRES: python
"""Tiny problems, all their orders: the lower bound, the optimality claims, minWorkers."""

from __future__ import annotations

import random
import sys
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))

from builders import TILE, square  # noqa: E402
from cost import Cost, lower_bound, makespan  # noqa: E402
from dash_opt import KINDS, DashOpt, Request, Tally, serves  # noqa: E402
from order import EventGraph, complete_trace, min_workers  # noqa: E402
from orders import all_orders, min_workers_by_trial, random_order  # noqa: E402
from problem import Mask, Problem, Sequence  # noqa: E402
from report import Numbers, Setting, document, order_of, schedule_json  # noqa: E402

WORKERS = [1, 2, 3]  # all of them, up to the last
COSTS = [
    Cost(1.0, 1.0),
    Cost(1.0, 2.0),
    Cost(2.0, 1.0),
    Cost(2.0, 1.0, 0.5, 2),
    Cost(1.0, 2.0, 0.0, 1, 3.0),
    Cost(2.0, 1.0, 0.5, 2, 1.5),
    Cost(1.0, 2.0, 0.0, 1, 3.0, 0.5),
    Cost(2.0, 1.0, 0.5, 2, 1.5, 2.0),
    Cost(1.0, 1.0, 0.25, 1, 0.5, 1.0),
    Cost(1.0, 2.0, 0.0, 3, 2.0, 0.75),
]


def tiles(q: int, kv: int, causal: bool, parts: int = 1, heads: int = 0) -> Problem:
    return Problem(
        (Sequence(q * TILE, kv * TILE),),
        TILE,
        TILE,
        Mask(causal=causal),
        heads=heads or parts,
        kv_heads=1,
        parts=parts,
    )


TINY = [
    *(square(n, 1, causal) for n in (2, 3) for causal in (False, True)),
    *(square(2, 2, causal) for causal in (False, True)),
    *(tiles(q, kv, causal) for q, kv in ((2, 3), (3, 2)) for causal in (False, True)),
    *(tiles(q, kv, False, parts=2) for q, kv in ((1, 1), (2, 1), (1, 2))),
    *(
        tiles(q, kv, causal, parts=2, heads=1)
        for q, kv in ((2, 1), (2, 2), (3, 1))
        for causal in (False, True)
    ),
]


@cache
def least(problem: Problem) -> dict[tuple[int, Cost], float]:
    """The smallest makespan over all orders, for each number of workers and cost."""
    alike = problem.heads == 1 and bool(problem.active(0).all())
    best = dict.fromkeys(product(WORKERS, COSTS), float("inf"))
    for order in all_orders(problem, max(WORKERS), up_to_q_names=alike):
        graph = EventGraph.of(order)
        if complete_trace(graph) is None:
            continue
        used = sum(1 for events in graph.lists if events)
        for cost in COSTS:
            found = makespan(graph, cost, cost.pieces(problem))
            for workers in range(used, max(WORKERS) + 1):
                best[workers, cost] = min(best[workers, cost], found)
    return best


def bound_differences(problem: Problem) -> list[str]:
    return [
        f"{problem}, {workers} workers, {cost}: an order takes {found}, below the bound"
        for (workers, cost), found in least(problem).items()
        if found < lower_bound(problem, workers, cost)
    ]


def residents_differences(problem: Problem) -> list[str]:
    """minWorkers as defined against minWorkers by trial, on all orders free of cycles."""
    for order in all_orders(problem, max(WORKERS)):
        graph = EventGraph.of(order)
        if complete_trace(graph) is not None and min_workers(graph) != min_workers_by_trial(graph):
            return [
                f"minWorkers {min_workers(graph)}, by trial {min_workers_by_trial(graph)}: {order}"
            ]
    return []


def kind_differences(
    dash: DashOpt, kind: str, problem: Problem, workers: int, cost: Cost
) -> list[str]:
    """No kind beats the smallest makespan; those said to be optimal reach it."""
    answer = dash.run(Request(problem, kind, workers, cost=cost))
    lines = answer.differences()
    if lines:
        return lines
    n, found, best = problem.kv_tiles(0), answer.schedule["makespan"], least(problem)[workers, cost]
    simple = cost.latency == 0 and cost.buffers == 1
    optimal = (
        simple
        and problem.runs == 1
        and problem.q_tiles(0) == n
        and (
            (kind == "shift" and not problem.mask.causal and workers == n)
            or (
                kind == "symmetric-shift"
                and problem.mask.causal
                and n % 2 == 0
                and problem.heads * n == 2 * workers
            )
        )
    )
    if found < best or (optimal and found != best):
        return answer.told([f"{kind}: {found}, the best of all orders takes {best}"])
    graph = EventGraph.of(order_of(answer.schedule))
    if answer.schedule["minWorkers"] != min_workers_by_trial(graph):
        return answer.told([f"minWorkers by trial: {min_workers_by_trial(graph)}"])
    return []


def random_differences(dash: DashOpt, seed: int) -> list[str]:
    """A random order from outside: dash-opt's numbers against the model's and the trial's."""
    rng = random.Random(seed)
    heads, kv_heads, parts = rng.choice(
        [(1, 1, 1), (2, 2, 1), (2, 1, 2), (4, 2, 2), (1, 1, 2), (2, 2, 3), (2, 1, 4)]
    )
    rows = tuple(
        Sequence(rng.randrange(1, 70), rng.randrange(1, 70)) for _ in range(rng.choice([1, 2]))
    )
    problem = Problem(rows, 16, 16, Mask(causal=rng.random() < 0.5), heads, kv_heads, parts)
    if not serves("file", problem):
        problem = replace(problem, parts=1)
    order = random_order(problem, rng.randrange(1, 7), rng)
    cost = rng.choice(COSTS)
    listed = schedule_json(problem, order, Numbers(0, 0, 1, False), Setting(cost=cost))
    answer = dash.run_order(Request(problem, "file", order.workers, cost=cost), document(listed))
    lines = answer.differences()
    if not lines:
        trial = min_workers_by_trial(EventGraph.of(order))
        if order_of(answer.schedule) != order:
            lines = answer.told([f"seed {seed}: another order comes back"])
        elif answer.schedule["minWorkers"] != trial:
            lines = answer.told([f"seed {seed}: minWorkers by trial: {trial}"])
    return lines


def main() -> int:
    dash, tally = DashOpt.from_arguments(__doc__), Tally()
    for problem in TINY:
        tally.check(bound_differences(problem))
        if problem.num_tasks() < 9:
            tally.check(residents_differences(problem))
    tally.check_all(
        (case for case in product(KINDS, TINY, WORKERS, COSTS[1::2]) if serves(*case[:2])),
        lambda case: kind_differences(dash, *case),
    )
    tally.check_all(range(150), lambda seed: random_differences(dash, seed))
    return tally.exit_code()


if __name__ == "__main__":
    sys.exit(main())
