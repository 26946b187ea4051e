"""What `attention` would do with its arguments, and why."""

from __future__ import annotations

from typing import Any

import jax

from ..explanation import Explanation
from ..problem import window_of
from .operator import kernel_of, order_of
from .problem import refusal_of_arrays, refusal_of_device, refusal_of_forward, refusal_of_options
from .sinks import refusal_of_sink


def explain(q: Any, k: Any, v: Any, *, causal: bool = False, window: tuple[int, int] | None = None, scale: float | None = None,
            cu_seqlens_q: Any = None, cu_seqlens_k: Any = None, sink: Any = None, level: str = "run", layout: str = "bhsd") -> Explanation:
    """Takes what `attention` takes, computes nothing, and refuses nothing: print it. May compile the kernel."""
    reason = refusal_of_options(causal, window, scale, (cu_seqlens_q, cu_seqlens_k), level, layout) or \
        refusal_of_arrays(q, k, v, layout) or refusal_of_forward(q, k, window_of(causal, window), layout) or \
        refusal_of_sink(sink, q, layout) or refusal_of_device()
    if reason:
        return Explanation(reason)
    has_sink = sink is not None
    ordered = order_of(q, k, window_of(causal, window), layout, has_sink=has_sink)
    return Explanation.of(f"cuDNN's, by XLA, JAX {jax.__version__}" + ", and the part of the sink" * has_sink, kernel_of(ordered.wanted), ordered.predicted)
