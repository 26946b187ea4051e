"""What `attention` would do with its arguments, and why."""

from __future__ import annotations

from typing import Any

import jax

from ..kernel.explanation import Explanation, said_of
from ..kernel.problem import plain_options, window_of
from .operator import kernel_of, orders_of
from .refusal import refusal_of_call


def explain(
    q: Any,
    k: Any,
    v: Any,
    *,
    causal: bool = False,
    window: tuple[int, int] | None = None,
    scale: float | None = None,
    cu_seqlens_q: Any = None,
    cu_seqlens_k: Any = None,
    sink: Any = None,
    level: str = "run",
    layout: str = "bhsd",
) -> Explanation:
    """Explains a call of `attention` with these arguments, without computing or refusing
    anything: print the result. May compile the kernel. Never raises: arguments that cannot be
    inspected are a refusal too."""
    try:
        return _explained(
            q, k, v, causal, window, scale, (cu_seqlens_q, cu_seqlens_k), sink, level, layout
        )
    except Exception as error:
        return Explanation(said_of(error))


def _explained(
    q: Any,
    k: Any,
    v: Any,
    causal: Any,
    window: Any,
    scale: Any,
    lengths: tuple[Any, Any],
    sink: Any,
    level: Any,
    layout: Any,
) -> Explanation:
    causal, window, scale = plain_options(causal, window, scale)
    reason = refusal_of_call(q, k, v, causal, window, scale, lengths, sink, level, layout)
    if reason:
        return Explanation(reason)
    has_sink = sink is not None
    ordered = orders_of(q, k, v, window_of(causal, window), layout, has_sink=has_sink)
    return Explanation.of(
        f"cuDNN's, by XLA, JAX {jax.__version__}" + ", and the part of the sink" * has_sink,
        [kernel_of(one.wanted) for one in dict.fromkeys(ordered)],
        ordered[0].predicted,
        len(ordered),
    )
