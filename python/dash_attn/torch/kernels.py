"""The kernels of this process, each compiled when it is first asked for."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Sequence
from typing import Any

import torch

from ..errors import DriverError
from ..kernel import runtime
from ..kernel.driver import Driver
from ..kernel.launch import Launch, Launches, Slices
from ..kernel.library import HANDLER, check, library
from ..kernel.orders import (
    Ordered,
    forward_for,
    forward_of_list,
    order_for,
    order_of_list,
    texts_of,
)
from ..kernel.plan import Plan, Table
from ..kernel.problem import PACKED, ROW, Wanted, Window, for_any_sizes
from ..kernel.runtime import TASKS, TENSORS, Kernel, maker_of
from ..kernel.tasks import BYTES, NUMBERS, VARIABLE, tiles_of
from ..kernel.watching import begin, observers
from ..kernel.workspace import Workspace, aligned
from ..support.forks import new_lock
from .problem import ELEMENTS

log = logging.getLogger("dash_attn")
MOST_LAUNCHES = 1024  # more shapes, strides and streams than that begin anew,
MOST_TABLES = 1 << 30  # and so do more bytes of tables, on all devices together,
# and more kernels of tables, which take as much of the host's memory, and a manifest
MOST_SIZES = 256
# of both operators, each with which bits of addresses must not be set
launches: dict[Any, tuple[Launch | Launches | Slices, int]] = {}


class TorchLaunch(Launch):
    """Runs in memory out of PyTorch's cache, which it has for that run alone; an order that is
    no table is made in each.

    Nothing is kept between runs: what a graph captured, or compiled programs that plan their
    memory, may own the memory by then. Not `torch.empty`, which writes to the memory in
    deterministic mode. A table is constant, and all runs of all streams share it.
    """

    def __init__(self, plan: Plan, workspace: Workspace, *rest: Any) -> None:
        super().__init__(plan, workspace, *rest)
        self._run, self._device = library().dashPlanRunAnew, workspace.device
        self._order_at = aligned(plan.workspace_bytes)
        self._bytes = self._order_at + (0 if plan.is_table else plan.order_bytes)
        # parts of the arguments, not copies
        self._memory, self._order = self._arguments.workspace, self._arguments.order
        self._memory.bytes, self._order.bytes = plan.workspace_bytes, plan.order_bytes
        self._table, self._is_captured = None, False
        if plan.is_table:
            self._table = _table_of(plan, workspace, self._is_capturing)
            self._order.address = self._table.memory.address

    def run_with(self, addresses: Sequence[int], scale: float | None) -> None:
        stream = self._stream
        with self.workspace.lock:
            if scale is not None:
                self._arguments.scale = scale
            if addresses:
                self._words[self._places] = addresses
            ends: Sequence[Callable[[], None]] = ()
            self._memory.address = pointer = allocate(self._bytes, self._device, stream)
            if self._table is None:
                self._order.address = pointer + self._order_at
            elif not self._is_captured and self._is_capturing():
                self._is_captured = True
                _captured.append(self)
            try:
                if observers:
                    ends = begin(self)
                status = self._run(self._handle, stream, self._reference, HANDLER, None)
            finally:
                free(pointer)
                for end in ends:
                    end()
            if status:
                check(status)


class TorchKernel(Kernel):
    """Launched in memory of PyTorch's. One that is forgotten is given back, since what graphs
    may run is not."""

    _make_launch = TorchLaunch


def _table_of(plan: Plan, workspace: Workspace, is_capturing: Callable[[], bool]) -> Table:
    """The plan's table on the workspace's device. What PyTorch's cache holds back is asked for
    where memory is short."""
    if plan.table is None:
        try:
            plan.copy_table(workspace.driver, workspace.device)
        except DriverError:
            if is_capturing():
                raise
            torch.cuda.empty_cache()
            plan.copy_table(workspace.driver, workspace.device)
    return plan.table


_captured: list[TorchLaunch] = []  # graphs may run them to the end of the process


def allocate(size: int, device: int, stream: int) -> int:
    """`torch.cuda.caching_allocator_alloc` without changing to the device that is current."""
    if torch._C._cuda_getDevice() != device:
        return torch.cuda.caching_allocator_alloc(size, device, stream)
    return torch._C._cuda_cudaCachingAllocator_raw_alloc(size, stream)


def free(pointer: int) -> None:
    torch._C._cuda_cudaCachingAllocator_raw_delete(pointer)


_kernels: dict[Wanted, TorchKernel] = {}
_asked: dict[Wanted, None] = {}
_first: dict[Wanted, Wanted] = {}  # of each program: it keeps the code loaded
_lock = new_lock()


def kernels_for(
    head_dims: tuple[int, int], dtype: torch.dtype, window: Window, level: str, **rest: Any
) -> list[TorchKernel]:
    """The kernels of gradients of packed sequences. head_dims: of q and k, and of v; rest: fields
    of `Wanted`."""
    wanted = Wanted(*head_dims, ELEMENTS[dtype], window, level=level, **rest)
    return [kernel_of(one) for one in order_of_list(wanted).kernels]


def wanted_of(q: torch.Tensor, v: torch.Tensor, window: Window, **rest: Any) -> Wanted:
    """Gradients of a batch, without an order. rest: of `Wanted`."""
    return Wanted(q.shape[3], v.shape[3], ELEMENTS[q.dtype], window, **rest)


def order_of(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    window: Window,
    layout: str,
    wanted: Wanted | None = None,
    **rest: Any,
) -> Ordered:
    """The kernel of a batch, and its order. wanted: as `wanted_of` says it; rest: of `Wanted`."""
    heads, rows = layout.index("h"), layout.index("s")
    wanted = wanted or wanted_of(q, v, window, **rest)
    return order_for(
        wanted, q.shape[0], q.shape[heads], k.shape[heads], q.shape[rows], k.shape[rows]
    )


def forward_of(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    window: Window,
    layout: str,
    offsets: torch.Tensor | None = None,
    **rest: Any,
) -> Wanted:
    """The kernel of a forward, of a batch, or of packed sequences with these offsets. rest: of
    `Wanted`."""
    wanted = Wanted(q.shape[-1], v.shape[-1], ELEMENTS[q.dtype], window, level=ROW)
    wanted = wanted._replace(is_forward=True, **rest)
    if layout == PACKED:
        group = q.shape[1] // k.shape[1]
        return forward_of_list(wanted._replace(is_list=True), len(offsets) - 1, q.shape[0], group)
    heads, rows = layout.index("h"), layout.index("s")
    return forward_for(
        wanted, q.shape[0], q.shape[heads], k.shape[heads], q.shape[rows], k.shape[rows]
    )


def kernel_of(wanted: Wanted) -> TorchKernel:
    """The same object each time, as long as it is not forgotten."""
    found = _kernels.get(wanted)
    if found is None:
        with _lock:
            if wanted not in _kernels:
                if wanted.sizes and (
                    Table.total > MOST_TABLES or len(_kernels) >= MOST_SIZES + len(_first)
                ):
                    _forget_tables()
                _kernels[wanted] = TorchKernel(maker_of(texts_of(wanted)), _driver())
                _first.setdefault(for_any_sizes(wanted), wanted)
                _asked[wanted] = None
            found = _kernels[wanted]
    return found


def bind(wanted: Sequence[Wanted], given: Sequence[torch.Tensor], **rest: Any) -> Launch | Launches:
    """What launches these kernels for tensors of the order of `TENSORS`, each for the gradients
    that it computes. rest: of `Kernel.bind`."""
    kernels = [kernel_of(one) for one in wanted]
    inputs, gradients = given[:-3], given[-3:]
    ds = ds_of(wanted, *inputs[:3], rest["layout"])
    beside = rest if ds is None else rest | {"ds": ds}
    bound = [kernel.bind(*inputs, *kernel.own(gradients), **beside) for kernel in kernels]
    if len(bound) == 1:
        return bound[0]
    tensors = [[one["name"] for one in kernel.manifest["tensors"]] for kernel in kernels]
    parts = [
        (launch, [(*TENSORS, *TASKS).index(name) for name in names])
        for launch, names in zip(bound, tensors)
    ]
    if ds is None:
        return Launches(parts)
    return Passing(parts, ds.nbytes, given[0].device.index, rest["stream"])


def ds_of(
    wanted: Sequence[Wanted], q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, layout: str
) -> torch.Tensor | None:
    """Memory for the dS that these kernels pass on, None where they pass none. Raises
    OutOfMemoryError."""
    if not wanted[0].passes_ds:
        return None
    heads, rows = layout.index("h"), layout.index("s")
    sizes = q.shape[0], q.shape[heads], k.shape[heads], q.shape[rows], k.shape[rows]
    tiles = tiles_of(wanted[0], *sizes)
    # not `torch.empty`, which writes to it in deterministic mode
    storage = torch.UntypedStorage(BYTES * tiles, device=q.device)
    return torch.empty(0, dtype=q.dtype, device=q.device).set_(
        storage, 0, (tiles, NUMBERS), (NUMBERS, 1)
    )


class Passing(Launches):
    """Passes dS from one part to the next, in memory out of PyTorch's cache, which it has for that
    run alone."""

    def __init__(
        self,
        parts: Sequence[tuple[Launch, Sequence[int]]],
        size: int,
        device: int,
        stream: int,
    ) -> None:
        super().__init__(parts)
        self._size, self._device, self._stream = size, device, stream

    def run_with(self, addresses: Sequence[int], scale: float | None) -> None:
        """As `Launches.run_with`. Raises OutOfMemoryError before anything is launched."""
        pointer = allocate(self._size, self._device, self._stream)
        try:
            super().run_with((*addresses, pointer), scale)
        finally:
            free(pointer)


@functools.cache
def tell_of_memory() -> None:
    """Once."""
    log.warning(
        "no memory for dS: it is computed twice, which takes longer and gives the same bits;"
        " %s=BYTES says how much it may take",
        VARIABLE,
    )


def _forget_tables() -> None:
    """All that no graph has, but the first of each program. The driver frees memory once nothing
    runs that may read it."""
    launches.clear()
    for wanted in [one for one in _kernels if one.sizes and one not in _first.values()]:
        del _kernels[wanted]


def _driver() -> Driver | None:
    """With it a kernel need not be made a second time before it is launched."""
    try:
        return runtime.cuda_driver()
    except DriverError:
        return None  # for explanations and comparisons of certificates


def kernels() -> list[Wanted]:
    """Those that were asked for until now."""
    return list(_asked)
