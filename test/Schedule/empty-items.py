# RUN: %python %s --example %dash_examples/bwd-causal.mlir --tmp %t
# REQUIRES: python
"""Items without tasks, of kv tiles that no row sees: searched orders give them to the workers that
have the least to do, behind their others.

The model has no time for them, but kernels write their zeros: with 128 of them on few workers, a
main kernel took 1.37 times as long as predicted.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
from pathlib import Path

KV_TILES, Q_TILES = 16, 32


def items_of(source: Path, options: str) -> list[dict[str, object]]:
    command = [
        "dash-opt",
        str(source),
        "--dash-tile",
        f"--dash-apply-schedule=kind=synthesized parts=1 {options}",
        "--dash-verify-schedule",
        "--dash-report-schedule=format=json",
        "-o",
        "/dev/null",
    ]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)[
        "schedules"
    ][0]["items"]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--example", type=Path, required=True)
    parser.add_argument("--tmp", type=Path, required=True)
    arguments = parser.parse_args()
    arguments.tmp.mkdir(exist_ok=True)
    source = arguments.tmp / "blocks.mlir"
    rows = [
        [int(kv % 2 == 0 and (kv + 3 * q) % 5 < 2) for q in range(Q_TILES)]
        for kv in range(KV_TILES)
    ]
    mask = (
        f"<causal, blocks = #dash.blocks<q = 64, kv = 128, bits = dense<{rows}> :"
        f" tensor<{KV_TILES}x{Q_TILES}xi1>>>"
    )
    source.write_text(re.sub(r"mask\(<causal>\)", f"mask({mask})", arguments.example.read_text()))
    for level, heads in (("run", 8), ("run", 3), ("batch", 8), ("machine", 4)):
        text = source.read_text()
        (arguments.tmp / "level.mlir").write_text(re.sub(r"level\(\w+\)", f"level({level})", text))
        for workers in (5, 16):
            width = f"for-workers={workers}" if level == "machine" else ""
            items = items_of(
                arguments.tmp / "level.mlir",
                f"workers={workers} sizes=q:2048,kv:2048,batch:2,heads:{heads},kv-heads:{heads}"
                f" {width}",
            )
            lists = [
                [len(item["visit"]) for item in items if item["worker"] == worker]
                for worker in range(workers)
            ]
            assert (
                sum(map(len, lists)) == 2 * heads * KV_TILES
                and sum(one.count(0) for one in lists) == heads * KV_TILES
            ), lists
            for one in lists:
                assert sorted(one, key=lambda tasks: tasks == 0) == one, (level, one)
            # No worker with an empty item had more to do than another, before it took the last.
            times = [
                sum(tasks * COMPUTE + BOUNDARY + COMPUTE * (tasks == 0) for tasks in one)
                for one in lists
            ]
            last = BOUNDARY + COMPUTE
            assert all(
                time - last <= min(times) + 1e-9 for time, one in zip(times, lists) if 0 in one
            ), (level, heads, workers, times)


COMPUTE, BOUNDARY = 1.876, 5.793  # of causal masks at head dim 128
main()
