"""What proofs find in IR, as rows of a table."""

from __future__ import annotations

from pathlib import Path

import spin


def table(rows: list[tuple[str, ...]]) -> None:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def found_by(path: Path, checker: str) -> str:
    result = spin.run("dash-opt", path, f"--dash-{checker}", "-o", "/dev/null", check=False)
    return (
        "found"
        if result.returncode == 1 and "error: " in result.stderr
        else "-"
        if result.returncode == 0
        else "crash"
    )


def found_in(ir: str, folder: Path, checkers: list[str], *defines: str) -> list[str]:
    """The table's words for IR: of those that check it, and of the model."""
    model = spin.emit(ir, folder)
    verdict = spin.check(model, *defines)
    return [
        *(found_by(folder / "kernel.mlir", checker) for checker in checkers),
        verdict.error or "nothing",
    ]
