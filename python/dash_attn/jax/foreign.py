"""cuDNN's forward pass, which takes the place of dash's by name. Its functions are JAX's own, which
JAX may move: they are imported where a call names it."""

from __future__ import annotations

from typing import Any

import jax

from ..kernel.problem import CUDNN, FULL, PACKED, Window, refusal_of_rectangle
from .operator import Call
from .sinks import with_sink

APART_SINCE = 91000  # of cuDNN: JAX takes a v of its own head dim from there on


def refusal_of_foreign(
    q: Any, k: Any, v: Any, window: Window, layout: str, is_used: bool
) -> str | None:
    """Why it does not serve what kernels would. is_used: whether sequences use some rows alone."""
    if is_used:
        return (
            f'seqused: expected None beside forward="{CUDNN}", found numbers of rows: it takes all'
            f' rows; leave out forward="{CUDNN}"'
        )
    if layout == PACKED:
        return (
            f'cu_seqlens: expected None beside forward="{CUDNN}", found offsets of sequences: it'
            f' takes batches alone; leave out forward="{CUDNN}"'
        )
    if v.shape[3] != q.shape[3] and (found := _version()) < APART_SINCE:
        return (
            f"v: expected the head dim of q and k, {q.shape[3]}, found {v.shape[3]}: cuDNN"
            f" {_spelled(found)} has one head dim for all, cuDNN {_spelled(APART_SINCE)} has two;"
            f' leave out forward="{CUDNN}"'
        )
    if window == FULL:
        return None
    if window[1] != 0:
        return (
            f"window: expected a right side of 0, or neither side, found {window}: cuDNN's forward"
            f' pass has no other windows; leave out forward="{CUDNN}"'
        )
    return refusal_of_rectangle(q.shape, k.shape, layout, "cuDNN's")


def foreign_forward(call: Call, q: Any, k: Any, v: Any, *sink: Any) -> tuple[Any, Any]:
    """o and the LSE; the share of a sink is removed from an o that is rounded."""
    o, lse = by_cudnn(call, q, k, v)
    return with_sink(o, lse, *sink, call.layout) if call.has_sink else (o, lse)


def by_cudnn(call: Call, q: Any, k: Any, v: Any) -> tuple[Any, Any]:
    """Without a sink. Not by `jax.nn.dot_product_attention`, which computes the same, but rounds
    the LSE to the type of o."""
    cudnn = _functions()
    left, right = call.window
    return cudnn.dot_product_attention(
        q,
        k,
        v,
        scale=call.scale,
        mask_type=cudnn.MaskType.CAUSAL if right == 0 else cudnn.MaskType.NO_MASK,
        qkv_layout="BNTH" if call.layout == "bhsd" else "BTNH",
        sliding_window_length=left + 1 if left >= 0 else None,
        return_residual=True,
    )


def operator_of_forward(has_sink: bool) -> str:
    """By what `foreign_forward` computes, for people."""
    return f"cuDNN's, by XLA, JAX {jax.__version__}" + ", and the part of the sink" * has_sink


def _functions() -> Any:
    from jax._src.cudnn import fused_attention_stablehlo

    return fused_attention_stablehlo


def _version() -> int:
    """As cuDNN spells it; of a machine without one, of which `refusal_of_device` says so, the one
    that is needed."""
    try:
        return _functions().check_cudnn_version()
    except RuntimeError:
        return APART_SINCE


def _spelled(version: int) -> str:
    return f"{version // 10000}.{version // 100 % 100}.{version % 100}"
