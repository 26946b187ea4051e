"""Hashes of many tensors, which stay on their device: nothing is read back before the end."""

from __future__ import annotations

from typing import Any

import torch

from .hashing import as_words, hash_words

SLOTS = 1 << 14  # of a piece of a log


class Log:
    """Hashes of one device's tensors, in the order of their addition; `values` waits for the
    device."""

    def __init__(self, device: torch.device) -> None:
        self._device, self._pieces, self._next = device, [], SLOTS
        self._kernel = kernel() if device.type == "cuda" else None

    def add(self, tensor: torch.Tensor) -> int:
        """The number of its hash. Two tensors of the same values, type and shape have the same,
        whatever their strides, as long as these have the same order."""
        if self._next == SLOTS:
            self._pieces.append(torch.zeros(SLOTS, dtype=torch.int64, device=self._device))
            self._next = 0
        slot, self._next = self._next, self._next + 1
        if self._kernel is None:
            self._pieces[-1][slot] = hash_words(as_words(tensor))
        elif torch._C._cuda_getDevice() == self._device.index:
            self._kernel(tensor, self._pieces[-1], slot)
        else:
            with torch.cuda.device(self._device):
                self._kernel(tensor, self._pieces[-1], slot)
        return (len(self._pieces) - 1) * SLOTS + slot

    def values(self) -> list[int]:
        """All that were added, as numbers without a sign."""
        return [value % 2**64 for piece in self._pieces for value in piece.tolist()]


def kernel() -> Any:
    """Adds a tensor's hash to a slot of a log, in one pass; None where there is no Triton."""
    try:
        from .hash_kernel import add_hash_of
    except ImportError:
        return None
    return add_hash_of
