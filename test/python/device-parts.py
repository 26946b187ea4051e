# RUN: env DASH_CACHE=off %torch_python %s
# REQUIRES: torch, plain-libdash
"""Parts of the scripts of test/Device, without a GPU: which run, what an unknown name gets, that
parts cover all cases, and what is counted as wrong."""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "Device"))

import by_parts  # noqa: E402
import masks  # noqa: E402
import q_tiles  # noqa: E402
import unrounded  # noqa: E402
import used_rows  # noqa: E402


def said(function: Any) -> tuple[Any, str]:
    """What it returns, or the status with which it ends, and what it prints."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
        try:
            found = function()
        except SystemExit as end:
            found = end.code
    return found, text.getvalue()


def chosen() -> None:
    parts = {"first": [lambda: 1, lambda: 2], "second": [lambda: 3], "third": []}
    for only, expected in (
        ([], {"first": [1, 2], "second": [3], "third": []}),
        (["--only", "second"], {"second": [3]}),
        (["--only", "second,first"], {"first": [1, 2], "second": [3]}),
    ):
        parser = argparse.ArgumentParser()
        by_parts.add_only(parser, parts)
        wanted = parser.parse_args(only).only
        found, text = said(lambda: by_parts.run_parts(parser, wanted, parts))
        assert found == expected, (only, found)
        assert all(f"{name}: 0 s" in text for name in expected), text
    found, text = said(lambda: by_parts.run_parts(parser, "first,fourth", parts))
    assert found == 2, found
    assert (
        "--only: expected some of first, second, third, separated by commas, found 'fourth'" in text
    ), text


def wrong() -> None:
    case = {"case": "one", "equal": {"repeats": True, "graph": False}}
    errors = {"o": 1e-3, "lse": 1e-5, "dq": float("nan")}
    found, text = said(lambda: by_parts.mistakes_in(case | {"errors": errors}, 6e-3, 2e-6))
    assert found == ["graph", "lse", "dq"] and "WRONG" in text, (found, text)
    assert said(lambda: by_parts.finish(None, found)) == (1, f"wrong: {found}\n")
    assert said(lambda: by_parts.finish(None, [])) == (0, "all right\n")


def scripts() -> None:
    ends = [begin for _, begin, _ in masks.PARTS[1:]] + [len(masks.CASES)]
    assert masks.PARTS[0][1] == 0 and [end for *_, end in masks.PARTS] == ends, "all cases, once"
    given = sys.argv
    for script, names in (
        (masks, "unions, head-dims, bitmaps, wide-bitmaps, lists, times"),
        (used_rows, "cases, graph, times"),
        (unrounded, "narrow, wide, lists, times"),
        (q_tiles, None),
    ):
        sys.argv = [script.__file__, "--only", "nothing"]
        status, text = said(script.main)
        assert status == 2, (script, status, text)
        if names:
            assert f"expected some of {names}, separated by commas, found 'nothing'" in text, text
    sys.argv = given


for test in (chosen, wrong, scripts):
    test()
