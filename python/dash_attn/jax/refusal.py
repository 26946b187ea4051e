"""Why a call of `attention` is refused. The order of all checks is here, for `attention` and
`explain`."""

from __future__ import annotations

from typing import Any

from ..kernel.coverage import ask
from ..kernel.problem import DASH, refusal_of
from .foreign import refusal_of_foreign
from .problem import (
    Options,
    refusal_of_arrays,
    refusal_of_device,
    refusal_of_numbers,
    refusal_of_options,
)
from .sinks import refusal_of_sink
from .used import refusal_of_numbers as refusal_of_used_numbers
from .used import refusal_of_used


def refusal_of_call(
    q: Any, k: Any, v: Any, sink: Any, options: Options, *, reads_offsets: bool = False
) -> str | None:
    """The first reason against a call, or None: options, arrays, the forward pass, the sink, the
    device.

    reads_offsets: also looks at the numbers in offsets of packed sequences and in lengths that are
    used, and waits for the device.
    """
    if reason := refusal_of_options(options):
        return reason
    sides, layout = options.sides, options.layout
    if options.is_used:
        reason = refusal_of_used(q, k, v, options)
    else:
        cu_seqlens = options.cu_seqlens if options.is_packed else ()
        reason = refusal_of_arrays(q, k, v, layout, sides, cu_seqlens)
    if reason is None and options.forward != DASH:
        reason = refusal_of_foreign(q, k, v, sides, layout, options.is_used)
    reason = reason or refusal_of_sink(sink, q, v, layout)
    if reason is None and options.cut is not None:
        columns = {"head_dim": q.shape[-1], "head_dim_v": v.shape[-1]}
        reason = refusal_of(ask(cut=options.cut, **columns))
    if reason is None and reads_offsets:
        reason = refusal_of_numbers(q, k, options.offsets)
        reason = reason or refusal_of_used_numbers(q, k, options)
    return reason or refusal_of_device()
