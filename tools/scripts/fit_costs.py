#!/usr/bin/env python3
"""fit_costs.py - the costs that predict a GPU's measured times best, for the newest record of measurements.

  tools/scripts/fit_costs.py [--dash-plan build/bin/dash-plan]     prints a file of costs, and how well it predicts
  tools/scripts/fit_costs.py --write                               puts it into dialects/dash/Schedule/costs-h200.json

For each head dim and class of masks the least sum of squares of log(measured / predicted) over the kinds of order and the lengths up
to --rows (longer ones take longer to predict; they show what the fit is worth), by the simplex method of Nelder and Mead from the costs of the file. What is measured is the main kernel; what is predicted
the makespan that dash-plan gives. Predictions scale with their costs, so the scale is found in closed form. Needs no GPU, but minutes.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import compare_predictions
import house

FILE = house.ROOT / "dialects/dash/Schedule/costs-h200.json"
NAMES = ("compute", "reduce", "latency", "boundary")
CLASSES = {"full": "full", "causal": "masked"}  # by the masks of records
DIGITS = 3


def file_text(machine: str, prices: list[dict]) -> str:
    lines = ",\n".join("    " + json.dumps(price) for price in prices)
    return f'{{\n  "version": 1,\n  "machine": "{machine}",\n  "prices": [\n{lines}\n  ]\n}}\n'


class Fit:
    """One head dim and class of masks: its orders, and how well costs predict them."""

    def __init__(self, dash_plan: Path, rows: list[dict], folder: Path) -> None:
        self.dash_plan, self.rows, self.costs = dash_plan, rows, folder / "costs.json"
        self.evaluations = 0

    def predict(self, costs: list[float]) -> list[float]:
        price = dict(zip(NAMES, costs))
        head_dim = self.rows[0]["head_dim"]
        self.costs.write_text(file_text("", [{"headDim": head_dim, "mask": mask, **price} for mask in ("full", "masked")]))
        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(lambda row: compare_predictions.predict(self.dash_plan, row, self.costs), self.rows))

    def scale(self, costs: list[float]) -> tuple[float, float]:
        """What to multiply costs with, and the error that is left."""
        self.evaluations += 1
        logs = [math.log(row["entries_ms"]["main"] / predicted) for row, predicted in zip(self.rows, self.predict(costs))]
        mean = statistics.mean(logs)
        return math.exp(mean), math.sqrt(statistics.mean((value - mean) ** 2 for value in logs))

    def run(self, start: dict) -> dict:
        """In units of a task's compute, by logarithms: no cost falls below 0."""
        ratios = [math.log(max(start[name], 1e-3) / start["compute"]) for name in NAMES[1:]]

        def error(point: list[float]) -> float:
            return self.scale([1.0, *map(math.exp, point)])[1]

        point = simplex(error, ratios, step=0.5, tolerance=2e-4)
        costs = [1.0, *map(math.exp, point)]
        factor, self.error = self.scale(costs)
        return {name: round(cost * factor, DIGITS) for name, cost in zip(NAMES, costs)}


def simplex(error: Callable[[list[float]], float], start: list[float], step: float, tolerance: float) -> list[float]:
    """Nelder and Mead: the point of least error, until the corners' errors differ by less than the tolerance."""
    corners = [start] + [[value + step * (i == j) for j, value in enumerate(start)] for i in range(len(start))]
    ranked = sorted((error(corner), corner) for corner in corners)
    while ranked[-1][0] - ranked[0][0] > tolerance:
        centre = [statistics.mean(column) for column in zip(*(corner for _, corner in ranked[:-1]))]

        def at(factor: float) -> tuple[float, list[float]]:
            point = [c + factor * (w - c) for c, w in zip(centre, ranked[-1][1])]
            return error(point), point

        moved = at(-1)
        if moved[0] < ranked[0][0]:
            moved = min(moved, at(-2))
        elif moved[0] >= ranked[-2][0]:
            moved = min(moved, at(0.5))
        if moved[0] < ranked[-1][0]:
            ranked[-1] = moved
        else:
            best = ranked[0][1]
            shrunk = [[b + (v - b) / 2 for b, v in zip(best, corner)] for _, corner in ranked[1:]]
            ranked = [ranked[0]] + [(error(corner), corner) for corner in shrunk]
        ranked.sort()
    return ranked[0][1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dash-plan", type=Path, default=house.ROOT / "build/bin/dash-plan")
    parser.add_argument("--rows", type=int, default=2048)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    record, name = compare_predictions.newest(house.ROOT)
    old = {(price["headDim"], price["mask"]): price for price in json.loads(house.read(FILE))["prices"]}
    prices = []
    with tempfile.TemporaryDirectory() as folder:
        for (head_dim, mask), start in sorted(old.items()):
            rows = [row for row in record["results"] if row["variant"] in compare_predictions.KINDS
                    and row["head_dim"] == head_dim and CLASSES[row["mask"]] == mask and row["rows"] <= args.rows]
            fit = Fit(args.dash_plan, rows, Path(folder))
            prices.append({"headDim": head_dim, "mask": mask, **fit.run(start)})
            print(f"# {prices[-1]}: off by {100 * fit.error:.1f} % over {len(rows)} orders, {fit.evaluations} evaluations", flush=True)
    text = file_text(f"{record['gpu']}, kernels of commit {record['commit']}, {name}", prices)
    if args.write:
        FILE.write_text(text, encoding="utf-8")
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
