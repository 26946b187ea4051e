"""The operator dash::attention_backward: what PyTorch knows of it, for eager calls, compiled programs and vmap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from .kernels import kernel_for
from .problem import is_steppable

NAME = "dash::attention_backward"
torch.library.define(NAME, "(Tensor do, Tensor q, Tensor k, Tensor v, Tensor o, Tensor lse, bool causal, float scale) "
                           "-> (Tensor, Tensor, Tensor)", tags=torch.Tag.pt2_compliant_tag)


def launch(do: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, o: torch.Tensor, lse: torch.Tensor, causal: bool,
           scale: float, layout: str = "bhsd") -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """dq, dk and dv on the current stream. Raises ArgumentError before anything is written."""
    if not is_steppable(do):  # expanded, as that of a sum is, or transposed: nobody chose that
        do = do.contiguous()
    dq, dk, dv = _like(q, k, v)
    kernel_for(q.shape[3], q.dtype, causal).backward(q, k, v, do, o, lse, dq, dk, dv, scale=scale, layout=layout,
                                                     stream=torch._C._cuda_getCurrentRawStream(q.device.index))
    return dq, dk, dv


torch.library.impl(NAME, "CUDA", launch)


@torch.library.register_fake(NAME)
def _fake(do: Any, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *_: Any) -> tuple[torch.Tensor, ...]:
    return _like(q, k, v)


@torch.library.register_vmap(NAME)
def _vmap(info: Any, in_dims: tuple[Any, ...], *arguments: Any) -> Any:
    folded = fold(info.batch_size, in_dims[:6], arguments[:6])
    return unfold(info.batch_size, gradients(*folded, *arguments[6:])), (0, 0, 0)


gradients = torch.ops.dash.attention_backward.default


def fold(count: int, dims: Sequence[int | None], tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """vmap's dimension becomes part of the batch."""
    whole = [tensor.expand(count, *tensor.shape) if dim is None else tensor.movedim(dim, 0) for dim, tensor in zip(dims, tensors)]
    return [tensor.reshape(-1, *tensor.shape[2:]) for tensor in whole]


def unfold(count: int, tensors: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    return tuple(tensor.unflatten(0, (count, -1)) for tensor in tensors)


def _like(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return tuple(torch.empty_like(tensor) for tensor in tensors)
