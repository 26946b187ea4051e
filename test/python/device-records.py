# RUN: rm -rf %t && mkdir -p %t
# RUN: env PYTHONPATH=%dash_src/python:%dash_src/test/Device %python %s %t
# REQUIRES: python
"""A record keeps what outcomes of device tests are evidence of, in lines that say what they are."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

from outcomes import fold

from dash_attn.support.records import COLUMNS, read, text_of, write_record

TMP = Path(sys.argv[1])


def golden(number: int, **more: Any) -> dict[str, Any]:
    return {
        "number": number,
        "name": f"golden k p{number}",
        "status": "passed",
        "kernel": "k",
        "problem": f"p{number}",
        "hashes": {"dq": f"{number:016x}", "dk": "f" * 16},
        "errors": {"dq": 0.001 * number, "dk": 0.00123456},
    } | more


def cases_are_folded() -> None:
    line, kept = fold([golden(1), golden(2)])
    text = (
        "golden k p1 dk ffffffffffffffff\ngolden k p1 dq 0000000000000001\ngolden k p2 dk"
        " ffffffffffffffff\ngolden k p2 dq 0000000000000002\n"
    )
    assert line == {
        "passed": 2,
        "errors": {"dq": 0.002, "dk": 0.00123},
        "hashes": hashlib.sha256(text.encode()).hexdigest()[:16],
    }, line
    assert kept == []
    assert (
        fold([golden(2), golden(1)])[0] == line
        and fold([golden(1), golden(3)])[0]["hashes"] != line["hashes"]
    )
    line, kept = fold(
        [
            {
                "name": f"repeat {i}",
                "status": "passed",
                "repeats": 10 * i,
                "longest_chain": i,
                "peer": "flash",
            }
            for i in (3, 1)
        ]
    )
    assert (line, kept) == ({"passed": 2, "longest_chain": 3, "repeats": 40}, [])


def what_is_not_passed_stays() -> None:
    skipped = {
        "number": 7,
        "name": "launch k graph",
        "status": "skipped",
        "message": "its sizes are fixed",
    }
    line, kept = fold([{"name": "launch k plain", "status": "passed"}, skipped])
    assert line == {"passed": 1, "skipped": 1}
    assert kept == [
        {"name": "launch k graph", "status": "skipped", "message": "its sizes are fixed"}
    ], kept
    # Hashes of the cases beside one that failed are those that a new golden file takes; other
    # groups keep the failed case alone.
    failed = golden(2, status="failed", message="x" * 301)
    line, kept = fold([golden(1), failed])
    assert line["passed"] == line["failed"] == 1 and [case["name"] for case in kept] == [
        "golden k p1",
        "golden k p2",
    ]
    assert kept[0]["hashes"] == golden(1)["hashes"] and kept[1]["message"] == "x" * 300 + "..."
    assert [
        case["status"]
        for case in fold([{"name": "a", "status": "failed"}, {"name": "b", "status": "passed"}])[1]
    ] == ["failed"]


def what_says_more_stays() -> None:
    for more in (
        {"milliseconds": {"dash": 1.5}},
        {"differing": 12},
        {"served": ["a"]},
        {"modes": ["dynamic"]},
    ):
        case = {"name": "a", "status": "passed", "repeats": 2, **more}
        line, kept = fold([case])
        assert kept == [case] and line == {"passed": 1, "repeats": 2}, (line, kept)


def text_is_lines_of_cases() -> None:
    row = {"name": "a" * 100, "ms": [1.23456789, 2, True, None], "more": {"x": 1e-9}}
    record = {
        "gpu": "µ",
        "empty": [],
        "counts": {"passed": 2},
        "results": [row, row],
        "seeds": list(range(300)),
        5: "a number",
    }
    text = text_of(record)
    assert json.loads(text) == {
        **{str(key): value for key, value in record.items()},
        "results": [row | {"ms": [1.23457, 2, True, None]}] * 2,
    }
    lines = text.splitlines()
    assert lines[:5] == [
        "{",
        ' "gpu": "µ",',
        ' "empty": [],',
        ' "counts": {"passed": 2},',
        ' "results": [',
    ], lines
    assert (
        len(lines[5]) < COLUMNS
        and lines[5].startswith('  {"name": "aaa')
        and lines[5].endswith("},")
        and lines[6] + "," == lines[5]
    )
    # 300 numbers fill their lines.
    assert max(map(len, lines)) <= COLUMNS and len(lines) == 16, lines
    assert text_of(json.loads(text)) == text
    assert text_of(float("inf")) == "Infinity\n" and text_of({}) == "{}\n"
    wide = text_of({"results": [{"a": "x" * 250, "b": "y" * 250}]}).splitlines()
    assert [line.strip()[:4] for line in wide] == [
        "{",
        '"res',
        "{",
        '"a":',
        '"b":',
        "}",
        "]",
        "}",
    ], wide
    write_record(TMP / "record.json", record)
    assert (TMP / "record.json").read_text(encoding="utf-8") == text and read(
        TMP / "record.json"
    ) == json.loads(text)


for test in (
    cases_are_folded,
    what_is_not_passed_stays,
    what_says_more_stays,
    text_is_lines_of_cases,
):
    test()
