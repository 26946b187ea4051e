"""The operator dash::attention_forward_unrounded: o, the LSE, and o in float32 as it is before it
is rounded, which the backward pass takes in place of o."""

from __future__ import annotations

from typing import Any

import torch

from ..kernel.problem import PACKED, demand, refusal_of_scale
from ..kernel.unrounded import ROUNDED, UNROUNDED
from . import pieces
from .forward import SINK, outputs
from .operator import fold, unfold
from .registry import SPACE, define, implement

NAME = f"{SPACE}::attention_forward_unrounded"
define(
    NAME,
    "(Tensor q, Tensor k, Tensor v, int left, int right, float scale, float softcap=0.,"
    ' Tensor? sink=None, Tensor? cu_seqlens_q=None, Tensor? cu_seqlens_k=None, str rules="")'
    " -> (Tensor, Tensor, Tensor)",
)
UNDER_TRANSFORMS = (
    f"delta: expected '{ROUNDED}' under a transform of torch.func, found '{UNROUNDED}': what a"
    " transform keeps for the backward pass are inputs and outputs, which the unrounded o is not"
)


def launch_unrounded(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    left: int,
    right: int,
    scale: float,
    softcap: float = 0.0,
    sink: torch.Tensor | None = None,
    cu_q: torch.Tensor | None = None,
    cu_k: torch.Tensor | None = None,
    rules: str = "",
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """What the operator does, on the current stream. Arguments are those of `launch_forward`; in
    rows outside of all packed sequences the unrounded o is 0, too."""
    if not scale > 0:
        demand(refusal_of_scale(scale))
    o, lse, unrounded = found = _outputs(q, k, v, cu_q)
    tensors = {"q": q, "k": k, "v": v, "o": o, "lse": lse, "sink": sink, "unrounded": unrounded}
    layout = "bhsd"
    if cu_q is not None:
        layout = PACKED
        tensors |= {"cu_seqlens_q": cu_q, "cu_seqlens_kv": cu_q if cu_k is None else cu_k}
    pieces.forward(
        (left, right), layout, scale, softcap, 0, rules, clears_rows=cu_q is not None, **tensors
    )
    return found


def _outputs(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, cu_q: torch.Tensor | None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    o, lse = outputs(q, k, v, cu_q)
    return o, lse, torch.empty_like(o, dtype=torch.float32)


implement(NAME, "CUDA")(launch_unrounded)


@implement(NAME, "fake")
def _fake(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    left: Any,
    right: Any,
    scale: Any,
    softcap: Any = 0.0,
    sink: Any = None,
    cu_q: Any = None,
    *_: Any,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return _outputs(q, k, v, cu_q)


@implement(NAME, "vmap")
def of_batches(info: Any, in_dims: tuple[Any, ...], *arguments: Any) -> Any:
    """vmap's dimension becomes part of the batch."""
    found = unrounded_operator(*fold(info.batch_size, in_dims, arguments, SINK))
    return unfold(info.batch_size, found), (0, 0, 0)


unrounded_operator = getattr(torch.ops, SPACE).attention_forward_unrounded.default
