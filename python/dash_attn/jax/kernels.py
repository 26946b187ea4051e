"""The kernels of this process, each compiled when it is first asked for."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from ..kernel.library import Handle, library
from ..kernel.orders import (
    SIZES,
    Ordered,
    forward_for,
    forward_of_list,
    order_for,
    order_of_list,
    texts_of,
)
from ..kernel.plan import Plan
from ..kernel.problem import (
    ELEMENTS,
    PACKED,
    ROW,
    Slice,
    Wanted,
    Window,
    for_any_sizes,
    program_of,
    slices_of,
)
from ..kernel.runtime import Kernel, maker_of
from ..kernel.workspace import ALIGNMENT, aligned
from ..support.forks import new_lock


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

    def bytes_of(self, q: Sequence[int], k: Sequence[int], layout: str, sequences: int = 0) -> int:
        """What the handler needs beside its arrays. sequences: of packed ones, how many. Raises
        ArgumentError for sizes that no kernel serves."""
        sizes = dict(zip(SIZES, sizes_of(q, k, layout)))
        if sequences:
            sizes["bounds"] = sequences + 1
        plan = Plan(self._planned, 0, sizes, {}, self.table is not None)
        return (
            aligned(plan.workspace_bytes)
            + ALIGNMENT
            + (0 if plan.is_table else aligned(plan.order_bytes) + ALIGNMENT)
        )


def sizes_of(q: Sequence[int], k: Sequence[int], layout: str) -> tuple[int, ...]:
    """As SIZES names them; packed sequences are a batch of 1."""
    heads, rows = layout.index("h"), layout.index("t" if layout == PACKED else "s")
    return 1 if layout == PACKED else q[0], q[heads], k[heads], q[rows], k[rows]


# with a table in the host's memory each; of more the one that is asked for least lately goes
MOST_KERNELS = 256
_kernels: dict[Wanted, JaxKernel] = {}
_lock = new_lock()


def wanted_of(q: Any, v: Any, window: Window, **rest: Any) -> Wanted:
    """Gradients without an order. rest: of `Wanted`."""
    return Wanted(q.shape[-1], v.shape[-1], ELEMENTS[str(q.dtype)], window, **rest)


def order_of(q: Any, k: Any, v: Any, window: Window, layout: str, **rest: Any) -> Ordered:
    """The kernel of gradients, and its order. rest: of `Wanted`."""
    wanted = wanted_of(q, v, window, **rest)
    if layout == PACKED:
        return order_of_list(wanted)
    return order_for(wanted, *sizes_of(q.shape, k.shape, layout))


def forward_of(
    q: Any, k: Any, v: Any, window: Window, layout: str, sequences: int = 0, **rest: Any
) -> Wanted:
    """The kernel of a forward. sequences: of packed ones, how many; rest: of `Wanted`."""
    wanted = Wanted(q.shape[-1], v.shape[-1], ELEMENTS[str(q.dtype)], window, level=ROW)
    wanted = wanted._replace(is_forward=True, **rest)
    if layout == PACKED:
        group = q.shape[1] // k.shape[1]
        return forward_of_list(wanted._replace(is_list=True), sequences, q.shape[0], group)
    return forward_for(wanted, *sizes_of(q.shape, k.shape, layout))


def parts_of(
    q: Any, k: Any, v: Any, layout: str, slices: Sequence[Slice] = ()
) -> list[tuple[jax.ShapeDtypeStruct, ...]]:
    """q, k and v of slices, without numbers; packed sequences are one. slices: those of a forward
    if there are none."""
    if layout == PACKED:
        return [tuple(jax.ShapeDtypeStruct(array.shape, array.dtype) for array in (q, k, v))]
    heads = layout.index("h")

    def sized(array: Any, batch: slice, of_heads: slice) -> jax.ShapeDtypeStruct:
        shape = list(array.shape)
        shape[0], shape[heads] = batch.stop - batch.start, of_heads.stop - of_heads.start
        return jax.ShapeDtypeStruct(shape, array.dtype)

    return [
        (sized(q, batch, of_q), sized(k, batch, of_k), sized(v, batch, of_k))
        for batch, of_q, of_k in slices or slices_of(q.shape, k.shape, v.shape, layout)
    ]


def kernel_of(wanted: Wanted) -> JaxKernel:
    """The same object each time, as long as it is not forgotten."""
    with _lock:
        found = _kernels.pop(wanted, None) or JaxKernel(wanted)
        _kernels[wanted] = found  # the latest
        if len(_kernels) > MOST_KERNELS:
            del _kernels[next(iter(_kernels))]
        return found
