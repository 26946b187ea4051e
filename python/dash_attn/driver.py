"""The few calls of the CUDA driver that a launch needs, through cuda-bindings. Nothing else here knows of CUDA.

Pointers, streams and handles are plain integers or opaque objects; sizes are in bytes. Every failing call is a DriverError
that says what was being done. Tests put an object with the same methods in its place.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from .errors import DriverError

LOG_BYTES = 16 * 1024


class CudaDriver:
    """The driver of this process. Uses each device's primary context, the one that PyTorch and CuPy use."""

    def __init__(self) -> None:
        try:
            from cuda.bindings import driver
        except ImportError as error:
            raise ImportError("launching a kernel needs cuda-bindings: pip install cuda-bindings") from error
        self._cuda = driver
        self._contexts: dict[int, Any] = {}
        self._call("initialise the CUDA driver", driver.cuInit, 0)

    # ---- Devices and contexts ---------------------------------------------------------------------------------------

    @contextmanager
    def on(self, device: int) -> Iterator[None]:
        """Makes the device's primary context current, and afterwards what was current before."""
        cuda = self._cuda
        if device not in self._contexts:
            handle = self._call(f"open device {device}", cuda.cuDeviceGet, device)
            self._contexts[device] = self._call(f"take the context of device {device}",
                                                cuda.cuDevicePrimaryCtxRetain, handle)
        context = self._contexts[device]
        if int(self._call("ask for the current context", cuda.cuCtxGetCurrent)) == int(context):
            yield
            return
        self._call(f"make device {device} current", cuda.cuCtxPushCurrent, context)
        try:
            yield
        finally:
            self._call("leave the device", cuda.cuCtxPopCurrent)

    def device_of(self, pointer: int) -> int:
        """The device that owns the memory at `pointer`."""
        attribute = self._cuda.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
        return int(self._call("ask whose memory a pointer is", self._cuda.cuPointerGetAttribute, attribute, pointer))

    def describe(self, device: int) -> dict[str, Any]:
        """name, multiprocessors, capability (major, minor) and shared_bytes a block may have."""
        cuda, kinds = self._cuda, self._cuda.CUdevice_attribute
        handle = self._call(f"open device {device}", cuda.cuDeviceGet, device)

        def ask(kind: Any) -> int:
            return int(self._call(f"ask device {device} for {kind.name}", cuda.cuDeviceGetAttribute, kind, handle))

        name = self._call(f"ask for the name of device {device}", cuda.cuDeviceGetName, 128, handle)
        return {
            "name": name.split(b"\0")[0].decode(),
            "multiprocessors": ask(kinds.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
            "capability": (ask(kinds.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
                           ask(kinds.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)),
            "shared_bytes": ask(kinds.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
        }

    # ---- Modules and functions --------------------------------------------------------------------------------------

    def load_module(self, ptx: bytes, what: str) -> Any:
        """Assembles PTX for the current device. The assembler's log is part of the error."""
        options = self._cuda.CUjit_option
        log = bytearray(LOG_BYTES)
        result = self._cuda.cuModuleLoadDataEx(
            ptx + b"\0", 2, [options.CU_JIT_ERROR_LOG_BUFFER, options.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES],
            [log, len(log)])
        text = log.split(b"\0")[0].decode(errors="replace").strip()
        return self._check(f"assemble {what}", result, more=f"\n{text}" if text else "")

    def function(self, module: Any, name: str) -> Any:
        return self._call(f"find the entry '{name}'", self._cuda.cuModuleGetFunction, module, name.encode())

    def allow_shared(self, function: Any, shared_bytes: int, name: str) -> None:
        """Lets the function be launched with so much dynamic shared memory."""
        attribute = self._cuda.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        self._call(f"give '{name}' {shared_bytes} bytes of shared memory", self._cuda.cuFuncSetAttribute, function,
                   attribute, shared_bytes)

    def blocks_per_multiprocessor(self, function: Any, threads: int, shared_bytes: int) -> int:
        return int(self._call("ask how many blocks fit", self._cuda.cuOccupancyMaxActiveBlocksPerMultiprocessor,
                              function, threads, shared_bytes))

    def attributes(self, function: Any) -> dict[str, int]:
        """registers and local_bytes (spills and stack) of a thread, static shared_bytes of a block."""
        kinds = self._cuda.CUfunction_attribute
        return {name: int(self._call(f"ask a function for its {name}", self._cuda.cuFuncGetAttribute, kind, function))
                for name, kind in (("registers", kinds.CU_FUNC_ATTRIBUTE_NUM_REGS),
                                   ("local_bytes", kinds.CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES),
                                   ("shared_bytes", kinds.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES))}

    # ---- Memory -----------------------------------------------------------------------------------------------------

    def allocate(self, size: int, what: str) -> int:
        return int(self._call(f"allocate {size} bytes for {what}", self._cuda.cuMemAlloc, size))

    def free(self, pointer: int) -> None:
        self._call("free memory", self._cuda.cuMemFree, pointer)

    def fill(self, pointer: int, byte: int, size: int, stream: int) -> None:
        """Sets `size` bytes, in the stream's order."""
        self._call(f"fill {size} bytes", self._cuda.cuMemsetD8Async, pointer, byte, size, stream)

    def write(self, pointer: int, data: bytes) -> None:
        """Copies to the device; done when it returns."""
        self._call(f"copy {len(data)} bytes to the device", self._cuda.cuMemcpyHtoD, pointer, data, len(data))

    def read(self, pointer: int, size: int) -> bytes:
        """Copies from the device, behind all work of the legacy default stream only: synchronize first."""
        data = bytearray(size)
        self._call(f"copy {size} bytes from the device", self._cuda.cuMemcpyDtoH, data, pointer, size)
        return bytes(data)

    # ---- Streams and launches ---------------------------------------------------------------------------------------

    def is_capturing(self, stream: int) -> bool:
        status = self._call("ask whether a stream is captured", self._cuda.cuStreamIsCapturing, stream)
        return int(status) != 0

    def synchronize(self, stream: int) -> None:
        self._call("wait for a stream", self._cuda.cuStreamSynchronize, stream)

    def configure(self, grid: tuple[int, int, int], block: tuple[int, int, int], cluster: tuple[int, int, int],
                  shared_bytes: int, stream: int, is_cooperative: bool) -> Any:
        """A launch's configuration, to be used any number of times."""
        cuda = self._cuda
        config = cuda.CUlaunchConfig()
        config.gridDimX, config.gridDimY, config.gridDimZ = grid
        config.blockDimX, config.blockDimY, config.blockDimZ = block
        config.sharedMemBytes = shared_bytes
        config.hStream = cuda.CUstream(stream)
        attributes = []
        if is_cooperative:
            attributes.append(cuda.CUlaunchAttribute())
            attributes[-1].id = cuda.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_COOPERATIVE
            attributes[-1].value.cooperative = 1
        if cluster != (1, 1, 1):
            attributes.append(cuda.CUlaunchAttribute())
            attributes[-1].id = cuda.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
            value = attributes[-1].value.clusterDim
            value.x, value.y, value.z = cluster
        if attributes:
            config.attrs = attributes
        config.numAttrs = len(attributes)
        return config

    def launch(self, config: Any, function: Any, parameters: int, name: str) -> None:
        """parameters: address of an array of pointers, one to the value of each parameter; read before it returns."""
        result = self._cuda.cuLaunchKernelEx(config, function, parameters, 0)
        if int(result[0]):
            self._check(f"launch '{name}' with a grid of {config.gridDimX} x {config.gridDimY} x {config.gridDimZ} blocks, "
                        f"{config.blockDimX} threads each, {config.sharedMemBytes} bytes of shared memory", result)

    # ---- Errors -----------------------------------------------------------------------------------------------------

    def _call(self, doing: str, function: Any, *arguments: Any) -> Any:
        return self._check(doing, function(*arguments))

    def _check(self, doing: str, result: tuple[Any, ...], more: str = "") -> Any:
        code = int(result[0])
        if code == 0:
            return result[1] if len(result) > 1 else None
        name, text = (self._explain(ask, result[0]) for ask in (self._cuda.cuGetErrorName, self._cuda.cuGetErrorString))
        raise DriverError(code, name or f"CUresult {code}", (text or "no description") + more, doing)

    @staticmethod
    def _explain(ask: Any, code: Any) -> str:
        status, text = ask(code)
        return text.decode() if int(status) == 0 and text else ""


@cache
def cuda_driver() -> CudaDriver:
    """The one driver of the process. Raises ImportError without cuda-bindings, DriverError without a device."""
    return CudaDriver()
