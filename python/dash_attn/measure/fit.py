"""Costs that predict measured times best, as a file of costs has them.

For each head dim and class of masks: the least sum of squares of log(measured / predicted) over
orders, by the simplex method of Nelder and Mead. Measured is the main kernel. Predictions scale
with their costs, so the scale is found in closed form. Nothing here is random, and it starts
where it always does: the same measurements give the same file.
"""

from __future__ import annotations

import json
import math
import statistics
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ..errors import ArgumentError
from ..support.records import Record
from .predict import COSTS, DASH_OPT, KINDS, Row, predict

WORKERS = 132  # of an H200, for records that do not say
MOST_WORKERS = 1 << 20
CLASSES = {"full": "full", "causal": "masked"}  # of the masks of measurements
START = {"reduce": 0.75, "latency": 0.25, "boundary": 3.0}  # of a task's compute
TOLERANCE, WORTH = 1e-4, 1e-3  # of the error: of a simplex, and that another simplex must bring
DIGITS = 3
UNIT = 1000.0  # of a task's compute while fitting: predictions are rounded to a tenth


def file_text(machine: str, prices: Sequence[dict[str, Any]]) -> str:
    lines = ",\n".join("    " + json.dumps(price) for price in prices)
    return (
        f'{{\n  "version": 1,\n  "machine": {json.dumps(machine)},\n  "prices": [\n{lines}\n '
        " ]\n}\n"
    )


def left(rows: Sequence[Row], makespans: Sequence[float]) -> tuple[float, float]:
    """What costs that predict these makespans are to be multiplied with, to be in microseconds,
    and the error that is left."""
    logs = [
        math.log(1000 * row["entries_ms"]["main"] / makespan)
        for row, makespan in zip(rows, makespans)
    ]
    mean = statistics.mean(logs)
    return math.exp(mean), math.sqrt(statistics.mean((value - mean) ** 2 for value in logs))


class Fit:
    """One head dim and class of masks, of a whole backward, or of a part that all rows name and
    that sums nothing across items. price: as in a file; error, default_error: of the
    logarithms, with it and with the costs that come with dash, which need not be measured in the
    same unit."""

    def __init__(
        self,
        head_dim: int,
        mask: str,
        rows: Sequence[Row],
        workers: int,
        dash_opt: Sequence[str] = DASH_OPT,
    ) -> None:
        self.head_dim, self.mask, self.rows, self.workers, self.dash_opt = (
            head_dim,
            mask,
            rows,
            workers,
            dash_opt,
        )
        self.evaluations = 0
        first = rows[0]
        part, self.program = first.get("program"), dict[str, Any](headDim=head_dim)
        if part:
            columns_v = first.get("head_dim_v", head_dim)
            self.program = {"program": part, **self.program, "headDimV": columns_v}
        self.free = ("boundary",) if part else COSTS[1:]
        predicted = predict(rows, workers, dash_opt=dash_opt)
        self.default = predicted[0][1]
        self.default_scale, self.default_error = left(rows, [makespan for makespan, _ in predicted])

        def error(point: list[float]) -> float:
            return self._try(point)[1]

        point, least = [math.log(START[name]) for name in self.free], math.inf
        # a simplex may lie across a valley, its corners equally high: another one, around the best,
        # finds out
        while True:
            found_least, point = simplex(error, point, step=0.5, tolerance=TOLERANCE)
            if found_least > least - WORTH:
                break
            least = found_least
        factor, self.error = self._try(point)
        costs = {name: round(cost * factor, DIGITS) for name, cost in self._costs(point).items()}
        self.price: dict[str, Any] = {**self.program, "mask": mask, **costs}

    def __str__(self) -> str:
        values = ", ".join(
            f"{name} {self.price[name]:g} (default {self.default[name]:g})"
            for name in COSTS
            if name in self.price
        )
        return (
            f"{self.head_dim} {self.mask}: {values}; off by {100 * self.error:.1f} % over"
            f" {len(self.rows)} orders, the default by {100 * self.default_error:.1f} % at"
            f" {self.default_scale:.3f} of it"
        )

    def _costs(self, point: list[float]) -> dict[str, float]:
        return {"compute": UNIT} | {
            name: UNIT * math.exp(value) for name, value in zip(self.free, point)
        }

    def _try(self, point: list[float]) -> tuple[float, float]:
        self.evaluations += 1
        costs = self._costs(point)
        prices = [{**self.program, "mask": mask, **costs} for mask in CLASSES.values()]
        if "program" in self.program:  # a file has a whole backward, too
            whole = dict.fromkeys(COSTS, UNIT)
            prices += [
                {"headDim": self.head_dim, "mask": mask, **whole} for mask in CLASSES.values()
            ]
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write(file_text("", prices))
            file.flush()
            return left(
                self.rows,
                [
                    makespan
                    for makespan, _ in predict(self.rows, self.workers, file.name, self.dash_opt)
                ],
            )


def simplex(
    error: Callable[[list[float]], float], start: list[float], step: float, tolerance: float
) -> tuple[float, list[float]]:
    """Nelder and Mead: the least error and its point, until the corners' errors differ by less
    than the tolerance."""
    corners = [start] + [
        [value + step * (i == j) for j, value in enumerate(start)] for i in range(len(start))
    ]
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
    return ranked[0]


def fit(
    record: dict[str, Any],
    head_dims: Sequence[int] = (64, 128),
    most_rows: int = 2048,
    dash_opt: Sequence[str] = DASH_OPT,
    said: Callable[[Fit], None] = lambda _: None,
) -> str:
    """The file of costs for a record of measurements. most_rows: longer problems take longer to
    predict, and are left out.

    Raises ArgumentError where there are too few measurements, ValueError where a field is none
    that measurements have.
    """
    groups: dict[tuple[int, str], list[Row]] = {
        (head_dim, mask): [] for head_dim in sorted(head_dims) for mask in CLASSES
    }
    about = Record(record)
    measured_on, workers = (
        machine(about),
        (about.number("workers", 1, MOST_WORKERS) if "workers" in about else WORKERS),
    )
    for measured in about.objects("results"):
        group = measured.number("head_dim", 1), measured.text("mask")
        # not a peer's
        if (
            measured.text("variant") in KINDS
            and measured.number("rows", 1) <= most_rows
            and group in groups
        ):
            groups[group].append(row_of(measured))
    for (head_dim, mask), rows in groups.items():
        lengths = len({row["rows"] for row in rows})
        if lengths < 2 or len(rows) <= len(COSTS):
            raise ArgumentError(
                f"expected more than {len(COSTS)} measured orders of at least 2 lengths up to"
                f" {most_rows} for head dim {head_dim} and mask {mask}, found {len(rows)} of"
                f" {lengths}"
            )
    with ThreadPoolExecutor(len(groups)) as pool:
        fits = [
            pool.submit(Fit, head_dim, CLASSES[mask], rows, workers, dash_opt)
            for (head_dim, mask), rows in groups.items()
        ]
        found = []
        for future in fits:
            found.append(future.result())
            said(found[-1])
    return file_text(measured_on, [one.price for one in found])


def row_of(measured: Record) -> Row:
    """What a prediction looks at, of a row of measurements: words and numbers that go into a
    program."""
    sizes = {name: measured.number(name, 1) for name in ("rows", "batch", "heads")}
    sizes |= {
        name: measured.number(name, 1) for name in ("kv_heads", "kv_rows") if name in measured
    }
    return sizes | {
        "head_dim": measured.number("head_dim", 1),
        "mask": measured.word("mask", tuple(CLASSES)),
        "variant": measured.word("variant", KINDS),
        "entries_ms": {"main": measured.object("entries_ms").time("main")},
    }


def machine(record: Record) -> str:
    """What was measured, for people."""
    given = record.texts("options") if "options" in record else {}
    options = [f"{name} with {options}" for name, options in sorted(given.items()) if options]
    return "; ".join(
        [
            (
                f"{record.text('gpu')}, {record.text('date')}, kernels of commit"
                f" {record.text('commit')}"
            ),
            *options,
        ]
    )
