"""dash_attn.torch without a GPU: its operators, and those of PyTorch that it uses, are computed on the CPU in float64."""

from __future__ import annotations

import importlib
from typing import Any

import fixtures  # noqa: F401  (finds dash_attn)
import torch

from dash_attn import reference
from dash_attn.reference import Mask

LAUNCHED: list[tuple[str, tuple[int, int], float]] = []  # by whom gradients were computed, window, scale


def forward(q: Any, k: Any, v: Any, bias: Any, with_lse: bool, dropout: float = 0.0, causal: bool = False, debug: bool = False, *,
            scale: float | None = None) -> tuple[Any, ...]:
    """cuDNN's: causal at the top left, LSE with a dimension of 1."""
    assert bias is None and with_lse and not dropout and not debug and (not causal or q.shape[2] == k.shape[2])
    o, lse = reference.forward(q, k, v, scale=q.shape[3] ** -0.5 if scale is None else scale, mask=Mask(right=0 if causal else -1))
    seed, none = torch.tensor(0), None
    like_q = torch.empty_like(q)
    like_q.copy_(o)
    return like_q, lse.float()[..., None], none, none, q.shape[2], k.shape[2], seed, seed, none


def flash_forward(q: Any, k: Any, v: Any, cum_q: Any, cum_k: Any, max_q: int, max_k: int, dropout: float, causal: bool, debug: bool, *,
                  scale: float | None = None, window_size_left: int | None = None, window_size_right: int | None = None,
                  **_: Any) -> tuple[Any, ...]:
    """FlashAttention's: [batch, rows, heads, head_dim], masks at the bottom right."""
    assert cum_q is None and cum_k is None and (max_q, max_k) == (q.shape[1], k.shape[1]) and not dropout and not causal and not debug
    o, lse = reference.forward(*(x.transpose(1, 2) for x in (q, k, v)), scale=q.shape[3] ** -0.5 if scale is None else scale,
                               mask=Mask(window_size_left, window_size_right))
    none = torch.empty(0)
    return torch.empty(q.shape, dtype=q.dtype).copy_(o.transpose(1, 2)), lse.float(), none, none, none


def gradients(by: str, do: Any, q: Any, k: Any, v: Any, o: Any, lse: Any, left: int, right: int, scale: float | None,
              layout: str = "bhsd") -> tuple[Any, ...]:
    LAUNCHED.append((by, (left, right), scale))
    given = [x.transpose(1, 2) if layout == "bshd" else x for x in (q, k, v, do, o)]
    lse = lse[..., 0] if lse.dim() == 4 else lse
    found = reference.backward(*given, lse, scale=q.shape[3] ** -0.5 if scale is None else scale, mask=Mask(left, right))
    return tuple(torch.empty_like(x).copy_(dx.transpose(1, 2) if layout == "bshd" else dx) for x, dx in zip((q, k, v), found.values()))


def launch(*arguments: Any) -> tuple[Any, ...]:
    return gradients("dash", *arguments)


def serve(package: str) -> None:
    """package: dash_attn, or a copy of it under another name."""
    function, dropin, operator, problem, explanation = (
        importlib.import_module(f"{package}.torch.{name}") for name in ("function", "dropin", "operator", "problem", "explanation"))
    torch.library.impl(operator.NAME, "CPU", launch)
    problem.DEVICE, dropin.KEY, dropin.launch, function.launch = "cpu", "CPU", launch, launch
    for module in (function, explanation, dropin):
        module.refusal_of_device = lambda index: None


LIBRARY = torch.library.Library("aten", "IMPL")
LIBRARY.impl("_scaled_dot_product_cudnn_attention", forward, "CPU")
LIBRARY.impl("_flash_attention_forward", flash_forward, "CPU")
serve("dash_attn")
