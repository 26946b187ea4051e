"""Forward passes of PyTorch that are the same bits on every run, with the LSE that the backward
pass takes."""

from __future__ import annotations

import torch

from ..kernel.problem import CAUSAL, FULL, Window


def forward(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, left: int, right: int, scale: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """o and the LSE, by the fastest forward pass of PyTorch that is repeatable: cuDNN's; of
    windows FlashAttention's."""
    o, lse = computed(q, k, v, left, right, scale)
    return o, lse.reshape(q.shape[:3])


def computed(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, left: int, right: int, scale: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """The LSE as the operator gives it: cuDNN's with a dimension of 1 behind the rows."""
    if left < 0 and right <= 0:
        found = torch.ops.aten._scaled_dot_product_cudnn_attention.default(
            q, k, v, None, True, 0.0, right == 0, False, scale=scale
        )
        return found[0], found[1]
    o, lse, *_ = torch.ops.aten._flash_attention_forward.default(
        q.transpose(1, 2),
        k.transpose(1, 2),
        v.transpose(1, 2),
        None,
        None,
        q.shape[2],
        k.shape[2],
        0.0,
        False,
        False,
        scale=scale,
        window_size_left=left,
        window_size_right=right,
    )
    return o.transpose(1, 2), lse


def operator_of_forward(window: Window) -> str:
    """By what `forward` computes, for people."""
    if window in (FULL, CAUSAL):
        return (
            f"aten::_scaled_dot_product_cudnn_attention, PyTorch {torch.__version__}, cuDNN"
            f" {torch.backends.cudnn.version()}"
        )
    return f"aten::_flash_attention_forward, PyTorch {torch.__version__}"
