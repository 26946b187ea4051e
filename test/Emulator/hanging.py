# RUN: rm -rf %t && mkdir %t && %python %s --root %dash_src --tmp %t | FileCheck %s
# REQUIRES: python, host-supports-nvptx, plain-libdash
"""Kernels that hang on the emulator, on purpose: a block that stops, and a worker that does not
give its turns. What is left in the workspace names the worker, of orders that are formulas, of a
list and of parts, too. And a kernel that ends leaves the mark behind every chain."""

# CHECK:      symmetric-shift-128: block 1 stops: worker 1 has turn
# CHECK-NEXT: symmetric-shift-128: worker 0 gives no turn: worker 0 has turn
# CHECK-NEXT: symmetric-shift-128: ended
# CHECK-NEXT: list-64: block 1 stops: worker 1 has turn
# CHECK-NEXT: list-64: worker 0 gives no turn: worker 0 has turn
# CHECK-NEXT: list-64: ended
# CHECK-NEXT: parts-64: block 1 stops: worker 1 has turn
# CHECK-NEXT: parts-64: worker 0 gives no turn: worker 0 has turn
# CHECK-NEXT: parts-64: ended

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path
from unittest import mock

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--root", type=Path, required=True)
parser.add_argument("--tmp", type=Path, required=True)
arguments = parser.parse_args()
sys.path[:0] = [str(arguments.root / path) for path in ("test/Emulator/lib", "test/Main", "python")]

import machine  # noqa: E402
from launch import Kernel  # noqa: E402
from problem import Inputs, Problem  # noqa: E402
from ptx_text import Wrong  # noqa: E402
from warp import Warp  # noqa: E402

from dash_attn import hang  # noqa: E402

GIVES = re.compile(
    r"red\.release\.gpu\.global\.add\.s32\s+\[[^]]+\],\s*1;|st\.release\.gpu\.global\.b32\s+\[[^]]+\],\s*-1;"
)
MOST_NAPS = 300  # before a machine is taken to stand still


def compiled(name: str, head_dim: int, options: str, is_list: bool) -> Kernel:
    text = (
        (arguments.root / "dialects/dash/examples/bwd-causal.mlir")
        .read_text(encoding="utf-8")
        .replace("x128xbf16", f"x{head_dim}xbf16")
    )
    if is_list:
        text = text.replace("scale(%scale)", "scale(%scale) sequences(<?>)")
    program = arguments.tmp / f"{name}.mlir"
    program.write_text(text, encoding="utf-8")
    subprocess.run(
        [
            "dash-opt",
            str(program),
            f"--dash-to-ptx={options} workers=2 output={arguments.tmp / name}",
            "-o",
            "/dev/null",
        ],
        check=True,
    )
    return Kernel(arguments.tmp / f"{name}.json")


def hung(kernel: Kernel, inputs: Inputs) -> hang.Look:
    """What is left where no warp goes on."""
    try:
        with mock.patch.object(machine, "MOST_NAPS", MOST_NAPS):
            kernel.run(inputs.tensors, inputs.sizes, inputs.scale, seed=1)
    except Wrong as wrong:
        assert "can go on" in str(wrong), wrong
        return looked_at(kernel, inputs)
    raise AssertionError("expected a kernel that hangs, found one that ends")


def looked_at(kernel: Kernel, inputs: Inputs) -> hang.Look:
    names = [
        region["name"]
        for region in kernel.manifest["workspace"]
        if region["name"] == "order" or region["name"].endswith("turns")
    ]
    return hang.explain(
        kernel.path.read_text(encoding="utf-8"),
        inputs.sizes,
        {name: kernel.region(name) for name in names},
    )


def says(name: str, what: str, look: hang.Look, worker: int) -> None:
    assert look.data["roots"][0] == worker, look.describe()
    cause = next(line for line in look.describe(look).splitlines() if line.startswith("cause: "))
    print(f"{name}: {what}: {cause.removeprefix('cause: ')}", flush=True)


def stops(block: int, after: int):
    """Warps of a block of the main entry take no further step, once each has taken so many."""
    taken: dict[int, int] = {}
    step, can_go_on = Warp.step, Warp.can_go_on

    def is_stopped(warp: Warp) -> bool:
        return (
            warp.block.number == block
            and warp.program is warp.block.machine.programs.get(MAIN)
            and taken.get(id(warp), 0) >= after
        )

    def stopping(warp: Warp) -> bool:
        taken[id(warp)] = taken.get(id(warp), 0) + 1
        return not is_stopped(warp) and step(warp)

    return mock.patch.multiple(
        Warp, step=stopping, can_go_on=lambda warp: not is_stopped(warp) and can_go_on(warp)
    )


MAIN = "attention_bwd_main"
for name, head_dim, options, sizes, after in (
    (
        "symmetric-shift-128",
        128,
        "kind=symmetric-shift",
        "q:256,kv:256,batch:1,heads:2,kv-heads:2",
        30,
    ),
    (
        "list-64",
        64,
        "kind=symmetric-shift level=batch",
        "q:130+0+70,kv:130+40+100,heads:2,kv-heads:2",
        30,
    ),
    (
        "parts-64",
        64,
        "kind=symmetric-shift parts=2 sizes=heads:2,kv-heads:1",
        "q:128,kv:128,batch:1,heads:2,kv-heads:1",
        30,
    ),
):
    kernel = compiled(name, head_dim, options, name.startswith("list"))
    inputs = Inputs(kernel.manifest, Problem.parse(sizes), seed=1)
    with stops(block=1, after=after):
        look = hung(kernel, inputs)
    assert look.given < look.total, look.describe()
    says(name, "block 1 stops", look, 1)

    # Worker 0 goes on behind a turn that it does not give, until another worker waits for it.
    plain = kernel.text
    begin = plain.index(f".entry {MAIN}(")
    end = plain.index(".visible .entry", begin)
    count = 0

    def edited(found: re.Match[str]) -> str:
        global count
        count += 1
        return (
            f"mov.u32 planted{count}, %ctaid.x;\nsetp.ne.u32 gives{count}, planted{count},"
            f" 0;\n@gives{count} {found[0]}"
        )

    kernel.text = plain[:begin] + GIVES.sub(edited, plain[begin:end]) + plain[end:]
    assert count >= 2, count
    look = hung(kernel, inputs)
    says(name, "worker 0 gives no turn", look, 0)
    kernel.text = plain
    kernel.run(inputs.tensors, inputs.sizes, inputs.scale, seed=1)
    look = looked_at(kernel, inputs)
    assert look.is_done and "no worker waits for a turn" in look.describe(), look.describe()
    print(f"{name}: ended")
