# RUN: %python %s --dash-opt dash-opt --dash-run dash-run --tmp %t
# REQUIRES: python
"""Bits depend on what the order says they depend on: on chains and visit orders, at level machine
not on workers."""

from __future__ import annotations

import sys
from itertools import combinations
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))

from programs import Case, Ran, Tools  # noqa: E402  (finds the models of schedules)

import numpy as np  # noqa: E402
from arithmetic import encode, round_bf16, same_bits  # noqa: E402
from dash_opt import KINDS, Request, Tally  # noqa: E402
from problem import Mask, Problem, Sequence  # noqa: E402
from report import bits_of  # noqa: E402

GRADIENTS = ("dq", "dk", "dv")


TILE, ROWS, WIDTH = 16, 160, 64


def cancelling_inputs(folder: Path, heads: int) -> Path:
    """Inputs whose sums cancel, so that it shows in bf16 already in which order they are summed.

    The scale is so small that all P of a row are equal. Some kv tiles are the negative of another's
    K, with the same V, so with the same dS: their contributions to dQ are large and cancel. So do
    rows of dO, in dV.
    """
    folder.mkdir(exist_ok=True)
    rng = np.random.default_rng(7)
    arrays = {
        name: rng.standard_normal((1, 1 if name in "kv" else heads, ROWS, WIDTH))
        for name in ("q", "k", "v", "do")
    }

    def tile(name: str, number: int) -> np.ndarray:
        return arrays[name][:, :, number * TILE : (number + 1) * TILE]

    for plus, minus in ((0, 5), (1, 3), (2, 7)):
        for name in ("k", "do"):
            tile(name, plus)[...] *= 2.0**12
            tile(name, minus)[...] = -tile(name, plus)
        tile("v", minus)[...] = tile("v", plus)
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", encode(round_bf16(array), "bf16"))
    rows = (1, heads, ROWS)
    np.save(folder / "lse.npy", np.full(rows, 5, np.float32))
    np.save(folder / "delta.npy", np.zeros(rows, np.float32))
    np.save(folder / "scale.npy", np.float32(2.0**-40))
    return folder


def equal(a: Ran, b: Ran) -> bool:
    return all(same_bits(a.files[name], b.files[name]) for name in GRADIENTS)


def one_order(a: Ran, b: Ran) -> bool:
    return bits_of(a.schedule, 0) == bits_of(b.schedule, 0)


def kind_differences(tools: Tools, mask: Mask) -> list[str]:
    """Kinds on the same inputs: equal bits if, and on these problems only if, chains and visits are
    equal."""
    problem = Problem((Sequence(ROWS, ROWS),), TILE, TILE, mask)
    inputs = cancelling_inputs(tools.scratch / f"inputs-{mask.causal}", 1)
    runs = {
        kind: tools.execute(
            Case(Request(problem, kind, 5), takes_delta=True), f"kind-{mask.causal}-{kind}", inputs
        )
        for kind in KINDS
    }
    differences = [
        f"{a} and {b}: orders equal: {one_order(x, y)}, bits equal: {equal(x, y)}"
        for (a, x), (b, y) in combinations(runs.items(), 2)
        if one_order(x, y) != equal(x, y)
    ]
    if all(equal(runs["ascending"], ran) for ran in runs.values()):
        differences.append("all kinds give the same bits")
    return differences


def worker_differences(tools: Tools, kind: str, level: str) -> list[str]:
    """The same kind on several numbers of workers."""
    problem = Problem((Sequence(ROWS, ROWS),), TILE, TILE, Mask(causal=True), 2, 1, 2)
    inputs = cancelling_inputs(tools.scratch / f"inputs-{level}-{kind}", 2)
    runs = []
    for workers in (4, 40):
        request = Request(problem, kind, workers, level=level, for_workers=4)
        runs.append(
            tools.execute(Case(request, takes_delta=True), f"{level}-{kind}-{workers}", inputs)
        )
    same = all(equal(runs[0], ran) for ran in runs[1:])
    if level == "machine":
        return [] if same else [f"{kind}: bits depend on the workers at level machine"]
    # What level machine excludes happens at level run, where waves are as wide as there are
    # workers.
    return [f"{kind}: expected other bits at level run"] if same else []


def main() -> int:
    tools = Tools.from_arguments(__doc__)
    tally = Tally()
    tally.check_all([Mask(), Mask(causal=True)], lambda mask: kind_differences(tools, mask))
    cases = [(kind, "machine") for kind in KINDS] + [("shift", "run"), ("symmetric-shift", "run")]
    tally.check_all(cases, lambda case: worker_differences(tools, *case))
    return tally.exit_code()


if __name__ == "__main__":
    sys.exit(main())
