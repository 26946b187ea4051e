"""DTensor over batch and heads: each device computes its own, and nothing is sent. Over rows it
is refused: that is a world's."""

from __future__ import annotations

import sys
from typing import Any

from .foreign import foreign_operator
from .forward import forward_operator
from .operator import gradients

_known = False


def refusal_of_sharding(q: Any, k: Any, layout: str) -> str | None:
    """Why tensors that are sharded like this are refused; None if they are not, or not sharded.
    Teaches DTensor the operators."""
    module = sys.modules.get("torch.distributed.tensor")
    if module is None or not isinstance(q, module.DTensor) or not isinstance(k, module.DTensor):
        return None
    _teach()
    heads, rows = layout.index("h"), layout.index("s")
    for name, tensor in (("q", q), ("k", k)):
        for i, placement in enumerate(tensor.placements):
            if placement.is_shard(rows):
                return (
                    f"{name}: expected shards of the batch or of heads, found Shard({rows}), of"
                    " rows: every row would be gathered on every device; dash_attn.distributed"
                    " computes documents whose rows lie on several GPUs, from local tensors"
                    " (DTensor.to_local())"
                )
            if placement.is_shard(heads) and k.shape[heads] % tensor.device_mesh.size(i):
                return (
                    f"k: expected a number of heads that {tensor.device_mesh.size(i)} devices"
                    f" divide among them, found {k.shape[heads]}; shard the batch, or repeat heads"
                    " of k and v"
                )
    return None


def _teach() -> None:
    global _known
    if _known:
        return
    from torch.distributed.tensor import Replicate, Shard
    from torch.distributed.tensor.experimental import register_sharding

    ways = (Replicate(), Shard(0), Shard(1))  # whole, or parts of the batch, or of the heads
    of_sinks = (Replicate(), Replicate(), Shard(0))

    @register_sharding(gradients)
    def rule(
        do: Any,
        q: Any,
        k: Any,
        v: Any,
        o: Any,
        lse: Any,
        left: int,
        right: int,
        scale: float,
        dlse: Any = None,
        sink: Any = None,
        *rest: Any,
    ) -> list[Any]:
        found = []
        for way, of_sink in zip(ways, of_sinks):
            of_dlse = None if dlse is None else way
            of_sink, of_dsink = (None, None) if sink is None else (of_sink, way)
            found.append(([way] * 3 + [of_dsink], [*[way] * 6, *[None] * 3, of_dlse, of_sink]))
        return found

    @register_sharding(forward_operator)
    def rule_of_forward(
        q: Any,
        k: Any,
        v: Any,
        left: int,
        right: int,
        scale: float,
        softcap: float = 0.0,
        sink: Any = None,
        *rest: Any,
    ) -> list[Any]:
        return [
            (
                [way] * 2,
                [*[way] * 3, *[None] * 4, None if sink is None else of_sink, *[None] * len(rest)],
            )
            for way, of_sink in zip(ways, of_sinks)
        ]

    @register_sharding(foreign_operator)
    def rule_of_foreign(
        q: Any, k: Any, v: Any, left: int, right: int, scale: float, sink: Any = None, *rest: Any
    ) -> list[Any]:
        return [
            ([way] * 2, [*[way] * 3, *[None] * 3, None if sink is None else of_sink])
            for way, of_sink in zip(ways, of_sinks)
        ]

    _known = True
