"""dash_attn.attention with a sink: o, the LSE and all gradients beside float64, and the same bits
however PyTorch runs it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from attention import REPEATED, SHAPES, asked, case, demand_repeats, inputs, poison_cache
from front_ends import demand_accurate, demand_same
from group import Test, demand
from packed import inputs as packed_inputs

from dash_attn import attention, reference
from dash_attn.measure.bundle import BundledKernel
from dash_attn.measure.testing import OUTPUTS, Case, errors, references

NAMES = ("o", "lse", *OUTPUTS, "dsink")
ROUNDING = 2.5e-3  # of gradients, to 16 bits, in factors and results


def tests(kernels: list[BundledKernel], quick: bool) -> list[Test]:
    first = kernels[0]
    which = f"attention with a sink d{first.head_dim}-{first.mask.name}"
    found = [
        Test(f"{which} {one.name}", first.name, lambda one=one: accurate(one))
        for shape in SHAPES
        for element in ("bf16", "f16")
        if (one := problem_of(first, shape, element)) is not None
    ]
    found += [
        Test(
            f"{which} {test.__name__}",
            first.name,
            lambda test=test: test(problem_of(first, REPEATED)),
        )
        for test in (repeats, from_graph_and_compiled)
    ]
    return [*found, Test(f"{which} of packed sequences", first.name, lambda: of_packed(first))]


def problem_of(*arguments: Any) -> Case | None:
    without = case(*arguments)
    return None if without is None else replace(without, has_sink=True)


def with_sink(problem: Case, seed: int = 0) -> dict[str, torch.Tensor]:
    tensors = inputs(problem, seed)
    tensors["sink"] = torch.randn(
        problem.heads, device="cuda", generator=torch.Generator(device="cuda").manual_seed(seed)
    ).requires_grad_()
    return tensors


def computed(
    tensors: dict[str, torch.Tensor], options: dict[str, Any], function: Any = attention
) -> dict[str, torch.Tensor]:
    leaves = [tensors[name] for name in ("q", "k", "v", "sink")]
    o, lse = function(*leaves[:3], sink=leaves[3], return_lse=True, **options)
    return dict(
        zip(
            NAMES,
            (o.detach(), lse.detach(), *torch.autograd.grad(o, leaves, tensors["do"])),
            strict=True,
        )
    )


def accurate(problem: Case) -> dict[str, Any]:
    tensors = with_sink(problem)
    poison_cache()
    found = computed(tensors, asked(problem))
    given = {name: tensor.detach() for name, tensor in tensors.items()} | {
        name: found[name] for name in ("o", "lse")
    }
    return demand_accurate(problem, given, found)


def repeats(problem: Case) -> dict[str, Any]:
    tensors = with_sink(problem)
    return demand_repeats(lambda: computed(tensors, asked(problem)))


def from_graph_and_compiled(problem: Case) -> None:
    tensors = with_sink(problem)
    expected = computed(tensors, asked(problem))
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=torch.cuda.Stream()):
        found = computed(tensors, asked(problem))
    poison_cache()
    graph.replay()
    torch.cuda.synchronize()
    demand_same(found, expected, "replay")
    torch._dynamo.reset()
    demand_same(
        computed(tensors, asked(problem), torch.compile(attention, fullgraph=True)),
        expected,
        "compiled",
    )
    torch._dynamo.reset()


def of_packed(bundled: BundledKernel) -> dict[str, Any]:
    """Each sequence beside float64, the sink's gradient their sum; the same bits on every run."""
    lengths, options, worst = (
        [(700, 700), (0, 0), (1, 1), (1347, 1347)],
        asked(bundled),
        dict.fromkeys((*OUTPUTS, "dsink"), 0.0),
    )
    given = packed_inputs(bundled, lengths, 8, 2, gap=3)
    sink = torch.randn(
        8, device="cuda", generator=torch.Generator(device="cuda").manual_seed(5)
    ).requires_grad_()
    leaves = [*(given[name] for name in ("q", "k", "v")), sink]

    def compute() -> dict[str, torch.Tensor]:
        o, lse = attention(
            *leaves[:3], sink=sink, cu_seqlens_q=given["cu_q"], return_lse=True, **options
        )
        return dict(
            zip(
                NAMES,
                (o.detach(), lse.detach(), *torch.autograd.grad(o, leaves, given["do"])),
                strict=True,
            )
        )

    found, dsink, least = (
        compute(),
        torch.zeros(8, device="cuda", dtype=torch.float64),
        torch.zeros(8, device="cuda", dtype=torch.float64),
    )
    for begin, end in zip(given["cu_q"].tolist(), given["cu_q"].tolist()[1:]):
        if begin == end:
            continue
        one = {
            name: x.detach()[begin:end].transpose(0, 1)[None]
            for name, x in {**given, **found}.items()
            if name in ("q", "k", "v", "do", "o", *OUTPUTS)
        }
        one |= {"lse": found["lse"][None, :, begin:end], "sink": sink.detach()}
        exact = references(
            Case(bundled.head_dim, bundled.mask, end - begin, end - begin, 1, 8, 2, has_sink=True),
            one,
        )
        for name, error in errors({name: one[name] for name in OUTPUTS}, *exact).items():
            worst[name] = max(worst[name], error)
        dsink, least = dsink + exact[0]["dsink"][0], least + exact[1]["dsink"][0]
    worst["dsink"] = reference.relative_error(found["dsink"], dsink, least)
    demand(
        all(error < 2 * ROUNDING for error in worst.values()),
        "gradients are far from float64",
        worst=worst,
    )
    return {"worst": worst} | demand_repeats(compute)
