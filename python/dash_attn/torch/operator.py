"""The operator dash::attention_backward: what PyTorch knows of it, for eager calls, compiled
programs and vmap."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ..kernel.launch import Launch
from ..kernel.problem import Window
from ..kernel.workspace import PER_THREAD
from . import pieces
from .delta import delta_of
from .kernels import MOST_LAUNCHES, kernel_of, launches, order_of
from .problem import coverage_of, is_readable, signature
from .registry import define, implement

# The package may be there twice, once under another name, from Hugging Face's hub; names of
# operators are one process's.
PACKAGE = __name__.partition(".")[0]
SPACE = "dash" if PACKAGE == "dash_attn" else PACKAGE
NAME = f"{SPACE}::attention_backward"
define(
    NAME,
    "(Tensor do, Tensor q, Tensor k, Tensor v, Tensor o, Tensor lse, int left, int right, float"
    " scale, Tensor? dlse=None) -> (Tensor, Tensor, Tensor)",
)


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
    if found is None:  # what is refused has no context
        found = _prepare(do, q, k, v, o, lse, dq, dk, dv, (left, right), layout, stream)
        if seen is not None and stream != PER_THREAD and found[0] is not None:
            if len(launches) >= MOST_LAUNCHES:
                launches.clear()
            launches[key] = found
    ready, odd = found
    if (
        ready is None
        or (addresses[0] | addresses[1] | addresses[2] | addresses[3] | addresses[4]) & odd
    ):
        pieces.backward(
            (left, right), layout, scale, q=q, k=k, v=v, do=do, o=o, lse=lse, dq=dq, dk=dk, dv=dv
        )
    else:
        ready.run_with(addresses, scale)
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
) -> tuple[Launch | None, int]:
    """What launches tensors of these shapes and strides, None where they are no single launch,
    and which bits of addresses must not be set."""
    coverage = coverage_of(q, k, v, layout)
    of_rows = lse[..., 0] if lse.shape[3:] == (1,) else lse  # as cuDNN has it
    if not pieces.is_whole(q, k, layout, coverage) or not all(
        map(is_readable, (q, k, v, do, o, of_rows, dq, dk, dv))
    ):
        return None, 0
    kernel = kernel_of(order_of(q, k, v, window, layout).wanted)
    return (
        kernel.bind(q, k, v, do, o, of_rows, dq, dk, dv, layout=layout, stream=stream),
        coverage.alignment - 1,
    )


def launch_of_both(
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
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The same where the LSE may have a gradient, too, [batch, heads, rows] of float32."""
    if dlse is None:
        return launch(do, q, k, v, o, lse, left, right, scale)
    dq, dk, dv = torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)
    pieces.backward(
        (left, right),
        "bhsd",
        scale,
        q=q,
        k=k,
        v=v,
        do=do,
        lse=lse,
        dq=dq,
        dk=dk,
        dv=dv,
        delta=delta_of(do, o, lse, dlse),
    )
    return dq, dk, dv


implement(NAME, "CUDA")(launch_of_both)


@implement(NAME, "fake")
def _fake(
    do: Any, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *_: Any
) -> tuple[torch.Tensor, ...]:
    return torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)


@implement(NAME, "vmap")
def _vmap(info: Any, in_dims: tuple[Any, ...], *arguments: Any) -> Any:
    return unfold(info.batch_size, gradients(*fold(info.batch_size, in_dims, arguments))), (0, 0, 0)


gradients = getattr(torch.ops, SPACE).attention_backward.default


def opaque(function: type[torch.autograd.Function]) -> Callable[..., Any]:
    """What applies a function in programs that Dynamo compiles, and is a call to it. It would
    make a graph of the function, and keep what that saves for the backward pass without looking
    whether it is as it was: with `o.mul_(gate)` behind attention gradients would be wrong in
    silence. Autograd keeps tensors of a call, and says what it says in eager mode."""

    @torch.compiler.allow_in_graph
    def apply(*given: Any) -> Any:
        return function.apply(*given)

    return apply


class FirstDerivatives(torch.autograd.Function):
    """Where a graph of the backward pass is made: a pass back through it is told that there is
    nothing."""

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *_: Any) -> Any:
        raise RuntimeError(
            "dash_attn.attention has first derivatives only; for second ones take PyTorch's"
            " SDPBackend.MATH"
        )


def fold(count: int, dims: Sequence[int | None], arguments: Sequence[Any]) -> list[Any]:
    """vmap's dimension becomes part of the batch of tensors; other arguments stay."""
    return [
        _fold_one(count, dim, one) if isinstance(one, torch.Tensor) else one
        for dim, one in zip(dims, arguments)
    ]


def _fold_one(count: int, dim: int | None, tensor: torch.Tensor) -> torch.Tensor:
    whole = tensor.expand(count, *tensor.shape) if dim is None else tensor.movedim(dim, 0)
    return whole.reshape(-1, *whole.shape[2:])


def unfold(count: int, tensors: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    return tuple(tensor.unflatten(0, (count, -1)) for tensor in tensors)
