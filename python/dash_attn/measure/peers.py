"""Kernels of a bundle beside PyTorch's backward passes: problems, their tensors, what runs, and
means over problems."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from ..errors import ManifestError
from ..kernel.runtime import Kernel
from ..reference import CAUSAL, FULL, Mask
from .bundle import Bundle, BundledKernel
from .report import problem_of
from .testing import OUTPUTS, Case, allocate, demand_own_attention, flash_arguments, sizes_of
from .timing import Variant

TOKENS, HIDDEN = 16384, 2048
# the fixed order that is best on a mask, on most lengths
BEST_FIXED = {"full": "shift", "causal": "symmetric-shift"}
PEERS = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION}
BASELINES = Path(__file__).with_name("baselines.json")


def problems(lengths: list[int], head_dims: list[int], masks: list[str]) -> list[Case]:
    return [
        Case(
            head_dim,
            Mask.named(mask),
            rows,
            rows,
            TOKENS // rows,
            HIDDEN // head_dim,
            HIDDEN // head_dim,
        )
        for head_dim in head_dims
        for mask in masks
        for rows in lengths
    ]


def kernels_of(bundle: Bundle, case: Case) -> list[BundledKernel]:
    """Those that serve the problem: one of each kind, in one part."""
    return [
        bundled
        for bundled in bundle.kernels
        if bundled.head_dim == case.head_dim
        and bundled.mask == case.mask
        and bundled.element == case.element
        and bundled.parts == 1
        and bundled.serves(sizes_of(case))
    ]


def best_fixed(bundle: Bundle, case: Case) -> BundledKernel:
    """That of the fixed order that is best on its mask. Raises ManifestError if the bundle lacks
    it."""
    for bundled in kernels_of(bundle, case):
        if bundled.kind == BEST_FIXED.get(case.mask.name):
            return bundled
    kinds = ", ".join(f"{mask}: {kind}" for mask, kind in BEST_FIXED.items())
    raise ManifestError(
        f"{bundle.path}: expected a kernel for {case.name} of the fixed kind that is best on its"
        f" mask ({kinds}), found none"
    )


def make_tensors(
    case: Case,
    backends: dict[str, SDPBackend] = PEERS,
) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    """Random inputs, o and LSE of PyTorch's forward, and for each peer that serves the case its
    o."""
    demand_own_attention()
    torch.manual_seed(case.seed)
    tensors = allocate(case, ("q", "k", "v", "do", *OUTPUTS), "cuda")
    for name in ("q", "k", "v", "do"):
        tensors[name].normal_()
    q, k, v = (tensors[name].requires_grad_() for name in ("q", "k", "v"))
    # It takes no windows, and aligns causal masks at the top left.
    is_theirs = case.mask == FULL or case.mask == CAUSAL and case.q_rows == case.kv_rows
    peers = {}
    for name, backend in backends.items() if is_theirs else ():
        try:
            with sdpa_kernel(backend):
                peers[name] = F.scaled_dot_product_attention(
                    q, k, v, is_causal=case.mask == CAUSAL, enable_gqa=case.heads != case.kv_heads
                )
            torch.autograd.grad(peers[name], (q, k, v), tensors["do"], retain_graph=True)
        except RuntimeError as error:
            print(f"  {name}: {str(error).splitlines()[0]}")
            peers.pop(name, None)
    inputs = [tensors[name].detach().transpose(1, 2) for name in ("q", "k", "v")]
    rest, options = flash_arguments(case)
    o, lse = torch.ops.aten._flash_attention_forward(*inputs, *rest, False, **options)[:2]
    return tensors | {"o": o.transpose(1, 2), "lse": lse.contiguous()}, peers


def make_variants(case: Case, kernels: list[tuple[BundledKernel, Kernel]]) -> list[Variant]:
    tensors, peers = make_tensors(case)
    inputs = tuple(tensors[name] for name in ("q", "k", "v"))
    detached = {name: tensor.detach() for name, tensor in tensors.items()}
    variants = []
    for bundled, kernel in kernels:
        launch = kernel.bind(**detached, scale=case.scale)
        name = bundled.kind + ("" if bundled.is_deterministic else " (nd)")
        variants.append(Variant(name, launch.run, launch=launch))
    for name, o in peers.items():
        variants.append(
            Variant(
                f"{name} (nd)",
                lambda o=o: torch.autograd.grad(o, inputs, detached["do"], retain_graph=True),
            )
        )
    if not peers:
        variants.append(Variant("flash (nd)", flash_of(case, detached)))
    return variants


def flash_of(case: Case, tensors: dict[str, torch.Tensor]) -> Callable[[], Any]:
    """FlashAttention-2's backward by its operator, which knows windows."""
    rest, options = flash_arguments(case)
    q, k, v, do, o = (tensors[name].transpose(1, 2) for name in ("q", "k", "v", "do", "o"))
    made = torch.ops.aten._flash_attention_forward(q, k, v, *rest, False, **options)
    return partial(
        torch.ops.aten._flash_attention_backward,
        do,
        q,
        k,
        v,
        o,
        tensors["lse"],
        *rest,
        made[2],
        made[3],
        **options,
    )


def geometric_means(
    results: list[dict[str, Any]], baselines: dict[str, Any]
) -> dict[str, dict[str, float]]:
    """For each variant: mean ratio to each column of the baselines, and to cuDNN in this
    process, over the problems it ran."""
    cudnn = {
        problem_of(result): result["tflops"]
        for result in results
        if result["variant"].startswith("cudnn")
    }
    known = {(row["head_dim"], row["mask"], row["rows"]): row for row in baselines["rows"]}
    columns = [
        column for column in baselines["rows"][0] if column not in ("head_dim", "mask", "rows")
    ]
    means: dict[str, dict[str, float]] = {}
    for variant in dict.fromkeys(result["variant"] for result in results):
        mine = [
            (result["tflops"], known.get((result["head_dim"], result["mask"], result["rows"])))
            for result in results
            if result["variant"] == variant
        ]
        pairs = [(tflops, row) for tflops, row in mine if row]
        if pairs:
            means[variant] = {
                column: math.exp(
                    statistics.fmean(math.log(tflops / row[column]) for tflops, row in pairs)
                )
                for column in columns
            } | {"problems": len(pairs)}
            here = [
                math.log(result["tflops"] / cudnn[problem_of(result)])
                for result in results
                if result["variant"] == variant and problem_of(result) in cudnn
            ]
            if here:
                means[variant]["cudnn_here"] = math.exp(statistics.fmean(here))
    return means
