"""What `attention` would do with its arguments, and why."""

from __future__ import annotations

from typing import Any

import torch

from ..kernel.explanation import Explanation, said_of
from ..kernel.problem import LAYOUTS, NAMES, Window, plain, plain_options, slices_of
from . import pieces
from .forward import operator_of_forward
from .kernels import kernel_for, kernel_of, order_of
from .problem import Lengths
from .refusal import Call, refusal_of_call
from .sequences import operator_of_forward as operator_of_lists


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
    max_seqlen_q: Any = None,
    max_seqlen_k: Any = None,
    sink: Any = None,
    level: str = "run",
    layout: str | None = None,
) -> Explanation:
    """Explains a call of `attention` with these arguments, without computing or refusing
    anything: print the result. May compile the kernel. Unlike `attention`, it reads the offsets
    of packed sequences, so it also reports mistakes in them. Never raises: arguments that cannot
    be inspected are a refusal too."""
    lengths = cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k
    try:
        return _explained(q, k, v, causal, window, scale, lengths, sink, level, layout)
    except Exception as error:
        return Explanation(said_of(error))


def _explained(
    q: Any,
    k: Any,
    v: Any,
    causal: Any,
    window: Any,
    scale: Any,
    given: tuple[Any, ...],
    sink: Any,
    level: Any,
    layout: Any,
) -> Explanation:
    causal, window, scale = plain_options(causal, window, scale)
    lengths = Lengths(*given[:2], *map(plain, given[2:]))
    call = Call(q, k, v, causal, window, scale, level, layout, sink, lengths)
    reason = refusal_of_call(call, reads_offsets=True)
    if reason:
        return Explanation(reason)
    sides, has_sink = call.sides, sink is not None
    its_part = ", and the part of the sink" * has_sink
    if lengths.are_given:
        return Explanation.of(
            operator_of_lists(q.shape[2], v.shape[2]) + its_part,
            [kernel_for((q.shape[2], v.shape[2]), q.dtype, sides, level, has_sink=has_sink)],
        )
    return _of_batch(
        operator_of_forward(sides, q.shape[3], v.shape[3]) + its_part,
        (q, k, v),
        sides,
        layout or LAYOUTS[0],
        has_sink,
    )


def _of_batch(
    forward: str,
    tensors: tuple[torch.Tensor, torch.Tensor, torch.Tensor],
    sides: Window,
    layout: str,
    has_sink: bool,
) -> Explanation:
    which = slices_of(*(tensor.shape for tensor in tensors), layout)
    parts = [
        [pieces.cut(name, tensor, one, layout) for name, tensor in zip(NAMES, tensors)]
        for one in which
    ]
    alike = {tuple(tensor.shape for tensor in part): part for part in parts}
    ordered = [order_of(*part, sides, layout, has_sink=has_sink) for part in alike.values()]
    return Explanation.of(
        forward, [kernel_of(one.wanted) for one in ordered], ordered[0].predicted, len(which)
    )
