#!/usr/bin/env python3
"""Checks that no file has grown past its ceiling: one file, one idea."""

import house

CEILINGS = {".cpp": 500, ".h": 500, ".py": 500, ".td": 600}
PAGES = {"README.md": 150, "CMakeLists.txt": 120, "tools/dash-opt/dash-opt.cpp": 60}


def main():
    arguments = house.parse_arguments(__doc__)
    findings = house.Findings("sizes")
    for path in house.project_files(arguments.root):
        ceiling = PAGES.get(path.as_posix(), CEILINGS.get(path.suffix))
        if ceiling is None:
            continue
        lines = len(house.read(arguments.root / path).splitlines())
        if lines > ceiling:
            findings.add(path, ceiling + 1, f"expected at most {ceiling} lines, found {lines}; split it by meaning")
    findings.finish()


if __name__ == "__main__":
    main()
