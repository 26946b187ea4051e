"""What a record keeps of the outcomes of a group of device tests: how many passed, with the largest
errors, the sums of their counts and one hash over their hashes; and as cases of their own those
that failed, were skipped, or found something that is neither.

Where one failed, the group's cases with hashes are kept, too: tools/scripts/record_golden.py takes
new ones from them.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import Any

ERRORS = ("errors", "ours", "theirs", "worst", "o", "o_rounded", "lse", "longest_chain", "stride")
COUNTS = (
    "repeats",
    "long_repeats",
    "replays",
    "replayed",
    "runs",
    "elements",
    "lists",
    "tiles",
    "pieces",
    "checked",
    "sequences",
    "served",
    "kept",
    "problems",
)
HASHES = "hashes"
# What the test says of itself, each time it runs.
SAME = ("number", "name", "status", "kernel", "problem", "peer", "refusal", "heads")
TEXT = 300  # characters of what a case says; the whole stands in check-device's output


def fold(outcomes: list[dict[str, Any]]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The group's line, and the cases that are kept beside it."""
    has_failed = any(outcome["status"] == "failed" for outcome in outcomes)
    kept = [
        outcome
        for outcome in outcomes
        if outcome["status"] != "passed" or says_more(outcome) or has_failed and HASHES in outcome
    ]
    passed = [outcome for outcome in outcomes if outcome["status"] == "passed"]
    line: dict[str, Any] = dict(Counter(outcome["status"] for outcome in outcomes))
    for name in ERRORS:
        found = [outcome[name] for outcome in passed if name in outcome]
        if found:
            line[name] = largest(found)
    for name in COUNTS:
        counts = [outcome[name] for outcome in passed if isinstance(outcome.get(name), int)]
        if counts:
            line[name] = sum(counts)
    hashes = [
        f"{outcome['name']} {name} {value}\n"
        for outcome in passed
        for name, value in outcome.get(HASHES, {}).items()
    ]
    if hashes:
        line[HASHES] = hashlib.sha256("".join(sorted(hashes)).encode()).hexdigest()[:16]
    return line, [shortened(outcome) for outcome in kept]


def says_more(outcome: dict[str, Any]) -> bool:
    return any(
        name not in (*ERRORS, *COUNTS, HASHES, *SAME)
        or name in COUNTS
        and not isinstance(value, int)
        for name, value in outcome.items()
    )


def largest(found: list[Any]) -> Any:
    """The largest of numbers, or of each output where they are by outputs."""
    if all(isinstance(one, dict) for one in found):
        names = dict.fromkeys(name for one in found for name in one)
        return {name: largest([one[name] for one in found if name in one]) for name in names}
    most = max(found)
    return float(f"{most:.3g}") if isinstance(most, float) else most


def shortened(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: shortened(one) for name, one in value.items() if name != "number"}
    if isinstance(value, list):
        return [shortened(one) for one in value]
    return f"{value[:TEXT]}..." if isinstance(value, str) and len(value) > TEXT else value
