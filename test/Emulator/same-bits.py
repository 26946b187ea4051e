"""Runs kernels that differ in how they add alone, and compares the bits of their gradients.

same-bits.py [--sizes q:200,kv:300,heads:2,kv-heads:1,batch:1] MANIFEST MANIFEST ...
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(Path(__file__).parent / "lib"), str(ROOT / "test/Main"), str(ROOT / "python")]

from launch import Kernel  # noqa: E402
from problem import Inputs, Problem, is_right  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("manifests", nargs="+", type=Path)
    parser.add_argument("--sizes", required=True)
    arguments = parser.parse_args()
    kernels = [Kernel(manifest) for manifest in arguments.manifests]
    inputs = Inputs(kernels[0].manifest, Problem.parse(arguments.sizes), seed=1)
    runs = [
        kernel.run(inputs.tensors, inputs.sizes, inputs.scale, seed, "bhsd")
        for seed, kernel in enumerate(kernels)
    ]
    if not is_right(inputs.errors(runs[0])):
        print(f"{arguments.manifests[0].name}: wrong: {inputs.errors(runs[0])}")
        return 1
    for manifest, run in zip(arguments.manifests[1:], runs[1:], strict=True):
        others = {name: int((run[name] != runs[0][name]).sum()) for name in run}
        print(
            f"{manifest.name}:"
            f" {'same bits' if not any(others.values()) else f'other bits: {others}'}"
        )
        if any(others.values()):
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
