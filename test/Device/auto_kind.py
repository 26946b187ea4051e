#!/usr/bin/env python3
"""auto_kind.py --json FILE: kind=auto beside every fixed kind, on shapes that people have:
predicted and measured time.

Kernels are compiled here, by libdash, for the stated sizes. All kinds of a shape and cuDNN's
backward run in one process, each once a round, in a random order; times are medians. The status is
1 if what kind=auto took is more than 2 % slower than the fastest fixed kind, or no time was left
for a shape.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "python")]

import torch  # noqa: E402
from torch.nn.attention import SDPBackend  # noqa: E402

from dash_attn import Kernel  # noqa: E402
from dash_attn.measure.peers import make_tensors  # noqa: E402
from dash_attn.measure.bundle import commit  # noqa: E402
from dash_attn.measure.predict import KINDS, predict, program  # noqa: E402
from dash_attn.measure.testing import Case  # noqa: E402
from dash_attn.measure.timing import Variant, measure_whole, summary  # noqa: E402
from dash_attn.reference import Mask  # noqa: E402
from dash_attn.support.records import write_record  # noqa: E402

# head dim, mask, rows of q and of k, batch, heads, kv heads
SHAPES = (
    (128, "causal", 8192, 8192, 1, 32, 8),
    (128, "full", 1024, 8192, 1, 32, 8),
    (128, "causal", 4096, 4096, 1, 40, 8),
    (128, "causal", 2048, 2048, 4, 32, 8),
    (64, "causal", 1024, 1024, 8, 12, 12),
    (64, "full", 577, 577, 16, 16, 16),
    (128, "causal", 32768, 32768, 1, 8, 8),
)
SLOWER = 1.02


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument(
        "--seconds", type=float, default=200, help="begin no further shape after so many"
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="of inputs and of the order in which variants run"
    )
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    workers, generator = (
        torch.cuda.get_device_properties(0).multi_processor_count,
        random.Random(arguments.seed),
    )
    begun, rows, late = time.monotonic(), [], []
    for shape in SHAPES:
        if time.monotonic() - begun > arguments.seconds:
            late.append(shape)
            continue
        head_dim, mask, *sizes = shape
        case = Case(head_dim, Mask.named(mask), *sizes, seed=arguments.seed)
        rows.append(compare(case, workers, arguments.rounds, generator))
        print_row(rows[-1])
        torch.cuda.empty_cache()
    if arguments.json:
        about = {
            "commit": commit(),
            "date": time.strftime("%Y-%m-%d"),
            "gpu": torch.cuda.get_device_name(),
            "torch": torch.__version__,
            "left_out": late,
        }
        write_record(arguments.json, {**about, "results": rows})
    return int(bool(late) or any(row["to_best_fixed"] > SLOWER for row in rows))


def compare(case: Case, workers: int, rounds: int, generator: random.Random) -> dict[str, Any]:
    row = {
        "head_dim": case.head_dim,
        "mask": case.mask.name,
        "rows": case.q_rows,
        "kv_rows": case.kv_rows,
        "batch": case.batch,
        "heads": case.heads,
        "kv_heads": case.kv_heads,
    }
    kernels = {
        kind: Kernel.compile(program([row]), f"kind={kind} workers={workers}")
        for kind in (*KINDS, "auto")
    }
    predicted = predict([{**row, "variant": kind} for kind in kernels], workers)
    tensors, peers = make_tensors(case, {"cudnn": SDPBackend.CUDNN_ATTENTION})
    leaves, given = (
        [tensors[name] for name in ("q", "k", "v")],
        {name: tensor.detach() for name, tensor in tensors.items()},
    )
    variants = [
        Variant(kind, kernel.bind(**given, scale=case.scale).run)
        for kind, kernel in kernels.items()
    ]
    variants += [
        Variant(
            f"{name} (nd)",
            lambda o=o: torch.autograd.grad(o, leaves, given["do"], retain_graph=True),
        )
        for name, o in peers.items()
    ]
    measure_whole(variants, rounds, None, generator)
    times = {variant.name: summary(case, variant)["ms"] for variant in variants}
    return {
        **row,
        "auto": kernels["auto"].manifest["program"]["kind"],
        "ms": times,
        "predicted_us": {kind: makespan for kind, (makespan, _) in zip(kernels, predicted)},
        "to_best_fixed": times["auto"] / min(times[kind] for kind in KINDS),
    }


def print_row(row: dict[str, Any]) -> None:
    print(
        f"head dim {row['head_dim']}, {row['mask']}, {row['rows']} x {row['kv_rows']} rows, batch"
        f" {row['batch']}, {row['heads']}/{row['kv_heads']} heads: auto took {row['auto']},"
        f" {row['to_best_fixed']:.3f} of the best fixed kind's time"
    )
    for name, milliseconds in row["ms"].items():
        predicted = row["predicted_us"].get(name)
        print(
            f"  {name:16} {milliseconds:8.3f} ms"
            + (f", {predicted / 1e3:8.3f} predicted" if predicted else ""),
            flush=True,
        )


if __name__ == "__main__":
    sys.exit(main())
