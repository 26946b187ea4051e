#!/usr/bin/env python3
"""Prints the part of IR that a page shows, without its types.

    dash-opt … | excerpt.py 'dash.role "compute"' scf.for

Each pattern narrows to the first op that it is found in, with all that the op holds: here the first
loop of that role. The last one may be a range, FROM..TO: from the first line with FROM to the next
one with TO.
"""

import argparse
import re
import sys
import textwrap


def indent_of(line):
    return len(line) - len(line.lstrip())


def find(lines, pattern, first=0):
    for number in range(first, len(lines)):
        if re.search(pattern, lines[number]):
            return number
    sys.exit(f"error: expected '{pattern}' in {len(lines)} lines of IR, found none")


def op_at(lines, first):
    """The lines of the op that begins there: all that is further in, and what closes its
    regions."""
    depth = indent_of(lines[first])
    end = first + 1
    while end < len(lines) and (
        indent_of(lines[end]) > depth
        or indent_of(lines[end]) == depth
        and lines[end].lstrip().startswith("}")
    ):
        end += 1
    return lines[first:end]


def narrow(lines, pattern):
    if ".." in pattern:
        begin, end = pattern.split("..")
        first = find(lines, begin)
        return lines[first : find(lines, end, first) + 1]
    return op_at(
        lines, find(lines, pattern, 1 if len(lines) > 1 and re.search(pattern, lines[0]) else 0)
    )


def without_types(line):
    """A channel's type says what its slots hold, so it stays."""
    if "= dash.channel " in line:
        return line
    line = re.sub(r"(?<=\)) -> [^{]*(?=\{$)", " ", line)
    return re.sub(r" : [^{]*?(?= ?\{?$)", "", line)


def with_types_below(line):
    indent = " " * (indent_of(line) + 4)
    return re.sub(r"(?<=\)) -> ", f"\n{indent}-> ", line.replace(" : ", f"\n{indent}: ", 1))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "patterns", nargs="*", help="regular expressions, each within what the one before has found"
    )
    parser.add_argument("--grep", help="keep only lines with this")
    parser.add_argument("--drop", help="leave out lines with this")
    parser.add_argument("--types", action="store_true", help="keep types, below their line")
    arguments = parser.parse_args()
    # What items run over is the function's, and their header is one line.
    lines = re.sub(r" over\(.*\n +tiles", " tiles", sys.stdin.read()).splitlines()
    for pattern in arguments.patterns:
        lines = narrow(lines, pattern)
    if arguments.grep:
        lines = [line for line in lines if re.search(arguments.grep, line)]
    if arguments.drop:
        lines = [line for line in lines if not re.search(arguments.drop, line)]
    show = with_types_below if arguments.types else without_types
    print(textwrap.dedent("\n".join(show(line).rstrip() for line in lines)))


if __name__ == "__main__":
    main()
