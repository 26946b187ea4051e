#!/usr/bin/env python3
"""score_speed.py BUNDLE --json FILE: what a softcap and a sink cost, beside the same kernel without
them, in one process.

Causal problems of the benchmark; in each round the kernels run in a random order, the plain one
twice: how far its two times are apart is what a ratio can be off by chance. O and LSE are those of
plain attention, for no time depends on them.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "python")]

import torch  # noqa: E402

from dash_attn import Kernel  # noqa: E402
from dash_attn.measure.peers import make_tensors, problems  # noqa: E402
from dash_attn.measure.bundle import Bundle, BundledKernel  # noqa: E402
from dash_attn.measure.timing import Variant, measure, summary  # noqa: E402
from dash_attn.support.records import write_record  # noqa: E402

KIND = "symmetric-shift"


def variants_of(
    kernels: dict[str, BundledKernel], tensors: dict[str, torch.Tensor], scale: float
) -> list[Variant]:
    heads, batch = tensors["lse"].shape[1], tensors["lse"].shape[0]
    sinks = {
        "sink": torch.zeros(heads, device="cuda"),
        "dsink": torch.empty(batch, heads, device="cuda"),
    }
    found = []
    for name, bundled in kernels.items():
        launch = Kernel.load(bundled.path).bind(
            **tensors, **(sinks if bundled.has_sink else {}), scale=scale
        )
        launch.run()
        found.append(Variant(name, launch.run, launch=launch))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--lengths", default="512,2048,8192,16384")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    bundle, generator = Bundle.open(arguments.bundle), random.Random(0)
    results: list[dict[str, Any]] = []
    for case in problems(
        [int(length) for length in arguments.lengths.split(",")], [128, 64], ["causal"]
    ):
        same = [
            kernel
            for kernel in bundle.kernels + bundle.scores
            if (kernel.group, kernel.kind, kernel.element)
            == (f"d{case.head_dim}-causal", KIND, "bf16")
            and kernel.parts == 1
        ]
        kernels = {
            "softcap" if kernel.softcap else "sink" if kernel.has_sink else "plain": kernel
            for kernel in same
        }
        tensors = {name: tensor.detach() for name, tensor in make_tensors(case)[0].items()}
        variants = variants_of(kernels | {"plain again": kernels["plain"]}, tensors, case.scale)
        measure(variants, arguments.rounds, None, generator)
        found = {variant.name: summary(case, variant) for variant in variants}
        results += found.values()
        plain = found["plain"]["ms"]
        print(
            case.name,
            f"plain {plain:.3f} ms",
            *(f"{name} {one['ms'] / plain:.3f}" for name, one in found.items() if name != "plain"),
        )
    if arguments.json:
        about = {
            "commit": bundle.commit,
            "date": time.strftime("%Y-%m-%d"),
            "gpu": torch.cuda.get_device_name(),
            "torch": torch.__version__,
            "rounds": arguments.rounds,
            "results": results,
        }
        write_record(arguments.json, about)
    return 0


if __name__ == "__main__":
    sys.exit(main())
