"""Records of measurements: the newest of a kind, its rows by problem, and their place in a page."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable
from pathlib import Path

import house

RECORDS = Path("test/Device/records")
DOCS = Path("dialects/dash/docs")
OWN_FORWARD = "2026-11-27"  # since when `attention` takes both passes from dash


def newest(root: Path, what: str) -> tuple[dict, str]:
    records = [
        (json.loads(house.read(path)), path.name)
        for path in sorted((root / RECORDS).glob(f"*-{what}.json"))
    ]
    if not records:
        sys.exit(f"error: expected a record {RECORDS}/*-{what}.json, found none")
    return max(reversed(records), key=lambda record: record[0]["date"])  # of a day, the last name


def replace(page: str, name: str, text: str) -> str:
    begin, end = f"<!-- {name} -->\n", f"<!-- end {name} -->"
    before, rest = page.split(begin)
    return before + begin + text + end + rest.split(end)[1]


def mean(ratios: Iterable[float]) -> float:
    logarithms = [math.log(ratio) for ratio in ratios]
    return math.exp(sum(logarithms) / len(logarithms))


def by_problem(record: dict) -> dict[tuple[int, str, int], dict[str, dict]]:
    """For each head dim, mask and length the variants by name."""
    problems: dict[tuple[int, str, int], dict[str, dict]] = {}
    for row in record["results"]:
        problems.setdefault((row["head_dim"], row["mask"], row["rows"]), {})[row["variant"]] = row
    return problems


def by_shape(record: dict) -> dict[str, dict[str, dict]]:
    shapes: dict[str, dict[str, dict]] = {}
    for row in record["results"]:
        shapes.setdefault(row["shape"], {})[row["variant"]] = row
    return shapes


def of_forward(record: dict, whose: str) -> str:
    """A sentence where the forward of `attention` was another one when the record was made."""
    if record["date"][:10] >= OWN_FORWARD:
        return ""
    return f" In this record the forward of dash's calls is {whose}: `attention` has its own since."


def link(name: str) -> str:
    return f"../../../{RECORDS / name}"
