#!/usr/bin/env python3
"""compare_speed.py OLD NEW --json FILE: whether the kernels of bundle NEW are as fast as those of
bundle OLD, in one process.

Each of the benchmark's problems (dash_attn.bench) runs with OLD, with NEW, and with OLD loaded once
more, in a random order in each round; times are medians of rounds. The third is the control: how
far its ratio is from 1 is what a ratio can be off by chance. One kind a mask: the fixed order that
is best on it. Bits of the gradients are compared as well, and told. The status is 1 if the
geometric mean of the ratios is below 0.995, one of them below 0.98, or a problem was left out for
lack of time.
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
from dash_attn.measure.peers import best_fixed, make_tensors, problems  # noqa: E402
from dash_attn.bench import LENGTHS  # noqa: E402
from dash_attn.measure.bundle import Bundle  # noqa: E402
from dash_attn.measure.report import compared, print_comparison  # noqa: E402
from dash_attn.measure.testing import OUTPUTS, Case, differences, poison  # noqa: E402
from dash_attn.measure.timing import Variant, measure, summary  # noqa: E402
from dash_attn.support.records import write_record  # noqa: E402

MEAN, LEAST = 0.995, 0.98


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--lengths", default=",".join(map(str, LENGTHS)))
    parser.add_argument("--head-dims", default="128,64")
    parser.add_argument("--masks", default="full,causal")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument(
        "--seconds", type=float, default=300, help="begin no further problem after so many"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the order in which variants run")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()

    begun, generator = time.monotonic(), random.Random(arguments.seed)
    old, new = Bundle.open(arguments.old), Bundle.open(arguments.new)
    bundles = {"old": old, "new": new, "old again": old}
    loaded: dict[tuple[str, int, str], Kernel] = {}
    rows: list[dict[str, Any]] = []
    results: list[dict[str, Any]] = []
    left_out: list[str] = []
    for case in problems(
        [int(length) for length in arguments.lengths.split(",")],
        [int(size) for size in arguments.head_dims.split(",")],
        arguments.masks.split(","),
    ):
        if time.monotonic() - begun > arguments.seconds:
            left_out.append(case.name)
            continue
        mask = case.mask.name
        for name, bundle in bundles.items():
            if (name, case.head_dim, mask) not in loaded:
                loaded[name, case.head_dim, mask] = Kernel.load(best_fixed(bundle, case).path)
        kernels = {name: loaded[name, case.head_dim, mask] for name in bundles}
        found, bits = measure_case(case, kernels, arguments.rounds, generator)
        results += found
        rows.append(compared(found, bits))
        torch.cuda.empty_cache()
    means = print_comparison(rows)
    print(
        f"{time.monotonic() - begun:.0f} s"
        + (f"; no time was left for {', '.join(left_out)}" if left_out else "")
    )
    if arguments.json:
        about = {
            "old": old.commit,
            "new": new.commit,
            "date": time.strftime("%Y-%m-%d"),
            "gpu": torch.cuda.get_device_name(),
            "torch": torch.__version__,
            "rounds": arguments.rounds,
            "left_out": left_out,
            "means": means,
            "ratios": rows,
            "results": results,
        }
        write_record(arguments.json, about)
    return int(bool(left_out) or means["new"]["mean"] < MEAN or means["new"]["least"] < LEAST)


def measure_case(
    case: Case, kernels: dict[str, Kernel], rounds: int, generator: random.Random
) -> tuple[list[dict], str]:
    """(a summary of each variant, where NEW's gradients differ from OLD's if they do)."""
    tensors = {name: tensor.detach() for name, tensor in make_tensors(case)[0].items()}
    variants, gradients = [], {}
    for name, kernel in kernels.items():
        launch = kernel.bind(**tensors, scale=case.scale)
        poison(tensors)
        launch.run()
        gradients[name] = {output: tensors[output].clone() for output in OUTPUTS}
        variants.append(Variant(name, launch.run, launch=launch))
    measure(variants, rounds, None, generator)
    return [summary(case, variant) for variant in variants], differences(
        gradients["new"], gradients["old"]
    )


if __name__ == "__main__":
    sys.exit(main())
