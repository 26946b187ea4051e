#!/usr/bin/env python3
"""flash_grid.py [--seed N] [--json FILE]: `attention` both ways over the problems that
FlashAttention-3 tests itself with, by its rule, on this GPU.

Problems are drawn by the seed from the grid: lengths, head dims of q and of v, groups of heads,
causal masks and windows, softcaps, types, batches and packed sequences, some of them empty. Sinks
and keys that are cut are beside them. Left out is what dash does not have: 8-bit types, paged and
appended keys, a second query, chunks, and a v of 512.

The rule is for o, dq, dk and dv. No element is further from float64 than twice the furthest of
PyTorch in 16 bits, three times with a softcap, and an allowance for roundings. It is twice what
adding 0.3 and taking it away leaves of the exact result in 16 bits; gradients under a softcap are
allowed 3e-4 more. Problems run in processes beside each other. The status is 1 where one is wrong,
or none ran.
"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "python")]

import grids  # noqa: E402
import torch  # noqa: E402
from grids import DTYPES, NAMES, larger  # noqa: E402

from dash_attn import attention  # noqa: E402
from dash_attn.reference import Mask  # noqa: E402

DEVICE = "cuda"
HEADS, SOFTCAP = 6, 15.0
# Head dims of q and of v, and the rows of a kv tile: pieces of keys are of two.
DIMS = {
    (32, 32): 128,
    (64, 64): 128,
    (64, 256): 64,
    (80, 80): 96,
    (96, 96): 96,
    (128, 128): 128,
    (160, 128): 112,
    (160, 160): 96,
    (192, 128): 112,
    (192, 192): 96,
    (256, 256): 64,
}
MOST_OF_SINK = 128  # head dims above have no gradients of a sink
LENGTHS = (
    (1, 1),
    (64, 128),
    (128, 192),
    (256, 256),
    (239, 1),
    (799, 3),
    (113, 203),
    (113, 128),
    (128, 217),
    (113, 211),
    (108, 256),
    (256, 512),
    (384, 256),
    (640, 128),
    (512, 256),
    (1024, 1024),
    (1023, 1024),
    (1024, 1023),
    (4096, 4096),
    (4224, 4224),
)
Tensors = list[torch.Tensor]


class One(NamedTuple):
    """A problem. window: None, or (left, right); cut: 0, or the rows of a piece of keys."""

    dims: tuple[int, int]
    lengths: tuple[int, int]
    kv_heads: int
    element: str
    causal: bool
    window: tuple[int, int] | None
    softcap: float
    has_sink: bool
    cut: int
    is_packed: bool
    seed: int

    @property
    def batch(self) -> int:
        return 9 if self.lengths[1] <= 2048 else 2

    @property
    def mask(self) -> Mask:
        """A window of a causal mask has no right side."""
        left, right = self.window or (-1, -1)
        return Mask(left, 0 if self.causal else right)

    @property
    def options(self) -> dict[str, Any]:
        """Those of `attention`."""
        found: dict[str, Any] = {"softcap": self.softcap, "cut": self.cut or None}
        if self.window is None:
            return found | {"causal": self.causal}
        return found | {"window": tuple(self.mask[:2])}

    @property
    def name(self) -> str:
        words = [
            "d{}/{}".format(*self.dims),
            "{}x{}".format(*self.lengths),
            f"{self.batch}x{HEADS}/{self.kv_heads}",
            self.element,
            self.mask.name,
            f"softcap {self.softcap:g}" * bool(self.softcap),
            "sink" * self.has_sink,
            f"cut {self.cut}" * bool(self.cut),
            "packed" * self.is_packed,
        ]
        return ", ".join(filter(None, words))


def problems(seed: int, count: int) -> list[One]:
    """Head dims and lengths take turns, so that each is there as often as the others."""
    rng, found = random.Random(seed), []
    dims, lengths = list(DIMS), list(LENGTHS)
    rng.shuffle(dims)
    rng.shuffle(lengths)
    for number in range(count):
        ours, (q_rows, kv_rows) = dims[number % len(dims)], lengths[number % len(lengths)]
        has_window = rng.random() < 0.5
        found.append(
            One(
                ours,
                (q_rows, kv_rows),
                rng.choice((6, 2, 1)),
                rng.choice(tuple(DTYPES)),
                rng.random() < 0.5,
                (rng.randrange(kv_rows), rng.randrange(kv_rows)) if has_window else None,
                rng.choice((0.0, SOFTCAP)),
                max(ours) <= MOST_OF_SINK and rng.random() < 0.25,
                2 * DIMS[ours] if rng.random() < 0.25 else 0,
                rng.random() < 0.4,
                rng.randrange(1 << 30),
            )
        )
    return found


def sequences(one: One) -> list[tuple[int, int]]:
    """Rows of q and of k of each. Packed ones are at least a third of the longest; one in six has
    no queries, and one in six no keys."""
    if not one.is_packed:
        return [one.lengths] * one.batch
    rng = random.Random(one.seed)
    drawn = [
        tuple(rng.randint(-(-most // 3), most) * (rng.random() > 1 / 6) for most in one.lengths)
        for _ in range(one.batch - 1)
    ]
    return [*drawn, one.lengths]


def computed(one: One, given: Tensors, sink: torch.Tensor | None) -> Tensors:
    """o, dq, dk and dv of `attention`, as rows. given: q, k, v and do, as rows."""
    options, lengths = dict(one.options), sequences(one)
    if one.is_packed:
        for side, name in enumerate(("q", "k")):
            ends = torch.tensor([0, *(pair[side] for pair in lengths)], device=DEVICE).cumsum(0)
            options[f"cu_seqlens_{name}"] = ends.int()
            options[f"max_seqlen_{name}"] = one.lengths[side]
    else:
        options["layout"] = "bshd"
        given = [tensor.unflatten(0, (one.batch, -1)) for tensor in given]
    leaves = [tensor.detach().requires_grad_() for tensor in given[:3]]
    o = attention(*leaves, sink=sink, **options)
    found = [o.detach(), *torch.autograd.grad(o, leaves, given[3])]
    return found if one.is_packed else [tensor.flatten(0, 1) for tensor in found]


def in_torch(one: One, given: Tensors, sink: torch.Tensor | None, dtype: torch.dtype) -> Tensors:
    """The same of one sequence, step by step in this type."""
    q, k, v = leaves = [tensor.to(dtype).requires_grad_() for tensor in given[:3]]
    if not len(q) or not len(k):
        o = torch.zeros(len(q), HEADS, v.shape[2], dtype=dtype, device=q.device)
        return [o, *map(torch.zeros_like, leaves)]
    group = HEADS // one.kv_heads
    k, v = (tensor.repeat_interleave(group, 1) for tensor in (k, v))
    scores = torch.einsum("qhd,khd->hqk", q, k * q.shape[2] ** -0.5)
    if one.softcap:
        scores = (scores / one.softcap).tanh() * one.softcap
    rows, columns = (torch.arange(len(tensor), device=q.device) for tensor in (q, k))
    hidden = ~one.mask.sees(rows[:, None], columns[None, :], None, len(q), len(k))
    hidden = hidden.expand(len(q), len(k))
    scores = scores.masked_fill(hidden, float("-inf"))
    if sink is not None:
        of_rows = sink.to(dtype)[:, None, None].expand(HEADS, len(q), 1)
        p = torch.cat([scores, of_rows], 2).softmax(2)[:, :, :-1]
    else:
        p = scores.softmax(2).masked_fill(hidden.all(1)[:, None], 0)
    o = torch.einsum("hqk,khd->qhd", p, v)
    return [o.detach(), *torch.autograd.grad(o, leaves, given[3].to(dtype))]


def check(one: One, deadline: float) -> dict[str, Any] | None:
    """None if it is too late to begin."""
    if time.time() > deadline:
        return None
    begun = time.monotonic()
    torch.manual_seed(one.seed)
    lengths, dtype = sequences(one), DTYPES[one.element]
    totals = [sum(pair[side] for pair in lengths) for side in (0, 1)]
    given = [
        torch.randn(rows, heads, columns, device=DEVICE).to(dtype)
        for rows, heads, columns in (
            (totals[0], HEADS, one.dims[0]),
            (totals[1], one.kv_heads, one.dims[0]),
            (totals[1], one.kv_heads, one.dims[1]),
            (totals[0], HEADS, one.dims[1]),
        )
    ]
    if one.softcap:
        given[0] = given[0] * (one.softcap / 4)
    sink = torch.randn(HEADS, device=DEVICE) if one.has_sink else None
    found = computed(one, given, sink)
    ours, theirs, allowed = ({name: 0.0 for name in NAMES} for _ in range(3))
    first = [0, 0]
    for pair in lengths:
        of_q, of_kv = (slice(begin, begin + rows) for begin, rows in zip(first, pair))
        first = [of_q.stop, of_kv.stop]
        part = [x[rows] for x, rows in zip(given, (of_q, of_kv, of_kv, of_q))]
        exact = in_torch(one, part, sink, torch.float64)
        low = in_torch(one, part, sink, dtype)
        mine = [x[rows] for x, rows in zip(found, (of_q, of_q, of_kv, of_kv))]
        for name, x, y, z in zip(NAMES, mine, low, exact):
            if not z.numel():
                continue
            near = z.to(dtype)
            moved = 2 * (near + 0.3 - 0.3 - near).abs().max().item()
            ours[name] = larger(ours[name], (x - z).abs().max().item())
            theirs[name] = larger(theirs[name], (y - z).abs().max().item())
            allowed[name] = larger(allowed[name], moved)
    factor = 3 if one.softcap else 2
    bounds = {
        name: factor * theirs[name] + allowed[name] + (3e-4 if one.softcap and name != "o" else 0)
        for name in NAMES
    }
    return {
        "case": one.name,
        "ours": ours,
        "theirs": theirs,
        "of_bound": {name: ours[name] / bounds[name] if bounds[name] else 0.0 for name in NAMES},
        "wrong": [name for name in NAMES if not ours[name] <= bounds[name]],
        "seconds": round(time.monotonic() - begun, 1),
    }


def summed(found: list[dict[str, Any]]) -> dict[str, Any]:
    return {"of_bound": grids.largest(found, "of_bound")}


def main() -> int:
    arguments = grids.parser_of(__doc__, 220, 110).parse_args()
    return grids.run(arguments, check, problems(arguments.seed, arguments.count), summed)


if __name__ == "__main__":
    sys.exit(main())
