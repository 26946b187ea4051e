"""The compiler, by libdash: programs as MLIR in, kernels out, without files. Thread-safe;
compiles outside of Python's lock.

    kernel = Kernel.compile(open("bwd-causal.mlir").read(), "kind=symmetric-shift")
"""

from __future__ import annotations

import ctypes
import json
import os
from dataclasses import dataclass
from pathlib import Path

from ..errors import CompileError, LibraryError
from ..support.files import appears
from .library import (
    HANDLER,
    STATUSES,
    CompileFiles,
    Diagnostic,
    Handle,
    StringRef,
    diagnostics,
    library,
)


@dataclass(frozen=True)
class Compiled:
    """The kernels of one function. manifest: JSON; order: empty where an entry makes it from the
    sizes."""

    name: str
    ptx: bytes
    manifest: str
    order: bytes
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def file(self) -> str:
        """What its files are called in the manifest: NAME, with `$` and two hexadecimal digits
        for what PTX cannot have."""
        return json.loads(self.manifest)["ptx"]["file"].removesuffix(".ptx")

    def save(self, folder: str | Path) -> Path:
        """Writes FILE.ptx, FILE.json and, of a table, FILE.order; returns the path of the
        manifest, for `Kernel.load`."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        for ending, content in (
            (".ptx", self.ptx),
            (".order", self.order),
            (".json", self.manifest.encode()),
        ):
            if content:  # the manifest comes last: what it names is there before it
                with appears(folder / f"{self.file}{ending}") as part:
                    part.write_bytes(content)
        return folder / f"{self.file}.json"


def compile_program(
    source: str | bytes,
    options: str = "",
    *,
    name: str = "<program>",
    order: str | Path = "",
    costs: str | Path = "",
    ptxas: str | Path = "",
) -> list[Compiled]:
    """Compiles each function with an attention; the results are the files of `dash-opt
    --dash-to-ptx=OPTIONS`.

    source: MLIR text or bytecode. options: those of --dash-to-ptx, such as "kind=symmetric-shift
    workers=132". name: the source's name in diagnostics. Source and options may be data, so they
    name no file and no program. These arguments do, in place of the options `path`, `costs` and
    `ptxas`: order, a file for kind=file; costs, a file of `dash_attn.tune`; ptxas, the assembler
    to ask for registers. Raises CompileError with all diagnostics, and LibraryError if the
    process cannot use the library.
    """
    lib, program = library(), Handle()
    texts = [text.encode() if isinstance(text, str) else text for text in (source, name, options)]
    named = [os.fsencode(file) for file in (order, costs, ptxas)]
    files = CompileFiles(*map(StringRef.of, named))
    status = lib.dashCompileWithFiles(
        *map(StringRef.of, texts), ctypes.byref(files), HANDLER, None, ctypes.byref(program)
    )
    said = diagnostics()
    if STATUSES[status] is LibraryError:
        raise LibraryError("\n".join(one.message for one in said))
    if status:
        raise CompileError("\n".join(map(str, said)) or f"cannot compile {name}", said)
    try:
        return [
            Compiled(
                lib.dashProgramGetName(program, i).text,
                lib.dashProgramGetPtx(program, i).bytes,
                lib.dashProgramGetManifest(program, i).text,
                lib.dashProgramGetOrder(program, i).bytes,
                said,
            )
            for i in range(lib.dashProgramGetNumKernels(program))
        ]
    finally:
        lib.dashProgramDestroy(program)
