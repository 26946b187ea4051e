"""What runs in one process: a list of named tests, whose outcomes are printed as JSON lines for
tools/check-device.

A line {"start": name} comes before each test, so that the parent knows which one hangs.
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


class Skip(Exception):
    """This machine or bundle lacks what the test needs."""


class Failed(AssertionError):
    """What the test found, with its numbers in `details`."""

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message)
        self.details = details


@dataclass(frozen=True)
class Test:
    """kernel: the bundled kernel it is about; the others' tests go on when this one's hangs. run
    returns numbers."""

    name: str
    kernel: str
    run: Callable[[], dict[str, Any] | None]


def run_tests(tests: list[Test], after: int, without: set[str]) -> None:
    """Runs all from number `after` on whose kernel is not in `without`."""
    say({"tests": [test.name for test in tests]})
    for number, test in enumerate(tests):
        if number < after:
            continue
        if test.kernel in without:
            say(
                {
                    "number": number,
                    "name": test.name,
                    "status": "failed",
                    "message": f"not run: {test.kernel} hung before",
                }
            )
            continue
        say({"start": test.name, "number": number, "kernel": test.kernel})
        outcome: dict[str, Any] = {"number": number, "name": test.name, "status": "passed"}
        try:
            outcome |= test.run() or {}
        except Skip as reason:
            outcome |= {"status": "skipped", "message": str(reason)}
        except Failed as failure:
            outcome |= {"status": "failed", "message": str(failure), **failure.details}
        # A test that breaks off is one that failed; the next may still run.
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            outcome |= {
                "status": "failed",
                "message": f"{type(error).__name__}: {error}"[:2000],
                "place": f"{where.filename}:{where.lineno}",
            }
        say(outcome)


def say(line: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def demand(claim: Any, message: str, **details: Any) -> None:
    if not claim:
        raise Failed(message, **details)
