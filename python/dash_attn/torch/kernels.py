"""The kernels of this process, each compiled when it is first asked for."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import torch

from ..launch import WORDS, Launch
from ..library import HANDLER, check, library
from ..parts import parts_for
from ..plan import Plan
from ..problem import Wanted, Window, program_of
from ..runtime import Kernel
from ..workspace import Workspace, aligned
from .problem import ELEMENTS

class TorchLaunch(Launch):
    """Runs in memory out of PyTorch's cache, which it has for that run alone; counters and the order are made in each.

    Nothing is kept between runs: what a graph captured, or compiled programs that plan their memory, may own the memory by then. Not
    `torch.empty`, which writes to the memory in deterministic mode.
    """

    def __init__(self, plan: Plan, workspace: Workspace, *rest: Any) -> None:
        super().__init__(plan, workspace, *rest)
        self._run, self._device = library().dashPlanRunAnew, workspace.device
        self._order_at = aligned(plan.workspace_bytes)
        self._bytes = self._order_at + (0 if plan.is_table else plan.order_bytes)
        self._memory, self._order = self._arguments.workspace, self._arguments.order  # parts of the arguments, not copies
        self._memory.bytes, self._order.bytes = plan.workspace_bytes, plan.order_bytes
        self._is_table = plan.is_table
        if plan.is_table:
            if not plan.table:
                plan.copy_table(workspace.driver, workspace.device)
            self._order.address = plan.table.address

    def run_with(self, addresses: Sequence[int], scale: float | None) -> None:
        stream = self._stream
        with self.workspace.lock:
            if scale is not None:
                self._arguments.scale = scale
            self._words[0:WORDS * len(addresses):WORDS] = addresses
            self._memory.address = pointer = allocate(self._bytes, self._device, stream)
            if not self._is_table:
                self._order.address = pointer + self._order_at
            try:
                status = self._run(self._handle, stream, self._reference, HANDLER, None)
            finally:
                free(pointer)
            if status:
                check(status)


class TorchKernel(Kernel):
    """Launched in memory of PyTorch's."""

    _make_launch = TorchLaunch


def allocate(size: int, device: int, stream: int) -> int:
    """`torch.cuda.caching_allocator_alloc` without changing to the device that is current."""
    if torch._C._cuda_getDevice() != device:
        return torch.cuda.caching_allocator_alloc(size, device, stream)
    return torch._C._cuda_cudaCachingAllocator_raw_alloc(size, stream)


def free(pointer: int) -> None:
    torch._C._cuda_cudaCachingAllocator_raw_delete(pointer)


_kernels: dict[Wanted, TorchKernel] = {}
_lock = threading.Lock()


def kernel_for(head_dim: int, dtype: torch.dtype, window: Window, **rest: Any) -> TorchKernel:
    """rest: of `Wanted`."""
    return kernel_of(Wanted(head_dim, ELEMENTS[dtype], window, **rest))


def kernel_in_parts(q: torch.Tensor, k: torch.Tensor, window: Window, layout: str, **rest: Any) -> TorchKernel:
    """Of a batch, in as many parts as its sizes ask for. rest: of `Wanted`."""
    heads, rows = layout.index("h"), layout.index("s")
    wanted = Wanted(q.shape[3], ELEMENTS[q.dtype], window, **rest)
    return kernel_of(wanted._replace(parts=parts_for(wanted, q.shape[0], q.shape[heads], k.shape[heads], q.shape[rows], k.shape[rows])))


def kernel_of(wanted: Wanted) -> TorchKernel:
    """The same object each time."""
    found = _kernels.get(wanted)
    if found is None:
        with _lock:
            if wanted not in _kernels:
                program, options, name = program_of(wanted)
                _kernels[wanted] = TorchKernel.compile(program, options, name=name)
            found = _kernels[wanted]
    return found


def kernels() -> dict[Wanted, TorchKernel]:
    """Those that were asked for until now."""
    return dict(_kernels)
