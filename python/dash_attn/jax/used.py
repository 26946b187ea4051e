"""Sequences of which only the first rows are used. How many is an array of the program, which the
host does not read.

Each becomes three packed sequences: what is used; the rest of q, which has no keys; and the rest of
k, which has no queries. Kernels give zeros for the last two whatever stands there, and an LSE of
-inf, or that of a sink, so nothing else of a call changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..kernel import sequences
from ..kernel.coverage import limits
from ..kernel.problem import PACKED, coverage_of, refusal_of
from ..kernel.sequences import PARTS_OF_USED
from .problem import Options, refusal_of_form, refusal_of_place, refusal_of_symbols

NAMES = ("seqused_q", "seqused_k")


def refusal_of_used(q: Any, k: Any, v: Any, options: Options) -> str | None:
    """Why no kernel serves these sequences. The numbers are on the device: those below 0 count as
    0, and those above a sequence's rows as its rows."""
    cu_seqlens = options.cu_seqlens if options.is_packed else ()
    if reason := refusal_of_form(q, k, v, options.layout, cu_seqlens):
        return reason
    count = count_of(q, options)
    for name, numbers in zip(NAMES, options.used):
        if numbers is None:
            continue
        reason = refusal_of_place(name, numbers) or refusal_of_symbols(name, numbers)
        reason = reason or sequences.refusal_of_used(
            name, str(numbers.dtype), numbers.shape, count, "cast it"
        )
        if reason:
            return reason
    if count > (most := limits().sequences // PARTS_OF_USED):
        return sequences.refusal_of_many(count, most)
    shapes = [shape_of_list(one, options.layout) for one in (q, k, v)]
    parts = PARTS_OF_USED * count
    return refusal_of(coverage_of(*shapes, PACKED, window=options.sides, sequences=parts))


def refusal_of_numbers(q: Any, k: Any, options: Options) -> str | None:
    """Why these numbers make no sense; waits for the device. In a program that is being traced they
    have none yet."""
    offsets = options.offsets or (None, None)
    for name, array, of_list, numbers in zip("qk", (q, k), offsets, options.used):
        if numbers is None or any(isinstance(x, jax.core.Tracer) for x in (numbers, of_list)):
            continue
        rows = (
            [array.shape[options.layout.index("s")]] * array.shape[0]
            if of_list is None
            else np.diff(np.asarray(of_list)).tolist()
        )
        if reason := sequences.refusal_of_used_numbers(name, np.asarray(numbers).tolist(), rows):
            return reason
    return None


def count_of(q: Any, options: Options) -> int:
    """How many sequences there are."""
    return options.offsets[0].shape[0] - 1 if options.is_packed else q.shape[0]


def in_list(
    q: Any, k: Any, v: Any, options: Options
) -> tuple[tuple[Any, Any, Any], tuple[Any, Any]]:
    """All as packed sequences, and their offsets."""
    offsets = options.offsets or tuple(
        jnp.arange(one.shape[0] + 1, dtype=jnp.int32) * one.shape[options.layout.index("s")]
        for one in (q, k)
    )
    cut = (
        _cut(of_all, used, is_of_q)
        for of_all, used, is_of_q in zip(offsets, options.used, (True, False))
    )
    return tuple(_list_of(one, options.layout) for one in (q, k, v)), tuple(cut)


def out_of_list(o: Any, lse: Any, layout: str, batch: int, of_rest: Any | None) -> tuple[Any, Any]:
    """o and the LSE as `attention` has them. of_rest: the offsets of q where rows that are not used
    have another LSE than -inf: that of a sink. Then both are filled there, and their gradients
    reach nothing."""
    if of_rest is not None:
        rows = jnp.arange(o.shape[0], dtype=jnp.int32)
        is_rest = jnp.searchsorted(of_rest, rows, side="right") % PARTS_OF_USED == 2
        o = jnp.where(is_rest[:, None, None], 0, o)
        lse = jnp.where(is_rest, -jnp.inf, lse)
    if layout == PACKED:
        return o, lse
    o = o.reshape(batch, -1, *o.shape[1:])
    o = o.swapaxes(1, 2) if layout == "bhsd" else o
    return o, lse.reshape(lse.shape[0], batch, -1).swapaxes(0, 1)


def shape_of_list(array: Any, layout: str) -> Sequence[int]:
    if layout == PACKED:
        return array.shape
    heads, rows = layout.index("h"), layout.index("s")
    return array.shape[0] * array.shape[rows], array.shape[heads], array.shape[3]


def _list_of(array: Any, layout: str) -> Any:
    if layout == "bhsd":
        array = array.swapaxes(1, 2)
    return array if layout == PACKED else array.reshape(-1, *array.shape[2:])


def _cut(offsets: Any, used: Any, is_of_q: bool) -> Any:
    """Offsets of three sequences for each: of what is used, of the rest of q, of that of k."""
    begin, end = offsets[:-1], offsets[1:]
    middle = end if used is None else jnp.clip(begin + used, begin, end)
    each = jnp.stack((begin, middle, end if is_of_q else middle), 1)
    return jnp.concatenate((each.reshape(-1), offsets[-1:]))
