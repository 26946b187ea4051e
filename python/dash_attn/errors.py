"""Errors, by their cause. Each message states what was expected and what was found."""

from __future__ import annotations

import re
from typing import Any

__all__ = [
    "ArgumentError",
    "CapacityError",
    "CompileError",
    "DriverError",
    "LibraryError",
    "ManifestError",
]


class LibraryError(RuntimeError):
    """libdash is missing, or has another version, or cannot be used here: this process was
    forked while another thread was in the library."""


class ManifestError(ValueError):
    """The manifest, or a file that it names, cannot be launched by this package."""


class CompileError(ValueError):
    """A program or its options are refused. diagnostics: the compiler's messages, with places."""

    def __init__(self, message: str, diagnostics: tuple[Any, ...] = ()) -> None:
        super().__init__(message)
        self.diagnostics = diagnostics


class ArgumentError(ValueError):
    """A tensor or a number of a call does not suit the kernel. Nothing was written."""


class CapacityError(RuntimeError):
    """The device cannot hold the workers that the kernel needs at once. Nothing was written."""


class DriverError(RuntimeError):
    """A call of the CUDA driver failed, or there is no driver: "DOING: NAME (CODE): text".

    name is that of the CUresult, such as CUDA_ERROR_INVALID_VALUE, and code its number; empty
    and 0 if no call was made.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        found = re.search(r": (\w+) \((\d+)\): ", message)
        self.name, self.code = (found[1], int(found[2])) if found else ("", 0)
