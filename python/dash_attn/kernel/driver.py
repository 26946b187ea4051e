"""The CUDA driver: libdash launches through it, and callers without PyTorch have their workspace
from it."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from typing import Any, NamedTuple

from ..errors import DriverError
from .library import StringRef, library, make

DEVICE_ORDINAL = 9  # CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
RELAXED = 2  # CU_STREAM_CAPTURE_MODE_RELAXED
NON_BLOCKING = 1  # CU_STREAM_NON_BLOCKING
NO_TIMING, NOT_READY = 2, 600  # CU_EVENT_DISABLE_TIMING, CUDA_ERROR_NOT_READY
MULTIPROCESSORS, MAJOR, MINOR = 16, 75, 76  # CU_DEVICE_ATTRIBUTE_…
_ADDRESS, _SIZE, _POINTER = ctypes.c_uint64, ctypes.c_size_t, ctypes.c_void_p
_FUNCTIONS = {
    "cuDriverGetVersion": (_POINTER,),
    "cuDeviceGetName": (ctypes.c_char_p, ctypes.c_int, ctypes.c_int),
    "cuDeviceGetAttribute": (_POINTER, ctypes.c_int, ctypes.c_int),
    "cuDeviceGetCount": (_POINTER,),
    "cuDevicePrimaryCtxGetState": (ctypes.c_int, _POINTER, _POINTER),
    "cuDevicePrimaryCtxRetain": (_POINTER, ctypes.c_int),
    "cuCtxGetCurrent": (_POINTER,),
    "cuCtxPushCurrent_v2": (_POINTER,),
    "cuCtxPopCurrent_v2": (_POINTER,),
    "cuMemAlloc_v2": (_POINTER, _SIZE),
    "cuMemFree_v2": (_ADDRESS,),
    "cuMemcpyHtoD_v2": (_ADDRESS, ctypes.c_char_p, _SIZE),
    "cuMemcpyDtoH_v2": (_POINTER, _ADDRESS, _SIZE),
    "cuMemsetD8Async": (_ADDRESS, ctypes.c_ubyte, _SIZE, _POINTER),
    "cuPointerGetAttribute": (_POINTER, ctypes.c_int, _ADDRESS),
    "cuStreamCreate": (_POINTER, ctypes.c_uint),
    "cuStreamDestroy_v2": (_POINTER,),
    "cuThreadExchangeStreamCaptureMode": (_POINTER,),
    "cuEventCreate": (_POINTER, ctypes.c_uint),
    "cuEventRecord": (_POINTER, _POINTER),
    "cuEventQuery": (_POINTER,),
    "cuEventDestroy_v2": (_POINTER,),
    "cuStreamSynchronize": (_POINTER,),
    "cuGetErrorName": (ctypes.c_int, _POINTER),
    "cuGetErrorString": (ctypes.c_int, _POINTER),
}


class Gpu(NamedTuple):
    """capability: (9, 0)."""

    name: str
    capability: tuple[int, int]
    multiprocessors: int


class Driver:
    """Pointers, streams and contexts are plain integers. Uses each device's primary context, as
    PyTorch and CuPy do.

    A thread may have no context, such as a thread of PyTorch's autograd before its first call of
    the CUDA runtime, or another device's. So functions that name no device are called within
    `on` only.
    """

    def __init__(self, name: str = "") -> None:
        """name: of the library; libcuda.so.1 if empty. Raises DriverError where there is none,
        or no device."""
        text = name.encode()
        self.handle = make(library().dashDriverOpen, StringRef.of(text))
        self._cuda = ctypes.CDLL(name or "libcuda.so.1")
        for function, parameters in _FUNCTIONS.items():
            getattr(self._cuda, function).argtypes = parameters
        self._contexts: dict[int, int] = {}

    def version(self) -> str:
        """The version of its interface, such as "13.0"."""
        found = ctypes.c_int()
        self._call("ask for the driver's version", "cuDriverGetVersion", ctypes.byref(found))
        return f"{found.value // 1000}.{found.value % 1000 // 10}"

    def gpus(self) -> list[Gpu]:
        """The GPUs of this machine. Makes no context."""
        name, number = ctypes.create_string_buffer(256), ctypes.c_int()

        def attribute(which: int, device: int) -> int:
            self._call(
                f"ask about device {device}",
                "cuDeviceGetAttribute",
                ctypes.byref(number),
                which,
                device,
            )
            return number.value

        self._call("count the devices", "cuDeviceGetCount", ctypes.byref(number))
        found = []
        for device in range(number.value):
            self._call(
                f"ask for the name of device {device}", "cuDeviceGetName", name, len(name), device
            )
            found.append(
                Gpu(
                    name.value.decode(errors="replace"),
                    (attribute(MAJOR, device), attribute(MINOR, device)),
                    attribute(MULTIPROCESSORS, device),
                )
            )
        return found

    @contextmanager
    def on(self, device: int) -> Iterator[None]:
        """Makes the device current, and afterwards what was current before, be it nothing."""
        if device not in self._contexts:
            context = ctypes.c_void_p()
            self._call(
                f"take the context of device {device}",
                "cuDevicePrimaryCtxRetain",
                ctypes.byref(context),
                device,
            )
            self._contexts[device] = context.value
        self._call(f"make device {device} current", "cuCtxPushCurrent_v2", self._contexts[device])
        try:
            yield
        finally:
            self._call("leave the device", "cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))

    def _current(self) -> int | None:
        """The calling thread's context."""
        found = ctypes.c_void_p()
        self._call("ask which context is current", "cuCtxGetCurrent", ctypes.byref(found))
        return found.value

    def _device_in_use(self) -> int:
        """A device whose primary context is active already: activating another one would cost
        memory there."""
        count, flags, is_active = ctypes.c_int(), ctypes.c_uint(), ctypes.c_int()
        self._call("count the devices", "cuDeviceGetCount", ctypes.byref(count))
        for device in range(count.value):
            self._call(
                f"ask whether device {device} is in use",
                "cuDevicePrimaryCtxGetState",
                device,
                ctypes.byref(flags),
                ctypes.byref(is_active),
            )
            if is_active.value:
                return device
        return 0

    def device_of(self, pointer: int) -> int:
        """The device that owns the memory at `pointer`. Any context may ask."""
        if self._current() is None:
            with self.on(self._device_in_use()):
                return self.device_of(pointer)
        found = ctypes.c_int()
        self._call(
            "ask whose memory a pointer is",
            "cuPointerGetAttribute",
            ctypes.byref(found),
            DEVICE_ORDINAL,
            pointer,
        )
        return found.value

    @contextmanager
    def in_captures(self) -> Iterator[None]:
        """What this thread does beside streams that are being captured, such as allocating, does
        not end these captures."""
        mode = ctypes.c_int(RELAXED)
        exchange = partial(
            self._call,
            "change how captures treat this thread",
            "cuThreadExchangeStreamCaptureMode",
            ctypes.byref(mode),
        )
        exchange()
        try:
            yield
        finally:
            exchange()  # back to what it was, which is in `mode` now

    @contextmanager
    def stream(self) -> Iterator[int]:
        """A private stream of the current device. It and the legacy default stream do not wait
        for each other."""
        found = ctypes.c_void_p()
        self._call("make a stream", "cuStreamCreate", ctypes.byref(found), NON_BLOCKING)
        try:
            yield found.value or 0
        finally:
            self._call("give a stream back", "cuStreamDestroy_v2", found)

    def synchronize(self, stream: int) -> None:
        self._call("wait for a stream", "cuStreamSynchronize", stream)

    # ---- Events of the current device, by handles ------------------------------------------------

    def record_event(self, stream: int) -> int:
        """A new one, which the stream comes to."""
        found = ctypes.c_void_p()
        self._call("make an event", "cuEventCreate", ctypes.byref(found), NO_TIMING)
        self._call("record an event", "cuEventRecord", found, stream)
        return found.value or 0

    def has_happened(self, event: int) -> bool:
        """Waits for nothing."""
        code = self._cuda.cuEventQuery(event)
        if code != NOT_READY:
            self._check(code, "ask for an event")
        return code != NOT_READY

    def destroy_event(self, event: int) -> None:
        self._call("give an event back", "cuEventDestroy_v2", event)

    # ---- Memory of the current device ------------------------------------------------------------

    def allocate(self, size: int, what: str) -> int:
        found = _ADDRESS()
        self._call(f"allocate {size} bytes for {what}", "cuMemAlloc_v2", ctypes.byref(found), size)
        return found.value

    def free(self, pointer: int) -> None:
        self._call("free memory", "cuMemFree_v2", pointer)

    def fill(self, pointer: int, byte: int, size: int, stream: int) -> None:
        """Sets `size` bytes, in the stream's order."""
        self._call(f"fill {size} bytes", "cuMemsetD8Async", pointer, byte, size, stream)

    def write(self, pointer: int, data: bytes) -> None:
        """Copies to the device; done when it returns."""
        self._call(
            f"copy {len(data)} bytes to the device", "cuMemcpyHtoD_v2", pointer, data, len(data)
        )

    def read(self, pointer: int, size: int) -> bytes:
        """Copies from the device, behind all work of the legacy default stream only: synchronize
        first."""
        data = ctypes.create_string_buffer(size)
        self._call(f"copy {size} bytes from the device", "cuMemcpyDtoH_v2", data, pointer, size)
        return data.raw

    def _call(self, doing: str, function: str, *arguments: Any) -> None:
        self._check(getattr(self._cuda, function)(*arguments), doing)

    def _check(self, code: int, doing: str) -> None:
        if code:
            name, text = (
                self._explain(ask, code) for ask in ("cuGetErrorName", "cuGetErrorString")
            )
            raise DriverError(f"{doing}: {name or 'CUresult'} ({code}): {text or 'no description'}")

    def _explain(self, ask: str, code: int) -> str:
        text = ctypes.c_char_p()
        getattr(self._cuda, ask)(code, ctypes.byref(text))
        return (text.value or b"").decode()


@cache
def cuda_driver() -> Driver:
    """The one driver of the process. Raises DriverError without a driver or a device."""
    return Driver()
