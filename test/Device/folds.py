#!/usr/bin/env python3
"""folds.py --json FILE: forwards whose q tiles fold query heads, on this GPU: bits, and decoding.

A fold must change no byte of O and of the LSE: each case runs without one and with each that its
group has, in memory of both layouts, in many repeats, in batches and as a list whose neighbours are
NaN. `attention` takes folds by itself, so a token that it decodes must have the bytes of the whole
sequence. Times are of few rows over many keys, 32 heads over 8 and 64 over 8 of 128, medians of
rounds in a random order: with and without a fold, uncut and cut, PyTorch's FlashAttention-2, and
FlashAttention-3 with splits where fa3-fwd is installed. `--only` takes some parts: `--only times`
takes two minutes, and tools/scripts/record_folds.py writes the table of forward.md from its record,
test/Device/records/CARD-DATE-folds.json. The status is 1 where bits differ.
"""

from __future__ import annotations

import argparse
import functools
import random
import statistics
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "python")]

import torch  # noqa: E402
from by_parts import Parts, add_only, run_parts  # noqa: E402
from cut import BF16, HEAD_DIM, attended, cut_of, peer_variants  # noqa: E402
from forwards import Tensors, are_equal, compiled, inputs, run  # noqa: E402

from dash_attn import Kernel, explain  # noqa: E402
from dash_attn.kernel.problem import FOLDS, PACKED  # noqa: E402
from dash_attn.measure.bundle import commit  # noqa: E402
from dash_attn.measure.timing import Variant, measure_whole  # noqa: E402
from dash_attn.support.records import write_record  # noqa: E402

# mask, head dims of q and of v, q rows, kv rows, batch, heads, kv heads, element, softcap, sink
CASES: list[tuple[Any, ...]] = [
    ("causal", 128, 128, 1, 4096, 3, 32, 8, "bf16", None, False),
    ("causal", 128, 128, 17, 1000, 2, 16, 2, "bf16", 20.0, True),
    ("causal", 128, 128, 100, 65, 1, 4, 1, "bf16", None, True),
    ("full", 64, 64, 70, 700, 1, 64, 1, "bf16", None, False),
    ("window = [100, 20]", 64, 64, 300, 900, 1, 6, 1, "bf16", None, False),
    ("causal", 96, 96, 33, 500, 1, 32, 1, "bf16", None, True),
    ("causal", 192, 128, 20, 700, 1, 16, 1, "bf16", None, False),
    ("full", 256, 256, 20, 500, 1, 8, 2, "bf16", None, True),
    ("causal", 40, 72, 50, 500, 1, 8, 2, "f16", None, False),
]
LENGTHS = ((70, 70), (0, 30), (33, 0), (1, 4000), (0, 0), (129, 300), (5, 5))
# rows, kv rows, batch, heads
DECODING = [
    (rows, kv_rows, batch, heads)
    for heads in (32, 64)
    for rows in (1, 16)
    for batch, lengths in ((1, (4096, 32768, 131072)), (8, (4096, 32768)), (64, (4096,)))
    for kv_rows in lengths
]
KV_HEADS, CUTS, Q_TILES = 8, (1024, 2048, 4096), (64, 128)


def turned(tensor: torch.Tensor) -> torch.Tensor:
    """The same numbers, in memory of [batch, rows, heads, head_dim]."""
    return tensor.transpose(1, 2).contiguous().transpose(1, 2)


def check_bits(case: tuple[Any, ...], cut: int | None, repeats: int) -> dict[str, Any]:
    mask, head_dim, head_dim_v, *sizes, element, softcap, has_sink = case
    q_rows, _, _, heads, kv_heads = sizes
    dtype = {"bf16": torch.bfloat16, "f16": torch.float16}[element]
    given = inputs(head_dim, head_dim_v, *sizes, dtype=dtype)
    sink = {"sink": torch.randn(heads, device="cuda")} if has_sink else {}
    rest = (mask, head_dim, head_dim_v, element, softcap, has_sink)
    alone = run(compiled(*rest, cut=cut), *given, **sink)
    found: dict[str, Any] = {"mask": mask, "head_dim": head_dim, "rows": q_rows, "cut": cut}
    for fold in (fold for fold in FOLDS[1:] if heads // kv_heads % fold == 0):
        for options in ("", "q-tile=64"):
            kernel = compiled(*rest, options=options, cut=cut, fold=fold)
            same = all(are_equal(run(kernel, *given, **sink), alone) for _ in range(repeats))
            found[f"fold {fold} {options}"] = same
            beside = run(kernel, *map(turned, given), **sink)
            found[f"fold {fold} {options} turned"] = are_equal(beside, alone)
    return found


def of_list(kernel: Any, tensors: Tensors, ends: Tensors) -> Tensors:
    q, k, v = tensors
    o = torch.full((*q.shape[:2], v.shape[2]), float("nan"), dtype=q.dtype, device="cuda")
    lse = torch.full((q.shape[1], q.shape[0]), float("nan"), device="cuda")
    offsets = {"cu_seqlens_q": ends[0], "cu_seqlens_kv": ends[1]}
    kernel.forward(q, k, v, o, lse, layout=PACKED, scale=q.shape[2] ** -0.5, **offsets)
    return o, lse


def check_lists(cut: int | None, repeats: int) -> dict[str, Any]:
    """Rows in front of the first sequence and behind the last one are NaN, and stay as they are."""
    gap, heads, kv_heads = 37, 8, 2
    ends = tuple(
        torch.tensor([0, *(pair[side] for pair in LENGTHS)], device="cuda").cumsum(0) + gap
        for side in (0, 1)
    )
    rows = [int(one[-1]) + gap for one in ends]
    tensors = tuple(
        torch.randn(rows[side], count, HEAD_DIM, device="cuda").to(**BF16)
        for side, count in ((0, heads), (1, kv_heads), (1, kv_heads))
    )
    for one in tensors:
        one[:gap] = one[-gap:] = float("nan")
    ends = tuple(one.int() for one in ends)
    found: dict[str, Any] = {"lists, cut": cut}
    for mask in ("causal", "full"):
        rest = (mask, HEAD_DIM, HEAD_DIM)
        alone = of_list(compiled(*rest, cut=cut, is_list=True), tensors, ends)
        for fold in (2, 4):
            kernel = compiled(*rest, cut=cut, is_list=True, fold=fold)
            same = all(are_equal(of_list(kernel, tensors, ends), alone) for _ in range(repeats))
            found[f"{mask}, fold {fold}"] = same
    return found


def check_attention(cut: int | None) -> dict[str, Any]:
    """A token has the bytes of its row: `attention` folds the one, and the whole not."""
    q, k, v = inputs(HEAD_DIM, HEAD_DIM, 1000, 1000, 1, 32, 8, **BF16)
    options: dict[str, Any] = {} if cut is None else {"cut": cut}
    whole = attended(q, k, v, **options)
    said = [explain(q[:, :, first:], k, v, causal=True, **options) for first in (0, 999)]
    found: dict[str, Any] = {
        "attention, cut": cut,
        "folds a token": "4 heads in a q tile" in said[1].forward,
        "folds no long rows": "heads in a q tile" not in said[0].forward,
    }
    for first, last in ((999, 1000), (920, 1000), (500, 530)):
        some = attended(q[:, :, first:last], k[:, :, :last], v[:, :, :last], **options)
        mine = [one[:, :, first:last] for one in whole]
        found[f"rows {first} to {last}"] = are_equal(some, mine)
    return found


@functools.cache
def kernel_of(fold: int, cut: int | None, q_tile: int) -> Kernel:
    """One of all sizes, which costs seconds to make."""
    options = f"q-tile={q_tile}"
    return compiled("full", HEAD_DIM, HEAD_DIM, options=options, cut=cut, fold=fold)


def measured(
    rows: int, kv_rows: int, batch: int, heads: int, rounds: int, rng: random.Random
) -> dict[str, Any]:
    """Milliseconds: for each fold and cut those of both q tiles; and of the peers."""
    q, k, v = inputs(HEAD_DIM, HEAD_DIM, rows, kv_rows, batch, heads, KV_HEADS, **BF16)
    o, lse = torch.empty_like(q), torch.empty(q.shape[:3], device="cuda")
    ours: dict[str, dict[str, list[Variant]]] = {}
    for fold in (1, heads // KV_HEADS):
        of_fold = ours.setdefault(f"dash, fold {fold}", {})
        for cut in (None, *(cut for cut in CUTS if cut < kv_rows)):
            launches = [
                kernel_of(fold, cut, tile).bind_forward(q, k, v, o, lse) for tile in Q_TILES
            ]
            of_fold[f"pieces of {cut}" if cut else "uncut"] = [
                Variant(f"{fold}, {cut}", launch.run) for launch in launches
            ]
    theirs = peer_variants(q, k, v)
    every = [one for some in ours.values() for tiles in some.values() for one in tiles]
    measure_whole(every + theirs, rounds, None, rng)
    times: dict[str, Any] = {
        name: {cut: [statistics.median(one.milliseconds) for one in tiles] for cut, tiles in some}
        for name, some in ((name, some.items()) for name, some in ours.items())
    }
    best = {name: min(map(min, some.values())) for name, some in times.items()}
    for one in theirs:
        times[one.name] = statistics.median(one.milliseconds)
        peer = one.name.partition(",")[0]
        best[peer] = min(best.get(peer, times[one.name]), times[one.name])
    moved = 2 * (k.numel() + v.numel())
    return {
        "rows": rows,
        "kv_rows": kv_rows,
        "batch": batch,
        "heads": heads,
        "kv_heads": KV_HEADS,
        "best_milliseconds": best,
        "best_tb_per_s_of_keys_and_values": {
            name: moved / time / 1e9 for name, time in best.items()
        },
        "milliseconds": times,
    }


def shown(found: dict[str, Any]) -> dict[str, Any]:
    print({name: found[name] for name in list(found)[:6]}, flush=True)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--json", type=Path)
    rng = random.Random(0)
    repeats = lambda: arguments.repeats  # noqa: E731
    parts: Parts = {
        "bits": [
            lambda case=case, cut=cut: shown(check_bits(case, cut, repeats()))
            for case in CASES
            for cut in (None, cut_of(case))
        ],
        "lists": [
            lambda check=check: shown(check())
            for cut in (None, 256)
            for check in (
                lambda cut=cut: check_lists(cut, repeats()),
                lambda cut=cut: check_attention(cut),
            )
        ],
        "times": [
            lambda sizes=sizes: shown(measured(*sizes, arguments.rounds, rng)) for sizes in DECODING
        ],
    }
    add_only(parser, parts)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    found = run_parts(parser, arguments.only, parts)
    bits = [*found.get("bits", ()), *found.get("lists", ())]
    speeds = found.get("times", [])
    if arguments.json:
        record = {
            "commit": commit(),
            "gpu": torch.cuda.get_device_name(),
            "torch": torch.__version__,
            "bits": bits,
            "speeds": speeds,
        }
        write_record(arguments.json, record)
    wrong = [
        (one, name)
        for one in bits
        for name, is_so in one.items()
        if isinstance(is_so, bool) and not is_so
    ]
    for one, name in wrong:
        print("wrong:", name, "of", one)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
