"""Memory for the buffers of a plan, asked for before anything is sent: where there is too
little, all ranks are told so."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ..errors import CapacityError
from .exchange import Exchange
from .kept_inputs import kept_bytes
from .plan import BACKWARD, FORWARD, PHASES, Plan

LESS = "fewer bytes that are kept, more ranks or fewer rows take less"


def bytes_of(plan: Plan, rank: int) -> dict[str, int]:
    """Bytes of a rank's buffers, by what they are for."""
    kept = kept_bytes(plan, rank)
    return {
        f"{('forward', 'backward')[of_pass]} {name}": phase.send + phase.receive
        for of_pass in (FORWARD, BACKWARD)
        for name in PHASES[of_pass]
        if (phase := plan.phase(of_pass, name, rank)).send + phase.receive
    } | ({"kept from the forward": kept} if kept else {})


def reserve(plans: Sequence[Plan], exchange: Exchange, memory: int = 0) -> None:
    """Takes the buffers of a pass from PyTorch's cache, and gives them back to it. memory: bytes
    that they may take on a rank; 0: any. Raises CapacityError."""
    most = max(plan.facts["memory"] for plan in plans) if memory else 0
    if most > memory:
        raise CapacityError(
            f"memory: expected at most {memory} bytes of buffers on a rank, found {most} on the"
            f" fullest; {LESS}"
        )
    for plan in plans:
        for rank in exchange.ranks:
            sizes = bytes_of(plan, rank)
            backward = [
                size for name, size in sizes.items() if name.startswith(("backward", "kept"))
            ]
            try:
                with exchange.stream():  # PyTorch's cache is one for each stream
                    _ = [
                        torch.empty(size, dtype=torch.uint8, device=exchange.device)
                        for size in backward
                    ]
            except RuntimeError as error:  # of CUDA and of the CPU alike
                purposes = ", ".join(f"{name} {size}" for name, size in sizes.items())
                raise CapacityError(
                    f"rank {rank}: expected {sum(backward)} bytes for buffers on"
                    f" '{exchange.device}', found no room for them; bytes by purpose: {purposes};"
                    f" {LESS} ({str(error).splitlines()[0][:120]})"
                ) from error
