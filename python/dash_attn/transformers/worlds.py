"""A model inside of `with world.as_current():`, whose rows are those that this rank has of the
world's documents."""

from __future__ import annotations

import sys
import weakref
from typing import Any

import torch
from torch.utils.weak import WeakIdKeyDictionary

from .documents import demand_positions
from .masks import Mask
from .refusal import refuse, spelled

# of positions: for which world, in which version, and whether they are its
_seen: WeakIdKeyDictionary = WeakIdKeyDictionary()


def current_world() -> Any:
    """That of `as_current`, if anybody has one."""
    module = sys.modules.get("dash_attn.distributed.world")
    return module.current_world() if module else None


def _are_the_worlds(world: Any, positions: torch.Tensor) -> bool:
    """Asked once of a tensor that stays as it is, not in each layer: it waits for the device."""
    seen = _seen.get(positions)
    if seen is None or seen[0]() is not world or seen[1] != positions._version:
        expected = world.positions()
        _seen[positions] = seen = (
            weakref.ref(world),
            positions._version,
            positions.shape == (1, *expected.shape) and torch.equal(positions[0], expected),
        )
    return seen[2]


def attend_in(
    world: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    seen: Mask,
    positions: torch.Tensor | None,
    scaling: float | None,
    sink: torch.Tensor | None,
    softcap: float | None = None,
) -> torch.Tensor:
    """[1, heads, rows, head_dim] in, [1, rows, heads, head_dim] out. positions: have to be those
    of this rank's rows in the world's documents, which say where these begin, as the model's
    hook holds all offsets to positions. Raises ArgumentError for what a world does not serve."""
    from ..distributed import attention

    rows, ranks = query.shape[2], len(world.exchange.ranks)
    if ranks > 1:
        raise refuse("a world of processes", f"one of {ranks} virtual ranks")
    if query.shape[0] != 1 or key.shape[2] != rows:
        raise refuse(
            "one row of the batch, with all tokens of this rank, and no cache",
            f"{query.shape[0]} rows of {rows} tokens beside {key.shape[2]}",
        )
    if softcap is not None:
        raise refuse("no softcap within a world", spelled(softcap))
    if sink is not None or seen.right != 0 or seen.left is not None and seen.left < rows - 1:
        raise refuse(
            "causal attention within documents, as a world has it",
            "a sink" if sink is not None else "another mask",
        )
    if scaling is not None and scaling != world.scale:
        raise refuse(
            f"a scale of {world.scale}, as the world has it",
            str(scaling),
            f"make the world with scale={scaling}",
        )
    demand_positions(rows)
    if positions is None or not _are_the_worlds(world, positions):
        raise refuse(
            "position_ids that are world.positions()[None]",
            "none at the attention of a layer" if positions is None else "others",
            "they are this rank's rows' positions in the world's documents",
        )
    return attention(*(one[0].transpose(0, 1) for one in (query, key, value)), world=world)[None]
