"""The order that a problem takes: that of `kind=auto`, which follows from sizes, mask, level and
the number of workers alone, and so do bits.

Where `auto` takes formulas, their kernel serves any sizes and makes its order in each call.
Where it searches, takes a kind without formulas for the mask, or the problem is small, the
kernel is the same for all sizes, too, and its order a table for these: planned once, on the
device once.

Planners serve bands. Unions have the formulas of one kind, and a bitmap's program is compiled for
its sizes, with its table.
"""

from __future__ import annotations

import functools
import json
import logging
import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from .compiler import Compiled
from .library import Choice, Handle, StringRef, fill, library, make, named
from .list_kinds import kind_of_lists
from .problem import (
    ANY_SIZES,
    FOLDS,
    FULL,
    MOST_TOGETHER,
    SEARCHED,
    Wanted,
    for_any_sizes,
    parts_of,
    program_of,
)
from .programs import compiled_program
from .tasks import passes_ds
from .q_tiles import FLAT, LONG_TILE, SHORT_TILE, kv_tile_of, rows_of_q_tile

SIZES = ("batch", "heads", "kv_heads", "q_rows", "kv_rows")
# pairs of tiles; formulas of fewer are written out, too: the entry that makes their order takes
# longer than they gain
FEWEST_OF_FORMULAS = 1 << 16
# The same of forwards. A million pairs are planned in a tenth of a second, once, into 9 MB; the
# entry would take 0.9 % of each forward.
FEWEST_OF_FORWARDS = (1 << 20) + 1
# kv tiles for each worker: with more of them parts save less than ordering the problem in each
# number takes
FEW = 4
# of a forward: usual tiles, and what all of its q tiles and most kv tiles are multiples of
ROWS_OF_TILE, ROWS_OF_TABLE = 128, 64
# Packed sequences have q tiles of the short kind up to a mean of these rows: they vary in length,
# and most of the work is in the long ones.
SHORT_MEAN = 1280
FEWEST_ROWS = 64  # of q tiles
# Heads are folded where that leaves at most so many of the items: less is lost among other effects,
# and long sequences keep the kernels that they have.
MOST_OF_ITEMS = 0.9
SLOW = 0.2  # seconds of planning, after which the log says what is planned
log = logging.getLogger("dash_attn")


@dataclass(frozen=True)
class Ordered:
    """kernels: each with its kind and parts, and of a table the sizes that stand for all of the
    same tiles; one, or above head dim MOST_TOGETHER one for each part of the gradients.
    predicted: its time by that which no order is below, 0 where none was chosen."""

    kernels: tuple[Wanted, ...]
    predicted: float

    @property
    def wanted(self) -> Wanted:
        """The first, where one is enough: that of dk and dv."""
        return self.kernels[0]


def order_for(wanted: Wanted, *sizes: int) -> Ordered:
    """wanted: of a batch, without an order; sizes: as SIZES names them. Raises ArgumentError for
    those that no kernel serves. At a level above `run` the order is that of packed sequences, so
    a sequence has the same bits in both."""
    parts = parts_of(wanted)
    if wanted.mask.blocks is not None:  # there are no formulas
        kind = SEARCHED if len(parts) == 1 else ""
        return Ordered(tuple(one._replace(kind=kind, sizes=sizes) for one in parts), 0)
    if len(parts) > 1:
        of_kv, of_q = (one._replace(passes_ds=passes_ds(one, *sizes)) for one in parts)
        return Ordered((of_kv, _with_table(of_q, *sizes)), 0)
    if wanted.level != "run" or wanted.rules:
        kind = kind_of_lists(wanted.window, wanted.rules, wanted.level)
        return Ordered((wanted._replace(kind=kind),), 0)
    ordered = _choose(wanted._replace(takes_delta=False, is_unrounded=False), sizes)
    if not (wanted.takes_delta or wanted.is_unrounded):
        return ordered
    own = ordered.wanted._replace(takes_delta=wanted.takes_delta, is_unrounded=wanted.is_unrounded)
    return replace(ordered, kernels=(own,))


def q_tiles_of(wanted: Wanted) -> tuple[int, ...]:
    """Those of a forward: of long sequences, and of short ones."""
    return (0, SHORT_TILE) if max(wanted.head_dim, wanted.head_dim_v) <= FLAT else (0,)


def forward_for(wanted: Wanted, *sizes: int) -> Wanted:
    """The kernel of a batch's forward, as `Wanted` names it. wanted: without sizes; sizes: as
    SIZES names them. Nothing here changes a bit of a row. Where keys are cut there is no table:
    decoding has other sizes in each step."""
    _, heads, kv_heads, q_rows, kv_rows = sizes
    mask = wanted.mask._replace(blocks=None)  # a bitmap decides below
    kv_tile = kv_tile_of(wanted.head_dim, wanted.head_dim_v)
    tile = rows_of_q_tile(mask, q_rows, kv_rows, kv_tile)
    found = _folded(wanted, heads // kv_heads, q_rows, is_short=tile == SHORT_TILE)
    is_for_any = wanted.cut and wanted.mask.blocks is None
    return found if is_for_any else _with_table(found, *sizes)


def _with_table(wanted: Wanted, *sizes: int) -> Wanted:
    """The same, of items that own q tiles, with a table where there are few tiles."""
    batch, heads, _, q_rows, kv_rows = sizes
    pairs = batch * heads * -(-q_rows // ROWS_OF_TILE) * -(-kv_rows // ROWS_OF_TILE)
    if wanted.mask.blocks is not None:
        return wanted._replace(sizes=sizes)
    if pairs >= FEWEST_OF_FORWARDS or wanted.rules:
        return wanted
    # Rows of the same tiles have the same order; above MOST_TOGETHER tiles are no usual ones, and
    # in tiles of 96 columns kv tiles have 96 rows.
    most = max(wanted.head_dim, wanted.head_dim_v)
    has_usual = most <= 64 or 96 < most <= MOST_TOGETHER
    if has_usual and (wanted.window == FULL or q_rows == kv_rows):
        of_tile = _q_tile_of(wanted) // wanted.fold
        of_q = math.gcd(ROWS_OF_TABLE, of_tile) if wanted.fold > 1 else ROWS_OF_TABLE
        of_kv = ROWS_OF_TABLE if wanted.window == FULL else of_q
        q_rows, kv_rows = -(-q_rows // of_q) * of_q, -(-kv_rows // of_kv) * of_kv
    return wanted._replace(sizes=(*sizes[:3], q_rows, kv_rows))


def order_of_list(wanted: Wanted) -> Ordered:
    """The kernels of gradients of packed sequences. wanted: without an order."""
    return Ordered(parts_of(wanted._replace(is_list=True)), 0)


def forward_of_list(wanted: Wanted, sequences: int, q_rows: int, group: int = 1) -> Wanted:
    """The kernel of the forward of packed sequences, whose lengths are unknown. q_rows: of all of
    them; group: query heads of a kv head. No sequence has more items by a fold, however long it
    is."""
    mean = -(-q_rows // max(sequences, 1))
    return _folded(wanted, group, mean, is_short=q_rows < SHORT_MEAN * sequences)


def _folded(wanted: Wanted, group: int, q_rows: int, is_short: bool) -> Wanted:
    """The kernel of the least items of a kv head, and among these of the least fold.

    An item walks the keys that its last row sees, whatever rows it has beside that one. So items
    count for the time, and for what is read of K and V: F heads in a tile have
    ceil(q_rows * F / tile) items, alone they have F * ceil(q_rows / tile). That is never less, and
    no item is longer by a fold. Where workers have an item each, only reads of K and V are saved.
    group: query heads of a kv head; q_rows: of a sequence.
    """
    alone = _in_q_tiles(wanted, q_rows, is_short)
    if wanted.rules:  # of bands only
        return alone

    def items(one: Wanted) -> int:
        return group // one.fold * -(-q_rows * one.fold // _q_tile_of(one))

    folds = (fold for fold in FOLDS[1:] if group % fold == 0)
    folded = [_in_q_tiles(wanted, q_rows * fold, is_short)._replace(fold=fold) for fold in folds]
    best = min((alone, *folded), key=items)  # the first of the least
    return best if items(best) <= MOST_OF_ITEMS * items(alone) else alone


def _q_tile_of(wanted: Wanted) -> int:
    """Rows of a forward's q tiles, those that the compiler takes where none are asked for."""
    is_flat = max(wanted.head_dim, wanted.head_dim_v) <= FLAT
    return wanted.q_tile or (LONG_TILE if is_flat else ROWS_OF_TILE)


def _in_q_tiles(wanted: Wanted, q_rows: int, is_short: bool) -> Wanted:
    """q_rows: of a sequence, times the heads of a tile. Where keys are cut, sequences of few rows
    take q tiles of one warpgroup, which compute fewer rows that are not there."""
    if wanted.cut and q_rows <= FEWEST_ROWS:
        return wanted._replace(q_tile=FEWEST_ROWS)
    found = wanted._replace(q_tile=q_tiles_of(wanted)[-1]) if is_short else wanted
    blocks = wanted.mask.blocks
    if blocks is None:
        return found
    # Blocks are whole tiles. Under a bitmap the compiler takes 128 rows unless it is told.
    if blocks.q % _q_tile_of(found) == 0:
        return found._replace(q_tile=_q_tile_of(found))
    return found._replace(q_tile=ROWS_OF_TILE if blocks.q % ROWS_OF_TILE == 0 else FEWEST_ROWS)


@functools.lru_cache(maxsize=4096)
def _choose(wanted: Wanted, sizes: tuple[int, ...]) -> Ordered:
    compiled, workers, tiles = _any_of(wanted)
    batch, _, kv_heads, _, kv_rows = sizes
    are_many = batch * kv_heads * -(-kv_rows // tiles["kv"]) >= FEW * workers
    given = named(dict(zip(SIZES, sizes)))
    with _said(sizes):
        found = fill(
            Choice(),
            library().dashPlannerChoose,
            _planner(),
            StringRef.of(compiled.manifest.encode()),
            given,
            len(given),
            int(are_many),
        )
    pairs = batch * sizes[1] * -(-sizes[3] // tiles["q"]) * -(-kv_rows // tiles["kv"])
    of_table = (
        (*sizes[:3], found.q_rows, found.kv_rows)
        if found.is_table or pairs < FEWEST_OF_FORMULAS
        else ()
    )
    has_runs = found.parts > sizes[1] // kv_heads
    apart = found.apart.text if found.apart.text != "none" else ""
    return Ordered(
        (
            wanted._replace(
                kind=found.kind.text,
                parts=found.parts,
                has_runs=has_runs,
                sizes=of_table,
                apart=apart,
            ),
        ),
        found.makespan / found.bound,
    )


def texts_of(wanted: Wanted) -> tuple[bytes, bytes, bytes]:
    """Manifest, PTX and table of a kernel whose order is chosen, or of packed sequences; no
    table where there is none."""
    has_bitmap = wanted.mask.blocks is not None
    compiled = _compiled(wanted if has_bitmap else for_any_sizes(wanted))
    manifest = compiled.manifest.encode()
    if not wanted.sizes or has_bitmap:
        return manifest, compiled.ptx, compiled.order
    lib, given = library(), named(dict(zip(SIZES, wanted.sizes)))
    with _said(wanted.sizes):
        order = make(lib.dashPlannerPlan, _planner(), StringRef.of(manifest), given, len(given))
    try:
        return (
            lib.dashOrderGetManifest(order).bytes,
            compiled.ptx,
            lib.dashOrderGetBytes(order).bytes,
        )
    finally:
        lib.dashOrderDestroy(order)


@contextmanager
def _said(sizes: tuple[int, ...]) -> Iterator[None]:
    """Planning these sizes: what takes longer than a moment is in the log, at its level INFO,
    while it runs and with its time afterwards."""
    if not log.isEnabledFor(logging.INFO):
        yield
        return
    batch, heads, kv_heads, q_rows, kv_rows = sizes
    what = (
        f"the order of {batch} x {heads} query and {kv_heads} kv heads of {q_rows} x {kv_rows} rows"
    )
    begun, timer = time.monotonic(), threading.Timer(SLOW, log.info, ("planning %s", what))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        if (seconds := time.monotonic() - begun) > SLOW:
            log.info("planned %s in %.1f s", what, seconds)


@functools.lru_cache(maxsize=128)  # megabytes each
def _compiled(wanted: Wanted) -> Compiled:
    return compiled_program(*program_of(wanted))


def _any_of(wanted: Wanted) -> tuple[Compiled, int, dict[str, int]]:
    """A kernel of the mask, its workers and the rows of its tiles, by `q` and `kv`: that of
    tables, which most sizes take."""
    compiled = _compiled(wanted._replace(kind=SEARCHED, sizes=ANY_SIZES))
    about: dict[str, Any] = json.loads(compiled.manifest)["program"]
    return compiled, about["workers"], about["tiles"]


@functools.lru_cache(maxsize=None)
def _planner() -> Handle:
    """The planner of the process; never destroyed."""
    return make(library().dashPlannerCreate)
