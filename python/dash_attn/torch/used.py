"""Sequences of which only the first rows are used. How many is on the device, and the host does not
read it.

Each becomes three packed sequences: what is used; the rest of q, which has no keys; and the rest of
k, which has no queries. Kernels give zeros for the last two whatever stands there, and an LSE of
-inf. Nothing else of a launch changes, so the bits are those of packed sequences.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from ..kernel import sequences
from ..kernel.coverage import limits
from ..kernel.problem import PACKED, Window
from ..kernel.sequences import PARTS_OF_USED
from .problem import (
    Lengths,
    dtype_of,
    refusal_of_device_of,
    refusal_of_form,
    refusal_of_kind,
    refusal_of_offsets,
    refusal_of_plain,
    refusal_of_problem,
)


class Used(NamedTuple):
    """How many rows of q, and of k and v, each sequence uses, [sequences] of int32; None is all."""

    q: Any = None
    k: Any = None

    @property
    def are_given(self) -> bool:
        return self.q is not None or self.k is not None


ALL_USED = Used()


def refusal_of_used(
    q: Any, k: Any, v: Any, layout: str, lengths: Lengths, used: Used, window: Window
) -> str | None:
    """Why no kernel serves these sequences. The numbers are on the device: those below 0 count as
    0, and those above a sequence's rows as its rows."""
    if reason := refusal_of_plain(q, "seqused") or refusal_of_form(q, k, v, layout):
        return reason
    if lengths.are_given and (reason := refusal_of_offsets(q, lengths)):
        return reason
    count = lengths.cu_q.shape[0] - 1 if lengths.are_given else q.shape[0]
    for name, numbers in (("seqused_q", used.q), ("seqused_k", used.k)):
        if numbers is None:
            continue
        reason = (
            refusal_of_kind(name, numbers)
            or refusal_of_device_of(name, numbers, q)
            or sequences.refusal_of_used(
                name, dtype_of(numbers), numbers.shape, count, "cast it by .int()"
            )
        )
        if reason:
            return reason
    if count > (most := limits().sequences // PARTS_OF_USED):
        return sequences.refusal_of_many(count, most)
    shapes = [_shape_of_list(one, layout) for one in (q, k, v)]
    return refusal_of_problem(*shapes, PACKED, window, PARTS_OF_USED * count)


def refusal_of_numbers(
    q: torch.Tensor, k: torch.Tensor, layout: str, lengths: Lengths, used: Used
) -> str | None:
    """Why these numbers make no sense; waits for the device."""
    cu_k = lengths.cu_q if lengths.cu_k is None else lengths.cu_k
    for name, tensor, offsets, numbers in (
        ("q", q, lengths.cu_q, used.q),
        ("k", k, cu_k, used.k),
    ):
        if numbers is not None:
            rows = (
                offsets.diff().tolist()
                if lengths.are_given
                else [tensor.shape[layout.index("s")]] * tensor.shape[0]
            )
            if reason := sequences.refusal_of_used_numbers(name, numbers.tolist(), rows):
                return reason
    return None


def in_list(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, layout: str, lengths: Lengths, used: Used
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, Lengths]:
    """All as packed sequences, with their offsets: views where memory is [batch, rows, heads,
    head_dim], else copies."""
    cu_q, cu_k, max_q, max_k = lengths
    if not lengths.are_given:
        batch, max_q, max_k = q.shape[0], *(one.shape[layout.index("s")] for one in (q, k))
        cu_q, cu_k = (
            torch.arange(batch + 1, dtype=torch.int32, device=q.device) * rows
            for rows in (max_q, max_k)
        )
    elif cu_k is None:
        cu_k, max_k = cu_q, max_q if max_k is None else max_k
    offsets = _cut(cu_q, used.q, is_of_q=True), _cut(cu_k, used.k, is_of_q=False)
    q, k, v = (_list_of(one, layout) for one in (q, k, v))
    return q, k, v, Lengths(*offsets, max_q, max_k)


def out_of_list(
    o: torch.Tensor,
    lse: torch.Tensor,
    layout: str,
    batch: int,
    of_rest: torch.Tensor | None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """o and the LSE as `attention` has them. of_rest: the offsets of q where rows that are not
    used may have another LSE than -inf: a sink's, if that is all that they see, or the +inf of
    FlashAttention. Then o and the LSE are filled there, and their gradients reach nothing."""
    if of_rest is not None:
        rows = torch.arange(o.shape[0], dtype=torch.int32, device=o.device)
        is_rest = torch.bucketize(rows, of_rest, out_int32=True, right=True) % PARTS_OF_USED == 2
        o = o.masked_fill(is_rest[:, None, None], 0)
        lse = lse.masked_fill(is_rest, -torch.inf)
    if layout == PACKED:
        return o, lse
    o = o.unflatten(0, (batch, -1))
    o = o.transpose(1, 2) if layout == "bhsd" else o
    return o, lse.unflatten(1, (batch, -1)).transpose(0, 1)


def _list_of(tensor: torch.Tensor, layout: str) -> torch.Tensor:
    if layout == PACKED:
        return tensor
    return (tensor.transpose(1, 2) if layout == "bhsd" else tensor).flatten(0, 1)


def _shape_of_list(tensor: torch.Tensor, layout: str) -> tuple[Any, ...]:
    if layout == PACKED:
        return tuple(tensor.shape)
    heads, rows = layout.index("h"), layout.index("s")
    return tensor.shape[0] * tensor.shape[rows], tensor.shape[heads], tensor.shape[3]


def _cut(offsets: torch.Tensor, used: torch.Tensor | None, is_of_q: bool) -> torch.Tensor:
    """Offsets of three sequences for each: of what is used, of the rest of q, of that of k."""
    begin, end = offsets[:-1], offsets[1:]
    middle = end if used is None else torch.clamp(begin + used, begin, end)
    each = torch.stack((begin, middle, end if is_of_q else middle), 1)
    return torch.cat((each.flatten(), offsets[-1:]))
