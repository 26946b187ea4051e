#!/usr/bin/env python3
"""predict_lists.py DASH_OPT EXAMPLES --lists N --json FILE: main kernels of packed documents by the
cost model, as formulas deal their items, and as launches deal them by work. Gradients up to head
dim 128 have the kind that `attention` takes at levels `batch` and `machine`, and `shortest-first`;
dK and dV at 192, which wait for nothing, have `longest-first` both times.

Documents have lognormal lengths that add up to the tokens. Each order is proven, and its predicted
makespan divided by the lower bound of its problem. Nothing here is measured.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import statistics
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "python"))
from dash_attn.kernel.list_kinds import DEALT, kind_of_lists  # noqa: E402
from dash_attn.kernel.problem import CAUSAL, FULL, MOST_TOGETHER, OF_OWN_SUMS  # noqa: E402
from dash_attn.measure.documents import lognormal  # noqa: E402

WINDOWS = {"causal": CAUSAL, "full": FULL}
HEADS = ((32, 8), (32, 32))
TOKENS = (16384, 65536)


def program_of(example: Path, head_dim: int, mask: str) -> str:
    """A list of sequences; above MOST_TOGETHER dK and dV alone."""
    if head_dim > MOST_TOGETHER:
        command = [sys.executable, HERE / "part_program.py", "dk,dv", str(head_dim), example]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    else:
        text = example.read_text(encoding="utf-8").replace("x128xbf16", f"x{head_dim}xbf16")
    text = text.replace("<causal>", f"<{mask}>")
    return text.replace("scale(%scale)", "scale(%scale) sequences(<?>)")


def predicted(tool: str, program: str, kind: str, is_dealt: bool, sizes: str) -> float:
    """The makespan by the bound."""
    passes = [f"--dash-apply-schedule=kind={kind} workers=132 sizes={sizes}"]
    passes += ["--dash-deal-items"] if is_dealt else []
    passes += ["--dash-verify-schedule", "--dash-report-schedule=max-workers=0"]
    done = subprocess.run(
        [tool, "--dash-choose-tiling", "--dash-tile", *passes, "-o", "/dev/null"],
        input=program,
        capture_output=True,
        text=True,
        check=True,
    )
    found = re.search(r"makespan .*: ([\d.]+) of it", done.stdout)
    assert found, done.stdout
    return float(found[1])


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tool")
    parser.add_argument("examples", type=Path)
    parser.add_argument("--lists", type=int, default=180, help="for each head dim and mask")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rows = []
    for head_dim, mask in product((64, 128, 192), WINDOWS):
        program = program_of(arguments.examples / "bwd-causal.mlir", head_dim, mask)
        rng, wanted = random.Random(f"{head_dim} {mask}"), []
        for number in range(arguments.lists):
            heads, kv_heads = HEADS[number % len(HEADS)]
            tokens = TOKENS[number // len(HEADS) % 8 == 7]  # an eighth of them are long
            lengths = "+".join(map(str, lognormal(rng, tokens, 6.5, 1.0)))
            wanted.append(f"q:{lengths},kv:{lengths},heads:{heads},kv-heads:{kv_heads}")
        formulas, dealt = kind_of_lists(WINDOWS[mask], level="machine"), DEALT
        if head_dim > MOST_TOGETHER:
            formulas = dealt = OF_OWN_SUMS
        for kind, is_dealt in ((formulas, False), (dealt, True)):
            with ThreadPoolExecutor(arguments.jobs) as pool:
                found = list(
                    pool.map(
                        lambda sizes: predicted(arguments.tool, program, kind, is_dealt, sizes),
                        wanted,
                    )
                )
            row = {
                "head_dim": head_dim,
                "mask": mask,
                "kind": kind,
                "dealt": "by work" if is_dealt else "by formulas",
                "lists": len(found),
                "mean": round(statistics.mean(found), 3),
                "worst": max(found),
            }
            line = "{head_dim:3d} {mask:6s} {kind:15s} {dealt:11s} {mean:.3f}, worst {worst:.3f}"
            print(line.format(**row), flush=True)
            rows.append(row)
    if arguments.json:
        arguments.json.write_text(json.dumps({"version": 1, "predicted": rows}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
