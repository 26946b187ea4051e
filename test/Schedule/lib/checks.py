"""Every check of a report: schema, coverage, total order, progress, and its four numbers.

A check returns a list of lines, one a difference; an empty list is a clean bill.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from cost import lower_bound, makespan
from order import EventGraph, Execution, Order, complete_trace, dynamic_issue, min_workers
from problem import Problem
from report import Json, Numbers, cost_of, numbers_of, order_of, problem_of
from schema import schema_differences


def _counted(what: str, found: Iterable[Any], expected: Iterable[Any]) -> list[str]:
    """Lines for what is missing, doubled or foreign, smallest first."""
    have, want = Counter(found), Counter(expected)
    lines = []
    for key in sorted(have.keys() | want.keys()):
        if not have[key]:
            lines.append(f"{what} {key}: missing")
        elif not want[key]:
            lines.append(f"{what} {key}: not part of the problem")
        elif have[key] > 1:
            lines.append(f"{what} {key}: {have[key]} times, expected once")
    return lines


def _same(what: str, found: Sequence[Any], expected: Sequence[Any]) -> list[str]:
    """As _counted, with `expected` ascending, quick where nothing is wrong."""
    return [] if sorted(found) == expected else _counted(what, found, expected)


def coverage_differences(problem: Problem, schedule: Json) -> list[str]:
    """Every item once, on a worker that exists, with exactly its active tasks."""
    items, workers = schedule["items"], schedule["workers"]
    keys = [(i["sequence"], i["kvHead"], i["part"], i["kv"]) for i in items]
    lines = _counted("item (sequence, kv head, part, kv)", keys, problem.item_keys())
    known = set(problem.item_keys())
    for index, (key, item) in enumerate(zip(keys, items)):
        if not item["worker"] < workers:
            lines.append(f"item {index}: on worker {item['worker']} of {workers}")
        if key in known:
            visit = [(head, q) for head, q in item["visit"]]
            lines += _same(f"item {index}, task (head, q)", visit, problem.item_tasks(key))
    return lines


def chain_differences(problem: Problem, schedule: Json) -> list[str]:
    """Every chain once, with every contribution to its tile once."""
    keys = [(c["sequence"], c["head"], c["q"]) for c in schedule["chains"]]
    lines = _counted("chain (sequence, head, q)", keys, problem.chain_keys())
    columns = [
        [column.nonzero()[0].tolist() for column in problem.active(sequence).T]
        for sequence in range(len(problem.sequences))
    ]
    known, owners = set(problem.chain_keys()), problem.owners()
    for key, chain in zip(keys, schedule["chains"]):
        if key not in known:
            continue
        sequence, head, q = key
        turns = [(kv, part) for kv, part in chain["order"]]
        expected = [(kv, owners[sequence, head, q, kv]) for kv in columns[sequence][q]]
        lines += _same(f"chain {key}, turn of (kv, part)", turns, expected)
    return lines


def part_chain_differences(problem: Problem, schedule: Json) -> list[str]:
    """Every kv tile's chain over the parts once, every part in it once."""
    keys = [(c["sequence"], c["kvHead"], c["kv"]) for c in schedule["partChains"]]
    lines = _counted("part chain (sequence, kv head, kv)", keys, problem.part_chain_keys())
    for key, chain in zip(keys, schedule["partChains"]):
        lines += _same(f"part chain {key}, part", chain["order"], list(range(problem.parts)))
    return lines


def progress_differences(graph: EventGraph, order: Order) -> list[str]:
    if complete_trace(graph) is not None:
        return []
    execution = Execution(graph)
    for worker in range(len(graph.lists)):
        execution.start(worker)
    stuck = min(execution.stuck())
    event = graph.events[stuck]
    item = order.items[event.item]
    place = "its end" if event.task is None else f"task (head, q) {event.task}"
    return [f"progress: worker {item.worker} waits for ever in item {event.item} at {place}"]


def numbers(problem: Problem, schedule: Json, graph: EventGraph) -> Numbers:
    """The four numbers, worked out anew."""
    cost, apart = cost_of(schedule), schedule.get("apart", "none")
    return Numbers(
        makespan(graph, cost, cost.pieces(problem), apart),
        lower_bound(problem, schedule["workers"], cost, apart),
        min_workers(graph),
        dynamic_issue(graph),
    )


def _number_differences(found: Numbers, expected: Numbers) -> list[str]:
    pairs = [
        ("makespan", found.makespan, expected.makespan),
        ("lowerBound", found.lower_bound, expected.lower_bound),
        ("minWorkers", found.min_workers, expected.min_workers),
        ("dynamicIssue", found.dynamic_issue, expected.dynamic_issue),
    ]
    lines = [
        f"{name}: found {have!r}, expected {want!r}"
        for name, have, want in pairs
        if not math.isclose(have, want, rel_tol=1e-12, abs_tol=0.0)
    ]
    if expected.makespan < expected.lower_bound * (1 - 1e-12):
        lines.append(f"makespan {expected.makespan!r} below the bound {expected.lower_bound!r}")
    return lines


def order_differences(schedule: Json) -> list[str]:
    """What is wrong with the order itself, whatever its numbers say."""
    problem = problem_of(schedule)
    lines = [
        *coverage_differences(problem, schedule),
        *chain_differences(problem, schedule),
        *part_chain_differences(problem, schedule),
    ]
    if lines:
        return lines
    order = order_of(schedule)
    return progress_differences(EventGraph.of(order), order)


def schedule_differences(schedule: Json) -> list[str]:
    """All that is wrong with one schedule of a valid document."""
    if schedule["heads"] % schedule["kvHeads"]:
        return [f"heads {schedule['heads']}: not a multiple of kvHeads {schedule['kvHeads']}"]
    group, parts = schedule["heads"] // schedule["kvHeads"], schedule["parts"]
    if group % parts and parts % group:
        return [f"parts {parts}: neither divides the group nor is a multiple of it"]
    lines = order_differences(schedule)
    if lines:
        return lines
    problem, graph = problem_of(schedule), EventGraph.of(order_of(schedule))
    return _number_differences(numbers_of(schedule), numbers(problem, schedule, graph))


def document_differences(document: Any) -> list[str]:
    """All that is wrong with a report document, each line named by its schedule."""
    lines = schema_differences(document)
    if lines:
        return lines
    return [
        f"schedules[{index}] @{schedule['op']} {schedule['kind']}: {line}"
        for index, schedule in enumerate(document["schedules"])
        for line in schedule_differences(schedule)
    ]
