"""PyTorch's operators that compute gradients of attention on CUDA, as it declares them. Each
function gives dash's gradients, or the reason why the operator's own kernel has to."""

from __future__ import annotations

from typing import Any

from ..kernel.problem import window_of
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
from .operator import launch, launch_any
from .problem import Lengths, refusal_of_foreign

FLASH, SDPA_FLASH, SDPA_CUDNN, CUDNN, EFFICIENT = (
    "_flash_attention_backward",
    "_scaled_dot_product_flash_attention_backward",
    "_scaled_dot_product_cudnn_attention_backward",
    "_cudnn_attention_backward",  # of newer versions
    "_efficient_attention_backward",
)
# Those that need no override: one only calls EFFICIENT, the other has no kernel on CUDA unless one
# is registered.
SDPA_EFFICIENT, OVERRIDEABLE = (
    "_scaled_dot_product_efficient_attention_backward",
    "_scaled_dot_product_fused_attention_overrideable_backward",
)
# whose own kernels have a deterministic form
DETERMINISTIC = {
    FLASH: "FlashAttention's",
    SDPA_FLASH: "FlashAttention's",
    EFFICIENT: "memory-efficient attention's",
}
OF_CUDNN = "expected packed sequences of FlashAttention, found cuDNN's"


def flash(
    do: Any,
    q: Any,
    k: Any,
    v: Any,
    o: Any,
    lse: Any,
    cum_q: Any,
    cum_k: Any,
    max_q: Any,
    max_k: Any,
    dropout: float,
    causal: bool,
    seed: Any,
    unused: Any,
    *,
    scale: float | None = None,
    window_size_left: int | None = None,
    window_size_right: int | None = None,
) -> Any:
    window = window_of(causal, sides(window_size_left, window_size_right))
    if has_offsets(cum_q):
        given = (do, q, k, v, o, lse, *window, number(scale, q), cum_q, cum_k)
        return refusal(q, k, v, dropout, lengths=Lengths(cum_q, cum_k)) or attempt(
            launch_list, *given
        )
    return refusal(q, k, v, dropout, "bshd") or attempt(
        launch, do, q, k, v, o, lse, *window, number(scale, q), "bshd"
    )


def sdpa_flash(
    do: Any,
    q: Any,
    k: Any,
    v: Any,
    o: Any,
    lse: Any,
    cum_q: Any,
    cum_k: Any,
    max_q: Any,
    max_k: Any,
    dropout: float,
    causal: bool,
    seed: Any,
    offset: Any,
    *,
    scale: float | None = None,
) -> Any:
    given = (do, q, k, v, o, lse, *window_of(causal, None), number(scale, q))
    return refusal_of_offsets(cum_q) or refusal(q, k, v, dropout) or attempt(launch, *given)


def sdpa_cudnn(
    do: Any,
    q: Any,
    k: Any,
    v: Any,
    o: Any,
    lse: Any,
    seed: Any,
    offset: Any,
    bias: Any,
    cum_q: Any,
    cum_k: Any,
    max_q: Any,
    max_k: Any,
    dropout: float,
    causal: bool,
    *,
    scale: float | None = None,
) -> Any:
    window = window_of(causal, None)
    return (
        refusal_of_offsets(cum_q)
        or refusal_of_bias(bias)
        or refusal(q, k, v, dropout)
        or refusal_of_foreign(q, k, window)
        or attempt(launch, do, q, k, v, o, lse, *window, number(scale, q))
    )


def efficient(
    do: Any,
    q: Any,
    k: Any,
    v: Any,
    bias: Any,
    o: Any,
    cum_q: Any,
    cum_k: Any,
    max_q: Any,
    max_k: Any,
    lse: Any,
    dropout: float,
    seed: Any,
    offset: Any,
    mask: int,
    bias_has_gradient: bool,
    *,
    scale: float | None = None,
    num_splits_key: int | None = None,
    window_size: int | None = None,
    shared_storage_dqdkdv: bool = False,
) -> Any:
    window = window_of(mask != 0, None)
    found = (
        refusal_of_offsets(cum_q)
        or refusal_of_bias(bias)
        or refusal(q, k, v, dropout, "bshd")
        or refusal_of_foreign(q, k, window, "bshd")
        or refusal_of_window(window_size)
        or _refusal_of_storage(shared_storage_dqdkdv)
    )
    if found is None:
        of_rows = lse[..., : q.shape[1]]  # more of it is padding
        found = attempt(launch, do, q, k, v, o, of_rows, *window, number(scale, q), "bshd")
    return found if isinstance(found, str) else (*(x.contiguous() for x in found), None)


def cudnn(*arguments: Any, **options: Any) -> str:
    return OF_CUDNN


OPERATORS = {
    FLASH: flash,
    SDPA_FLASH: sdpa_flash,
    SDPA_CUDNN: sdpa_cudnn,
    CUDNN: cudnn,
    EFFICIENT: efficient,
}


def launch_list(*given: Any) -> tuple[Any, ...]:
    """dq, dk and dv of packed sequences, whose offsets come last."""
    return launch_any(*given[:9], cu_q=given[9], cu_k=given[10])[:3]


def _refusal_of_storage(is_shared: bool) -> str | None:
    return (
        "expected dq, dk and dv by themselves, found memory that they share" if is_shared else None
    )
