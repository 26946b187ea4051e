"""A program of dk and dv that keeps dS, and one of dq that reads it: near float64, the same bits in
other interleavings, and those of programs that compute dS twice.

passed-ds.py --sizes q:200,kv:300,heads:2,kv-heads:1,batch:1 [--seeds 0,1] KEEPS READS KV Q
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(Path(__file__).parent / "lib"), str(ROOT / "test/Main"), str(ROOT / "python")]

from launch import Kernel  # noqa: E402
from problem import Inputs, Problem, is_right  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("manifests", nargs=4, type=Path, metavar="MANIFEST")
    parser.add_argument("--sizes", required=True)
    parser.add_argument("--seeds", default="0,1")
    arguments = parser.parse_args()
    kernels = [Kernel(manifest) for manifest in arguments.manifests]
    problem = Problem.parse(arguments.sizes)
    of_kv, of_q = (Inputs(one.manifest, problem, seed=1) for one in kernels[2:])

    def run(number: int, seed: int, **beside: np.ndarray) -> dict[str, np.ndarray]:
        tensors = of_kv.tensors | beside
        return kernels[number].run(tensors, of_kv.sizes, of_kv.scale, seed, "bhsd")

    expected = run(2, 0) | run(3, 0)
    for seed in map(int, arguments.seeds.split(",")):
        kept = run(0, seed)
        ds = kept.pop("ds")
        if ds[0].any():
            print("the first tile is not zeros")
            return 1
        found = kept | run(1, seed + 1, ds=ds)
        others = [name for name in expected if (found[name] != expected[name]).any()]
        if others:
            print(f"seed {seed}: {', '.join(others)} of other bits than without ds")
            return 1
    errors = of_kv.errors(expected) | of_q.errors(expected)
    print("right, and the bits of programs without ds" if is_right(errors) else f"wrong: {errors}")
    return not is_right(errors)


if __name__ == "__main__":
    sys.exit(main())
