"""Reports of several ranks: which rank the others wait for."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import ArgumentError
from ..support.files import read_text

KINDS = {
    "version": int,
    "rank": int,
    "ranks": int,
    "seconds": (int, float),
    "text": str,
    "launch": int,
    "label": str,
    "waits": bool,
    "moves": bool,
    "where": str,
    "call": int,
    "turns": (dict, type(None)),
}
MOST = 16  # ranks in a line


def load(path: str | Path) -> dict[str, Any]:
    """A report that a watch has written. Raises ArgumentError."""
    try:
        found = json.loads(read_text(path))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ArgumentError(f"{path}: expected a report of hang.watch as JSON: {error}") from None
    if not isinstance(found, dict) or found.get("version") != 1:
        raise ArgumentError(
            f"{path}: expected a report of hang.watch, version 1, found {str(found)[:80]}"
        )
    for name, kind in KINDS.items():
        if name not in found or not isinstance(found[name], kind):
            raise ArgumentError(
                f"{path}: expected '{name}' of a report, found {str(found.get(name))[:80]}"
            )
    return found


def _named(ranks: Sequence[int]) -> str:
    text = ", ".join(map(str, ranks[:MOST]))
    return (
        f"rank{'s' * (len(ranks) > 1)}"
        f" {text}{f' and {len(ranks) - MOST} more' if len(ranks) > MOST else ''}"
    )


def _place(report: Mapping[str, Any]) -> str:
    where = (
        f"in {report['where']}, call {report['call']} of attention"
        if report["where"]
        else "outside of attention over ranks"
    )
    if not report["launch"]:
        return where
    return (
        f"{where}, launch {report['launch']} of dash, which"
        f" {'has not begun' if report['waits'] else 'has not ended'}"
    )


def explain_ranks(reports: Sequence[Mapping[str, Any]]) -> list[str]:
    """Lines for people, causes first: ranks that say nothing, then launches that stand still, then
    ranks behind the others. Raises ArgumentError where reports are not those of one run."""
    if not reports:
        raise ArgumentError("expected a report of at least one rank, found none")
    sizes = sorted({report["ranks"] for report in reports})
    if len(sizes) > 1:
        raise ArgumentError(
            f"expected reports of one run, found some of {' and some of '.join(map(str, sizes))}"
            " ranks"
        )
    by_rank: dict[int, Mapping[str, Any]] = {}
    for report in reports:
        if report["rank"] in by_rank or not 0 <= report["rank"] < sizes[0]:
            raise ArgumentError(
                f"expected one report of each rank below {sizes[0]}, found rank {report['rank']}"
                f" {'twice' if report['rank'] in by_rank else ''}".rstrip()
            )
        by_rank[report["rank"]] = report
    lines, missing = [], [rank for rank in range(sizes[0]) if rank not in by_rank]
    standing = [report for report in by_rank.values() if report["launch"] and not report["waits"]]
    waiting = [report for report in by_rank.values() if not report["launch"] or report["waits"]]
    if missing:
        lines.append(
            f"cause: {_named(missing)} {'has' if len(missing) == 1 else 'have'} written no report:"
            " ended, or no thread of the watch runs there"
        )
    for report in sorted(standing, key=lambda one: (one["moves"], one["rank"])):
        what = (
            "slow, not a cause" if report["moves"] else "cause" if not missing else "stands still"
        )
        lines.append(f"{what}: rank {report['rank']} is {_place(report)}:")
        lines += [f"  {line}" for line in report["text"].splitlines()[1:]]
    # Calls are counted alike on all ranks. A rank at an earlier one, or at none, holds the
    # others up.
    calls = sorted({report["call"] for report in waiting})
    if not missing and not [one for one in standing if not one["moves"]] and len(calls) > 1:
        behind = [report["rank"] for report in waiting if report["call"] == calls[0]]
        lines.append(
            f"cause: {_named(behind)} {'is' if len(behind) == 1 else 'are'} behind the others: "
            f"{_place(by_rank[behind[0]])}"
        )
    places: dict[str, list[int]] = {}
    for report in sorted(waiting, key=lambda one: one["rank"]):
        places.setdefault(_place(report), []).append(report["rank"])
    lines += [
        f"{_named(ranks)} {'waits' if len(ranks) == 1 else 'wait'} {place}"
        for place, ranks in places.items()
    ]
    return lines
