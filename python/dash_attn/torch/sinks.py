"""A sink: a score of each head that takes part in the softmax and has no value, as gpt-oss has it.

No forward pass of PyTorch knows one, and none has to: exp(sink) is added to the sum of
exponentials of a row, so o shrinks by what the others have of the new sum. Kernels of a sink
take that o and the LSE of the new sum.
"""

from __future__ import annotations

from typing import Any

import torch

from ..kernel import problem
from ..kernel.problem import ONE_SINK
from . import pieces
from .delta import in_place_of_o
from .forward import forward as forward_without
from .kernels import kernel_for
from .operator import SPACE, FirstDerivatives, fold, opaque, unfold
from .problem import dtype_of, is_sharded, refusal_of_kind
from .registry import define, implement
from .sequences import NO_VMAP
from .sequences import forward as forward_of_sequences

NAME = f"{SPACE}::attention_backward_sink"
define(
    NAME,
    "(Tensor do, Tensor q, Tensor k, Tensor v, Tensor o, Tensor lse, Tensor sink, int left, int"
    " right, float scale, Tensor? dlse=None) -> (Tensor, Tensor, Tensor, Tensor)",
)


def launch(
    do: torch.Tensor,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    o: torch.Tensor,
    lse: torch.Tensor,
    sink: torch.Tensor,
    left: int,
    right: int,
    scale: float,
    dlse: torch.Tensor | None = None,
) -> tuple[torch.Tensor, ...]:
    """dq, dk, dv and dsink, [batch, heads] of float32, on the current stream. dlse: the gradient
    of the LSE, [batch, heads, rows] of float32. Raises ArgumentError before anything is
    launched."""
    found = (
        torch.empty_like(q),
        torch.empty_like(k),
        torch.empty_like(v),
        q.new_empty(q.shape[:2], dtype=torch.float32),
    )
    dq, dk, dv, dsink = found
    o, delta = in_place_of_o(do, o, lse, dlse)
    pieces.backward(
        (left, right),
        "bhsd",
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
        sink=sink,
        dsink=dsink,
    )
    return found


implement(NAME, "CUDA")(launch)


@implement(NAME, "fake")
def _fake(
    do: Any, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *_: Any
) -> tuple[torch.Tensor, ...]:
    return (
        torch.empty_like(q),
        torch.empty_like(k),
        torch.empty_like(v),
        q.new_empty(q.shape[:2], dtype=torch.float32),
    )


@implement(NAME, "vmap")
def _vmap(info: Any, in_dims: tuple[Any, ...], *arguments: Any) -> Any:
    return unfold(info.batch_size, gradients(*_folded(info.batch_size, in_dims, arguments))), (
        0,
        0,
        0,
        0,
    )


gradients = getattr(torch.ops, SPACE).attention_backward_sink.default


def _folded(count: int, dims: tuple[Any, ...], arguments: tuple[Any, ...]) -> list[Any]:
    """The operator's arguments: all tensors but the sink."""
    _demand_one(dims[6])
    return [
        *fold(count, dims[:6], arguments[:6]),
        arguments[6],
        *fold(count, dims[7:], arguments[7:]),
    ]


def _demand_one(of_sink: int | None) -> None:
    if of_sink is not None:
        raise RuntimeError(ONE_SINK)


def refusal_of_sink(sink: Any, q: torch.Tensor, layout: str = "bhsd") -> str | None:
    """Why a sink is refused beside a q that is not; None if it is not, or none is given."""
    if sink is None:
        return None
    reason = refusal_of_kind("sink", sink) or problem.refusal_of_sink(
        sink.is_floating_point(), dtype_of(sink), sink.shape, q.shape[layout.index("h")]
    )
    if reason:
        return reason
    if sink.device != q.device:
        return f"sink: expected a tensor on '{q.device}' as q, found one on '{sink.device}'"
    if is_sharded(sink) != is_sharded(q):
        return (
            f"sink: expected a {'DTensor' if is_sharded(q) else 'plain tensor'} as q, found a"
            f" {'plain tensor' if is_sharded(q) else 'DTensor'}"
        )
    return None


# ---- The forward pass ----------------------------------------------------------------------------

ADDED = f"{SPACE}::add_sink"
define(ADDED, "(Tensor o, Tensor lse, Tensor sink) -> (Tensor, Tensor)")


@implement(ADDED, "CompositeExplicitAutograd")
def _add(
    o: torch.Tensor, lse: torch.Tensor, sink: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    factor, lse = _parts(lse, sink)
    return torch.mul(o, factor, out=torch.empty_like(o)), lse


@implement(ADDED, "fake")
def _fake_added(
    o: torch.Tensor, lse: torch.Tensor, sink: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.empty_like(o), torch.logaddexp(lse, sink[:, None])


add_sink = getattr(torch.ops, SPACE).add_sink.default


def _parts(lse: torch.Tensor, sink: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """What the rows of o shrink by, and the LSE with the sink."""
    logarithm = sink[:, None]
    return torch.sigmoid(lse - logarithm)[..., None], torch.logaddexp(lse, logarithm)


def with_sink(
    o: torch.Tensor, lse: torch.Tensor, sink: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """o and the LSE, [..., heads, rows, head_dim] and without the last, of a softmax that has
    the sink, too. May write to o.

    Compilers have sigmoids and logarithms of their own, whose last bits are others: they are
    given an operator to call. What they trace by is a mode; not all of them say that they
    compile."""
    if torch.compiler.is_compiling() or torch._C._len_torch_dispatch_stack():
        return add_sink(o, lse, sink)
    factor, lse = _parts(lse, sink)
    return o.mul_(factor), lse


class AttentionWithSink(torch.autograd.Function):
    @staticmethod
    def forward(
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        sink: torch.Tensor,
        left: int,
        right: int,
        scale: float,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        return with_sink(*forward_without(q, k, v, left, right, scale), sink.float())

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[torch.Tensor, ...]) -> None:
        q, k, v, sink, *ctx.given = inputs
        ctx.save_for_backward(q, k, v, *output, sink)
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, do: torch.Tensor | None, dlse: torch.Tensor | None) -> tuple[Any, ...]:
        if do is None and dlse is None:
            return (None,) * 7
        *saved, sink = ctx.saved_tensors
        function = GradientsWithSink.apply if torch.is_grad_enabled() else gradients
        do = torch.zeros_like(saved[3]) if do is None else do
        *found, dsink = function(
            do, *saved, sink.float(), *ctx.given, *(() if dlse is None else (dlse,))
        )
        return (*found, dsink.sum(0).to(sink.dtype), None, None, None)

    @staticmethod
    def vmap(
        info: Any,
        in_dims: tuple[Any, ...],
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        sink: torch.Tensor,
        *rest: Any,
    ) -> Any:
        _demand_one(in_dims[3])
        folded = fold(info.batch_size, in_dims[:3], (q, k, v))
        return unfold(info.batch_size, AttentionWithSink.apply(*folded, sink, *rest)), (0, 0)


class GradientsWithSink(FirstDerivatives):
    @staticmethod
    def forward(*arguments: Any) -> tuple[torch.Tensor, ...]:
        return gradients(*arguments)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *arguments: Any) -> Any:
        return unfold(
            info.batch_size, GradientsWithSink.apply(*_folded(info.batch_size, in_dims, arguments))
        ), (0, 0, 0, 0)


opaque_with_sink = opaque(AttentionWithSink)


# ---- Packed sequences ----------------------------------------------------------------------------

OF_SEQUENCES = f"{SPACE}::attention_backward_varlen_sink"
define(
    OF_SEQUENCES,
    "(Tensor do, Tensor q, Tensor k, Tensor v, Tensor o, Tensor lse, Tensor sink, Tensor"
    " cu_seqlens_q, Tensor cu_seqlens_k, int left, int right, float scale, str level, Tensor?"
    " dlse=None) -> (Tensor, Tensor, Tensor, Tensor)",
)


def launch_list(
    do: torch.Tensor,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    o: torch.Tensor,
    lse: torch.Tensor,
    sink: torch.Tensor,
    cu_q: torch.Tensor,
    cu_k: torch.Tensor,
    left: int,
    right: int,
    scale: float,
    level: str,
    dlse: torch.Tensor | None = None,
) -> tuple[torch.Tensor, ...]:
    """dq, dk and dv, 0 in rows that no sequence has, and dsink, [sequences, heads] of float32,
    on the current stream. dlse: the gradient of the LSE, [heads, rows] of float32. Raises
    ArgumentError before anything is launched."""
    kernel = kernel_for(
        (q.shape[2], v.shape[2]),
        q.dtype,
        (left, right),
        level,
        has_sink=True,
        takes_delta=dlse is not None,
    )
    found = (
        torch.zeros_like(q),
        torch.zeros_like(k),
        torch.zeros_like(v),
        _dsink_of_sequences(q, cu_q),
    )
    dq, dk, dv, dsink = found
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
        sink=sink,
        dsink=dsink,
        cu_seqlens_q=cu_q,
        cu_seqlens_kv=cu_k,
    )
    return found


implement(OF_SEQUENCES, "CUDA")(launch_list)


def _dsink_of_sequences(q: torch.Tensor, cu_q: torch.Tensor) -> torch.Tensor:
    return q.new_empty((cu_q.shape[0] - 1, q.shape[1]), dtype=torch.float32)


@implement(OF_SEQUENCES, "fake")
def _fake_of_sequences(
    do: Any,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    o: Any,
    lse: Any,
    sink: Any,
    cu_q: torch.Tensor,
    *_: Any,
) -> tuple[torch.Tensor, ...]:
    return (
        torch.zeros_like(q),
        torch.zeros_like(k),
        torch.zeros_like(v),
        _dsink_of_sequences(q, cu_q),
    )


@implement(OF_SEQUENCES, "vmap")
def _vmap_of_sequences(*_: Any) -> Any:
    raise RuntimeError(NO_VMAP)


gradients_of_sequences = getattr(torch.ops, SPACE).attention_backward_varlen_sink.default


class AttentionOfSequencesWithSink(torch.autograd.Function):
    @staticmethod
    def forward(
        q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, sink: torch.Tensor, *rest: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        o, lse = forward_of_sequences(q, k, v, *rest)
        o, lse = with_sink(o.transpose(0, 1), lse, sink.float())
        return o.transpose(0, 1), lse

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[torch.Tensor, ...]) -> None:
        q, k, v, sink, cu_q, cu_k, _, _, *ctx.given = inputs
        ctx.save_for_backward(q, k, v, *output, sink, cu_q, cu_q if cu_k is None else cu_k)
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, do: torch.Tensor | None, dlse: torch.Tensor | None) -> tuple[Any, ...]:
        if do is None and dlse is None:
            return (None,) * 12
        *saved, sink, cu_q, cu_k = ctx.saved_tensors
        function = (
            GradientsOfSequencesWithSink.apply
            if torch.is_grad_enabled()
            else gradients_of_sequences
        )
        do = torch.zeros_like(saved[3]) if do is None else do
        *found, dsink = function(
            do, *saved, sink.float(), cu_q, cu_k, *ctx.given, *(() if dlse is None else (dlse,))
        )
        return (*found, dsink.sum(0).to(sink.dtype), *[None] * 8)

    @staticmethod
    def vmap(*_: Any) -> Any:
        raise RuntimeError(NO_VMAP)


opaque_of_sequences_with_sink = opaque(AttentionOfSequencesWithSink)


class GradientsOfSequencesWithSink(FirstDerivatives):
    @staticmethod
    def forward(*arguments: Any) -> tuple[torch.Tensor, ...]:
        return gradients_of_sequences(*arguments)

    vmap = AttentionOfSequencesWithSink.vmap
