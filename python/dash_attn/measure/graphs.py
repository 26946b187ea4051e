"""Backward passes alone, replayed out of CUDA graphs: what dash_attn.bench --backward measures.

A graph has what a backward pass launches, from its first kernel to its last, and nothing of the
host: problems of a few microseconds are compared as a captured training step runs them. The
forward pass ran before, and its results stay.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import torch

from ..reference import CAUSAL, FULL
from .calls import Runs, deterministic, functions, inputs_of, why
from .testing import Case

# Few heads: head dim, query heads, kv heads, rows; both masks.
FEW = (
    (128, 8, 1, 2048),
    (128, 8, 1, 8192),
    (128, 8, 1, 32768),
    (128, 16, 2, 4096),
    (128, 2, 2, 16384),
)
EQUAL_HEADS, TILE = 16, 64
# Short problems: query heads, kv heads; rows.
SHORT_HEADS, SHORT_ROWS = ((2, 2), (8, 8), (32, 8)), (128, 512, 1024, 2048)
FEW_ROWS = (1, 16, 64)  # of q, beside 4096 of k


def shapes() -> dict[str, Case]:
    """Few heads, each beside 16 equal ones of the same work; then short problems. One sequence
    each."""
    found: dict[str, Case] = {}
    for head_dim, heads, kv_heads, rows in FEW:
        for mask in (CAUSAL, FULL):
            found[f"{heads}/{kv_heads} heads, {rows} {mask.name}"] = Case(
                head_dim, mask, rows, rows, 1, heads, kv_heads
            )
            equal = round(rows * math.sqrt(heads / EQUAL_HEADS) / TILE) * TILE
            if heads != EQUAL_HEADS or kv_heads != EQUAL_HEADS:
                found[
                    f"as many operations: {EQUAL_HEADS}/{EQUAL_HEADS} heads, {equal} {mask.name}"
                ] = Case(head_dim, mask, equal, equal, 1, EQUAL_HEADS, EQUAL_HEADS)
    for head_dim in (128, 64):
        for mask in (CAUSAL, FULL):
            for heads, kv_heads in SHORT_HEADS:
                for rows in SHORT_ROWS:
                    found[f"short: {heads}/{kv_heads} heads of {head_dim}, {rows} {mask.name}"] = (
                        Case(head_dim, mask, rows, rows, 1, heads, kv_heads)
                    )
    found["short: ViT, 577"] = Case(64, FULL, 577, 577, 1, 16, 16)
    for rows in FEW_ROWS:
        found[f"short: 32/8 heads of 128, {rows} x 4096 full"] = Case(
            128, FULL, rows, 4096, 1, 32, 8
        )
    return found


def replays_of(case: Case) -> Runs:
    """What replays a backward pass, and why others refuse."""
    leaves, do = inputs_of(case, "cuda")
    runs, refused = {}, {}
    for name, function in functions(case.mask == CAUSAL).items():
        try:
            with warnings.catch_warnings(), deterministic(name):
                warnings.simplefilter("ignore")
                runs[name] = replay(function, leaves, do)
        except (RuntimeError, ValueError, TypeError) as error:
            refused[name] = why(error)
    return runs, refused


def replay(
    function: Callable[..., torch.Tensor], leaves: list[torch.Tensor], do: torch.Tensor
) -> Callable[[], None]:
    """Autograd runs a backward pass on the stream of its forward pass, so that runs on the one
    that is captured."""
    stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        o = function(*leaves)
        # what happens once does not belong into a graph
        torch.autograd.grad(o, leaves, do, retain_graph=True)
    torch.cuda.synchronize()
    with torch.cuda.graph(graph, stream=stream):
        gradients = torch.autograd.grad(o, leaves, do, retain_graph=True)

    def run(kept: Any = (o, gradients)) -> None:
        graph.replay()

    return run
