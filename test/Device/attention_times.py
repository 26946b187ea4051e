"""What dash_attn.attention costs: calls on the host, both ways on the device, and orders that are
chosen beside fixed ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from attention import (
    FEW_HEADS,
    asked,
    by_sdpa,
    case,
    computed,
    inputs,
    is_causal,
    of_sdpa,
    sides,
    wanted_of,
)
from call_times import device_time, host_time
from group import Test
from run_group import ONE_FOR_ALL
from torch.nn.attention import SDPBackend, sdpa_kernel

from dash_attn import attention
from dash_attn.kernel.list_kinds import OF_LISTS, OF_OTHER_LISTS
from dash_attn.kernel.orders import texts_of
from dash_attn.kernel.problem import Wanted
from dash_attn.kernel.runtime import Kernel, maker_of
from dash_attn.measure.bundle import BundledKernel
from dash_attn.measure.testing import OUTPUTS, Case
from dash_attn.reference import CAUSAL, FULL
from dash_attn.torch import kernels as registry
from dash_attn.torch import operator

# (rows of q, of k, batch, heads, kv heads, memory).
ORDERED = {
    FULL: ((1024, 8192, 2, 32, 8, "bhsd"),),
    CAUSAL: ((8192, 8192, 1, 32, 8, "bhsd"), (2048, 2048, 8, 32, 8, "bhsd")),
}
LARGE = (4096, 4096, 4, 16, 16, "bhsd")
SMALL = (128, 128, 1, 2, 2, "bhsd")
LAYERS = 20  # of which the cost on the host is measured


def tests(kernels: list[BundledKernel], quick: bool) -> list[Test]:
    first = kernels[0]
    which = f"attention d{first.head_dim}-{first.mask.name}"
    measured = (orders,) if first.mask in ORDERED else ()
    measured += (host_times, device_times) if first.group == ONE_FOR_ALL else ()
    return [
        Test(f"{which} {test.__name__}", first.name, lambda test=test: test(first))
        for test in measured
    ]


def host_times(bundled: BundledKernel) -> dict[str, Any]:
    """Microseconds of calls that wait for nothing, on tensors so small that the GPU is done
    before."""
    tensors = inputs(case(bundled, SMALL))
    leaves, do, causal = (
        [tensors[name] for name in ("q", "k", "v")],
        tensors["do"],
        is_causal(bundled),
    )
    found = computed(tensors, {"causal": causal})
    detached = [leaf.detach() for leaf in leaves]
    given = (do, *detached, found["o"], found["lse"], *sides(bundled), bundled.head_dim**-0.5)
    gradients = [torch.empty_like(leaf) for leaf in detached]
    wanted = wanted_of(case(bundled, SMALL), tensors)
    kernel, kept = registry.kernel_of(wanted), Kernel(maker_of(texts_of(wanted)))
    stream = torch.cuda.current_stream().cuda_stream
    whole = (*detached, do, found["o"], found["lse"], *gradients)
    calls: dict[str, Callable[[], Any]] = {
        "attention, both ways": lambda: torch.autograd.grad(
            attention(*leaves, causal=causal), leaves, do
        ),
        "attention, forward": lambda: attention(*detached, causal=causal),
        "aten forward": lambda: torch.ops.aten._scaled_dot_product_cudnn_attention(
            *detached, None, True, 0.0, causal
        ),
        "operator": lambda: operator.gradients(*given),
        "launch": lambda: operator.launch(*given),
        "Kernel.backward, memory of its own": lambda: kernel.backward(*whole, stream=stream),
        "Kernel.backward, memory kept": lambda: kept.backward(*whole, stream=stream),
    }
    times = {name: host_time(call) for name, call in calls.items()}
    functions = {
        "attention": lambda q, k, v: attention(q, k, v, causal=causal),
        "SDPA": lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=causal),
    }
    for name, function, backend in (
        ("attention", functions["attention"], SDPBackend.CUDNN_ATTENTION),
        ("SDPA, CUDNN_ATTENTION", functions["SDPA"], SDPBackend.CUDNN_ATTENTION),
        ("SDPA, FLASH_ATTENTION", functions["SDPA"], SDPBackend.FLASH_ATTENTION),
    ):
        with sdpa_kernel(backend):
            if name != "attention":
                times[name] = host_time(lambda: torch.autograd.grad(function(*leaves), leaves, do))
            whole = host_time(
                lambda: torch.autograd.grad(chained(function, leaves), leaves, do), 60
            )
            times[f"{name}, each of {LAYERS}"] = round(whole / LAYERS, 2)
    beside = {
        word: round(times[f"attention, {word}"] - times[f"SDPA, CUDNN_ATTENTION{tail}"], 2)
        for word, tail in (("both ways", ""), (f"each of {LAYERS}", f", each of {LAYERS}"))
    }
    return {"microseconds": times, "beside_cudnn": beside}


def chained(function: Callable[..., torch.Tensor], leaves: list[torch.Tensor]) -> torch.Tensor:
    """As layers follow each other in a model: PyTorch's thread for backward passes is woken once
    for all of them."""
    o, k, v = leaves
    for _ in range(LAYERS):
        o = function(o, k, v)
    return o


def fixed(problem: Case) -> Kernel:
    """For the kind that lists have, what a choice by hand, from the mask alone, would take."""
    kind = OF_LISTS.get(sides(problem), OF_OTHER_LISTS)
    return registry.kernel_of(
        Wanted(problem.head_dim, problem.columns_v, problem.element, sides(problem), kind)
    )


def orders(bundled: BundledKernel) -> dict[str, Any]:
    """Milliseconds of a backward pass beside that of a fixed kind, and of both ways beside
    cuDNN's."""
    record: dict[str, Any] = {}
    for shape in ORDERED[bundled.mask] + FEW_HEADS:
        problem = case(bundled, shape)
        tensors = inputs(problem)
        found = computed(tensors, asked(problem))
        whole = (
            [tensors[name].detach() for name in ("q", "k", "v", "do")]
            + [found["o"], found["lse"]]
            + [found[name] for name in OUTPUTS]
        )
        ours, by_hand, outputs = (
            registry.kernel_of(wanted_of(problem, tensors)),
            fixed(problem),
            by_sdpa(SDPBackend.CUDNN_ATTENTION),
        )
        calls = {
            "backward": lambda: ours.backward(*whole),
            "backward of a fixed kind": lambda: by_hand.backward(*whole),
            "attention": lambda: computed(tensors, asked(problem)),
            "SDPA, CUDNN_ATTENTION": lambda: of_sdpa(tensors, is_causal(problem), outputs),
        }
        ordered = registry.order_of(*(tensors[name] for name in "qkv"), sides(problem), "bhsd")
        record[problem.name] = {
            "kind": ordered.wanted.kind,
            "parts": ordered.wanted.parts,
            "predicted": ordered.predicted,
        } | device_time(calls)
    return {"milliseconds": record}


def device_times(bundled: BundledKernel) -> dict[str, Any]:
    """Milliseconds of both ways, and of a backward pass alone with memory of its own and with
    memory that is kept: the difference is what counters and order cost."""
    record: dict[str, Any] = {}
    for shape in ((512, 512, 32, 16, 16, "bhsd"), LARGE):
        problem = case(bundled, shape)
        tensors = inputs(problem)
        leaves = [tensors[name] for name in ("q", "k", "v")]
        found = computed(tensors, asked(problem))
        whole = (
            [leaf.detach() for leaf in leaves]
            + [tensors["do"], found["o"], found["lse"]]
            + [found[name] for name in OUTPUTS]
        )
        wanted = wanted_of(problem, tensors)
        kernel, kept = registry.kernel_of(wanted), Kernel(maker_of(texts_of(wanted)))
        calls = {
            "attention": lambda: torch.autograd.grad(
                attention(*leaves, causal=is_causal(problem)), leaves, tensors["do"]
            ),
            "SDPA": lambda: torch.autograd.grad(
                F.scaled_dot_product_attention(*leaves, is_causal=is_causal(problem)),
                leaves,
                tensors["do"],
            ),
            "memory of its own": lambda: kernel.backward(*whole),
            "memory kept": lambda: kept.backward(*whole),
        }
        record[problem.name] = device_time(calls)
    return {"milliseconds": record}
