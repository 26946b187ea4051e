"""The operator dash::attention_backward, of batches and of packed sequences, with and without a
sink: what PyTorch knows of it, for eager calls, compiled programs and vmap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ..kernel.launch import Launch, Launches, Slices
from ..kernel.problem import ONE_SINK, Window
from ..kernel.runtime import TENSORS
from ..kernel.sequences import NO_VMAP
from ..kernel.tasks import slices_of_gradients
from ..kernel.workspace import PER_THREAD
from . import pieces
from .delta import in_place_of_o
from .kernels import MOST_LAUNCHES, bind, kernels_for, launches, order_of, wanted_of
from .problem import coverage_of, is_readable, signature
from .registry import SPACE, define, implement

NAME = f"{SPACE}::attention_backward"
define(
    NAME,
    "(Tensor do, Tensor q, Tensor k, Tensor v, Tensor o, Tensor lse, int left, int right, float"
    " scale, Tensor? dlse=None, Tensor? sink=None, Tensor? cu_seqlens_q=None, Tensor?"
    ' cu_seqlens_k=None, str level="run", float softcap=0., str rules="")'
    " -> (Tensor, Tensor, Tensor, Tensor)",
)
SINK = 10  # its place among the arguments, in front of both offsets


def launch(
    do: torch.Tensor,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    o: torch.Tensor,
    lse: torch.Tensor,
    left: int,
    right: int,
    scale: float,
    layout: str = "bhsd",
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """dq, dk and dv on the current stream. Raises ArgumentError before anything is written."""
    device = q.device.index
    stream = torch._C._cuda_getCurrentRawStream(device)
    dq, dk, dv = torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)
    addresses = (
        q.data_ptr(),
        k.data_ptr(),
        v.data_ptr(),
        do.data_ptr(),
        o.data_ptr(),
        lse.data_ptr(),
        dq.data_ptr(),
        dk.data_ptr(),
        dv.data_ptr(),
    )
    seen = signature(q, k, v, do, o, lse)
    # that the others are there, too, is looked at for each launch
    key = (seen, left, right, layout, stream, device)
    try:
        found = launches[key]  # none has a `seen` of None
    except KeyError:
        found = None
    passes_ds = True
    if found is None:  # what is refused has no context
        try:
            found = _prepare(do, q, k, v, o, lse, dq, dk, dv, (left, right), layout, stream)
        except torch.OutOfMemoryError:  # for dS on its way: later there may be memory
            found, passes_ds = (None, 0), False
        if seen is not None and stream != PER_THREAD and found[0] is not None:
            if len(launches) >= MOST_LAUNCHES:
                launches.clear()
            launches[key] = found
    ready, odd = found
    if ready is not None and not (
        (addresses[0] | addresses[1] | addresses[2] | addresses[3] | addresses[4]) & odd
    ):
        try:
            ready.run_with(addresses, scale)
            return dq, dk, dv
        except torch.OutOfMemoryError:  # the same, from the start
            passes_ds = False
    tensors = {"q": q, "k": k, "v": v, "do": do, "o": o, "lse": lse, "dq": dq, "dk": dk, "dv": dv}
    pieces.backward((left, right), layout, scale, passes_ds=passes_ds, **tensors)
    return dq, dk, dv


def _prepare(
    do: torch.Tensor,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    o: torch.Tensor,
    lse: torch.Tensor,
    dq: torch.Tensor,
    dk: torch.Tensor,
    dv: torch.Tensor,
    window: Window,
    layout: str,
    stream: int,
) -> tuple[Launch | Launches | Slices | None, int]:
    """What launches tensors of these shapes and strides, None where they are not read as they
    lie or an order is of less than all of them, and which bits of addresses must not be set."""
    coverage = coverage_of(q, k, v, layout)
    of_rows = lse[..., 0] if lse.shape[3:] == (1,) else lse  # as cuDNN has it
    if not pieces.is_whole(q, k, layout, coverage) or not all(
        map(is_readable, (q, k, v, do, o, of_rows, dq, dk, dv))
    ):
        return None, 0
    given = dict(zip(TENSORS, (q, k, v, do, o, of_rows, dq, dk, dv)))
    wanted = wanted_of(q, v, window, is_unrounded=pieces.is_unrounded(o))
    of_shapes: dict[tuple[torch.Size, ...], Launch | Launches] = {}
    found: list[tuple[Launch | Launches, list[int]]] = []
    for which in slices_of_gradients(wanted, q.shape, k.shape, v.shape, layout):
        one = {name: pieces.cut(name, tensor, which, layout) for name, tensor in given.items()}
        alike = tuple(tensor.shape for tensor in one.values())
        if alike not in of_shapes:
            kernels = order_of(one["q"], one["k"], one["v"], window, layout, wanted=wanted).kernels
            of_shapes[alike] = bind(kernels, tuple(one.values()), layout=layout, stream=stream)
        found.append(
            (of_shapes[alike], [one[name].data_ptr() - given[name].data_ptr() for name in given])
        )
    ready = found[0][0] if len(found) == 1 else Slices(found)
    return ready, coverage.alignment - 1


def launch_any(
    do: torch.Tensor,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    o: torch.Tensor,
    lse: torch.Tensor,
    left: int,
    right: int,
    scale: float,
    dlse: torch.Tensor | None = None,
    sink: torch.Tensor | None = None,
    cu_q: torch.Tensor | None = None,
    cu_k: torch.Tensor | None = None,
    level: str = "run",
    softcap: float = 0.0,
    rules: str = "",
) -> tuple[torch.Tensor | None, ...]:
    """What the operator does: dq, dk, dv and dsink, None without a sink, on the current stream.

    o: of q's type, or of float32 as it is before it is rounded. dlse: the gradient of the LSE,
    of its shape: [batch, heads, rows] of float32. sink: [heads] of float32, whose gradient is of
    each batch by itself, [batch, heads] of float32. rules: of the mask beside its window, as
    `masks.rules_of` says them. cu_q, cu_k: offsets of packed sequences, which then are the
    batch; all else is as `attention` has it, gradients of rows outside of all sequences are 0,
    and cu_k is cu_q if None. Raises ArgumentError before anything is launched."""
    is_usual = dlse is None and sink is None and level == "run" and not softcap and not rules
    if cu_q is None and is_usual:
        return *launch(do, q, k, v, o, lse, left, right, scale), None
    o, delta = in_place_of_o(do, o, lse, dlse)
    tensors = {"q": q, "k": k, "v": v, "do": do, "o": o, "lse": lse, "delta": delta, "sink": sink}
    if cu_q is None:
        found = like_inputs(q, k, v, sink, cu_q)
        tensors |= zip(pieces.GRADIENTS, found)
        pieces.backward((left, right), "bhsd", scale, softcap, level, rules, **tensors)
        return found
    has = {"has_sink": sink is not None, "takes_delta": delta is not None, "softcap": softcap}
    has |= {"rules": rules, "is_unrounded": pieces.is_unrounded(o)}
    kernels = kernels_for((q.shape[2], v.shape[2]), q.dtype, (left, right), level, **has)
    found = like_inputs(q, k, v, sink, cu_q)
    tensors |= zip(pieces.GRADIENTS, found)
    tensors |= {"cu_seqlens_q": cu_q, "cu_seqlens_kv": cu_q if cu_k is None else cu_k}
    pieces.backward_of_sequences(kernels, scale, clears_rows=True, **tensors)
    return found


def like_inputs(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    sink: torch.Tensor | None,
    cu_q: torch.Tensor | None,
) -> tuple[torch.Tensor | None, ...]:
    """Memory for all gradients."""
    batch = q.shape[0] if cu_q is None else cu_q.shape[0] - 1
    dsink = None if sink is None else q.new_empty((batch, q.shape[1]), dtype=torch.float32)
    return torch.empty_like(q), torch.empty_like(k), torch.empty_like(v), dsink


implement(NAME, "CUDA")(launch_any)


@implement(NAME, "fake")
def _fake(
    do: Any,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    o: Any,
    lse: Any,
    left: Any,
    right: Any,
    scale: Any,
    dlse: Any = None,
    sink: Any = None,
    cu_q: Any = None,
    *_: Any,
) -> tuple[torch.Tensor | None, ...]:
    return like_inputs(q, k, v, sink, cu_q)


@implement(NAME, "vmap")
def of_batches(info: Any, in_dims: tuple[Any, ...], *arguments: Any) -> Any:
    """vmap's dimension becomes part of the batch."""
    found = gradients(*fold(info.batch_size, in_dims, arguments, SINK))
    return unfold(info.batch_size, found), tuple(None if one is None else 0 for one in found)


gradients = getattr(torch.ops, SPACE).attention_backward.default


class Gradients(torch.autograd.Function):
    """The operator where a graph of the backward pass is made: a pass back through it is told that
    there is nothing."""

    @staticmethod
    def forward(*arguments: Any) -> tuple[torch.Tensor | None, ...]:
        return gradients(*arguments)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *_: Any) -> Any:
        raise RuntimeError(
            "dash_attn.attention has first derivatives only; for second ones take PyTorch's"
            " SDPBackend.MATH"
        )

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *arguments: Any) -> Any:
        found = Gradients.apply(*fold(info.batch_size, in_dims, arguments, SINK))
        return unfold(info.batch_size, found), tuple(None if one is None else 0 for one in found)


def fold(count: int, dims: Sequence[int | None], arguments: Sequence[Any], sink: int) -> list[Any]:
    """vmap's dimension becomes part of the batch of tensors; other arguments stay. sink: its place,
    in front of both offsets: it is one for all, and packed sequences are refused."""
    if any(offsets is not None for offsets in arguments[sink + 1 : sink + 3]):
        raise RuntimeError(NO_VMAP)
    if any(dim is not None for dim in dims[sink : sink + 1]):
        raise RuntimeError(ONE_SINK)
    return [
        _fold_one(count, dim, one) if isinstance(one, torch.Tensor) and i != sink else one
        for i, (dim, one) in enumerate(zip(dims, arguments))
    ]


def _fold_one(count: int, dim: int | None, tensor: torch.Tensor) -> torch.Tensor:
    whole = tensor.expand(count, *tensor.shape) if dim is None else tensor.movedim(dim, 0)
    return whole.reshape(-1, *whole.shape[2:])


def unfold(count: int, tensors: Sequence[torch.Tensor | None]) -> tuple[torch.Tensor | None, ...]:
    return tuple(None if tensor is None else tensor.unflatten(0, (count, -1)) for tensor in tensors)
