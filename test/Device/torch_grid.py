#!/usr/bin/env python3
"""torch_grid.py [--seed N] [--json FILE]: PyTorch's own attention under `dash_attn.enable()`, both
ways, over the problems that PyTorch's tests of it have on CUDA, by their rule, on this GPU.

Problems are drawn by the seed from the grid: FlashAttention, memory-efficient attention and cuDNN
by name; lengths from 4 to 2048 on either side, head dims from 8 to 256 and some that are no
multiple of 8, causal masks, a scale of 1 / head dim, grouped heads, batches of 1 and 8, f16, bf16
and f32, and dropouts. Numbers are uniform from 0 to 1. Left out are biases, nested tensors and
graphs, which have device tests of their own.

The rule of PyTorch's tests is for o, dq, dk and dv. No element is further from the formula in
float64 than a factor times the furthest of PyTorch's formula in the problem's type, and 1e-5 is
allowed. The factors are 4, 180, 16 and 4: where all numbers are positive, dq and dk are differences
of nearly equal ones. Beside it stands how far PyTorch's own kernel is (`of_theirs`).

What must be served is served, both ways, and has equal bits in two runs: 16 bits without a dropout,
but for a causal mask over other numbers of rows than columns, which PyTorch aligns at the top left.
All else is left to PyTorch's kernel with a reason, and its o has the bits that it has without
`enable()`. cuDNN and memory-efficient attention refuse some problems; they are counted alone. The
status is 1 where one is wrong, or none ran.
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "python")]

import grids  # noqa: E402
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from grids import NAMES, larger  # noqa: E402
from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402

from dash_attn import enable  # noqa: E402

DEVICE = "cuda"
DTYPES = grids.DTYPES | {"f32": torch.float32}
FLASH, EFFICIENT, CUDNN = "flash", "efficient", "cudnn"
BACKENDS = {
    FLASH: SDPBackend.FLASH_ATTENTION,
    EFFICIENT: SDPBackend.EFFICIENT_ATTENTION,
    CUDNN: SDPBackend.CUDNN_ATTENTION,
}
DRAWN = (FLASH, FLASH, EFFICIENT, FLASH, CUDNN)  # in turns
HEAD_DIMS = {
    FLASH: (8, 16, 21, 32, 64, 72, 96, 128, 160, 192, 203, 256),
    EFFICIENT: (8, 16, 32, 64, 72, 96, 128),
    CUDNN: (8, 32, 64, 72, 96, 128),
}
Q_ROWS = (4, 8, 64, 143, 256, 512, 1024, 2048)
KV_ROWS = (4, 8, 64, 128, 256, 587, 1024, 2048)
HEADS = ((4, 4), (4, 4), (16, 8), (10, 2))  # of q, and of k and v
DROPOUTS = (0.22, 0.48)
FACTORS = {"o": 4.0, "dq": 180.0, "dk": 16.0, "dv": 4.0}
ALLOWED = 1e-5
Tensors = list[torch.Tensor]


class One(NamedTuple):
    """A problem. has_scale: of 1 / head dim."""

    backend: str
    head_dim: int
    lengths: tuple[int, int]
    batch: int
    heads: tuple[int, int]
    element: str
    causal: bool
    has_scale: bool
    dropout: float
    seed: int

    @property
    def name(self) -> str:
        words = [
            self.backend,
            f"d{self.head_dim}",
            "{}x{}".format(*self.lengths),
            "{}x{}/{}".format(self.batch, *self.heads),
            self.element,
            "causal" * self.causal,
            "scale" * self.has_scale,
            f"dropout {self.dropout:g}" * bool(self.dropout),
        ]
        return ", ".join(filter(None, words))

    @property
    def must_be_served(self) -> bool:
        is_rectangle = self.causal and self.lengths[0] != self.lengths[1]
        return self.element != "f32" and not self.dropout and not is_rectangle

    @property
    def options(self) -> dict[str, Any]:
        """Those of PyTorch's attention, but for a dropout."""
        return {
            "is_causal": self.causal,
            "scale": 1 / self.head_dim if self.has_scale else None,
            "enable_gqa": self.heads[0] != self.heads[1],
        }


def problems(seed: int, count: int) -> list[One]:
    """Backends, head dims and lengths take turns. Half of the causal ones are squares."""
    rng, found = random.Random(seed), []
    turns: Counter[str] = Counter()
    pairs = [(q_rows, kv_rows) for q_rows in Q_ROWS for kv_rows in KV_ROWS]
    dims = {name: rng.sample(HEAD_DIMS[name], len(HEAD_DIMS[name])) for name in BACKENDS}
    rng.shuffle(pairs)
    for number in range(count):
        backend = DRAWN[number % len(DRAWN)]
        turns[backend] += 1
        q_rows, kv_rows = pairs[number % len(pairs)]
        causal = rng.random() < 0.5
        if causal and (backend == FLASH or rng.random() < 0.5):
            q_rows = kv_rows  # FlashAttention takes no others
        found.append(
            One(
                backend,
                dims[backend][turns[backend] % len(dims[backend])],
                (q_rows, kv_rows),
                rng.choice((1, 8)),
                rng.choice(HEADS[:2] if backend == EFFICIENT else HEADS),
                rng.choice(tuple(DTYPES) if backend == EFFICIENT else tuple(grids.DTYPES)),
                causal,
                rng.random() < 0.5,
                rng.choice(DROPOUTS) if rng.random() < 0.1 else 0.0,
                rng.randrange(1 << 30),
            )
        )
    return found


def inputs(one: One) -> Tensors:
    """q, k, v and do."""
    (heads, kv_heads), (q_rows, kv_rows) = one.heads, one.lengths
    sizes = ((heads, q_rows), (kv_heads, kv_rows), (kv_heads, kv_rows), (heads, q_rows))
    return [
        torch.rand(one.batch, *each, one.head_dim, device=DEVICE, dtype=DTYPES[one.element])
        for each in sizes
    ]


def differentiated(o: torch.Tensor, leaves: Tensors, do: torch.Tensor) -> Tensors:
    return [o.detach(), *torch.autograd.grad(o, leaves, do)]


def computed(one: One, given: Tensors) -> Tensors:
    """o, dq, dk and dv of PyTorch's attention by the problem's backend, which raises RuntimeError
    where it refuses the problem."""
    torch.manual_seed(one.seed)  # of a dropout
    leaves = [tensor.detach().requires_grad_() for tensor in given[:3]]
    with sdpa_kernel(BACKENDS[one.backend]):
        o = F.scaled_dot_product_attention(*leaves, dropout_p=one.dropout, **one.options)
    return differentiated(o, leaves, given[3])


def by_formula(one: One, given: Tensors, dtype: torch.dtype) -> Tensors:
    """The same of PyTorch's formula in this type, without a dropout."""
    leaves = [tensor.to(dtype).requires_grad_() for tensor in given[:3]]
    with sdpa_kernel(SDPBackend.MATH):
        o = F.scaled_dot_product_attention(*leaves, **one.options)
    return differentiated(o, leaves, given[3].to(dtype))


def distances(one: One, given: Tensors, others: dict[str, Tensors]) -> dict[str, dict[str, float]]:
    """How far elements are from float64 at most, of each of the others and of the formula in the
    problem's type; sequence by sequence, as scores are many."""
    found = {which: dict.fromkeys(NAMES, 0.0) for which in (*others, "formula")}
    for number in range(one.batch):
        part = [tensor[number : number + 1] for tensor in given]
        exact = by_formula(one, part, torch.float64)
        every = {which: [x[number : number + 1] for x in some] for which, some in others.items()}
        every["formula"] = by_formula(one, part, DTYPES[one.element])
        for which, some in every.items():
            for name, x, y in zip(NAMES, some, exact):
                far = (x - y).abs().max().item()
                found[which][name] = larger(found[which][name], far)
    return found


def check(one: One, deadline: float) -> dict[str, Any] | None:
    """None if it is too late to begin."""
    if time.time() > deadline:
        return None
    begun, said = time.monotonic(), {"case": one.name}
    torch.manual_seed(one.seed)
    given = inputs(one)
    try:
        theirs = computed(one, given)
    except torch.OutOfMemoryError:
        raise
    except RuntimeError as error:
        if one.backend == FLASH or "CUDA error" in str(error):
            raise
        return said | {"refused": str(error).splitlines()[0][:100]}
    with enable() as enabled:
        before = enabled.served.copy(), enabled.left.copy()
        ours, again = computed(one, given), computed(one, given)
        served, left = enabled.served - before[0], enabled.left - before[1]
    reasons = sorted({reason.partition(", found ")[0] for _, reason in left})
    ways = Counter(name.endswith("_backward") for name in served.elements())
    is_served = not left and ways[False] == ways[True] == 2  # calls
    is_repeated, wrong = all(map(torch.equal, ours, again)), []
    if one.must_be_served:
        wrong += ["left"] * (not is_served) + ["runs"] * (not is_repeated)
    else:
        wrong += ["served"] * (bool(served) or not reasons)
        wrong += ["bits of o"] * (not torch.equal(ours[0], theirs[0]))
    said |= {"reasons": reasons} if reasons else {"served": is_served}
    said |= {} if is_repeated else {"repeated": False}
    if one.dropout:
        wrong += [name for name, x in zip(NAMES, ours) if not x.isfinite().all()]
        return said | {"wrong": wrong}
    far = distances(one, given, {"ours": ours, "theirs": theirs})
    bounds = {name: max(ALLOWED, FACTORS[name] * far["formula"][name]) for name in NAMES}
    wrong += [name for name in NAMES if not far["ours"][name] <= bounds[name]]
    return said | {
        "of_bound": {name: far["ours"][name] / bounds[name] for name in NAMES},
        "of_theirs": {
            name: far["ours"][name] / max(ALLOWED, far["theirs"][name]) for name in NAMES
        },
        "wrong": wrong,
        "seconds": round(time.monotonic() - begun, 1),
    }


def summed(found: list[dict[str, Any]]) -> dict[str, Any]:
    served = [one for one in found if one.get("served")]
    return {
        "served": len(served),
        "left": dict(Counter(reason for one in found for reason in one.get("reasons", ()))),
        "refused": sum("refused" in one for one in found),
        "of_bound": grids.largest(served, "of_bound"),
        "of_theirs": grids.largest(served, "of_theirs"),
    }


def main() -> int:
    arguments = grids.parser_of(__doc__, 320, 170).parse_args()
    return grids.run(arguments, check, problems(arguments.seed, arguments.count), summed)


if __name__ == "__main__":
    sys.exit(main())
