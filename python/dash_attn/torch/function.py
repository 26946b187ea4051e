"""`attention`: cuDNN's forward pass, dash's backward."""

from __future__ import annotations

from typing import Any

import torch

from .operator import fold, gradients, unfold
from .problem import demand, refusal_of_device, refusal_of_forward, refusal_of_options, refusal_of_tensors


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *, causal: bool = False, window: tuple[int, int] | None = None,
              scale: float | None = None, cu_seqlens_q: torch.Tensor | None = None, cu_seqlens_k: torch.Tensor | None = None,
              level: str = "run", layout: str = "bhsd", return_lse: bool = False) -> Any:
    """softmax(scale * q k^T) v, with gradients that are the same bits on every run.

    q: [batch, heads, rows, head_dim]; k, v: [batch, kv_heads, kv_rows, head_dim], where kv_heads divides heads; bfloat16 or float16,
    head_dim 64 or 128; layout "bshd" takes and gives [batch, rows, heads, head_dim]. scale: head_dim^-0.5 if None. return_lse: also
    gives the natural logarithms of the sums, [batch, heads, rows] of float32, through which no gradients go. Under autocast,
    float32 is cast as for PyTorch's own attention.

    Raises ArgumentError for what is not served, and says what to do instead; `dash_attn.explain` says it without raising. The bits
    are those of `explain(...).certificate` and of the cuDNN that is installed.
    """
    demand(refusal_of_options(causal, window, scale, (cu_seqlens_q, cu_seqlens_k), level, layout))
    q, k, v = _autocast(q, k, v)
    demand(refusal_of_tensors(q, k, v, layout) or refusal_of_forward(q, k, causal, layout))
    demand(refusal_of_device(q.device.index))
    if layout == "bshd":
        q, k, v = (tensor.transpose(1, 2) for tensor in (q, k, v))
    function = Transformed if torch._C._are_functorch_transforms_active() else Attention
    o, lse = function.apply(q, k, v, causal, q.shape[3] ** -0.5 if scale is None else scale)
    if layout == "bshd":
        o = o.transpose(1, 2)
    return (o, lse.detach()) if return_lse else o


def forward(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool, scale: float) -> tuple[torch.Tensor, torch.Tensor]:
    """o and the LSE, by the fastest forward pass of PyTorch that is repeatable."""
    o, lse, *_ = torch.ops.aten._scaled_dot_product_cudnn_attention(q, k, v, None, True, 0.0, causal, False, scale=scale)
    return o, lse.reshape(q.shape[:3])


class Attention(torch.autograd.Function):
    """Outside of the operator, and in the form that PyTorch's transforms do not take: that is what costs least on the host."""

    @staticmethod
    def forward(ctx: Any, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool, scale: float) -> tuple[torch.Tensor, ...]:
        found = forward(q, k, v, causal, scale)
        _save(ctx, (q, k, v, causal, scale), found)
        return found

    @staticmethod
    def backward(ctx: Any, do: torch.Tensor, _: Any) -> tuple[Any, ...]:
        q, k, v, o, lse = ctx.saved_tensors
        compute = Gradients.apply if torch.is_grad_enabled() else gradients
        return *compute(do, q, k, v, o, lse, ctx.causal, ctx.scale), None, None


class Transformed(torch.autograd.Function):
    """The same under torch.func and vmap."""

    forward = staticmethod(forward)
    backward = Attention.backward

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[torch.Tensor, ...]) -> None:
        _save(ctx, inputs, output)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool, scale: float) -> Any:
        folded = fold(info.batch_size, in_dims[:3], (q, k, v))
        return unfold(info.batch_size, Transformed.apply(*folded, causal, scale)), (0, 0)


def _save(ctx: Any, inputs: tuple[Any, ...], output: tuple[torch.Tensor, ...]) -> None:
    *tensors, ctx.causal, ctx.scale = inputs
    ctx.save_for_backward(*tensors, *output)
    ctx.mark_non_differentiable(output[1])


class Gradients(torch.autograd.Function):
    """Where a graph of the backward pass is made: who goes back through it is told that there is nothing."""

    @staticmethod
    def forward(*arguments: Any) -> tuple[torch.Tensor, ...]:
        return gradients(*arguments)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *_: Any) -> Any:
        raise RuntimeError("dash_attn.attention has first derivatives only; for second ones take PyTorch's SDPBackend.MATH")

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *arguments: Any) -> Any:
        folded = fold(info.batch_size, in_dims[:6], arguments[:6])
        return unfold(info.batch_size, Gradients.apply(*folded, *arguments[6:])), (0, 0, 0)


def _autocast(*tensors: Any) -> tuple[Any, ...]:
    """As autocast treats PyTorch's own attention."""
    if not isinstance(tensors[0], torch.Tensor) or not torch.is_autocast_enabled(tensors[0].device.type):
        return tensors
    dtype = torch.get_autocast_dtype(tensors[0].device.type)
    return tuple(tensor.to(dtype) if isinstance(tensor, torch.Tensor) and tensor.is_floating_point() else tensor for tensor in tensors)
