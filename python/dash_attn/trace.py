"""What roles of a kernel did and waited for, from the region `trace` that kernels built with
trace=items, turns or all leave in their workspace.

    python3 -m dash_attn.trace REGION MANIFEST [--order ORDER.json]
        [--predicted TRACE.json] [--out TRACE.json]

REGION holds the region's bytes after a launch. ORDER.json is the order as
--dash-report-schedule=format=json writes it: records are checked against it, and slices are called
by their tiles. TRACE.json is for Perfetto; what format=trace predicts stands beside what was
measured, track for track, and the five largest differences are said. Prints where time went, by
role, and by worker where asked.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from .errors import ArgumentError
from .heat import write_heat
from .kernel.commands import GOOD, parser_of, run
from .measure.predicted import differences
from .measure.spans import Lane, Span, Tasks, by_role, by_worker, check, decode, events, of_workers, shares, table, track_for_track, write
from .support.files import read_bytes, read_text

__all__ = ["Lane", "Span", "Tasks", "by_role", "by_worker", "check", "decode", "differences", "events", "of_workers", "shares", "table", "track_for_track",
           "write", "write_heat"]


def main() -> int:
    parser = parser_of("trace", __doc__)
    parser.add_argument("region", type=Path, metavar="REGION")
    parser.add_argument("manifest", type=Path, metavar="MANIFEST")
    parser.add_argument("--order", type=Path, help="check against it, and call slices by its tiles")
    parser.add_argument("--predicted", type=Path, help="what format=trace has written, to stand beside")
    parser.add_argument("--out", type=Path, help="write a trace for Perfetto")
    parser.add_argument("--by", choices=("role", "worker"), default="role", help="a line of the table for each (default: role)")
    parser.add_argument("--heat", type=Path, metavar="FILE", help="write a heat map of workers by steps: an .svg, or a .json of its numbers; needs --order")
    parser.add_argument("--workers", type=int, default=8, help="whose tracks are written, from worker 0 on; 0: all of them, hundreds of MB (default: 8)")
    arguments = parser.parse_args()
    if arguments.heat and not arguments.order:
        raise ArgumentError("--heat: expected --order beside it, which says what steps are, found none")
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
    if arguments.out:
        write(arguments.out, events(of_workers(lanes, arguments.workers), f"measured: {title}", 1, order), predicted)
    if arguments.heat:
        write_heat(arguments.heat, lanes, order, title)
    return GOOD


if __name__ == "__main__":
    sys.exit(run("trace", main))
