# RUN: python3 %s --examples %dash_examples | FileCheck %s --implicit-check-not=crash
# REQUIRES: spin, host-supports-nvptx
# Readers of one warpgroup each.
# CHECK:      kv tile {{ *}}fault {{ *}}verify-waits {{ *}}verify-protocol {{ *}}model
# CHECK-NEXT: 64 {{ *}}none {{ *}}- {{ *}}- {{ *}}nothing
# CHECK-NEXT: 64 {{ *}}a reader releases twice {{ *}}found {{ *}}found {{ *}}slot not empty at end
# CHECK-NEXT: 64 {{ *}}a reader never releases {{ *}}found {{ *}}found {{ *}}stuck in its turn
# CHECK-NEXT: 64 {{ *}}a reader releases before its wait {{ *}}found {{ *}}found {{ *}}overwritten before empty
# CHECK-NEXT: 64 {{ *}}the arrivals of one reader {{ *}}- {{ *}}found {{ *}}deadlock
# Of two warpgroups each, which take turns among themselves: too many interleavings for a model.
# CHECK-NEXT: 128 {{ *}}none {{ *}}- {{ *}}-
# CHECK-NEXT: 128 {{ *}}a reader releases twice {{ *}}found {{ *}}found
# CHECK-NEXT: 128 {{ *}}a reader never releases {{ *}}found {{ *}}found
# CHECK-NEXT: 128 {{ *}}a reader releases before its wait {{ *}}found {{ *}}found
# CHECK-NEXT: 128 {{ *}}the arrivals of one reader {{ *}}- {{ *}}found
"""Two consumers that read the same channels, and faults of one of them."""

import argparse
import re
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))
import faults  # noqa: E402
import spin  # noqa: E402
from verdicts import found_by, found_in, table  # noqa: E402

CHECKERS = ["verify-waits", "verify-protocol"]
PASSES = """apply-schedule=kind=shift,workers=4,assume=true verify-schedule assign-roles=consumers=by-gradient
    order-products place-releases plan-buffers hold-factors outline-program peel-walks read-order
    distribute-tiles lower-ordered-reduce sink-waits hoist-releases hoist-stores insert-waits
    split-warpgroups outline-workers""".split()


def kernel(examples: Path, kv_tile: int, scratch: Path) -> str:
    """The IR behind the passes that the proofs read. Four warpgroups have too few registers for
    kv tiles of 128 rows, which matters to no protocol: dash-check-resources does not run."""
    program = scratch / "program.mlir"
    text = (examples / "bwd-full.mlir").read_text(encoding="utf-8")
    program.write_text(text.replace("x128xbf16", "x64xbf16"), encoding="utf-8")
    tiling = f"--dash-choose-tiling=kv-tile={kv_tile} structure=alternating"
    passes = ["--dash-" + one.replace(",", " ") for one in PASSES]
    return spin.run("dash-opt", program, tiling, "--dash-tile", *passes).stdout


def release_of(ir: str, reader: int) -> int:
    return faults.find(
        ir, faults.steady(ir, "consumer", reader), r"dash\.mbarrier_arrive %q_tiles empty\["
    )


def released_twice(ir: str, reader: int) -> str:
    at = release_of(ir, reader)
    line = ir.splitlines()[at]
    return faults.edit(ir, at, line, line)


def never_released(ir: str, reader: int) -> str:
    return faults.edit(ir, release_of(ir, reader))


def released_early(ir: str, reader: int) -> str:
    """In front of the wait, the release of this use."""
    lines, where = ir.splitlines(), faults.steady(ir, "consumer", reader)
    wait = faults.find(ir, where, r"dash\.mbarrier_wait %q_tiles full\[")
    slot = re.search(r"full\[(%\w+)\]", lines[wait])[1]
    release = release_of(ir, reader)
    early = re.sub(r"empty\[%\w+\]", f"empty[{slot}]", lines[release])
    edited = faults.edit(ir, release)
    at = faults.find(
        edited,
        faults.steady(edited, "consumer", reader),
        r"dash\.mbarrier_wait %q_tiles full\[",
    )
    return faults.edit(edited, at, early, edited.splitlines()[at])


def arrivals_of_one(ir: str, reader: int) -> str:
    at = faults.find(ir, range(len(ir.splitlines())), r'dash\.channel "q" ')
    line = ir.splitlines()[at]
    return faults.edit(
        ir,
        at,
        re.sub(r"arrivals\(\[1, (\d+)\]", lambda one: f"arrivals([1, {int(one[1]) // 2}]", line),
    )


FAULTS = {
    "none": lambda ir, reader: ir,
    "a reader releases twice": released_twice,
    "a reader never releases": never_released,
    "a reader releases before its wait": released_early,
    "the arrivals of one reader": arrivals_of_one,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=Path, required=True)
    args = parser.parse_args()
    rows = [("kv tile", "fault", *CHECKERS, "model")]
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        for kv_tile in (64, 128):
            ir = kernel(args.examples, kv_tile, scratch)
            # The first warpgroup of the last consumer. What the second does too early does no harm:
            # the first gives the slot back behind the turn that the second gives on.
            reader = -kv_tile // 64
            for number, (fault, edit) in enumerate(FAULTS.items()):
                folder = scratch / f"{kv_tile}-{number}"
                if kv_tile == 64:
                    found = found_in(edit(ir, reader), folder, CHECKERS, "ITEMS=2", "STEPS=3")
                else:
                    folder.with_suffix(".mlir").write_text(edit(ir, reader), encoding="utf-8")
                    found = [found_by(folder.with_suffix(".mlir"), one) for one in CHECKERS] + [""]
                rows.append((str(kv_tile), fault, *found))
    table(rows)


if __name__ == "__main__":
    main()
