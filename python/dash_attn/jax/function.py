"""`attention`: both passes by dash, or cuDNN's forward pass and dash's backward."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any, Literal, overload

import jax
import jax.numpy as jnp
from jax.custom_derivatives import SymbolicZero

from ..kernel.problem import DASH, PACKED, demand, level_of_gradients
from ..kernel.unrounded import ROUNDED
from .foreign import foreign_forward
from .operator import Call, apply, gradients, outputs
from .problem import Options
from .refusal import refusal_of_call
from .sinks import summed
from .used import in_list, out_of_list


@overload
def attention(
    q: jax.Array,
    k: jax.Array,
    v: jax.Array,
    *,
    causal: bool = False,
    window: tuple[int, int] | None = None,
    scale: float | None = None,
    cu_seqlens_q: jax.Array | None = None,
    cu_seqlens_k: jax.Array | None = None,
    seqused_q: jax.Array | None = None,
    seqused_k: jax.Array | None = None,
    sink: jax.Array | None = None,
    softcap: float = 0.0,
    level: str = "run",
    forward: str = DASH,
    layout: str | None = None,
    cut: int | None = None,
    delta: str = ROUNDED,
    return_lse: Literal[False] = False,
) -> jax.Array: ...


@overload
def attention(
    q: jax.Array,
    k: jax.Array,
    v: jax.Array,
    *,
    causal: bool = False,
    window: tuple[int, int] | None = None,
    scale: float | None = None,
    cu_seqlens_q: jax.Array | None = None,
    cu_seqlens_k: jax.Array | None = None,
    seqused_q: jax.Array | None = None,
    seqused_k: jax.Array | None = None,
    sink: jax.Array | None = None,
    softcap: float = 0.0,
    level: str = "run",
    forward: str = DASH,
    layout: str | None = None,
    cut: int | None = None,
    delta: str = ROUNDED,
    return_lse: Literal[True],
) -> tuple[jax.Array, jax.Array]: ...


def attention(
    q: jax.Array,
    k: jax.Array,
    v: jax.Array,
    *,
    causal: bool = False,
    window: tuple[int, int] | None = None,
    scale: float | None = None,
    cu_seqlens_q: jax.Array | None = None,
    cu_seqlens_k: jax.Array | None = None,
    seqused_q: jax.Array | None = None,
    seqused_k: jax.Array | None = None,
    sink: jax.Array | None = None,
    softcap: float = 0.0,
    level: str = "run",
    forward: str = DASH,
    layout: str | None = None,
    cut: int | None = None,
    delta: str = ROUNDED,
    return_lse: bool = False,
) -> jax.Array | tuple[jax.Array, jax.Array]:
    """softmax(scale * q k^T) v, with gradients that are the same bits on every run.

    q is [batch, heads, rows, head_dim]; k and v are [batch, kv_heads, kv_rows, head_dim], where
    kv_heads divides heads. The type is bfloat16 or float16, and head_dim a multiple of 8 up to
    256, above 128 without a sink; that of v, and so of o, may be another one than that of q and
    k. With layout "bshd", arrays are [batch, rows, heads, head_dim]; None is "bhsd". window:
    (left, right), the columns that a row sees before and after its own, -1 for all; aligned at
    the bottom right. scale: a number above 0, head_dim^-0.5 if None. return_lse: also returns the
    natural logarithms of the sums, [batch, heads, rows] of float32, with gradients; infinite for
    a row that sees nothing.

    cu_seqlens_q, cu_seqlens_k: offsets of packed sequences, int32, ascending from 0 to at most
    the rows. Then q, k, v and o are [rows, heads, head_dim] (layout "thd"), and the LSE is
    [heads, rows]. Sequence i has the rows from offset i to offset i + 1, and sees only its own.
    cu_seqlens_k is cu_seqlens_q if None. Rows outside all sequences are 0. Offsets may be values
    of a program that is being traced: it serves any numbers, and the host never reads them.

    seqused_q, seqused_k: how many of its first rows each sequence of a batch uses, of q, and of k
    and v: [batch] of int32; all if None. Masks are aligned at the bottom right of these. Other
    rows are not looked at: o and gradients are 0 there, and the LSE is -inf. Beside cu_seqlens_q
    they count from each sequence's offset. Numbers beyond the rows count as all, and the host
    never reads them. Layout "bshd" is read as it lies, "bhsd" is copied.

    sink: [heads], any floating-point type: for each head, a score that takes part in every row's
    softmax but has no value (gpt-oss). The LSE includes it, and it has gradients. softcap: scores
    are softcap * tanh(score / softcap), as in Gemma 2; 0 for none.

    level: what the bits of gradients do not depend on. "run": equal calls have equal bits. With
    "batch", those of a sequence do not depend on the other sequences, in a batch or packed; with
    "machine", nor on the number of multiprocessors. "row" is the level of o and the LSE. Gradients
    add over rows and cannot have it, so it gives them "machine". forward: "dash", whose o and LSE
    are always of level `row`: a row's bits follow from its own query, and the keys and values that
    it sees.
    "cudnn": cuDNN's, which serves fewer calls and promises level "run" alone. It takes batches
    with any scale, and windows have a right side of 0 there. The share of a sink is removed from
    an o that is rounded, which rounds once more.

    cut: None, or how many rows of k and v a piece has, a multiple of the kv tile. Pieces are
    computed side by side and put together in their order, so that few rows over many keys
    (decoding) are fast. A row's bits are then those of this cut, whatever the sizes are. delta: of
    what o the gradients take rowsum(o do). "rounded": of the o that is returned. "unrounded": the
    forward keeps o in float32, too, which lowers the error of dq and dk where rows have most of
    their probability at few columns, and costs memory of twice o until the backward pass. o and
    the LSE have other bits than with "rounded", too.

    Everything except the arrays must be known when a program is traced, sizes and the number of
    sequences too. In `shard_map`, devices may divide batch and heads: each computes its own.
    `vmap` refuses packed sequences, and those that use some of their rows. Raises ArgumentError for
    a call that is not served; the message says what to do instead, and `dash_attn.jax.explain` says
    it without raising. The bits depend on `explain(...).certificate`, and with forward "cudnn" on
    cuDNN.
    """
    lengths = cu_seqlens_q, cu_seqlens_k
    rest = level, forward, layout, lengths, (seqused_q, seqused_k), cut, delta
    options = Options.of(causal, window, scale, softcap, *rest)
    demand(refusal_of_call(q, k, v, sink, options))
    scale = options.scale
    call = Call(
        options.sides,
        q.shape[-1] ** -0.5 if scale is None else float(scale),
        PACKED if options.is_used else options.layout,
        sink is not None,
        softcap=float(options.softcap),
        level=level_of_gradients(level),
        forward=forward,
        cut=options.cut or 0,
        is_unrounded=options.is_unrounded,
    )
    beside = () if sink is None else (sink.astype(jnp.float32),)
    batch, offsets = q.shape[0], options.offsets
    if options.is_used:
        (q, k, v), offsets = in_list(q, k, v, options)
    o, lse = _attention(call, *_as_varying(q, k, v, *beside, *offsets))
    if options.is_used:
        of_rest = None if sink is None or seqused_q is None else offsets[0]
        o, lse = out_of_list(o, lse, options.layout, batch, of_rest)
    return (o, lse) if return_lse else o


def _as_varying(*arrays: jax.Array) -> tuple[jax.Array, ...]:
    """In shard_map, what is the same on all devices beside arrays that are not becomes one of
    these: so its gradient is summed over devices."""
    axes = [jax.typeof(array).manual_axis_type.varying for array in arrays]
    missing = [sorted(frozenset().union(*axes) - of_array) for of_array in axes]
    return tuple(
        jax.lax.pcast(array, tuple(names), to="varying") if names else array
        for array, names in zip(arrays, missing)
    )


def _computed(call: Call, *given: Any) -> tuple[Any, ...]:
    return (outputs if call.forward == DASH else foreign_forward)(call, *given)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _attention(call: Call, *given: Any) -> tuple[Any, Any]:
    return tuple(apply(_computed, call, *given)[:2])


def _forward_and_saved(call: Call, *given: Any) -> Any:
    values = tuple(one.value for one in given)
    o, lse, *unrounded = apply(_computed, call, *values)
    return (o, lse), (values, *(unrounded or [o]), lse)


def _backward(call: Call, saved: Any, upstream: Any) -> tuple[Any, ...]:
    """An output that is not differentiated has a symbol for its gradient: then kernels take o,
    else delta, which is another program."""
    (q, k, v, *beside), o, lse = saved
    do, dlse = (None if type(one) is SymbolicZero else one for one in upstream)
    of_lse = () if dlse is None else (dlse,)
    dq, dk, dv, *dsink = apply(
        gradients,
        replace(call, of_lse=bool(of_lse)),
        q,
        k,
        v,
        jax.lax.full_like(o, 0, q.dtype) if do is None else do,
        o,
        lse,
        *of_lse,
        *beside,
    )
    of_offsets = [None] * (len(beside) - len(dsink))
    return (dq, dk, dv, *map(summed, dsink), *of_offsets)


_attention.defvjp(_forward_and_saved, _backward, symbolic_zeros=True)
