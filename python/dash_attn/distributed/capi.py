"""The part of libdash that makes worlds, by ctypes. What it means is in dash-c/World.h."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

from ..kernel.library import Handle, StringRef, library

NUMBERS = ctypes.POINTER(ctypes.c_int64)
NO_NUMBERS = NUMBERS()
WIDTHS = {"Runs": 5, "Kept": 3, "Messages": 13, "Buffers": 2, "Folds": 9}
LEAF_WIDTH = 5


class CProblem(ctypes.Structure):
    _fields_ = [
        ("documents", NUMBERS),
        ("num_documents", ctypes.c_size_t),
        ("heads", ctypes.c_int64),
        ("kv_heads", ctypes.c_int64),
        ("head_dim", ctypes.c_int64),
        ("element", StringRef),
        ("causal", ctypes.c_int32),
        ("kept", ctypes.c_int64),
        ("cut", ctypes.c_int64),
        ("ranks", ctypes.c_int64),
        ("ranks_per_node", ctypes.c_int64),
        ("homes", NUMBERS),
        ("num_homes", ctypes.c_size_t),
        ("speeds", NUMBERS),
        ("num_speeds", ctypes.c_size_t),
        ("memory", ctypes.c_int64),
        ("nvlink", ctypes.c_double),
        ("network", ctypes.c_double),
    ]


class CFigures(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_double)
        for name in ("layer", "compute", "exchange", "hidden", "balance", "even", "uncut", "bound")
    ]


class CFacts(ctypes.Structure):
    _fields_ = [
        *(
            (name, ctypes.c_int64)
            for name in (
                "num_runs",
                "num_folds",
                "num_forward_phases",
                "num_backward_phases",
                "memory",
                "kept",
            )
        ),
        ("forward", CFigures),
        ("backward", CFigures),
    ]


@functools.cache
def functions() -> ctypes.CDLL:
    """libdash, with the types of what makes worlds."""
    lib, size, rank = library(), ctypes.c_size_t, ctypes.c_int64
    # the handler, its data, and what is made
    kept = [ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(Handle)]
    of_lines = [NUMBERS, size]
    for name, parameters, result in (
        ("WorldCreate", [ctypes.POINTER(CProblem), *kept], ctypes.c_int),
        ("WorldDestroy", [Handle], None),
        ("WorldPlan", [Handle, StringRef, ctypes.c_uint64, *kept], ctypes.c_int),
        ("WorldPlanDestroy", [Handle], None),
        ("WorldGetCertificate", [Handle, StringRef, ctypes.POINTER(StringRef), size], StringRef),
        ("WorldGetLeaves", [Handle, ctypes.c_int64, *of_lines], size),
        ("WorldPlanGetFacts", [Handle, ctypes.POINTER(CFacts)], None),
        ("WorldPlanGetReport", [Handle, StringRef], StringRef),
        ("WorldGetPhaseName", [ctypes.c_int32, ctypes.c_int64], StringRef),
        ("WorldPlanGetKept", [Handle, *of_lines], size),
        *((f"WorldPlanGet{what}", [Handle, rank, *of_lines], size) for what in ("Runs", "Folds")),
        *(
            (f"WorldPlanGet{what}", [Handle, ctypes.c_int32, ctypes.c_int64, rank, *of_lines], size)
            for what in ("Messages", "Buffers")
        ),
    ):
        function = getattr(lib, f"dash{name}")
        function.argtypes, function.restype = parameters, result
    return lib


def numbers(values: Any) -> Any:
    """Whole numbers as C takes them. Keep them while they are used."""
    return (ctypes.c_int64 * len(values))(*values)


def lines(function: Any, width: int, *arguments: Any) -> list[tuple[int, ...]]:
    """All lines that a function gives."""
    count = function(*arguments, NO_NUMBERS, 0)
    found = (ctypes.c_int64 * (count * width))()
    function(*arguments, found, count)
    flat = list(found)
    return [tuple(flat[i : i + width]) for i in range(0, len(flat), width)]
