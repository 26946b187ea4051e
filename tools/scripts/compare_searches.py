#!/usr/bin/env python3
"""How good the synthesized orders of two builds are: compare_searches.py OLD NEW [--problems N] [--seed N]

Random problems (masks, lengths, heads, workers, costs, levels run only), the same for the same seed, go through both builds of
dash-opt. Prints how the predicted makespans of NEW compare with those of OLD, and the worst problem.
"""

import argparse
import math
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from random_blocks import blocks_attribute  # noqa: E402

PER_MODULE = 50  # a process starts slower than a small order is found


def function(name, rng):
    """A tiled problem whose types state its sizes, of up to a few thousand tasks; and what it is."""
    kv_heads, group = rng.choice([1, 2, 3, 4, 8, 16]), rng.choice([1, 1, 1, 2, 4])
    batch = rng.choice([1, 1, 2, 4, 7])
    q_tiles, kv_tiles = rng.randint(1, 48), rng.randint(1, 24)
    if rng.random() < 0.6:
        q_tiles = 2 * kv_tiles
    rows, kv_rows = 64 * q_tiles - rng.choice([0, 0, 7]), 128 * kv_tiles - rng.choice([0, 0, 31])
    kind = rng.choice(["full", "causal", "causal", "window", "blocks"])
    mask = {"full": "full", "causal": "causal", "window": f"causal, window = [{rng.choice([128, 512, 2048])}, -1]",
            "blocks": blocks_attribute(rng.randint(0, 1 << 30), kv_tiles, q_tiles, rng.choice([0.1, 0.3, 0.6]))}[kind]
    heads = kv_heads * group
    q, kv = f"memref<{batch}x{heads}x{rows}x128xbf16>", f"memref<{batch}x{kv_heads}x{kv_rows}x128xbf16>"
    text = (f"func.func @{name}(%q: {q}, %k: {kv}) {{\n  dash.items unscheduled over(%q, %k, %k : {q}, {kv}, {kv})\n"
            f"      tiles(<q = 64, kv = 128>) mask(<{mask}>) level(run) (%seq, %kv_head, %kv) {{\n  }}\n  return\n}}\n")
    return text, f"{kind} {batch} x [{rows} x {kv_rows}], {heads} over {kv_heads} heads"


def modules(count, seed):
    """Text, options and names of each module."""
    rng = random.Random(seed)
    for begin in range(0, count, PER_MODULE):
        functions = [function(f"f{i}", rng) for i in range(min(PER_MODULE, count - begin))]
        options = (f"workers={rng.choice([5, 16, 33, 66, 108, 132, 132, 144])} buffers={rng.choice([1, 2, 2, 3])} "
                   f"compute={rng.choice([2.1, 2.1, 1.6])} reduce={rng.choice([1.6, 1.6, 2.1])} latency={rng.choice([0, 0.3, 1])}")
        yield "".join(text for text, _ in functions), options, [f"{what}; {options}" for _, what in functions]


def makespans(dash_opt, program, options):
    result = subprocess.run([str(dash_opt), str(program), f"--dash-apply-schedule=kind=synthesized {options}",
                             "--dash-report-schedule=max-steps=1 max-workers=1", "-o", "/dev/null"],
                            capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"error: {dash_opt}: {result.stderr}")
    return [float(value) for value in re.findall(r"^  makespan +([0-9.e+-]+)", result.stdout, flags=re.M)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--problems", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "random.mlir"
        for text, options, names in modules(args.problems, args.seed):
            program.write_text(text)
            old, new = makespans(args.old, program, options), makespans(args.new, program, options)
            if len(old) != len(names) or len(new) != len(names):
                sys.exit(f"error: expected {len(names)} orders, found {len(old)} and {len(new)}")
            ratios += [(b / a, name) for a, b, name in zip(old, new, names) if a > 0]
    values = sorted(value for value, _ in ratios)
    mean = math.exp(sum(map(math.log, values)) / len(values))
    print(f"{len(values)} problems: makespan of NEW to OLD {mean:.4f} in geometric mean, {values[0]:.3f} to {values[-1]:.3f}")
    for limit in (1.001, 1.01, 1.02, 1.05):
        print(f"more than {limit}: {sum(value > limit for value in values)}")
    print("worst: {:.3f} {}".format(*max(ratios)))


if __name__ == "__main__":
    main()
