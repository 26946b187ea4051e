#!/usr/bin/env python3
"""cut.py --json FILE: forwards whose keys are cut, on this GPU: errors, rows' bits, and decoding.

Errors are those beside float64. At level `row` a row must have the same bytes among calls of one
cut: alone, in batches, packed, as a prefix, in chunks of a prefill, as one decoded token, by other
q tiles and workers, and in many repeats. Another cut and none are controls. Both passes run through
`attention`, whose gradients repeat. Times are of few rows over many keys, 32 heads over 8 of 128,
medians of rounds in a random order: uncut, cut into pieces of several lengths, PyTorch's
FlashAttention-2, and FlashAttention-3 with splits where fa3-fwd is installed. The status is 1 where
an error is too large or bits differ.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "python")]

import torch  # noqa: E402
from forwards import (  # noqa: E402
    CASES,
    MOST_ERROR,
    MOST_LSE_ERROR,
    Tensors,
    are_equal,
    check_error,
    check_rows,
    compiled,
    inputs,
)

from dash_attn import attention, explain  # noqa: E402
from dash_attn.measure.bundle import commit  # noqa: E402
from dash_attn.measure.timing import Variant, measure  # noqa: E402
from dash_attn.support.records import write_record  # noqa: E402
from dash_attn.torch import flash3  # noqa: E402

CUT = 256
CUTS = (1024, 2048, 4096)
BF16 = {"dtype": torch.bfloat16}
KV_TILES = {64: 128, 96: 96, 128: 128, 192: 96, 256: 64}  # rows, by head dim
HEADS, KV_HEADS, HEAD_DIM = 32, 8, 128

# mask, head dims of q and of v, q rows, kv rows, batch, heads, kv heads, element, softcap, sink
DECODING: list[tuple[Any, ...]] = [
    ("causal", 128, 128, 1, 4096, 2, 8, 2, "bf16", None, False),
    ("causal", 128, 128, 1, 33000, 1, 32, 8, "bf16", None, True),
    ("causal", 64, 64, 17, 5000, 3, 4, 1, "f16", None, False),
    ("window = [4096, 0]", 128, 128, 5, 20000, 1, 8, 8, "bf16", 30.0, False),
]


def cut_of(case: tuple[Any, ...]) -> int:
    """Two kv tiles."""
    _, of_q, of_v, *_ = case
    most = max(of_q, of_v)
    if (of_q, of_v) == (192, 128):
        return 2 * 112
    return 2 * next(tile for columns, tile in KV_TILES.items() if most <= columns)


def attended(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, **options: Any) -> Tensors:
    return attention(q, k, v, causal=True, return_lse=True, **options)


def check_attention(repeats: int) -> dict[str, Any]:
    """Among calls of one cut, through `attention`: batches and packed sequences, chunks and tokens,
    gradients."""
    q, k, v = inputs(128, 128, 1000, 1000, 1, 8, 2, **BF16)
    whole = attended(q, k, v, cut=CUT)
    found: dict[str, Any] = {"explained": explain(q, k, v, causal=True, cut=CUT).cut == CUT}

    def rows(first: int, last: int) -> list[torch.Tensor]:
        return [one[:, :, first:last] for one in whole]

    token = attended(q[:, :, 999:], k, v, cut=CUT)
    found["decoded"] = are_equal(token, rows(999, 1000))
    for last in (1, 300, 700):
        found[f"a prefix of {last}"] = are_equal(
            attended(q[:, :, :last], k[:, :, :last], v[:, :, :last], cut=CUT), rows(0, last)
        )
    many = [one.repeat(8, 1, 1, 1) for one in (q[:, :, 999:], k, v)]
    for one in many:
        one[:7] = torch.randn_like(one[:7])
    beside = attended(*many, cut=CUT)
    found["decoded in a batch of 8"] = are_equal([one[7:] for one in beside], rows(999, 1000))
    lengths = (300, 1000, 5)
    packed = [
        torch.cat([one[0, :, :length].transpose(0, 1) for length in lengths]) for one in (q, k, v)
    ]
    ends = torch.tensor([0, *lengths]).cumsum(0).to(device="cuda", dtype=torch.int32)
    o, lse = attended(*packed, cu_seqlens_q=ends, cut=CUT)
    first = 0
    for length in lengths:
        mine = o[first : first + length].transpose(0, 1)[None], lse[None, :, first : first + length]
        found[f"packed, {length} rows"] = are_equal(mine, rows(0, length))
        first += length
    tokens = torch.cat([q[0, :, length - 1 : length].transpose(0, 1) for length in lengths])
    of_q = torch.arange(len(lengths) + 1, device="cuda", dtype=torch.int32)
    o, lse = attended(tokens, *packed[1:], cu_seqlens_q=of_q, cu_seqlens_k=ends, cut=CUT)
    for i, length in enumerate(lengths):
        mine = o[i : i + 1].transpose(0, 1)[None], lse[None, :, i : i + 1]
        found[f"packed tokens, {length} keys"] = are_equal(mine, rows(length - 1, length))
    same = all(are_equal(attended(q, k, v, cut=CUT), whole) for _ in range(repeats))
    found[f"{repeats} repeats"] = same
    found["control: another cut differs"] = not are_equal(attended(q, k, v, cut=2 * CUT), whole)
    uncut = attended(q, k, v)
    found["control: uncut differs"] = not are_equal(uncut, whole)
    found["rows of one piece are as uncut"] = are_equal(
        [one[:, :, :CUT] for one in uncut], rows(0, CUT)
    )
    return found | check_gradients(q, k, v, uncut[0])


def check_gradients(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, uncut: torch.Tensor
) -> dict[str, Any]:
    leaves = [one.detach().requires_grad_() for one in (q, k, v)]
    do = torch.randn_like(uncut)

    def gradients(**options: Any) -> Any:
        return torch.autograd.grad(attention(*leaves, causal=True, **options), leaves, do)

    one, other, plain = gradients(cut=CUT), gradients(cut=CUT), gradients()
    near = all((x - y).norm() <= 0.02 * y.norm() for x, y in zip(one, plain))
    return {"gradients repeat": are_equal(one, other), "gradients are near those of none": near}


def peers(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> dict[str, Callable[[], Any]]:
    sdpa, backend = (
        torch.nn.functional.scaled_dot_product_attention,
        torch.nn.attention.SDPBackend.FLASH_ATTENTION,
    )

    def flash2() -> Any:
        with torch.nn.attention.sdpa_kernel(backend):
            return sdpa(q, k, v, enable_gqa=True)

    found: dict[str, Callable[[], Any]] = {"flash2": flash2}
    package = flash3.installed()
    if package is not None:
        operator: Any = getattr(torch.ops, package.space).fwd.default
        turned = [one.transpose(1, 2).contiguous() for one in (q, k, v)]
        options = {"softmax_scale": HEAD_DIM**-0.5, "is_causal": False}
        found["flash3, splits as it likes"] = lambda: operator(*turned, **options, num_splits=0)
        found["flash3, one split"] = lambda: operator(*turned, **options, num_splits=1)
    return found


def peer_variants(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> list[Variant]:
    """Those that serve this."""
    found = []
    for name, theirs in peers(q, k, v).items():
        try:
            theirs()
        except (RuntimeError, TypeError) as error:
            print(name, error)
            continue
        found.append(Variant(name, theirs))
    return found


def measured(
    rows: int, kv_rows: int, batch: int, rounds: int, rng: random.Random
) -> dict[str, Any]:
    q, k, v = inputs(HEAD_DIM, HEAD_DIM, rows, kv_rows, batch, HEADS, KV_HEADS, **BF16)
    o, lse = torch.empty_like(q), torch.empty(q.shape[:3], device="cuda")
    variants = []
    for cut in (None, *CUTS):
        for options in ("q-tile=64", ""):
            kernel = compiled("full", HEAD_DIM, HEAD_DIM, options=options, cut=cut)
            launch = kernel.bind_forward(q, k, v, o, lse)
            name = f"dash, {f'pieces of {cut}' if cut else 'uncut'}, q tile {options[7:] or 128}"
            variants.append(Variant(name, launch.run, launch=launch))
    variants += peer_variants(q, k, v)
    measure(variants, rounds, None, rng)
    half = [one.milliseconds for one in variants]
    moved = 2 * (k.numel() + v.numel())
    return {
        "rows": rows,
        "kv_rows": kv_rows,
        "batch": batch,
        "milliseconds": {one.name: statistics.median(times) for one, times in zip(variants, half)},
        "tb_per_s_of_keys_and_values": {
            one.name: moved / statistics.median(times) / 1e9 for one, times in zip(variants, half)
        },
        "entries": {
            one.name: {role: statistics.median(times) for role, times in one.entries.items()}
            for one in variants
            if one.entries
        },
    }


def summary(checks: dict[str, Any]) -> dict[str, Any]:
    """What a record has of checks of rows: of what they are, how many, and whether all hold."""
    named = {name: found for name, found in checks.items() if not isinstance(found, bool)}
    held = [found for found in checks.values() if isinstance(found, bool)]
    return named | {"checks": len(held), "all_as_expected": all(held)}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--repeats", type=int, default=100)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    errors, bits, speeds = [], [], []
    for case in [*CASES, *DECODING]:
        errors.append(check_error(case, arguments.repeats, cut_of(case)))
        print(errors[-1], flush=True)
    for head_dim in (64, 128, 256):
        for mask in ("causal", "window = [200, 0]"):
            bits.append(check_rows(head_dim, mask, arguments.repeats, CUT))
            print(bits[-1], flush=True)
    bits.append(check_attention(arguments.repeats))
    print(bits[-1], flush=True)
    rng = random.Random(0)
    for rows in (1, 128):
        for batch in (1, 8):
            for kv_rows in (4096, 32768, 131072):
                speeds.append(measured(rows, kv_rows, batch, arguments.rounds, rng))
                print(speeds[-1], flush=True)
    if arguments.json:
        write_record(
            arguments.json,
            {
                "commit": commit(),
                "gpu": torch.cuda.get_device_name(),
                "torch": torch.__version__,
                "errors": errors,
                "rows": [summary(one) for one in bits],
                "speeds": speeds,
            },
        )
    wrong = [
        one
        for one in errors
        if one["error"] > MOST_ERROR
        or one["lse_error"] > MOST_LSE_ERROR
        or not one["repeats_equal"]
    ]
    wrong += [one for one in bits if not all(one.values())]
    for one in wrong:
        print("wrong:", one)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
