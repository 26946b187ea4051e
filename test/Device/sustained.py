#!/usr/bin/env python3
"""sustained.py BUNDLE --json FILE: backward passes one after the other without a pause, as in
training: their time, and the GPU's clock and power.

The benchmark (dash_attn.bench) waits between two passes, so the GPU stays cool; here it runs into
its power limit and lowers its clock, and a kernel that needs less energy gains. A turn of a variant
is SETTLE seconds that are not counted and --seconds that are; variants have two turns each, the
second in the opposite order. One kind a mask, the fixed order that is best on it, beside PyTorch's
cuDNN.
"""

from __future__ import annotations

import argparse
import math
import os
import shutil
import statistics
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "python")]

import torch  # noqa: E402

from dash_attn import Kernel, ManifestError  # noqa: E402
from dash_attn.measure.peers import (
    BEST_FIXED,
    best_fixed,
    make_variants,
    problems,
)  # noqa: E402
from dash_attn.bench import LENGTHS  # noqa: E402
from dash_attn.measure.bundle import Bundle  # noqa: E402
from dash_attn.measure.testing import Case  # noqa: E402
from dash_attn.measure.timing import Variant, operations  # noqa: E402
from dash_attn.support.records import write_record  # noqa: E402

SETTLE = 0.25
MOST_AHEAD = 3  # batches of launches that the host may be ahead


class Sensors:
    """What nvidia-smi says of clock (MHz) and power (W), every 50 ms, while it is open. Raises
    FileNotFoundError without it."""

    def __enter__(self) -> Sensors:
        self.samples: list[tuple[float, float, float]] = []
        gpu = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]
        command = [
            "nvidia-smi",
            f"--id={gpu}",
            "--query-gpu=clocks.sm,power.draw.instant",
            "--format=csv,noheader,nounits",
            "--loop-ms=50",
        ]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()
        return self

    def read(self) -> None:
        for line in self.process.stdout or ():
            clock, power = map(float, line.split(","))
            self.samples.append((time.perf_counter(), clock, power))

    def __exit__(self, *error: object) -> None:
        self.process.terminate()
        self.thread.join()

    def between(self, begin: float, end: float) -> tuple[list[float], list[float]]:
        seen = [(clock, power) for at, clock, power in self.samples if begin <= at <= end]
        return [clock for clock, _ in seen], [power for _, power in seen]


def repeat(run: Callable[[], Any], seconds: float) -> tuple[int, float, float]:
    """Runs for at least so many seconds of the GPU: (runs, begin, end)."""
    torch.cuda.synchronize()
    begin, runs, under_way = time.perf_counter(), 0, deque[Any]()
    while time.perf_counter() - begin < seconds:
        for _ in range(8):
            run()
        runs += 8
        event = torch.cuda.Event()
        event.record()
        under_way.append(event)
        if len(under_way) > MOST_AHEAD:
            under_way.popleft().synchronize()
    torch.cuda.synchronize()
    return runs, begin, time.perf_counter()


def measure(
    case: Case, variants: list[Variant], seconds: float, sensors: Sensors
) -> list[dict[str, Any]]:
    found: dict[str, list[tuple[float, list[float], list[float]]]] = {
        variant.name: [] for variant in variants
    }
    for order in (variants, variants[::-1]):
        for variant in order:
            repeat(variant.run, SETTLE)
            runs, begin, end = repeat(variant.run, seconds)
            found[variant.name].append(((end - begin) / runs * 1e3, *sensors.between(begin, end)))
    rows = []
    for name, turns in found.items():
        ms = statistics.fmean(turn[0] for turn in turns)
        rows.append(
            {
                "head_dim": case.head_dim,
                "mask": case.mask.name,
                "rows": case.q_rows,
                "batch": case.batch,
                "heads": case.heads,
                "variant": name,
                "ms": ms,
                "turns_ms": [turn[0] for turn in turns],
                "tflops": operations(case) / ms / 1e9,
                "clock_mhz": mean([clock for turn in turns for clock in turn[1]]),
                "power_w": mean([power for turn in turns for power in turn[2]]),
            }
        )
    return rows


def mean(values: list[float]) -> float | None:
    return round(statistics.fmean(values)) if values else None


def main(
    argv: list[str] | None = None, also: Callable[[Case], list[Variant]] = lambda case: []
) -> int:
    """also: further variants of a problem, for a host with other implementations."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--lengths", default=",".join(map(str, LENGTHS)))
    parser.add_argument("--head-dims", default="128,64")
    parser.add_argument("--masks", default="full,causal")
    parser.add_argument("--seconds", type=float, default=0.5, help="of a turn")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args(argv)
    if arguments.seconds <= 0:
        parser.error(f"argument --seconds: expected more than 0, found {arguments.seconds:g}")
    if not torch.cuda.is_available() or not shutil.which("nvidia-smi"):
        print(
            "sustained.py: expected a GPU and nvidia-smi, found no"
            f" {'nvidia-smi' if torch.cuda.is_available() else 'GPU'}",
            file=sys.stderr,
        )
        return 1
    cases = problems(
        [int(length) for length in arguments.lengths.split(",")],
        [int(size) for size in arguments.head_dims.split(",")],
        arguments.masks.split(","),
    )
    try:
        bundle = Bundle.open(arguments.bundle)
        kernels = [best_fixed(bundle, case) for case in cases]
    except ManifestError as error:
        print(f"sustained.py: {error}", file=sys.stderr)
        return 1
    results: list[dict[str, Any]] = []
    with Sensors() as sensors:
        for case, bundled in zip(cases, kernels):
            made = make_variants(case, [(bundled, Kernel.load(bundled.path))])
            variants = [variant for variant in made if not variant.name.startswith("flash")] + also(
                case
            )
            rows = measure(case, variants, arguments.seconds, sensors)
            results += rows
            print(
                f"{case.name}: "
                + ", ".join(
                    f"{row['variant']} {row['tflops']:.0f} TFLOP/s at {row['clock_mhz']} MHz,"
                    f" {row['power_w']} W"
                    for row in rows
                ),
                flush=True,
            )
            del variants
            torch.cuda.empty_cache()
    ours = [row for row in results if row["variant"] in BEST_FIXED.values()]
    for name in dict.fromkeys(row["variant"] for row in results if row not in ours):
        ratios = [
            mine["tflops"] / row["tflops"]
            for row in results
            if row["variant"] == name
            for mine in ours
            if all(mine[key] == row[key] for key in ("head_dim", "mask", "rows"))
        ]
        print(
            f"to {name}: {math.exp(statistics.fmean(map(math.log, ratios))):.3f} in geometric mean"
            f" of {len(ratios)}, least {min(ratios):.3f}"
        )
    if arguments.json:
        about = {
            "commit": bundle.commit,
            "date": time.strftime("%Y-%m-%d"),
            "gpu": torch.cuda.get_device_name(),
            "torch": torch.__version__,
            "seconds": arguments.seconds,
        }
        write_record(arguments.json, {**about, "results": results})
    return 0


if __name__ == "__main__":
    sys.exit(main())
