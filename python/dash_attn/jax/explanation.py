"""What `attention` would do with its arguments, and why."""

from __future__ import annotations

from typing import Any

import jax

from ..kernel.explanation import Explanation, said_of
from ..kernel.problem import DASH, PACKED, level_of_gradients
from ..kernel.runtime import Kernel
from ..kernel.sequences import PARTS_OF_USED
from ..kernel.unrounded import ROUNDED
from .foreign import operator_of_forward
from ..kernel.tasks import slices_of_gradients
from .kernels import forward_of, kernel_of, order_of, parts_of, wanted_of
from .problem import Options
from .refusal import refusal_of_call
from .used import count_of, shape_of_list


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
    seqused_q: Any = None,
    seqused_k: Any = None,
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
    of packed sequences, and how many rows are used, so it also reports mistakes in them. Never
    raises: arguments that cannot be inspected are a refusal too."""
    lengths = cu_seqlens_q, cu_seqlens_k
    try:
        rest = level, forward, layout, lengths, (seqused_q, seqused_k), cut, delta
        options = Options.of(causal, window, scale, softcap, *rest)
        return _explained(q, k, v, sink, options)
    except Exception as error:
        return Explanation(said_of(error))


def _explained(q: Any, k: Any, v: Any, sink: Any, options: Options) -> Explanation:
    reason = refusal_of_call(q, k, v, sink, options, reads_offsets=True)
    if reason:
        return Explanation(reason)
    layout, count = options.layout, 0
    if options.is_packed or options.is_used:
        count = count_of(q, options)
    if options.is_used:
        layout, count = PACKED, PARTS_OF_USED * count
        q, k, v = (
            jax.ShapeDtypeStruct(shape_of_list(one, options.layout), one.dtype) for one in (q, k, v)
        )
    parts = parts_of(q, k, v, layout)
    alike = dict.fromkeys(parts)
    asked = options.sides, layout
    level = level_of_gradients(options.level)
    rest = {"has_sink": sink is not None, "softcap": float(options.softcap)}
    rest |= {"is_unrounded": options.is_unrounded}
    of_forward = rest | {"cut": options.cut or 0}
    forward: str | list[Kernel] = operator_of_forward(sink is not None)
    if options.forward == DASH:
        forward = [kernel_of(forward_of(*part, *asked, count, **of_forward)) for part in alike]
    slices = []
    if layout != PACKED:
        wanted = wanted_of(q, v, options.sides, level=level, **rest)
        slices = slices_of_gradients(wanted, q.shape, k.shape, v.shape, layout)
    unlike = dict.fromkeys(parts_of(q, k, v, layout, slices))
    ordered = [order_of(*part, *asked, level=level, **rest) for part in unlike]
    return Explanation.of(
        forward,
        [kernel_of(kernel) for one in ordered for kernel in one.kernels],
        ordered[0].predicted,
        len(parts),
    )
