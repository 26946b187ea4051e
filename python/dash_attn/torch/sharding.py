"""DTensor over batch and heads: each device computes its own, and nothing is sent."""

from __future__ import annotations

import sys
from typing import Any

from .operator import gradients

_known = False


def refusal_of_sharding(q: Any, k: Any, layout: str) -> str | None:
    """Why tensors that are sharded like this are refused; None if they are not, or not sharded. Teaches DTensor the operator."""
    module = sys.modules.get("torch.distributed.tensor")
    if module is None or not isinstance(q, module.DTensor) or not isinstance(k, module.DTensor):
        return None
    _teach()
    heads = 1 if layout == "bhsd" else 2
    for tensor in (q, k):
        for i, placement in enumerate(tensor.placements):
            if placement.is_shard(heads) and k.shape[heads] % tensor.device_mesh.size(i):
                return (f"k: expected a number of heads that {tensor.device_mesh.size(i)} devices divide among them, found {k.shape[heads]}; "
                        "shard the batch, or repeat heads of k and v")
    return None


def _teach() -> None:
    global _known
    if _known:
        return
    from torch.distributed.tensor import Replicate, Shard
    from torch.distributed.tensor.experimental import register_sharding

    @register_sharding(gradients)
    def rule(do: Any, q: Any, k: Any, v: Any, o: Any, lse: Any, left: int, right: int, scale: float) -> list[Any]:
        """Whole, or parts of the batch, or of the heads."""
        return [([placement] * 3, [placement] * 6 + [None] * 3) for placement in (Replicate(), Shard(0), Shard(1))]

    _known = True
