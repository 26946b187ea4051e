#!/usr/bin/env python3
"""Checks that every link of a page to a file of the project leads somewhere, and to a heading that
the page there has. Code between fences has no links and no headings."""

import re
from functools import cache

import house

LINK = re.compile(r"\]\(([^)\s#]*)(?:#([^)\s]*))?\)")
HEADING = re.compile(r"#+ (.+)")


def text_lines(path):
    """Number and text of each line outside of code."""
    is_code = False
    for number, line in enumerate(house.read(path).splitlines(), 1):
        is_code ^= line.lstrip().startswith("```")
        if not is_code:
            yield number, line


@cache
def anchors(path):
    """What a browser jumps to: the words of each heading, joined by hyphens."""
    found = set()
    for _, line in text_lines(path):
        if match := HEADING.match(line):
            words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", match[1]).strip().lower()
            found.add(re.sub(r"[^\w\- ]", "", words).replace(" ", "-"))
    return found


def main():
    arguments = house.parse_arguments(__doc__)
    findings = house.Findings("links")
    for path in house.project_files(arguments.root, ".md"):
        for number, line in text_lines(arguments.root / path):
            for target, anchor in LINK.findall(line):
                if "://" in target or target.startswith("mailto:") or not target + anchor:
                    continue
                file = arguments.root / path.parent / target if target else arguments.root / path
                if not file.exists():
                    findings.add(
                        path,
                        number,
                        f"expected a file at {target}, found none; repair or remove the link",
                    )
                elif anchor and file.suffix == ".md" and anchor not in anchors(file):
                    findings.add(
                        path,
                        number,
                        f"expected a heading for #{anchor} in {target or path.name}, found none; "
                        "name one that is there",
                    )
    findings.finish()


if __name__ == "__main__":
    main()
