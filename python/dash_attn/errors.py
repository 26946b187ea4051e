"""What can go wrong, by whose mistake it is. Each message names what was expected and what was found."""

from __future__ import annotations

from typing import Any


class ManifestError(ValueError):
    """The manifest or a file that it names is not one that this package can launch."""


class CompileError(ValueError):
    """A program or its options are refused, or there is no compiler. diagnostics: what the compiler said, with places."""

    def __init__(self, message: str, diagnostics: tuple[Any, ...] = ()) -> None:
        super().__init__(message)
        self.diagnostics = diagnostics


class ArgumentError(ValueError):
    """A tensor or a number of a call does not suit the kernel. Nothing was written."""


class CapacityError(RuntimeError):
    """The device cannot hold the workers that the kernel needs at one time. Nothing was written."""


class DriverError(RuntimeError):
    """A call of the CUDA driver failed.

    code: the number of the CUresult; name: its name, such as CUDA_ERROR_INVALID_VALUE; doing: what was tried.
    """

    def __init__(self, code: int, name: str, text: str, doing: str) -> None:
        super().__init__(f"{doing}: {name} ({code}): {text}")
        self.code, self.name, self.text, self.doing = code, name, text, doing
