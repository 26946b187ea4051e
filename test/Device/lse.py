"""Gradients of the LSE that dash_attn.attention gives: beside float64, in parts of k that are
merged by it, with kernels that take delta; of zeros the bits are those of the kernel that takes o;
the same bits however PyTorch runs it. And o that is changed in place is found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from attention import (
    REPEATED,
    SEARCHED_FOR,
    SHAPES,
    asked,
    case,
    demand_repeats,
    inputs,
    poison_cache,
    sides,
)
from front_ends import demand_same
from group import Failed, Test, demand
from packed import inputs as packed_inputs
from run_group import ONE_FOR_ALL

from dash_attn import attention, reference
from dash_attn.measure.bundle import BundledKernel
from dash_attn.measure.testing import OUTPUTS, Case
from dash_attn.torch import operator

ROUNDING = 2.5e-3  # of gradients, to 16 bits, in factors and results
MERGED = 2e-2  # of parts whose o is rounded before they are added
LENGTHS = [(700, 700), (0, 0), (1, 1), (1347, 1347)]
SAID = "modified by an inplace operation"


def tests(kernels: list[BundledKernel], quick: bool) -> list[Test]:
    first = kernels[0]
    which, is_one = f"lse d{first.head_dim}-{first.mask.name}", first.group == ONE_FOR_ALL
    found = [
        Test(f"{which} {one.name}", first.name, lambda one=one: accurate(one))
        for shape in (*SHAPES[:2], *SEARCHED_FOR[:is_one])
        for element in ("bf16", "f16")
        if (one := case(first, shape, element)) is not None
    ]
    ways = (zeros, zeros_of_packed, *((merged, runs, changed_in_place) if is_one else ()))
    return found + [
        Test(f"{which} {test.__name__}", first.name, lambda test=test: test(first)) for test in ways
    ]


def sink_of(heads: int) -> torch.Tensor:
    return torch.randn(
        heads, device="cuda", generator=torch.Generator(device="cuda").manual_seed(3)
    ).requires_grad_()


def of_both(
    leaves: list[torch.Tensor],
    do: torch.Tensor,
    options: dict[str, Any],
    function: Callable[..., Any] = attention,
) -> dict[str, torch.Tensor]:
    """leaves: q, k, v, and a sink where there is one."""
    o, lse = function(
        *leaves[:3], sink=leaves[3] if len(leaves) > 3 else None, return_lse=True, **options
    )
    gradients = torch.autograd.grad((o, lse), leaves, (do, of_rows(lse)))
    return dict(zip(("o", "lse", *OUTPUTS, "dsink"), (o.detach(), lse.detach(), *gradients)))


def of_rows(lse: torch.Tensor) -> torch.Tensor:
    return torch.randn(
        lse.shape, device="cuda", generator=torch.Generator(device="cuda").manual_seed(9)
    )


def accurate(problem: Case) -> dict[str, Any]:
    worst = {}
    for has_sink in (False, True):
        tensors = inputs(problem)
        leaves = [
            *(tensors[name] for name in ("q", "k", "v")),
            *[sink_of(problem.heads)] * has_sink,
        ]
        poison_cache()
        found = of_both(leaves, tensors["do"], asked(problem))
        q, k, v, *sink = (x.detach() for x in leaves)
        delta = (found["o"].double() * tensors["do"].double()).sum(-1) - of_rows(
            found["lse"]
        ).double()
        exact = reference.backward(
            q,
            k,
            v,
            tensors["do"],
            None,
            found["lse"],
            scale=problem.scale,
            mask=problem.mask,
            sink=sink[0] if sink else None,
            delta=delta,
        )
        if has_sink:
            exact["dsink"] = exact["dsink"].sum(0)
        for name, right in exact.items():
            worst[name] = max(
                worst.get(name, 0), reference.relative_error(found[name], right, right)
            )
    demand(
        all(error < 2 * ROUNDING for error in worst.values()),
        "gradients are far from float64",
        worst=worst,
    )
    return {"worst": worst}


def zeros(bundled: BundledKernel) -> dict[str, Any]:
    """The operator, where nothing is made of the LSE, and where zeros are."""
    for shape in (SHAPES[0], REPEATED):
        for element in ("bf16", "f16"):
            problem = case(bundled, shape, element)
            tensors = inputs(problem)
            q, k, v = (tensors[name].detach() for name in ("q", "k", "v"))
            for sink in ((), (sink_of(problem.heads).detach(),)):
                o, lse = attention(
                    q, k, v, sink=sink[0] if sink else None, return_lse=True, **asked(problem)
                )
                given = (tensors["do"], q, k, v, o, lse, *sides(problem), problem.scale)
                poison_cache()
                demand_alike(
                    operator.gradients(*given, torch.zeros_like(lse), *sink),
                    operator.gradients(*given, None, *sink),
                    f"{problem.name}, {element}, {len(sink)} sinks",
                )
    return {}


def demand_alike(found: Any, expected: Any, when: str) -> None:
    ours, theirs = (
        {name: one for name, one in zip((*OUTPUTS, "dsink"), outputs) if one is not None}
        for outputs in (found, expected)
    )
    demand_same(ours, theirs, when)


def zeros_of_packed(bundled: BundledKernel) -> dict[str, Any]:
    given = packed_inputs(bundled, LENGTHS, 8, 2, gap=3)
    q, k, v, do, cu = (given[name].detach() for name in ("q", "k", "v", "do", "cu_q"))
    scale = bundled.head_dim**-0.5
    worst = 0.0
    for sink in ((), (sink_of(8).detach(),)):
        o, lse = attention(
            q,
            k,
            v,
            sink=sink[0] if sink else None,
            cu_seqlens_q=cu,
            return_lse=True,
            **asked(bundled),
        )
        tensors = (do, q, k, v, o, lse, *sides(bundled), scale)
        rest = (sink[0] if sink else None, cu, cu)
        demand_alike(
            operator.gradients(*tensors, torch.zeros_like(lse), *rest),
            operator.gradients(*tensors, None, *rest),
            f"{len(sink)} sinks",
        )
        dlse = of_rows(lse)
        found = operator.gradients(*tensors, dlse, *rest)
        for begin, end in ((3, 703), (704, 2051)):
            one = [x[begin:end].transpose(0, 1)[None] for x in (q, k, v, do)]
            delta = (o[begin:end].double() * do[begin:end].double()).sum(-1).T[None] - dlse[
                None, :, begin:end
            ].double()
            exact = reference.backward(
                *one, None, lse[None, :, begin:end], scale=scale, mask=bundled.mask, delta=delta
            )
            for name, whole in zip(OUTPUTS, found):
                right = exact[name]
                worst = max(
                    worst,
                    reference.relative_error(whole[begin:end].transpose(0, 1)[None], right, right),
                )
    demand(worst < 2 * ROUNDING, "gradients of packed sequences are far from float64", worst=worst)
    return {"worst": worst}


def merged(bundled: BundledKernel) -> dict[str, Any]:
    """As ring attention does: two parts of k, each by itself, weighted by their LSE."""
    torch.manual_seed(4)
    q, k, v, do = (
        torch.randn(1, heads, rows, bundled.head_dim, device="cuda", dtype=torch.bfloat16)
        for heads, rows in ((8, 500), (2, 1100), (2, 1100), (8, 500))
    )
    leaves = [x.requires_grad_() for x in (q, k, v)]
    parts = [
        attention(q, k[:, :, rows], v[:, :, rows], return_lse=True)
        for rows in (slice(600), slice(600, None))
    ]
    weights = torch.stack([lse for _, lse in parts]).softmax(0)
    o = sum(weight[..., None] * of_part.float() for weight, (of_part, _) in zip(weights, parts))
    found = dict(zip(OUTPUTS, torch.autograd.grad(o, leaves, do.float())))
    scale, mask = bundled.head_dim**-0.5, reference.FULL
    whole, lse = reference.forward(*(x.detach() for x in leaves), scale=scale, mask=mask)
    exact = reference.backward(
        *(x.detach() for x in leaves), do, whole, lse, scale=scale, mask=mask
    )
    worst = {
        name: reference.relative_error(found[name], exact[name], exact[name]) for name in OUTPUTS
    }
    demand(
        all(error < MERGED for error in worst.values()), "two parts are not the whole", worst=worst
    )
    return {"worst": worst}


def runs(bundled: BundledKernel) -> dict[str, Any]:
    """Again and again, compiled, and out of a CUDA graph."""
    problem = case(bundled, REPEATED)
    tensors = inputs(problem)
    leaves = [tensors[name] for name in ("q", "k", "v")]
    expected = of_both(leaves, tensors["do"], asked(problem))
    record = demand_repeats(lambda: of_both(leaves, tensors["do"], asked(problem)))
    for options in ({}, {"dynamic": True}):
        torch._dynamo.reset()
        demand_same(
            of_both(
                leaves,
                tensors["do"],
                asked(problem),
                torch.compile(attention, fullgraph=True, **options),
            ),
            expected,
            f"compiled {options}",
        )
    torch._dynamo.reset()
    # Nothing may be left of a forward pass on another stream: its leaves would wait there for what
    # is captured.
    of_lse, graph = (
        of_rows(attention(*leaves, return_lse=True, **asked(problem))[1].detach()),
        torch.cuda.CUDAGraph(),
    )
    torch.cuda.synchronize()
    with torch.cuda.graph(graph, stream=torch.cuda.Stream()):
        o, lse = attention(*leaves, return_lse=True, **asked(problem))
        found = dict(zip(OUTPUTS, torch.autograd.grad((o, lse), leaves, (tensors["do"], of_lse))))
    poison_cache()
    graph.replay()
    torch.cuda.synchronize()
    demand_same(found, expected, "replay")
    return record


def changed_in_place(bundled: BundledKernel) -> dict[str, Any]:
    """Gradients follow from o as it was: eagerly and compiled PyTorch says that it was changed."""
    problem = case(bundled, REPEATED)
    tensors = inputs(problem)
    leaves = [tensors[name] for name in ("q", "k", "v")]

    def gated(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        o = attention(q, k, v, **asked(problem))
        return o.mul_(2).float().sum()

    messages = {}
    for name, function in (("eager", gated), ("compiled", torch.compile(gated, fullgraph=True))):
        torch._dynamo.reset()
        try:
            torch.autograd.grad(function(*leaves), leaves)
        except Exception as error:
            messages[name] = str(error)[:500]
        else:
            raise Failed(f"{name}: nothing was said of o that was changed in place")
    torch._dynamo.reset()
    demand(all(SAID in message for message in messages.values()), "another message", **messages)
    return messages
