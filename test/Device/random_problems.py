#!/usr/bin/env python3
"""random_problems.py --json FILE: problems by seed through `attention`, both ways, on this GPU.

Masks, lengths, head dims, groups, caps, sinks, elements and levels are drawn at random; the same
seed draws the same. O, the LSE and gradients are compared with float64, equal calls must have equal
bytes, and rows of a random chunk the bits that they have in the whole. What is not covered must be
refused before a launch. The status is 1 where something is wrong.
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
from both_ways import (  # noqa: E402
    BF16,
    F16,
    MOST_ERROR,
    MOST_LSE_ERROR,
    are_equal,
    check_errors,
    inputs,
)

from dash_attn import ArgumentError, attention  # noqa: E402
from dash_attn.measure.bundle import commit  # noqa: E402
from dash_attn.reference import Mask, Union  # noqa: E402
from dash_attn.support.records import write_record  # noqa: E402

LEVELS = ("run", "batch", "machine", "row")
# Few seen columns beside a sink: dq is a difference of nearly equal numbers (numbers.md).
NARROW = 16


def draw_mask(rng: random.Random) -> tuple[dict[str, Any], Mask]:
    kind = rng.choice(("causal", "full", "window", "window", "union"))
    if kind == "union":
        mask = Mask(right=0, union=Union(rng.randint(1, 200), rng.randint(NARROW, 400)))
        return {"mask": mask}, mask
    if kind == "window":
        left, right = rng.randint(NARROW, 500), rng.choice((0, 0, rng.randint(0, 200)))
        return {"window": (left, right)}, Mask(left, right)
    return ({"causal": True}, Mask(-1, 0)) if kind == "causal" else ({}, Mask())


def draw(rng: random.Random) -> tuple[Any, ...]:
    """A case as test/Device/both_ways.py has them."""
    options, mask = draw_mask(rng)
    of_qk = 8 * rng.randint(3, 32)
    of_v = rng.choice((of_qk, of_qk, 8 * rng.randint(3, 32)))
    kv_heads, group = rng.randint(1, 3), rng.choice((1, 1, 2, 3, 4, 8))
    kv = rng.randint(1, 1500)
    q = rng.choice((kv, kv, rng.randint(1, 1500)))
    if rng.random() < 0.25:
        options["softcap"] = rng.choice((5.0, 20.0, 50.0))
    if rng.random() < 0.5:
        options["level"] = rng.choice(LEVELS)
    has_sink = rng.random() < 0.25
    batch = rng.randint(1, 3)
    return (
        options,
        mask,
        of_qk,
        of_v,
        q,
        kv,
        batch,
        kv_heads * group,
        kv_heads,
        rng.choice((BF16, BF16, F16)),
        has_sink,
    )


def chunk_is_whole(case: tuple[Any, ...], rng: random.Random) -> bool | None:
    """Whether rows of a chunk have the bits that they have beside all others; None where a chunk
    is another problem: a mask with rules, or rows that begin in front of the keys."""
    options, mask, of_qk, of_v, q, kv, batch, heads, kv_heads, dtype, has_sink = case
    if "mask" in options:
        return None
    first = rng.randrange(q)
    last = rng.randint(first + 1, q)
    # The mask ends in the last row and the last key: a chunk has the keys up to its own end.
    keys = kv if mask == Mask() else kv - (q - last)
    if keys < 1 or mask.right > 0:
        return None
    tensors = inputs(of_qk, of_v, q, kv, batch, heads, kv_heads, dtype)
    more = {"sink": torch.randn(heads, device="cuda")} if has_sink else {}
    whole = attention(*tensors, return_lse=True, **options, **more)
    of_chunk = [tensors[0][:, :, first:last], *(one[:, :, :keys] for one in tensors[1:])]
    found = attention(*of_chunk, return_lse=True, **options, **more)
    return are_equal([one[:, :, first:last] for one in whole], found)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--problems", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=300, help="draw none after so many")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    begin, found, wrong = time.monotonic(), [], []
    for seed in range(arguments.seed, arguments.seed + arguments.problems):
        if time.monotonic() - begin > arguments.seconds:
            break
        rng = random.Random(seed)
        torch.manual_seed(seed)
        case = draw(rng)
        try:
            about = {"seed": seed, **check_errors(case, arguments.repeats)}
            about["chunk"] = chunk_is_whole(case, rng)
        except ArgumentError as error:
            about = {"seed": seed, "case": str(case), "refused": str(error)}
        found.append(about)
        print(about, flush=True)
        if "refused" not in about and (
            max(about["errors"].values()) > MOST_ERROR
            or about["lse_error"] > MOST_LSE_ERROR
            or not about["repeats_equal"]
            or about["chunk"] is False
        ):
            wrong.append(about)
    if arguments.json:
        record = {"commit": commit(), "gpu": torch.cuda.get_device_name()}
        write_record(arguments.json, record | {"torch": torch.__version__, "problems": found})
    for one in wrong:
        print("wrong:", one)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
