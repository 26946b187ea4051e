"""What is asked for, and why it cannot be served. Looks at nothing but types, sizes and strides, so compiled programs may ask, too."""

from __future__ import annotations

import math
from typing import Any

import torch

from ..errors import ArgumentError

ELEMENTS = {torch.bfloat16: "bf16", torch.float16: "f16"}
HEAD_DIMS = (64, 128)
LAYOUTS = ("bhsd", "bshd")
LEVELS = ("run", "batch", "machine")
DEVICE, CAPABILITY = "cuda", (9, 0)
STRIDES = 8  # elements: strides are multiples of it
NAMES = ("q", "k", "v")
Window = tuple[int, int]  # how many columns before its own a row sees, and how many behind it; -1 is no bound
FULL, CAUSAL = (-1, -1), (-1, 0)
MOST_OF_WINDOW = 2**31 - 1


def demand(reason: str | None) -> None:
    """Raises ArgumentError where there is a reason to refuse."""
    if reason is not None:
        raise ArgumentError(reason)


def refusal_of_options(causal: Any, window: Any, scale: Any, cu_seqlens: Any, level: Any, layout: Any) -> str | None:
    """Why these options of `attention` are refused; None if they are not."""
    if layout not in LAYOUTS:
        return f"layout: expected one of {', '.join(LAYOUTS)}, found {layout!r}"
    if not isinstance(causal, bool):
        return f"causal: expected True or False, found {type(causal).__name__}"
    if level not in LEVELS:
        return f"level: expected one of {', '.join(LEVELS)}, found {level!r}"
    if level != "run":
        return (f"level: expected 'run', found '{level}': no forward pass of PyTorch promises it; kernels of this level are made by "
                "Kernel.compile, and take o and LSE of a forward pass of yours")
    if scale is not None and not isinstance(scale, (int, float, torch.SymFloat)):
        return f"scale: expected a number, found {type(scale).__name__}"
    if scale is not None and not math.isfinite(scale):
        return f"scale: expected a finite number, found {scale}"
    if window is not None and not (isinstance(window, (tuple, list)) and len(window) == 2 and
                                   all(type(side) is int and -1 <= side <= MOST_OF_WINDOW for side in window)):
        return f"window: expected None or (left, right), whole numbers from -1 (no bound) to {MOST_OF_WINDOW}, found {window!r}"
    if causal and window is not None and window[1] > 0:
        return f"window: expected a right side of 0 or -1 beside causal, found {tuple(window)}"
    if any(given is not None for given in cu_seqlens):
        return ("cu_seqlens: expected None, found offsets of sequences: there are no kernels of unequal sequences yet; pad "
                "sequences, or call attention for each")
    return None


def window_of(causal: bool, window: Any) -> Window:
    """What rows see, of options that are not refused."""
    if window is None:
        return CAUSAL if causal else FULL
    return (window[0], 0 if causal else window[1])


def refusal_of_tensors(q: Any, k: Any, v: Any, layout: str = "bhsd") -> str | None:
    """Why no kernel serves these tensors; None if one does."""
    for name, tensor in zip(NAMES, (q, k, v)):
        if not isinstance(tensor, torch.Tensor):
            return f"{name}: expected a tensor of PyTorch, found {type(tensor).__name__}"
        if tensor.device.type != DEVICE:
            return f"{name}: expected a tensor on a CUDA device, found one on '{tensor.device}'"
        if tensor.device != q.device:
            return f"{name}: expected a tensor on '{q.device}' as q, found one on '{tensor.device}'"
        if tensor.dtype not in ELEMENTS:
            return f"{name}: expected bfloat16 or float16, found {_named(tensor.dtype)}; cast it, or use torch.autocast"
        if tensor.dtype != q.dtype:
            return f"{name}: expected {_named(q.dtype)} as q, found {_named(tensor.dtype)}"
        if tensor.dim() != 4:
            return f"{name}: expected 4 dimensions, {_spelled(layout)}, found the shape {tuple(tensor.shape)}"
    return _refusal_of_sizes(q, k, v, layout) or _refusal_of_strides(q, k, v)


def refusal_of_forward(q: torch.Tensor, k: torch.Tensor, window: Window, layout: str = "bhsd") -> str | None:
    """Why the forward pass does not serve what kernels would: cuDNN's causal mask is aligned at the top left, ours at the bottom
    right."""
    rows = 2 if layout == "bhsd" else 1
    if window == CAUSAL and q.shape[rows] != k.shape[rows]:
        return (f"causal: expected as many rows of q as of k, found {q.shape[rows]} and {k.shape[rows]}: PyTorch's forward pass would hide "
                "other elements than the kernel (dash's causal masks are aligned at the bottom right)")
    return None


def signature(*tensors: torch.Tensor) -> tuple[Any, ...] | None:
    """Equal for tensors about which everything in this file says the same; None where they are not plain ones, of known sizes."""
    found: list[Any] = []
    for tensor in tensors:
        if type(tensor) is not torch.Tensor:
            return None
        found += (tensor.shape, tensor.stride(), tensor.dtype, tensor.device)
    return tuple(found)


def is_plain(*tensors: torch.Tensor) -> bool:
    """Whether nothing looks on that has to see operators: no mode, no transform, no profiler, no compiler."""
    return not (torch.compiler.is_compiling() or torch._C._len_torch_dispatch_stack() or
                torch._C._are_functorch_transforms_active() or torch.autograd._profiler_enabled()) and \
        all(type(tensor) is torch.Tensor for tensor in tensors)


@torch.compiler.assume_constant_result
def refusal_of_device(index: int | None) -> str | None:
    """Why kernels cannot run on this CUDA device; asked of PyTorch once, as it takes its time."""
    if index not in _DEVICES:
        _DEVICES[index] = _find_refusal(index)
    return _DEVICES[index]


_DEVICES: dict[int | None, str | None] = {}


def _find_refusal(index: int | None) -> str | None:
    if not torch.cuda.is_available():
        return "expected a GPU of compute capability 9.0 (H100, H200), found none"
    found = torch.cuda.get_device_capability(index)
    return None if found == CAPABILITY else \
        f"expected a GPU of compute capability 9.0 (H100, H200), found {torch.cuda.get_device_name(index)} of {found[0]}.{found[1]}"


def is_steppable(tensor: torch.Tensor) -> bool:
    """Whether kernels can step through it: rows in one piece, other strides positive multiples of 8."""
    *strides, last = tensor.stride()
    if last != 1:
        return False
    for size, stride in zip(tensor.shape, strides):
        if (stride <= 0 or stride % STRIDES) and size != 1:
            return False
    return True


def _refusal_of_sizes(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, layout: str) -> str | None:
    heads = 1 if layout == "bhsd" else 2
    if k.shape != v.shape:
        return f"v: expected the shape of k, {tuple(k.shape)}, found {tuple(v.shape)}"
    if q.shape[0] != k.shape[0]:
        return f"k: expected the batch of q, {q.shape[0]}, found {k.shape[0]}"
    if q.shape[3] != k.shape[3]:
        return f"k: expected the head dim of q, {q.shape[3]}, found {k.shape[3]}"
    if q.shape[3] not in HEAD_DIMS:
        larger = next((dim for dim in HEAD_DIMS if q.shape[3] < dim), None)
        hint = f"; pad q, k and v with zeros to {larger}, and pass scale={q.shape[3]}**-0.5" if larger else ""
        return f"q: expected a head dim of 64 or 128, found {q.shape[3]}{hint}"
    if 0 in q.shape or 0 in k.shape:
        return f"q, k: expected sizes of at least 1, found {tuple(q.shape)} and {tuple(k.shape)}"
    if q.shape[heads] % k.shape[heads]:
        return f"k: expected a number of heads that divides that of q, {q.shape[heads]}, found {k.shape[heads]}"
    return None


def _refusal_of_strides(*tensors: torch.Tensor) -> str | None:
    for name, tensor in zip(NAMES, tensors):
        if not is_steppable(tensor):
            return (f"{name}: expected strides that are positive multiples of {STRIDES}, the last 1, found {tuple(tensor.stride())} for "
                    f"the shape {tuple(tensor.shape)}; pass a contiguous copy, and grouped heads without expanding them")
    return None


def _named(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _spelled(layout: str) -> str:
    names = {"b": "batch", "h": "heads", "s": "rows", "d": "head_dim"}
    return f"[{', '.join(names[letter] for letter in layout)}]"
