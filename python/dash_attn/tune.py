"""Measures what the cost model wants to know of this machine's GPU, into a file of costs:
python3 -m dash_attn.tune COSTS

The file is for costs=COSTS of --dash-apply-schedule, --dash-to-ptx and Kernel.compile. For each
head dim and mask, in one process on a GPU of its own: first warp structures, slots and tiles
that the compiler serves run side by side, and the fastest options are said (the default, where
nothing is faster beyond noise); then kinds of order of kernels with these options are timed at
three lengths, by the methods of dash_attn.bench: random order, medians, one of them twice as
control. Costs are those that predict the times best. --record keeps all measurements, and --from
makes the file of such a record, or of one of dash_attn.bench, without a GPU: the same costs for
the same measurements. In Python: fit(measure()).

--from-trace REGION MANIFEST ORDER, once for each head dim and mask, takes the costs from what
traced kernels did (dash_attn.trace), and says them beside those that the order was made with. A
traced kernel is slower than a plain one: --plain MS, once for each, scales its costs to that time.
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import shlex
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .errors import ArgumentError
from .kernel.commands import GOOD, parser_of, run
from .kernel.coverage import limits
from .measure.bundle import commit
from .measure.fit import CLASSES, file_text, fit
from .measure.predict import DASH_OPT
from .measure.prices import of_files, whole
from .support.files import write_text
from .support.records import Record, read, write_record

__all__ = ["fit", "main", "measure"]


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = parser_of("tune", __doc__)
    parser.add_argument("costs", type=Path, help="the file to write")
    parser.add_argument(
        "--from",
        dest="source",
        type=Path,
        metavar="RECORD",
        help="measure nothing: fit these measurements",
    )
    parser.add_argument(
        "--from-trace",
        nargs=3,
        action="append",
        type=Path,
        metavar=("REGION", "MANIFEST", "ORDER"),
        help="measure nothing: costs of traces",
    )
    parser.add_argument(
        "--plain",
        action="append",
        type=float,
        metavar="MS",
        help="how long the plain kernel of a trace takes: its costs are scaled to that",
    )
    parser.add_argument("--record", type=Path, help="where to keep the measurements")
    parser.add_argument("--head-dims", default="64,128")
    parser.add_argument(
        "--seconds",
        type=float,
        default=120,
        help="for the search of structures, slots and tiles; 0 leaves it out",
    )
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument(
        "--rows", type=int, default=2048, help="fit no longer problems: predicting them takes long"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the order in which kernels run")
    parser.add_argument(
        "--dash-opt",
        type=shlex.split,
        default=DASH_OPT,
        help="the compiler; that of libdash by default",
    )
    found = parser.parse_args(arguments)
    if found.from_trace and found.source:
        parser.error("--from-trace: expected no --from beside it")
    if found.plain and len(found.plain) != len(found.from_trace or ()):
        parser.error(
            f"--plain: expected one for each --from-trace, {len(found.from_trace or ())}, found"
            f" {len(found.plain)}"
        )
    return found


def measure(
    head_dims: Sequence[int] = (64, 128), seconds: float = 120, rounds: int = 15, seed: int = 0
) -> dict[str, Any]:
    """The record of measurements on this machine's GPU; a progress bar on standard error. Raises
    ArgumentError where there is none."""
    missing = [name for name in ("torch", "tqdm") if importlib.util.find_spec(name) is None]
    if missing:
        raise ArgumentError(
            f"measuring needs {' and '.join(missing)}: install dash-attn[bench]; --from fits a"
            " record of another machine"
        )
    import torch
    from tqdm import tqdm

    found = torch.cuda.get_device_capability() if torch.cuda.is_available() else None
    wanted = divmod(limits().capability, 10)
    if found != wanted:
        raise ArgumentError(
            f"measuring needs a GPU of compute capability {'.'.join(map(str, wanted))}, found"
            f" {'.'.join(map(str, found)) if found else 'none'}; --from fits a record of another"
            " machine"
        )
    from .measure import search

    with tqdm(total=search.steps(head_dims, seconds > 0), unit="step", dynamic_ncols=True) as bar:

        def tick(what: str) -> None:
            bar.set_description(what, refresh=False)
            bar.update()

        machine = search.Machine(rounds, random.Random(seed), tick)
        return {
            "commit": commit(),
            "date": time.strftime("%Y-%m-%d"),
            **search.measurements(machine, head_dims, seconds),
        }


def print_search(record: dict[str, Any]) -> None:
    about = Record(record)
    if "search" not in about:
        return
    for one in about.objects("search"):
        times, count = one.times("ms"), len(one.times("screened_ms")) - 2
        gains = ", ".join(
            f"{times[''] / milliseconds:.3f} {options}"
            for options, milliseconds in times.items()
            if options
        )
        print(
            f"{one.number('head_dim', 1)} {one.word('mask', tuple(CLASSES))}:"
            f" {one.text('options') or 'the default options'}; speed to the default: {gains}"
            f" ({count} ran, {one.number('refused', 0)} refused, {one.number('left_out', 0)} left"
            " out)"
        )


def of_traces(arguments: argparse.Namespace) -> int:
    traces = arguments.from_trace
    found = [
        of_files(*paths, plain)
        for paths, plain in zip(traces, arguments.plain or [None] * len(traces))
    ]
    print("\n".join(map(str, found)), flush=True)
    write_text(arguments.costs, file_text(f"of {len(found)} traces", whole(found)))
    return GOOD


def tune(arguments: argparse.Namespace) -> int:
    if arguments.from_trace:
        return of_traces(arguments)
    head_dims = [int(size) for size in arguments.head_dims.split(",")]
    if not arguments.source:
        record = measure(head_dims, arguments.seconds, arguments.rounds, arguments.seed)
        if arguments.record:
            write_record(arguments.record, record)
    try:
        if arguments.source:
            record = read(arguments.source)
        print_search(record)
        text = fit(
            record,
            head_dims,
            arguments.rows,
            arguments.dash_opt,
            lambda one: print(one, flush=True),
        )
    except ValueError as error:
        raise ValueError(
            f"{arguments.source}: {error}" if arguments.source else str(error)
        ) from error
    write_text(arguments.costs, text)
    return GOOD


def main(argv: list[str] | None = None) -> int:
    """The command; argv without its name, that of the process if None. Returns the exit status."""
    arguments = parse(argv)
    return run("tune", lambda: tune(arguments), f"'{arguments.costs}' is as it was")


if __name__ == "__main__":
    raise SystemExit(main())
