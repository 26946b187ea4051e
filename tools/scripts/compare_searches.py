#!/usr/bin/env python3
"""How good synthesized orders are, beside those of an older search:

  compare_searches.py BUILD [--problems N]  compares the orders of BUILD with the record
  compare_searches.py BUILD --record FILE   writes a record of its own makespans

Random problems (masks, lengths, heads, workers, costs, level run only), the same for the same seed,
without boundaries of items, which the search of the record did not know. Prints how the predicted
makespans compare, and the worst problem; tools/bench writes it to dialects/dash/docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from random_blocks import blocks_attribute  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
RECORD = ROOT / "test/Schedule/Inputs/searches.json"
SEED = 1
PER_MODULE = 50  # a process starts slower than a small order is found


def function(name: str, rng: random.Random) -> tuple[str, str]:
    """A tiled problem whose types state its sizes, of up to a few thousand tasks; and what it
    is."""
    kv_heads, group = rng.choice([1, 2, 3, 4, 8, 16]), rng.choice([1, 1, 1, 2, 4])
    batch = rng.choice([1, 1, 2, 4, 7])
    q_tiles, kv_tiles = rng.randint(1, 48), rng.randint(1, 24)
    if rng.random() < 0.6:
        q_tiles = 2 * kv_tiles
    rows, kv_rows = 64 * q_tiles - rng.choice([0, 0, 7]), 128 * kv_tiles - rng.choice([0, 0, 31])
    kind = rng.choice(["full", "causal", "causal", "window", "blocks"])
    mask = {
        "full": "full",
        "causal": "causal",
        "window": f"causal, window = [{rng.choice([128, 512, 2048])}, -1]",
        "blocks": blocks_attribute(
            rng.randint(0, 1 << 30), kv_tiles, q_tiles, rng.choice([0.1, 0.3, 0.6])
        ),
    }[kind]
    heads = kv_heads * group
    q, kv = (
        f"memref<{batch}x{heads}x{rows}x128xbf16>",
        f"memref<{batch}x{kv_heads}x{kv_rows}x128xbf16>",
    )
    text = (
        f"func.func @{name}(%q: {q}, %k: {kv}) {{\n  dash.items unscheduled over(%q, %k, %k : {q},"
        f" {kv}, {kv})\n  tiles(<q = 64, kv = 128>) mask(<{mask}>) level(run) (%seq, %kv_head, %kv)"
        " {\n  }\n  return\n}\n"
    )
    return text, f"{kind} {batch} x [{rows} x {kv_rows}], {heads} over {kv_heads} heads"


def modules(count: int, seed: int) -> Iterator[tuple[str, str, list[str]]]:
    """Text, options and names of each module."""
    rng = random.Random(seed)
    for begin in range(0, count, PER_MODULE):
        functions = [function(f"f{i}", rng) for i in range(min(PER_MODULE, count - begin))]
        options = (
            f"workers={rng.choice([5, 16, 33, 66, 108, 132, 132, 144])}"
            f" buffers={rng.choice([1, 2, 2, 3])} compute={rng.choice([2.1, 2.1, 1.6])}"
            f" reduce={rng.choice([1.6, 1.6, 2.1])} latency={rng.choice([0, 0.3, 1])}"
        )
        yield (
            "".join(text for text, _ in functions),
            options,
            [f"{what}; {options}" for _, what in functions],
        )


def makespans(
    dash_opt: Path, folder: Path, index: int, module: tuple[str, str, list[str]], boundary: str
) -> list[float]:
    text, options, names = module
    program = folder / f"random{index}.mlir"
    program.write_text(text)
    result = subprocess.run(
        [
            str(dash_opt),
            str(program),
            f"--dash-apply-schedule=kind=synthesized {options}{boundary}",
            "--dash-report-schedule=max-steps=1 max-workers=1",
            "-o",
            "/dev/null",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    found = [
        float(value)
        for value in re.findall(r"^  makespan +([0-9.e+-]+)", result.stdout, flags=re.M)
    ]
    if result.returncode or len(found) != len(names):
        sys.exit(
            f"error: {dash_opt}: expected {len(names)} orders, found {len(found)}: {result.stderr}"
        )
    return found


def measure(
    build: Path, problems: int, seed: int, boundary: str = " boundary=0"
) -> list[tuple[str, float]]:
    """Name and makespan of each problem, to the digits that a report prints."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        every = list(modules(problems, seed))
        found = pool.map(
            lambda one: makespans(build / "bin/dash-opt", Path(folder), *one, boundary),
            enumerate(every),
        )
        return [
            (name, value)
            for (_, _, names), values in zip(every, found)
            for name, value in zip(names, values)
        ]


def compare(build: Path, problems: int | None = None) -> str:
    """What there is to say of a build beside the record."""
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    found = measure(
        build, min(problems or len(record["makespans"]), len(record["makespans"])), record["seed"]
    )
    ratios = sorted(
        (new / old, name) for (name, new), old in zip(found, record["makespans"]) if old > 0
    )
    values = [value for value, _ in ratios]
    mean = math.exp(sum(map(math.log, values)) / len(values))
    beyond = ", ".join(
        f"{sum(value > limit for value in values)} above {limit}"
        for limit in (1.001, 1.01, 1.02, 1.05)
    )
    return (
        f"{len(values)} random problems. Makespans are {mean:.4f} times those of the search of"
        f" commit {record['commit']} in geometric mean, from {values[0]:.3f} to {values[-1]:.3f}:"
        f" {beyond}. The worst: {ratios[-1][1]}."
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("build", type=Path)
    parser.add_argument("--problems", type=int)
    parser.add_argument("--record", type=Path)
    parser.add_argument("--seed", type=int, default=SEED)
    args = parser.parse_args()
    if args.record is None:
        print(compare(args.build, args.problems))
        return
    values = [value for _, value in measure(args.build, args.problems or 2000, args.seed)]
    commit = subprocess.run(
        ["git", "-C", str(ROOT), "rev-parse", "--short=12", "HEAD"],
        capture_output=True,
        text=True,
        check=True,
    )
    record = {"commit": commit.stdout.strip(), "seed": args.seed, "makespans": values}
    args.record.write_text(json.dumps(record) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
