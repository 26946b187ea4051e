#!/usr/bin/env python3
"""record_golden.py RECORD.json --why 'REASON' - takes hashes of gradients, o
and LSEs into test/Device/golden.json, for a change of bits that is meant. RECORD.json is of
`check-device BUNDLE --groups golden --record RECORD.json`, whose tests failed until then.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "test/Device"), str(ROOT / "python")]

import golden_values as values  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("record", type=Path)
    parser.add_argument("--why", required=True, help="what changed the bits, and why that is right")
    parser.add_argument("--file", type=Path, default=values.FILE)
    arguments = parser.parse_args()
    record = json.loads(arguments.record.read_text(encoding="utf-8"))
    golden = (
        values.read(arguments.file) if arguments.file.exists() else {"history": [], "hashes": {}}
    )
    tests = [test for test in record["tests"] if test["name"].startswith("golden ")]
    # A record keeps golden cases where one failed (test/Device/outcomes.py): where all passed it
    # has their group's line only.
    has_passed = not tests and any(name.startswith("golden ") for name in record["groups"])
    changed = [] if has_passed else take(golden, tests)
    if not changed:
        print("the record has the hashes of the file: nothing is changed")
        return 0
    machine = {name: record["machine"].get(name) for name in ("gpu", "driver")}
    golden["history"].append(
        {
            "date": record["date"][:10],
            "commit": record["commit"],
            "machine": machine,
            "why": arguments.why,
            "kernels": changed,
        }
    )
    arguments.file.write_text(json.dumps(golden, indent=1) + "\n", encoding="utf-8")
    print(f"hashes of {len(changed)} kernels are taken")
    return 0


def take(golden: dict[str, Any], tests: list[dict[str, Any]]) -> list[str]:
    """Puts hashes of plain kernels into the file; returns the kernels whose hashes changed. Exits
    where the record is none of bits that are to be held: a test gave none, or a build for tests
    gives others than its kernel."""
    without = [test["name"] for test in tests if "hashes" not in test]
    if without or not tests:
        sys.exit(
            "error: expected hashes from each test of the group golden, found none from "
            + (", ".join(without) or "the record")
        )
    changed = []
    for test in tests:
        name, problem, found = test["kernel"], test["problem"], test["hashes"]
        if values.plain_name(name) == name and golden["hashes"].get(name, {}).get(problem) != found:
            golden["hashes"].setdefault(name, {})[problem] = found
            changed.append(name)
    for test in tests:
        different = values.difference(golden, test["kernel"], test["problem"], test["hashes"])
        if different:
            sys.exit(
                f"error: {test['kernel']} {test['problem']} is not"
                f" {values.plain_name(test['kernel'])}: {different}"
            )
    return list(dict.fromkeys(changed))


if __name__ == "__main__":
    sys.exit(main())
