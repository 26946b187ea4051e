"""What `attention` would do with its arguments, and why."""

from __future__ import annotations

from typing import Any

from ..kernel.explanation import Explanation, said_of
from ..kernel.problem import DASH, level_of_gradients
from ..kernel.runtime import Kernel
from ..kernel.unrounded import ROUNDED
from .foreign import operator_of_forward
from .kernels import forward_of, kernel_of, order_of, parts_of
from .problem import Options
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
    softcap: float = 0.0,
    level: str = "run",
    forward: str = DASH,
    layout: str | None = None,
    cut: int | None = None,
    delta: str = ROUNDED,
) -> Explanation:
    """Explains a call of `attention` with these arguments, without computing or refusing
    anything: print the result. May compile the kernel. Unlike `attention`, it reads the offsets
    of packed sequences, so it also reports mistakes in them. Never raises: arguments that cannot
    be inspected are a refusal too."""
    lengths = cu_seqlens_q, cu_seqlens_k
    try:
        rest = level, forward, layout, lengths, cut, delta
        options = Options.of(causal, window, scale, softcap, *rest)
        return _explained(q, k, v, sink, options)
    except Exception as error:
        return Explanation(said_of(error))


def _explained(q: Any, k: Any, v: Any, sink: Any, options: Options) -> Explanation:
    reason = refusal_of_call(q, k, v, sink, options, reads_offsets=True)
    if reason:
        return Explanation(reason)
    parts = parts_of(q, k, v, options.layout)
    alike = dict.fromkeys(parts)
    asked = options.sides, options.layout
    level = level_of_gradients(options.level)
    rest = {"has_sink": sink is not None, "softcap": float(options.softcap)}
    rest |= {"is_unrounded": options.is_unrounded}
    of_forward = rest | {"cut": options.cut or 0}
    forward: str | list[Kernel] = operator_of_forward(sink is not None)
    if options.forward == DASH:
        count = options.offsets[0].shape[0] - 1 if options.is_packed else 0
        forward = [kernel_of(forward_of(*part, *asked, count, **of_forward)) for part in alike]
    ordered = [order_of(*part, *asked, level=level, **rest) for part in alike]
    return Explanation.of(
        forward,
        [kernel_of(kernel) for one in ordered for kernel in one.kernels],
        ordered[0].predicted,
        len(parts),
    )
