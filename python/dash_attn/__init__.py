"""dash_attn: compiles deterministic attention backward kernels, and launches them."""

from .compiler import Compiled, compile_program
from .errors import ArgumentError, CapacityError, CompileError, DriverError, LibraryError, ManifestError
from .runtime import Kernel
from .tensors import Tensor

__all__ = ["ArgumentError", "CapacityError", "CompileError", "Compiled", "DriverError", "Kernel",
           "LibraryError", "ManifestError", "Tensor", "compile_program"]
