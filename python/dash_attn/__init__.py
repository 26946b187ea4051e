"""dash_attn: compiles deterministic attention kernels, and launches them.

For PyTorch: `attention`, `enable`, `disable` and `explain`, which are imported when they are first
used. For JAX: `dash_attn.jax`. For transformers: `dash_attn.transformers`. For kernels alone, with
tensors of any library: `Kernel` and `compile_program`, which need Python alone.
"""

from typing import TYPE_CHECKING, Any

from .errors import (
    ArgumentError,
    CapacityError,
    CompileError,
    DriverError,
    LibraryError,
    ManifestError,
)
from .kernel.compiler import Compiled, compile_program
from .kernel.runtime import Kernel
from .kernel.tensors import Tensor

if TYPE_CHECKING:  # editors and type checkers see what is imported when it is used
    from .torch import attention, disable, enable, explain

_OF_TORCH = ("attention", "disable", "enable", "explain")

__all__ = [
    "ArgumentError",
    "CapacityError",
    "CompileError",
    "Compiled",
    "DriverError",
    "Kernel",
    "LibraryError",
    "ManifestError",
    "Tensor",
    "attention",
    "compile_program",
    "disable",
    "enable",
    "explain",
]
__version__: str  # of libdash, which every tool's --version names; asked when it is used


def __getattr__(name: str) -> Any:
    if name in _OF_TORCH:
        from . import torch as of_torch

        return getattr(of_torch, name)
    if name == "__version__":
        from .kernel.library import library

        return library().dashGetVersion().text.removeprefix("dash ").partition(",")[0]
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
