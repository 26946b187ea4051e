# RUN: env DASH_CACHE=off %torch_python %s
# REQUIRES: torch, plain-libdash
"""What test/Device/mask_speed.py counts and compiles, without a GPU: tiles that masks leave,
kernels of all its masks, a price of boundaries."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent / "lib"), str(Path(__file__).parents[1] / "Device")]

import fixtures  # noqa: E402, F401  (finds dash_attn)
import mask_speed  # noqa: E402
import numpy as np  # noqa: E402

from dash_attn import Kernel  # noqa: E402
from dash_attn.measure.predict import predict, program  # noqa: E402
from dash_attn.reference import FULL, Mask, Union  # noqa: E402

TILE_Q, TILE_KV = mask_speed.TILE_Q, mask_speed.TILE_KV


def counts() -> None:
    """Those of each element, tile by tile."""
    others = {
        "full": FULL,
        "both sides": Mask(100, 40),
        "left": Mask(300),
        "far columns": Mask(50, 0, union=Union(700, -1, -1)),
        "two windows": Mask(right=0, union=Union(130, 70, 20)),
        "right": Mask(right=200, union=Union(3, 10, -1)),
    }
    for rows in (1024, 900):
        for name, mask in (mask_speed.masks(1024) | others).items():
            table = np.array(mask.blocks.bits if mask.blocks else ())
            sees = mask.sees(
                np.arange(rows)[:, None], np.arange(rows)[None, :], table, rows, rows
            ) & np.ones((rows, rows), dtype=bool)
            tiles = [
                [sees[q : q + TILE_Q, kv : kv + TILE_KV].any() for q in range(0, rows, TILE_Q)]
                for kv in range(0, rows, TILE_KV)
            ]
            assert mask_speed.tasks_of(mask, rows) == (
                int(np.sum(tiles)),
                int(np.any(tiles, axis=1).sum()),
            ), (name, rows)


def compiled() -> None:
    for name, mask in mask_speed.masks(1024).items():
        row = {
            "head_dim": 64,
            "mask": mask.text,
            "rows": 1024,
            "batch": 2,
            "heads": 4,
            "variant": "auto",
        }
        kernel = Kernel.compile(program([row]), "kind=auto workers=132")
        assert Mask.parse(kernel.manifest["program"]["mask"]).name == mask.name, name
        ((makespan, prices),) = predict([row], 132)
        assert makespan > 0 and prices["compute"] > 0 and prices["boundary"] > 0, (name, prices)


counts()
compiled()
