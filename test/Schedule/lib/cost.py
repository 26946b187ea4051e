"""The cost of an order: makespan by the recurrences, and the lower bound of its problem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from order import EventGraph, complete_trace
from problem import Problem


@dataclass(frozen=True)
class Cost:
    compute: float = 1.0
    reduce: float = 1.0
    latency: float = 0.0
    buffers: int = 1
    boundary: float = 0.0


def makespan(graph: EventGraph, cost: Cost) -> float:
    """The largest R of

    C(k) = max(C(k-1), R(k-b)) + c + (boundary if the task is the first of its item)
    R(k) = max(C(k), R(k-1), R(pred) + (latency if pred is on another worker)) + r
    """
    trace = complete_trace(graph)
    if trace is None:
        raise ValueError("the order has a cycle")
    events, worker_of = graph.events, graph.workers
    computed = [0.0] * len(graph.lists)
    reduced: list[list[float]] = [[] for _ in graph.lists]
    item_of = [-1] * len(graph.lists)
    end = [0.0] * len(events)
    for index in trace:
        event = events[index]
        if event.task is None:
            continue
        worker = worker_of[event.item]
        mine = reduced[worker]
        freed = mine[-cost.buffers] if len(mine) >= cost.buffers else 0.0
        boundary = cost.boundary if item_of[worker] != event.item else 0.0
        item_of[worker] = event.item
        computed[worker] = max(computed[worker], freed) + cost.compute + boundary
        arrived = 0.0
        if event.after is not None:
            away = worker_of[events[event.after].item] != worker
            arrived = end[event.after] + (cost.latency if away else 0.0)
        end[index] = max(computed[worker], mine[-1] if mine else 0.0, arrived) + cost.reduce
        mine.append(end[index])
    return max((mine[-1] for mine in reduced if mine), default=0.0)


def length(tasks: int, items: int, cost: Cost) -> float:
    """Of a worker that does nothing else than the tasks of some items."""
    boundaries = items * cost.boundary
    if cost.buffers == 1:
        return tasks * (cost.compute + cost.reduce) + boundaries
    return max(tasks * cost.compute + boundaries, tasks * cost.reduce)


def lower_bound(problem: Problem, workers: int, cost: Cost) -> float:
    sizes = sorted((size for size in _item_sizes(problem) if size), reverse=True)
    chains = [int(problem.active(s).sum(axis=0).max()) for s in range(len(problem.sequences))]
    bounds = [length(problem.num_tasks(), len(sizes), cost) / workers]
    if max(chains):
        bounds.append(cost.boundary + cost.compute + max(chains) * cost.reduce)
    bounds += [length(tasks, items, cost) for tasks, items in _crowded(sizes, workers)]
    return max(bounds)


def _item_sizes(problem: Problem) -> list[int]:
    """The number of tasks of every item."""
    heads = problem.group // problem.parts
    sizes: list[int] = []
    for sequence in range(len(problem.sequences)):
        rows = (problem.active(sequence).sum(axis=1) * heads).tolist()
        sizes += rows * (problem.kv_heads * problem.parts)
    return sizes


def _crowded(descending: Sequence[int], workers: int) -> list[tuple[int, int]]:
    """Among the kW+1 longest items some worker has k+1: at least the shortest k+1 of them. Their tasks, and how many they are."""
    sums = list(accumulate(descending, initial=0))
    return [
        (sums[k * workers + 1] - sums[k * workers - k], k + 1)
        for k in range(-(-len(descending) // workers))
    ]
