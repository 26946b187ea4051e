# RUN: %python %s --dash-opt dash-opt --examples %dash_examples --tmp %t
# REQUIRES: python
"""Traces tell the run that the report predicts, and what --dash-explain says of it adds up."""

from __future__ import annotations

import random
import re
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))

from cost import Cost  # noqa: E402
from dash_opt import KINDS, Answer, DashOpt, Request, Tally, serves  # noqa: E402
from problem import Mask, Problem, Sequence  # noqa: E402
from report import read  # noqa: E402
from trace import peak_dq_bytes, shares_of, trace_differences  # noqa: E402

# All in whole nanoseconds, so that a trace's sums are exact.
COSTS = [
    Cost(2.1, 1.6, 0.3, 2, 5.5, 1.5),
    Cost(1.6, 2.1, 0.3, 2),
    Cost(1.0, 1.0, 0.0, 1, 2.5, 0.5),
    Cost(1.0, 3.0, 0.25, 3, 2.0, 2.5),
    Cost(0.5, 2.0, 4.0, 1),
]


def requests(count: int) -> Iterator[Request]:
    rng = random.Random(5)
    for index in range(count):
        rows = tuple(
            Sequence(rng.randrange(1, 900), rng.randrange(1, 900))
            for _ in range(rng.choice([1, 1, 2, 4]))
        )
        heads, kv_heads, parts = rng.choice(
            [(1, 1, 1), (3, 3, 1), (4, 2, 2), (8, 1, 1), (4, 1, 4), (1, 1, 2), (2, 2, 3), (2, 1, 6)]
        )
        tiles = rng.choice([(64, 128), (32, 32), (48, 64)])
        level, made_for = rng.choice(["run", "batch", "machine"]), rng.choice([1, 3, 8])
        problem = Problem(rows, *tiles, Mask(causal=rng.random() < 0.6), heads, kv_heads, parts)
        kind = KINDS[index % len(KINDS)]
        if not serves("auto", problem):
            problem = replace(problem, parts=1)
        yield Request(
            problem,
            kind if serves(kind, problem) else "synthesized",
            rng.randrange(made_for, 40),
            level,
            made_for,
            rng.choice(COSTS),
            apart=rng.choice(["none", "none", "all"] + ["parts"] * (problem.parts > 1)),
        )


def stated(text: str, pattern: str) -> list[str]:
    found = re.search(pattern, text)
    return list(found.groups()) if found else []


def figure_differences(answer: Answer, trace: dict, text: str) -> list[str]:
    """The stall and the bytes in flight, worked out anew from the trace."""
    shares = shares_of(answer.schedule, trace)
    want = [f"{100 * share:.1f}" for share in (shares.turn, shares.buffer, shares.idle)]
    found = stated(text, r"stall +(\S+) % of .* turns, (\S+) % for buffers, (\S+) % idle")
    # Halves may be rounded either way.
    near = len(found) == 3 and all(abs(float(a) - float(b)) < 0.11 for a, b in zip(found, want))
    lines = [] if near else [f"stall {found}, expected {want}"]
    peak = [str(peak_dq_bytes(answer.schedule, trace))]
    if (found := stated(text, r"at most \((\d+) bytes\)")) != peak:
        lines.append(f"dQ in flight {found}, expected {peak}")
    return lines


def comparison_differences(
    dash: DashOpt, request: Request, makespan: float, text: str
) -> list[str]:
    """What other requests are said to take is what they take; and all that are faster are named."""
    # Kinds for programs without dQ, and for lists dealt by work, are named by people alone.
    of_people = {"longest-first", "shortest-first"}
    kinds = {kind for kind in KINDS if serves(kind, request.problem)} - of_people
    lines = []
    if request.level != "run":
        run = dash.run(replace(request, level="run")).schedule["makespan"]
        want = [f"{makespan / run:.3f}", f"{run:.1f}"]
        found = stated(text, r"takes (\S+) times as long as at level run: (\S+)\n")
        if found != want:
            lines.append(f"level run: {found}, expected {want}")
    # What searches is run at level run, else named.
    is_run = request.level == "run"
    if ("kind=synthesized searches for one" in text) != (
        request.kind != "synthesized" and not is_run
    ):
        lines.append(
            "expected the kind that searches to be named unless it was tried, or is this one"
        )
    if is_run:
        chosen = dash.run(replace(request, kind="auto")).schedule
        want = [chosen["kind"], f"{chosen['makespan']:.1f}"]
        found = stated(text, r"kind=auto takes (\S+) ([0-9.]+) \(")
        if found != want:
            lines.append(f"kind=auto: {found}, expected {want}")
        least = min(dash.run(replace(request, kind=kind)).schedule["makespan"] for kind in kinds)
        if chosen["makespan"] > least * (1 + 1e-9):
            lines.append(f"kind=auto: {chosen['makespan']}, but a kind takes {least}")
    for kind in kinds - {request.kind} - (set() if is_run else {"synthesized"}):
        took = dash.run(replace(request, kind=kind)).schedule["makespan"]
        form = f"kind={kind} takes {took:.1f} (" if took < makespan else f"kind={kind} {took:.1f}"
        if form not in text:
            lines.append(f"expected '{form}'")
    return lines


def differences(dash: DashOpt, request: Request) -> list[str]:
    base = dash.scratch / f"run-{threading.get_ident()}"
    answer = dash.run(
        request,
        f"--dash-report-schedule=format=trace output={base}.json",
        f"--dash-explain=output={base}.txt",
    )
    lines = answer.differences()
    if lines:
        return lines
    trace, text = read(f"{base}.json"), Path(f"{base}.txt").read_text(encoding="utf-8")
    lines = trace_differences(answer.schedule, trace)
    if not lines:
        lines = [
            *figure_differences(answer, trace, text),
            *comparison_differences(dash, request, answer.schedule["makespan"], text),
        ]
    return answer.told(lines)


def main() -> int:
    dash, tally = DashOpt.from_arguments(__doc__), Tally()
    tally.check_all(requests(60), lambda request: differences(dash, request))
    return tally.exit_code()


if __name__ == "__main__":
    sys.exit(main())
