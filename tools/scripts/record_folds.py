#!/usr/bin/env python3
"""record_folds.py - times of forwards that fold query heads, in forward.md.

  tools/scripts/record_folds.py          writes the table
  tools/scripts/record_folds.py --check  refuses one that says something else than the record

It is made from the newest test/Device/records/*-folds.json, of
`test/Device/folds.py --only times --json FILE`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import house
from measured import DOCS, RECORDS, link, mean, replace

PAGE, NAME = DOCS / "forward.md", "folds"
SHOWN = 32  # heads of the table; those of more are in a sentence
ALONE, FOLDED = "dash, fold 1", "dash, fold {}"
PEERS = {"flash2": "FlashAttention-2", "flash3": "FlashAttention-3 with splits"}


def newest(root: Path) -> Path | None:
    """Names are of a card and a date, as h200-2026-11-28-folds.json."""
    found = (root / RECORDS).glob("*-folds.json")
    return max(found, key=lambda path: path.name.partition("-")[2], default=None)


def best(row: dict[str, Any]) -> tuple[float, float]:
    """Milliseconds with one head a tile, and with the fold."""
    times = row["best_milliseconds"]
    return times[ALONE], times[FOLDED.format(row["heads"] // row["kv_heads"])]


def faster(rows: list[dict[str, Any]]) -> str:
    ratios = [alone / folded for alone, folded in map(best, rows)]
    return f"{mean(ratios):.2f}x ({min(ratios):.2f}x to {max(ratios):.2f}x)"


def table(record: dict[str, Any], name: str) -> str:
    rows = [row for row in record["speeds"] if row["heads"] == SHOWN]
    others = [row for row in record["speeds"] if row["heads"] != SHOWN]
    kv_heads, fold = rows[0]["kv_heads"], SHOWN // rows[0]["kv_heads"]
    peers = [one for one in PEERS if all(one in row["best_milliseconds"] for row in rows)]
    lines = [
        f"On an {record['gpu']} ([record]({link(name)}) of `test/Device/folds.py --only times`,"
        f" commit {record['commit'][:8]}), {SHOWN} heads over {kv_heads} of 128, the best of pieces"
        " and q tiles, in µs:",
        "",
        f"| rows, keys, batch | dash, one head a tile | dash, fold {fold} | "
        + "".join(f"{PEERS[one]} | " for one in peers).rstrip(),
        "|---" * (3 + len(peers)) + "|",
    ]
    for row in rows:
        times = (*best(row), *(row["best_milliseconds"][one] for one in peers))
        cells = [f"{row['rows']}, {row['kv_rows']}, {row['batch']}"]
        cells += [f"{1000 * time:.0f}" for time in times]
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", f"With the fold dash is {faster(rows)} faster than without, in geometric mean."]
    for heads in sorted({row["heads"] for row in others}):
        some = [row for row in others if row["heads"] == heads]
        lines.append(f"With {heads} heads over {kv_heads} it is {faster(some)} faster.")
    return "\n".join(lines) + "\n"


def main() -> None:
    arguments = house.parse_arguments(__doc__, check={"action": "store_true"})
    path = newest(arguments.root)
    findings = house.Findings(NAME)
    if path is None and not arguments.check:
        sys.exit(f"error: expected a record {RECORDS}/*-folds.json, found none")
    if path is not None:
        page = arguments.root / PAGE
        old = house.read(page)
        new = replace(old, NAME, table(json.loads(house.read(path)), path.name))
        if not arguments.check:
            page.write_text(new, encoding="utf-8")
        elif new != old:
            findings.add(
                PAGE,
                1,
                f"expected what {path.name} says, found something else; run:"
                " tools/scripts/record_folds.py",
            )
    findings.finish()


if __name__ == "__main__":
    main()
