"""Why a call of `attention` is refused. The order of all checks is here, for `attention` and
`explain`."""

from __future__ import annotations

from typing import Any

from ..kernel.problem import window_of
from .problem import refusal_of_arrays, refusal_of_device, refusal_of_forward, refusal_of_options
from .sinks import refusal_of_sink


def refusal_of_call(
    q: Any,
    k: Any,
    v: Any,
    causal: Any,
    window: Any,
    scale: Any,
    cu_seqlens: tuple[Any, Any],
    sink: Any,
    level: Any,
    layout: Any,
) -> str | None:
    """The first reason against a call with plain options, or None: options, arrays, the forward
    pass, the sink, the device."""
    reason = refusal_of_options(causal, window, scale, cu_seqlens, level, layout)
    if reason:
        return reason
    sides = window_of(causal, window)
    return (
        refusal_of_arrays(q, k, v, layout, sides)
        or refusal_of_forward(q, k, v, sides, layout)
        or refusal_of_sink(sink, q, layout)
        or refusal_of_device()
    )
