"""What `attention` would do with its arguments, and why."""

from __future__ import annotations

from typing import Any

from ..explanation import Explanation
from ..problem import LAYOUTS, PACKED, window_of
from .forward import operator_of_forward
from .kernels import kernel_for, kernel_of, order_of
from .problem import (Lengths, refusal_of_device, refusal_of_forward, refusal_of_numbers, refusal_of_options, refusal_of_sequences,
                      refusal_of_tensors)
from .sequences import operator_of_forward as operator_of_lists
from .sharding import refusal_of_sharding
from .sinks import refusal_of_sink


def explain(q: Any, k: Any, v: Any, *, causal: bool = False, window: tuple[int, int] | None = None, scale: float | None = None,
            cu_seqlens_q: Any = None, cu_seqlens_k: Any = None, max_seqlen_q: Any = None, max_seqlen_k: Any = None, sink: Any = None,
            level: str = "run", layout: str | None = None) -> Explanation:
    """Takes what `attention` takes, computes nothing, and refuses nothing: print it. May compile the kernel. Offsets of packed sequences are
    read, unlike there, so it also says what is wrong with them."""
    lengths = Lengths(cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k)
    reason = refusal_of_options(causal, window, scale, level, layout, lengths)
    if not reason and lengths.are_given:
        reason = refusal_of_sequences(q, k, v, lengths) or refusal_of_sink(sink, q, PACKED) or \
            refusal_of_numbers(q, k, lengths) or refusal_of_device(q.device.index)
    elif not reason:
        layout = layout or LAYOUTS[0]
        reason = refusal_of_tensors(q, k, v, layout) or refusal_of_forward(q, k, window_of(causal, window), layout) or \
            refusal_of_sharding(q, k, layout) or refusal_of_sink(sink, q, layout) or refusal_of_device(q.device.index)
    if reason:
        return Explanation(reason)
    sides = window_of(causal, window)
    has_sink = sink is not None
    its_part = ", and the part of the sink" * has_sink
    if lengths.are_given:
        return Explanation.of(operator_of_lists() + its_part, kernel_for(q.shape[2], q.dtype, sides, level, has_sink=has_sink))
    ordered = order_of(q, k, sides, layout, has_sink=has_sink)
    return Explanation.of(operator_of_forward(sides) + its_part, kernel_of(ordered.wanted), ordered.predicted)
