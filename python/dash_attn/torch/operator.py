"""The operator dash::attention_backward: what PyTorch knows of it, for eager calls, compiled programs and vmap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ..launch import Launch
from ..problem import Window
from ..workspace import PER_THREAD
from .kernels import MOST_LAUNCHES, kernel_of, launches, order_of
from .problem import is_steppable, signature
from .registry import define, implement

# The package may be there twice, once under another name, from Hugging Face's hub; names of operators are one process's.
PACKAGE = __name__.partition(".")[0]
SPACE = "dash" if PACKAGE == "dash_attn" else PACKAGE
NAME = f"{SPACE}::attention_backward"
define(NAME, "(Tensor do, Tensor q, Tensor k, Tensor v, Tensor o, Tensor lse, int left, int right, float scale) "
             "-> (Tensor, Tensor, Tensor)")


def launch(do: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, o: torch.Tensor, lse: torch.Tensor, left: int, right: int,
           scale: float, layout: str = "bhsd") -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """dq, dk and dv on the current stream. Raises ArgumentError before anything is written."""
    device = q.device.index
    stream = torch._C._cuda_getCurrentRawStream(device)
    dq, dk, dv = torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)
    seen = signature(q, k, v, do, o, lse)
    key = (seen, left, right, layout, stream, device)  # that the others are there, too, is looked at for each launch
    try:
        found = launches[key]  # none has a `seen` of None
    except KeyError:
        found = None
    if found is None:  # what is refused has no context
        found = _prepare(do, q, k, v, o, lse, dq, dk, dv, (left, right), layout, stream)
        if seen is not None and stream != PER_THREAD:
            if len(launches) >= MOST_LAUNCHES:
                launches.clear()
            launches[key] = found
    ready, is_copied = found
    if is_copied:
        do = do.contiguous()
    ready.run_with((q.data_ptr(), k.data_ptr(), v.data_ptr(), do.data_ptr(), o.data_ptr(), lse.data_ptr(), dq.data_ptr(), dk.data_ptr(),
                    dv.data_ptr()), scale)
    return dq, dk, dv


def _prepare(do: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, o: torch.Tensor, lse: torch.Tensor, dq: torch.Tensor,
             dk: torch.Tensor, dv: torch.Tensor, window: Window, layout: str, stream: int) -> tuple[Launch, bool]:
    """What launches tensors of these shapes and strides, and whether do is copied for it."""
    is_copied = not is_steppable(do)  # expanded, as that of a sum is, or transposed: nobody chose that
    kernel = kernel_of(order_of(q, k, window, layout).wanted)
    of_rows = lse[..., 0] if lse.shape[3:] == (1,) else lse  # as cuDNN has it
    return kernel.bind(q, k, v, do.contiguous() if is_copied else do, o, of_rows, dq, dk, dv, layout=layout, stream=stream), is_copied


implement(NAME, "CUDA")(launch)


@implement(NAME, "fake")
def _fake(do: Any, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *_: Any) -> tuple[torch.Tensor, ...]:
    return torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)


@implement(NAME, "vmap")
def _vmap(info: Any, in_dims: tuple[Any, ...], *arguments: Any) -> Any:
    folded = fold(info.batch_size, in_dims[:6], arguments[:6])
    return unfold(info.batch_size, gradients(*folded, *arguments[6:])), (0, 0, 0)


gradients = getattr(torch.ops, SPACE).attention_backward.default


class FirstDerivatives(torch.autograd.Function):
    """Where a graph of the backward pass is made: who goes back through it is told that there is nothing."""

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *_: Any) -> Any:
        raise RuntimeError("dash_attn.attention has first derivatives only; for second ones take PyTorch's SDPBackend.MATH")


def fold(count: int, dims: Sequence[int | None], tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """vmap's dimension becomes part of the batch."""
    whole = [tensor.expand(count, *tensor.shape) if dim is None else tensor.movedim(dim, 0) for dim, tensor in zip(dims, tensors)]
    return [tensor.reshape(-1, *tensor.shape[2:]) for tensor in whole]


def unfold(count: int, tensors: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    return tuple(tensor.unflatten(0, (count, -1)) for tensor in tensors)

