"""cuda.bindings.driver without a driver: prints what is launched and written, and checks what a
driver would."""

import itertools
from types import SimpleNamespace

CUDA_SUCCESS = 0
SHARED_LIMIT = 232448
CUfunction_attribute = SimpleNamespace(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES=8)
CUlaunchAttributeID = SimpleNamespace(
    CU_LAUNCH_ATTRIBUTE_COOPERATIVE=2, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION=6
)
_addresses = itertools.count(1 << 32, 1 << 30)


class CUlaunchConfig(SimpleNamespace):
    attrs: list = []
    numAttrs = 0


class CUlaunchAttribute:
    def __init__(self):
        self.id, self.value = 0, SimpleNamespace()


def _done(*results):
    return (CUDA_SUCCESS, *results)


def cuInit(flags):
    return _done()


def cuDeviceGet(number):
    return _done("device")


def cuDevicePrimaryCtxRetain(device):
    return _done("context")


def cuCtxSetCurrent(context):
    return _done()


def cuModuleLoadData(text):
    assert text.endswith(b"\0"), "expected PTX that ends in a zero"
    return _done(text.decode())


def cuModuleGetFunction(module, name):
    assert f".entry {name.decode()}(" in module, f"expected an entry {name.decode()} in the PTX"
    return _done(name.decode())


def cuFuncSetAttribute(function, attribute, value):
    assert 0 <= value <= SHARED_LIMIT, f"expected at most {SHARED_LIMIT} bytes, found {value}"
    return _done()


def cuStreamCreate(flags):
    return _done("stream")


def cuStreamSynchronize(stream):
    return _done()


def cuMemAlloc(size):
    assert size > 0, "expected bytes to allocate"
    return _done(next(_addresses))


def cuMemsetD8Async(pointer, byte, size, stream):
    print(f"set {size} bytes to {byte}")
    return _done()


def cuMemcpyHtoDAsync(pointer, data, size, stream):
    assert size == len(data), f"expected {len(data)} bytes, found {size}"
    print(f"copy {size} bytes")
    return _done()


def cuLaunchKernelEx(config, function, parameters, extra):
    words = {2: ", cooperative", 6: ", overlapping"}
    more = "".join(words[attribute.id] for attribute in config.attrs[: config.numAttrs])
    print(
        f"{function} on {config.gridDimX} x {config.gridDimY} x {config.gridDimZ},"
        f" {config.blockDimX} threads, {config.sharedMemBytes} bytes{more}"
    )
    return _done()
