"""Kernels whose workspace is still there behind a run, with the sums that they left."""

from __future__ import annotations

import torch

from ..kernel.library import HANDLER, check
from ..kernel.workspace import ALIGNMENT
from ..torch.kernels import TorchKernel, TorchLaunch


class KeptLaunch(TorchLaunch):
    def run_kept(self) -> torch.Tensor:
        """Launches all entries; gives the workspace as bytes, which the caller has from then on.
        Raises DriverError."""
        memory = torch.empty(
            self._bytes + ALIGNMENT, dtype=torch.uint8, device=f"cuda:{self._device}"
        )
        memory = memory[-memory.data_ptr() % ALIGNMENT :]
        with self.workspace.lock:
            self._memory.address = memory.data_ptr()
            if self._table is None:
                self._order.address = memory.data_ptr() + self._order_at
            status = self._run(self._handle, self._stream, self._reference, HANDLER, None)
        if status:
            check(status)
        return memory


class KeptKernel(TorchKernel):
    """`bind` gives a `KeptLaunch`."""

    _make_launch = KeptLaunch
