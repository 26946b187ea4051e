"""PyTorch's own kernels of attention on the CPU, by their operators' schemas: those that the
drop-in replaces. They compute in float64, know no dropout and no bias, and note in FORWARDS and
LAUNCHED that they were there."""

from __future__ import annotations

from typing import Any

import torch
from on_cpu import FORWARDS, LIBRARY, flash_of_lists, gradients

from dash_attn import reference
from dash_attn.kernel.problem import window_of
from dash_attn.reference import Mask
from dash_attn.torch import aten_backward
from dash_attn.torch.aten_forward import (
    CUDNN,
    EFFICIENT,
    FLASH,
    FLASH_IN_PLACE,
    SDPA_CUDNN,
    SDPA_FLASH,
)
from dash_attn.torch.problem import HAS_SPLITS

ATEN, NONE = torch.ops.aten, torch.empty(0)


def own(by: str, q: Any, k: Any, v: Any, window: Any, scale: Any) -> tuple[Any, Any]:
    FORWARDS.append(by)
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    o, lse = reference.forward(q, k, v, scale=scale, mask=Mask(*window))
    return o.to(q.dtype), lse.float()


def own_flash(q, k, v, cum_q, cum_k, max_q, max_k, dropout, causal, debug, **options):
    window = [options.get(f"window_size_{side}") for side in ("left", "right")]
    window = window_of(causal, [-1 if side is None else side for side in window])
    scale = options.get("scale")
    if cum_q is not None:
        FORWARDS.append("flash")
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        splits = {"num_splits": 1} if HAS_SPLITS else {}
        return flash_of_lists(q, k, v, cum_q, cum_k, max_q, max_k, scale, window, **splits)
    o, lse = own("flash", *(x.transpose(1, 2) for x in (q, k, v)), window, scale)
    return o.transpose(1, 2), lse, NONE, NONE, NONE


def own_sdpa_flash(q, k, v, dropout=0.0, causal=False, debug=False, *, scale=None):
    turned = [x.transpose(1, 2) for x in (q, k, v)]
    rest = (None, None, q.shape[2], k.shape[2], dropout, causal, debug)
    o, lse, *seeds, mask = ATEN._flash_attention_forward(*turned, *rest, scale=scale)
    return o.transpose(1, 2), lse, None, None, q.shape[2], k.shape[2], *seeds, mask


def own_flash_in_place(out, *arguments, **options):
    o, lse, *_ = own_flash(*arguments, **options)
    out.copy_(o)
    return lse


def own_sdpa_cudnn(q, k, v, bias, with_lse, dropout=0.0, causal=False, debug=False, *, scale=None):
    rest = (None, None, q.shape[2], k.shape[2], with_lse, dropout, causal, debug)
    return ATEN._cudnn_attention_forward(q, k, v, bias, *rest, scale=scale)


def own_cudnn(
    q, k, v, bias, cum_q, cum_k, max_q, max_k, with_lse, dropout=0.0, causal=False, *_, **o
):
    if cum_q is not None:
        FORWARDS.append("cudnn")
        return torch.zeros_like(q), NONE, cum_q, cum_k, max_q, max_k, NONE, NONE, None
    o, lse = own("cudnn", q, k, v, window_of(causal, None), o.get("scale"))
    return o, lse[..., None], None, None, max_q, max_k, NONE, NONE, None


def own_efficient(
    q, k, v, bias, cum_q, cum_k, max_q, max_k, dropout, mask, with_lse=False, **options
):
    turned = [x.transpose(1, 2) for x in (q, k, v)]
    if cum_q is not None:
        turned = [x[:, :, :3] for x in turned]
    o, lse = own("efficient", *turned, window_of(mask != 0, None), options.get("scale"))
    return o.transpose(1, 2).contiguous(), lse, NONE, NONE, q.shape[1], k.shape[1]


def own_backward(by: str) -> Any:
    """It takes an LSE as PyTorch's kernels do: infinite where a row sees nothing."""

    def function(do, q, k, v, o, lse, *rest, scale=None, **options):
        assert not lse.isneginf().any()
        causal = next(one for one in rest if isinstance(one, bool))
        window = [options.get(f"window_size_{side}") for side in ("left", "right")]
        window = window_of(causal, [-1 if side is None else side for side in window])
        layout = "bshd" if by == "rows" else "bhsd"
        return gradients(by, do, q, k, v, o, lse, *window, scale, layout)

    return function


for name, function in {
    FLASH: own_flash,
    SDPA_FLASH: own_sdpa_flash,
    FLASH_IN_PLACE: own_flash_in_place,
    SDPA_CUDNN: own_sdpa_cudnn,
    CUDNN: own_cudnn,
    EFFICIENT: own_efficient,
    aten_backward.FLASH: own_backward("rows"),
    aten_backward.SDPA_FLASH: own_backward("flash"),
    aten_backward.SDPA_CUDNN: own_backward("cudnn"),
    aten_backward.CUDNN: own_backward("cudnn"),
    aten_backward.EFFICIENT: own_backward("efficient"),
}.items():
    LIBRARY.impl(name, function, "CPU", allow_override=True)
