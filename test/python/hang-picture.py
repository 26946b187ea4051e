# RUN: rm -rf %t && mkdir -p %t && %python %s %t && diff %dash_src/test/python/Inputs/hang-model.svg %t/hang.svg
# REQUIRES: python, plain-libdash
"""Draws the picture of a hang, Inputs/hang-model.svg: eight workers on a causal problem, of which
worker 2 stops. Workers are those of the model that takes and gives turns; counters are read as
those of a launch. To draw it anew: hang-picture.py DIR, and copy hang.svg. The page seeing.md has
the picture of a GPU."""

from __future__ import annotations

import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))

from turns import Run, made  # noqa: E402

from dash_attn import hang  # noqa: E402
from dash_attn.hang.picture import drawn  # noqa: E402

TMP = Path(sys.argv[1])
SIZES = {"batch": 1, "heads": 4, "kv_heads": 4, "q_rows": 1024, "kv_rows": 1024}
WORKER, PLACE = 2, 9
ORDER = made(TMP, "ascending", "causal", SIZES, 8)
run = Run(ORDER, stops=(WORKER, PLACE))
run.go(random.Random(1))
look = hang.explain(ORDER.compiled.manifest, SIZES, ORDER.words(run.given))
assert look.data["roots"] == [WORKER]
(TMP / "hang.svg").write_text(
    drawn(look.data, f"A launch that stands still: worker {WORKER} does not give a turn"),
    encoding="utf-8",
)
print(look.describe(look))
