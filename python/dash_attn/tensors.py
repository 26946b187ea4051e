"""Tensors of any library as pointer, shape, strides and type. Imports none of the libraries.

A PyTorch tensor is read through its methods, a CuPy array through its attributes, everything else through
`__cuda_array_interface__`, whose 16-bit integers are taken for the bits of bf16: that protocol has no name for the type.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from .errors import ArgumentError

BYTES = {"bf16": 2, "f16": 2, "f32": 4}
NAMES = {"bfloat16": "bf16", "float16": "f16", "float32": "f32", "uint16": "bf16",
         "<u2": "bf16", "<f2": "f16", "<f4": "f32"}


@dataclass(frozen=True)
class Tensor:
    """Device memory: address of the first element, shape, strides in elements, "bf16", "f16" or "f32", device number."""

    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str = "bf16"
    device: int = 0

    @property
    def itemsize(self) -> int:
        return BYTES[self.dtype]

    @property
    def is_empty(self) -> bool:
        return 0 in self.shape

    @property
    def end(self) -> int:
        """Address behind the last element; strides are not negative."""
        if self.is_empty:
            return self.pointer
        steps = sum((size - 1) * stride for size, stride in zip(self.shape, self.strides))
        return self.pointer + (steps + 1) * self.itemsize

    def transposed(self, first: int, second: int) -> Tensor:
        """The same memory with two dimensions exchanged."""
        order = list(range(len(self.shape)))
        order[first], order[second] = second, first
        return Tensor(self.pointer, tuple(self.shape[i] for i in order), tuple(self.strides[i] for i in order),
                      self.dtype, self.device)


def signature(value: Any) -> tuple[int, Hashable]:
    """Address, and what else decides how it is launched, as its library spells it. Cheap: done for each call."""
    if isinstance(value, Tensor):
        return value.pointer, (value.shape, value.strides, value.dtype, value.device)
    try:
        return value.data_ptr(), (value.shape, value.stride(), value.dtype, value.device)
    except AttributeError:
        pass
    try:
        return value.data.ptr, (value.shape, value.strides, value.dtype, value.device.id)
    except AttributeError:
        pass
    interface = getattr(value, "__cuda_array_interface__", None)
    if interface is None:
        raise ArgumentError("expected a tensor of PyTorch or CuPy, one with __cuda_array_interface__, or "
                            f"dash_attn.Tensor, found {type(value).__name__}")
    return interface["data"][0], (interface["shape"], interface.get("strides"), interface["typestr"])


def as_tensor(value: Any, name: str, device_of: Callable[[int], int]) -> Tensor:
    """value: a tensor of any library; device_of: which device owns an address. Raises ArgumentError."""
    if isinstance(value, Tensor):
        return value
    if hasattr(value, "data_ptr"):
        if value.device.type != "cuda":
            raise ArgumentError(f"{name}: expected memory of a CUDA device, found a tensor on '{value.device}'")
        return Tensor(value.data_ptr(), tuple(value.shape), tuple(value.stride()),
                      _element(name, str(value.dtype).removeprefix("torch.")), value.device.index or 0)
    if hasattr(value, "data") and hasattr(value.data, "ptr"):
        element, itemsize = _element(name, value.dtype.name), value.dtype.itemsize
        return Tensor(value.data.ptr, tuple(value.shape), _in_elements(name, value.strides, itemsize), element,
                      value.device.id)
    interface = value.__cuda_array_interface__
    element, shape = _element(name, interface["typestr"]), tuple(interface["shape"])
    strides = interface.get("strides")
    strides = contiguous(shape) if strides is None else _in_elements(name, strides, BYTES[element])
    pointer = interface["data"][0]
    return Tensor(pointer, shape, strides, element, device_of(pointer) if pointer else 0)


def contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides in elements of a tensor whose rows, heads and batches follow one another."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


def current_stream(value: Any) -> int:
    """Handle of the stream that the tensor's library would use now; the legacy default stream where it has none."""
    if hasattr(value, "data_ptr"):
        import torch

        return torch.cuda.current_stream(value.device).cuda_stream
    if hasattr(value, "data") and hasattr(value.data, "ptr"):
        import cupy

        return cupy.cuda.get_current_stream(value.device.id).ptr
    return 0


def stream_handle(stream: Any) -> int:
    """stream: a number, or a stream of PyTorch, CuPy, or one with `__cuda_stream__`."""
    if isinstance(stream, int):
        return stream
    for attribute in ("cuda_stream", "ptr", "handle"):
        handle = getattr(stream, attribute, None)
        if handle is not None:
            return int(handle)
    if hasattr(stream, "__cuda_stream__"):
        return int(stream.__cuda_stream__()[1])
    raise ArgumentError(f"stream: expected a number or a stream of PyTorch or CuPy, found {type(stream).__name__}")


def _element(name: str, dtype: str) -> str:
    if dtype not in NAMES:
        raise ArgumentError(f"{name}: expected elements of bf16, f16 or f32, found {dtype}")
    return NAMES[dtype]


def _in_elements(name: str, strides: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    if any(stride % itemsize for stride in strides):
        raise ArgumentError(f"{name}: expected strides of whole elements, found {tuple(strides)} bytes")
    return tuple(stride // itemsize for stride in strides)
