# RUN: %python %s --dash-opt dash-opt --examples %dash_examples --tmp %t --ptxas %ptxas
# REQUIRES: python, mlir-opt, ptxas, host-supports-nvptx
"""The entries around the main kernel assemble without a warning, spills or stack, at head dims of
whole panels and others, and for both q tiles.

Entries that wait for memory need blocks that share an SM: registers are bounded by how many that
asks for.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent / "lib"))

from tilings import with_tiling  # noqa: E402

PIPELINE = (
    "builtin.module(gpu.module(convert-scf-to-cf),convert-cf-to-llvm,"
    "nvvm-attach-target{chip=sm_90a features=+ptx83"
    " O=3},gpu.module(convert-arith-to-llvm,reconcile-unrealized-casts,canonicalize,cse),"
    "gpu-module-to-binary{format=isa})"
)
FUNCTION = re.compile(
    r"Function properties for (\w+)\s+(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+)"
    r" bytes spill"
    r" loads\s.*Used (\d+) registers"
)
ENTRIES = 3
# The role that adds dQ says how its sums lie in memory, and NAME_convert reads it there.
KERNEL_HALF = [
    "--dash-check-kernels",
    "--dash-assign-roles",
    "--dash-order-products",
    "--dash-place-releases",
    "--dash-plan-buffers",
    "--dash-outline-program",
    "--dash-peel-walks",
    "--dash-read-order",
    "--dash-distribute-tiles",
    "--dash-lower-order",
    "--dash-lower-prepare",
    "--dash-lower-convert",
]


def most_registers(entry: str, tile_bytes: int) -> int:
    """An SM has 65536 of them. Blocks of 256 threads together want 64 KB of loads in flight, a tile
    each; of the entry for the order, one block of 512 threads is enough."""
    blocks = 1 if entry.endswith("_order") else max(2, 65536 // tile_bytes)
    return 65536 // (blocks * (512 if entry.endswith("_order") else 256))


def pipe(command: list[str], text: str) -> str:
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr[:2000]}")
    return done.stdout


def unescape(text: str) -> str:
    """The characters of a string in MLIR's text."""
    return re.sub(
        r'\\([0-9A-Fa-f]{2}|["\\])', lambda m: m[1] if len(m[1]) == 1 else chr(int(m[1], 16)), text
    )


def ptx_of(module: str) -> str:
    # Upstream's tool does not know our attributes; none of them bears on the code.
    module = re.sub(r"dash\.formulas = #dash\.formulas<[^<>]*>, ", "", module)
    module = module[module.index("gpu.module") :].rstrip().removesuffix("}")
    binary = pipe(
        ["mlir-opt", "--allow-unregistered-dialect", f"--pass-pipeline={PIPELINE}"], module
    )
    return unescape(re.search(r'assembly = "((?:[^"\\]|\\.)*)"', binary)[1]).rstrip("\0")


def findings(ptxas: str, ptx: Path, tile_bytes: int) -> list[str]:
    done = subprocess.run(
        [
            ptxas,
            "-arch=sm_90a",
            "-v",
            "--warning-as-error",
            str(ptx),
            "-o",
            str(ptx.with_suffix(".cubin")),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        return [done.stdout + done.stderr]
    found = FUNCTION.findall(done.stdout + done.stderr)
    lines = [] if len(found) == ENTRIES else [f"{len(found)} entries, expected {ENTRIES}"]
    for name, *numbers in found:
        stack, stores, loads, registers = map(int, numbers)
        print(f"{ptx.name}: {name} uses {registers} registers")
        if stack or stores or loads:
            lines.append(f"{name}: {stack} bytes of stack, {stores} spilled, {loads} loaded back")
        if registers > (most := most_registers(name, tile_bytes)):
            lines.append(f"{name}: {registers} registers, expected at most {most}")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    for option in ("--dash-opt", "--examples", "--tmp", "--ptxas"):
        parser.add_argument(option, required=True)
    arguments = parser.parse_args()
    scratch, failures = Path(arguments.tmp), []
    scratch.mkdir(parents=True, exist_ok=True)
    for mask, head_dim, tile, kind in [
        ("causal", 128, 64, "symmetric-shift"),
        ("full", 128, 128, "shift"),
        ("causal", 64, 128, "descending"),
        ("full", 64, 64, "ascending"),
        ("causal", 8, 64, "shift"),
        ("full", 40, 64, "shift"),
        ("causal", 88, 64, "shift"),
    ]:
        program = (Path(arguments.examples) / f"bwd-{mask}.mlir").read_text(encoding="utf-8")
        columns = next(width for width in (64, 96, 128) if head_dim <= width)
        program = with_tiling(program.replace("x128xbf16", f"x{head_dim}xbf16"), tile, 128, columns)
        module = pipe(
            [
                arguments.dash_opt,
                "-",
                "--dash-tile",
                f"--dash-apply-schedule=kind={kind} sizes=q:1024,heads:2",
                *KERNEL_HALF,
            ],
            program,
        )
        ptx = scratch / f"{mask}-{head_dim}-{tile}.ptx"
        ptx.write_text(ptx_of(module), encoding="utf-8")
        failures += findings(arguments.ptxas, ptx, 4 * tile * columns)
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
