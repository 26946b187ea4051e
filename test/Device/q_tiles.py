#!/usr/bin/env python3
"""q_tiles.py --json FILE: forwards of flat heads in q tiles of 128 and of 192 rows, on this GPU.

For each mask and length: TFLOP/s of both, what the count of `dash_attn.kernel.q_tiles` predicts of
their times, and which of them `attention` takes. O and the LSE must have the same bytes in both.
The status is 1 where they differ, or where the one that is taken is slower by more than 2 %.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "python")]

import torch  # noqa: E402
from both_ways import BF16, are_equal, inputs  # noqa: E402

from dash_attn.kernel.masks import rules_of  # noqa: E402
from dash_attn.kernel.q_tiles import (  # noqa: E402
    LONG_TILE,
    SHORT_TILE,
    kv_tile_of,
    price_of,
)
from dash_attn.measure.bundle import commit  # noqa: E402
from dash_attn.measure.timing import Variant, measure_whole  # noqa: E402
from dash_attn.reference import Mask, Union, visible  # noqa: E402
from dash_attn.support.records import write_record  # noqa: E402
from dash_attn.torch.kernels import forward_of, kernel_of  # noqa: E402

TOKENS, HEADS = 16384, 32
LENGTHS = (384, 512, 640, 768, 1024, 1100, 1280, 1536, 2048, 4096)
MASKS = (Mask(), Mask(right=0), Mask(128, 0), Mask(512, 0), Mask(1024, 0))
UNIONS = (Mask(right=0, union=Union(4, 127)),)
MOST_SLOWER = 0.02


def measured(head_dim: int, mask: Mask, rows: int, rounds: int, rng: Any) -> dict[str, Any]:
    tensors = inputs(head_dim, head_dim, rows, rows, TOKENS // rows, HEADS, HEADS, BF16)
    wanted = forward_of(*tensors, (mask.left, mask.right), "bhsd", rules=rules_of(mask))
    found, variants = [], []
    for tile in (SHORT_TILE, LONG_TILE):
        o, lse = torch.empty_like(tensors[0]), torch.empty(tensors[0].shape[:3], device="cuda")
        launch = kernel_of(wanted._replace(q_tile=tile)).bind_forward(*tensors, o, lse)
        launch.run()
        found.append((o, lse))
        variants.append(Variant(f"{tile}", launch.run))
    torch.cuda.synchronize()
    measure_whole(variants, rounds, None, rng)
    times = [statistics.median(one.milliseconds) for one in variants]
    work = 4.0 * tensors[0].shape[0] * HEADS * visible(rows, rows, mask) * head_dim
    prices = [
        price_of(mask, rows, rows, tile, kv_tile_of(head_dim, head_dim))
        for tile in (SHORT_TILE, LONG_TILE)
    ]
    taken = wanted.q_tile != SHORT_TILE
    return {
        "head_dim": head_dim,
        "mask": mask.name,
        "rows": rows,
        "speed": {one.name: work / time / 1e9 for one, time in zip(variants, times)},
        "192 to 128": times[1] / times[0],
        "predicted": prices[1] / prices[0],
        "taken": LONG_TILE if taken else SHORT_TILE,
        "is_right": times[taken] <= (1 + MOST_SLOWER) * min(times),
        "same_bits": are_equal(*found),
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--head-dims", type=int, nargs="+", default=[64])
    arguments = parser.parse_args()
    torch.manual_seed(0)
    rng, cases = random.Random(0), []
    for head_dim in arguments.head_dims:
        for mask in (*MASKS, *UNIONS):
            for rows in LENGTHS:
                cases.append(measured(head_dim, mask, rows, arguments.rounds, rng))
                print(cases[-1], flush=True)
    if arguments.json:
        about = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__}
        write_record(arguments.json, about | {"commit": commit(), "cases": cases})
    wrong = [one for one in cases if not (one["is_right"] and one["same_bits"])]
    for one in wrong:
        print("wrong:", one)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
