#!/usr/bin/env python3
"""Checks that all assembly of the kernels is in one file, and that its page gives each function the
reason that the header gives.

The page's list is printed with --print.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEADER = ROOT / "include" / "dash" / "Hopper" / "PtxAssembly.h"
PAGE = ROOT / "dialects" / "dash" / "docs" / "assembly.md"
FUNCTION = re.compile(r"((?:^///.*\n)+)^(?:void|Value|SmallVector<Value>)\s+(\w+)\(", re.M)


def rows(header: str) -> tuple[list[str], list[str]]:
    """The list's lines, and what is wrong with the header."""
    found, wrong = [], []
    for comment, name in FUNCTION.findall(header):
        what, why = re.sub(r"^/// ?", "", comment, flags=re.M).partition("Why: ")[::2]
        if not why:
            wrong.append(f"expected a line 'Why: …' above '{name}', found none")
        found.append(f"- **`{name}`**: {' '.join(what.split())} *Why:* {' '.join(why.split())}")
    return found, wrong


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--print", action="store_true", help="the page's list, as the header says it"
    )
    parser.add_argument("--page", type=Path, default=PAGE)
    arguments = parser.parse_args()
    expected, wrong = rows(HEADER.read_text(encoding="utf-8"))
    if arguments.print:
        print("\n".join(expected))
        return 0
    present = [
        line
        for line in arguments.page.read_text(encoding="utf-8").splitlines()
        if line.startswith("- **`")
    ]
    wrong += [f"expected in {arguments.page.name}: {row}" for row in expected if row not in present]
    wrong += [
        f"{arguments.page.name} has what {HEADER.name} has not: {row}"
        for row in present
        if row not in expected
    ]
    for path in sorted((ROOT / "lib").rglob("*.cpp")):
        if path.stem != HEADER.stem and re.search(
            r"InlineAsmOp|InlinePtxOp", path.read_text(encoding="utf-8")
        ):
            wrong.append(
                f"{path.relative_to(ROOT)} has assembly of its own; add a function to {HEADER.name}"
            )
    print("\n".join(wrong) if wrong else f"{len(expected)} spellings, each with its reason")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
