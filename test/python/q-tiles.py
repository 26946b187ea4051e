# RUN: %python %s
# REQUIRES: python, plain-libdash
"""Rows of a forward's q tiles, by a count of steps: beside what a GPU measured, and as a table."""

from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))

import fixtures  # noqa: E402, F401  (finds dash_attn)

from dash_attn.kernel.orders import forward_for, texts_of  # noqa: E402
from dash_attn.kernel.problem import Wanted  # noqa: E402
from dash_attn.kernel.q_tiles import LONG_TILE, SHORT_TILE, price_of, rows_of_q_tile  # noqa: E402
from dash_attn.reference import CAUSAL, FULL, Mask, Union  # noqa: E402

RECORD = "h200-2026-11-29-both-ways.json"
RECORDS = Path(__file__).resolve().parents[1] / "Device" / "records"
LENGTHS = 128, 192, 384, 512, 640, 768, 1024, 1100, 1280, 2048, 16384
# the q tile of each of these lengths
TABLE = {
    FULL: (128, 192, 192, 192, 128, 192, 192, 192, 192, 192, 192),
    CAUSAL: (128, 192, 192, 128, 128, 192, 128, 192, 192, 192, 192),
    Mask(128, 0): (128, 192, *[128] * 9),
    Mask(1024, 0): (128, 192, 192, 128, 128, 192, 128, 192, 192, 192, 192),
    Mask(4096, 4096): (128, 192, 192, 192, 128, 192, 192, 192, 192, 192, 192),
    Mask(right=0, union=Union(4, 127)): (128, 192, *[128] * 9),
}


def table() -> None:
    for mask, expected in TABLE.items():
        found = tuple(rows_of_q_tile(mask, rows, rows, 128) for rows in LENGTHS)
        assert found == expected, (mask.name, found)
    # few rows over many keys, and masks that begin behind rows without keys
    assert rows_of_q_tile(CAUSAL, 128, 8192, 128) == 128
    assert rows_of_q_tile(FULL, 1024, 8192, 128) == 192
    assert rows_of_q_tile(CAUSAL, 700, 300, 128) == 192
    assert rows_of_q_tile(CAUSAL, 1 << 22, 1 << 22, 128) == 192, "in no time"


def counts() -> None:
    """By hand: rows of causal q tiles see 1 to 4 kv tiles, the last of which the mask cuts."""
    assert price_of(CAUSAL, 512, 512, 128, 128) == 10 * 1000 + 4 * 350 + 4 * 900
    # Rows 0 to 191 see 2 tiles, both cut; to 383 3, of which 2 are cut; to 511 4, and one is cut.
    # Their warpgroups walk 1, 1, 2; 2, 3, 3; and 4 each.
    assert price_of(CAUSAL, 512, 512, 192, 128) == 8 * 1220 + 5 * 350 + 3 * 1600
    assert price_of(FULL, 500, 500, 128, 128) == 16 * 1000 + 4 * 350 + 4 * 900, "a last tile"
    # of columns 0 to 3, and of a window of 128: the first tile, and two
    streaming = Mask(right=0, union=Union(4, 127))
    assert price_of(streaming, 512, 512, 128, 128) == 9 * 1000 + 9 * 350 + 4 * 900


def measured() -> None:
    """Times that the count predicts, q tiles of 192 beside those of 128, are within 5 % of those
    measured, and the faster one is taken wherever they differ by more than 1 %."""
    speeds = json.loads((RECORDS / RECORD).read_text(encoding="utf-8"))["speeds"]
    found = 0
    for one in speeds:
        if one["head_dim"] != 64:
            continue
        mask, rows = Mask.parse(one["mask"]), one["rows"]
        speed = [one["forward"][f"dash, q tile {tile}"] for tile in (SHORT_TILE, LONG_TILE)]
        price = [price_of(mask, rows, rows, tile, 128) for tile in (SHORT_TILE, LONG_TILE)]
        ratio = speed[0] / speed[1]  # of times, 192 to 128
        assert abs(price[1] / price[0] / ratio - 1) < 0.05, (one, price)
        if abs(ratio - 1) > 0.01:
            faster = LONG_TILE if ratio < 1 else SHORT_TILE
            assert rows_of_q_tile(mask, rows, rows, 128) == faster, one
            found += 1
    assert found >= 11, found


def kernels() -> None:
    """q_tile 0 is what the compiler takes: 192 rows up to head dim 96."""
    flat = Wanted(64, 64, "bf16", (-1, -1), level="row", is_forward=True)
    for window, rows, tile in (((-1, -1), 1024, 0), ((-1, 0), 1024, 128), ((-1, 0), 2048, 0)):
        one = flat._replace(window=window)
        assert forward_for(one, 8, 32, 32, rows, rows).q_tile == tile, (window, rows)
        wide = one._replace(head_dim=128, head_dim_v=128)
        assert forward_for(wide, 8, 32, 32, rows, rows).q_tile == 0


def tables() -> None:
    """A table that is planned for a problem serves its rows, with and without folded heads."""
    for head_dim, window, group, (q_rows, kv_rows) in itertools.product(
        (64, 96, 128),
        ((-1, 0), (-1, -1)),
        (1, 4, 6),
        ((1000, 1000), (33, 33), (129, 129), (300, 700), (1, 1000)),
    ):
        wanted = Wanted(head_dim, head_dim, "bf16", window, level="row", is_forward=True)
        found = forward_for(wanted, 1, 2 * group, 2, q_rows, kv_rows)
        sizes = json.loads(texts_of(found)[0])["sizes"]
        for name, rows in (("q_rows", q_rows), ("kv_rows", kv_rows)):
            stated = sizes[name]
            least, most = (stated.get(key, stated.get("value")) for key in ("min", "max"))
            assert least <= rows <= most, (found, name, rows, stated)


for test in (table, counts, measured, kernels, tables):
    test()
