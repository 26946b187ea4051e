"""The schedule report, the JSON document that dash-opt writes and reads: load and dump."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cost import Cost
from order import Item, Order
from problem import Blocks, Mask, Problem, Sequence, Union

Json = dict[str, Any]


@dataclass(frozen=True)
class Numbers:
    """What the report claims about its order."""

    makespan: float
    lower_bound: float
    min_workers: int
    dynamic_issue: bool


@dataclass(frozen=True)
class Setting:
    """What the order was made for beside its problem; by default as many workers as it has."""

    op: str = "attention_bwd"
    kind: str = "file"
    level: str = "run"
    for_workers: int | None = None
    head_dim: int = 128
    head_dim_v: int = 128
    cost: Cost = field(default_factory=Cost)


def read(path: Path | str) -> Json:
    return json.loads(Path(path).read_text(encoding="utf-8"))


def problem_of(schedule: Json) -> Problem:
    mask, blocks, union = schedule["mask"], schedule["mask"]["blocks"], schedule["mask"]["union"]
    return Problem(
        sequences=tuple(Sequence(s["q"], s["kv"]) for s in schedule["sequences"]),
        tile_q=schedule["tiles"]["q"],
        tile_kv=schedule["tiles"]["kv"],
        mask=Mask(
            mask["causal"],
            None if mask["window"] is None else (mask["window"][0], mask["window"][1]),
            None if blocks is None else Blocks(blocks["q"], blocks["kv"], tuple(blocks["bits"])),
            (
                None
                if union is None
                else Union(union["columns"], (union["window"][0], union["window"][1]))
            ),
        ),
        heads=schedule["heads"],
        kv_heads=schedule["kvHeads"],
        parts=schedule["parts"],
    )


def cost_of(schedule: Json) -> Cost:
    cost = schedule["cost"]
    return Cost(
        float(cost["c"]),
        float(cost["r"]),
        float(cost["latency"]),
        cost["buffers"],
        *(float(cost.get(name, 0)) for name in ("boundary", "piece", "convert", "gather")),
    )


def numbers_of(schedule: Json) -> Numbers:
    return Numbers(
        schedule["makespan"],
        schedule["lowerBound"],
        schedule["minWorkers"],
        schedule["dynamicIssue"],
    )


def order_of(schedule: Json) -> Order:
    """The order as listed; whether it is a good one is for `checks` to say."""
    return Order(
        workers=schedule["workers"],
        items=[
            Item(
                i["worker"],
                i["sequence"],
                i["kvHead"],
                i["part"],
                i["kv"],
                [(head, q) for head, q in i["visit"]],
            )
            for i in schedule["items"]
        ],
        chains={
            (c["sequence"], c["head"], c["q"]): [(kv, part) for kv, part in c["order"]]
            for c in schedule["chains"]
        },
        part_chains={
            (c["sequence"], c["kvHead"], c["kv"]): list(c["order"]) for c in schedule["partChains"]
        },
    )


def schedule_json(problem: Problem, order: Order, numbers: Numbers, setting: Setting) -> Json:
    """The report of one schedule."""
    mask, cost = problem.mask, setting.cost
    blocks, union = mask.blocks, mask.union
    return {
        "op": setting.op,
        "kind": setting.kind,
        "level": setting.level,
        "deterministic": True,
        "forWorkers": setting.for_workers or order.workers,
        "mask": {
            "causal": mask.causal,
            "window": None if mask.window is None else list(mask.window),
            "blocks": (
                None
                if blocks is None
                else {"q": blocks.q, "kv": blocks.kv, "bits": list(blocks.bits)}
            ),
            "union": (
                None if union is None else {"columns": union.columns, "window": list(union.window)}
            ),
        },
        "tiles": {"q": problem.tile_q, "kv": problem.tile_kv},
        "sequences": [{"q": s.q, "kv": s.kv} for s in problem.sequences],
        "heads": problem.heads,
        "kvHeads": problem.kv_heads,
        "parts": problem.parts,
        "headDim": setting.head_dim,
        "headDimV": setting.head_dim_v,
        "workers": order.workers,
        "minWorkers": numbers.min_workers,
        "dynamicIssue": numbers.dynamic_issue,
        "cost": {
            "c": cost.compute,
            "r": cost.reduce,
            "latency": cost.latency,
            "buffers": cost.buffers,
            "boundary": cost.boundary,
            **{
                name: price
                for name in ("piece", "convert", "gather")
                if (price := getattr(cost, name))
            },
        },
        "makespan": numbers.makespan,
        "lowerBound": numbers.lower_bound,
        **order_json(order),
    }


def order_json(order: Order) -> Json:
    """The three members of a report that are the order itself."""
    return {
        "items": [
            {
                "worker": i.worker,
                "sequence": i.sequence,
                "kvHead": i.kv_head,
                "part": i.part,
                "kv": i.kv,
                "visit": [list(task) for task in i.visit],
            }
            for i in order.items
        ],
        "chains": [
            {"sequence": sequence, "head": head, "q": q, "order": [list(turn) for turn in chain]}
            for (sequence, head, q), chain in order.chains.items()
        ],
        "partChains": [
            {"sequence": sequence, "kvHead": kv_head, "kv": kv, "order": parts}
            for (sequence, kv_head, kv), parts in order.part_chains.items()
        ],
    }


def document(*schedules: Json) -> Json:
    return {"version": 1, "schedules": list(schedules)}


def bits_of(schedule: Json, sequence: int) -> Json:
    """All of a report that fixes the bits of one sequence's gradients."""
    return {
        "visits": {
            (i["kvHead"], i["part"], i["kv"]): i["visit"]
            for i in schedule["items"]
            if i["sequence"] == sequence
        },
        "chains": {
            (c["head"], c["q"]): c["order"] for c in schedule["chains"] if c["sequence"] == sequence
        },
        "partChains": {
            (c["kvHead"], c["kv"]): c["order"]
            for c in schedule["partChains"]
            if c["sequence"] == sequence
        },
        "parts": schedule["parts"],
        "tiles": schedule["tiles"],
    }
