"""Documents shared out over ranks, and what comes back in the order of their rows. Importing it
makes dash_attn importable."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import fixtures  # noqa: F401
import torch

from dash_attn.distributed import World, attention
from dash_attn.distributed.problem import Home
from dash_attn.torch.hashing import as_words, hash_words

DOCUMENTS = (1100, 200, 400, 64, 1)  # in cut 0 of 9, 1, 2, 1 and 1 leaves
HEADS, KV_HEADS, HEAD_DIM = 4, 2, 64
NAMES = ("o", "lse", "dq", "dk", "dv")


def whole(
    documents: Sequence[int] = DOCUMENTS,
    dtype: torch.dtype = torch.bfloat16,
    heads: int = HEADS,
    kv_heads: int = KV_HEADS,
    head_dim: int = HEAD_DIM,
) -> list[torch.Tensor]:
    """q, k, v and the gradient of o, of all rows."""
    generator = torch.Generator().manual_seed(3)
    return [
        torch.randn(sum(documents), count, head_dim, generator=generator).to(dtype)
        for count in (heads, kv_heads, kv_heads, heads)
    ]


def scattered(documents: Sequence[int], ranks: int, seed: int) -> tuple[Home, ...]:
    """Pieces of any size on any rank, in any order; some ranks may have none."""
    source, homes = random.Random(seed), []
    for document, rows in enumerate(documents):
        first = 0
        while first < rows:
            count = min(rows - first, source.randint(1, 600))
            homes.append((source.randrange(ranks), document, first, count))
            first += count
    source.shuffle(homes)
    return tuple(homes)


def zigzag(documents: Sequence[int], ranks: int) -> tuple[Home, ...]:
    """The r-th and the r-th last of 2 * ranks pieces of each, as frameworks lay out context
    parallelism."""
    homes = []
    for document, rows in enumerate(documents):
        bounds = [rows * i // (2 * ranks) for i in range(2 * ranks + 1)]
        for rank in range(ranks):
            for piece in (rank, 2 * ranks - 1 - rank):
                if bounds[piece] < bounds[piece + 1]:
                    homes.append((rank, document, bounds[piece], bounds[piece + 1] - bounds[piece]))
    return tuple(homes)


def places(world: World, rank: int) -> torch.Tensor:
    """Where the rank's rows are among all."""
    begins = torch.tensor([0, *world.problem.documents]).cumsum(0)
    found = [
        torch.arange(begins[document] + first, begins[document] + end)
        for document, first, end, _ in world.problem.local(rank)
    ]
    return torch.cat(found) if found else torch.empty(0, dtype=torch.int64)


def made(ranks: Any, documents: Sequence[int] = DOCUMENTS, **options: Any) -> World:
    given = {"heads": HEADS, "kv_heads": KV_HEADS, "head_dim": HEAD_DIM, "cut": 0} | options
    return World(ranks, documents, **given)


def local(world: World, rank: int, tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """The rank's own rows; q, k and v require gradients."""
    rows = places(world, rank)
    return [
        tensor[rows].to(world.exchange.device).requires_grad_(i < 3)
        for i, tensor in enumerate(tensors)
    ]


def found_of(world: World, tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """O, LSE, dQ, dK and dV of all rows, of a world of virtual ranks."""
    ranks = world.exchange.ranks
    q, k, v, do = zip(*(local(world, rank, tensors) for rank in ranks))
    o, lse = attention(list(q), list(k), list(v), world=world, return_lse=True)
    gradients = torch.autograd.grad(o, [*q, *k, *v], do)
    n = len(ranks)
    lists = [
        [one.detach() for one in o],
        [one.detach().T for one in lse],
        *(gradients[i * n : (i + 1) * n] for i in range(3)),
    ]
    return [gathered(world, parts) for parts in lists]


def gathered(world: World, parts: Sequence[torch.Tensor]) -> torch.Tensor:
    out = parts[0].new_empty(sum(world.problem.documents), *parts[0].shape[1:])
    for rank, part in enumerate(parts):
        out[places(world, rank).to(out.device)] = part
    return out


def hashes(tensors: Sequence[torch.Tensor]) -> list[int]:
    """One of each, in which every bit counts, and where it is."""
    return [int(hash_words(as_words(one.contiguous()))) % 2**64 for one in tensors]
