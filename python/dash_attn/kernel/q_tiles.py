"""How many rows the q tiles of a forward have, where bits do not follow from it: what takes less
time by a count of its steps. Head dims to FLAT have q tiles of 128 and of 192 rows."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import NamedTuple

from ..reference import Mask

FLAT = 96  # head dim
SHORT_TILE, LONG_TILE = 128, 192
ROWS_OF_WARPGROUP = 64
MOST_COUNTED = 1 << 14  # rows


class Price(NamedTuple):
    """In thousandths of a step of a q tile of 128 rows over a kv tile."""

    step: int
    masked: int  # more for a step whose tile the mask cuts
    item: int  # what a q tile costs beside its steps: loading q, and writing o


# Fitted to head dim 64 at 512 to 16384 rows, full and causal, on an H200:
# test/Device/records/h200-2026-11-29-both-ways.json has times of both q tiles.
PRICES = {SHORT_TILE: Price(1000, 350, 900), LONG_TILE: Price(1220, 350, 1600)}


def kv_tile_of(head_dim: int, head_dim_v: int) -> int:
    """Rows of kv tiles of forwards up to the head dim FLAT."""
    return 128 if max(head_dim, head_dim_v) <= 64 else 96


@functools.lru_cache(maxsize=4096)
def rows_of_q_tile(mask: Mask, q_rows: int, kv_rows: int, kv_tile: int) -> int:
    """What takes less time for a sequence of these rows. The last rows of a long one stand for all.
    The mask has no bitmap."""
    counted = min(q_rows, MOST_COUNTED)
    return min(PRICES, key=lambda tile: price_of(mask, counted, kv_rows, tile, kv_tile))


def price_of(mask: Mask, q_rows: int, kv_rows: int, q_tile: int, kv_tile: int) -> int:
    """The time of all items of a head. The last q tile counts as a whole one, as it is computed."""
    price, warpgroups = PRICES[q_tile], q_tile // ROWS_OF_WARPGROUP
    items = -(-q_rows // q_tile)
    steps = items * -(-kv_rows // kv_tile) * warpgroups
    masked = 0 if kv_rows % kv_tile == 0 else items  # past the last column
    if mask != Mask():
        walked = [
            _tiles_of(mask, first, q_tile, q_rows, kv_rows, kv_tile)
            for first in range(0, q_rows, q_tile)
        ]
        steps, masked = (sum(counts) for counts in zip(*walked))
    return steps * price.step // warpgroups + masked * price.masked + items * price.item


def _tiles_of(
    mask: Mask, first: int, q_tile: int, q_rows: int, kv_rows: int, kv_tile: int
) -> tuple[int, int]:
    """How many kv tiles the warpgroups of the q tile from a row on walk, added up, and how many of
    the tile's the mask cuts. A warpgroup ends with the last tile that its own rows see, but under
    unions."""
    rows = first, min(first + q_tile, q_rows) - 1
    walked, whole = [], []
    for some, all_of_them in _columns(mask, *rows, q_rows, kv_rows):
        walked.append(range(some.start // kv_tile, -(-some.stop // kv_tile)) if some else range(0))
        whole.append(range(-(-all_of_them.start // kv_tile), all_of_them.stop // kv_tile))
    count, warpgroups = _count(walked), q_tile // ROWS_OF_WARPGROUP
    steps = count * warpgroups
    if mask.right >= 0 and mask.union is None and count > 0:
        ends = (
            first + ROWS_OF_WARPGROUP * (one + 1) + kv_rows - q_rows + mask.right
            for one in range(warpgroups)
        )
        own = (-(-min(max(end, 0), kv_rows) // kv_tile) - walked[0].start for end in ends)
        steps = sum(min(max(tiles, 1), count) for tiles in own)
    return steps, count - _count(whole)


def _count(ranges: list[range]) -> int:
    """Numbers that are in one of at most two ranges."""
    one, other = ranges[0], ranges[-1]
    both = range(max(one.start, other.start), min(one.stop, other.stop))
    return len(one) if len(ranges) == 1 else len(one) + len(other) - len(both)


def _columns(
    mask: Mask, first: int, last: int, q_rows: int, kv_rows: int
) -> Iterator[tuple[range, range]]:
    """Columns that some row of a q tile sees, and those that all of them see, of each part of a
    union."""

    def seen(left: int, right: int) -> tuple[range, range]:
        # masks are aligned at the bottom right
        of_first, of_last = (row + kv_rows - q_rows for row in (first, last))
        begin = [max(place - left, 0) if left >= 0 else 0 for place in (of_first, of_last)]
        end = [
            min(max(place + right + 1, 0), kv_rows) if right >= 0 else kv_rows
            for place in (of_first, of_last)
        ]
        return range(begin[0], end[1]), range(begin[1], end[0])

    band = seen(mask.left, mask.right)
    if mask.union is None:
        yield band
        return
    columns, left, right = mask.union
    for part in ((range(columns), range(columns)), seen(left, right)):
        both = [range(max(a.start, b.start), min(a.stop, b.stop)) for a, b in zip(band, part)]
        yield both[0], both[1]
