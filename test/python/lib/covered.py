"""The README's table of what is covered, beside the answers of what it speaks of."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from dash_attn import ArgumentError, CompileError

REFUSALS = (ArgumentError, CompileError, TypeError)
MEANS = {"✓": True, "✗": False}


def column_of(readme: str, column: str) -> dict[str, str]:
    """For each row of the table its cell in a column."""
    section = readme.split("## What is covered\n")[1].split("\n## ")[0]
    head, _, *rows = (
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in section.splitlines()
        if line.startswith("|")
    )
    return {row[0]: row[head.index(column)] for row in rows}


def is_served(call: Callable[[], object]) -> bool:
    try:
        return bool(call())
    except REFUSALS:
        return False


def demand_column(root: Path, column: str, calls: dict[str, list[Callable[[], object]]]) -> None:
    """Each row is ✓ where all of its calls are served, ✗ where none is, and – where there is
    none."""
    cells = column_of((root / "README.md").read_text(encoding="utf-8"), column)
    wrong = [
        f"{row}: expected calls for each row of the README and no others"
        for row in cells.keys() ^ calls.keys()
    ]
    for row in cells.keys() & calls.keys():
        answers = [is_served(call) for call in calls[row]]
        expected = [MEANS[cells[row]]] * len(answers) if cells[row] in MEANS else []
        if answers != expected or (not answers and cells[row] != "–"):
            wrong.append(
                f"{row}: the README says {cells[row]} of {column}, the calls say {answers}"
            )
    assert not wrong, "\n".join(wrong)
    assert not re.search("[✓✗]", "".join(calls)), "rows are words"
