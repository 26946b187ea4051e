"""What a schedule is made for: sequences, heads, tiles and mask, and from them the active tasks.

Everything here follows the definitions and shares nothing with the compiler.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np


@dataclass(frozen=True)
class Blocks:
    """A bitmap over blocks of q x kv elements; bits[kv block][q block] is '1' where visible."""

    q: int
    kv: int
    bits: tuple[str, ...]


@dataclass(frozen=True)
class Union:
    """The first columns, or those of a window."""

    columns: int
    window: tuple[int, int]


@dataclass(frozen=True)
class Mask:
    """Row i sees column j iff -left <= j - (i + Skv - Sq) <= right (-1 is unbounded), its block is
    visible, and the union has it."""

    causal: bool = False
    window: tuple[int, int] | None = None
    blocks: Blocks | None = None
    union: Union | None = None

    def bounds(self) -> tuple[int | None, int | None]:
        """The bounds (left, right) of causal and window together; None is unbounded."""
        left, right = self.window if self.window is not None else (-1, -1)
        if self.causal:
            right = 0
        return (None if left == -1 else left), (None if right == -1 else right)

    def members(self) -> list[tuple[int | None, Mask]]:
        """Masks without a union of which each pair is seen by one: (how many first columns it is
        of, the mask)."""
        if self.union is None:
            return [(None, self)]
        whole, (left, right) = self.bounds(), self.union.window
        nearer = tuple(
            min(
                (bound for bound in (one, None if other == -1 else other) if bound is not None),
                default=-1,
            )
            for one, other in zip(whole, (left, right))
        )
        return [
            (self.union.columns, replace(self, union=None)),
            (None, Mask(False, nearer, self.blocks)),
        ]


@dataclass(frozen=True)
class Sequence:
    q: int
    kv: int


def _ceil_div(a: int, b: int) -> int:
    return -(-a // b)


@dataclass(frozen=True)
class Problem:
    sequences: tuple[Sequence, ...]
    tile_q: int = 16
    tile_kv: int = 16
    mask: Mask = field(default_factory=Mask)
    heads: int = 1
    kv_heads: int = 1
    parts: int = 1

    def __post_init__(self) -> None:
        if self.heads % self.kv_heads or (self.group % self.parts and self.parts % self.group):
            raise ValueError(f"heads {self.heads}, kv heads {self.kv_heads}, parts {self.parts}")

    @property
    def group(self) -> int:
        return self.heads // self.kv_heads

    def q_tiles(self, sequence: int) -> int:
        return _ceil_div(self.sequences[sequence].q, self.tile_q)

    def kv_tiles(self, sequence: int) -> int:
        return _ceil_div(self.sequences[sequence].kv, self.tile_kv)

    def part_heads(self, kv_head: int, part: int) -> range:
        """The query heads of one part of a kv head's group: a run of them, or one, of which the
        part has a run of q tiles."""
        size = max(self.group // self.parts, 1)
        first = kv_head * self.group + part // self.runs * size
        return range(first, first + size)

    @property
    def runs(self) -> int:
        """Into how many runs a head's q tiles are cut: with more parts than heads, as many as there
        are parts for a head."""
        return max(self.parts // self.group, 1)

    def active(self, sequence: int) -> np.ndarray:
        """active[kv tile, q tile]: whether at least one (row, column) of the tile is visible."""
        return _active(self.sequences[sequence], self.tile_q, self.tile_kv, self.mask)

    def num_tasks(self) -> int:
        return self.heads * sum(int(self.active(s).sum()) for s in range(len(self.sequences)))

    def item_keys(self) -> list[tuple[int, int, int, int]]:
        """Every (sequence, kv head, part, kv tile), empty items too."""
        return [
            (sequence, kv_head, part, kv)
            for sequence in range(len(self.sequences))
            for kv_head in range(self.kv_heads)
            for part in range(self.parts)
            for kv in range(self.kv_tiles(sequence))
        ]

    def item_tasks(self, key: tuple[int, int, int, int]) -> list[tuple[int, int]]:
        """The (head, q tile) pairs of an item, heads and q tiles ascending."""
        sequence, kv_head, part, kv = key
        tiles = np.flatnonzero(self.active(sequence)[kv]).tolist()
        run = part % self.runs
        tiles = tiles[run * len(tiles) // self.runs : (run + 1) * len(tiles) // self.runs]
        return [(head, q) for head in self.part_heads(kv_head, part) for q in tiles]

    def chain_keys(self) -> list[tuple[int, int, int]]:
        """Every (sequence, head, q tile), those without a contribution too."""
        return [
            (sequence, head, q)
            for sequence in range(len(self.sequences))
            for head in range(self.heads)
            for q in range(self.q_tiles(sequence))
        ]

    def owners(self) -> dict[tuple[int, int, int, int], int]:
        """Which part has a task (sequence, head, q tile, kv tile)."""
        return {
            (key[0], head, q, key[3]): key[2]
            for key in self.item_keys()
            for head, q in self.item_tasks(key)
        }

    def part_chain_keys(self) -> list[tuple[int, int, int]]:
        """Every (sequence, kv head, kv tile), also where there is one part only."""
        return [
            (sequence, kv_head, kv)
            for sequence in range(len(self.sequences))
            for kv_head in range(self.kv_heads)
            for kv in range(self.kv_tiles(sequence))
        ]


def _edges(length: int, tile: int) -> tuple[np.ndarray, np.ndarray]:
    first = np.arange(0, length, tile)
    return first, np.minimum(first + tile, length) - 1


def _visible(
    i0: np.ndarray, i1: np.ndarray, j0: np.ndarray, j1: np.ndarray, offset: int, mask: Mask
) -> np.ndarray:
    """Whether rows i0..i1 and columns j0..j1 (inclusive, may be empty) have a visible pair.

    j - i takes every value from j0 - i1 to j1 - i0 on such a rectangle.
    """
    left, right = mask.bounds()
    seen = (i0 <= i1) & (j0 <= j1)
    if left is not None:
        seen = seen & (j1 - i0 - offset >= -left)
    if right is not None:
        seen = seen & (j0 - i1 - offset <= right)
    return seen


@lru_cache(maxsize=512)
def _active(sequence: Sequence, tile_q: int, tile_kv: int, mask: Mask) -> np.ndarray:
    i0, i1 = (edge[None, :] for edge in _edges(sequence.q, tile_q))
    j0, j1 = (edge[:, None] for edge in _edges(sequence.kv, tile_kv))
    offset = sequence.kv - sequence.q
    if mask.union is not None:
        return np.logical_or.reduce(
            [
                _active_in(
                    i0,
                    i1,
                    j0,
                    j1 if columns is None else np.minimum(j1, columns - 1),
                    offset,
                    member,
                )
                for columns, member in mask.members()
            ]
        )
    return _active_in(i0, i1, j0, j1, offset, mask)


def _active_in(
    i0: np.ndarray, i1: np.ndarray, j0: np.ndarray, j1: np.ndarray, offset: int, mask: Mask
) -> np.ndarray:
    """Which tiles have a visible pair, of a mask without a union."""
    if mask.blocks is None:
        return _visible(i0, i1, j0, j1, offset, mask)
    blocks = mask.blocks
    active = np.zeros((j0.shape[0], i0.shape[1]), dtype=bool)
    for kv_block, row in enumerate(blocks.bits):
        first, last = kv_block * blocks.kv, (kv_block + 1) * blocks.kv - 1
        for q_block in (q for q, bit in enumerate(row) if bit == "1"):
            top, bottom = q_block * blocks.q, (q_block + 1) * blocks.q - 1
            active |= _visible(
                np.maximum(i0, top),
                np.minimum(i1, bottom),
                np.maximum(j0, first),
                np.minimum(j1, last),
                offset,
                mask,
            )
    return active
