# RUN: %torch_python %s
# REQUIRES: torch, plain-libdash
"""The grid of test/Device/torch_grid.py: all of it is drawn; problems are right by its rule where
PyTorch's formula in 16 bits computes them; and what is spoilt, not served, served, or without the
bits of PyTorch's own o is not."""

from __future__ import annotations

import contextlib
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

import on_cpu  # noqa: E402, F401
from fixtures import SOURCE  # noqa: E402

sys.path.insert(0, str(SOURCE / "test/Device"))

import grids  # noqa: E402
import torch  # noqa: E402
import torch_grid as grid  # noqa: E402

grid.DEVICE = "cpu"
SMALL = 150  # rows
UNDER_WAY: list[SimpleNamespace] = []  # what stands for enable()
REFUSED = "no available kernel"


@contextlib.contextmanager
def enabled() -> Iterator[SimpleNamespace]:
    UNDER_WAY.append(SimpleNamespace(served=Counter(), left=Counter()))
    yield UNDER_WAY[-1]
    UNDER_WAY.pop()


def computed(one: grid.One, given: grid.Tensors) -> grid.Tensors:
    """By PyTorch's formula, which counts as served or left as the problem must be."""
    if one.backend == grid.CUDNN and one.head_dim == 8:
        raise RuntimeError(REFUSED)
    for ours in UNDER_WAY:
        for name in ("forward", "forward_backward"):
            if one.must_be_served:
                ours.served[name] += 1
            else:
                ours.left[name, "a reason"] += 1
    return grid.by_formula(one, given, grid.DTYPES[one.element])


grid.enable, grid.computed = enabled, computed


def all_of_it_is_drawn() -> None:
    found = grid.problems(0, 320)
    assert found == grid.problems(0, 320) != grid.problems(1, 320)
    for name, dims in grid.HEAD_DIMS.items():
        assert {one.head_dim for one in found if one.backend == name} == set(dims), name
    assert {one.lengths[0] for one in found} == {*grid.Q_ROWS, *grid.KV_ROWS}
    assert {one.lengths[1] for one in found} == set(grid.KV_ROWS)
    for name, count in (("batch", 2), ("heads", 3), ("element", 3), ("causal", 2), ("dropout", 3)):
        assert len({getattr(one, name) for one in found}) == count, name
    squares = [one.lengths[0] == one.lengths[1] for one in found if one.causal]
    assert {True, False} == set(squares) and sum(one.must_be_served for one in found) > 200
    assert not any(
        one.causal and one.lengths[0] != one.lengths[1]
        for one in found
        if one.backend == grid.FLASH
    )


def small_ones() -> list[grid.One]:
    """One of each kind."""
    kinds: dict[Any, grid.One] = {}
    for one in grid.problems(1, 3000):
        if max(one.lengths) < SMALL and one.head_dim <= 128 and one.lengths[0] > 4:
            kinds.setdefault((one.backend, one.element, one.causal, bool(one.dropout)), one)
    assert len(kinds) == 28, len(kinds)
    return list(kinds.values())


def checked(one: grid.One) -> dict[str, Any]:
    found = grid.check(one, time.time() + 60)
    assert found and found["case"] == one.name
    return found


def they_are_right() -> None:
    every = [checked(one) for one in small_ones()]
    assert not any(one.get("wrong") for one in every), every
    found = grid.summed(every)
    assert found["served"] + found["left"]["a reason"] + found["refused"] == len(every), found
    assert 0 < found["of_bound"]["o"] <= 1 and found["of_theirs"]["o"] == 1, found
    assert grid.check(small_ones()[0], time.time() - 1) is None
    refused = grid.One(grid.CUDNN, 8, (4, 4), 1, (4, 4), "f16", False, False, 0.0, 1)
    assert checked(refused) == {"case": refused.name, "refused": REFUSED}

    def fail(one: grid.One, given: grid.Tensors) -> grid.Tensors:
        raise RuntimeError(f"CUDA error, {REFUSED}" if one.backend == grid.CUDNN else REFUSED)

    grid.computed = fail
    for backend in (grid.CUDNN, grid.FLASH):
        found = grids.outcome(grid.check, refused._replace(backend=backend), time.time() + 60)
        assert found and found["failed"].endswith(REFUSED), found
    grid.computed = computed


def what_is_spoilt_is_wrong() -> None:
    """In both runs, or in the first of them."""
    one = next(one for one in small_ones() if one.must_be_served)
    left = next(one for one in small_ones() if not one.must_be_served and not one.dropout)
    for number, name in enumerate(grid.NAMES):
        for more in (10.0, float("nan")):
            for are_both in (True, False):
                with spoilt(number, more, are_both):
                    found = checked(one)["wrong"]
                runs = ["runs"] * (not are_both or more != more)
                assert found == [*runs, name], (name, more, are_both, found)
    with spoilt(0, 1e-3, True):
        assert "bits of o" in checked(left)["wrong"]
    with spoilt(1, 1e-4, False):
        found = checked(left)
        assert found["repeated"] is False and "runs" not in found["wrong"], found


@contextlib.contextmanager
def spoilt(number: int, more: float, are_both: bool) -> Iterator[None]:
    """What enable() serves has another last element."""
    calls: list[int] = []

    def found(one: grid.One, given: grid.Tensors) -> grid.Tensors:
        every = computed(one, given)
        if UNDER_WAY and (are_both or not calls):
            calls.append(1)
            every[number][-1, -1, -1, -1:] += more
        return every

    grid.computed = found
    yield
    grid.computed = computed


def what_is_counted_wrongly_is_wrong() -> None:
    def others(problem: grid.One, given: grid.Tensors) -> grid.Tensors:
        return computed(problem._replace(dropout=0.0 if problem.dropout else 0.5), given)

    served = next(one for one in small_ones() if one.must_be_served)
    left = next(one for one in small_ones() if one.dropout and one.element != "f32")
    left = left._replace(causal=False)
    grid.computed = others
    assert checked(served)["wrong"] == ["left"]
    assert checked(left)["wrong"] == ["served"]
    grid.computed = computed


all_of_it_is_drawn()
they_are_right()
what_is_spoilt_is_wrong()
what_is_counted_wrongly_is_wrong()
