#!/usr/bin/env python3
"""lists_by_work.py [--json FILE] [--rounds N]: packed documents whose items a launch deals by their
work, beside the kinds that deal by formulas, on this GPU.

Documents have lognormal lengths that add up to the tokens, by a seed. Each list is computed by kind
`shortest-first`, as `attention` takes it at level `run`, and by the fixed kind that it takes above
that level. Gradients must have the same bytes in repeats, over memory that was NaN, and those of
some documents alone; both kinds are compared with each other. Times are medians of rounds in a
random order, of all entries, and of the main kernel and `NAME_deal` by themselves. `NAME_prepare`
runs beside the latter. The status is 1 where bits differ or gradients are far apart. It takes a
minute and a half on an H200.
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

import torch
from dash_attn import Kernel, attention
from dash_attn.kernel.list_kinds import DEALT, kind_of_lists  # noqa: E402
from dash_attn.kernel.problem import Wanted, program_of
from dash_attn.measure.bundle import commit
from dash_attn.measure.documents import lognormal  # noqa: E402
from dash_attn.measure.timing import Variant, measure_entries, measure_whole
from dash_attn.support.records import write_record

MASKS = {"causal": (-1, 0), "full": (-1, -1), "window-511-0": (511, 0)}
# heads, kv heads, tokens, and the logarithm of a length: its mean and deviation
LISTS = (
    (32, 8, 16384, 6.5, 1.0),
    (32, 8, 16384, 8.0, 1.0),
    (32, 32, 16384, 6.5, 1.0),
    (16, 16, 16384, 5.5, 1.0),
    (8, 1, 32768, 7.0, 1.0),
    (32, 8, 65536, 7.5, 1.2),
)
REPEATS, FAR_APART = 10, 5e-3
Tensors = list[torch.Tensor]


def compiled(head_dim: int, window: tuple[int, int]) -> dict[str, Kernel]:
    """By kind."""
    kernels = {}
    for level in ("run", "machine"):
        kind = kind_of_lists(window, level=level)
        of_level = Wanted(head_dim, head_dim, "bf16", window, is_list=True, level=level)
        text, options, name = program_of(of_level)
        text = text.replace(f"level({level})", "level(run)")  # the same promise of both
        kernels[kind] = Kernel.compile(text, options, name=name)
    assert len(kernels) == 2 and DEALT in kernels, kernels
    return kernels


class Packed:
    """A list's tensors."""

    def __init__(self, heads: int, kv_heads: int, lengths: list[int], head_dim: int) -> None:
        rows, self.scale = sum(lengths), head_dim**-0.5
        draw = torch.Generator("cuda").manual_seed(len(lengths))

        def random_of(count: int) -> torch.Tensor:
            shape = (rows, count, head_dim)
            return torch.randn(shape, device="cuda", dtype=torch.bfloat16, generator=draw)

        self.q, self.k, self.v = random_of(heads), random_of(kv_heads), random_of(kv_heads)
        self.do = random_of(heads)
        self.bounds = torch.tensor([0, *lengths], device="cuda").cumsum(0).int()

    def attend(self, window: tuple[int, int]) -> None:
        options = {"cu_seqlens_q": self.bounds, "window": window, "return_lse": True}
        with torch.no_grad():
            self.o, self.lse = attention(self.q, self.k, self.v, **options)

    def new_gradients(self) -> Tensors:
        return [torch.full_like(one, float("nan")) for one in (self.q, self.k, self.v)]

    def bind(self, kernel: Kernel, gradients: Tensors) -> Any:
        given = (self.q, self.k, self.v, self.do, self.o, self.lse, *gradients)
        bounds = {"cu_seqlens_q": self.bounds, "cu_seqlens_kv": self.bounds}
        return kernel.bind(*given, **bounds, scale=self.scale, layout="thd")

    def alone(self, kernel: Kernel, begin: int, end: int) -> Tensors:
        rows = [one[begin:end].contiguous() for one in (self.q, self.k, self.v, self.do, self.o)]
        gradients = [torch.full_like(one, float("nan")) for one in rows[:3]]
        bounds = torch.tensor([0, end - begin], device="cuda", dtype=torch.int32)
        lse = self.lse[:, begin:end].contiguous()
        lengths = {"cu_seqlens_q": bounds, "cu_seqlens_kv": bounds}
        kernel.backward(*rows, lse, *gradients, **lengths, scale=self.scale, layout="thd")
        torch.cuda.synchronize()
        return gradients


def apart(found: Tensors, other: Tensors) -> float:
    return max(
        float((one.float() - two.float()).norm() / two.float().norm())
        for one, two in zip(found, other)
    )


def wrong(
    packed: Packed, kernel: Kernel, launch: Any, found: Tensors, lengths: list[int]
) -> list[str]:
    """launch: of `kernel`, to `found`, which has been written."""
    bad, first = [], [one.clone() for one in found]
    for one in found:
        one.fill_(float("nan"))
    for _ in range(REPEATS):
        launch.run()
    torch.cuda.synchronize()
    if not all(map(torch.equal, found, first)):
        bad.append("repeats differ")
    longest = max(range(len(lengths)), key=lambda i: lengths[i])
    for i in sorted({0, longest, len(lengths) - 1}):
        begin, end = sum(lengths[:i]), sum(lengths[: i + 1])
        own = packed.alone(kernel, begin, end)
        if not all(torch.equal(one, every[begin:end]) for one, every in zip(own, first)):
            bad.append(f"document {i} of {end - begin} rows has other bits alone")
    return bad


def measured(
    head_dim: int,
    mask: str,
    kernels: dict[str, Kernel],
    one: tuple[Any, ...],
    rounds: int,
    rng: random.Random,
) -> dict[str, Any]:
    heads, kv_heads, tokens, *lengths_of = one
    lengths = lognormal(rng, tokens, *lengths_of)
    packed = Packed(heads, kv_heads, lengths, head_dim)
    packed.attend(MASKS[mask])
    gradients = {kind: packed.new_gradients() for kind in kernels}
    launches = {kind: packed.bind(kernels[kind], gradients[kind]) for kind in kernels}
    variants = [Variant(kind, launch.run, launch=launch) for kind, launch in launches.items()]
    measure_whole(variants, rounds, None, rng)
    measure_entries(variants, max(3, rounds // 2), None, rng)
    torch.cuda.synchronize()
    (fixed,) = set(kernels) - {DEALT}
    distance = apart(gradients[DEALT], gradients[fixed])
    bad = wrong(packed, kernels[DEALT], launches[DEALT], gradients[DEALT], lengths)
    if not distance < FAR_APART:
        bad.append(f"{distance:.1e} apart from {fixed}")
    whole = {one.name: statistics.median(one.milliseconds) for one in variants}
    entries = {
        one.name: {role: statistics.median(times) for role, times in one.entries.items()}
        for one in variants
    }
    return {
        "head_dim": head_dim,
        "mask": mask,
        "heads": [heads, kv_heads],
        "tokens": tokens,
        "documents": len(lengths),
        "longest": max(lengths),
        "fixed": fixed,
        "ms": {kind: round(ms, 4) for kind, ms in whole.items()},
        "main_ms": {kind: round(of_kind["main"], 4) for kind, of_kind in entries.items()},
        "deal_ms": round(entries[DEALT]["deal"], 4),
        "faster": round(whole[fixed] / whole[DEALT], 3),
        "apart": distance,
        "wrong": bad,
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rng, rows = random.Random(0), []
    for head_dim in (128, 64):
        for mask, window in MASKS.items():
            kernels = compiled(head_dim, window)
            for one in LISTS:
                rows.append(measured(head_dim, mask, kernels, one, arguments.rounds, rng))
                print(rows[-1], flush=True)
    bad = [row for row in rows if row["wrong"]]
    faster = [row["faster"] for row in rows]
    print(
        f"{statistics.geometric_mean(faster):.3f}x faster in geometric mean, {min(faster):.3f}x to"
        f" {max(faster):.3f}x; {len(bad)} of {len(rows)} lists wrong"
    )
    if arguments.json:
        about = {"commit": commit(), "gpu": torch.cuda.get_device_name(0)}
        about |= {"torch": torch.__version__, "rounds": arguments.rounds}
        write_record(arguments.json, about | {"lists": rows})
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
