# RUN: rm -rf %t && mkdir %t && %python %s --root %dash_src --tmp %t
# REQUIRES: python, host-supports-nvptx
"""Traces of programs whose items sum nothing across each other: of dK and dV, of dQ, of a forward.
They have the bits of plain ones, and their records are the order; differences from what was
predicted, and a heat map of items, come out of them. An order that is not what ran is found."""

from __future__ import annotations

import argparse
import copy
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--root", type=Path, required=True)
parser.add_argument("--tmp", type=Path, required=True)
arguments = parser.parse_args()
sys.path[:0] = [str(arguments.root / path) for path in ("test/Emulator/lib", "test/Main", "python")]

from launch import Kernel  # noqa: E402
from problem import Inputs, Problem  # noqa: E402

from dash_attn import heat, trace  # noqa: E402
from dash_attn.errors import ArgumentError  # noqa: E402
from dash_attn.measure import prices  # noqa: E402

SIZES, KIND = "q:130,kv:200,batch:1,heads:2,kv-heads:1", "kind=longest-first workers=2"
EXAMPLES = arguments.root / "dialects/dash/examples"
PROGRAMS = {"dk,dv": "bwd-causal.mlir", "dq": "bwd-causal.mlir", "": "fwd-causal.mlir"}


def dash_opt(*words: str) -> str:
    return subprocess.run(
        ["dash-opt", *words, "-o", "/dev/null"], capture_output=True, text=True, check=True
    ).stdout


def run(program: Path, name: str, options: str) -> tuple[Kernel, dict[str, Any]]:
    dash_opt(str(program), f"--dash-to-ptx={KIND} {options} output={arguments.tmp / name}")
    kernel = Kernel(arguments.tmp / f"{name}.json")
    inputs = Inputs(kernel.manifest, Problem.parse(SIZES), seed=1)
    return kernel, kernel.run(inputs.tensors, inputs.sizes, inputs.scale, 0)


def report(program: Path, form: str) -> dict[str, Any]:
    return json.loads(
        dash_opt(
            str(program),
            "--dash-choose-tiling",
            "--dash-tile",
            f"--dash-apply-schedule={KIND} sizes={SIZES}",
            f"--dash-report-schedule=format={form}",
        )
    )


def refuses(what: str, call: Any) -> None:
    try:
        call()
    except (ValueError, ArgumentError) as error:
        assert what in str(error), f"expected '{what}', found '{error}'"
    else:
        raise AssertionError(f"expected '{what}', found no error")


def check(gradients: str, example: str) -> None:
    name = gradients.replace(",", "-") or "forward"
    program, text = arguments.tmp / f"{name}.mlir", (EXAMPLES / example).read_text(encoding="utf-8")
    if gradients:
        script = arguments.root / "tools/scripts/part_program.py"
        text = subprocess.run(
            [sys.executable, script, gradients, "64", EXAMPLES / example],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    program.write_text(text.replace("x128xbf16", "x64xbf16"), encoding="utf-8")
    (order,), predicted = report(program, "json")["schedules"], report(program, "trace")
    assert order["chains"] == [] and order["keeps"] in ("machine", "row"), order["keeps"]
    plain, bits = run(program, f"{name}-plain", "")
    kernel, found = run(program, f"{name}-traced", "trace=all trace-every=1 trace-records=1000")
    assert all((values == bits[tensor]).all() for tensor, values in found.items()), name
    lanes = trace.decode(kernel.trace, kernel.manifest)
    assert not any(lane.lost for lane in lanes), name
    trace.check(lanes, order)
    visits = [len(item["visit"]) for item in order["items"]]
    assert len([*trace.events(lanes, name, 1, order)]) > sum(visits), name
    assert trace.differences(lanes, order, predicted)[0].startswith("the order took"), name
    of_items = heat.of_trace(lanes, order, name)
    assert sorted(map(len, of_items.cells)) == sorted(
        len(items) for items in trace.Tasks(order).items.values()
    ) and all(step and step > 0 for row in of_items.cells for step in row), of_items
    refuses("its prices are fitted to times", lambda: prices.find(lanes, order, None))
    # An item with a task less, and one less of a worker.
    spoiled = copy.deepcopy(order)
    next(item for item in spoiled["items"] if len(item["visit"]) > 1)["visit"].pop()
    refuses("uses of", lambda: trace.check(lanes, spoiled))
    spoiled = copy.deepcopy(order)
    spoiled["items"].pop()
    refuses("expected items 0 to", lambda: trace.check(lanes, spoiled))


for gradients, example in PROGRAMS.items():
    check(gradients, example)
