"""dash_attn: compiles deterministic attention backward kernels, and launches them. For PyTorch:
dash_attn.torch."""

from typing import Any

from .errors import ArgumentError, CapacityError, CompileError, DriverError, LibraryError, ManifestError
from .kernel.compiler import Compiled, compile_program
from .kernel.runtime import Kernel
from .kernel.tensors import Tensor

# imported when they are used: the rest needs no PyTorch
_OF_TORCH = ("attention", "disable", "enable", "explain")

__all__ = ["ArgumentError", "CapacityError", "CompileError", "Compiled", "DriverError", "Kernel",
           "LibraryError", "ManifestError", "Tensor", "compile_program"]


def __getattr__(name: str) -> Any:
    if name in _OF_TORCH:
        from . import torch as of_torch

        return getattr(of_torch, name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
