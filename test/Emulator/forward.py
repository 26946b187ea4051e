"""Kernels of forwards on the emulator of `lib`: O and the LSE are near float64, and a row has the
same bits whatever is around it."""

# REQUIRES: python, host-supports-nvptx
# RUN: %python %s %t

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(Path(__file__).parent / "lib"), str(ROOT / "test/Main"), str(ROOT / "python")]

from forward_case import Arrays, Case, are_equal, check_errors, demand, run  # noqa: E402
from lanes import widened  # noqa: E402

BITS = "dense<[[true, false, true], [false, true, true]]> : tensor<2x3xi1>"
BITMAP = f"blocks = #dash.blocks<q = 64, kv = 128, bits = {BITS}>"
UNION = "window = [30, 0], union = #dash.union<columns = 20, window = [-1, 0]>"


def check(case: Case, folder: Path) -> None:
    given = case.inputs()
    check_errors(case, run(case, folder, given), given)


def check_rows(folder: Path, cut: int | None = None) -> None:
    """What level `row` says, of one head beside all else that may differ."""
    case = Case(q=150, kv=150, heads=1, cut=cut)
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
    if cut:
        uncut = again("uncut", replace(case, cut=None))
        demand(not are_equal(uncut, whole), "uncut it has the same bits: nothing is compared")
        inside = {name: array[:, :, :cut] for name, array in uncut.items()}
        demand(are_equal(inside, whole, slice(cut)), "rows of one piece: other bits than uncut")


def main() -> None:
    folder = Path(sys.argv[1])
    for number, case in enumerate(
        (
            Case(),
            Case(mask="full", q=70, kv=200, head_dim=128, head_dim_v=128, options=""),
            Case(mask="window = [40, 10]", q=200, kv=260, heads=1),
            Case(mask=UNION, q=140, kv=300, heads=1),
            Case(q=200, kv=70, heads=1),  # rows that see nothing
            # the second q block sees the second kv block alone, so its rows see nothing of causal
            Case(mask=f"causal, {BITMAP}", q=180, kv=180, heads=1, options="table=true q-tile=64"),
            Case(mask=BITMAP, q=130, kv=250, heads=1, options="table=true q-tile=64", cut=128),
            Case(softcap=20.0, has_sink=True, q=64, kv=64),
            Case(element="f16", heads=1, q=64, kv=64, head_dim=40, head_dim_v=72),
            Case(batch=2, heads=1, q=30, kv=30, head_dim=192, head_dim_v=192, options=""),
            Case(heads=1, q=30, kv=100, head_dim=256, head_dim_v=256),
            # keys are cut: few rows, batches, each mask, a sink, head dims, one piece
            Case(q=1, kv=500, heads=4, kv_heads=2, cut=128, options=""),
            Case(q=70, kv=300, batch=2, cut=256, has_sink=True, softcap=20.0, options=""),
            Case(mask="full", q=70, kv=300, cut=128, head_dim=128, head_dim_v=128),
            Case(mask="window = [40, 10]", q=200, kv=400, heads=1, cut=128),
            Case(mask=UNION, q=140, kv=400, heads=1, cut=128, options=""),
            Case(q=200, kv=70, heads=1, cut=128),  # rows that see nothing
            Case(element="f16", heads=1, q=64, kv=200, head_dim=40, head_dim_v=72, cut=96),
            Case(heads=1, q=3, kv=250, head_dim=192, head_dim_v=192, cut=96, options="q-tile=64"),
            Case(heads=1, q=3, kv=150, head_dim=256, head_dim_v=256, cut=64, options=""),
            Case(heads=1, q=30, kv=30, cut=1280, options=""),
        )
    ):
        check(case, folder / str(number))
    check_rows(folder)
    check_rows(folder / "cut", cut=128)
    for scale in (0.0, -0.125):
        found = run(Case(q=64, kv=64, heads=1), folder / f"scale{scale}", scale=scale)
        o = widened(found["o"], "bf16")
        spoilt = np.isnan(o).all() and np.isnan(found["lse"]).all()
        demand(bool(spoilt), f"numbers from a scale of {scale}")


main()
