#!/usr/bin/env python3
"""Checks that no file has grown past its ceiling, and no folder: one file, one idea; one folder,
one room.

A .cpp that defines a pass reads as the pass's description does, so its ceiling is lower.
"""

from collections import Counter

import house

CEILINGS = {".cpp": 500, ".h": 500, ".py": 600, ".td": 600}
MOST_SOURCES = 40  # .cpp and .h of a folder
DEFINES_PASS, OF_PASS = "#define GEN_PASS_DEF_", 300
PAGES = {"README.md": 100, "CMakeLists.txt": 120, "tools/dash-opt/dash-opt.cpp": 60}


def main():
    arguments = house.parse_arguments(__doc__)
    findings = house.Findings("sizes")
    paths = house.project_files(arguments.root)
    for path in paths:
        ceiling = PAGES.get(path.as_posix(), CEILINGS.get(path.suffix))
        if ceiling is None:
            continue
        text = house.read(arguments.root / path)
        lines = len(text.splitlines())
        if path.suffix == ".cpp" and DEFINES_PASS in text:
            ceiling = OF_PASS
        if lines > ceiling:
            findings.add(
                path,
                ceiling + 1,
                f"expected at most {ceiling} lines, found {lines}; split it by meaning",
            )
    folders = Counter(path.parent for path in paths if path.suffix in (".cpp", ".h"))
    for folder, count in sorted(folders.items()):
        if count > MOST_SOURCES:
            findings.add(
                folder,
                1,
                f"expected at most {MOST_SOURCES} .cpp and .h in a folder, found {count}; give it"
                " rooms by meaning",
            )
    findings.finish()


if __name__ == "__main__":
    main()
