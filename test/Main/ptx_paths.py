"""Prints every way through an entry from one instruction to others: what is run, wherever the
compiler has put it.

    ptx_paths.py KERNEL.ptx ENTRY --start REGEX --end REGEX [--show REGEX]

A way ends at the first that matches --end; one that comes back to
where it has been, or leaves the entry, is printed with that as its end. Loops inside inline
assembly are one instruction.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

LABEL = re.compile(r"(\$L\w+):")
# Ways from an instruction to what belongs to it are few and short; where the end is missing they
# are without number.
MOST_OPEN, MOST_LINES = 16, 4000
BRANCH = re.compile(r"(@!?%p\d+\s+)?bra(?:\.uni)?\s+(\$L\w+);")


def instructions_of(text: str, entry: str) -> list[str]:
    """Lines of the entry: labels, instructions."""
    found = re.search(rf"^\.visible \.entry {entry}\(.*?^\{{", text, re.M | re.S)
    if not found:
        sys.exit(f"error: expected an entry '{entry}', found none")
    depth, lines = 1, []
    for line in text[found.end() :].splitlines():
        line = re.sub(r"\s+", " ", line.split("//")[0]).strip()
        depth += (line == "{") - (line == "}")
        if depth == 0:
            break
        if line and line not in "{}":
            lines.append(line)
    return lines


def paths(lines: list[str], start: int, end: re.Pattern):
    """Each way, as numbers of lines, with what ends it."""
    labels = {match[1]: i for i, line in enumerate(lines) if (match := LABEL.fullmatch(line))}
    unfinished = [(start, [])]
    while unfinished:
        at, way = unfinished.pop()
        while True:
            if at in way or at >= len(lines) or lines[at].startswith("ret"):
                yield way, "comes back" if at in way else "leaves"
                break
            way.append(at)
            if end.search(lines[at]):
                yield way, "ends"
                break
            branch = BRANCH.fullmatch(lines[at])
            if branch and branch[1]:
                if len(unfinished) >= MOST_OPEN or len(way) > MOST_LINES:
                    sys.exit(f"error: ways from '{lines[start]}' lead far without an end")
                unfinished.append((labels[branch[2]], list(way)))
            at = labels[branch[2]] if branch and not branch[1] else at + 1


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("ptx", type=Path)
    parser.add_argument("entry")
    for option in ("--start", "--end"):
        parser.add_argument(option, required=True, type=re.compile)
    parser.add_argument(
        "--show",
        type=re.compile,
        default=re.compile("."),
        help="what to print of a way; all by default",
    )
    arguments = parser.parse_args()
    lines = instructions_of(arguments.ptx.read_text(encoding="utf-8"), arguments.entry)
    for start in (i for i, line in enumerate(lines) if arguments.start.search(line)):
        for way, how in sorted(paths(lines, start, arguments.end)):
            print("way:")
            print("\n".join(lines[i] for i in way if arguments.show.search(lines[i])))
            print(how)


if __name__ == "__main__":
    main()
