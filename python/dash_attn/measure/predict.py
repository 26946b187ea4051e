"""What the cost model predicts: makespans of orders, by the dash-opt that libdash has inside.

A problem is a row of measurements: head_dim, mask, rows, batch, heads and variant, its kind of
order; head_dim_v where v has another head dim than q and k; program where it is none of a whole
backward: "forward", or a part of the gradients, "dk dv" or "dq".
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from ..errors import CompileError

Row = dict[str, Any]
# that any sizes have, so that they can be compared
KINDS = ("ascending", "descending", "shift", "symmetric-shift")
COSTS = ("compute", "reduce", "latency", "boundary")
# A process of its own: a tool ends its process, and says things on its own streams.
DASH_OPT = (
    sys.executable,
    "-c",
    "from dash_attn.kernel.tools import dash_opt; raise SystemExit(dash_opt())",
)
# It finds this package wherever this process has.
PLACES = [str(Path(__file__).resolve().parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])]
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(PLACES)}
STRIDES = "strided<[?, ?, ?, 1], offset: ?>"
FACTS = re.compile(r"^  cost +(.*?)(?:, \d+ dQ buffers)?\n  makespan +([\d.]+),", re.M)
GRADIENTS = ("dq", "dk", "dv")
TILED = ("--dash-choose-tiling", "--dash-tile")  # as a kernel is


def program(rows: Sequence[Row]) -> str:
    """A function for each problem. Sizes may be "?": known when a kernel runs."""
    functions = []
    for index, row in enumerate(rows):
        q_rows, kv_rows = row["rows"], row.get("kv_rows", row["rows"])
        batch, heads, kv_heads = row["batch"], row["heads"], row.get("kv_heads", row["heads"])
        dims = row["head_dim"], row.get("head_dim_v", row["head_dim"])
        q, o = (f"memref<{batch}x{heads}x{q_rows}x{dim}xbf16, {STRIDES}>" for dim in dims)
        k, v = (f"memref<{batch}x{kv_heads}x{kv_rows}x{dim}xbf16, {STRIDES}>" for dim in dims)
        lse = f"memref<{batch}x{heads}x{q_rows}xf32, strided<[?, ?, 1], offset: ?>>"
        types = q, k, v, o, lse
        part = row.get("program")
        is_forward = part == "forward"
        arguments, attention = _forward(types) if is_forward else _backward(types, part)
        functions.append(
            f"""func.func @problem{index}({arguments}, %scale: f32) {{
  {attention} mask(<{row["mask"]}>) level({"row" if is_forward else "run"}) scale(%scale)
  return
}}
"""
        )
    return "".join(functions)


def _forward(types: tuple[str, ...]) -> tuple[str, str]:
    q, k, v, o, lse = types
    arguments = f"%q: {q}, %k: {k}, %v: {v}, %o: {o}, %lse: {lse}"
    return arguments, (
        f"dash.attention_fwd ins(%q, %k, %v : {q}, {k}, {v})\n      outs(%o, %lse : {o}, {lse})"
    )


def _backward(types: tuple[str, ...], part: str | None) -> tuple[str, str]:
    q, k, v, o, lse = types
    of = {name: type for name, type in zip(GRADIENTS, (q, k, v))}
    if part:
        of = {name: of[name] for name in part.split()}
    outs = ", ".join(f"{name} = %{name}" if part else f"%{name}" for name in of)
    arguments = ", ".join(
        [f"%q: {q}, %k: {k}, %v: {v}, %do: {o}, %o: {o}, %lse: {lse}"]
        + [f"%{name}: {type}" for name, type in of.items()]
    )
    return arguments, (
        f"dash.attention_bwd ins(%q, %k, %v, %do, %lse, o = %o : {q}, {k}, {v}, {o}, {lse}, {o})\n"
        f"      outs({outs} : {', '.join(of.values())})"
    )


def report(text: str, options: str, form: str = "json") -> Any:
    """The order of a program's only function, in its kernel's tiles, as --dash-report-schedule
    writes it: `schedules`, or with form="trace" what it predicts. options: those of
    --dash-apply-schedule. Raises CompileError."""
    done = subprocess.run(
        [
            *DASH_OPT,
            "-",
            *TILED,
            f"--dash-apply-schedule={options}",
            f"--dash-report-schedule=format={form}",
            "-o",
            os.devnull,
        ],
        input=text,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise CompileError(f"cannot find the order of a program: {done.stderr.strip()}")
    return json.loads(done.stdout)


def predict(
    rows: Sequence[Row],
    workers: int,
    costs: Path | str = "",
    dash_opt: Sequence[str] = DASH_OPT,
) -> list[tuple[float, dict[str, float]]]:
    """For each row the makespan and the costs that it is predicted with; those that come with
    dash where no file is named.

    Makespans are rounded to a tenth of their unit. Raises CompileError.
    """
    kinds = list(dict.fromkeys(row["variant"] for row in rows))
    places = {kind: [i for i, row in enumerate(rows) if row["variant"] == kind] for kind in kinds}
    found: list[Any] = [None] * len(rows)

    def run(kind: str) -> None:
        with tempfile.NamedTemporaryFile("w", suffix=".mlir") as source:
            source.write(program([rows[i] for i in places[kind]]))
            source.flush()
            command = [
                *dash_opt,
                source.name,
                *TILED,
                f"--dash-apply-schedule=kind={kind} workers={workers} costs={costs}",
                "--dash-report-schedule=format=table max-steps=1 max-workers=1",
                "-o",
                "/dev/null",
            ]
            done = subprocess.run(
                command, capture_output=True, text=True, check=False, env=ENVIRONMENT
            )
        facts = FACTS.findall(done.stdout)
        if done.returncode or len(facts) != len(places[kind]):
            raise CompileError(
                f"cannot predict kind={kind}: {done.stderr.strip() or done.stdout.strip()}"
            )
        for place, (cost, makespan) in zip(places[kind], facts):
            prices = {
                name: float(value) for name, value in (part.split(" ") for part in cost.split(", "))
            }
            found[place] = (float(makespan), {name: prices.get(name, 0.0) for name in COSTS})

    with ThreadPoolExecutor(len(kinds) or 1) as pool:
        list(pool.map(run, kinds))
    return found
