#!/usr/bin/env python3
"""draw_orders.py - kinds of order of one problem side by side as a picture (SVG): workers from left
to right, time downwards.

  tools/scripts/draw_orders.py --output dialects/dash/docs/orders.svg  the one of the pages
  tools/scripts/draw_orders.py shift descending --sizes q:512,kv:512,heads:2 --output mine.svg

Each kind is proven and priced by dash-opt; what is drawn is the run that its cost model predicts.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
from dash_attn.measure.svg import Picture, number  # noqa: E402

WIDTH, LEFT, TOP, GAP, LEGEND = 800, 72, 96, 24, 74
PIXELS = 12  # for a microsecond
NARROWEST = 36  # column that two numbers fit in
# Paul Tol's light colours: told apart by everybody, and black text can be read on each.
COLOURS = ("#77aadd", "#ee8866", "#eedd88", "#ffaabb", "#99ddff", "#44bb99", "#bbcc33", "#aaaa00")
STYLE = (
    "".join(f".q{i} {{ fill: {colour} }}\n" for i, colour in enumerate(COLOURS))
    + """
.wait { fill: #afb8c1 }
text.tile { font-size: 12px; text-anchor: middle; fill: #1f2328 }
.bound { fill: none; stroke: #cf222e; stroke-width: 2; stroke-dasharray: 6 4 }
"""
)
DARK = """
.wait { fill: #656c76 }
text.tile { fill: #1f2328 }
.bound { stroke: #ff7b72 }
"""


@dataclass
class Order:
    """A schedule as the JSON report has it, and the slices of its trace."""

    report: dict
    slices: list[dict]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kinds", nargs="*", default=["ascending", "symmetric-shift"])
    parser.add_argument(
        "--program", type=Path, default=ROOT / "dialects/dash/examples/bwd-causal.mlir"
    )
    parser.add_argument("--tiles", default="q=128 kv=128")
    parser.add_argument("--sizes", default="q:1024,kv:1024")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--bin", type=Path, default=ROOT / "build/bin", help="where dash-opt is")
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args()
    picture = draw([predict(kind, arguments) for kind in arguments.kinds])
    arguments.output.write_text(picture, encoding="utf-8")
    return 0


def predict(kind: str, arguments: argparse.Namespace) -> Order:
    with tempfile.TemporaryDirectory() as scratch:
        report, trace = Path(scratch, "report"), Path(scratch, "trace")
        command = [
            str(arguments.bin / "dash-opt"),
            str(arguments.program),
            f"--dash-tile={arguments.tiles}",
            (
                f"--dash-apply-schedule=kind={kind} workers={arguments.workers}"
                f" sizes={arguments.sizes}"
            ),
            f"--dash-report-schedule=format=json output={report}",
            f"--dash-report-schedule=format=trace output={trace}",
            "-o",
            "/dev/null",
        ]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode:
            sys.exit(result.stderr.strip())
        schedule = json.loads(report.read_text(encoding="utf-8"))["schedules"][0]
        events = json.loads(trace.read_text(encoding="utf-8"))["traceEvents"]
    return Order(schedule, [event for event in events if event["ph"] == "X"])


def draw(orders: list[Order]) -> str:
    longest = max(order.report["makespan"] for order in orders)
    bottom = TOP + longest * PIXELS
    width = (WIDTH - LEFT - GAP * len(orders)) / len(orders)
    most = int(width / NARROWEST)
    if orders[0].report["workers"] > most:
        sys.exit(
            f"error: expected at most {most} workers where {len(orders)} kinds are side by side, "
            f"found {orders[0].report['workers']}; draw fewer"
        )
    kinds = " beside ".join(order.report["kind"] for order in orders)
    picture = Picture(
        WIDTH,
        int(bottom + LEGEND),
        f"{kinds}: which worker works on which q tile, and when",
        STYLE,
        DARK,
    )
    picture.text(8, TOP - 10, "time, µs", "mute")
    for time in range(0, int(longest) + 1, 5):
        y = TOP + time * PIXELS
        picture.path([(LEFT - 4, y), (WIDTH - 4, y)], "grid")
        picture.text(LEFT - 8, y + 4, str(time), "mute end")
    bound = orders[0].report["lowerBound"]  # of the problem, so of all
    picture.path([(LEFT - 4, TOP + bound * PIXELS), (WIDTH - 4, TOP + bound * PIXELS)], "bound")
    for i, order in enumerate(orders):
        draw_order(picture, order, LEFT + i * (width + GAP), width)
    draw_legend(picture, orders[0], bottom + 26)
    return picture.finish()


def draw_order(picture: Picture, order: Order, left: float, width: float) -> None:
    report = order.report
    ratio = report["makespan"] / report["lowerBound"]
    picture.text(left, 22, report["kind"], "title")
    picture.text(left, 40, f"ends after {report['makespan']:.1f} µs,", "mute")
    picture.text(left, 56, f"{ratio:.3f} times the lower bound", "mute")
    column = width / report["workers"]
    lane = (column - 14) / 2
    for worker in range(report["workers"]):
        head = f"worker {worker}" if column > 70 else f"w{worker}"
        picture.text(left + (worker + 0.5) * column - 7, TOP - 10, head, "mute middle")
    for one in order.slices:
        worker, which = divmod(one["tid"], 2)
        x, y, height = (
            left + worker * column + which * lane,
            TOP + one["ts"] * PIXELS,
            one["dur"] * PIXELS,
        )
        if one["cat"] == "wait":
            picture.rect(x + lane / 2 - 2, y, 4, height, "wait")
            continue
        tile = one["args"]["q"]
        picture.rect(x, y + 0.5, lane - 1, height - 1, f"q{tile % len(COLOURS)}")
        picture.text(x + lane / 2 - 0.5, y + height / 2 + 4, str(tile), "tile")


def draw_legend(picture: Picture, order: Order, y: float) -> None:
    cost = order.report["cost"]
    picture.rect(LEFT, y - 12, 30, 16, "q0")
    picture.text(LEFT + 15, y, "q", "tile")
    picture.text(
        LEFT + 40,
        y,
        f"work on q tile q: left the worker computes ({number(cost['c'])} µs), "
        f"right it adds to the tile's dQ ({number(cost['r'])} µs)",
    )
    y += 26
    picture.rect(LEFT + 13, y - 12, 4, 16, "wait")
    picture.text(LEFT + 40, y, "waits: for its turn to add, or for a free buffer")
    picture.path([(LEFT + 400, y - 4), (LEFT + 434, y - 4)], "bound")
    picture.text(LEFT + 444, y, f"lower bound of any order: {order.report['lowerBound']:.1f} µs")


if __name__ == "__main__":
    sys.exit(main())
