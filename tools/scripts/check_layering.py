#!/usr/bin/env python3
"""Checks that includes go one way, and where files may stand.

HANDED says for each folder which others it is handed headers of, beside its own, IR and Support. A
stage of the flow is handed what the one before it leaves; Cpu and Protocol are ways out, which hand
over to no stage; Hopper is the vocabulary of a target. What is handed is never a Passes.h: only
Driver puts passes in order. Launch stands beside the flow: it knows manifests, not the compiler, so
it includes itself and Support alone, and nothing of MLIR. World stands beside them, too: of the
compiler it asks Schedule for prices and for its reader of JSON; only the C API and tools include
it. Support includes nothing of ours, and nothing of MLIR. Driver, the C API and the tools may
include every folder. Nothing includes them.
"""

import re

import house

BELOW = "Support"  # included by all, includes nothing of ours
HANDED = {  # in the order of the flow
    "IR": (),
    "Schedule": (),
    "Cpu": ("Schedule",),
    "Pipeline": ("Schedule",),
    "Hopper": (),
    "Steps": ("Pipeline",),
    "Protocol": ("Steps",),
    "Entries": ("Pipeline", "Hopper"),
    "Main": ("Pipeline", "Entries", "Hopper"),
    "Target": (),
}
WAYS_OUT = {"Cpu", "Protocol"}  # hand over to no stage
APART = {"Launch"}  # no stage: what runs without a compiler
BESIDE = {"World": ("Schedule", ("JsonFile.h", "Prices.h"))}  # no stage: what it asks of which
ABOVE = {"Driver", "CAPI"}  # include all
PLACES = {folder: number for number, folder in enumerate(HANDED)}
FOLDERS = [BELOW, *HANDED, *sorted(ABOVE), *sorted(APART), *BESIDE]
INCLUDE = re.compile(r'^\s*(?:#\s*)?include\s+"dash/([A-Za-z]+)/([^"]+)"')
MLIR = re.compile(r'^\s*#\s*include\s+"mlir/')
TOP_LEVEL = {
    "CHANGELOG.md",
    "CITATION.cff",
    "CMakeLists.txt",
    "CMakePresets.json",
    "LICENSE",
    "README.md",
    "pyproject.toml",
    "lib",
    "include",
    "tools",
    "dialects",
    "test",
    "python",
}


def stage_of(path):
    """The stage that a file belongs to, or None for tools and tests."""
    parts = path.parts
    if parts[0] == "lib" and len(parts) > 2:
        return parts[1]
    if parts[0] in ("include", "dialects") and parts[1] == "dash" and len(parts) > 3:
        return parts[2]
    return None


def refusal(stage, other, header):
    """Why a file of `stage` may not include dash/<other>/<header>, or None."""
    if other not in FOLDERS:
        return f"expected one of the stages {', '.join(FOLDERS)}, found '{other}'"
    if other in BESIDE and stage not in (other, "CAPI"):
        return (
            f"{other} is for the C API and tools, found it in {stage}; what it plans follows from"
            " kernels, not the other way round"
        )
    if stage in BESIDE and other not in (stage, BELOW):
        of, headers = BESIDE[stage]
        return (
            None
            if other == of and header in headers
            else (
                f"{stage} asks {of} for {' and '.join(headers)}, found '{other}/{header}'; move"
                f" what it needs to {BELOW}"
            )
        )
    if stage in ABOVE or other in (stage, BELOW):
        return None
    if stage in APART:
        return (
            f"{stage} includes itself and {BELOW}, found '{other}'; it knows kernels by their"
            " manifests only"
        )
    if other in APART:
        return f"{other} is for the C API, found it in {stage}; the compiler launches nothing"
    if stage == BELOW:
        return f"{BELOW} includes no stage, found '{other}'; move what it needs out of {BELOW}"
    if other == "IR":
        return None
    if other in WAYS_OUT:
        return (
            f"{other} is a way out, which only Driver includes; move what both need to {BELOW}"
            " or IR"
        )
    if other in ABOVE or PLACES[other] > PLACES[stage]:
        return (
            f"{stage} comes before {other} and must not include it; move what both need to {BELOW}"
            " or IR"
        )
    if other not in HANDED[stage]:
        allowed = " and ".join(["IR", *HANDED[stage]])
        return f"{stage} may include {allowed}, found '{other}'; let one of them hand it over"
    if header.startswith("Passes."):
        return (
            f"only Driver puts passes in order; {stage} may include other headers of {other}, found"
            f" '{header}'"
        )
    return None


def main():
    arguments = house.parse_arguments(__doc__)
    findings = house.Findings("layering")
    for path in house.project_files(arguments.root):
        top = path.parts[0]
        if top not in TOP_LEVEL and not top.startswith("."):
            findings.add(
                path,
                1,
                f"expected the top level to hold {', '.join(sorted(TOP_LEVEL))}, found '{top}'; "
                "move it below one of these",
            )
    for path in house.project_files(arguments.root, ".cpp", ".h", ".td"):
        stage = stage_of(path)
        if stage is None:
            continue
        if stage not in FOLDERS:
            findings.add(path, 1, f"expected a folder of {', '.join(FOLDERS)}, found '{stage}'")
            continue
        for number, line in enumerate(house.read(arguments.root / path).splitlines(), 1):
            match = INCLUDE.match(line)
            reason = match and refusal(stage, match[1], match[2])
            if (stage in APART or stage in BESIDE or stage == BELOW) and MLIR.match(line):
                reason = f"{stage} includes nothing of MLIR; take it from llvm/ADT or llvm/Support"
            if reason:
                findings.add(path, number, reason)
    findings.finish()


if __name__ == "__main__":
    main()
