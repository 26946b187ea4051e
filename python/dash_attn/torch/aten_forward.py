"""PyTorch's operators that compute attention on CUDA, as it declares them. Each function gives what
the operator does, by dash's forward, or the reason why the operator's own kernel has to.

Shapes, strides, types and the LSE are those of the operator's own kernel, so its own backward may
follow, too: gradients may be computed where nothing is replaced any more, and a program that
PyTorch has compiled relies on its meta functions. What gradients are refused for is refused here,
too, but for orders with too many tasks, of which no forward knows. Nothing seeds a dropout that
there is not, so seeds are memory that is not written, as PyTorch's are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import torch

from ..kernel.problem import Window, refusal_of_scale, window_of
from .aten_backward import OF_CUDNN
from .aten_calls import (
    attempt,
    has_offsets,
    number,
    refusal,
    refusal_of_bias,
    refusal_of_offsets,
    refusal_of_window,
    sides,
)
from .forward import launch_forward
from .problem import Lengths, refusal_of_foreign

FLASH, SDPA_FLASH, SDPA_CUDNN, CUDNN, EFFICIENT = (
    "_flash_attention_forward",
    "_scaled_dot_product_flash_attention",
    "_scaled_dot_product_cudnn_attention",
    "_cudnn_attention_forward",  # of newer versions, as is the next
    "_efficient_attention_forward",
)
FLASH_IN_PLACE = "_flash_attention_forward_no_dropout_inplace"
WHOSE = {
    FLASH: "FlashAttention's",
    FLASH_IN_PLACE: "FlashAttention's",
    SDPA_FLASH: "FlashAttention's",
    SDPA_CUDNN: "cuDNN's",
    CUDNN: "cuDNN's",
    EFFICIENT: "memory-efficient attention's",
}
is_capturing = torch.cuda.is_current_stream_capturing
PADDED_LSE = 32  # rows, of which memory-efficient attention's has a multiple


def flash(
    q: Any,
    k: Any,
    v: Any,
    cum_q: Any,
    cum_k: Any,
    max_q: Any,
    max_k: Any,
    dropout: float,
    causal: bool,
    debug: bool,
    *,
    scale: float | None = None,
    window_size_left: int | None = None,
    window_size_right: int | None = None,
    **others: Any,
) -> Any:
    window = window_of(causal, sides(window_size_left, window_size_right))
    found = _by_flash(q, k, v, dropout, debug, scale, window, cum_q, cum_k, others)
    return found if isinstance(found, str) else (*found, *_unseeded(q), _no_debug_mask(q))


def flash_in_place(
    out: Any,
    q: Any,
    k: Any,
    v: Any,
    cum_q: Any,
    cum_k: Any,
    max_q: Any,
    max_k: Any,
    dropout: float,
    causal: bool,
    debug: bool,
    *,
    scale: float | None = None,
    window_size_left: int | None = None,
    window_size_right: int | None = None,
    **others: Any,
) -> Any:
    window = window_of(causal, sides(window_size_left, window_size_right))
    found = _by_flash(q, k, v, dropout, debug, scale, window, cum_q, cum_k, others, out)
    return found if isinstance(found, str) else found[1]


def sdpa_flash(
    q: Any,
    k: Any,
    v: Any,
    dropout: float = 0.0,
    causal: bool = False,
    debug: bool = False,
    *,
    scale: float | None = None,
) -> Any:
    found = _by_flash(q, k, v, dropout, debug, scale, window_of(causal, None), layout="bhsd")
    if isinstance(found, str):
        return found
    return (*found, None, None, q.shape[2], k.shape[2], *_unseeded(q), _no_debug_mask(q))


def _by_flash(
    q: Any,
    k: Any,
    v: Any,
    dropout: float,
    debug: bool,
    scale: float | None,
    window: Window,
    cum_q: Any = None,
    cum_k: Any = None,
    others: Mapping[str, Any] = MappingProxyType({}),
    out: Any = None,
    layout: str = "bshd",
) -> Any:
    """o and the LSE of a batch, or of packed sequences, [rows, heads, head_dim]. others: what newer
    versions of the operator take; a number of splits means nothing to a forward without any."""
    is_list = has_offsets(cum_q)
    reason = (
        _refusal_of_debug(debug)
        or _refusal_of_others(others)
        or _refusal_of_one(cum_q, cum_k)
        or refusal(q, k, v, dropout, layout, Lengths(cum_q, cum_k) if is_list else None, window)
        or _refusal_of_scale(scale)
        or _refusal_of_out(out, q, v)
    )
    if reason is not None:
        return reason
    if not is_list:
        return _of_batch(q, k, v, scale, window, room_for(q, v) if out is None else out, layout)
    o = room_for(q, v) if out is None else out
    given = (q, k, v, *window, number(scale, q))
    lists = {"cu_q": cum_q, "cu_k": cum_k, "clears_rows": out is None}
    found = attempt(launch_forward, *given, **lists, out=o)
    return found if isinstance(found, str) else (o, _as_flash_has_it(found[1]))


def _of_batch(
    q: Any, k: Any, v: Any, scale: float | None, window: Window, o: Any, layout: str = "bshd"
) -> Any:
    """o and the LSE, [batch, heads, rows]."""
    given = (q, k, v, o)
    if layout != "bhsd":
        given = tuple(x.transpose(1, 2) for x in given)
    found = attempt(launch_forward, *given[:3], *window, number(scale, q), out=given[3])
    if isinstance(found, str):
        return found
    rows = given[0].shape[2] - given[1].shape[2]  # of q, before all that see something
    return o, (_as_flash_has_it(found[1]) if 0 <= window[1] < rows else found[1])


def sdpa_cudnn(
    q: Any,
    k: Any,
    v: Any,
    bias: Any,
    with_lse: bool,
    dropout: float = 0.0,
    causal: bool = False,
    debug: bool = False,
    *,
    scale: float | None = None,
) -> Any:
    window = window_of(causal, None)
    reason = (
        refusal_of_bias(bias)
        or _refusal_of_debug(debug)
        or refusal(q, k, v, dropout)
        or refusal_of_foreign(q, k, window)
        or _refusal_of_scale(scale)
    )
    if reason is not None:
        return reason
    found = _of_batch(q, k, v, scale, window, room_for(q, v), "bhsd")
    if isinstance(found, str):
        return found
    seeds = (q.new_empty((), dtype=torch.int64) for _ in range(2))
    return (found[0], found[1][..., None], None, None, q.shape[2], k.shape[2], *seeds, None)


def cudnn(*arguments: Any, **options: Any) -> str:
    return OF_CUDNN


def efficient(
    q: Any,
    k: Any,
    v: Any,
    bias: Any,
    cum_q: Any,
    cum_k: Any,
    max_q: Any,
    max_k: Any,
    dropout: float,
    mask: int,
    with_lse: bool = False,
    *,
    scale: float | None = None,
    seqlen_k: Any = None,
    window_size: int | None = None,
) -> Any:
    window = window_of(mask != 0, None)
    reason = (
        refusal_of_offsets(cum_q)
        or refusal_of_bias(bias)
        or _refusal_of_others({"seqlen_k": seqlen_k})
        or refusal(q, k, v, dropout, "bshd")
        or refusal_of_foreign(q, k, window, "bshd")
        or refusal_of_window(window_size)
        or _refusal_of_scale(scale)
    )
    if reason is not None:
        return reason
    found = _of_batch(q, k, v, scale, window, q.new_empty((*q.shape[:3], v.shape[3])))
    if isinstance(found, str):
        return found
    o, lse = found
    lse = _padded(lse) if with_lse else lse.new_empty((*lse.shape[:2], 0))
    # on the host, as PyTorch has them, but for a graph
    device = q.device if is_capturing() else "cpu"
    seeds = (torch.empty((), dtype=torch.int64, device=device) for _ in range(2))
    return (o, lse, *seeds, q.shape[1], k.shape[1])


OPERATORS = {
    FLASH: flash,
    FLASH_IN_PLACE: flash_in_place,
    SDPA_FLASH: sdpa_flash,
    SDPA_CUDNN: sdpa_cudnn,
    CUDNN: cudnn,
    EFFICIENT: efficient,
}


def room_for(q: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Memory for o, with q's order of dimensions and the head dim of v, as PyTorch makes it."""
    columns = v.shape[-1]
    if columns == q.shape[-1]:
        return torch.empty_like(q)
    strides, step = [0] * q.dim(), 1
    for dim in sorted(range(q.dim()), key=lambda dim: q.stride(dim) or math.inf):
        strides[dim] = step
        step *= columns if dim == q.dim() - 1 else q.shape[dim]
    return q.new_empty_strided((*q.shape[:-1], columns), strides)


def _as_flash_has_it(lse: torch.Tensor) -> torch.Tensor:
    """Rows that see nothing have an infinite sum in FlashAttention, whose backward relies on it."""
    return lse.nan_to_num_(nan=math.nan, posinf=math.inf, neginf=math.inf)


def _padded(lse: torch.Tensor) -> torch.Tensor:
    """Filled up to a multiple of rows, with infinite ones."""
    more = -lse.shape[-1] % PADDED_LSE
    return torch.nn.functional.pad(lse, (0, more), value=math.inf) if more else lse


def _unseeded(q: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """What FlashAttention's operators give for the seed of a dropout, and beside it."""
    return q.new_empty(2, dtype=torch.uint64), q.new_empty((), dtype=torch.uint64)


def _no_debug_mask(q: torch.Tensor) -> torch.Tensor:
    return q.new_empty(0)


def _refusal_of_debug(debug: bool) -> str | None:
    return (
        "expected no mask of a dropout to be returned, found return_debug_mask" if debug else None
    )


def _refusal_of_scale(scale: float | None) -> str | None:
    """The backward takes any."""
    if scale is None or 0 < scale < math.inf:
        return None
    return refusal_of_scale(scale) or f"scale: expected a finite number, found {scale}"


def _refusal_of_others(others: dict[str, Any]) -> str | None:
    for name, value in others.items():
        if value is not None and name != "num_splits":
            return f"expected no {name}, found one"
    return None


def _refusal_of_one(cum_q: Any, cum_k: Any) -> str | None:
    if has_offsets(cum_q) == has_offsets(cum_k):
        return None
    return "expected offsets of q and of k, or none, found those of one"


def _refusal_of_out(out: Any, q: Any, v: Any) -> str | None:
    if out is None or out.shape == (*q.shape[:-1], v.shape[-1]) and out.dtype == q.dtype:
        return None
    return f"expected out as q with the head dim of v, found {out.dtype} of {tuple(out.shape)}"
