# RUN: rm -rf %t && mkdir %t
# RUN: sed s/x128xbf16/x64xbf16/ %dash_examples/bwd-causal.mlir \
# RUN:   | dash-opt --dash-to-ptx='kind=ascending workers=2 output=%t/causal' -o /dev/null
# RUN: %python %s %t/causal.json --places 0,16,26,10,0,2,12 | FileCheck %s --implicit-check-not='0 of 1'
# REQUIRES: python, host-supports-nvptx
"""Shows that the emulator can fail: it runs texts with one place spoilt, and says of how many the
gradients have other bits or which error there is.

    spoilt.py KERNEL.json [--places 4,0,7] [--seeds 0,1,2] [--show]

Without places it is all of them, which takes an hour. Beside the places of `ptx_order.spoils`
(waits for slots and products, arrivals) a proxy fence, a wait of a copy, a wait for a turn or a
named barrier is missing. Some do no harm: another wait covers them, or what they forbid happens to
no interleaving that a seed has made.
"""

# CHECK: wait for a slot: 1 of 1 found
# CHECK: wait of a copy: 1 of 1 found

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import emulate  # noqa: F401 - says where modules are
import ptx_order
from launch import Kernel
from problem import Inputs, Problem
from ptx_text import Wrong

SIZES = "q:193,kv:257,heads:3"  # items behind items, on two workers
# What is left out of the main entry, line by line, and what stands there instead.
LEFT_OUT = {
    "proxy fence": (r"fence\.proxy\.async\.shared::cta;", ""),
    "wait of a copy": (r"cp\.async\.bulk\.wait_group", ""),
    "named barrier": (r"bar\.(sync|arrive)\s+[1-9]", ""),
    "wait for a turn": (r"setp\.ne\.s32 waits", "setp.ne.b32 waits, 0, 0;\n"),
}


def spoils(text: str) -> Iterator[tuple[str, str, str]]:
    """(kind, what is done, the text with it)"""
    for what, spoilt in ptx_order.spoils(text):
        kind = (
            "wait for a slot"
            if "try_wait" in what
            else "arrival"
            if what.startswith("without")
            else "wait for products"
        )
        yield kind, what, spoilt
    begin = text.index(f".entry {ptx_order.ENTRY}(")
    end = text.index(".visible .entry", begin)
    lines = text[begin:end].splitlines(keepends=True)
    for i, line in enumerate(lines):
        for kind, (pattern, instead) in LEFT_OUT.items():
            if re.search(pattern, line):
                yield (
                    kind,
                    f"without '{line.strip()}'",
                    text[:begin] + "".join([*lines[:i], instead, *lines[i + 1 :]]) + text[end:],
                )


def finding(kernel: Kernel, inputs: Inputs, expected: dict, seeds: list[int]) -> str:
    """Empty if a text does what the right one does."""
    for seed in seeds:
        try:
            found = kernel.run(inputs.tensors, inputs.sizes, inputs.scale, seed)
        except Wrong as wrong:
            return str(wrong).splitlines()[0]
        if names := [name for name in found if (found[name] != expected[name]).any()]:
            return f"other bits of {', '.join(names)}"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("manifest", type=Path)
    parser.add_argument(
        "--places",
        default="",
        help="which place of each kind, in the order of kinds; all of them by default",
    )
    parser.add_argument("--sizes", default=SIZES)
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--show", action="store_true")
    arguments = parser.parse_args()
    seeds = [int(seed) for seed in arguments.seeds.split(",")]
    kernel = Kernel(arguments.manifest)
    inputs = Inputs(kernel.manifest, Problem.parse(arguments.sizes), seed=0)
    expected = kernel.run(inputs.tensors, inputs.sizes, inputs.scale, 0)
    texts: dict[str, list[tuple[str, str]]] = {}
    for kind, what, text in spoils(kernel.text):
        texts.setdefault(kind, []).append((what, text))
    places = [int(place) for place in arguments.places.split(",") if place]
    for i, (kind, spoilt) in enumerate(texts.items()):
        chosen, found = [spoilt[places[i]]] if places else spoilt, 0
        for what, kernel.text in chosen:
            result = finding(kernel, inputs, expected, seeds)
            found += bool(result)
            if arguments.show:
                print(f"{kind}: {what[:100]}: {result[:200] or 'not found'}", flush=True)
        print(f"{kind}: {found} of {len(chosen)} found", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
