"""What roles of a kernel did and waited for, from the region `trace` that kernels built with
trace=items, turns or all leave in their workspace.

    python3 -m dash_attn.trace REGION MANIFEST [--order ORDER.json]
        [--predicted TRACE.json] [--out TRACE.json] [--svg FILE] [--heat FILE]
    python3 -m dash_attn.trace TRACE.json --svg FILE [--between BEGIN END]
        [--workers N] [--roles ROLE,...]

REGION holds the region's bytes after a launch. ORDER.json is the order as
--dash-report-schedule=format=json writes it: records are checked against it, and slices are called
by their tiles. TRACE.json is for Perfetto; what format=trace predicts stands beside what was
measured, track for track, and the five largest differences are said. Prints where time went, by
role, and by worker where asked. --svg draws a stretch of it: tracks over time. The second form
draws a stretch of a TRACE.json that --out has written.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from .errors import ArgumentError
from .heat import MOST_CELLS, write_heat
from .kernel.commands import GOOD, parser_of, run
from .measure.predicted import differences
from .measure.perfetto import events, of_workers, track_for_track, write
from .measure.shares import by_role, by_worker, shares, table
from .measure.spans import Lane, Span, decode
from .measure.tasks import Tasks, check
from .measure.tracks import drawn, load
from .support.files import read_bytes, read_text, write_text

__all__ = [
    "Lane",
    "Span",
    "Tasks",
    "by_role",
    "by_worker",
    "check",
    "decode",
    "differences",
    "drawn",
    "events",
    "of_workers",
    "shares",
    "table",
    "track_for_track",
    "write",
    "write_heat",
]


def main() -> int:
    parser = parser_of("trace", __doc__)
    parser.add_argument(
        "region", type=Path, metavar="REGION", help="or a TRACE.json that --out has written"
    )
    parser.add_argument("manifest", type=Path, metavar="MANIFEST", nargs="?")
    parser.add_argument("--order", type=Path, help="check against it, and call slices by its tiles")
    parser.add_argument(
        "--predicted", type=Path, help="what format=trace has written, to stand beside"
    )
    parser.add_argument("--out", type=Path, help="write a trace for Perfetto")
    parser.add_argument(
        "--by", choices=("role", "worker"), help="a line of the table for each (default: role)"
    )
    parser.add_argument(
        "--heat",
        type=Path,
        metavar="FILE",
        help=(
            "write a heat map of workers by steps: an .svg, or a .json of its numbers; needs"
            " --order"
        ),
    )
    parser.add_argument(
        "--columns",
        type=int,
        help=(
            "at most so many columns of the heat map's picture; beyond, a cell is the mean of"
            f" several steps (default: {MOST_CELLS})"
        ),
    )
    parser.add_argument("--svg", type=Path, metavar="FILE", help="draw tracks over time")
    parser.add_argument(
        "--between",
        type=float,
        nargs=2,
        metavar=("BEGIN", "END"),
        help="the stretch of time of --svg, in µs (default: all)",
    )
    parser.add_argument(
        "--roles",
        type=lambda text: text.split(","),
        metavar="ROLE,...",
        help="roles of --svg, such as compute,reduce (default: all)",
    )
    parser.add_argument(
        "--workers",
        type=int,
        default=8,
        help=(
            "whose tracks are written or drawn, from worker 0 on; 0: all of them, hundreds of MB"
            " (default: 8)"
        ),
    )
    arguments = parser.parse_args()
    for option, beside in (
        ("between", "svg"),
        ("roles", "svg"),
        ("columns", "heat"),
        ("heat", "order"),
    ):
        if getattr(arguments, option) is not None and not getattr(arguments, beside):
            raise ArgumentError(
                f"--{option}: expected --{beside} beside"
                f" it{', which says what steps are' if beside == 'order' else ''}, found none"
            )
    if arguments.workers < 0:
        raise ArgumentError(
            f"--workers: expected a number of workers, or 0 for all, found {arguments.workers}"
        )
    if not arguments.manifest:
        return draw_file(arguments)
    manifest = json.loads(read_text(arguments.manifest))
    lanes = decode(read_bytes(arguments.region, 1 << 34), manifest)
    order = json.loads(read_text(arguments.order))["schedules"][0] if arguments.order else None
    predicted = json.loads(read_text(arguments.predicted)) if arguments.predicted else None
    if order:
        check(lanes, order)
    print(table(lanes, by_worker if arguments.by == "worker" else by_role))
    if order and predicted:
        print("\n".join(differences(lanes, order, predicted)))
    title = f"{manifest['program']['kind']} of @{manifest['name']}"
    mine = (
        [*events(of_workers(lanes, arguments.workers), f"measured: {title}", 1, order)]
        if arguments.out or arguments.svg
        else []
    )
    if arguments.out:
        write(arguments.out, mine, predicted)
    if arguments.svg:
        both = track_for_track(
            [*([("predicted", predicted["traceEvents"])] if predicted else []), ("measured", mine)]
        )
        write_text(
            arguments.svg,
            drawn(both, title, arguments.between, arguments.workers, arguments.roles or ()),
        )
    if arguments.heat:
        write_heat(
            arguments.heat,
            lanes,
            order,
            title,
            MOST_CELLS if arguments.columns is None else arguments.columns,
        )
    return GOOD


def draw_file(arguments: argparse.Namespace) -> int:
    """A stretch of a trace that --out has written."""
    others = [
        option
        for option in ("order", "predicted", "out", "by")
        if getattr(arguments, option) is not None
    ]
    if not arguments.svg or others:
        raise ArgumentError(
            f"{arguments.region}: expected the kernel's manifest behind it, found"
            f" {f'--{others[0]} alone' if others else 'none'}; what --out has written is drawn by"
            " --svg"
        )
    write_text(
        arguments.svg,
        drawn(
            load(arguments.region),
            arguments.region.stem,
            arguments.between,
            arguments.workers,
            arguments.roles or (),
        ),
    )
    return GOOD


if __name__ == "__main__":
    sys.exit(run("trace", main))
