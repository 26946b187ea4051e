"""Why a call of `attention` is refused. The order of all checks is here, for `attention` and
`explain`."""

from __future__ import annotations

from operator import index
from typing import Any, NamedTuple

import torch

from ..kernel.coverage import UNKNOWN, ask
from ..kernel.masks import refusal_of_mask, refusal_of_rules, rules_of
from ..kernel.problem import DASH, LAYOUTS, PACKED, Window, refusal_of, sides_of
from ..kernel.unrounded import ROUNDED, refusal_of_delta
from .problem import (
    NO_LENGTHS,
    Lengths,
    is_sharded,
    refusal_of_device,
    refusal_of_foreign,
    refusal_of_numbers,
    refusal_of_options,
    refusal_of_sequences,
    refusal_of_tensors,
)
from .sharding import refusal_of_sharding
from .sinks import refusal_of_sink
from .used import ALL_USED, Used, refusal_of_used
from .used import refusal_of_numbers as refusal_of_used_numbers


class Call(NamedTuple):
    """The arguments of `attention`; numbers are plain, as `plain` and `plain_options` make them."""

    q: Any
    k: Any
    v: Any
    causal: Any
    window: Any
    scale: Any
    softcap: Any
    level: Any
    forward: Any
    layout: Any
    cut: Any = None
    sink: Any = None
    lengths: Lengths = NO_LENGTHS
    used: Used = ALL_USED
    mask: Any = None
    delta: Any = ROUNDED

    @property
    def sides(self) -> Window:
        """The columns that rows see; of a call whose options are not refused."""
        return sides_of(self.causal, self.window, self.mask)

    @property
    def rules(self) -> str:
        """What the mask hides beside these; of such a call."""
        return "" if self.mask is None else rules_of(self.mask)

    @property
    def layout_of_tensors(self) -> str:
        return PACKED if self.lengths.are_given else self.layout or LAYOUTS[0]


def refusal_of_call(call: Call, *, reads_offsets: bool = False) -> str | None:
    """The first reason against a call, or None: options, tensors, the forward pass, the device.

    reads_offsets: also looks at the numbers in offsets of packed sequences and in lengths that
    are used, and waits for the device.
    """
    reason = refusal_of_mask(call.mask, call.causal, call.window) or refusal_of_options(
        call[3:11], call.lengths, call.used.are_given
    )
    if reason:
        return reason
    if call.used.are_given:
        reason = _of_used(call, reads_offsets)
    elif call.lengths.are_given:
        reason = _of_sequences(call, reads_offsets)
    else:
        reason = _of_batch(call)
    reason = reason or _of_mask(call) or _of_cut(call) or _of_delta(call)
    return reason or refusal_of_device(call.q.device.index)


def _of_mask(call: Call) -> str | None:
    if not call.rules:
        return None
    if call.forward != DASH:
        return (
            "mask: no forward pass of PyTorch has unions and bitmaps; leave out"
            f' forward="{call.forward}"'
        )
    layout = call.layout_of_tensors
    is_list = call.lengths.are_given or call.used.are_given
    rows = UNKNOWN, UNKNOWN
    if call.mask.blocks is not None and not is_list:
        # of stated rows: a program that is being traced serves these alone
        rows = tuple(index(one.shape[layout.index("s")]) for one in (call.q, call.k))
    columns = index(call.q.shape[-1]), index(call.v.shape[-1])
    return refusal_of_rules(call.mask, *columns, is_list, *rows)


def _of_cut(call: Call) -> str | None:
    if call.cut is None:
        return None
    columns = {"head_dim": call.q.shape[-1], "head_dim_v": call.v.shape[-1]}
    return refusal_of(ask(cut=call.cut, **columns))


def _of_delta(call: Call) -> str | None:
    is_foreign = call.forward != DASH
    return refusal_of_delta(call.delta, is_foreign, "PyTorch", call.cut, is_sharded(call.q))


def _of_sequences(call: Call, reads_offsets: bool) -> str | None:
    reason = refusal_of_sequences(
        call.q, call.k, call.v, call.lengths, call.sides
    ) or refusal_of_sink(call.sink, call.q, call.v, PACKED)
    return reason or (refusal_of_numbers(call.q, call.k, call.lengths) if reads_offsets else None)


def _of_used(call: Call, reads_offsets: bool) -> str | None:
    q, k, v, lengths, used = call.q, call.k, call.v, call.lengths, call.used
    layout = call.layout_of_tensors
    reason = refusal_of_used(q, k, v, layout, lengths, used, call.sides) or refusal_of_sink(
        call.sink, q, v, layout
    )
    if reason or not reads_offsets:
        return reason
    return (
        refusal_of_numbers(q, k, lengths) if lengths.are_given else None
    ) or refusal_of_used_numbers(q, k, layout, lengths, used)


def _of_batch(call: Call) -> str | None:
    layout = call.layout_of_tensors
    reason = refusal_of_tensors(call.q, call.k, call.v, layout, call.sides)
    if reason is None and call.forward != DASH:
        reason = refusal_of_foreign(call.q, call.k, call.sides, layout)
    if reason is None and not torch.compiler.is_dynamo_compiling():  # which traces local tensors
        reason = refusal_of_sharding(call.q, call.k, layout)
    return reason or refusal_of_sink(call.sink, call.q, call.v, layout)
