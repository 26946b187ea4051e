#!/usr/bin/env python3
"""How near orders come to their lower bound on shapes that people have:

  survey_orders.py BUILD [--above 1.05] [--kind auto]

It prints a line for each problem whose order is above, worst first, and a summary.

Grouped and plain heads, q rows fewer and more than kv rows, batches, masks; 132 workers, one part,
the costs of an H200. tools/bench writes the summary to dialects/dash/docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# Heads, kv heads, head dim.
HEADS = [
    (16, 16, 128),
    (32, 32, 128),
    (32, 8, 128),
    (40, 8, 128),
    (64, 8, 128),
    (8, 1, 128),
    (16, 2, 128),
    (12, 12, 64),
    (4, 4, 128),
]
ROWS = [(rows, rows) for rows in (512, 1024, 2048, 4096, 8192, 16384, 32768)] + [
    (512, 4096),
    (1024, 2048),
    (1024, 8192),
    (2048, 32768),
    (4096, 16384),
    (4096, 512),
    (8192, 1024),
]
BATCHES = (1, 2, 4, 8, 16)
WINDOWS = (512, 4096)
MOST_ROWS, MOST_TASKS = 1 << 16, 1 << 22


def problems() -> Iterator[tuple[str, ...]]:
    """Options of dash-plan."""
    for heads, kv_heads, head_dim in HEADS:
        for q, kv in ROWS:
            for batch in BATCHES:
                if batch * max(q, kv) > MOST_ROWS or batch * heads * q * kv > MOST_TASKS * 64 * 128:
                    continue
                for mask in (
                    "full",
                    "causal",
                    *(f"window:{window},0" for window in WINDOWS if window < kv),
                ):
                    yield (
                        f"--mask={mask}",
                        f"--head-dim={head_dim}",
                        f"--sizes=q:{q},kv:{kv},batch:{batch},heads:{heads},kv-heads:{kv_heads}",
                    )


def measure(build: Path, kind: str = "auto") -> list[tuple[float, str]]:
    """Makespan over lower bound, and the problem; the worst first."""

    def one(options: tuple[str, ...]) -> tuple[float, str]:
        command = [str(build / "bin/dash-plan"), f"--kind={kind}", *options]
        facts = json.loads(
            subprocess.run(command, capture_output=True, text=True, check=True).stdout
        )
        return (
            facts["makespan"] / facts["lowerBound"],
            f"{' '.join(options)} ({facts['tasks']} tasks, {facts['kind']})",
        )

    with ThreadPoolExecutor(2) as pool:
        return sorted(pool.map(one, problems()), reverse=True)


def summary(found: list[tuple[float, str]]) -> str:
    beyond = ", ".join(
        f"{sum(ratio > limit for ratio, _ in found)} above {limit}"
        for limit in (1.02, 1.05, 1.1, 1.2, 1.5)
    )
    return (
        f"{len(found)} problems: {beyond}; the worst {found[0][0]:.3f}, the median"
        f" {found[len(found) // 2][0]:.3f}."
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("build", type=Path)
    parser.add_argument("--above", type=float, default=1.05)
    parser.add_argument("--kind", default="auto")
    args = parser.parse_args()
    if not (args.build / "bin/dash-plan").exists():
        sys.exit(f"error: expected dash-plan in {args.build / 'bin'}")
    found = measure(args.build, args.kind)
    for ratio, problem in found:
        if ratio > args.above:
            print(f"{ratio:.3f} {problem}")
    print(summary(found))


if __name__ == "__main__":
    main()
