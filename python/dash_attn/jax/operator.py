"""The custom call of both passes: libdash's handler, and what JAX knows of it."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..kernel.library import Handle, library
from ..kernel.orders import SIZES, Ordered, forward_for, order_for, texts_of
from ..kernel.plan import Plan
from ..kernel.problem import (
    DASH,
    ELEMENTS,
    ONE_SINK,
    ROW,
    Wanted,
    Window,
    demand,
    for_any_sizes,
    program_of,
    slices_of,
)
from ..kernel.runtime import Kernel, maker_of
from ..kernel.workspace import ALIGNMENT, aligned
from ..support.forks import new_lock
from .delta import delta_of

TARGET = "dash_attention_backward"  # and forward: the name is that of programs that were exported
ON_KV = (1, 2)  # places of k and v
STAGES = ("instantiate", "initialize", "execute")


@dataclass(frozen=True)
class Call:
    """What of a call is no array. has_sink: the last of its arrays is a sink, [heads] of
    float32, which has no batch; of_lse: behind the LSE there is its gradient; level: of
    gradients; forward: by whom that is."""

    window: Window
    scale: float
    layout: str
    has_sink: bool = False
    of_lse: bool = False
    softcap: float = 0.0
    level: str = "run"
    forward: str = DASH


class JaxKernel(Kernel):
    """Is asked for sizes, without a driver. libdash compiles the program once more where it is
    launched: that may be another process.

    table: of its sizes, the same array each time, so that a program has it once; None where an
    entry makes the order.
    """

    def __init__(self, wanted: Wanted) -> None:
        texts = texts_of(wanted)
        super().__init__(maker_of(texts))
        self._planned = self._make_kernel(Handle())
        weakref.finalize(self, library().dashKernelDestroy, self._planned).atexit = False
        self.program, self.options, _ = program_of(for_any_sizes(wanted))
        self.table = np.frombuffer(texts[2], np.uint8) if wanted.sizes else None

    def bytes_of(self, q: Sequence[int], k: Sequence[int], layout: str) -> int:
        """What the handler needs beside its arrays. Raises ArgumentError for sizes that no
        kernel serves."""
        plan = Plan(
            self._planned, 0, dict(zip(SIZES, sizes_of(q, k, layout))), {}, self.table is not None
        )
        return (
            aligned(plan.workspace_bytes)
            + ALIGNMENT
            + (0 if plan.is_table else aligned(plan.order_bytes) + ALIGNMENT)
        )


def sizes_of(q: Sequence[int], k: Sequence[int], layout: str) -> tuple[int, ...]:
    heads, rows = layout.index("h"), layout.index("s")
    return q[0], q[heads], k[heads], q[rows], k[rows]


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


def outputs(call: Call, q: Any, k: Any, v: Any, *sink: Any) -> tuple[Any, ...]:
    """o and the LSE by dash's forward, by libdash's handler, in as many calls as there are
    slices."""
    return _sliced(_outputs, call, (q, k, v), sink)


def gradients(
    call: Call, q: Any, k: Any, v: Any, do: Any, o: Any, lse: Any, *rest: Any
) -> tuple[Any, ...]:
    """dq, dk and dv, and of a sink dsink, [batch, heads] of float32, in the same way."""
    sink, of_lse = rest[call.of_lse :], rest[: call.of_lse]
    if call.of_lse:
        o = delta_of(do, o, lse, *of_lse, call.layout)
    return _sliced(_gradients, call, (q, k, v, do, o, lse), sink)


def _sliced(
    function: Callable[..., Any], call: Call, arrays: Sequence[Any], sink: Sequence[Any]
) -> tuple[Any, ...]:
    """function(call, *arrays, *sink), slice by slice. arrays: q, k, v, and what has the heads of
    q."""
    rows: dict[int, list[Any]] = {}
    for which in slices_of(*(array.shape for array in arrays[:3]), call.layout):
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


def _outputs(call: Call, q: Any, k: Any, v: Any, *sink: Any) -> tuple[Any, ...]:
    wanted = forward_of(
        q, k, v, call.window, call.layout, has_sink=call.has_sink, softcap=call.softcap
    )
    batch, heads, _, rows, _ = sizes_of(q.shape, k.shape, call.layout)
    o = _like(q, q.dtype, *q.shape[:3], v.shape[3])
    return _launched(call, wanted, (q, k, v, *sink), (o, _like(q, jnp.float32, batch, heads, rows)))


def _gradients(
    call: Call, q: Any, k: Any, v: Any, do: Any, o: Any, lse: Any, *sink: Any
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
    ).kernels
    dsink = [_like(q, jnp.float32, q.shape[0], *one.shape) for one in sink]
    operands = q, k, v, do, o, lse, *sink
    if len(kernels) == 1:
        return _launched(call, kernels[0], operands, (*map(jax.typeof, (q, k, v)), *dsink))
    of_kv, of_q = kernels
    dk, dv = _launched(call, of_kv, operands, tuple(map(jax.typeof, (k, v))))
    (dq,) = _launched(call, of_q, operands, (jax.typeof(q),))
    return dq, dk, dv


def _like(q: Any, dtype: Any, *shape: int) -> Any:
    """The type of a result. In shard_map each device has its own, as it has its own q."""
    return jax.eval_shape(lambda array: jax.lax.full_like(array, 0, dtype, shape), q)


def _launched(
    call: Call, wanted: Wanted, operands: Sequence[Any], results: Sequence[Any]
) -> tuple[Any, ...]:
    """operands: tensors that the kernel reads; results: the types of those that it writes."""
    kernel, (q, k, *_) = kernel_of(wanted), operands
    # Memory is a result: XLA plans it, and records programs anew that were captured with other
    # addresses.
    memory = _like(q, jnp.uint8, kernel.bytes_of(q.shape, k.shape, call.layout))
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


# with a table in the host's memory each; of more the one that is asked for least lately goes
MOST_KERNELS = 256
_kernels: dict[Wanted, JaxKernel] = {}
_lock = new_lock()


def order_of(q: Any, k: Any, v: Any, window: Window, layout: str, **rest: Any) -> Ordered:
    """The kernel of gradients, and its order. rest: of `Wanted`."""
    return order_for(
        Wanted(q.shape[3], v.shape[3], ELEMENTS[str(q.dtype)], window, **rest),
        *sizes_of(q.shape, k.shape, layout),
    )


def forward_of(q: Any, k: Any, v: Any, window: Window, layout: str, **rest: Any) -> Wanted:
    """The kernel of a forward. rest: of `Wanted`."""
    wanted = Wanted(q.shape[3], v.shape[3], ELEMENTS[str(q.dtype)], window, level=ROW)
    return forward_for(
        wanted._replace(is_forward=True, **rest), *sizes_of(q.shape, k.shape, layout)
    )


def parts_of(q: Any, k: Any, v: Any, layout: str) -> list[tuple[jax.ShapeDtypeStruct, ...]]:
    """q, k and v of slices, without numbers."""
    heads = layout.index("h")

    def sized(array: Any, batch: slice, of_heads: slice) -> jax.ShapeDtypeStruct:
        shape = list(array.shape)
        shape[0], shape[heads] = batch.stop - batch.start, of_heads.stop - of_heads.start
        return jax.ShapeDtypeStruct(shape, array.dtype)

    return [
        (sized(q, batch, of_q), sized(k, batch, of_k), sized(v, batch, of_k))
        for batch, of_q, of_k in slices_of(q.shape, k.shape, v.shape, layout)
    ]


def kernel_of(wanted: Wanted) -> JaxKernel:
    """The same object each time, as long as it is not forgotten."""
    with _lock:
        found = _kernels.pop(wanted, None) or JaxKernel(wanted)
        _kernels[wanted] = found  # the latest
        if len(_kernels) > MOST_KERNELS:
            del _kernels[next(iter(_kernels))]
        return found


register()
