"""Forward passes of PyTorch that are the same bits on every run, with the LSE that the backward
pass takes."""

from __future__ import annotations

import torch

from ..kernel.problem import CAUSAL, FULL, Window
from . import sequences
from .head_dims import alike, padding
from .sinks import with_sink


def forward(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    left: int,
    right: int,
    scale: float,
    sink: torch.Tensor | None,
    cu_q: torch.Tensor | None,
    cu_k: torch.Tensor | None,
    max_q: int | None,
    max_k: int | None,
    level: str,
) -> tuple[torch.Tensor, torch.Tensor]:
    """o and the LSE, by the fastest forward pass of PyTorch that is repeatable: cuDNN's; of
    windows and of packed sequences, which have offsets, FlashAttention's. level: of the backward
    pass alone, as nothing here depends on it."""
    if cu_q is not None:
        o, lse = sequences.forward(q, k, v, cu_q, cu_k, max_q, max_k, left, right, scale)
        if sink is None:
            return o, lse
        o, lse = with_sink(o.transpose(0, 1), lse, sink.float())
        return o.transpose(0, 1), lse
    if left < 0 and right <= 0:
        o, lse, *_ = torch.ops.aten._scaled_dot_product_cudnn_attention.default(
            q, k, v, None, True, 0.0, right == 0, False, scale=scale
        )
        lse = lse.reshape(q.shape[:3])  # which has a dimension of 1 behind the rows
    else:
        of_v = v.shape[3]
        q, k, v = alike(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2))
        o, lse, *_ = torch.ops.aten._flash_attention_forward.default(
            q,
            k,
            v,
            None,
            None,
            q.shape[1],
            k.shape[1],
            0.0,
            False,
            False,
            scale=scale,
            window_size_left=left,
            window_size_right=right,
        )
        if of_v < o.shape[3]:
            o = o[..., :of_v].contiguous()
        o = o.transpose(1, 2)
    return (o, lse) if sink is None else with_sink(o, lse, sink.float())


def operator_of_forward(window: Window, of_qk: int, of_v: int) -> str:
    """By what `forward` computes, for people. of_qk, of_v: head dims."""
    if window in (FULL, CAUSAL):
        return (
            f"aten::_scaled_dot_product_cudnn_attention, PyTorch {torch.__version__}, cuDNN"
            f" {torch.backends.cudnn.version()}"
        )
    return f"aten::_flash_attention_forward{padding(of_qk, of_v)}, PyTorch {torch.__version__}"
