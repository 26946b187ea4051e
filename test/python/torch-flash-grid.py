# RUN: %torch_python %s
# REQUIRES: torch, plain-libdash
"""The grid of test/Device/flash_grid.py: all of it is drawn, small problems are right by its rule
on the CPU, and a result that is spoilt is not."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

import on_cpu  # noqa: E402, F401
from fixtures import SOURCE  # noqa: E402

sys.path.insert(0, str(SOURCE / "test/Device"))

import flash_grid as grid  # noqa: E402

grid.DEVICE = "cpu"
TINY = 130  # rows


def all_of_it_is_drawn() -> None:
    found = grid.problems(0, 220)
    assert found == grid.problems(0, 220) != grid.problems(1, 220)
    assert {one.dims for one in found} == set(grid.DIMS)
    assert {one.lengths for one in found} == set(grid.LENGTHS)
    for name in ("element", "causal", "softcap", "has_sink", "is_packed"):
        assert len({getattr(one, name) for one in found}) == 2, name
    assert all(one.cut % grid.DIMS[one.dims] == 0 for one in found)
    packed = [grid.sequences(one) for one in found if one.is_packed]
    assert any(0 in pair for lengths in packed for pair in lengths)


def small_ones() -> list[grid.One]:
    """One of each kind."""
    drawn = [one for one in grid.problems(2, 12000) if 1 < one.lengths[0] < TINY > one.lengths[1]]
    kinds: dict[Any, grid.One] = {}
    for one in drawn:
        kinds.setdefault((one.is_packed, one.has_sink, one.cut > 0, one.softcap > 0), one)
    assert len(kinds) == 16, kinds
    return list(kinds.values())


def they_are_right() -> None:
    for one in small_ones():
        found = grid.check(one, time.time() + 60)
        assert found and not found["wrong"], found
    assert grid.check(one, time.time() - 1) is None


def what_is_spoilt_is_wrong() -> None:
    computed, (one, *_) = grid.computed, small_ones()
    for number, name in enumerate(grid.NAMES):
        for spoil in (lambda x: x + 0.2, lambda x: x.fill_(float("nan"))):

            def spoilt(*given: Any, number: int = number, spoil: Any = spoil) -> Any:
                found = computed(*given)
                found[number][-1:] = spoil(found[number][-1:])
                return found

            grid.computed = spoilt
            assert grid.check(one, time.time() + 60)["wrong"] == [name]
    grid.computed = computed


all_of_it_is_drawn()
they_are_right()
what_is_spoilt_is_wrong()
