"""Checks a schedule report, independently of the compiler that wrote it.

    check_report.py FILE.json

prints a line for each difference and exits with 1 if there is one. No test by itself: other tests
run it on what dash-opt reports.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))

from checks import document_differences  # noqa: E402
from report import read  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path, help="the report document, or - for standard input")
    file = parser.parse_args().file
    try:
        document = json.load(sys.stdin) if str(file) == "-" else read(file)
    except (OSError, ValueError) as error:
        print(f"{file}: {error}")
        return 1
    lines = document_differences(document)
    for line in lines:
        print(f"{file}: {line}")
    if not lines:
        print(f"{file}: {len(document['schedules'])} schedule(s) as claimed")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
