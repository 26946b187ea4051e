"""Where in an operator's output two runs differ: which heads and rows; of dash's attention which
tiles, and so which tasks of which workers."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from ..kernel.orders import order_for, texts_of
from ..kernel.problem import Wanted, slices_of
from ..measure.predict import program, report
from ..measure.tasks import Tasks
from ..reference import Mask
from .runs import BLOCK, Run, Space, compare

NAMED = 5  # of many tasks
OUTPUTS = ("dq", "dk", "dv")
Place = tuple[int, ...]


def locate(one: Run, other: Run) -> list[str]:
    """Lines that say where in the first operator that differs its outputs do; none where runs
    are equal, are different programs, or were not recorded with space=True. Finds an order as
    the call did, which takes as long. Raises what `compare` and the compiler raise."""
    found = compare(one, other)
    if (
        found is None
        or not found.is_of_values
        or found.equal not in one.spaces
        or found.equal not in other.spaces
    ):
        return []
    lines, places, call = [], dict[int, list[Place]](), one.spaces[found.equal].call
    for number in range(found.equal, len(one.entries)):
        entry = one.entries[number]
        if (
            number >= len(other.entries)
            or entry.place != other.entries[number].place
            or entry.place[:4] != found.entry.place[:4]
            or entry.output != found.entry.output + number - found.equal
        ):
            break
        if (
            number in one.spaces
            and number in other.spaces
            and (differing := _differing(one.spaces[number], other.spaces[number]))
        ):
            places[entry.output] = differing
            name = (
                OUTPUTS[entry.output]
                if call and entry.output < len(OUTPUTS)
                else f"output {entry.output}"
            )
            lines.append(f"{name}: {_words(one.spaces[number], differing, call is not None)}")
    return [*lines, *(_tasks(call, places) if call else ())]


def _differing(one: Space, other: Space) -> list[Place]:
    """Indices of blocks, in the order of `Space.hashes`."""
    if one[:2] != other[:2]:
        return []
    sizes = (*one.lead, one.blocks)
    found = []
    for flat in (
        i for i, (here, there) in enumerate(zip(one.hashes, other.hashes)) if here != there
    ):
        place = []
        for size in reversed(sizes):
            flat, index = divmod(flat, size)
            place.append(index)
        found.append(tuple(reversed(place)))
    return found


def _words(space: Space, differing: list[Place], is_attention: bool) -> str:
    first, rows = differing[0], space.shape[space.axis]
    total = math.prod(space.lead) * space.blocks
    at = f"rows {first[-1] * BLOCK} to {min(rows, (first[-1] + 1) * BLOCK) - 1}"
    if is_attention:
        place = f"batch {first[0]}, head {first[1]}, {at}"
        heads = len({block[:2] for block in differing})
        return (
            f"{len(differing)} of {total} blocks of {BLOCK} rows differ, in {heads}"
            f" head{'s' * (heads > 1)}; the first is {place}"
        )
    index = f"[{', '.join(map(str, first[:-1]))}], " if first[:-1] else ""
    return (
        f"{len(differing)} of {total} blocks of {BLOCK} rows (dimension {space.axis}) differ; the"
        f" first is {index}{at}"
    )


def order_of(call: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The order that a call of `attention` takes, as the JSON report has it; None where it is
    computed in slices."""
    (batch, heads, rows, head_dim), (_, kv_heads, columns, _) = call["q"], call["k"]
    if len(slices_of(call["q"], call["k"], call["v"], "bhsd")) > 1:
        return None
    window, head_dim_v = tuple(call["window"]), call["v"][-1]
    wanted, *others = order_for(
        Wanted(head_dim, head_dim_v, call["element"], window),
        batch,
        heads,
        kv_heads,
        rows,
        columns,
    ).kernels
    if others:
        return None
    if wanted.sizes:  # those that the table is for
        *_, rows, columns = wanted.sizes
    text = program(
        [
            {
                "rows": rows,
                "kv_rows": columns,
                "batch": batch,
                "heads": heads,
                "kv_heads": kv_heads,
                "head_dim": head_dim,
                "head_dim_v": head_dim_v,
                "mask": Mask(*window).text,
            }
        ]
    )
    workers = json.loads(texts_of(wanted)[0])["program"]["workers"]
    options = (
        f"kind={wanted.kind} parts={wanted.parts} apart={wanted.apart or 'none'} workers={workers}"
    )
    return report(text, options)["schedules"][0]


def _tasks(call: Mapping[str, Any], places: Mapping[int, list[Place]]) -> list[str]:
    order = order_of(call)
    if order is None:
        return [
            "the call is computed in slices, or dk and dv apart from dq, and each has an"
            " order of its own: no task is named"
        ]
    tiles, turns = order["tiles"], Tasks(order).turns
    of_q = {(*place[:2], place[2] * BLOCK // tiles["q"]) for place in places.get(0, ())}
    of_kv = {
        (*place[:2], place[2] * BLOCK // tiles["kv"])
        for output in (1, 2)
        for place in places.get(output, ())
    }
    tasks = [
        (item, head, q, turns[item["sequence"], head, q, item["kv"], item["part"]])
        for item in order["items"]
        for head, q in item["visit"]
    ]
    in_q = [task for task in tasks if (task[0]["sequence"], task[1], task[2]) in of_q]
    in_kv = [
        task for task in tasks if (task[0]["sequence"], task[0]["kvHead"], task[0]["kv"]) in of_kv
    ]
    both = [
        task for task in in_q if (task[0]["sequence"], task[0]["kvHead"], task[0]["kv"]) in of_kv
    ]
    if both:
        return [
            f"{len(both)} of {len(tasks)} tasks add to tiles of dq and of dk or dv that differ:"
            f" {_named(both)}"
        ]
    if of_q and of_kv:
        return [
            "tiles of dq and of dk or dv differ that no task adds to both of: several tasks, or"
            f" what is before them: {_named(in_q)}; {_named(in_kv)}"
        ]
    if of_q:
        first = min(of_q)
        chain = sorted(
            (task for task in in_q if (task[0]["sequence"], task[1], task[2]) == first),
            key=lambda task: task[3],
        )
        return [
            "dk and dv are equal: a contribution to a tile of dq, or the order in which they were"
            f" added; those to q tile {first[2]} of head {first[1]}: {_named(chain)}"
        ]
    return [
        f"dq is equal: sums of dk or dv of {len(of_kv)} kv tile{'s' * (len(of_kv) > 1)},"
        f" {_owners(in_kv)}"
    ]


def _named(tasks: list[Any]) -> str:
    """tasks: (item, head, q, turn)."""
    words = [
        f"kv tile {item['kv']}, q tile {q} of head {head} in sequence {item['sequence']} (turn"
        f" {turn}, worker {item['worker']})"
        for item, head, q, turn in tasks[:NAMED]
    ]
    return "; ".join(words) + "; ..." * (len(tasks) > NAMED)


def _owners(tasks: Iterable[Any]) -> str:
    owners = dict.fromkeys(
        (item["sequence"], item["kvHead"], item["kv"], item["worker"]) for item, *_ in tasks
    )
    words = [
        f"kv tile {kv} of kv head {head} in sequence {sequence} of worker {worker}"
        for sequence, head, kv, worker in [*owners][:NAMED]
    ]
    return "; ".join(words) + "; ..." * (len(owners) > NAMED)
