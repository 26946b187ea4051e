"""A sink: a score of each head that takes part in the softmax and has no value, as gpt-oss has it.

No forward pass of PyTorch knows one, and none has to: exp(sink) is added to the sum of
exponentials of a row, so o shrinks by what the others have of the new sum. Kernels of a sink
take that o and the LSE of the new sum.
"""

from __future__ import annotations

from typing import Any

import torch

from ..kernel import problem
from .problem import dtype_of, is_sharded, refusal_of_kind


def refusal_of_sink(
    sink: Any, q: torch.Tensor, v: torch.Tensor, layout: str = "bhsd"
) -> str | None:
    """Why a sink is refused beside q and v that are not; None if it is not, or there is none."""
    if sink is None:
        return None
    reason = refusal_of_kind("sink", sink) or problem.refusal_of_sink(
        sink.is_floating_point(),
        dtype_of(sink),
        sink.shape,
        q.shape[layout.index("h")],
        q.shape[-1],
        v.shape[-1],
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


def with_sink(
    o: torch.Tensor, lse: torch.Tensor, sink: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """o and the LSE, [..., heads, rows, head_dim] and without the last, of a softmax that has
    the sink, too. May write to o.

    Compilers have sigmoids and logarithms of their own, whose last bits are others: only what
    they do not look into may call it."""
    logarithm = sink[:, None]
    factor = torch.sigmoid(lse - logarithm)[..., None]
    return o.mul_(factor), torch.logaddexp(lse, logarithm)
