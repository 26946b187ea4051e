"""Heat maps: workers by steps, ranks by steps, as SVG or JSON. A cell is how long a step took; so
what straggles stands out, by row or by column."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import ArgumentError
from .measure.spans import Lane
from .measure.svg import Picture
from .measure.tasks import Tasks
from .support.files import write_text

__all__ = ["Heat", "of_ranks", "of_trace", "save", "write_heat"]

SHADES = 9
COLORS = (
    "#f7fbff",
    "#deebf7",
    "#c6dbef",
    "#9ecae1",
    "#6baed6",
    "#4292c6",
    "#2171b5",
    "#08519c",
    "#08306b",
)
STYLE = "".join(f".heat{shade} {{ stroke: {color} }}\n" for shade, color in enumerate(COLORS))
LEFT, TOP, RIGHT, BOTTOM, CELL, MOST_WIDTH, LEAST_WIDTH = 120, 80, 20, 60, 6, 1200, 480
MOST_CELLS = MOST_WIDTH // CELL  # of a row or a column of the picture
STRAGGLES = 1.1  # a row whose median is so many times that of all
NAMED = 8  # rows that are named below


@dataclass(frozen=True)
class Heat:
    """rows: names, such as w0; cells: of each row its steps, in microseconds, None where it has
    none."""

    title: str
    rows: tuple[str, ...]
    cells: tuple[tuple[float | None, ...], ...]
    about: str = "worker"

    @property
    def stragglers(self) -> dict[str, float]:
        """Rows whose steps take longer than those of all, the median by the median, the slowest
        first."""
        own = {
            row: statistics.median(known)
            for row, cells in zip(self.rows, self.cells)
            if (known := [one for one in cells if one is not None])
        }
        whole = statistics.median(own.values()) if own else 0.0
        return dict(
            sorted(
                (
                    (row, one / whole)
                    for row, one in own.items()
                    if whole and one > STRAGGLES * whole
                ),
                key=lambda pair: -pair[1],
            )
        )

    def as_json(self) -> dict[str, Any]:
        """Its numbers, as `save` writes them to a .json file."""
        return {
            "title": self.title,
            "of": self.about,
            "unit": "us",
            "rows": list(self.rows),
            "steps": [list(cells) for cells in self.cells],
            "stragglers": {row: round(times, 3) for row, times in self.stragglers.items()},
        }

    def as_svg(self, columns: int = MOST_CELLS) -> str:
        """Its picture, with at most so many columns: of more steps than that, a cell is the mean of
        several. Raises ArgumentError if no row has a step, and for a number of columns that is
        none."""
        if type(columns) is not int or not 1 <= columns <= MOST_CELLS:
            raise ArgumentError(
                f"a heat map: expected from 1 to {MOST_CELLS} columns, found {columns!r}"
            )
        whole = max((len(cells) for cells in self.cells), default=0)
        steps, together = max(1, _times(whole, columns)), max(1, _times(len(self.rows), MOST_CELLS))
        cells = _means(self.cells, together, steps)
        known = sorted(one for row in cells for one in row if one is not None)
        if not known:
            raise ArgumentError(
                "a heat map: expected a step at least, found none; of a trace, those of trace=turns"
                " and trace=all have steps"
            )
        # What is beyond has the colour of the end.
        low, high = known[len(known) // 50], known[-1 - len(known) // 50]
        width = max(CELL * _times(whole, steps), LEAST_WIDTH)
        bottom = TOP + CELL * len(cells)
        picture = Picture(LEFT + width + RIGHT, bottom + BOTTOM, self.title, STYLE)
        picture.text(LEFT, 24, self.title, "title")
        picture.text(
            LEFT,
            44,
            f"a row is {_many(self.about, together)}, a column {_many('step', steps)}"
            f"{', and a cell their mean' if steps > 1 or together > 1 else ''}",
            "mute",
        )
        picture.text(
            LEFT, 62, f"{low:.2f} µs and less is light, {high:.2f} µs and more is dark", "mute"
        )
        for index, row in enumerate(self.rows[::together]):
            if index % max(1, len(cells) // 16) == 0 or len(cells) <= NAMED:
                picture.text(LEFT - 8, TOP + CELL * (index + 1), row, "mute end")
        shades = [
            [
                (
                    None
                    if one is None
                    else (
                        min(SHADES - 1, max(0, int(SHADES * (one - low) / (high - low))))
                        if high > low
                        else 0
                    )
                )
                for one in row
            ]
            for row in cells
        ]
        picture.grid((LEFT, TOP + CELL / 2), (width / _times(whole, steps), CELL), shades, "heat")
        slow = [f"{row} {times:.2f}" for row, times in self.stragglers.items()]
        picture.text(
            LEFT,
            bottom + 22,
            (
                "slower than the median of all:"
                f" {', '.join(slow[:NAMED])}{', ...' * (len(slow) > NAMED)}"
                if slow
                else f"no {self.about}'s median step takes {STRAGGLES} times as long as that of all"
            ),
            "mute",
        )
        return picture.finish()


def _times(whole: int, part: int) -> int:
    """How many parts hold the whole."""
    return -(-whole // part)


def _many(name: str, count: int) -> str:
    return f"a {name}" if count == 1 else f"{count} {name}s"


def _means(
    cells: Sequence[Sequence[float | None]], rows: int, steps: int
) -> list[list[float | None]]:
    """Cells of so many rows and steps each: the mean of those that are known, so that a stall among
    them still shows."""
    found = []
    for first in range(0, len(cells), rows):
        several, means = cells[first : first + rows], list[float | None]()
        for step in range(0, max(map(len, several)), steps):
            known = [one for row in several for one in row[step : step + steps] if one is not None]
            means.append(statistics.fmean(known) if known else None)
        found.append(means)
    return found


def _of_items(lanes: Sequence[Lane], tasks: Tasks, title: str) -> Heat:
    rows, cells = [], []
    for worker in sorted({lane.worker for lane in lanes}):
        mine = [lane for lane in lanes if lane.worker == worker]
        one = next((lane for lane in mine if not lane.role.startswith("load")), mine[0])
        begins = [span for span in one.spans if span.event == "item"]
        ends = [span.begin for span in one.spans if span.event == "item_end"]
        ends = ends or [span.begin for span in begins[1:]] + [one.end]
        steps: list[float | None] = [None] * len(tasks.items.get(worker, []))
        for span, end in zip(begins, ends):
            if span.number < len(steps):
                steps[span.number] = round((end - span.begin) / 1000, 3)
        rows.append(f"w{worker} sm{one.multiprocessor}")
        cells.append(tuple(steps))
    return Heat(f"{title}, items", tuple(rows), tuple(cells))


def of_trace(lanes: Sequence[Lane], order: Mapping[str, Any], title: str) -> Heat:
    """Workers by steps: of each task the time from the end of the add before it to its own, of the
    worker. A worker's first step has its start-up. Where not all items are traced, steps of the
    others are None, and so is the first one behind them. Where nothing is summed across items, a
    step is an item of the worker's first consumer."""
    tasks = Tasks(order)
    rows, cells = [], []
    if not tasks.turns and not any(span.event == "given" for lane in lanes for span in lane.spans):
        return _of_items(lanes, tasks, title)
    for worker in sorted({lane.worker for lane in lanes}):
        visits = dict(tasks.visits(worker))
        mine = [lane for lane in lanes if lane.worker == worker]
        ends = {
            span.number: span.end
            for lane in mine
            for span in lane.spans
            if span.event == "given" and visits.get(span.number)
        }
        last: float | None = min(lane.begin for lane in mine)
        steps = list[float | None]()
        for use in sorted(use for use, task in visits.items() if task):
            end = ends.get(use)
            steps.append(None if end is None or last is None else round((end - last) / 1000, 3))
            last = end
        rows.append(f"w{worker} sm{mine[0].multiprocessor}")
        cells.append(tuple(steps))
    every = lanes[0].every if lanes else 1
    return Heat(title if every == 1 else f"{title}, one item in {every}", tuple(rows), tuple(cells))


def of_ranks(times: Sequence[Sequence[float | None]], title: str) -> Heat:
    """Ranks by steps of training: of each rank its steps' times in microseconds, as
    `sampling.Sampler` keeps them."""
    return Heat(
        title, tuple(f"rank {rank}" for rank in range(len(times))), tuple(map(tuple, times)), "rank"
    )


def write_heat(
    path: Path,
    lanes: Sequence[Lane],
    order: Mapping[str, Any],
    title: str,
    columns: int = MOST_CELLS,
) -> None:
    """Saves `of_trace`. Raises ArgumentError as `save` does."""
    save(path, of_trace(lanes, order, title), columns)


def save(path: Path, heat: Heat, columns: int = MOST_CELLS) -> None:
    """columns: at most so many of a picture; a .json has all numbers. Raises ArgumentError for
    another ending than .svg and .json, and as `as_svg` does."""
    if path.suffix not in (".svg", ".json"):
        raise ArgumentError(
            f"{path}: expected a file that ends with .svg or .json, found '{path.suffix}'"
        )
    write_text(
        path, heat.as_svg(columns) if path.suffix == ".svg" else json.dumps(heat.as_json()) + "\n"
    )
