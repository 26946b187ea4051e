"""enable(): PyTorch's own attention is dash's both ways, with the bits of attention(), by whichever
backend PyTorch takes, eagerly, compiled and captured; what forward="torch" keeps; and what
PyTorch's own backward makes of a forward of dash."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from accuracy import BESIDE_ROUNDING, NOISE
from attention import (
    REPEATED,
    UNGROUPED,
    asked,
    by_sdpa,
    case,
    computed,
    inputs,
    is_causal,
    of_sdpa,
    poison_cache,
)
from front_ends import demand_accurate, demand_same
from group import Test, demand
from run_group import ONE_FOR_ALL
from torch.nn.attention import SDPBackend, sdpa_kernel

import dash_attn
from dash_attn import attention, audit
from dash_attn.measure.bundle import BundledKernel
from dash_attn.measure.testing import OUTPUTS, Case, errors, references
from dash_attn.reference import CAUSAL, FULL
from dash_attn.torch import aten_backward, aten_forward
from dash_attn.torch.dropin import DropIn
from dash_attn.torch.registry import foreign

FLASH, CUDNN, EFFICIENT = (
    SDPBackend.FLASH_ATTENTION,
    SDPBackend.CUDNN_ATTENTION,
    SDPBackend.EFFICIENT_ATTENTION,
)
# the operators of both passes, which are counted
OPERATORS = {
    FLASH: (aten_forward.SDPA_FLASH, aten_backward.SDPA_FLASH),
    CUDNN: (aten_forward.SDPA_CUDNN, aten_backward.SDPA_CUDNN),
    EFFICIENT: (aten_forward.EFFICIENT, aten_backward.EFFICIENT),
}
NAMES = ("o", *OUTPUTS)


def tests(kernels: list[BundledKernel], quick: bool) -> list[Test]:
    first = kernels[0]
    if first.mask not in (FULL, CAUSAL):
        return []
    which = f"drop_in d{first.head_dim}-{first.mask.name}"
    ways: tuple[Callable[[Case], Any], ...] = (served, kept, of_pytorch)
    if first.group == ONE_FOR_ALL:
        ways += (inferred, captured, left, strict, as_declared, by_their_backward, certified)
    return [
        Test(f"{which} {test.__name__}", first.name, lambda test=test: test(case(first, REPEATED)))
        for test in ways
    ]


class Counted:
    """What of some calls was served, and what was left."""

    def __init__(self, enabled: DropIn) -> None:
        self._enabled, self._before = enabled, (enabled.served.copy(), enabled.left.copy())

    def demand(self, served: dict[str, int], when: str) -> None:
        found = self._enabled.served - self._before[0]
        others = self._enabled.left - self._before[1]
        demand(
            found == Counter(served) and not others,
            f"{when}: expected {served} to be served, and nothing left",
            served=dict(found),
            left=str(others),
        )


def served(problem: Case) -> dict[str, Any]:
    """The bits of attention(), of o and of gradients; PyTorch's own before and behind it."""
    record: dict[str, Any] = {}
    for backend, of_both in OPERATORS.items():
        # memory-efficient attention has repeated heads of k and v, whose gradients PyTorch adds
        one = problem if backend != EFFICIENT else case(problem, UNGROUPED)
        tensors, function = inputs(one), by_sdpa(backend)
        causal, ours = is_causal(one), computed(tensors, asked(one))
        before = of_sdpa(tensors, causal, function)
        with dash_attn.enable() as enabled:
            counted = Counted(enabled)
            for number in range(11):
                poison_cache()
                found = of_sdpa(tensors, causal, function)
                demand_same(found, ours, f"{backend}, run {number}, beside attention()")
            counted.demand(dict.fromkeys(of_both, 11), f"{backend}")
            torch._dynamo.reset()
            found = of_sdpa(tensors, causal, torch.compile(function, fullgraph=True))
            demand_same(found, ours, f"{backend}, compiled")
            counted.demand(dict.fromkeys(of_both, 12), f"{backend}, compiled")
        again = of_sdpa(tensors, causal, function)
        counted.demand(dict.fromkeys(of_both, 12), f"{backend}, behind its end")
        demand_same({"o": again["o"]}, {"o": before["o"]}, f"{backend}, behind its end")
        given = {name: x.detach() for name, x in tensors.items()} | {
            "o": ours["o"],
            "lse": ours["lse"],
        }
        record[backend.name] = demand_accurate(one, given, ours)
        record[backend.name]["forward of PyTorch has these bits, too"] = torch.equal(
            before["o"], ours["o"]
        )
    torch._dynamo.reset()
    return record


def kept(problem: Case) -> dict[str, Any]:
    """forward="torch": o is PyTorch's, gradients are dash's."""
    tensors = inputs(problem)
    for backend in (FLASH, CUDNN):
        function = by_sdpa(backend)
        before = of_sdpa(tensors, is_causal(problem), function)
        with dash_attn.enable(forward="torch") as enabled:
            counted = Counted(enabled)
            found = of_sdpa(tensors, is_causal(problem), function)
            again = of_sdpa(tensors, is_causal(problem), function)
            counted.demand({OPERATORS[backend][1]: 2}, f"{backend}")
        demand_same({"o": found["o"]}, {"o": before["o"]}, f"{backend}, forward")
        demand_same(found, again, f"{backend}, twice")
        if backend == CUDNN:
            theirs = computed(tensors, asked(problem) | {"forward": "torch"})
            demand_same(found, theirs, "beside attention(forward='torch')")
    return {}


def of_pytorch(problem: Case) -> dict[str, Any]:
    """attention(forward="torch") is what it is, also while the drop-in is enabled, and compiled."""
    tensors = inputs(problem)
    for options in (asked(problem), {"window": (100, 0)}):
        options |= {"forward": "torch"}
        before = computed(tensors, options)
        with dash_attn.enable() as enabled:
            counted = Counted(enabled)
            demand_same(computed(tensors, options), before, f"{options}, enabled")
            torch._dynamo.reset()
            function = torch.compile(attention, fullgraph=True)
            demand_same(computed(tensors, options, function), before, f"{options}, compiled")
            counted.demand({}, f"{options}")
    torch._dynamo.reset()
    return {}


def inferred(problem: Case) -> dict[str, Any]:
    """Without gradients: the bits of training; a prefix, and one decoded token beside all keys,
    have those of their rows."""
    tensors = {name: x.detach() for name, x in inputs(problem).items()}
    q, k, v = (tensors[name] for name in ("q", "k", "v"))
    whole = attention(q, k, v, causal=True)
    sdpa = F.scaled_dot_product_attention
    with dash_attn.enable() as enabled:
        counted = Counted(enabled)
        for mode in (torch.no_grad, torch.inference_mode):
            for backend in (FLASH, CUDNN):
                with mode(), sdpa_kernel(backend):
                    prefix = [x[:, :, :300] for x in (q, k, v)]
                    found = {
                        "whole": sdpa(q, k, v, is_causal=True, enable_gqa=True),
                        "prefix": sdpa(*prefix, is_causal=True, enable_gqa=True),
                    }
                expected = {"whole": whole, "prefix": whole[:, :, :300]}
                demand_same(found, expected, f"{backend}, {mode.__name__}")
            with mode(), sdpa_kernel(FLASH):
                last = {"last": sdpa(q[:, :, -1:], k, v, enable_gqa=True)}
            demand_same(last, {"last": whole[:, :, -1:]}, f"one token, {mode.__name__}")
        counted.demand({aten_forward.SDPA_FLASH: 6, aten_forward.SDPA_CUDNN: 4}, "inference")
    return {}


def captured(problem: Case) -> dict[str, Any]:
    """Both passes in a graph, replayed on other values."""
    for backend in (FLASH, CUDNN, EFFICIENT):
        one = case(problem, UNGROUPED)
        tensors, stream, function = inputs(one), torch.cuda.Stream(), by_sdpa(backend)
        with dash_attn.enable():
            of_sdpa(tensors, True, function)
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, stream=stream):
                found = of_sdpa(tensors, True, function)
        for seed in (1, 2):
            with torch.no_grad():
                for name, tensor in inputs(one, seed).items():
                    tensors[name].copy_(tensor)
            expected = computed(tensors, asked(one))
            poison_cache()
            graph.replay()
            torch.cuda.synchronize()
            demand_same(found, expected, f"{backend}, replay on seed {seed}")
    return {}


def left(problem: Case) -> dict[str, Any]:
    """A dropout is FlashAttention's both ways, in its deterministic form."""
    tensors = inputs(problem)
    with dash_attn.enable() as enabled, sdpa_kernel(FLASH):
        leaves = [tensors[name] for name in ("q", "k", "v")]
        o = F.scaled_dot_product_attention(
            *leaves, is_causal=is_causal(problem), dropout_p=0.1, enable_gqa=True
        )
        first = torch.autograd.grad(o, leaves, tensors["do"], retain_graph=True)
        again = torch.autograd.grad(o, leaves, tensors["do"])
        demand(
            all(map(torch.equal, first, again)),
            "what is left to FlashAttention differs from run to run",
        )
        names = {name for name, reason in enabled.left if "no dropout" in reason}
        demand(set(OPERATORS[FLASH]) <= names, "dropout was not left", left=str(enabled.left))
        demand(not torch.are_deterministic_algorithms_enabled(), "PyTorch's switch was left on")
    return {}


def strict(problem: Case) -> dict[str, Any]:
    """With torch.use_deterministic_algorithms(True), by whichever backend PyTorch chooses."""
    tensors = inputs(problem)
    torch.use_deterministic_algorithms(True)
    try:
        with dash_attn.enable() as enabled:
            served = sum(enabled.served.values())
            first = of_sdpa(tensors, is_causal(problem), by_sdpa(None))
            demand_same(of_sdpa(tensors, is_causal(problem), by_sdpa(None)), first, "strict mode")
            demand(
                sum(enabled.served.values()) - served == 4,
                "expected both calls to be served, both ways",
                served=dict(enabled.served),
            )
            ours = computed(tensors, asked(problem))
            demand_same(first, ours, "strict mode, beside attention()")
            return {"served": dict(enabled.served)}
    finally:
        torch.use_deterministic_algorithms(False)


def as_declared(problem: Case) -> dict[str, Any]:
    """Everything that an operator gives has the form of what its own kernel gives."""
    aten, wrong = torch.ops.aten, []
    given = [x.detach() for x in inputs(case(problem, UNGROUPED)).values()][:3]
    in_rows = [x.transpose(1, 2) for x in given]
    odd = [x[:, :, :1001] for x in given]  # whose rows are padded in one LSE
    packed = [x[0].transpose(0, 1).contiguous() for x in given]
    cu = torch.tensor([0, 300, 1024], device="cuda", dtype=torch.int32)
    rest = (0.0, True, False)
    calls: dict[str, Callable[[], Any]] = {
        "flash": lambda: aten._flash_attention_forward(*in_rows, None, None, 1024, 1024, *rest),
        "flash, packed": lambda: aten._flash_attention_forward(*packed, cu, cu, 724, 724, *rest),
        "SDPA flash": lambda: aten._scaled_dot_product_flash_attention(*given, *rest),
        "SDPA cuDNN": lambda: aten._scaled_dot_product_cudnn_attention(*given, None, True, *rest),
        "efficient": lambda: aten._scaled_dot_product_efficient_attention(
            *odd, None, True, 0.0, True
        ),
        "efficient, no LSE": lambda: aten._scaled_dot_product_efficient_attention(
            *odd, None, False, 0.0, True
        ),
    }

    def form(one: Any) -> Any:
        if not isinstance(one, torch.Tensor):
            return one
        return tuple(one.shape), one.stride(), one.dtype, one.device.type

    with dash_attn.enable() as enabled:
        for name, call in calls.items():
            before = sum(enabled.served.values())
            ours = call()
            demand(sum(enabled.served.values()) == before + 1, f"{name} was left")
            with foreign():
                theirs = call()
            demand(sum(enabled.served.values()) == before + 1, f"{name} is not PyTorch's own")
            for place, (one, other) in enumerate(zip(ours, theirs)):
                if form(one) != form(other):
                    wrong.append(f"{name}, {place}: {form(one)}, PyTorch's {form(other)}")
            lse = [x[1][..., 0] if x[1].dim() == 4 else x[1] for x in (ours, theirs)]
            if lse[0].shape == lse[1].shape and lse[0].numel():
                same = lse[0].isposinf() == lse[1].isposinf()
                apart = (lse[0] - lse[1]).nan_to_num(0).abs().max()
                if not same.all() or apart > 1e-3:
                    wrong.append(f"{name}: LSEs differ by {float(apart)}, or in infinities")
    demand(not wrong, "; ".join(wrong))
    return {"calls": list(calls)}


def by_their_backward(problem: Case) -> dict[str, Any]:
    """A forward of dash, and PyTorch's backward behind its end: no worse than all by PyTorch. And
    FlashAttention's, where rows see nothing."""
    record = {}
    for backend in (FLASH, CUDNN, EFFICIENT):
        one = case(problem, UNGROUPED)
        tensors = inputs(one)
        leaves = [tensors[name] for name in ("q", "k", "v")]
        function = by_sdpa(backend)
        theirs = of_sdpa(tensors, True, function)
        with dash_attn.enable():
            o, _ = function(*leaves, causal=True, return_lse=True)
        found = dict(zip(OUTPUTS, torch.autograd.grad(o, leaves, tensors["do"])))
        ours = computed(tensors, asked(one))
        given = {name: x.detach() for name, x in tensors.items()} | {
            name: ours[name] for name in ("o", "lse")
        }
        exact = references(one, given)
        of_both = [errors({name: x[name] for name in OUTPUTS}, *exact) for x in (found, theirs)]
        demand(
            all(of_both[0][n] <= max(BESIDE_ROUNDING * of_both[1][n], NOISE) for n in OUTPUTS),
            f"{backend}: gradients are worse than all by PyTorch",
            found=of_both[0],
            theirs=of_both[1],
        )
        record[backend.name] = of_both[0]
    record["rows that see nothing"] = _rows_that_see_nothing()
    return record


def _rows_that_see_nothing() -> dict[str, float]:
    generator = torch.Generator(device="cuda").manual_seed(4)
    q, k, v, do = (
        torch.randn(2, rows, 4, 64, device="cuda", generator=generator).bfloat16()
        for rows in (500, 300, 300, 500)
    )
    leaves = [x.requires_grad_() for x in (q, k, v)]
    call = torch.ops.aten._flash_attention_forward

    def by_flash() -> tuple[torch.Tensor, ...]:
        return call(*leaves, None, None, 500, 300, 0.0, True, False)

    theirs = by_flash()
    with dash_attn.enable():
        ours = by_flash()
    demand((ours[1].isposinf() == theirs[1].isposinf()).all(), "infinite rows of the LSE differ")
    demand(ours[1][..., :200].isposinf().all() and not ours[0][:, :200].any(), "rows see something")
    of_both = [torch.autograd.grad(one[0], leaves, do) for one in (ours, theirs)]
    found = {}
    for name, one, other in zip(OUTPUTS, *of_both):
        demand(one.isfinite().all(), f"{name} is not finite")
        found[name] = float((one.double() - other.double()).norm() / other.double().norm())
    demand(max(found.values()) < 0.02, "far from all by FlashAttention", found=found)
    return found


def certified(problem: Case) -> dict[str, Any]:
    """What ran is in the certificate of a run: kernels of both passes."""
    tensors = inputs(problem)
    with dash_attn.enable() as enabled:
        of_sdpa(tensors, is_causal(problem), by_sdpa(CUDNN))
        made = audit.certificate()
        demand(made["drop_in"]["is_enabled"] and made["drop_in"]["forward"] == "dash", "drop_in")
        counted = {name: dict(ones) for name, ones in made["drop_in"]["served"].items()}
        demand(
            sum(sum(ones.values()) for ones in counted.values()) == sum(enabled.served.values()),
            "its counts are others",
            counted=counted,
        )
    by_pass = {one["is_forward"] for one in made["kernels"]}
    demand(by_pass == {True, False}, "expected kernels of both passes", kernels=made["kernels"])
    return {"drop_in": counted}
