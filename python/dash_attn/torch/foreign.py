"""Forward passes of PyTorch, for calls of `attention` with forward="torch": those that are the same
bits on every run, with the LSE that the backward pass takes. cuDNN's; of windows and of packed
sequences FlashAttention's. They are PyTorch's own while `enable` has replaced its operators, too.

The host never learns the lengths of packed sequences: grids follow from tensors' shapes and from
the bounds that the caller states, and a graph that is replayed may have other offsets. Rows that
no sequence has are zeros, so all bits are the same on every run.
"""

from __future__ import annotations

from typing import Any

import torch

from ..kernel.problem import CAUSAL, FULL, Window
from .head_dims import alike, padding
from .operator import fold, unfold
from .problem import HAS_SPLITS
from .registry import SPACE, define, foreign, implement
from .sinks import with_sink

# An operator of its own, for compiled programs: one of PyTorch's in their graphs would be
# whatever has replaced it when they run.
NAME = f"{SPACE}::torch_forward"
define(
    NAME,
    "(Tensor q, Tensor k, Tensor v, int left, int right, float scale, Tensor? sink=None,"
    " Tensor? cu_seqlens_q=None, Tensor? cu_seqlens_k=None, SymInt? max_seqlen_q=None,"
    " SymInt? max_seqlen_k=None) -> (Tensor, Tensor)",
)
SINK = 6  # its place among the arguments, in front of both offsets


def foreign_forward(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    left: int,
    right: int,
    scale: float,
    sink: torch.Tensor | None = None,
    cu_q: torch.Tensor | None = None,
    cu_k: torch.Tensor | None = None,
    max_q: int | None = None,
    max_k: int | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """o and the LSE of a batch, or of packed sequences, which have offsets. The part of a sink is
    put in afterwards, so o is rounded once more."""
    if cu_q is not None:
        o, lse = of_sequences(q, k, v, cu_q, cu_k, max_q, max_k, left, right, scale)
        if sink is None:
            return o, lse
        o, lse = with_sink(o.transpose(0, 1), lse, sink.float())
        return o.transpose(0, 1), lse
    o, lse = of_batch(q, k, v, left, right, scale)
    return (o, lse) if sink is None else with_sink(o, lse, sink.float())


for key in ("CUDA", "fake"):
    implement(NAME, key)(foreign_forward)


@implement(NAME, "vmap")
def of_batches(info: Any, in_dims: tuple[Any, ...], *arguments: Any) -> Any:
    """vmap's dimension becomes part of the batch."""
    found = foreign_operator(*fold(info.batch_size, in_dims, arguments, SINK))
    return unfold(info.batch_size, found), (0, 0)


foreign_operator = getattr(torch.ops, SPACE).torch_forward.default


def of_batch(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, left: int, right: int, scale: float
) -> tuple[torch.Tensor, torch.Tensor]:
    if left < 0 and right <= 0:
        with foreign():
            o, lse, *_ = torch.ops.aten._scaled_dot_product_cudnn_attention.default(
                q, k, v, None, True, 0.0, right == 0, False, scale=scale
            )
        return o, lse.reshape(q.shape[:3])  # which has a dimension of 1 behind the rows
    of_v = v.shape[3]
    q, k, v = alike(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2))
    with foreign():
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
    return o.transpose(1, 2), lse


def of_sequences(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    cu_q: torch.Tensor,
    cu_k: torch.Tensor | None,
    max_q: int | None,
    max_k: int | None,
    left: int,
    right: int,
    scale: float,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The LSE is [heads, rows]: infinite where a row sees nothing, as in rows that no sequence has.
    cu_k: None is that of q."""
    splits, of_v = {"num_splits": 1} if HAS_SPLITS else {}, v.shape[2]
    q, k, v = alike(q, k, v)
    with foreign():
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


def operator_of_forward(window: Window, of_qk: int, of_v: int, is_list: bool) -> str:
    """By what `foreign_forward` computes, for people. of_qk, of_v: head dims."""
    version = f"PyTorch {torch.__version__}"
    if is_list:
        one_split = ", one split" * HAS_SPLITS
        padded = padding(of_qk, of_v)
        return f"aten::_flash_attention_forward, packed{one_split}{padded}, {version}"
    if window in (FULL, CAUSAL):
        cudnn = torch.backends.cudnn.version()
        return f"aten::_scaled_dot_product_cudnn_attention, {version}, cuDNN {cudnn}"
    return f"aten::_flash_attention_forward{padding(of_qk, of_v)}, {version}"
