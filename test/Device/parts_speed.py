#!/usr/bin/env python3
"""parts_speed.py --json FILE: short backward passes whole and entry by entry, in the order that
attention() takes and in other numbers of parts, and of the first in runs of q tiles; each with sums
that grow turn by turn, and with contributions that are kept apart, which a search finds another
order for.

A graph has the backward pass, or one of its entries ten times; times are medians of rounds in a
random order, in microseconds, those of an entry of one run. Inputs stay in L2 from run to run. The
prices `piece` and `gather` in costs-h200.json come from such records.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "python")]

import torch  # noqa: E402

from dash_attn import Kernel  # noqa: E402
from dash_attn.measure.peers import make_tensors  # noqa: E402
from dash_attn.kernel.orders import order_for, texts_of  # noqa: E402
from dash_attn.kernel.problem import Q_TILE, SEARCHED, Wanted  # noqa: E402
from dash_attn.kernel.runtime import maker_of  # noqa: E402
from dash_attn.measure.bundle import commit  # noqa: E402
from dash_attn.measure.testing import Case  # noqa: E402
from dash_attn.measure.timing import Variant, measure_whole, summary  # noqa: E402
from dash_attn.reference import CAUSAL, FULL, Mask  # noqa: E402
from dash_attn.support.records import write_record  # noqa: E402

# Head dim, mask, query heads, kv heads, rows of q and of kv; one sequence.
PROBLEMS: tuple[tuple[int, Mask, int, int, int, int], ...] = (
    (128, CAUSAL, 32, 8, 128, 128),
    (128, FULL, 32, 8, 512, 512),
    (128, FULL, 2, 2, 128, 128),
    (64, FULL, 32, 8, 128, 128),
    (128, CAUSAL, 8, 1, 2048, 2048),
    (128, FULL, 8, 1, 2048, 2048),
    (128, FULL, 32, 8, 1, 4096),
    (128, FULL, 32, 8, 16, 4096),
    (128, CAUSAL, 32, 8, 512, 512),
    (128, CAUSAL, 8, 8, 1024, 1024),
    (64, CAUSAL, 8, 8, 1024, 1024),
    (128, CAUSAL, 2, 2, 2048, 2048),
)
PARTS = (1, 2, 4, 8)
APART = ("", "parts", "all")
REPEATS = 10  # of an entry in its graph


def graph_of(stream: torch.cuda.Stream, run: Callable[[], Any]) -> torch.cuda.CUDAGraph:
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        run()
    return graph


def orders_of(wanted: Wanted, sizes: tuple[int, ...]) -> dict[str, Wanted]:
    """The one that attention() takes, and searched ones, in whole query heads and in runs of q
    tiles."""
    chosen = order_for(wanted, *sizes).wanted
    group = sizes[1] // sizes[2]
    numbers = [
        parts
        for parts in sorted({*PARTS, chosen.parts})
        if parts <= group or parts % group == 0 and parts // group * Q_TILE <= sizes[3]
    ]
    orders = {
        f"{parts} parts{f', apart={apart}' if apart else ''}": wanted._replace(
            kind=SEARCHED, parts=parts, has_runs=parts > group, sizes=sizes, apart=apart
        )
        for parts in numbers
        for apart in APART
        if apart != "parts" or parts > 1
    }
    return {"attention()": chosen} | {
        name: order for name, order in orders.items() if order != chosen
    }


def measured(
    problem: tuple[int, Mask, int, int, int, int], rounds: int, rng: random.Random
) -> list[dict[str, Any]]:
    head_dim, mask, heads, kv_heads, q_rows, kv_rows = problem
    case = Case(head_dim, mask, q_rows, kv_rows, 1, heads, kv_heads)
    tensors = {name: tensor.detach() for name, tensor in make_tensors(case, {})[0].items()}
    rows, variants, kept = [], [], []
    for name, wanted in orders_of(
        Wanted(head_dim, head_dim, "bf16", (mask.left, mask.right)),
        (1, heads, kv_heads, q_rows, kv_rows),
    ).items():
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        kernel = Kernel(maker_of(texts_of(wanted)))
        launch = kernel.bind(**tensors, scale=case.scale, stream=stream.cuda_stream)
        with torch.cuda.stream(stream):
            launch.run()  # what happens once does not belong into a graph
        torch.cuda.synchronize()
        whole = Variant(name, graph_of(stream, launch.run).replay)
        entries = {
            role: Variant(
                f"{name} {role}",
                graph_of(
                    stream, lambda i=i, launch=launch: [launch.run_step(i) for _ in range(REPEATS)]
                ).replay,
            )
            for i, role in enumerate(launch.plan.steps)
        }
        variants += [whole, *entries.values()]
        kept.append((kernel, launch, stream))
        rows.append(
            {
                "head_dim": head_dim,
                "mask": mask.text,
                "heads": heads,
                "kv_heads": kv_heads,
                "rows": q_rows,
                "kv_rows": kv_rows,
                "order": name,
                "kind": wanted.kind,
                "parts": wanted.parts,
                "apart": wanted.apart,
                "whole": whole,
                "entries": entries,
            }
        )
    measure_whole(variants, rounds, None, rng)
    for row in rows:
        row["whole_us"] = 1e3 * summary(case, row.pop("whole"))["ms"]
        row["entries_us"] = {
            role: 1e3 / REPEATS * summary(case, variant)["ms"]
            for role, variant in row.pop("entries").items()
        }
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0, help="of the order in which graphs run")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    results: list[dict[str, Any]] = []
    for problem in PROBLEMS:
        rows = measured(problem, arguments.rounds, random.Random(arguments.seed))
        results += rows
        for row in rows:
            entries = ", ".join(f"{role} {us:.1f}" for role, us in row["entries_us"].items())
            print(
                f"{row['head_dim']} {row['mask']:10s} {row['heads']}/{row['kv_heads']} heads,"
                f" {row['rows']} x {row['kv_rows']}, {row['order']:24s} {row['kind']} in"
                f" {row['parts']}, apart: {row['apart'] or 'none'}: {row['whole_us']:.1f} us;"
                f" {entries}",
                flush=True,
            )
    if arguments.json:
        about = {
            "commit": commit(),
            "date": time.strftime("%Y-%m-%d"),
            "gpu": torch.cuda.get_device_name(),
            "torch": torch.__version__,
            "rounds": arguments.rounds,
            "results": results,
        }
        write_record(arguments.json, about)


if __name__ == "__main__":
    main()
