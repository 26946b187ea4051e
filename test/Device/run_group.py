#!/usr/bin/env python3
"""run_group.py BUNDLE GROUP HEADDIM-MASK [--quick]: one process of tools/check-device; prints JSON
lines (group.py)."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dash_attn.measure.bundle import Bundle, BundledKernel

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parents[1] / "python")]

GROUPS = (
    "golden",
    "accuracy",
    "hard_numbers",
    "repeat",
    "chains",
    "launches",
    "attention",
    "attention_times",
    "attention_sink",
    "drop_in",
    "efficient",
    "lse",
    "limits",
    "jax_attention",
    "audit",
    "training",
    "models",
    "first_call",
    "fresh_process",
    "host_process",
    "sequences",
    "packed",
    "two_gpus",
    "many_ranks",
    "levels",
    "given_delta",
    "sanitizer",
    "parts",
    "scores",
    "apart",
)
SOAK = "soak"  # takes as long as it is told, so it runs only where it is named
# Those that are given builds for tests as well, and that which is given tables of the benchmark's
# sizes; it is given builds for tests and forwards, too.
WITH_DEBUG, WITH_BENCH = ("chains", "parts", SOAK), ("golden",)
# Kernels with parts serve heads in groups only: they have a group of their own; those that keep
# contributions apart are compared with them.
WITH_PARTS, WITH_BOTH = "parts", "apart"
# What is no matter of head dims and masks is tested with one; calls that name no kernel know
# windows only; and what is left out in short runs.
ONE_FOR_ALL = "d128-causal"
OF_ONE = (
    "efficient",
    "limits",
    "audit",
    "training",
    "models",
    "first_call",
    "fresh_process",
    "host_process",
    "two_gpus",
    "many_ranks",
)
OF_WINDOWS = ("attention", "attention_times", "attention_sink", "lse", "jax_attention", "packed")
NOT_QUICK = ("attention_times", "models", "first_call", "fresh_process", "sanitizer")


def kernels_of(bundle: Bundle, group: str, which: str, quick: bool) -> list[BundledKernel]:
    """Those of a head dim and mask that a group tests; if there are none, it has nothing to do."""
    if group in OF_ONE and which != ONE_FOR_ALL or group in NOT_QUICK and quick:
        return []
    if group == "given_delta" and not any(kernel.group == which for kernel in bundle.given_delta):
        return []  # others are what these are compared with
    if group == WITH_BOTH and not any(kernel.group == which for kernel in bundle.apart):
        return []
    named = {
        "golden": bundle.kernels + bundle.debug + bundle.unrounded + bundle.forwards,
        "sequences": bundle.lists,
        "levels": bundle.levels,
        "scores": bundle.scores,
        "sanitizer": bundle.kernels
        + bundle.debug
        + bundle.lists
        + bundle.scores
        + bundle.unrounded
        + bundle.forwards,
        "given_delta": bundle.given_delta + bundle.kernels + bundle.lists,
        "apart": bundle.apart + bundle.kernels,
    }
    return [
        kernel
        for kernel in named.get(group, bundle.kernels + bundle.debug * (group in WITH_DEBUG))
        if kernel.group == which
        and (
            group == WITH_BOTH or (kernel.manifest["program"]["parts"] > 1) == (group == WITH_PARTS)
        )
        and (group in WITH_BENCH or not kernel.name.endswith("-bench"))
        and (kernel.mask.is_band or group not in OF_WINDOWS)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bundle", type=Path)
    parser.add_argument("group", choices=(*GROUPS, SOAK))
    parser.add_argument("which", help="such as d128-causal")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--filter", default="", help="only tests whose name has this in it")
    parser.add_argument("--after", type=int, default=0, help="number of the first test to run")
    parser.add_argument(
        "--without", action="append", default=[], help="a kernel whose tests are not run"
    )
    parser.add_argument("--soak", type=float, default=60, help="seconds of the group soak")
    parser.add_argument("--seed", type=int, default=1, help="decides what the group soak does")
    arguments = parser.parse_args()

    from group import Test, run_tests

    from dash_attn.measure.bundle import Bundle

    kernels = kernels_of(
        Bundle.open(arguments.bundle), arguments.group, arguments.which, arguments.quick
    )
    options = (arguments.soak, arguments.seed) if arguments.group == SOAK else (arguments.quick,)
    tests: list[Test] = (
        importlib.import_module(arguments.group).tests(kernels, *options) if kernels else []
    )
    tests = [test for test in tests if arguments.filter in test.name]
    run_tests(tests, arguments.after, set(arguments.without))


if __name__ == "__main__":
    main()
