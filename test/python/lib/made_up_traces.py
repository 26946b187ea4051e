"""Traces of a kernel that does what the model says, made without a GPU."""

from __future__ import annotations

from typing import Any

from dash_attn.measure import predict
from dash_attn.measure.predicted import steps_of
from dash_attn.measure.spans import Lane, Span
from dash_attn.measure.tasks import Tasks

WORKERS = 4


def report(mask: str, kind: str, form: str, kv_heads: int = 2) -> dict[str, Any]:
    text = predict.program(
        [
            {
                "rows": 1000,
                "batch": 1,
                "heads": 2,
                "kv_heads": kv_heads,
                "head_dim": 128,
                "mask": mask,
            }
        ]
    )
    return predict.report(text, f"kind={kind} workers={WORKERS}", form)


def made_up(order: dict[str, Any], predicted: dict[str, Any], factor: float = 1.0) -> list[Lane]:
    """A kernel that does what the model says: a consumer and a reducer for each worker. factor: of
    all times."""
    steps, tasks, cost = steps_of(order, predicted), Tasks(order), order["cost"]
    owner = {
        (item["sequence"], head, q, item["kv"], item["part"]): item["worker"]
        for item in order["items"]
        for head, q in item["visit"]
    }
    chains = {
        tuple(chain[name] for name in ("sequence", "head", "q")): [
            tuple(one) for one in chain["order"]
        ]
        for chain in order["chains"]
    }
    lanes = []
    for worker in range(WORKERS):
        visits, use, consumer, reducer = dict(tasks.visits(worker)), 0, list[Span](), list[Span]()

        def add(
            spans_: list[Span],
            event: str,
            of: str,
            begin: float,
            end: float,
            number: int,
            turn: int = 0,
        ) -> None:
            spans_.append(Span(event, of, 1000 * factor * begin, 1000 * factor * end, number, turn))

        computed = added = 0.0
        for number, item in enumerate(tasks.items[worker]):
            for place in range(len(item["visit"])):
                task = visits[use]
                step, turn = steps[task], tasks.turns[task]
                if step.begin > computed:
                    add(consumer, "slot_empty", "dq", computed, step.begin, use)
                start = step.computed - cost["c"]
                if place == 0:
                    add(consumer, "item", "", step.begin, step.begin, number)
                    add(reducer, "item", "", added, added, number)
                    add(consumer, "slot_full", "k", step.begin, start, number)
                add(consumer, "slot_full", "q", start, start, use)
                add(consumer, "products", "k*q^T", start, step.computed, use)
                ahead = (
                    (*task[:3], *chains[task[:3]][turn - 1])
                    if turn and order.get("apart") != "all"
                    else None
                )
                at = (
                    max(added, steps[ahead].added + cost["latency"] * (owner[ahead] != worker))
                    if ahead
                    else added
                )
                add(reducer, "turn", "", added, at, use, turn)
                add(reducer, "slot_full", "dq", at, max(at, step.computed), use)
                add(reducer, "given", "", step.adding, step.added, use)
                computed, added, use = step.computed, step.added, use + 1
            use += tasks.pieces
        lanes += [
            Lane(worker, "compute", worker, 0.0, consumer[-1].end, 0, consumer),
            Lane(worker, "reduce", worker, 0.0, reducer[-1].end, 0, reducer),
        ]
    return lanes
