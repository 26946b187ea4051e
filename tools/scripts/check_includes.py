#!/usr/bin/env python3
"""Checks that modules of C++ include each other in no circle, and that a base name is one module's.

A module is what a stage has under one base name: X.h and X.cpp, wherever in the stage they lie;
each tool is a stage. A class may be spread over several .cpp: those that no file includes close no
circle. Headers of the C API are below all that is written in C++, which may use their types, and
its sources above, so those are two modules, which share a name. Each stage has a Passes.h, as
everywhere in MLIR; other names stand once in the tree.
"""

import re
from pathlib import Path

import house

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+\.h)"')
C_API = ("dash-c", "CAPI", "libdash")  # its headers, and where they are defined
OF_EACH_STAGE = {"Passes"}


def stage_of(path):
    """The stage that a source is of, or None for what is neither in lib, nor in include, nor a
    tool's."""
    parts = path.parts
    if parts[:2] == ("include", "dash") and len(parts) > 3:
        return parts[2]
    return (
        parts[1]
        if len(parts) > 2 and (parts[0] in ("lib", "tools") or parts[:2] == ("include", "dash-c"))
        else None
    )


def module_of(path):
    return f"{stage_of(path)}/{path.stem}"


def included(root, path):
    """The headers of ours that a source includes, each with the first line that does."""
    found = {}
    # In the order of the compiler.
    folders = [path.parent, Path("lib") / stage_of(path), Path("include")]
    for number, line in enumerate(house.read(root / path).splitlines(), 1):
        if match := INCLUDE.match(line):
            header = next(
                (folder / match[1] for folder in folders if (root / folder / match[1]).is_file()),
                None,
            )
            if header and stage_of(header):
                found.setdefault(header, number)
    return found


def are_one(path, other):
    """Whether two files of one base name are one thing: a stage's X.h and X.cpp, or those of the C
    API."""
    stages = {stage_of(path), stage_of(other)}
    return path.suffix != other.suffix and (len(stages) == 1 or stages <= set(C_API))


def check_names(paths, findings):
    first = {}
    for path in paths:
        if path.stem in OF_EACH_STAGE:
            continue
        one = next((other for other in first.get(path.stem, ()) if not are_one(path, other)), None)
        if one:
            findings.add(
                path,
                1,
                f"expected a base name of its own, found that of {one}; rename one of them by what"
                " it is",
            )
        first.setdefault(path.stem, []).append(path)


def main():
    arguments = house.parse_arguments(__doc__)
    findings = house.Findings("includes")
    paths = [path for path in house.project_files(arguments.root, ".cpp", ".h") if stage_of(path)]
    graph = {}  # for each module those that it includes, each with the first place that does
    for path in paths:
        module = graph.setdefault(module_of(path), {})
        for header, line in included(arguments.root, path).items():
            if module_of(header) != module_of(path):
                module.setdefault(module_of(header), (path, line))
    while circle := house.circle_in(graph):
        one, other = circle[0], circle[1]
        findings.add(
            *graph[one].pop(other),
            f"expected includes that go one way, found the circle {' -> '.join([*circle, one])}; "
            "move what they share to a module that includes none of them",
        )
    check_names(paths, findings)
    findings.finish()


if __name__ == "__main__":
    main()
