#!/usr/bin/env python3
"""mask_speed.py --json FILE: windows, unions and bitmaps beside the plain causal mask, by active
task, and beside PyTorch's FlashAttention.

Tokens are 16384, heads times head dim 2048. Kernels are compiled here, by libdash, with kind=auto
for the stated sizes. Times are medians of rounds in a random order, of all entries and of the main
kernel alone, and these by active task: times workers, over the tasks that the mask leaves. `bound`
is 1.1 (1 + b / n) of the causal kernel's time by task at the same rows, n being tasks an item and b
the price of an item's boundary in tasks. The status is 1 where a row is above its bound, or no time
was left for one.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [
    str(HERE.parent),
    str(HERE.parents[1] / "python"),
    str(HERE.parents[1] / "tools/scripts"),
]

import numpy as np  # noqa: E402
import torch  # noqa: E402

from dash_attn import Kernel  # noqa: E402
from dash_attn.measure.bundle import commit  # noqa: E402
from dash_attn.measure.predict import predict, program  # noqa: E402
from dash_attn.measure.testing import OUTPUTS, Case, allocate, flash_arguments  # noqa: E402
from dash_attn.measure.timing import Variant, measure  # noqa: E402
from dash_attn.reference import CAUSAL, Blocks, Mask, Union  # noqa: E402
from dash_attn.support.records import write_record  # noqa: E402
from random_blocks import random_bits  # noqa: E402

TOKENS, HIDDEN, TILE_Q, TILE_KV = 16384, 2048, 64, 128
LENGTHS = (4096, 16384)
ALLOWED = 1.1


def masks(rows: int) -> dict[str, Mask]:
    bits = tuple(map(tuple, random_bits(7, rows // TILE_KV, rows // TILE_Q, 0.3)))
    return {
        "causal": CAUSAL,
        "window 512": Mask(512, 0),
        "window 2048": Mask(2048, 0),
        "prefix of 1024": Mask(union=Union(1024, -1, 0)),
        "4 sinks, window 512": Mask(right=0, union=Union(4, 512, -1)),
        "30 % of the tiles": Mask(blocks=Blocks(TILE_Q, TILE_KV, bits)),
        "30 % of the tiles, causal": Mask(right=0, blocks=Blocks(TILE_Q, TILE_KV, bits)),
    }


def tasks_of(mask: Mask, rows: int) -> tuple[int, int]:
    """Tiles of a head of which an element is seen, and kv tiles with such a one."""
    first_q, first_kv = np.arange(0, rows, TILE_Q)[None, :], np.arange(0, rows, TILE_KV)[:, None]
    last_q, last_kv = (
        np.minimum(first_q + TILE_Q, rows) - 1,
        np.minimum(first_kv + TILE_KV, rows) - 1,
    )

    def meets(left: int, right: int, last: Any = last_kv) -> Any:
        """Differences of a column and a row in a tile are all from the least to the most."""
        return (
            ((right < 0) | (first_kv - last_q <= right))
            & ((left < 0) | (last - first_q >= -left))
            & (last >= first_kv)
        )

    seen = meets(mask.left, mask.right)
    if mask.union is not None:
        columns, left, right = mask.union
        seen = meets(mask.left, mask.right, np.minimum(last_kv, columns - 1)) | meets(
            tighter(mask.left, left), tighter(mask.right, right)
        )
    if mask.blocks is not None:
        bits = np.array(mask.blocks.bits, dtype=bool)
        seen &= bits[first_kv // mask.blocks.kv, first_q // mask.blocks.q]
    return int(seen.sum()), int(seen.any(axis=1).sum())


def tighter(one: int, other: int) -> int:
    """The lesser of two bounds, of which -1 is none."""
    return max(one, other) if min(one, other) < 0 else min(one, other)


def tensors_of(case: Case) -> tuple[dict[str, torch.Tensor], Any]:
    """Inputs, o and LSE of a forward pass of PyTorch; and its backward pass, where it knows the
    mask. Where not, o and LSE are those of another mask, which changes values but no time."""
    torch.manual_seed(case.seed)
    tensors = allocate(case, ("q", "k", "v", "do", *OUTPUTS), "cuda")
    for name in ("q", "k", "v", "do"):
        tensors[name].normal_()
    inputs = [tensors[name].transpose(1, 2) for name in ("q", "k", "v")]
    rest, options = flash_arguments(
        case
        if case.mask.is_band
        else Case(
            case.head_dim, CAUSAL, case.q_rows, case.kv_rows, case.batch, case.heads, case.kv_heads
        )
    )
    o, lse, *states = torch.ops.aten._flash_attention_forward(*inputs, *rest, False, **options)
    tensors |= {"o": o.transpose(1, 2), "lse": lse.contiguous()}

    def theirs() -> Any:
        return torch.ops.aten._flash_attention_backward(
            tensors["do"].transpose(1, 2), *inputs, o, lse, *rest, *states[:2], **options
        )

    return tensors, theirs if case.mask.is_band else None


def measure_mask(
    name: str, case: Case, workers: int, rounds: int, rng: random.Random
) -> dict[str, Any]:
    row = {
        "head_dim": case.head_dim,
        "mask": case.mask.text,
        "rows": case.q_rows,
        "batch": case.batch,
        "heads": case.heads,
        "variant": "auto",
    }
    kernel = Kernel.compile(program([row]), f"kind=auto workers={workers}")
    ((_, prices),) = predict([row], workers)
    tensors, theirs = tensors_of(case)
    launch = kernel.bind(**tensors, scale=case.scale)
    ours = Variant("dash", launch.run, launch=launch)
    variants = [ours] + ([Variant("flash", theirs)] if theirs else [])
    measure(variants, rounds, None, rng)
    of_head, items = tasks_of(case.mask, case.q_rows)
    tasks, entries = (
        of_head * case.heads * case.batch,
        {role: statistics.median(times) for role, times in ours.entries.items()},
    )
    return row | {
        "mask": name,
        "kind": kernel.manifest["program"]["kind"],
        "tasks": tasks,
        "tasks_of_item": of_head / items,
        "boundary_of_task": prices["boundary"] / prices["compute"],
        "ms": statistics.median(ours.milliseconds),
        "entries_ms": entries,
        "flash_ms": statistics.median(variants[1].milliseconds) if theirs else None,
        "ns_of_task_in_main": entries["main"] * 1e6 * workers / tasks,
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument(
        "--seconds", type=float, default=200, help="begin no further mask after so many"
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="of inputs and of the order in which variants run"
    )
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    workers = torch.cuda.get_device_properties(0).multi_processor_count
    begun, results, late, above = time.monotonic(), [], [], []
    for head_dim in (128, 64):
        for rows in LENGTHS:
            for name, mask in masks(rows).items():
                if time.monotonic() - begun > arguments.seconds:
                    late.append(f"{head_dim} {rows} {name}")
                    continue
                case = Case(
                    head_dim,
                    mask,
                    rows,
                    rows,
                    TOKENS // rows,
                    HIDDEN // head_dim,
                    HIDDEN // head_dim,
                    seed=arguments.seed,
                )
                row = measure_mask(
                    name, case, workers, arguments.rounds, random.Random(arguments.seed)
                )
                plain = row["ns_of_task_in_main"] if mask == CAUSAL else plain
                row["bound"] = (
                    ALLOWED * (1 + row["boundary_of_task"] / row["tasks_of_item"]) * plain
                )
                if row["ns_of_task_in_main"] > row["bound"]:
                    above.append(f"{head_dim} {rows} {name}")
                results.append(row)
                flash = f", flash {row['flash_ms']:.3f} ms" if row["flash_ms"] else ""
                print(
                    f"{head_dim} {rows:5d} {name:26s} {row['kind']:16s} {row['tasks_of_item']:6.1f}"
                    f" tasks an item, {row['ms']:.3f} ms, {row['ns_of_task_in_main']:6.0f} ns a"
                    f" task in main, bound {row['bound']:6.0f}{flash}",
                    flush=True,
                )
                torch.cuda.empty_cache()
    if arguments.json:
        about = {
            "commit": commit(),
            "date": time.strftime("%Y-%m-%d"),
            "gpu": torch.cuda.get_device_name(),
            "torch": torch.__version__,
            "rounds": arguments.rounds,
            "left_out": late,
            "above": above,
            "results": results,
        }
        write_record(arguments.json, about)
    for what, names in (("no time was left for", late), ("above their bound:", above)):
        if names:
            print(what, ", ".join(names))
    return int(bool(late or above))


if __name__ == "__main__":
    sys.exit(main())
