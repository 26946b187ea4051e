#!/usr/bin/env python3
"""split.py [--dash-opt PATH] [--repeats N] DIR: dV apart, in a main kernel of its own and in a
consumer of its own, beside kernels that compute all gradients together, on a GPU.

DIR has two kernels for each case and split, `NAME-SPLIT-whole.json` and `NAME-SPLIT-apart.json`;
with --dash-opt they are compiled, on any machine, and nothing else is done. Each pair is asked for:

    bits       gradients of both are the same, bit for bit, on shapes that tiles do not divide
    accuracy   errors beside float64, on poisoned outputs and workspace, as of all kernels
    repeats    the same bits on every run, alone and beside other work
    time       of both, interleaved: medians of the whole backward
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "python"), str(ROOT / "tools/scripts")]

from device_kernels import DeviceKernel  # noqa: E402

WORKERS = 132
CASES = (
    DeviceKernel("d128-full-shift", 128, "full", "kind=shift"),
    DeviceKernel("d128-causal-symmetric-shift", 128, "causal", "kind=symmetric-shift"),
    DeviceKernel("d128-window-512-0-shift", 128, "window-512-0", "kind=shift"),
    DeviceKernel("d64-causal-symmetric-shift", 64, "causal", "kind=symmetric-shift"),
    DeviceKernel("d64-full-shift-f16", 64, "full", "kind=shift", element="f16"),
)
# The options of each split, without it and with it.
SPLITS = {
    "dv": ("split=none", "split=dv"),
    "consumers": tuple(
        f"kv-tile=64 structure=alternating{more}" for more in ("", " consumers=by-gradient")
    ),
}
# Rows of q and of kv, batch, heads, kv heads, memory: rows that see no column, groups, whole tiles.
SHAPES = (
    (1000, 1000, 2, 8, 2, "bshd"),
    (1, 200, 2, 8, 8, "bshd"),
    (1000, 65, 2, 4, 4, "bhsd"),
    (129, 129, 3, 5, 5, "packed"),
    (2048, 2048, 1, 12, 12, "bshd"),
)
TIMED = (4096, 4096, 4, 16, 16, "bshd")


def compile_pairs(dash_opt: str, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for kernel in CASES:
        program = folder / f"{kernel.name}.mlir"
        program.write_text(
            kernel.program((ROOT / "dialects/dash/examples" / kernel.example).read_text())
        )
        for split, (whole, apart) in SPLITS.items():
            for suffix, more in ((f"{split}-whole", whole), (f"{split}-apart", apart)):
                options = f"{kernel.options} workers={WORKERS} {more}"
                options += f" output={folder / kernel.name}-{suffix}"
                subprocess.run(
                    [dash_opt, str(program), f"--dash-to-ptx={options}", "-o", "/dev/null"],
                    check=True,
                )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--dash-opt", metavar="PATH")
    parser.add_argument("--repeats", type=int, default=100)
    arguments = parser.parse_args()
    if arguments.dash_opt:
        compile_pairs(arguments.dash_opt, arguments.folder)
        return 0
    wrong = 0
    pairs = [f"{kernel.name}-{split}" for split in SPLITS for kernel in CASES]
    for name in pairs:
        wrong += check_pair(arguments.folder, name, arguments.repeats)
    print(f"{len(pairs)} pairs, {wrong} findings")
    return wrong != 0


def check_pair(folder: Path, name: str, repeats: int) -> int:
    """The number of findings."""
    from accuracy import check
    from apart import bits_are_those_of
    from cases import case
    from repeat import alone, beside

    from dash_attn.measure import bundle

    whole, split = (
        bundle._kernel(one, folder / f"{one}.json") for one in (f"{name}-whole", f"{name}-apart")
    )
    tests: list[tuple[str, Any, tuple[Any, ...]]] = []
    for seed, shape in enumerate(SHAPES):
        tests.append((f"bits {shape}", bits_are_those_of, (split, whole, shape)))
        tests.append((f"accuracy {shape}", check, (split, case(split, shape, seed))))
    tests += [
        ("alone", alone, (split, repeats)),
        ("beside", beside, (split, repeats)),
        ("time", times, (whole, split)),
    ]
    wrong = 0
    for title, test, values in tests:
        try:
            print(f"{split.name} {title}: ok {test(*values) or ''}"[:200], flush=True)
        except Exception as error:  # the test has failed; the next may still run
            wrong += 1
            print(
                f"{split.name} {title}: FAILED {type(error).__name__}: {error}"[:1000], flush=True
            )
    return wrong


def times(whole: Any, split: Any) -> dict[str, float]:
    """Milliseconds of a backward."""
    import torch
    from accuracy import load
    from cases import case

    from dash_attn.measure.testing import make_inputs

    problem = case(split, TIMED)
    tensors = make_inputs(problem)
    found: dict[str, list[float]] = {"whole": [], "apart": []}
    for number in range(14):
        for name, kernel in (("whole", whole), ("apart", split)):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            load(kernel).backward(**tensors, scale=problem.scale, stream=0)
            end.record()
            end.synchronize()
            if number >= 2:
                found[name].append(begin.elapsed_time(end))
    return {name: round(statistics.median(taken), 4) for name, taken in found.items()}


if __name__ == "__main__":
    sys.exit(main())
