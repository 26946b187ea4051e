# RUN: rm -rf %t && mkdir -p %t
# RUN: %python %s %dash_src %t
# REQUIRES: python
"""The table of folds is what the newest record says, if there is one: the best of all that was
measured, and how much faster folds are. A page that says something else is refused."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT, TMP = map(Path, sys.argv[1:])
PAGE, RECORDS = "dialects/dash/docs/forward.md", "test/Device/records"


def run(*options: str, root: Path = TMP) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "tools/scripts/record_folds.py"), f"--root={root}"]
    return subprocess.run([*command, *options], capture_output=True, text=True, check=False)


def row(heads: int, rows: int, alone: float, folded: float, **peers: float) -> dict[str, Any]:
    best = {"dash, fold 1": alone, f"dash, fold {heads // 8}": folded, **peers}
    sizes = {"rows": rows, "kv_rows": 4096, "batch": 1, "heads": heads, "kv_heads": 8}
    return sizes | {"best_milliseconds": best}


def write(name: str, commit: str, *rows: dict[str, Any]) -> None:
    record = {"commit": commit, "gpu": "NVIDIA H200", "torch": "2", "bits": [], "speeds": rows}
    (TMP / RECORDS / name).write_text(json.dumps(record), encoding="utf-8")


assert run("--check", root=ROOT).returncode == 0, run("--check", root=ROOT)
for folder in (RECORDS, "dialects/dash/docs"):
    (TMP / folder).mkdir(parents=True)
shutil.copy(ROOT / PAGE, TMP / PAGE)
before = (TMP / PAGE).read_text(encoding="utf-8")
assert run("--check").returncode == 0
found = run()
assert found.returncode and "expected a record test/Device/records/*-folds.json" in found.stderr
peers = {"flash2": 0.05, "flash3": 0.0404}
of_many = row(64, 1, 0.3, 0.1)
write("h200-2026-11-30-folds.json", "a" * 12, row(32, 1, 0.08, 0.04, **peers), of_many)
write("h100-2026-11-29-folds.json", "b" * 12, row(32, 1, 0.9, 0.9, **peers), of_many)
found = run("--check")
assert found.returncode == 1 and found.stdout.startswith(
    f"{PAGE}:1: expected what h200-2026-11-30-folds.json says, found something else; run:"
    " tools/scripts/record_folds.py"
), found
assert run().returncode == 0 and run("--check").returncode == 0
page = (TMP / PAGE).read_text(encoding="utf-8")
assert page.split("<!-- folds -->")[0] == before.split("<!-- folds -->")[0]
assert page.split("<!-- end folds -->")[1] == before.split("<!-- end folds -->")[1]
for line in (
    "On an NVIDIA H200 ([record](../../../test/Device/records/h200-2026-11-30-folds.json) of"
    " `test/Device/folds.py --only times`, commit aaaaaaaa), 32 heads over 8 of 128, the best of"
    " pieces and q tiles, in µs:",
    "| rows, keys, batch | dash, one head a tile | dash, fold 4 | FlashAttention-2 |"
    " FlashAttention-3 with splits |",
    "| 1, 4096, 1 | 80 | 40 | 50 | 40 |",
    "With the fold dash is 2.00x (2.00x to 2.00x) faster than without, in geometric mean.",
    "With 64 heads over 8 it is 3.00x (3.00x to 3.00x) faster.",
):
    assert f"\n{line}\n" in page, (line, page)
# A peer that was not there has no column.
write("h200-2026-12-01-folds.json", "c" * 12, row(32, 16, 0.08, 0.04, flash2=0.05))
assert run().returncode == 0
page = (TMP / PAGE).read_text(encoding="utf-8")
assert "| rows, keys, batch | dash, one head a tile | dash, fold 4 | FlashAttention-2 |\n" in page
assert "64 heads over 8 it is" not in page
