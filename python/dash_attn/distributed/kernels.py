"""Which `LeafKernel` a world has."""

from __future__ import annotations

import torch

from ..errors import ArgumentError
from ..kernel.problem import DASH
from ..torch import flash3
from .batches import Batches
from .leaves import LeafKernel
from .reference import Reference

FORWARDS = (DASH, "flash2", flash3.NAME)  # of "batches"; the first where a world asks for none


def kernel_named(
    name: str,
    scale: float,
    group: int,
    head_dim: int,
    dtype: torch.dtype,
    device: torch.device,
    forward: str = "",
) -> LeafKernel:
    """ "reference", on any device, or "batches", the kernels of dash; "" is what suits the
    device. forward: one of FORWARDS, of "batches"."""
    if name not in ("", "reference", "batches"):
        raise ArgumentError(f"kernel: expected one of reference, batches, found {name!r}")
    if forward not in ("", *FORWARDS):
        raise ArgumentError(f"forward: expected one of {', '.join(FORWARDS)}, found {forward!r}")
    if name == "reference" or not name and device.type != "cuda":
        if forward:
            raise ArgumentError(
                "forward: expected none for the kernel 'reference', which has its own, found"
                f" {forward!r}"
            )
        return Reference(scale)
    if device.type != "cuda":
        raise ArgumentError(
            f"kernel: expected a CUDA device for 'batches', found '{device}'; 'reference' runs on"
            " any, for tests"
        )
    return Batches(scale, group, head_dim, dtype, device, forward or FORWARDS[0])
