"""dash_attn: launches the deterministic attention backward kernels that dash-opt compiles."""

from .errors import ArgumentError, CapacityError, DriverError, ManifestError
from .runtime import Kernel
from .tensors import Tensor

__all__ = ["ArgumentError", "CapacityError", "DriverError", "Kernel", "ManifestError", "Tensor"]
