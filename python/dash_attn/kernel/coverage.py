"""Which problems kernels cover. libdash says it, from what the compiler and the launcher
enforce; front ends only ask."""

from __future__ import annotations

import ctypes
import functools
from typing import NamedTuple

from ..errors import ArgumentError
from .library import CoverageOf, Problem, StringRef, fill, library

UNKNOWN = -1  # of a number: it is not looked at
_NUMBERS = tuple(name for name, kind in Problem._fields_ if kind is ctypes.c_int64)


class Coverage(NamedTuple):
    """How a problem is computed, and what holds of all. batch, kv_heads: of one launch, fewer
    than the problem has where it is computed in slices; rows, sequences: the most of each;
    capability: 90 is 9.0; head dims are multiples of head_dim_multiple up to head_dim;
    alignment: bytes, stride_multiple: elements. tasks: tiles in which dS can go from the program of
    dk and dv to that of dq, 0 where it cannot."""

    batch: int
    kv_heads: int
    rows: int
    sequences: int
    capability: int
    head_dim_multiple: int
    head_dim: int
    alignment: int
    stride_multiple: int
    tasks: int


def ask(
    *,
    element: str = "",
    level: str = "",
    device: str = "",
    window: tuple[int, int] = (-1, -1),
    **numbers: float,
) -> Coverage | str:
    """The coverage of a problem, or why no kernel computes it. numbers: of dash-c/Coverage.h,
    those that are known. Compiled programs take it for a constant, so they ask about constants."""
    return _asked(element, level, device, window, tuple(sorted(numbers.items())))


def limits() -> Coverage:
    """What holds of every problem."""
    found = ask()
    assert isinstance(found, Coverage)
    return found


@functools.lru_cache(maxsize=4096)
def _asked(
    element: str,
    level: str,
    device: str,
    window: tuple[int, int],
    numbers: tuple[tuple[str, float], ...],
) -> Coverage | str:
    texts = [text.encode(errors="replace") for text in (element, level, device)]
    problem = Problem(*map(StringRef.of, texts))
    given = (
        dict.fromkeys(_NUMBERS, UNKNOWN)
        | {"sequences": 0, "left": window[0], "right": window[1]}
        | dict(numbers)
    )
    for name, number in given.items():
        is_float = isinstance(number, float)
        setattr(problem, name, number if is_float else max(-(2**63), min(number, 2**63 - 1)))
    try:
        found = fill(CoverageOf(), library().dashCompilerCovers, ctypes.byref(problem))
    except ArgumentError as error:
        return str(error)
    return Coverage(
        found.batch,
        found.kv_heads,
        found.rows,
        found.sequences,
        found.capability,
        found.head_dim_multiple,
        found.head_dim,
        found.alignment,
        found.stride_multiple,
        found.tasks,
    )
