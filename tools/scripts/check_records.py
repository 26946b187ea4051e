#!/usr/bin/env python3
"""Checks that test/Device/records stays small, and that each record in it is evidence of something.

A record has the form of dash_attn.support.records.text_of: one line for each case or measurement. A
page, a test or a script names it. Records that left are rows of the folder's README, with the last
commit that has them.

  tools/scripts/check_records.py           findings, one a line
  tools/scripts/check_records.py --fix     gives each record its form
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import house

sys.path.insert(0, str(house.ROOT / "python"))
from dash_attn.support.records import COLUMNS, text_of  # noqa: E402

FOLDER = Path("test/Device/records")
README = FOLDER / "README.md"
MOST_LINES, MOST_OF_RECORD = 8000, 600
NAMES_RECORDS = {".md", ".py", ".test", ".mlir", ".json"}
LEFT = re.compile(r"^\| `([^`]+\.json)` \| ([0-9a-f]{7,40}) \|")
REPAIR = "run: tools/scripts/check_records.py --fix"


def check_form(findings, root, path, is_fixed):
    """Checks one record and returns how many lines it has."""
    text = house.read(root / path)
    try:
        wanted = text_of(json.loads(text))
    except ValueError as error:
        findings.add(path, 1, f"expected JSON, found: {error}")
        return 0
    if text != wanted and is_fixed:
        (root / path).write_text(wanted, encoding="utf-8")
        text = wanted
    if text != wanted:
        findings.add(
            path,
            1,
            f"expected one line for each case or measurement, and numbers of six digits; {REPAIR}",
        )
    lines = text.splitlines()
    if len(lines) > MOST_OF_RECORD:
        findings.add(
            path,
            MOST_OF_RECORD + 1,
            f"expected at most {MOST_OF_RECORD} lines, found {len(lines)}; keep what is evidence",
        )
    for number, line in enumerate(lines, 1):
        if len(line) > COLUMNS:
            findings.add(
                path,
                number,
                f"expected at most {COLUMNS} columns, found {len(line)}; shorten the text or leave"
                " fields out",
            )
    return len(lines)


def check_names(findings, root, paths, records):
    texts = [
        house.read(root / path)
        for path in paths
        if path.suffix in NAMES_RECORDS and FOLDER not in path.parents
    ]
    for path in records:
        if not any(path.name in text for text in texts):
            findings.add(
                path,
                1,
                "expected a page, a test or a script that names it, found none; remove it, with a"
                f" row in {README}",
            )


def check_left(findings, root, lines):
    """Checks the rows of records that left. A commit that this clone lacks is not looked into."""
    for number, line in enumerate(lines, 1):
        row = LEFT.match(line)
        if not row:
            continue
        name, commit = row.groups()
        if (root / FOLDER / name).exists():
            findings.add(
                README,
                number,
                f"expected a record that left, found {name} in the tree; take the row out",
            )
        git = ["git", "-C", str(root), "cat-file", "-e"]
        has_commit = (
            subprocess.run(
                [*git, f"{commit}^{{commit}}"], capture_output=True, check=False
            ).returncode
            == 0
        )
        if (
            has_commit
            and subprocess.run(
                [*git, f"{commit}:{FOLDER / name}"], capture_output=True, check=False
            ).returncode
        ):
            findings.add(
                README,
                number,
                f"expected {name} in the tree of {commit}, found none; name the last commit that"
                " has it",
            )


def main():
    arguments = house.parse_arguments(__doc__, fix={"action": "store_true"})
    findings = house.Findings("records")
    paths = house.project_files(arguments.root)
    records = [path for path in paths if path.parent == FOLDER and path.suffix == ".json"]
    total = sum(check_form(findings, arguments.root, path, arguments.fix) for path in records)
    check_names(findings, arguments.root, paths, records)
    page = house.read(arguments.root / README).splitlines()
    check_left(findings, arguments.root, page)
    total += len(page)
    if total > MOST_LINES:
        findings.add(
            FOLDER,
            1,
            f"expected at most {MOST_LINES} lines in all, found {total}; remove what a newer record"
            " replaces",
        )
    findings.finish()


if __name__ == "__main__":
    main()
