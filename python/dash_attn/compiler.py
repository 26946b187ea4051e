"""The compiler, by libdash: programs as MLIR in, kernels out, without files. Thread-safe; compiles outside of Python's lock.

    kernel = Kernel.compile(open("bwd-causal.mlir").read(), "kind=symmetric-shift")
"""

from __future__ import annotations

import ctypes
import functools
import json
import os
from dataclasses import dataclass, replace
from pathlib import Path

from .errors import CompileError
from .manifest import Manifest
from .read_manifest import parse_manifest

API_VERSION = 1
SUCCESS = 0
SEVERITIES = ("error", "warning", "note", "remark")


class _StringRef(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("length", ctypes.c_size_t)]

    @property
    def bytes(self) -> bytes:
        return ctypes.string_at(self.data, self.length)

    @property
    def text(self) -> str:
        return self.bytes.decode("utf-8", errors="replace")


class _Diagnostic(ctypes.Structure):
    _fields_ = [("severity", ctypes.c_int), ("message", _StringRef), ("file", _StringRef), ("line", ctypes.c_uint32),
                ("column", ctypes.c_uint32)]


class _Program(ctypes.Structure):
    _fields_ = [("ptr", ctypes.c_void_p)]


_Handler = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Diagnostic), ctypes.c_void_p)


@dataclass(frozen=True)
class Diagnostic:
    """severity: error, warning, note or remark; file is empty and line 0 where there is no place."""

    severity: str
    message: str
    file: str
    line: int
    column: int

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}: " if self.line else ""
        return f"{place}{self.severity}: {self.message}"


@dataclass(frozen=True)
class Compiled:
    """The kernels of one function. manifest: JSON; order: empty where an entry makes it from the sizes."""

    name: str
    ptx: bytes
    manifest: str
    order: bytes
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def file(self) -> str:
        """What its files are called in the manifest: NAME, with `$` and two hexadecimal digits for what PTX cannot have."""
        return json.loads(self.manifest)["ptx"]["file"].removesuffix(".ptx")

    def read_manifest(self) -> Manifest:
        """The manifest, with PTX and order at hand instead of beside it."""
        manifest = parse_manifest(json.loads(self.manifest), Path(f"{self.file}.json"))
        return replace(manifest, files={f"{self.file}.ptx": self.ptx, f"{self.file}.order": self.order})

    def save(self, folder: str | Path) -> Path:
        """Writes FILE.ptx, FILE.json and, of a table, FILE.order; returns the path of the manifest, for `Kernel.load`."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        for ending, content in ((".ptx", self.ptx), (".order", self.order), (".json", self.manifest.encode())):
            if content:  # the manifest comes last: who finds it finds what it names
                path = folder / f"{self.file}{ending}"
                part = path.with_name(f"{path.name}.{os.getpid()}.part")
                part.write_bytes(content)
                part.replace(path)
        return folder / f"{self.file}.json"


@functools.cache
def library() -> ctypes.CDLL:
    """libdash, of the wheel, or of the file that DASH_LIBRARY names. Raises CompileError where there is none."""
    path = Path(os.environ.get("DASH_LIBRARY") or Path(__file__).with_name("libdash.so"))
    try:
        lib = ctypes.CDLL(str(path))
        lib.dashGetApiVersion.restype = ctypes.c_uint32
        version = lib.dashGetApiVersion()
    except (OSError, AttributeError) as error:
        raise CompileError(f"cannot load the compiler '{path}': {error}; install the wheel, or let DASH_LIBRARY name "
                           "the libdash.so of a build") from error
    if version != API_VERSION:
        raise CompileError(f"{path}: expected version {API_VERSION} of the C API, found {version}")
    lib.dashCompile.argtypes = [_StringRef, _StringRef, _StringRef, _Handler, ctypes.c_void_p, ctypes.POINTER(_Program)]
    lib.dashProgramDestroy.argtypes, lib.dashProgramDestroy.restype = [_Program], None
    lib.dashProgramGetNumKernels.argtypes, lib.dashProgramGetNumKernels.restype = [_Program], ctypes.c_size_t
    for part in ("Name", "Ptx", "Manifest", "Order"):
        get = getattr(lib, f"dashProgramGet{part}")
        get.argtypes, get.restype = [_Program, ctypes.c_size_t], _StringRef
    return lib


def compile_program(source: str | bytes, options: str = "", *, name: str = "<program>") -> list[Compiled]:
    """Compiles each function with an attention backward; what `dash-opt --dash-to-ptx=OPTIONS` writes.

    source: MLIR text or bytecode; options: those of --dash-to-ptx, such as "kind=symmetric-shift workers=132"; name: what
    diagnostics call the source. Raises CompileError with all diagnostics.
    """
    lib, found = library(), []
    texts = [text.encode() if isinstance(text, str) else text for text in (source, name, options)]

    def take(diagnostic: ctypes._Pointer, _: int | None) -> None:
        one = diagnostic.contents
        found.append(Diagnostic(SEVERITIES[one.severity], one.message.text, one.file.text, one.line, one.column))

    references = [_StringRef(ctypes.cast(ctypes.c_char_p(text), ctypes.c_void_p), len(text)) for text in texts]
    program = _Program()
    if lib.dashCompile(*references, _Handler(take), None, ctypes.byref(program)) != SUCCESS:
        raise CompileError("\n".join(map(str, found)) or f"cannot compile {name}", tuple(found))
    try:
        return [Compiled(lib.dashProgramGetName(program, i).text, lib.dashProgramGetPtx(program, i).bytes,
                         lib.dashProgramGetManifest(program, i).text, lib.dashProgramGetOrder(program, i).bytes, tuple(found))
                for i in range(lib.dashProgramGetNumKernels(program))]
    finally:
        lib.dashProgramDestroy(program)
