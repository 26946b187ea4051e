#!/usr/bin/env python3
"""Checks that every link of a page to a file of the project leads somewhere. Code between fences
has none."""

import re

import house

LINK = re.compile(r"\]\(([^)\s#]+)(?:#[^)]*)?\)")


def main():
    arguments = house.parse_arguments(__doc__)
    findings = house.Findings("links")
    for path in house.project_files(arguments.root, ".md"):
        is_code = False
        for number, line in enumerate(house.read(arguments.root / path).splitlines(), 1):
            is_code ^= line.lstrip().startswith("```")
            for target in [] if is_code else LINK.findall(line):
                if "://" in target or target.startswith("mailto:"):
                    continue
                if not (arguments.root / path.parent / target).exists():
                    findings.add(path, number, f"expected a file at {target}, found none; repair or remove the link")
    findings.finish()


if __name__ == "__main__":
    main()
