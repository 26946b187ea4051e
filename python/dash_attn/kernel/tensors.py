"""Tensors of any library as pointer, shape, strides and type. Imports none of the libraries.

A PyTorch tensor is read through its methods, a CuPy array through its attributes, everything
else through `__cuda_array_interface__`, whose 16-bit integers are taken for the bits of bf16:
that protocol has no name for the type.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from ..errors import ArgumentError

BYTES = {"bf16": 2, "f16": 2, "f32": 4, "i32": 4}
ELEMENTS = {"bf16": 1, "f16": 2, "f32": 3, "i32": 4}  # DashElement
LEGACY = 1  # CU_STREAM_LEGACY, the default stream where 0 may not stand
NAMES = {
    "bfloat16": "bf16",
    "float16": "f16",
    "float32": "f32",
    "int32": "i32",
    "uint16": "bf16",
    "<u2": "bf16",
    "<f2": "f16",
    "<f4": "f32",
    "<i4": "i32",
}


@dataclass(frozen=True)
class Tensor:
    """Device memory: address of the first element, shape, strides in elements, "bf16", "f16",
    "f32" or "i32", device number."""

    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str = "bf16"
    device: int = 0

    def __post_init__(self) -> None:
        numbers = (
            (self.pointer, self.device, *self.shape, *self.strides)
            if isinstance(self.shape, tuple) and isinstance(self.strides, tuple)
            else (None,)
        )
        if (
            not all(
                isinstance(number, int) and -(2**63) <= number < 2**63 for number in numbers[1:]
            )
            or not isinstance(numbers[0], int)
            or not 0 <= numbers[0] < 2**64
            or min(self.shape, default=0) < 0
        ):
            raise ArgumentError(
                "expected an address, a shape, strides and a device as whole numbers, found "
                f"{self.pointer!r}, {self.shape!r}, {self.strides!r} and {self.device!r}"
            )
        if len(self.shape) != len(self.strides):
            raise ArgumentError(
                f"expected a stride for each dimension, found {self.strides} for shape {self.shape}"
            )
        if self.dtype not in NAMES.values():
            raise ArgumentError(f"expected elements of bf16, f16, f32 or i32, found {self.dtype!r}")

    def in_batch(self) -> Tensor:
        """The same memory as the only entry of a batch."""
        return Tensor(
            self.pointer,
            (1, *self.shape),
            (max(self.shape[0] * self.strides[0], 1) if self.shape else 1, *self.strides),
            self.dtype,
            self.device,
        )

    def transposed(self, first: int, second: int) -> Tensor:
        """The same memory with two dimensions exchanged."""
        order = list(range(len(self.shape)))
        order[first], order[second] = second, first
        return Tensor(
            self.pointer,
            tuple(self.shape[i] for i in order),
            tuple(self.strides[i] for i in order),
            self.dtype,
            self.device,
        )


def signature(value: Any, name: str, device_of: Callable[[int], int]) -> tuple[int, Hashable]:
    """Address, and what else decides how it is launched, as its library spells it. Cheap: done
    for each call."""
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
    pointer, *rest = _interface(value, name)
    return pointer, (*rest, device_of(pointer) if pointer else 0)


def as_tensor(
    value: Any, name: str, device_of: Callable[[int], int], stream: int, is_written: bool
) -> Tensor:
    """value: a tensor of any library; device_of: which device owns an address; stream: the one
    to launch on. Raises ArgumentError."""
    if isinstance(value, Tensor):
        return value
    if hasattr(value, "data_ptr"):
        if value.device.type != "cuda":
            raise ArgumentError(
                f"{name}: expected memory of a CUDA device, found a tensor on '{value.device}'"
            )
        return Tensor(
            value.data_ptr(),
            tuple(value.shape),
            tuple(value.stride()),
            _element(name, str(value.dtype).removeprefix("torch.")),
            value.device.index or 0,
        )
    if hasattr(value, "data") and hasattr(value.data, "ptr"):
        element, itemsize = _element(name, value.dtype.name), value.dtype.itemsize
        return Tensor(
            value.data.ptr,
            tuple(value.shape),
            _in_elements(name, value.strides, itemsize),
            element,
            value.device.id,
        )
    pointer, is_read_only, shape, strides, typestr, used_on = _interface(value, name)
    if is_read_only and is_written:
        raise ArgumentError(
            f"{name}: expected memory to write to, found an array that is read-only"
        )
    if used_on is not None and used_on != (stream or LEGACY):
        raise ArgumentError(
            f"{name}: its array is in use on the stream {used_on:#x}, found a launch on"
            f" {stream or LEGACY:#x}; launch there, or synchronize and pass an array without a"
            " stream"
        )
    element = _element(name, typestr)
    strides = contiguous(shape) if strides is None else _in_elements(name, strides, BYTES[element])
    return Tensor(pointer, shape, strides, element, device_of(pointer) if pointer else 0)


def _interface(
    value: Any, name: str
) -> tuple[int, bool, tuple[int, ...], tuple[int, ...] | None, str, int | None]:
    """Address, read-only, shape, strides in bytes, type and stream of a
    `__cuda_array_interface__`."""
    interface = getattr(value, "__cuda_array_interface__", None)
    if interface is None:
        raise ArgumentError(
            "expected a tensor of PyTorch or CuPy, one with __cuda_array_interface__, or "
            f"dash_attn.Tensor, found {type(value).__name__}"
        )
    try:
        pointer, is_read_only = interface["data"]
        shape, strides = tuple(interface["shape"]), interface.get("strides")
        found = (
            int(pointer),
            bool(is_read_only),
            shape,
            None if strides is None else tuple(strides),
            str(interface["typestr"]),
            interface.get("stream"),
        )
        hash(found)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ArgumentError(
            f"{name}: cannot read its __cuda_array_interface__: {type(error).__name__}: {error}"
        ) from None
    if interface.get("mask") is not None:
        raise ArgumentError(
            f"{name}: expected an array without a mask, found one that hides elements"
        )
    return found


def contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides in elements of a tensor whose rows, heads and batches follow one another."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


def current_stream(value: Any) -> int:
    """Handle of the stream that the tensor's library would use now; that of an array interface,
    or the legacy default stream, where it has none."""
    if hasattr(value, "data_ptr"):
        import torch

        return torch.cuda.current_stream(value.device).cuda_stream
    if hasattr(value, "data") and hasattr(value.data, "ptr"):
        import cupy

        return cupy.cuda.get_current_stream(value.device.id).ptr
    if hasattr(value, "__cuda_array_interface__"):
        return _interface(value, "q")[-1] or 0
    return 0


def stream_handle(stream: Any) -> int:
    """stream: a number, or a stream of PyTorch, CuPy, or one with `__cuda_stream__`."""
    handle = stream if isinstance(stream, int) else None
    for attribute in ("cuda_stream", "ptr", "handle"):
        handle = getattr(stream, attribute, None) if handle is None else handle
    if handle is None and hasattr(stream, "__cuda_stream__"):
        handle = stream.__cuda_stream__()[1]
    if handle is not None:
        try:
            handle = int(handle)
        except (TypeError, ValueError):
            handle = -1
        if 0 <= handle < 2**64:
            return handle
    raise ArgumentError(
        f"stream: expected a number or a stream of PyTorch or CuPy, found {type(stream).__name__}"
    )


def _element(name: str, dtype: str) -> str:
    if dtype not in NAMES:
        raise ArgumentError(f"{name}: expected elements of bf16, f16, f32 or i32, found {dtype}")
    return NAMES[dtype]


def _in_elements(name: str, strides: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    if any(stride % itemsize for stride in strides):
        raise ArgumentError(
            f"{name}: expected strides of whole elements, found {tuple(strides)} bytes"
        )
    return tuple(stride // itemsize for stride in strides)
