"""Runs all entries of kernels on the emulator of `lib`, and compares their gradients with float64.

    emulate.py --tmp DIR [--sizes q:200,kv:300,heads:2,kv-heads:1,batch:1] [--seeds 0,1]
    NAME|MANIFEST ...

NAME is a kernel of tools/scripts/device_kernels.py, or a pattern of names, as '*-list*'; it is
compiled for `--workers`, and a table is made for the sizes. Lengths of a list are q:70+0+130,kv:….
Each seed is another interleaving of warps, blocks, copies and products; all must give the same
bits.
"""

from __future__ import annotations

import argparse
import fnmatch
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [
    str(Path(__file__).parent / "lib"),
    str(ROOT / "test/Main"),
    str(ROOT / "python"),
    str(ROOT / "tools/scripts"),
]

from device_kernels import DeviceKernel, device_kernels  # noqa: E402
from launch import Kernel  # noqa: E402
from problem import Inputs, Problem, is_right  # noqa: E402
from ptx_text import Wrong  # noqa: E402

EXAMPLES = ROOT / "dialects/dash/examples"
# Where none are stated, by what stands in a kernel's name: few rows, but not whole tiles.
SIZES = {
    "blocks": "q:1024,kv:1024,batch:1,heads:1,kv-heads:1",
    "parts": "q:70,kv:130,batch:1,heads:8,kv-heads:1",
    "runs": "q:260,kv:260,batch:1,heads:1,kv-heads:1",
    "synthesized-list": "q:70+1+130,kv:40+50+200,heads:2,kv-heads:1",
    "list": "q:70+0+65,kv:40+50+130,heads:2,kv-heads:1",
    "": "q:130,kv:200,batch:1,heads:2,kv-heads:1",
}


def dash_opt(tool: str, *arguments: str) -> str:
    done = subprocess.run([tool, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Wrong(f"{tool} {' '.join(arguments)}: {done.stderr.splitlines()[0]}")
    return done.stdout


def compiled(kernel: DeviceKernel, sizes: str, folder: Path, tool: str) -> Path:
    """Its manifest."""
    program, options, order = folder / f"{kernel.name}.mlir", kernel.options, kernel.order
    program.write_text(
        kernel.program((EXAMPLES / kernel.example).read_text(encoding="utf-8")), encoding="utf-8"
    )
    if "parts" not in kernel.name:
        options, order = (re.sub(r"sizes=\S+", f"sizes={sizes}", text) for text in (options, order))
    if order:
        path = folder / f"{kernel.name}.order.json"
        path.write_text(
            dash_opt(
                tool,
                str(program),
                "--dash-tile=q=64 kv=128",
                f"--dash-apply-schedule={order}",
                "--dash-report-schedule=format=json",
                "-o",
                "/dev/null",
            ),
            encoding="utf-8",
        )
        options += f" path={path}"
    dash_opt(
        tool,
        str(program),
        f"--dash-to-ptx={options} output={folder / kernel.name}",
        "-o",
        "/dev/null",
    )
    return folder / f"{kernel.name}.json"


def check(manifest: Path, sizes: str, seeds: list[int], memory: str) -> tuple[bool, str]:
    kernel = Kernel(manifest)
    inputs = Inputs(kernel.manifest, Problem.parse(sizes), seed=len(sizes))
    runs = [kernel.run(inputs.tensors, inputs.sizes, inputs.scale, seed, memory) for seed in seeds]
    errors = inputs.errors(runs[0])
    text = ", ".join(f"{name} {ours:.2e} ({theirs:.2e})" for name, (ours, theirs) in errors.items())
    if not is_right(errors):
        return False, f"wrong: {text}"
    fixed = [
        name for name in runs[0] if name != "dq" or kernel.manifest["program"]["deterministic"]
    ]
    if other := [name for name in fixed if any((run[name] != runs[0][name]).any() for run in runs)]:
        return False, f"wrong: {', '.join(other)} of other bits with other seeds"
    return True, (
        f"right: {text}; the same bits with {len(seeds)} seeds"
        if len(seeds) > 1
        else f"right: {text}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kernels", nargs="+", metavar="NAME|MANIFEST")
    parser.add_argument("--tmp", type=Path, required=True)
    parser.add_argument("--sizes", help="those that suit the kernel, if there are none")
    parser.add_argument("--seeds", default="0")
    parser.add_argument(
        "--memory",
        choices=("bhsd", "bshd", "padded"),
        default="bhsd",
        help="how tensors lie in memory",
    )
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--dash-opt", default="dash-opt")
    arguments = parser.parse_args()
    arguments.tmp.mkdir(parents=True, exist_ok=True)
    known, failed = {kernel.name: kernel for kernel in device_kernels(arguments.workers)}, False
    found = [
        (pattern, [pattern] if pattern.endswith(".json") else fnmatch.filter(known, pattern))
        for pattern in arguments.kernels
    ]
    if missing := [pattern for pattern, names in found if not names]:
        parser.error(f"no kernel is named {', '.join(missing)}")
    for name in (name for _, names in found for name in names):
        begin = time.monotonic()
        sizes = arguments.sizes or next(text for word, text in SIZES.items() if word in name)
        try:
            manifest = (
                Path(name)
                if name.endswith(".json")
                else compiled(known[name], sizes, arguments.tmp, arguments.dash_opt)
            )
            good, text = check(
                manifest,
                sizes,
                [int(seed) for seed in arguments.seeds.split(",")],
                arguments.memory,
            )
        except Wrong as wrong:
            good, text = False, f"wrong: {wrong}"
        failed |= not good
        print(f"{Path(name).stem}: {text} ({time.monotonic() - begin:.0f} s)", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
