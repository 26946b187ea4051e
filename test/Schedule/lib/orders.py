"""Many orders of one problem: random ones, and all of a tiny one."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import combinations, permutations, product

from order import EventGraph, Item, Order
from problem import Problem


def random_order(problem: Problem, workers: int, rng: random.Random) -> Order:
    """A valid order: random lists, visits and issue order; chains as one random run met them.

    Any order free of cycles is some run's. Now and then the run does item after item, in issue
    order, so that orders fit for hand-out at run time occur too.
    """
    keys = problem.item_keys()
    rng.shuffle(keys)
    items = []
    for sequence, kv_head, part, kv in keys:
        visit = problem.item_tasks((sequence, kv_head, part, kv))
        rng.shuffle(visit)
        items.append(Item(rng.randrange(workers), sequence, kv_head, part, kv, visit))
    chains: dict[tuple[int, int, int], list[tuple[int, int]]] = {
        key: [] for key in problem.chain_keys()
    }
    part_chains: dict[tuple[int, int, int], list[int]] = {
        key: [] for key in problem.part_chain_keys()
    }
    for item, task in _random_run(items, workers, rng):
        if task is not None:
            chains[item.sequence, task[0], task[1]].append((item.kv, item.part))
        else:
            part_chains[item.sequence, item.kv_head, item.kv].append(item.part)
    return Order(workers, items, chains, part_chains)


def _random_run(
    items: list[Item], workers: int, rng: random.Random
) -> Iterator[tuple[Item, tuple[int, int] | None]]:
    """Every task and every end of an item (None), lists interleaved at random."""
    lists: list[list[tuple[Item, tuple[int, int] | None]]] = [[] for _ in range(workers)]
    for item in items:
        lists[item.worker] += [(item, task) for task in [*item.visit, None]]
    if rng.random() < 0.2:
        lists = [[(item, task) for item in items for task in [*item.visit, None]]]
    eager = rng.choice([0.0, 0.8])
    running = [iter(events) for events in lists if events]
    while running:
        stream = running[0] if rng.random() < eager else rng.choice(running)
        event = next(stream, None)
        if event is None:
            running.remove(stream)
        else:
            yield event


def all_orders(problem: Problem, workers: int, up_to_q_names: bool = False) -> Iterator[Order]:
    """All orders of a problem, up to names of workers; those with cycles too.

    Where all q tiles of a single head are alike, `up_to_q_names` fixes the first item's visits.
    """
    keys = problem.item_keys()
    visits = [list(permutations(problem.item_tasks(key))) for key in keys]
    if up_to_q_names:
        visits[0] = visits[0][:1]
    columns = [
        [
            (key[3], key[2])
            for key in keys
            if key[0] == sequence and (head, q) in problem.item_tasks(key)
        ]
        for sequence, head, q in problem.chain_keys()
    ]
    chains = [
        dict(zip(problem.chain_keys(), map(list, turns)))
        for turns in product(*map(permutations, columns))
    ]
    part_chains = [
        dict(zip(problem.part_chain_keys(), map(list, turns)))
        for turns in product(
            permutations(range(problem.parts)), repeat=len(problem.part_chain_keys())
        )
    ]
    for lists in _all_lists(range(len(keys)), workers):
        for visit in product(*visits):
            items = [
                Item(worker, *keys[index], list(visit[index]))
                for worker, indices in enumerate(lists)
                for index in indices
            ]
            for chain, part_chain in product(chains, part_chains):
                yield Order(workers, items, chain, part_chain)


def _all_lists(items: range, workers: int) -> Iterator[list[list[int]]]:
    """All ways to put items on at most so many lists, each way once whatever the lists' names."""
    size = len(items)
    for order in permutations(items):
        for count in range(min(workers, size)):
            for cuts in combinations(range(1, size), count):
                edges = [0, *cuts, size]
                lists = [list(order[a:b]) for a, b in zip(edges, edges[1:])]
                firsts = [part[0] for part in lists]
                if firsts == sorted(firsts):
                    yield lists


def min_workers_by_trial(graph: EventGraph) -> int:
    """The smallest number of residents that finish when workers start in index order, by trial."""
    return next(
        r for r in range(1, len(graph.lists) + 2) if finishes(graph, r, range(len(graph.lists)))
    )


def finishes(graph: EventGraph, residents: int, starts: Sequence[int]) -> bool:
    """Whether all lists end when so many are resident at once, and start as `starts` says."""
    done: set[int] = set()
    started = 0
    left = [list(events) for events in graph.lists]
    resident: list[list[int]] = []
    moved = True
    while moved:
        moved = False
        while started < len(left) and len(resident) < residents:
            resident.append(left[starts[started]])
            started += 1
            moved = True
        for events in resident:
            while events and graph.events[events[0]].after in done | {None}:
                done.add(events.pop(0))
                moved = True
        resident = [events for events in resident if events]
    return len(done) == len(graph.events)
