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
    piece: float = 0.0
    convert: float = 0.0  # in no makespan, nor is what follows
    gather: float = 0.0

    def pieces(self, problem: Problem) -> int:
        """In which an item adds its dK and dV, each as large as a tile of dQ."""
        return 2 * -(-problem.tile_kv // problem.tile_q) if problem.parts > 1 and self.piece else 0


def makespan(graph: EventGraph, cost: Cost, pieces: int = 0, apart: str = "none") -> float:
    """The largest R of

    C(k) = max(C(k-1), R(k-b)) + c + (boundary if the task is the first of its item)
    R(k) = max(C(k), R(k-1), R(pred) + (latency if pred is on another worker)) + r

    With pieces, items end with as many more uses of buffers, of `piece` each, one behind the other.
    The first of them comes `latency` behind the first of the part in front; and the boundary of the
    item behind needs no buffer. What is kept `apart`, of "parts" or of "all", waits for nothing in
    front.
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
        worker = worker_of[event.item]
        mine = reduced[worker]
        arrived = 0.0
        waits = apart == "none" if event.task is None else apart != "all"
        if waits and event.after is not None:
            away = worker_of[events[event.after].item] != worker
            arrived = end[event.after] + (cost.latency if away else 0.0)
        if event.task is None:
            if pieces:
                start = max(mine[-1] if mine else 0.0, arrived)
                end[index] = start + cost.piece
                mine += [start + piece * cost.piece for piece in range(1, pieces + 1)]
            continue
        freed = mine[-cost.buffers] if len(mine) >= cost.buffers else 0.0
        boundary = cost.boundary if item_of[worker] != event.item else 0.0
        item_of[worker] = event.item
        start = max(computed[worker], freed - (boundary if pieces else 0.0))
        computed[worker] = start + cost.compute + boundary
        end[index] = max(computed[worker], mine[-1] if mine else 0.0, arrived) + cost.reduce
        mine.append(end[index])
    return max((mine[-1] for mine in reduced if mine), default=0.0)


def length(tasks: int, items: int, cost: Cost, pieces: int = 0) -> float:
    """The time of a worker that does nothing else than the tasks of some items, and has no less
    work behind an item than between two."""
    adds = pieces * cost.piece
    if cost.buffers == 1:
        between = max(cost.boundary - cost.reduce, adds) if pieces else cost.boundary
        return tasks * (cost.compute + cost.reduce) + items * between
    between = cost.boundary
    if pieces >= cost.buffers:  # the buffer of the next task was a piece's
        between = max(between, cost.reduce + (pieces + 1 - cost.buffers) * cost.piece)
    return max(tasks * cost.compute + items * between, tasks * cost.reduce + items * adds)


def lower_bound(problem: Problem, workers: int, cost: Cost, apart: str = "none") -> float:
    sizes = sorted((size for size in _item_sizes(problem) if size), reverse=True)
    chains = [int(problem.active(s).sum(axis=0).max()) for s in range(len(problem.sequences))]
    pieces = cost.pieces(problem)
    bounds = [length(problem.num_tasks(), len(sizes), cost, pieces) / workers]
    if max(chains) and apart != "all":
        bounds.append(cost.boundary + cost.compute + max(chains) * cost.reduce)
    bounds += [length(tasks, items, cost, pieces) for tasks, items in _crowded(sizes, workers)]
    return max(bounds)


def _item_sizes(problem: Problem) -> list[int]:
    """The number of tasks of every item."""
    return [len(problem.item_tasks(key)) for key in problem.item_keys()]


def _crowded(descending: Sequence[int], workers: int) -> list[tuple[int, int]]:
    """Among the kW+1 longest items some worker has k+1: at least the shortest k+1 of them. Their
    tasks, and how many they are."""
    sums = list(accumulate(descending, initial=0))
    return [
        (sums[k * workers + 1] - sums[k * workers - k], k + 1)
        for k in range(-(-len(descending) // workers))
    ]
