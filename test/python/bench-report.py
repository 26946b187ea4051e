# RUN: %python %s | FileCheck %s
# REQUIRES: python
"""The benchmark\'s table and picture, the numbers of other implementations that they show, and the
table of two bundles\' speeds."""

from __future__ import annotations

import json
import math
import sys
import xml.etree.ElementTree
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))

from fixtures import SOURCE  # noqa: E402

from dash_attn.measure.picture import LINE, draw, draw_calls, spread  # noqa: E402
from dash_attn.measure.report import (
    compared,
    print_calls,
    print_comparison,
    print_table,
)  # noqa: E402

BASELINES = json.loads(
    (SOURCE / "python/dash_attn/measure/baselines.json").read_text(encoding="utf-8")
)


def result(variant: str, rows: int, tflops: float, **entries: float) -> dict:
    return {
        "head_dim": 128,
        "mask": "full",
        "rows": rows,
        "variant": variant,
        "tflops": tflops,
        "ms": 0.5,
        "ms_p10": 0.4,
        "ms_p90": 0.6,
        "entries_ms": entries,
    }


def texts_of(picture: str) -> list[str]:
    return [
        element.text or ""
        for element in xml.etree.ElementTree.fromstring(picture).iter(
            "{http://www.w3.org/2000/svg}text"
        )
    ]


# 24 problems, and in geometric mean the fastest deterministic of them is 0.94 of the fastest.
rows = BASELINES["rows"]
assert len({(row["head_dim"], row["mask"], row["rows"]) for row in rows}) == 24
mean = math.exp(sum(math.log(row["best_det"] / row["best_nd"]) for row in rows) / len(rows))
assert round(mean, 2) == 0.94, mean
for row in rows:
    columns = {
        name: value for name, value in row.items() if name not in ("head_dim", "mask", "rows")
    }
    for best in ("nd", "det"):
        assert row[f"best_{best}"] == max(
            value for name, value in columns.items() if name.endswith(f"_{best}")
        ), row

# CHECK: head dim, mask, S fa3_det shift cudnn (nd)
# CHECK-NEXT: 128 full 4096 510 561 (1.10) 510 (1.00)
# CHECK-NEXT: 128 full 300 - 400 -
# CHECK-NEXT: geometric mean of ratios 1 1.100 of 1 -
# CHECK-NEXT: the same to cuDNN in this process - 1.100 -
# CHECK: microseconds of each entry
# CHECK-NEXT: 128 full 4096 shift: prepare 40, main 400; whole 500 (400 to 600)
print_table(
    [
        result("shift", 4096, 561, prepare=0.04, main=0.4),
        result("cudnn (nd)", 4096, 510),
        result("shift", 300, 400),
    ],
    BASELINES,
    {"shift": {"fa3_det": 1.1, "problems": 1, "cudnn_here": 1.1}},
)

# CHECK: head dim, mask, S old us new to old old to old
# CHECK-NEXT: 128 full 512 500.0 1.2500 1.0000
# CHECK-NEXT: 128 full 1024 500.0 0.8000 1.0101 bits differ: dq[0, 0]
# CHECK-NEXT: geometric mean 1.0000 1.0050
# CHECK-NEXT: least 0.8000 1.0000


def three(rows: int, new: float, again: float) -> list[dict]:
    return [
        result("old", rows, 1),
        result("new", rows, 1) | {"ms": new},
        result("old again", rows, 1) | {"ms": again},
    ]


means = print_comparison(
    [compared(three(512, 0.4, 0.5), ""), compared(three(1024, 0.625, 0.495), "dq[0, 0]")]
)
assert means["new"]["least"] == 0.8, means

# Names stand between top and bottom, in the order of what they name and with room between; those
# that have room stay.
assert spread([10, 50, 90], 0, 100) == [10, 50, 90]
for places in ([50, 50, 50, 50], [99, 98, 0, 97], [0, 1, 2, 3, 100]):
    found = spread(places, 0, 100)
    ordered = [found[i] for i in sorted(range(len(places)), key=places.__getitem__)]
    assert (
        0 <= ordered[0]
        and ordered[-1] <= 100
        and all(b - a >= LINE for a, b in zip(ordered, ordered[1:]))
    ), (places, found)

# A picture of one length of one problem, and of none of ours; all names are there, and ours is the
# best of its orders.
record = {
    "gpu": "GPU <1>",
    "date": "2026-01-01",
    "results": [
        result("shift", 4096, 561),
        result("ascending", 4096, 300),
        result("unordered (nd)", 4096, 600),
        result("cudnn (nd)", 4096, 510),
    ],
}
texts = texts_of(draw(record, BASELINES))
assert "Whole backward, GPU <1>, bf16, 2026-01-01" in texts, texts
assert texts[-4:] == [
    "FA3 det (other day)",
    "cuDNN (nd)",
    "dash, ascending",
    "dash, best order",
], texts
record["results"] = [result("flash (nd)", 300, 510)]
assert texts_of(draw(record, BASELINES))[-1] == "PyTorch flash (nd)", texts_of(
    draw(record, BASELINES)
)

# Calls of frameworks: a table for each measure, and why one refuses; a dot of ours and letters of
# others, each with its name.
# CHECK: milliseconds of both ways dash SDPA cuDNN
# CHECK-NEXT: 32/8 heads, 8k 2.500 3.000
# CHECK-NEXT: batch 1, 512 0.250 -
# CHECK: TFLOP/s dash SDPA cuDNN
# CHECK-NEXT: 32/8 heads, 8k 550 500
# CHECK: MiB beside the inputs, at most dash SDPA cuDNN
# CHECK-NEXT: 32/8 heads, 8k 300 200
# CHECK: microseconds on the host dash SDPA cuDNN
# CHECK-NEXT: 32/8 heads, 8k 190 150
# CHECK: batch 1, 512: SDPA cuDNN refuses: no kernel


def of_call(shape: str, variant: str, ms: float, tflops: float, mib: float, host_us: float) -> dict:
    return {
        "shape": shape,
        "variant": variant,
        "ms": ms,
        "tflops": tflops,
        "mib": mib,
        "host_us": host_us,
    }


record["results"] = [
    of_call("32/8 heads, 8k", "dash", 2.5, 550, 300, 190),
    of_call("32/8 heads, 8k", "SDPA cuDNN", 3, 500, 200, 150),
    of_call("batch 1, 512", "dash", 0.25, 50, 3, 180),
    {"shape": "batch 1, 512", "variant": "SDPA cuDNN", "refused": "no kernel"},
]
print_calls(record["results"])
picture = draw_calls(record)
texts = texts_of(picture)
assert texts[0] == "Forward and backward, GPU <1>, bf16, 2026-01-01: TFLOP/s" and texts[-3:] == [
    "dash",
    "c",
    "SDPA cuDNN",
], texts
# One of each is that of the names.
assert texts.count("c") == 2 and picture.count("<circle") == 3, picture
assert "600" in texts and "700" not in texts, texts
draw_calls(record | {"results": []})
