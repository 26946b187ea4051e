"""What PyTorch adds to the reasons why something cannot be served. Looks at nothing but types, sizes and strides, so compiled programs may
ask, too."""

from __future__ import annotations

from typing import Any

import torch

from .. import problem
from ..problem import CAUSAL, NAMES, Window, refusal_of_array, refusal_of_gpu, refusal_of_rectangle, refusal_of_sizes

DTYPES = {torch.bfloat16: "bfloat16", torch.float16: "float16"}
ELEMENTS = {dtype: problem.ELEMENTS[name] for dtype, name in DTYPES.items()}
DEVICE = "cuda"
NUMBERS = (int, float, torch.SymFloat)
STRIDES = 8  # elements: strides are multiples of it


def refusal_of_options(*options: Any) -> str | None:
    """Why these options of `attention` are refused; None if they are not."""
    return problem.refusal_of_options(*options, numbers=NUMBERS)


def refusal_of_tensors(q: Any, k: Any, v: Any, layout: str = "bhsd") -> str | None:
    """Why no kernel serves these tensors; None if one does."""
    for name, tensor in zip(NAMES, (q, k, v)):
        if not isinstance(tensor, torch.Tensor):
            return f"{name}: expected a tensor of PyTorch, found {type(tensor).__name__}"
        if tensor.device.type != DEVICE:
            return f"{name}: expected a tensor on a CUDA device, found one on '{tensor.device}'"
        if tensor.device != q.device:
            return f"{name}: expected a tensor on '{q.device}' as q, found one on '{tensor.device}'"
        reason = refusal_of_array(name, dtype_of(tensor), dtype_of(q), tensor.dim(), tensor.shape, layout, "cast it, or use torch.autocast")
        if reason:
            return reason
    return refusal_of_sizes(q.shape, k.shape, v.shape, layout) or _refusal_of_strides(q, k, v)


def dtype_of(tensor: torch.Tensor) -> str:
    """Without what every name begins with."""
    return DTYPES.get(tensor.dtype) or str(tensor.dtype).removeprefix("torch.")


def refusal_of_forward(q: torch.Tensor, k: torch.Tensor, window: Window, layout: str = "bhsd") -> str | None:
    """Why the forward pass does not serve what kernels would."""
    return refusal_of_rectangle(q.shape, k.shape, layout, "PyTorch's") if window == CAUSAL else None


def signature(*tensors: torch.Tensor) -> tuple[Any, ...] | None:
    """Equal for tensors of a device about which everything in this file says the same; None where they are not plain ones, of known sizes."""
    found: list[Any] = []
    for tensor in tensors:
        if type(tensor) is not torch.Tensor:
            return None
        found += (tensor.shape, tensor.stride(), tensor.dtype)
    return tuple(found)


def is_plain(*tensors: torch.Tensor) -> bool:
    """Whether nothing looks on that has to see operators: no mode, no transform, no profiler, no compiler."""
    for tensor in tensors:
        if type(tensor) is not torch.Tensor:
            return False
    return not (torch.compiler.is_compiling() or torch._C._len_torch_dispatch_stack() or
                torch._C._are_functorch_transforms_active() or torch.autograd._profiler_enabled())


@torch.compiler.assume_constant_result
def refusal_of_device(index: int | None) -> str | None:
    """Why kernels cannot run on this CUDA device; asked of PyTorch once, as it takes its time."""
    if index not in _DEVICES:
        _DEVICES[index] = _find_refusal(index)
    return _DEVICES[index]


_DEVICES: dict[int | None, str | None] = {}


def _find_refusal(index: int | None) -> str | None:
    if not torch.cuda.is_available():
        return refusal_of_gpu("", None)
    return refusal_of_gpu(torch.cuda.get_device_name(index), torch.cuda.get_device_capability(index))


def is_steppable(tensor: torch.Tensor) -> bool:
    """Whether kernels can step through it: rows in one piece, other strides positive multiples of 8."""
    *strides, last = tensor.stride()
    if last != 1:
        return False
    for size, stride in zip(tensor.shape, strides):
        if (stride <= 0 or stride % STRIDES) and size != 1:
            return False
    return True


def _refusal_of_strides(*tensors: torch.Tensor) -> str | None:
    for name, tensor in zip(NAMES, tensors):
        if not is_steppable(tensor):
            return (f"{name}: expected strides that are positive multiples of {STRIDES}, the last 1, found {tuple(tensor.stride())} for "
                    f"the shape {tuple(tensor.shape)}; pass a contiguous copy, and grouped heads without expanding them")
    return None
