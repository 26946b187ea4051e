"""Which `LeafKernel` a world has."""

from __future__ import annotations

import torch

from ..errors import ArgumentError
from .batches import Batches
from .leaves import LeafKernel
from .reference import Reference


def kernel_named(name: str, scale: float, group: int, head_dim: int, dtype: torch.dtype, device: torch.device) -> LeafKernel:
    """"reference", on any device, or "batches", the kernels of dash; "" is what suits the
    device."""
    if name not in ("", "reference", "batches"):
        raise ArgumentError(f"kernel: expected one of reference, batches, found {name!r}")
    if name == "reference" or not name and device.type != "cuda":
        return Reference(scale)
    if device.type != "cuda":
        raise ArgumentError(f"kernel: expected a CUDA device for 'batches', found '{device}'; 'reference' runs on any, for tests")
    return Batches(scale, group, head_dim, dtype, device)
