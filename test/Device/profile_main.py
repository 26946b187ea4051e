#!/usr/bin/env python3
"""profile_main.py BUNDLE --record FILE: cycles of a bundle's main kernels, and how busy tensor core
and shared memory are, by ncu.

One backward of 16384 tokens at S 4096 for each head dim and mask, with the fixed order that is best
on it, clocks left alone. Each runs twice, and the second counts. tools/scripts/record_limits.py
sets the record beside what kernels need by count.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "python")]

import torch  # noqa: E402

from dash_attn import Kernel  # noqa: E402
from dash_attn.measure.peers import BEST_FIXED, best_fixed, make_tensors, problems  # noqa: E402
from dash_attn.measure.bundle import Bundle  # noqa: E402
from dash_attn.support.records import write_record  # noqa: E402

ROWS, RUNS = 4096, 2
METRICS = {
    "cycles": "sm__cycles_elapsed.max",
    "tensor_busy": "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "shared_busy": "l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed",
}
NCU = [
    "ncu",
    "--clock-control",
    "none",
    "-k",
    "regex:_main$",
    "--csv",
    "--metrics",
    ",".join(METRICS.values()),
]


def cases() -> list[tuple[Any, str]]:
    return [(case, mask) for mask in BEST_FIXED for case in problems([ROWS], [128, 64], [mask])]


def run(bundle: Bundle) -> None:
    for case, _ in cases():
        kernel = best_fixed(bundle, case)
        tensors = {name: tensor.detach() for name, tensor in make_tensors(case, {})[0].items()}
        for _ in range(RUNS):
            Kernel.load(kernel.path).backward(**tensors, scale=case.scale)
        torch.cuda.synchronize()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bundle", type=Path)
    parser.add_argument(
        "--record", type=Path, help="without it, kernels only run: what ncu is given"
    )
    arguments = parser.parse_args()
    bundle = Bundle.open(arguments.bundle)
    if not arguments.record:
        run(bundle)
        return 0
    done = subprocess.run(
        [*NCU, sys.executable, __file__, str(bundle.path)],
        capture_output=True,
        text=True,
        check=False,
    )
    launches: dict[int, dict[str, float]] = {}
    lines = done.stdout.splitlines()
    begin = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), len(lines))
    for row in csv.DictReader(lines[begin:]):
        launches.setdefault(int(row["ID"]), {})[row["Metric Name"]] = float(
            row["Metric Value"].replace(",", "")
        )
    if len(launches) != RUNS * len(cases()):
        sys.exit(
            f"error: expected {RUNS * len(cases())} launches from ncu, found"
            f" {len(launches)}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        )
    results = [
        {
            "head_dim": case.head_dim,
            "mask": mask,
            "rows": ROWS,
            "batch": case.batch,
            "heads": case.heads,
            "variant": BEST_FIXED[mask],
            **{
                name: launches[sorted(launches)[RUNS * index + RUNS - 1]][metric]
                for name, metric in METRICS.items()
            },
        }
        for index, (case, mask) in enumerate(cases())
    ]
    record = {
        "commit": bundle.commit,
        "date": time.strftime("%Y-%m-%d"),
        "gpu": torch.cuda.get_device_name(),
        "workers": torch.cuda.get_device_properties(0).multi_processor_count,
        "command": " ".join(NCU),
        "results": results,
    }
    write_record(arguments.record, record)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
