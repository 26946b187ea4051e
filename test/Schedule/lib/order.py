"""An order of a problem's tasks: items on lists, visit orders, chains; and its run to the end."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field


@dataclass
class Item:
    worker: int
    sequence: int
    kv_head: int
    part: int
    kv: int
    visit: list[tuple[int, int]]

    @property
    def key(self) -> tuple[int, int, int, int]:
        return self.sequence, self.kv_head, self.part, self.kv


@dataclass
class Order:
    """Items stand in issue order; a worker's list is its items in that order."""

    workers: int
    items: list[Item]
    chains: dict[tuple[int, int, int], list[tuple[int, int]]]
    part_chains: dict[tuple[int, int, int], list[int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Event:
    """The reduction of a task, or the end of an item (no task); `after` is what it waits for."""

    item: int
    task: tuple[int, int] | None
    after: int | None


@dataclass
class EventGraph:
    """All events of an order that covers its problem; each list is a worker's program order."""

    events: list[Event]
    lists: list[list[int]]
    workers: list[int]

    @staticmethod
    def of(order: Order) -> EventGraph:
        number: dict[tuple[int, tuple[int, int] | None], int] = {}
        items = {item.key: index for index, item in enumerate(order.items)}
        lists: list[list[int]] = [[] for _ in range(order.workers)]
        for index, item in enumerate(order.items):
            for task in [*item.visit, None]:
                lists[item.worker].append(len(number))
                number[index, task] = len(number)
        before: dict[tuple[int, tuple[int, int] | None], int] = {}
        kv_head_of = _kv_heads(order)
        for (sequence, head, q), chain in order.chains.items():
            turns = [(items[sequence, kv_head_of[head], part, kv], (head, q)) for kv, part in chain]
            before.update((turn, number[pred]) for pred, turn in zip(turns, turns[1:]))
        for (sequence, kv_head, kv), parts in order.part_chains.items():
            ends = [(items[sequence, kv_head, part, kv], None) for part in parts]
            before.update((turn, number[pred]) for pred, turn in zip(ends, ends[1:]))
        events = [Event(item, task, before.get((item, task))) for item, task in number]
        return EventGraph(events, lists, [item.worker for item in order.items])


def _kv_heads(order: Order) -> dict[int, int]:
    return {head: item.kv_head for item in order.items for head, _ in item.visit}


class Execution:
    """Runs lists as far as they get; lists can be started one by one, the whole is linear."""

    def __init__(self, graph: EventGraph) -> None:
        self.graph = graph
        self.trace: list[int] = []
        self.unfinished = 0
        self._done = bytearray(len(graph.events))
        self._place = [0] * len(graph.lists)
        self._waiting: dict[int, list[int]] = defaultdict(list)

    def start(self, worker: int) -> None:
        self.unfinished += 1
        ready = [worker]
        while ready:
            self._advance(ready.pop(), ready)

    def _advance(self, worker: int, ready: list[int]) -> None:
        events, mine = self.graph.events, self.graph.lists[worker]
        while self._place[worker] < len(mine):
            event = mine[self._place[worker]]
            after = events[event].after
            if after is not None and not self._done[after]:
                self._waiting[after].append(worker)
                return
            self._done[event] = 1
            self.trace.append(event)
            self._place[worker] += 1
            ready.extend(self._waiting.pop(event, ()))
        self.unfinished -= 1

    def stuck(self) -> list[int]:
        """The events at which started lists wait."""
        return [
            self.graph.lists[worker][self._place[worker]]
            for workers in self._waiting.values()
            for worker in workers
        ]


def complete_trace(graph: EventGraph) -> list[int] | None:
    """An order of all events that respects every wait, or None when there is a cycle."""
    execution = Execution(graph)
    for worker in range(len(graph.lists)):
        execution.start(worker)
    return execution.trace if len(execution.trace) == len(graph.events) else None


def min_workers(graph: EventGraph) -> int:
    """1 + the largest number of unfinished lists when only the first k lists run, over all k."""
    execution = Execution(graph)
    most = 0
    for worker in range(len(graph.lists)):
        execution.start(worker)
        most = max(most, execution.unfinished)
    return most + 1


def dynamic_issue(graph: EventGraph) -> bool:
    """Whether every event waits only for items that come earlier in issue order."""
    events = graph.events
    return all(e.after is None or events[e.after].item < e.item for e in events)


def workers_wait(graph: EventGraph) -> bool:
    """Whether an event waits for one of another worker."""
    worker = [graph.workers[event.item] for event in graph.events]
    return any(
        e.after is not None and worker[e.after] != worker[i] for i, e in enumerate(graph.events)
    )
