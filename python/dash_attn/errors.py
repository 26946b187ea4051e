"""What can go wrong, by whose mistake it is. Each message names what was expected and what was
found."""

from __future__ import annotations

import re
from typing import Any


class LibraryError(RuntimeError):
    """There is no libdash, or one of another version; or none that can be used here, in a
    process that was forked at a bad moment."""


class ManifestError(ValueError):
    """The manifest or a file that it names is not one that this package can launch."""


class CompileError(ValueError):
    """A program or its options are refused. diagnostics: what the compiler said, with places."""

    def __init__(self, message: str, diagnostics: tuple[Any, ...] = ()) -> None:
        super().__init__(message)
        self.diagnostics = diagnostics


class ArgumentError(ValueError):
    """A tensor or a number of a call does not suit the kernel. Nothing was written."""


class CapacityError(RuntimeError):
    """The device cannot hold the workers that the kernel needs at one time. Nothing was written."""


class DriverError(RuntimeError):
    """A call of the CUDA driver failed, or there is none: "DOING: NAME (CODE): text".

    name: the CUresult's, such as CUDA_ERROR_INVALID_VALUE, and code: its number; empty and 0
    where no call was made.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        found = re.search(r": (\w+) \((\d+)\): ", message)
        self.name, self.code = (found[1], int(found[2])) if found else ("", 0)
