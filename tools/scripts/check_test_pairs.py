#!/usr/bin/env python3
"""Checks that every pass and op has its tests: one of what it does, one of each mistake it refuses.

A pass --dash-apply-schedule of stage Schedule has lib/Schedule/ApplySchedule.cpp,
test/Schedule/apply-schedule.mlir and, if it can fail, test/Schedule/apply-schedule-invalid.mlir. A
flag may leave out an object that is its stage's: --dash-explain is ExplainSchedule. An op stands in
a test of its stage and, if it has a verifier, in one with -verify-diagnostics. And no script has
the name of a test.
"""

import re

import house
import specification

FAILS = re.compile(r"emitError|emitOpError|signalPassFailure|failure\(\)")

# How a test quotes an error: at its place in the IR; or, where it has none (a file, an option),
# from the error output.
QUOTES = re.compile(r"verify-diagnostics|\bnot dash-opt\b")


def check_pass(root, one, findings):
    words = one.name.removeprefix("dash-")
    name = "".join(word.capitalize() for word in words.split("-"))
    if one.record == name + one.stage:
        name, words = one.record, f"{words}-{one.stage.lower()}"
    source = root / "lib" / one.stage / f"{name}.cpp"
    test = f"test/{one.stage}/{words}.mlir"
    if one.record != name:
        findings.add(
            one.path,
            one.line,
            f"pass '{one.name}': expected its record to be named {name}, found {one.record}",
        )
    if not source.is_file():
        findings.add(
            one.path,
            one.line,
            f"pass '{one.name}': expected lib/{one.stage}/{name}.cpp, found no such file",
        )
    if not (root / test).is_file():
        findings.add(one.path, one.line, f"pass '{one.name}': expected {test}, found no such file")
    invalid = test.replace(".mlir", "-invalid.mlir")
    if source.is_file() and FAILS.search(house.read(source)) and not (root / invalid).is_file():
        findings.add(
            one.path,
            one.line,
            f"pass '{one.name}': expected {invalid}, because the pass can fail; found no such file",
        )


def check_op(one, tests, findings):
    use = re.compile(rf"\bdash\.{re.escape(one.name)}\b")
    where = [
        path for path, text in tests.items() if path.parts[1] == one.stage and use.search(text)
    ]
    if not where:
        findings.add(
            one.path,
            one.line,
            f"op '{one.name}': expected a test in test/{one.stage} that uses it, found none",
        )
    elif one.has_verifier and not any(QUOTES.search(tests[path]) for path in where):
        findings.add(
            one.path,
            one.line,
            f"op '{one.name}': expected a test with -verify-diagnostics in "
            f"test/{one.stage}, because it has a verifier; found none",
        )


def check_names(root, findings):
    """lit leaves out names, whatever their folder (test/lit.cfg.py): a script takes along a test
    that has its name."""
    tests, scripts = {}, {}
    for path in house.project_files(root, ".py"):
        if path.parts[0] == "test" and not {"Inputs", "lib"} & set(path.parts):
            (tests if "RUN:" in house.read(root / path) else scripts)[path.name] = path
    for name in sorted(tests.keys() & scripts.keys()):
        findings.add(
            tests[name],
            1,
            f"expected a name of its own, found that of the script {scripts[name]}, so lit leaves"
            " the test out; rename it",
        )


def main():
    arguments = house.parse_arguments(__doc__)
    findings = house.Findings("tests")
    tests = {
        path: house.read(arguments.root / path)
        for path in house.project_files(arguments.root, ".mlir")
        if path.parts[0] == "test"
    }
    for one in specification.entries(arguments.root):
        if one.kind == "pass":
            check_pass(arguments.root, one, findings)
        elif one.kind == "op":
            check_op(one, tests, findings)
    for path, text in tests.items():
        if path.stem.endswith("-invalid"):
            if not QUOTES.search(text):
                findings.add(
                    path,
                    1,
                    "expected -verify-diagnostics, or `not dash-opt` into FileCheck, in a test of "
                    "mistakes, found neither; an error that no test quotes may change unnoticed",
                )
    check_names(arguments.root, findings)
    findings.finish()


if __name__ == "__main__":
    main()
