"""Packed sequences, [rows, heads, head_dim] with offsets on the device: FlashAttention's forward
pass, and kernels of lists.

The host never learns a length: grids follow from tensors' shapes and from the bounds that the
caller states, and a graph that is replayed may have other offsets. Rows that no sequence has are
zeros, in o and in gradients, so all bits are the same on every run.
"""

from __future__ import annotations

import torch

from .head_dims import alike, padding
from .problem import HAS_SPLITS

NO_VMAP = (
    "packed sequences are a batch: put those of vmap's dimension one behind the other, with their"
    " offsets"
)


def forward(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    cu_q: torch.Tensor,
    cu_k: torch.Tensor | None,
    max_q: int,
    max_k: int,
    left: int,
    right: int,
    scale: float,
) -> tuple[torch.Tensor, torch.Tensor]:
    """o, and the LSE as [heads, rows]: infinite where a row sees nothing, as in rows that no
    sequence has. cu_k: None is that of q."""
    splits, of_v = {"num_splits": 1} if HAS_SPLITS else {}, v.shape[2]
    q, k, v = alike(q, k, v)
    o, lse, *_ = torch.ops.aten._flash_attention_forward.default(
        q,
        k,
        v,
        cu_q,
        cu_q if cu_k is None else cu_k,
        max_q,
        max_k,
        0.0,
        False,
        False,
        scale=scale,
        window_size_left=left,
        window_size_right=right,
        **splits,
    )
    rows = torch.arange(q.shape[0], device=q.device)
    outside = (rows < cu_q[0]) | (rows >= cu_q[-1])
    return o[..., :of_v].masked_fill(outside[:, None, None], 0), lse.masked_fill(outside, torch.inf)


def operator_of_forward(of_qk: int, of_v: int) -> str:
    """By what `forward` computes, for people. of_qk, of_v: head dims."""
    return (
        f"aten::_flash_attention_forward, packed{', one split' * HAS_SPLITS}"
        f"{padding(of_qk, of_v)}, PyTorch {torch.__version__}"
    )
