"""libdash by ctypes: its structures, and calls whose failures are exceptions. What they mean is
in the headers, dash-c/*.h."""

from __future__ import annotations

import ctypes
import functools
import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import (
    ArgumentError,
    CapacityError,
    CompileError,
    DriverError,
    LibraryError,
    ManifestError,
)

API_VERSION = 1
MAX_RANK = 4
SEVERITIES = ("error", "warning", "note", "remark")
STATUSES = (
    None,
    ArgumentError,
    CompileError,
    ManifestError,
    CapacityError,
    DriverError,
    LibraryError,
)


class StringRef(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("length", ctypes.c_size_t)]

    @staticmethod
    def of(text: bytes) -> StringRef:
        """Keep the text while it is used."""
        return StringRef(ctypes.cast(ctypes.c_char_p(text), ctypes.c_void_p), len(text))

    @property
    def bytes(self) -> bytes:
        return ctypes.string_at(self.data, self.length)

    @property
    def text(self) -> str:
        return self.bytes.decode("utf-8", errors="replace")


class _Diagnostic(ctypes.Structure):
    _fields_ = [
        ("severity", ctypes.c_int),
        ("message", StringRef),
        ("file", StringRef),
        ("line", ctypes.c_uint32),
        ("column", ctypes.c_uint32),
    ]


class Handle(ctypes.Structure):
    """A handle of a driver, a kernel, a plan, a program, a planner or an order."""

    _fields_ = [("ptr", ctypes.c_void_p)]

    def __bool__(self) -> bool:
        return self.ptr is not None


class Size(ctypes.Structure):
    _fields_ = [("name", StringRef), ("value", ctypes.c_int64)]


class CompileFiles(ctypes.Structure):
    _fields_ = [("order", StringRef), ("costs", StringRef), ("ptxas", StringRef)]


class Choice(ctypes.Structure):
    _fields_ = [
        ("kind", StringRef),
        ("parts", ctypes.c_int64),
        ("apart", StringRef),
        ("is_table", ctypes.c_int32),
        ("q_rows", ctypes.c_int64),
        ("kv_rows", ctypes.c_int64),
        ("makespan", ctypes.c_double),
        ("bound", ctypes.c_double),
    ]


class Problem(ctypes.Structure):
    _fields_ = [
        ("element", StringRef),
        ("level", StringRef),
        ("device", StringRef),
        *(
            (name, ctypes.c_int64)
            for name in (
                "capability",
                "head_dim",
                "head_dim_v",
                "left",
                "right",
                "batch",
                "heads",
                "kv_heads",
                "q_rows",
                "kv_rows",
                "sequences",
            )
        ),
        ("has_sink", ctypes.c_int32),
        ("softcap", ctypes.c_float),
        ("cut", ctypes.c_int64),
        ("has_union", ctypes.c_int32),
        *((name, ctypes.c_int64) for name in ("union_columns", "union_left", "union_right")),
        ("has_blocks", ctypes.c_int32),
        *((name, ctypes.c_int64) for name in ("block_q", "block_kv", "q_blocks", "kv_blocks")),
    ]


class CoverageOf(ctypes.Structure):
    _fields_ = [
        *(
            (name, ctypes.c_int64)
            for name in ("batch", "kv_heads", "rows", "sequences", "capability")
        ),
        *(
            (name, ctypes.c_int64)
            for name in ("head_dim_multiple", "head_dim", "alignment", "stride_multiple", "tasks")
        ),
    ]


class TensorRef(ctypes.Structure):
    _fields_ = [
        ("address", ctypes.c_uint64),
        ("element", ctypes.c_int),
        ("rank", ctypes.c_uint32),
        ("shape", ctypes.c_int64 * MAX_RANK),
        ("strides", ctypes.c_int64 * MAX_RANK),
    ]


class Memory(ctypes.Structure):
    _fields_ = [("address", ctypes.c_uint64), ("bytes", ctypes.c_size_t)]


class Region(ctypes.Structure):
    _fields_ = [
        ("name", StringRef),
        ("is_order", ctypes.c_int32),
        ("offset", ctypes.c_size_t),
        ("bytes", ctypes.c_size_t),
    ]


class Arguments(ctypes.Structure):
    _fields_ = [
        ("tensors", ctypes.POINTER(TensorRef)),
        ("num_tensors", ctypes.c_size_t),
        ("scale", ctypes.c_float),
        ("workspace", Memory),
        ("order", Memory),
        ("clears_rows", ctypes.c_int32),
    ]


# libdash's own, once it is loaded: it keeps what is said until it is asked. C never calls Python,
# which may be ending meanwhile.
HANDLER = ctypes.c_void_p()
_SIZE, _STREAM = ctypes.c_size_t, ctypes.c_void_p
_SIZES, _TENSORS, _ARGUMENTS = (ctypes.POINTER(kind) for kind in (Size, TensorRef, Arguments))
# Functions that fail: their parameters but the last ones, which are the handler, its data and the
# result, if there is one.
_CALLS = {
    "CompilerCovers": (ctypes.POINTER(Problem),),
    "CompileWithFiles": (StringRef, StringRef, StringRef, ctypes.POINTER(CompileFiles)),
    "DriverOpen": (StringRef,),
    "KernelCreate": (Handle, StringRef, StringRef, StringRef),
    "KernelOpen": (Handle, StringRef),
    "PlannerCreate": (),
    "PlannerChoose": (Handle, StringRef, _SIZES, _SIZE, ctypes.c_int64),
    "PlannerPlan": (Handle, StringRef, _SIZES, _SIZE),
    "PlanCreate": (Handle, ctypes.c_int32, _SIZES, _SIZE),
    "KernelFindSizes": (Handle, _TENSORS, _SIZE),
    "PlanClear": (Handle, _STREAM, Memory),
    "PlanMakeOrder": (Handle, _STREAM, Memory),
    "PlanCheck": (Handle, _STREAM, _ARGUMENTS),
    "PlanIsCapturing": (Handle, _STREAM),
    "PlanRun": (Handle, _STREAM, _ARGUMENTS),
    "PlanReadTurns": (Handle, Memory, Memory),
    "PlanExplainTurns": (Handle, ctypes.POINTER(StringRef), _SIZE),
    "PlanRunAnew": (Handle, _STREAM, _ARGUMENTS),
    "PlanRunStep": (Handle, _SIZE, _STREAM, _ARGUMENTS),
}
_FILLS = {"CompilerCovers": CoverageOf, "PlannerChoose": Choice, "PlanIsCapturing": ctypes.c_int32}
_MAKES = (
    "PlanReadTurns",
    "PlanExplainTurns",
    "CompileWithFiles",
    "DriverOpen",
    "KernelCreate",
    "KernelOpen",
    "PlannerCreate",
    "PlannerPlan",
    "PlanCreate",
)
# The others: parameters and result.
_GETS: dict[str, tuple[tuple[Any, ...], Any]] = {
    **{
        f"ProgramGet{part}": ((Handle, _SIZE), StringRef)
        for part in ("Name", "Ptx", "Manifest", "Order")
    },
    **{
        f"{kind}Destroy": ((Handle,), None)
        for kind in ("Program", "Driver", "Kernel", "Plan", "Order", "Turns")
    },
    **{
        f"{kind}Get{what}": ((Handle,), _SIZE)
        for kind, what in (
            ("Program", "NumKernels"),
            ("Kernel", "NumSizes"),
            ("Kernel", "NumTensors"),
            ("Plan", "WorkspaceBytes"),
            ("Plan", "OrderBytes"),
            ("Plan", "NumRegions"),
            ("Plan", "NumSteps"),
        )
    },
    **{f"KernelGet{what}": ((Handle,), StringRef) for what in ("Name", "Manifest", "Certificate")},
    **{f"OrderGet{what}": ((Handle,), StringRef) for what in ("Manifest", "Bytes")},
    **{
        f"{kind}Get{what}": ((Handle, _SIZE), StringRef)
        for kind, what in (("Kernel", "SizeName"), ("Kernel", "TensorName"), ("Plan", "StepRole"))
    },
    **{f"TurnsGetNum{what}": ((Handle,), ctypes.c_int64) for what in ("Given", "Turns")},
    "TurnsDescribe": ((Handle, Handle), StringRef),
    "TurnsGetJson": ((Handle,), StringRef),
    "TurnsGetRegion": ((Handle, _SIZE), StringRef),
    "PlanReadsRegion": ((Handle, _SIZE), ctypes.c_int32),
    "KernelGetDefaultScale": ((Handle,), ctypes.c_float),
    "PlanGetRegion": ((Handle, _SIZE), Region),
    "DiagnosticGetNumKept": ((), _SIZE),
    "DiagnosticGetKept": ((_SIZE,), _Diagnostic),
    "DiagnosticForgetKept": ((), None),
    "GetVersion": ((), StringRef),
}


@dataclass(frozen=True)
class Diagnostic:
    """severity: error, warning, note or remark; file is empty and line 0 where there is no
    place."""

    severity: str
    message: str
    file: str
    line: int
    column: int

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}: " if self.line else ""
        return f"{place}{self.severity}: {self.message}"


def diagnostics() -> tuple[Diagnostic, ...]:
    """What the library said in this thread since it was last asked for."""
    lib = library()
    kept = [lib.dashDiagnosticGetKept(i) for i in range(lib.dashDiagnosticGetNumKept())]
    said = tuple(
        Diagnostic(SEVERITIES[one.severity], one.message.text, one.file.text, one.line, one.column)
        for one in kept
    )
    lib.dashDiagnosticForgetKept()
    return said


def library_path() -> str:
    """libdash of the wheel, or the file that DASH_LIBRARY names."""
    return os.environ.get("DASH_LIBRARY") or str(Path(__file__).parents[1] / "libdash.so")


@functools.cache
def library() -> ctypes.CDLL:
    """libdash. Raises LibraryError where there is none."""
    path = library_path()
    try:
        lib = ctypes.CDLL(path)
        lib.dashGetApiVersion.restype = ctypes.c_uint32
        version = lib.dashGetApiVersion()
        if version != API_VERSION:
            raise LibraryError(
                f"{path}: expected version {API_VERSION} of the C API, found {version}"
            )
        for name, parameters in _CALLS.items():
            result = (
                [ctypes.POINTER(Handle)]
                if name in _MAKES
                else (
                    [ctypes.POINTER(ctypes.c_int64), _SIZE]
                    if name == "KernelFindSizes"
                    else [ctypes.POINTER(_FILLS[name])]
                    if name in _FILLS
                    else []
                )
            )
            getattr(lib, f"dash{name}").argtypes = [
                *parameters,
                ctypes.c_void_p,
                ctypes.c_void_p,
                *result,
            ]
        for name, (parameters, result) in _GETS.items():
            function = getattr(lib, f"dash{name}")
            function.argtypes, function.restype = parameters, result
        HANDLER.value = ctypes.cast(lib.dashDiagnosticKeep, ctypes.c_void_p).value
    except (OSError, AttributeError) as error:
        raise LibraryError(
            f"cannot load libdash from '{path}': {error}; install the wheel, or let DASH_LIBRARY"
            " name the libdash.so of a build"
        ) from error
    return lib


def make(function: Any, *arguments: Any) -> Handle:
    """What a function of the library makes. Raises what `check` raises; what it warns of is a
    RuntimeWarning."""
    return fill(Handle(), function, *arguments)


def fill(result: Any, function: Any, *arguments: Any) -> Any:
    """The same for what is no handle."""
    check(function(*arguments, HANDLER, None, ctypes.byref(result)))
    for one in diagnostics():
        warnings.warn(one.message, RuntimeWarning, stacklevel=3)
    return result


def named(sizes: Mapping[str, int]) -> ctypes.Array[Size]:
    """Sizes as the library takes them. Its strings live as long as it does."""
    names = [name.encode() for name in sizes]
    found = (Size * len(names))(
        *(Size(StringRef.of(name), value) for name, value in zip(names, sizes.values()))
    )
    found.names = names
    return found


def check(status: int) -> None:
    """Raises the exception of a status that is no success, with what the library said in this
    thread."""
    if status:
        said = diagnostics()
        message = "\n".join(one.message for one in said) or f"status {status}"
        raise STATUSES[status](message)
