"""Packed sequences, [rows, heads, head_dim] with offsets on the device: FlashAttention's forward
pass, and kernels of lists.

The host never learns a length: grids follow from tensors' shapes and from the bounds that the
caller states, and a graph that is replayed may have other offsets. Rows that no sequence has are
zeros, in o and in gradients, so all bits are the same on every run.
"""

from __future__ import annotations

from typing import Any

import torch

from . import pieces
from .delta import in_place_of_o
from .forward import alike, padding
from .kernels import kernel_for
from .operator import SPACE, FirstDerivatives, opaque
from .problem import HAS_SPLITS
from .registry import define, implement

NAME = f"{SPACE}::attention_backward_varlen"
define(
    NAME,
    "(Tensor do, Tensor q, Tensor k, Tensor v, Tensor o, Tensor lse, Tensor cu_seqlens_q, Tensor"
    " cu_seqlens_k, int left, int right, float scale, str level, Tensor? dlse=None) -> (Tensor,"
    " Tensor, Tensor)",
)
NO_VMAP = (
    "packed sequences are a batch: put those of vmap's dimension one behind the other, with their"
    " offsets"
)


def launch(
    do: torch.Tensor,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    o: torch.Tensor,
    lse: torch.Tensor,
    cu_q: torch.Tensor,
    cu_k: torch.Tensor,
    left: int,
    right: int,
    scale: float,
    level: str = "run",
    dlse: torch.Tensor | None = None,
) -> tuple[torch.Tensor, ...]:
    """dq, dk and dv on the current stream, 0 in rows that no sequence has. dlse: the gradient of
    the LSE, [heads, rows] of float32. Raises ArgumentError before anything is launched."""
    kernel = kernel_for(
        (q.shape[2], v.shape[2]), q.dtype, (left, right), level, takes_delta=dlse is not None
    )
    dq, dk, dv = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
    o, delta = in_place_of_o(do, o, lse, dlse)
    pieces.backward_of_sequences(
        kernel,
        scale,
        q=q,
        k=k,
        v=v,
        do=do,
        o=o,
        lse=lse,
        dq=dq,
        dk=dk,
        dv=dv,
        delta=delta,
        cu_seqlens_q=cu_q,
        cu_seqlens_kv=cu_k,
    )
    return dq, dk, dv


implement(NAME, "CUDA")(launch)


@implement(NAME, "fake")
def _fake(
    do: Any, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *_: Any
) -> tuple[torch.Tensor, ...]:
    return torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)


@implement(NAME, "vmap")
def _vmap(*_: Any) -> Any:
    raise RuntimeError(NO_VMAP)


gradients = getattr(torch.ops, SPACE).attention_backward_varlen.default


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
    *_: Any,
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


class AttentionOfSequences(torch.autograd.Function):
    forward = staticmethod(forward)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[torch.Tensor, ...]) -> None:
        q, k, v, cu_q, cu_k, _, _, *ctx.given = inputs
        ctx.save_for_backward(q, k, v, *output, cu_q, cu_q if cu_k is None else cu_k)
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, do: torch.Tensor | None, dlse: torch.Tensor | None) -> tuple[Any, ...]:
        if do is None and dlse is None:
            return (None,) * 11
        function = GradientsOfSequences.apply if torch.is_grad_enabled() else gradients
        do = torch.zeros_like(ctx.saved_tensors[3]) if do is None else do
        return (
            *function(do, *ctx.saved_tensors, *ctx.given, *(() if dlse is None else (dlse,))),
            *[None] * 8,
        )

    @staticmethod
    def vmap(*_: Any) -> Any:
        raise RuntimeError(NO_VMAP)


opaque_of_sequences = opaque(AttentionOfSequences)


class GradientsOfSequences(FirstDerivatives):
    @staticmethod
    def forward(*arguments: Any) -> tuple[torch.Tensor, ...]:
        return gradients(*arguments)

    vmap = AttentionOfSequences.vmap
