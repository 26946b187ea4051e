"""Kernels of forwards on the emulator of `lib`: O and the LSE are near float64, and a row has the
same bits whatever is around it."""

# REQUIRES: python, host-supports-nvptx
# RUN: %python %s %t

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(Path(__file__).parent / "lib"), str(ROOT / "test/Main"), str(ROOT / "python")]

from lanes import widened  # noqa: E402
from launch import Kernel  # noqa: E402
from problem import rounded  # noqa: E402

from dash_attn import reference  # noqa: E402
from dash_attn.reference import Mask  # noqa: E402

# What rounding P and O to bf16 leaves, of the largest O; and f32, of the largest LSE.
MOST_ERROR, MOST_LSE_ERROR = 6e-3, 2e-6
UNION = "window = [30, 0], union = #dash.union<columns = 20, window = [-1, 0]>"
MOST_ROWS = 512
Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Case:
    mask: str = "causal"
    q: int = 150
    kv: int = 150
    batch: int = 1
    heads: int = 2
    kv_heads: int = 1
    head_dim: int = 64
    head_dim_v: int = 64
    element: str = "bf16"
    softcap: float | None = None
    has_sink: bool = False
    options: str = "table=true"
    workers: int = 3
    seed: int = 0

    def sizes(self) -> dict[str, int]:
        return {
            "batch": self.batch,
            "heads": self.heads,
            "kv_heads": self.kv_heads,
            "q_rows": self.q,
            "kv_rows": self.kv,
        }

    def text(self) -> str:
        clauses = " sink(%sink : memref<?xf32>)" if self.has_sink else ""
        clauses += f" softcap({self.softcap})" if self.softcap else ""
        sink = ", %sink: memref<?xf32>" if self.has_sink else ""
        return f"""
!q = memref<?x?x?x{self.head_dim}x{self.element}, strided<[?, ?, ?, 1], offset: ?>>
!v = memref<?x?x?x{self.head_dim_v}x{self.element}, strided<[?, ?, ?, 1], offset: ?>>
!r = memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>
func.func @attention_fwd(%q: !q, %k: !q, %v: !v, %o: !v, %lse: !r, %scale: f32{sink}) {{
  dash.attention_fwd ins(%q, %k, %v : !q, !q, !v) outs(%o, %lse : !v, !r)
      mask(<{self.mask}>) level(row) scale(%scale){clauses}
  return
}}
"""

    def inputs(self) -> Arrays:
        """A row of a head is the same in every problem of a seed, whatever else there is."""
        made = {}
        for number, (name, heads, rows, columns) in enumerate(
            (
                ("q", self.heads, self.q, self.head_dim),
                ("k", self.kv_heads, self.kv, self.head_dim),
                ("v", self.kv_heads, self.kv, self.head_dim_v),
            )
        ):
            one = [
                np.random.default_rng([self.seed, number, entry, head]).standard_normal(
                    (MOST_ROWS, columns)
                )[:rows]
                for entry in range(self.batch)
                for head in range(heads)
            ]
            values = np.array(one).reshape(self.batch, heads, rows, columns)
            if name == "q" and self.softcap:
                values = values * (self.softcap / 2)
            made[name] = rounded(values, self.element)
        if self.has_sink:
            made["sink"] = np.random.default_rng(self.seed).standard_normal(self.heads)
            made["sink"] = made["sink"].astype(np.float32)
        return made


def run(
    case: Case, folder: Path, inputs: Arrays | None = None, scale: float | None = None
) -> Arrays:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "fwd.mlir").write_text(case.text(), encoding="utf-8")
    sizes = (
        f"q:{case.q},kv:{case.kv},batch:{case.batch},heads:{case.heads},kv-heads:{case.kv_heads}"
    )
    options = f"workers={case.workers} sizes={sizes} {case.options} output={folder}/fwd"
    subprocess.run(
        ["dash-opt", folder / "fwd.mlir", f"--dash-to-ptx={options}", "-o", "/dev/null"],
        check=True,
    )
    given = case.inputs() if inputs is None else inputs
    scale = case.head_dim**-0.5 if scale is None else scale
    kernel = Kernel(folder / "fwd.json")
    return kernel.run(given, case.sizes(), scale, case.seed)


def check(case: Case, folder: Path) -> None:
    found, given = run(case, folder), case.inputs()
    q, k, v = (widened(given[name], case.element).astype(np.float64) for name in ("q", "k", "v"))
    o, lse = reference.forward(
        q,
        k,
        v,
        scale=case.head_dim**-0.5,
        mask=Mask.parse(case.mask),
        softcap=case.softcap,
        sink=given.get("sink"),
    )
    error = np.abs(widened(found["o"], case.element) - o).max() / np.abs(o).max()
    isnt = found["lse"] != lse  # infinities are the same
    lse_error = np.abs(found["lse"][isnt] - lse[isnt]).max(initial=0)
    largest = max(1, np.abs(lse[np.isfinite(lse)]).max())
    if not (error < MOST_ERROR and lse_error < MOST_LSE_ERROR * largest):
        sys.exit(f"wrong: {case}: error of o {error:.1e}, of the LSE {lse_error:.1e}")


def demand(is_so: bool, what: str) -> None:
    if not is_so:
        sys.exit(f"wrong: {what}")


def are_equal(one: Arrays, other: Arrays, rows: slice = slice(None)) -> bool:
    """Whether `one` is what `other` has in these rows."""
    pairs = (
        (one["o"], other["o"][:, :, rows]),
        (one["lse"].view(np.uint32), other["lse"][:, :, rows].view(np.uint32)),
    )
    return all(np.array_equal(mine, theirs) for mine, theirs in pairs)


def check_rows(folder: Path) -> None:
    """What level `row` says, of one head beside all else that may differ."""
    case = Case(q=150, kv=150, heads=1)
    given = case.inputs()
    whole = run(case, folder / "whole", given)

    def again(name: str, other: Case, inputs: Arrays = given) -> Arrays:
        return run(other, folder / name, inputs)

    for name, other in (
        ("seed", replace(case, seed=3)),  # another interleaving
        ("one-worker", replace(case, workers=1)),
        ("q-tile", replace(case, options="table=true q-tile=64")),
        ("ascending", replace(case, options="kind=ascending")),
        ("formulas", replace(case, options="")),
        ("alternating", replace(case, options="table=true structure=alternating")),
    ):
        demand(are_equal(again(name, other), whole), f"{name}: other bits")
    last = {**given, "q": given["q"][:, :, 100:]}
    chunk = again("chunk", replace(case, q=50), last)
    demand(are_equal(chunk, whole, slice(100, None)), "a chunk of a prefill: other bits")
    one = again("decode", replace(case, q=1), {**given, "q": given["q"][:, :, 149:]})
    demand(are_equal(one, whole, slice(149, None)), "a decoded token: other bits")
    first = {name: array[:, :, :90] for name, array in given.items()}
    prefix = again("prefix", replace(case, q=90, kv=90), first)
    demand(are_equal(prefix, whole, slice(90)), "a prefix: other bits")
    many = replace(case, batch=2, heads=2, kv_heads=2)
    inputs = replace(many, seed=9).inputs()
    for name, array in given.items():
        inputs[name][1, 1] = array[0, 0]
    beside = again("batch", many, inputs)
    mine = {name: array[1:, 1:] for name, array in beside.items()}
    demand(are_equal(mine, whole), "in a batch: other bits")
    other = again("kv-tile", replace(case, options="table=true kv-tile=64"))
    demand(not are_equal(other, whole), "another kv tile has the same bits: nothing is compared")


def main() -> None:
    folder = Path(sys.argv[1])
    for number, case in enumerate(
        (
            Case(),
            Case(mask="full", q=70, kv=200, head_dim=128, head_dim_v=128, options=""),
            Case(mask="window = [40, 10]", q=200, kv=260, heads=1),
            Case(mask=UNION, q=140, kv=300, heads=1),
            Case(q=200, kv=70, heads=1),  # rows that see nothing
            Case(softcap=20.0, has_sink=True, q=64, kv=64),
            Case(element="f16", heads=1, q=64, kv=64, head_dim=40, head_dim_v=72),
            Case(batch=2, heads=1, q=30, kv=30, head_dim=192, head_dim_v=192, options=""),
            Case(heads=1, q=30, kv=100, head_dim=256, head_dim_v=256),
        )
    ):
        check(case, folder / str(number))
    check_rows(folder)
    for scale in (0.0, -0.125):
        found = run(Case(q=64, kv=64, heads=1), folder / f"scale{scale}", scale=scale)
        o = widened(found["o"], "bf16")
        spoilt = np.isnan(o).all() and np.isnan(found["lse"]).all()
        demand(bool(spoilt), f"numbers from a scale of {scale}")


main()
