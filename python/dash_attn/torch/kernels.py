"""The kernels of this process: one for each head dim, element type and mask, compiled when it is first asked for."""

from __future__ import annotations

import threading
from typing import Any

import torch

from ..plan import Plan
from ..runtime import Kernel
from ..workspace import Workspace, aligned
from .problem import ELEMENTS

# For any sizes: the fixed kind that was measured best (docs/measurements.md). Bits follow from it, so nothing else chooses it.
ORDERS = {"full": "shift", "causal": "symmetric-shift"}
PROGRAM = """
!tensor = memref<?x?x?x{head_dim}x{element}, strided<[?, ?, ?, 1], offset: ?>>
!per_row = memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>

func.func @attention_bwd(%q: !tensor, %k: !tensor, %v: !tensor, %do: !tensor, %o: !tensor, %lse: !per_row, %dq: !tensor,
                         %dk: !tensor, %dv: !tensor, %scale: f32) {{
  dash.attention_bwd
      ins(%q, %k, %v, %do, %lse, o = %o : !tensor, !tensor, !tensor, !tensor, !per_row, !tensor)
      outs(%dq, %dk, %dv : !tensor, !tensor, !tensor)
      mask(<{mask}>) level(run) scale(%scale)
  return
}}
"""


class RunWorkspace(Workspace):
    """Memory out of PyTorch's cache for one run at a time; counters and the order are made in each.

    Nothing is kept between runs: what a graph captured, or compiled programs that plan their memory, may own the memory by then. Not
    `torch.empty`, which writes to the memory in deterministic mode.
    """

    def provide(self, plan: Plan, allocate: Any = None) -> None:
        if plan.is_table and not plan.table:
            plan.copy_table(self.driver, self.device)
        size = aligned(plan.workspace_bytes) + (0 if plan.is_table else plan.order_bytes)
        self.pointer = torch.cuda.caching_allocator_alloc(size, self.device, self.stream)
        workspace, order = self.place(plan)
        plan.clear(self.stream, workspace)
        if not plan.is_table:
            plan.make_order(self.stream, order)
        self.moves += 1

    def done(self) -> None:
        if self.pointer:
            torch.cuda.caching_allocator_delete(self.pointer)
            self.pointer = 0


class TorchKernel(Kernel):
    """Launched on the stream that is current, in memory of PyTorch's."""

    def _make_workspace(self, device: int, stream: int) -> Workspace:
        return RunWorkspace(self.driver, device, stream, self.name)


_kernels: dict[tuple[int, torch.dtype, bool], TorchKernel] = {}
_lock = threading.Lock()


def kernel_for(head_dim: int, dtype: torch.dtype, causal: bool) -> TorchKernel:
    """The same object each time."""
    key = (head_dim, dtype, causal)
    found = _kernels.get(key)
    if found is None:
        with _lock:
            if key not in _kernels:
                mask = "causal" if causal else "full"
                program = PROGRAM.format(head_dim=head_dim, element=ELEMENTS[dtype], mask=mask)
                _kernels[key] = TorchKernel.compile(program, f"kind={ORDERS[mask]}", name=f"attention of {mask} mask")
            found = _kernels[key]
    return found
