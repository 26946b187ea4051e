"""What `attention` would do with its arguments, and why."""

from __future__ import annotations

from typing import Any

from ..kernel.explanation import Explanation, said_of
from ..kernel.problem import (
    DASH,
    NAMES,
    PACKED,
    level_of_gradients,
    plain,
    plain_options,
    slices_of,
)
from ..kernel.runtime import Kernel
from ..kernel.tasks import slices_of_gradients
from ..kernel.unrounded import ROUNDED, UNROUNDED
from . import pieces
from .foreign import operator_of_forward
from .kernels import forward_of, kernel_of, kernels_for, order_of, wanted_of
from .problem import Lengths
from .refusal import Call, refusal_of_call
from .used import Used, in_list


def explain(
    q: Any,
    k: Any,
    v: Any,
    *,
    causal: bool = False,
    window: tuple[int, int] | None = None,
    mask: Any = None,
    scale: float | None = None,
    cu_seqlens_q: Any = None,
    cu_seqlens_k: Any = None,
    max_seqlen_q: Any = None,
    max_seqlen_k: Any = None,
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
    lengths = cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k
    try:
        causal, window, scale = plain_options(causal, window, scale)
        given = Lengths(*lengths[:2], *map(plain, lengths[2:]))
        options = causal, window, scale, plain(softcap), level, forward, layout, plain(cut)
        used = Used(seqused_q, seqused_k)
        return _explained(Call(q, k, v, *options, sink, given, used, mask, delta))
    except Exception as error:
        return Explanation(said_of(error))


def _explained(call: Call) -> Explanation:
    reason = refusal_of_call(call, reads_offsets=True)
    if reason:
        return Explanation(reason)
    q, k, v = call.q, call.k, call.v
    rest = {"has_sink": call.sink is not None, "softcap": float(call.softcap)}
    rest |= {"rules": call.rules}
    level = level_of_gradients(call.level)
    rest |= {"is_unrounded": call.delta == UNROUNDED}
    of_forward = rest | {"cut": call.cut or 0}
    is_list = call.lengths.are_given or call.used.are_given
    forward: str | list[Kernel] = ""
    if call.forward != DASH:
        forward = operator_of_forward(
            call.sides, q.shape[-1], v.shape[-1], is_list
        ) + ", and the part of the sink" * (call.sink is not None)
    if is_list:
        lengths = call.lengths
        if call.used.are_given:
            q, k, v, lengths = in_list(q, k, v, call.layout_of_tensors, lengths, call.used)
        if call.forward == DASH:
            forward = [
                kernel_of(forward_of(q, k, v, call.sides, PACKED, lengths.cu_q, **of_forward))
            ]
        head_dims = q.shape[2], v.shape[2]
        return Explanation.of(forward, kernels_for(head_dims, q.dtype, call.sides, level, **rest))
    layout = call.layout_of_tensors
    which = slices_of(*(tensor.shape for tensor in (q, k, v)), layout)
    parts = [
        [pieces.cut(name, tensor, one, layout) for name, tensor in zip(NAMES, (q, k, v))]
        for one in which
    ]
    alike = {tuple(tensor.shape for tensor in part): part for part in parts}.values()
    if call.forward == DASH:
        forward = [kernel_of(forward_of(*part, call.sides, layout, **of_forward)) for part in alike]
    wanted = wanted_of(q, v, call.sides, level=level, **rest)
    shapes = [tensor.shape for tensor in (q, k, v)]
    of_gradients = [
        [pieces.cut(name, tensor, one, layout) for name, tensor in zip(NAMES, (q, k, v))]
        for one in slices_of_gradients(wanted, *shapes, layout)
    ]
    unlike = {tuple(tensor.shape for tensor in part): part for part in of_gradients}.values()
    ordered = [order_of(*part, call.sides, layout, level=level, **rest) for part in unlike]
    return Explanation.of(
        forward,
        [kernel_of(kernel) for one in ordered for kernel in one.kernels],
        ordered[0].predicted,
        len(which),
    )
