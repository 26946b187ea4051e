"""The drop-in and memory-efficient attention: what kernels serve of it, and the same bits of what
is left to it: float32, masks, biases, dropout, other head dims. Its gradients are compared with
those of float64, or of PyTorch's plain formula."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from attention import poison_cache
from front_ends import demand_same
from group import Test, demand
from torch.nn.attention import SDPBackend, sdpa_kernel

import dash_attn
from dash_attn import attention, reference
from dash_attn.measure.bundle import BundledKernel
from dash_attn.measure.testing import OUTPUTS
from dash_attn.torch import aten_forward
from dash_attn.torch.aten_backward import EFFICIENT
from dash_attn.torch.dropin import unknown

REPEATS = 20
# Bounds of the gradients' error; products of float32 may be TF32.
MOST = {torch.float32: 1e-2, torch.bfloat16: 3e-2, torch.float16: 1e-2}


class Problem(NamedTuple):
    """kind: of the mask, a word of `mask_of`. Few heads and many keys are what PyTorch splits."""

    name: str
    kind: str = "none"
    dtype: torch.dtype = torch.bfloat16
    head_dim: int = 64
    rows: int = 1000
    batch: int = 1
    heads: int = 4
    dropout: float = 0.0


LEFT = (
    Problem("float32", "causal", torch.float32),
    Problem("float32, long", "none", torch.float32, rows=4096, heads=2),
    Problem("float32, head dim 128", "causal", torch.float32, 128),
    Problem("mask", "mask"),
    Problem("mask, f16", "mask", torch.float16, 128),
    Problem("bias", "bias"),
    Problem("bias of all heads", "shared bias", batch=2),
    Problem("bias, float32", "bias", torch.float32),
    Problem("head dim 264", "causal", head_dim=264),
    Problem("dropout", "causal", dropout=0.1),
)
SERVED = tuple(
    Problem(f"{kind} d{head_dim}", kind, head_dim=head_dim, batch=2)
    for kind in ("none", "causal")
    for head_dim in (64, 128)
)


def tests(kernels: list[BundledKernel], quick: bool) -> list[Test]:
    first = kernels[0].name
    found = [Test(f"efficient left {one.name}", first, lambda one=one: left(one)) for one in LEFT]
    found += [
        Test(f"efficient served {one.name}", first, lambda one=one: served(one)) for one in SERVED
    ]
    return [
        *found,
        Test("efficient strict mode", first, strict),
        Test("efficient no operator unknown", first, none_unknown),
    ]


def inputs(problem: Problem) -> tuple[list[torch.Tensor], dict[str, Any], torch.Tensor]:
    """q, k, v and a bias, options for SDPA, and do."""
    torch.manual_seed(5)
    shape = (problem.batch, problem.heads, problem.rows, problem.head_dim)
    leaves = [
        torch.randn(shape, device="cuda", dtype=problem.dtype, requires_grad=True) for _ in range(3)
    ]
    options: dict[str, Any] = {"is_causal": problem.kind == "causal", "dropout_p": problem.dropout}
    if problem.kind == "mask":
        options["attn_mask"] = torch.rand(problem.rows, problem.rows, device="cuda") < 0.7
    if "bias" in problem.kind:
        of_heads = (1, 1) if "shared" in problem.kind else shape[:2]
        leaves.append(
            torch.randn(
                *of_heads,
                problem.rows,
                problem.rows,
                device="cuda",
                dtype=problem.dtype,
                requires_grad=True,
            )
        )
    return leaves, options, torch.randn(shape, device="cuda", dtype=problem.dtype)


def computed(
    leaves: list[torch.Tensor], options: dict[str, Any], do: torch.Tensor, backend: SDPBackend
) -> dict[str, torch.Tensor]:
    bias = {"attn_mask": leaves[3]} if len(leaves) > 3 else {}
    o = attended(*leaves[:3], backend=backend, **options, **bias)
    return dict(zip((*OUTPUTS, "dbias"), torch.autograd.grad(o, leaves, do)))


def attended(*leaves: torch.Tensor, backend: SDPBackend, **options: Any) -> torch.Tensor:
    with sdpa_kernel(backend):
        return F.scaled_dot_product_attention(*leaves, **options)


def differing(
    compute: Callable[[], dict[str, torch.Tensor]], expected: dict[str, torch.Tensor]
) -> int:
    """The bits of the runs, beside matrix products on another stream."""
    other, count = torch.cuda.Stream(), 0
    a = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
    for _ in range(REPEATS):
        with torch.cuda.stream(other):
            torch.matmul(a, a)
        poison_cache()
        found = compute()
        count += not all(torch.equal(found[name], one) for name, one in expected.items())
    torch.cuda.synchronize()
    return count


def left(problem: Problem) -> dict[str, Any]:
    leaves, options, do = inputs(problem)

    def compute() -> dict[str, torch.Tensor]:
        torch.manual_seed(6)  # of dropout
        return computed(leaves, options, do, SDPBackend.EFFICIENT_ATTENTION)

    with dash_attn.enable() as enabled:
        before = sum(count for (name, _), count in enabled.left.items() if name == EFFICIENT)
        expected = compute()
        wrong = differing(compute, expected)
        counted = (
            sum(count for (name, _), count in enabled.left.items() if name == EFFICIENT) - before
        )
    demand(not wrong, f"{wrong} of {REPEATS} runs have other bits")
    demand(
        counted == REPEATS + 1,
        f"expected {REPEATS + 1} calls to be counted as left, found {counted}",
        left=str(enabled.left),
    )
    demand(all(one.isfinite().all() for one in expected.values()), "gradients are not finite")
    worst = 0.0
    if not problem.dropout:
        exact = computed(
            [x.detach().double().requires_grad_() for x in leaves],
            options,
            do.double(),
            SDPBackend.MATH,
        )
        worst = max(
            reference.relative_error(expected[name], exact[name], exact[name]) for name in expected
        )
        demand(worst < MOST[problem.dtype], "gradients are far from float64", worst=worst)
    return {"worst": worst, "repeats": REPEATS, "others_without": differing(compute, compute())}


def served(problem: Problem) -> dict[str, Any]:
    """The bits of attention(), o too; compiled, too."""
    leaves, options, do = inputs(problem)
    backend = SDPBackend.EFFICIENT_ATTENTION

    def compute(function: Callable[..., Any] = attended) -> dict[str, torch.Tensor]:
        o = function(*leaves, backend=backend, **options)
        return {"o": o.detach()} | dict(zip(OUTPUTS, torch.autograd.grad(o, leaves, do)))

    o = attention(*leaves, causal=options["is_causal"])
    ours = {"o": o.detach()} | dict(zip(OUTPUTS, torch.autograd.grad(o, leaves, do)))
    with dash_attn.enable() as enabled:
        before = enabled.served.copy()
        wrong = differing(compute, ours)
        torch._dynamo.reset()
        demand_same(compute(torch.compile(attended, fullgraph=True)), ours, "compiled")
        found = enabled.served - before
    torch._dynamo.reset()
    demand(not wrong, f"{wrong} of {REPEATS} runs have other bits than attention()")
    demand(
        found == dict.fromkeys((aten_forward.EFFICIENT, EFFICIENT), REPEATS + 1),
        "expected all calls to be served, both ways",
        served=dict(found),
        left=str(enabled.left),
    )
    return {"repeats": REPEATS}


def strict() -> dict[str, Any]:
    """With torch.use_deterministic_algorithms(True) what is left is left in the same form."""
    leaves, options, do = inputs(LEFT[0])
    with dash_attn.enable():
        expected = computed(leaves, options, do, SDPBackend.EFFICIENT_ATTENTION)
        torch.use_deterministic_algorithms(True)
        try:
            demand_same(
                computed(leaves, options, do, SDPBackend.EFFICIENT_ATTENTION),
                expected,
                "strict mode",
            )
        finally:
            torch.use_deterministic_algorithms(False)
    return {}


def none_unknown() -> dict[str, Any]:
    demand(not unknown(), f"enable() does not know {unknown()}")
    return {"torch": torch.__version__}
