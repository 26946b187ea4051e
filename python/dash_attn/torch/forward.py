"""The operator dash::attention_forward, of batches and of packed sequences, with and without a
sink and a softcap: o and the LSE at level `row`. What PyTorch knows of it, for eager calls,
compiled programs and vmap."""

from __future__ import annotations

from typing import Any

import torch

from ..kernel.launch import Launch
from ..kernel.problem import PACKED, Window, demand, refusal_of_scale
from ..kernel.workspace import PER_THREAD
from . import pieces
from .kernels import MOST_LAUNCHES, forward_of, kernel_of, launches
from .operator import fold, unfold
from .problem import coverage_of, is_readable, signature
from .registry import SPACE, define, implement

NAME = f"{SPACE}::attention_forward"
define(
    NAME,
    "(Tensor q, Tensor k, Tensor v, int left, int right, float scale, float softcap=0.,"
    " Tensor? sink=None, Tensor? cu_seqlens_q=None, Tensor? cu_seqlens_k=None, int cut=0,"
    ' str rules="")'
    " -> (Tensor, Tensor)",
)
SINK = 7  # its place among the arguments, in front of both offsets


def launch_forward(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    left: int,
    right: int,
    scale: float,
    softcap: float = 0.0,
    sink: torch.Tensor | None = None,
    cu_q: torch.Tensor | None = None,
    cu_k: torch.Tensor | None = None,
    cut: int = 0,
    rules: str = "",
    out: torch.Tensor | None = None,
    clears_rows: bool = True,
) -> tuple[torch.Tensor, torch.Tensor]:
    """What the operator does: o, of q's layout with the head dim of v, and the LSE, float32 of
    [batch, heads, rows], on the current stream.

    softcap: 0 for none; sink: [heads] of float32. cu_q, cu_k: offsets of packed sequences; then
    the LSE is [heads, rows], rows outside of all sequences are 0 in o and -inf in the LSE, and
    cu_k is cu_q if None. cut: rows of pieces of keys, 0 where they are not cut. rules: of the mask
    beside its window, as `masks.rules_of` says them. out: memory for o. clears_rows: without, rows
    of `out` outside of all sequences stay as they are. Raises ArgumentError before anything is
    launched.
    """
    if not scale > 0:  # which a compiled program may have as a number that varies
        demand(refusal_of_scale(scale))
    o, lse = outputs(q, k, v, cu_q, out)
    if cu_q is not None:
        if not clears_rows:
            lse.fill_(-torch.inf)
        tensors = {"cu_seqlens_q": cu_q, "cu_seqlens_kv": cu_q if cu_k is None else cu_k}
        tensors |= {"q": q, "k": k, "v": v, "o": o, "lse": lse, "sink": sink}
        pieces.forward((left, right), PACKED, scale, softcap, cut, rules, clears_rows, **tensors)
        return o, lse
    device = q.device.index
    stream = torch._C._cuda_getCurrentRawStream(device)
    seen = signature(q, k, v) if sink is None else signature(q, k, v, sink)
    steps = None if out is None else out.stride()
    key = (NAME, seen, left, right, softcap, cut, rules, stream, device, steps)
    try:
        found = launches[key]  # none has a `seen` of None
    except KeyError:
        found = _prepare(q, k, v, o, lse, sink, (left, right), softcap, cut, rules, scale, stream)
        # what is refused has no context
        if seen is not None and stream != PER_THREAD and found[0] is not None:
            if len(launches) >= MOST_LAUNCHES:
                launches.clear()
            launches[key] = found
    ready, odd = found
    addresses = (q.data_ptr(), k.data_ptr(), v.data_ptr(), o.data_ptr(), lse.data_ptr())
    if ready is None or (addresses[0] | addresses[1] | addresses[2] | addresses[3]) & odd:
        tensors = {"q": q, "k": k, "v": v, "o": o, "lse": lse, "sink": sink}
        pieces.forward((left, right), "bhsd", scale, softcap, cut, rules, **tensors)
    else:
        ready.run_with(addresses if sink is None else (*addresses, sink.data_ptr()), scale)
    return o, lse


def _prepare(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    o: torch.Tensor,
    lse: torch.Tensor,
    sink: torch.Tensor | None,
    window: Window,
    softcap: float,
    cut: int,
    rules: str,
    scale: float,
    stream: int,
) -> tuple[Launch | None, int]:
    """What launches tensors of these shapes and strides, None where they are no single launch,
    and which bits of addresses must not be set."""
    coverage = coverage_of(q, k, v)
    if not pieces.is_whole(q, k, "bhsd", coverage) or not all(map(is_readable, (q, k, v, o))):
        return None, 0
    rest = {"softcap": softcap, "has_sink": sink is not None, "cut": cut, "rules": rules}
    kernel = kernel_of(forward_of(q, k, v, window, "bhsd", **rest))
    launch = kernel.bind_forward(q, k, v, o, lse, sink=sink, scale=scale, stream=stream)
    return launch, coverage.alignment - 1


def outputs(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    cu_q: torch.Tensor | None,
    out: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Memory for o and the LSE. out: that for o, where there is some."""
    if cu_q is not None:
        o = q.new_empty((*q.shape[:2], v.shape[2])) if out is None else out
        return o, q.new_empty((q.shape[1], q.shape[0]), dtype=torch.float32)
    if out is not None:
        o = out
    elif q.shape[3] == v.shape[3]:
        o = torch.empty_like(q)
    else:
        batch, heads, rows, _ = q.shape
        is_turned = q.stride(2) > q.stride(1)  # [batch, rows, heads, head_dim], seen as ours
        sizes = (batch, rows, heads) if is_turned else (batch, heads, rows)
        o = q.new_empty((*sizes, v.shape[3]))
        o = o.transpose(1, 2) if is_turned else o
    return o, q.new_empty(q.shape[:3], dtype=torch.float32)


implement(NAME, "CUDA")(launch_forward)


@implement(NAME, "fake")
def _fake(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    left: Any,
    right: Any,
    scale: Any,
    softcap: Any = 0.0,
    sink: Any = None,
    cu_q: Any = None,
    *_: Any,
) -> tuple[torch.Tensor, torch.Tensor]:
    return outputs(q, k, v, cu_q)


@implement(NAME, "vmap")
def of_batches(info: Any, in_dims: tuple[Any, ...], *arguments: Any) -> Any:
    """vmap's dimension becomes part of the batch."""
    found = forward_operator(*fold(info.batch_size, in_dims, arguments, SINK))
    return unfold(info.batch_size, found), (0, 0)


forward_operator = getattr(torch.ops, SPACE).attention_forward.default
