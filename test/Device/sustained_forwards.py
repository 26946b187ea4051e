#!/usr/bin/env python3
"""sustained_forwards.py --json FILE: forwards one after the other without a pause, as in training.

`attention` beside cuDNN and, where fa3-fwd is installed, FlashAttention-3, at the GPU's power
limit: time, clock and power. Turns are those of test/Device/sustained.py.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "python")]

import torch  # noqa: E402
from both_ways import BF16, HIDDEN, TOKENS, flash3_of, inputs  # noqa: E402
from sustained import SETTLE, Sensors, mean, repeat  # noqa: E402

from dash_attn import attention  # noqa: E402
from dash_attn.measure.bundle import commit  # noqa: E402
from dash_attn.support.records import write_record  # noqa: E402

LENGTHS = (1024, 4096, 16384)


def runs_of(head_dim: int, causal: bool, rows: int) -> dict[str, Callable[[], Any]]:
    heads, batch = HIDDEN // head_dim, TOKENS // rows
    tensors = inputs(head_dim, head_dim, rows, rows, batch, heads, heads, BF16)
    given = (*tensors, None, True, 0.0, causal)
    runs: dict[str, Callable[[], Any]] = {
        "dash": lambda: attention(*tensors, causal=causal),
        "cudnn": lambda: torch.ops.aten._scaled_dot_product_cudnn_attention(*given),
    }
    if of_flash := flash3_of(tensors, causal):
        runs["flash3"] = of_flash
    return runs


def measured(
    head_dim: int, causal: bool, rows: int, seconds: float, sensors: Sensors
) -> dict[str, Any]:
    """Two turns of each, the second in the opposite order."""
    runs = runs_of(head_dim, causal, rows)
    turns: dict[str, list[tuple[float, list[float], list[float]]]] = {name: [] for name in runs}
    for order in (list(runs), list(runs)[::-1]):
        for name in order:
            repeat(runs[name], SETTLE)
            count, begin, end = repeat(runs[name], seconds)
            turns[name].append(((end - begin) / count, *sensors.between(begin, end)))
    work = 4.0 * TOKENS * rows * HIDDEN * (0.5 if causal else 1)
    return {
        "head_dim": head_dim,
        "mask": "causal" if causal else "full",
        "rows": rows,
        "tflops": {
            name: round(work / statistics.fmean(one[0] for one in of_one) / 1e12, 1)
            for name, of_one in turns.items()
        },
        "clock_mhz": {
            name: mean([clock for one in of_one for clock in one[1]])
            for name, of_one in turns.items()
        },
        "power_w": {
            name: mean([power for one in of_one for power in one[2]])
            for name, of_one in turns.items()
        },
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=0.5, help="of a turn")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    found = []
    with Sensors() as sensors:
        for head_dim in (64, 128):
            for causal in (True, False):
                for rows in LENGTHS:
                    found.append(measured(head_dim, causal, rows, arguments.seconds, sensors))
                    print(found[-1], flush=True)
    if arguments.json:
        record: dict[str, Any] = {"date": f"{date.today()}", "commit": commit()}
        record |= {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__}
        write_record(arguments.json, record | {"seconds": arguments.seconds, "rows": found})
    return 0


if __name__ == "__main__":
    sys.exit(main())
