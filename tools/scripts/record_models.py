#!/usr/bin/env python3
"""record_models.py RESULT… - which models of transformers dash serves, in python/models.md: a row
for each, from test/Device/compare_models.py --json.

  tools/scripts/record_models.py OLD.json NEW.json  writes the table of one version or two

RESULT is also a record of device tests, whose test "models of transformers" has the rows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import house

PAGE = Path("python/models.md")
BEGIN, END = "<!-- models -->\n", "<!-- end models -->"
# Columns, and the cases of each: a cell says the same of all, or of each.
COLUMNS = {
    "trained": ("plain", "mask of ones"),
    "packed": ("packed",),
    "with offsets": ("packed, offsets",),
    "cached": ("cache", "cache, from 1", "cache, pieces"),
    "static buffer": ("static, 1", "static, 12", "static, decoding"),
}
SERVED, ABSENT = "yes", "–"
# Why a model is refused, in a word, by what the message has.
REASONS = {
    "mask": "found one that computes with it",
    "pattern": "as of blocks",
    "bias": "no position_bias",
    "softcap": "no softcap",
    "documents": "as of packed documents",
    "positions": "a model that takes position_ids",
    "causal": "as is_causal=",
    "window": "as sliding_window=",
    "sizes": "columns as the mask has",
    "head dim": "a head dim that is",
    "v": "v: expected the shape of k",
    "own mask": "made in another way",
    "static": "whose length the host knows",
    "argument": "at the attention of a layer",
    "offsets": "cu_seq_lens_q at each layer",
    "aligned": "are one token",
}


def word(outcome: list[str]) -> str:
    state, why = outcome
    if state == "served":
        return SERVED
    if state == "absent":
        return "own" if "its attention is its own" in why else ABSENT
    if state == "refused":
        return next((name for name, text in REASONS.items() if text in why), "refused")
    return state.upper()


def cells(row: dict[str, Any]) -> list[str]:
    found = row.get("cases", {})
    words = [
        list(
            dict.fromkeys(
                word(found[name]) for name in names if name in found and word(found[name]) != ABSENT
            )
        )
        for names in COLUMNS.values()
    ]
    return [", ".join(one) or ABSENT for one in words]


def rows_of(results: list[dict[str, Any]]) -> Iterator[str]:
    """Models of which something can be said, by kind and name. What differs between versions is
    said of each."""
    by_model = [
        {(row["kind"], row["type"]): cells(row) for row in result["rows"]} for result in results
    ]
    for kind, model in sorted(set().union(*by_model)):
        each = [one[kind, model] for one in by_model if (kind, model) in one]
        if all(cell == ABSENT for one in each for cell in one):
            continue
        versions = (
            ""
            if len(each) == len(results)
            else next(
                result["transformers"]
                for result, one in zip(results, by_model)
                if (kind, model) in one
            )
        )
        merged = [" → ".join(dict.fromkeys(column)) for column in zip(*each)]
        yield f"| {model} | {kind} | {' | '.join(merged)} | {versions} |"


def result_of(path: Path) -> dict[str, Any]:
    given = json.loads(house.read(path))
    return (
        next((test for test in given["tests"] if test["name"] == "models of transformers"), None)
        if "tests" in given
        else given
    )


def table(results: list[dict[str, Any]]) -> str:
    lines = list(rows_of(results))
    absent = [
        len(
            {(row["kind"], row["type"]) for row in result["rows"]}
            - {tuple(re.split(r" \| ", line[2:])[1::-1]) for line in lines}
        )
        for result in results
    ]
    versions = " and ".join(result["transformers"] for result in results)
    counts = ", ".join(
        f"{number} of {result['transformers']}" for number, result in zip(absent, results)
    )
    return (
        f"\n{len(lines)} models of transformers {versions}. Not compared, because the script makes"
        f" no small one of them or eager needs more than a text or an image: {counts}.\n\n| model |"
        f" kind | {' | '.join(COLUMNS)} | only in |\n|{'---|' * (len(COLUMNS) + 3)}\n"
        + "\n".join(lines)
        + "\n\n"
    )


def main() -> None:
    arguments = house.parse_arguments(
        __doc__, results={"positional": True, "nargs": "+", "type": Path, "metavar": "RESULT"}
    )
    page = house.read(arguments.root / PAGE)
    before, rest = page.split(BEGIN)
    (arguments.root / PAGE).write_text(
        before
        + BEGIN
        + table([result_of(path) for path in arguments.results])
        + END
        + rest.split(END)[1],
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
