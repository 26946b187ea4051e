# RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='kind=shift workers=4 output=spoilt' -o /dev/null \
# RUN:   --mlir-print-ir-after=dash-plan-buffers 2> spoilt.mlir
# RUN: %python %s spoilt.ptx --every 5 | FileCheck %s --check-prefixes=CHECK-128,CHECK
# RUN: sed s/x128xbf16/x64xbf16/ %dash_examples/bwd-causal.mlir | dash-opt --dash-to-ptx='kind=shift workers=4 output=spoilt-64' \
# RUN:   -o /dev/null --mlir-print-ir-after=dash-plan-buffers 2> spoilt-64.mlir
# RUN: %python %s spoilt-64.ptx --every 5 | FileCheck %s --check-prefixes=CHECK-64,CHECK
# REQUIRES: python, z3, host-supports-nvptx
"""What spoils a kernel's PTX is found by the machine that runs it; what the machine passes is
harmless by the axioms of the memory model.

    spoilt.py KERNEL.ptx [--every N]

KERNEL.mlir beside it is the plan. A wait can be spared where another has seen the same: the
warpgroup that gets the turn at the tensor core knows what its giver has waited for, and a role that
finds a tile loaded anew knows that all have released the one before.
"""

# CHECK-128: as emitted, wrong: {{$}}
# CHECK-64: as emitted, wrong: {{$}}
# CHECK: {{[0-9]+}} texts spoilt, {{[1-9][0-9]*}} found, {{[1-9][0-9]*}} harmless by the axioms, 0 neither

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent / "lib"), str(Path(__file__).parents[1] / "Main")]

from blocks import Block, Channel, channels_of  # noqa: E402
from kernels import trace  # noqa: E402
from ptx_machine import Machine, Wrong  # noqa: E402
import ptx_order  # noqa: E402

# Items of no steps, of few, of many. The model names bytes of each channel's first slot, so that
# uses begin in another with each list.
WALKS = [[4, 0, 1, 5], [3, 5], [2, 2, 1, 6]]


def is_found(text: str, manifest: dict) -> bool:
    ptx_order.Machine = Machine
    try:
        for walks in WALKS:
            ptx_order.run(text, manifest, walks)
    except Wrong:
        return True
    return False


def wrongs(ptx: Path, channels: list[Channel]) -> set[tuple[str, str]]:
    """What may be read wrong, by either reading of fences, and with which items."""
    return {
        (str(walks), name)
        for walks in WALKS
        for names in Block(trace(ptx, walks), channels).goes_wrong().values()
        for name in names
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("ptx", type=Path)
    parser.add_argument(
        "--every", type=int, default=1, metavar="N", help="spoil one place of so many"
    )
    arguments = parser.parse_args()
    manifest = arguments.ptx.with_suffix(".json").read_text(encoding="utf-8")
    channels = channels_of(arguments.ptx.with_suffix(".mlir").read_text(encoding="utf-8"))
    cases = list(enumerate(ptx_order.spoils(arguments.ptx.read_text(encoding="utf-8"))))[
        :: arguments.every
    ]
    passed = [
        (i, what, text) for i, (what, text) in cases if not is_found(text, json.loads(manifest))
    ]
    harmful = 0
    emitted = wrongs(arguments.ptx, channels)
    print(
        "as emitted, wrong: "
        + "; ".join(f"{what} of items of {walks}" for walks, what in sorted(emitted))
    )
    with tempfile.TemporaryDirectory() as folder:
        ptx = Path(folder) / "spoilt.ptx"
        ptx.with_suffix(".json").write_text(manifest, encoding="utf-8")
        for i, what, text in passed:
            ptx.write_text(text, encoding="utf-8")
            wrong = sorted({name for _, name in wrongs(ptx, channels) - emitted})
            harmful += bool(wrong)
            print(
                f"passed by the machine: {i}: {what}: "
                + (f"goes wrong with {', '.join(wrong)}" if wrong else "harmless by the axioms")
            )
    print(
        f"{len(cases)} texts spoilt, {len(cases) - len(passed)} found, {len(passed) - harmful}"
        f" harmless by the axioms, {harmful} neither"
    )
    return harmful > 0


if __name__ == "__main__":
    sys.exit(main())
