"""The custom call of both passes: libdash's handler, and what JAX knows of it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..kernel.library import library
from ..kernel.problem import DASH, ONE_SINK, PACKED, Slice, Wanted, Window, demand, slices_of
from ..kernel.sequences import NO_VMAP
from ..kernel.tasks import NUMBERS, slices_of_gradients, tiles_of
from .delta import delta_of
from .kernels import forward_of, kernel_of, order_of, sizes_of, wanted_of

TARGET = "dash_attention_backward"  # and forward: the name is that of programs that were exported
ON_KV = (1, 2)  # places of k and v
STAGES = ("instantiate", "initialize", "execute")


@dataclass(frozen=True)
class Call:
    """What of a call is no array. has_sink: behind its other arrays is a sink, [heads] of
    float32, which has no batch; of_lse: behind the LSE there is its gradient; level: of
    gradients; forward: by whom that is. cut: rows of pieces of keys, 0 where they are not cut.
    is_unrounded: the forward gives o in float32, too, which gradients take in place of o. With the
    layout of packed sequences, the last two arrays are offsets, of q and of k."""

    window: Window
    scale: float
    layout: str
    has_sink: bool = False
    of_lse: bool = False
    softcap: float = 0.0
    level: str = "run"
    forward: str = DASH
    cut: int = 0
    is_unrounded: bool = False

    @property
    def is_packed(self) -> bool:
        return self.layout == PACKED


def register(platform: str = "CUDA") -> None:
    """Makes libdash's handler known to XLA."""
    handler = jax.ffi.pycapsule(
        ctypes.cast(library().dashXlaAttentionBackward, ctypes.c_void_p).value
    )
    jax.ffi.register_ffi_target(TARGET, dict.fromkeys(STAGES, handler), platform=platform)


def apply(function: Callable[..., Any], call: Call, *arrays: Any) -> Any:
    """function(call, *arrays), of which vmap's dimension becomes a part of the batch, and which
    has no derivative of its own."""
    return _refusing_derivatives(_folded(function, call))(*arrays)


def outputs(call: Call, q: Any, k: Any, v: Any, *beside: Any) -> tuple[Any, ...]:
    """o and the LSE by dash's forward, and o unrounded where the call has it, by libdash's handler,
    in as many calls as there are slices."""
    if call.is_packed:
        return _outputs(call, q, k, v, *beside)
    slices = slices_of(q.shape, k.shape, v.shape, call.layout)
    return _sliced(_outputs, call, (q, k, v), beside, slices)


def gradients(
    call: Call, q: Any, k: Any, v: Any, do: Any, o: Any, lse: Any, *rest: Any
) -> tuple[Any, ...]:
    """dq, dk and dv, and of a sink dsink, [batch, heads] of float32, or [sequences, heads], in the
    same way. o: or the unrounded one."""
    beside, of_lse = rest[call.of_lse :], rest[: call.of_lse]
    if call.of_lse:
        o = delta_of(do, o, lse, *of_lse, call.layout)
    if call.is_packed:
        return _gradients(call, q, k, v, do, o, lse, *beside)
    wanted = wanted_of(q, v, call.window, level=call.level, softcap=call.softcap)
    slices = slices_of_gradients(wanted, q.shape, k.shape, v.shape, call.layout)
    return _sliced(_gradients, call, (q, k, v, do, o, lse), beside, slices)


def _sliced(
    function: Callable[..., Any],
    call: Call,
    arrays: Sequence[Any],
    sink: Sequence[Any],
    slices: Sequence[Slice],
) -> tuple[Any, ...]:
    """function(call, *arrays, *sink), slice by slice. arrays: q, k, v, and what has the heads of
    q."""
    rows: dict[int, list[Any]] = {}
    for which in slices:
        batch, of_q, of_k = which
        found = function(
            call,
            *(
                _cut(array, batch, of_k if place in ON_KV else of_q, call.layout)
                for place, array in enumerate(arrays)
            ),
            *(one[of_q] for one in sink),
        )
        rows.setdefault(batch.start, []).append(found)
    heads = call.layout.index("h")
    whole = [
        [_joined(parts, heads if parts[0].ndim == 4 else 1) for parts in zip(*row)]
        for row in rows.values()
    ]
    return tuple(_joined(parts, 0) for parts in zip(*whole))


def _cut(array: Any, batch: slice, heads: slice, layout: str) -> Any:
    return array[batch, heads] if array.ndim < 4 or layout == "bhsd" else array[batch, :, heads]


def _joined(parts: Sequence[Any], dim: int) -> Any:
    return parts[0] if len(parts) == 1 else jnp.concatenate(parts, dim)


def _outputs(call: Call, q: Any, k: Any, v: Any, *beside: Any) -> tuple[Any, ...]:
    wanted = forward_of(
        q,
        k,
        v,
        call.window,
        call.layout,
        _sequences(call, beside),
        has_sink=call.has_sink,
        softcap=call.softcap,
        cut=call.cut,
        is_unrounded=call.is_unrounded,
    )
    batch, heads, _, rows, _ = sizes_of(q.shape, k.shape, call.layout)
    o = _like(q, q.dtype, *q.shape[:-1], v.shape[-1])
    lse = _like(q, jnp.float32, *(() if call.is_packed else (batch,)), heads, rows)
    unrounded = (_like(q, jnp.float32, *o.shape),) * call.is_unrounded
    return _launched(call, wanted, (q, k, v, *beside), (o, lse, *unrounded))


def _gradients(
    call: Call, q: Any, k: Any, v: Any, do: Any, o: Any, lse: Any, *beside: Any
) -> tuple[Any, ...]:
    kernels = order_of(
        q,
        k,
        v,
        call.window,
        call.layout,
        level=call.level,
        has_sink=call.has_sink,
        softcap=call.softcap,
        takes_delta=call.of_lse,
        is_unrounded=call.is_unrounded and not call.of_lse,
    ).kernels
    sums = _sequences(call, beside) if call.is_packed else q.shape[0]
    dsink = [_like(q, jnp.float32, sums, *one.shape) for one in beside[: call.has_sink]]
    operands = q, k, v, do, o, lse, *beside
    if len(kernels) == 1:
        return _launched(call, kernels[0], operands, (*map(jax.typeof, (q, k, v)), *dsink))
    of_kv, of_q = kernels
    tiles = [tiles_of(of_kv, *sizes_of(q.shape, k.shape, call.layout))] * of_kv.passes_ds
    ds = [_like(q, q.dtype, count, NUMBERS) for count in tiles]
    dk, dv, *ds = _launched(call, of_kv, operands, (*map(jax.typeof, (k, v)), *ds))
    (dq,) = _launched(call, of_q, (*operands, *ds), (jax.typeof(q),))
    return dq, dk, dv


def _sequences(call: Call, beside: Sequence[Any]) -> int:
    """How many packed ones there are; 0 of a batch."""
    return beside[-1].shape[0] - 1 if call.is_packed else 0


def _like(q: Any, dtype: Any, *shape: int) -> Any:
    """The type of a result. In shard_map each device has its own, as it has its own q."""
    return jax.eval_shape(lambda array: jax.lax.full_like(array, 0, dtype, shape), q)


def _launched(
    call: Call, wanted: Wanted, operands: Sequence[Any], results: Sequence[Any]
) -> tuple[Any, ...]:
    """operands: tensors that the kernel reads; results: the types of those that it writes, and
    whose rows outside of all packed sequences the handler clears."""
    kernel, (q, k, *_) = kernel_of(wanted), operands
    # Memory is a result: XLA plans it, and records programs anew that were captured with other
    # addresses.
    size = kernel.bytes_of(q.shape, k.shape, call.layout, _sequences(call, operands))
    memory = _like(q, jnp.uint8, size)
    order = () if kernel.table is None else (kernel.table,)
    *found, _ = jax.ffi.ffi_call(TARGET, (*results, memory))(
        *operands,
        *order,
        program=kernel.program,
        options=kernel.options,
        certificate=kernel.certificate,
        layout=call.layout,
        scale=np.float32(call.scale),
    )
    return tuple(found)


def _folded(function: Callable[..., Any], call: Call) -> Any:
    @jax.custom_batching.custom_vmap
    def folded(*arrays: Any) -> Any:
        return function(call, *arrays)

    @folded.def_vmap
    def _rule(size: int, are_batched: Sequence[bool], *arrays: Any) -> Any:
        demand(NO_VMAP if call.is_packed else None)
        count = len(arrays) - call.has_sink
        demand(ONE_SINK if any(are_batched[count:]) else None)
        whole = [
            array if is_batched else jnp.broadcast_to(array, (size, *array.shape))
            for array, is_batched in zip(arrays[:count], are_batched)
        ]
        found = _folded(function, call)(
            *(array.reshape(-1, *array.shape[2:]) for array in whole), *arrays[count:]
        )
        return tuple(array.reshape(size, -1, *array.shape[1:]) for array in found), (True,) * len(
            found
        )

    return folded


def _refusing_derivatives(function: Any) -> Any:
    differentiable = jax.custom_jvp(function)

    @differentiable.defjvp
    def _refuse(*_: Any) -> Any:
        raise NotImplementedError(
            "dash_attn.jax.attention has first derivatives only; for second ones take"
            " jax.nn.dot_product_attention with implementation='xla'"
        )

    return differentiable


register()
