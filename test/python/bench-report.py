# RUN: %python %s | FileCheck %s
# REQUIRES: python
"""The benchmark's table, the numbers of other implementations that it shows, and the table of two bundles' speeds."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))

from fixtures import SOURCE  # noqa: E402

from dash_attn.bench_report import compared, print_comparison, print_table  # noqa: E402

BASELINES = json.loads((SOURCE / "python/dash_attn/baselines.json").read_text(encoding="utf-8"))


def result(variant: str, rows: int, tflops: float, **entries: float) -> dict:
    return {"head_dim": 128, "mask": "full", "rows": rows, "variant": variant, "tflops": tflops, "ms": 0.5, "ms_p10": 0.4,
            "ms_p90": 0.6, "entries_ms": entries}


# 24 problems, and in geometric mean the fastest deterministic of them is 0.94 of the fastest.
rows = BASELINES["rows"]
assert len({(row["head_dim"], row["mask"], row["rows"]) for row in rows}) == 24
mean = math.exp(sum(math.log(row["best_det"] / row["best_nd"]) for row in rows) / len(rows))
assert round(mean, 2) == 0.94, mean
for row in rows:
    columns = {name: value for name, value in row.items() if name not in ("head_dim", "mask", "rows")}
    for best in ("nd", "det"):
        assert row[f"best_{best}"] == max(value for name, value in columns.items() if name.endswith(f"_{best}")), row

# CHECK: head dim, mask, S fa3_det shift cudnn (nd)
# CHECK-NEXT: 128 full 4096 510 561 (1.10) 510 (1.00)
# CHECK-NEXT: 128 full 300 - 400 -
# CHECK-NEXT: geometric mean of ratios 1 1.100 of 1 -
# CHECK-NEXT: the same to cuDNN in this process - 1.100 -
# CHECK: microseconds of each entry
# CHECK-NEXT: 128 full 4096 shift: prepare 40, main 400; whole 500 (400 to 600)
print_table([result("shift", 4096, 561, prepare=0.04, main=0.4), result("cudnn (nd)", 4096, 510),
             result("shift", 300, 400)], BASELINES, {"shift": {"fa3_det": 1.1, "problems": 1, "cudnn_here": 1.1}})

# CHECK: head dim, mask, S old us new to old old to old
# CHECK-NEXT: 128 full 512 500.0 1.2500 1.0000
# CHECK-NEXT: 128 full 1024 500.0 0.8000 1.0101 bits differ: dq[0, 0]
# CHECK-NEXT: geometric mean 1.0000 1.0050
# CHECK-NEXT: least 0.8000 1.0000


def three(rows: int, new: float, again: float) -> list[dict]:
    return [result("old", rows, 1), result("new", rows, 1) | {"ms": new}, result("old again", rows, 1) | {"ms": again}]


means = print_comparison([compared(three(512, 0.4, 0.5), ""), compared(three(1024, 0.625, 0.495), "dq[0, 0]")])
assert means["new"]["least"] == 0.8, means
