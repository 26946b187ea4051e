"""dS on its way from the program of dk and dv to that of dq, above head dim MOST_TOGETHER.

The second program then has one product instead of three. dS takes 2 bytes a score, in memory that
one call has for itself. So a call computes some heads at a time where all of them would take more
than `most_bytes`, and dS twice where one kv head would. No bit follows from any of it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from ..errors import ArgumentError
from .coverage import Coverage
from .problem import MOST_TOGETHER, Slice, Wanted, coverage_of, slices_of

VARIABLE = "DASH_DS_BYTES"
USUALLY = 2 << 30
NUMBERS, BYTES, ROWS = 4096, 2 * 4096, 64  # of a tile
# kv tiles of all kv heads in a launch. With fewer, workers share them less evenly, which may cost
# more than a second dS (dialects/dash/docs/history.md).
FEWEST_ITEMS = 512


def most_bytes() -> int:
    """What dS of one launch may take. Raises ArgumentError for a variable that is no number."""
    text = os.environ.get(VARIABLE, "")
    if not text:
        return USUALLY
    if not text.isascii() or not text.isdigit():
        raise ArgumentError(
            f"{VARIABLE}: expected a number of bytes, 0 so that dS is always computed twice, found"
            f" {text[:64]!r}"
        )
    return int(text)


def tiles_of(
    wanted: Wanted, batch: int, heads: int, kv_heads: int, q_rows: int, kv_rows: int
) -> int:
    """How many tiles dS has, 0 where it cannot be passed on."""
    if (
        max(wanted.head_dim, wanted.head_dim_v) <= MOST_TOGETHER
        or wanted.is_forward
        or wanted.is_list
        or wanted.rules
    ):
        return 0
    found = coverage_of(
        (batch, heads, q_rows, wanted.head_dim),
        (batch, kv_heads, kv_rows, wanted.head_dim),
        (batch, kv_heads, kv_rows, wanted.head_dim_v),
        "bhsd",
        window=wanted.window,
    )
    return found.tasks if isinstance(found, Coverage) else 0


def passes_ds(wanted: Wanted, *sizes: int) -> bool:
    """Whether the programs of a batch pass dS on. sizes: as `orders.SIZES` names them."""
    return 0 < BYTES * tiles_of(wanted, *sizes) <= most_bytes()


def slices_of_gradients(
    wanted: Wanted, q: Sequence[int], k: Sequence[int], v: Sequence[int], layout: str
) -> list[Slice]:
    """`problem.slices_of`, in smaller slices where dS of one would take too much memory. wanted:
    without an order."""
    slices = slices_of(q, k, v, layout)  # refuses what has no heads
    heads, rows = layout.index("h"), layout.index("s")
    group = q[heads] // k[heads]

    def bytes_of(batch: int, kv_heads: int) -> int:
        return BYTES * tiles_of(wanted, batch, kv_heads * group, kv_heads, q[rows], k[rows])

    found = []
    for one in slices:
        batch, _, of_k = one
        numbers = _count(batch), _count(of_k)
        most = most_bytes() // max(1, bytes_of(1, 1))
        if bytes_of(*numbers) <= most_bytes() or most == 0:
            found.append(one)
            continue
        pieces = [
            (some, those)
            for some in _equal(batch, max(1, most // numbers[1]))
            for those in _equal(of_k, min(most, numbers[1]))
        ]
        tiles = -(-k[rows] // ROWS)
        if min(_count(some) * _count(those) for some, those in pieces) * tiles < FEWEST_ITEMS:
            found.append(one)
            continue
        found += [
            (some, slice(those.start * group, those.stop * group), those) for some, those in pieces
        ]
    return found


def _count(some: slice) -> int:
    return some.stop - some.start


def _equal(whole: slice, most: int) -> list[slice]:
    """In as few pieces of at most so many as there can be, which differ by one at most."""
    number = _count(whole)
    count = -(-number // most)
    bounds = [whole.start + i * number // count for i in range(count + 1)]
    return [slice(*pair) for pair in zip(bounds, bounds[1:])]
