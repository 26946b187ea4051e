"""Documents of packed rows that each rank knows for itself."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils.weak import WeakIdKeyDictionary

from ..errors import ArgumentError
from ..kernel.problem import demand
from .exchange import Together
from .problem import Home
from .world import World, exchange_of

_worlds: WeakIdKeyDictionary = WeakIdKeyDictionary()  # by the tensor of offsets


def describe(
    cu_seqlens: Any, group: Any, *, continues: bool = False, device: Any = None
) -> tuple[tuple[int, ...], tuple[Home, ...]]:
    """Documents and homes, as `World` takes them, of ranks that each have packed rows of their own.

    cu_seqlens: offsets of this rank's pieces of documents in its own rows, from 0 on, int32 of
    one dimension or whole numbers; of a rank
                without rows one 0.
    continues:  whether its first piece goes on with the last one of the rank in front of it, or
    of the last one in front that has rows. All ranks of the group have to call it; one small
    exchange on the CPU. Waits for the device where that has the offsets.
    """
    exchange = exchange_of(group, device, None)
    if isinstance(exchange, Together):
        raise ArgumentError(
            "group: expected a process group or a device mesh, found virtual ranks, of which one"
            " process knows all documents"
        )
    with exchange.guard("a description of documents"):
        lengths = _lengths_of(cu_seqlens)
        mine = torch.tensor([bool(continues), *lengths], dtype=torch.int64)
    every = exchange.gather(mine)
    documents: list[int] = []
    homes: list[Home] = []
    for rank, (goes_on, *pieces) in enumerate(one.tolist() for one in every):
        for i, rows in enumerate(pieces):
            if not (i == 0 and goes_on):
                documents.append(0)
            elif not documents:
                raise ArgumentError(
                    f"continues: expected False on rank {rank}: no rank in front of it has rows,"
                    " found True"
                )
            if rows:
                homes.append((rank, len(documents) - 1, documents[-1], rows))
                documents[-1] += rows
            elif not (i == 0 and goes_on):
                documents.pop()
    return tuple(documents), tuple(homes)


def _lengths_of(cu_seqlens: Any) -> list[int]:
    numbers = cu_seqlens.tolist() if hasattr(cu_seqlens, "tolist") else list(cu_seqlens)
    demand(
        None
        if numbers and all(type(one) is int for one in numbers)
        else (
            f"cu_seqlens: expected whole numbers of one dimension, from 0 on, found {numbers!r:.80}"
        )
    )
    lengths = [end - begin for begin, end in zip(numbers, numbers[1:])]
    demand(
        None
        if numbers[0] == 0 and min(lengths, default=0) >= 0
        else (
            "cu_seqlens: expected offsets that ascend from 0, found"
            f" {numbers[:8]}{' …' * (len(numbers) > 8)}"
        )
    )
    return lengths


def world_of(
    q: torch.Tensor,
    k: torch.Tensor,
    cu_seqlens: Any,
    group: Any,
    continues: bool,
    options: dict[str, Any],
) -> World:
    """The world of these offsets: described once for a tensor that stays as it is."""
    key = (
        id(group),
        q.shape[1:],
        k.shape[1:],
        q.dtype,
        continues,
        tuple(sorted((name, repr(value)) for name, value in options.items())),
        getattr(cu_seqlens, "_version", 0),
    )
    kept = _worlds.get(cu_seqlens) if isinstance(cu_seqlens, torch.Tensor) else None
    if kept is None or kept[0] != key:
        documents, homes = describe(
            cu_seqlens, group, continues=continues, device=options.get("device")
        )
        world = World(
            group,
            documents,
            heads=q.shape[1],
            kv_heads=k.shape[1],
            head_dim=q.shape[2],
            dtype=q.dtype,
            homes=homes,
            **options,
        )
        kept = (key, world)
        if isinstance(cu_seqlens, torch.Tensor):
            _worlds[cu_seqlens] = kept
    return kept[1]
