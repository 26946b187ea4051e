#!/usr/bin/env python3
"""Prints "passed failed skipped" of a result file that lit wrote (--output), for tools/check."""

import json
import sys

PASSED = {"PASS", "FLAKYPASS", "XFAIL"}
SKIPPED = {"UNSUPPORTED", "SKIPPED", "EXCLUDED"}


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: count_results.py RESULTS.json")
    try:
        with open(sys.argv[1], encoding="utf-8") as file:
            tests = json.load(file)["tests"]
    except (OSError, ValueError, KeyError) as error:
        sys.exit(f"error: expected a result file of lit in {sys.argv[1]}, found: {error}")
    if not tests:
        sys.exit(f"error: expected at least one test in {sys.argv[1]}, found none")
    passed = sum(test["code"] in PASSED for test in tests)
    skipped = sum(test["code"] in SKIPPED for test in tests)
    # Whatever is neither counts as failed: FAIL, XPASS, UNRESOLVED, TIMEOUT, and codes to come.
    print(passed, len(tests) - passed - skipped, skipped)


if __name__ == "__main__":
    main()
