"""A CUDA driver that only writes down what it was asked for; memory is real, so that fills and copies can be read back."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import fixtures  # noqa: F401  (finds dash_attn)

from dash_attn import DriverError

FORMATS = {"ptr": ctypes.c_uint64, "i64": ctypes.c_int64, "i32": ctypes.c_int32, "f32": ctypes.c_float}


@dataclass
class Launch:
    name: str
    stream: int
    grid: tuple[int, int, int]
    is_cooperative: bool
    parameters: int


@dataclass
class FakeDriver:
    """`fail` maps the name of an entry to the number of launches of it that shall fail."""

    multiprocessors: int = 132
    capability: tuple[int, int] = (9, 0)
    shared_limit: int = 232448
    blocks: int = 1
    capturing: set[int] = field(default_factory=set)
    fail: dict[str, int] = field(default_factory=dict)
    calls: list[tuple[Any, ...]] = field(default_factory=list)
    launches: list[Launch] = field(default_factory=list)
    memory: dict[int, Any] = field(default_factory=dict)
    on_launch: Any = None

    @contextmanager
    def on(self, device: int) -> Iterator[None]:
        yield

    def device_of(self, pointer: int) -> int:
        return 0

    def describe(self, device: int) -> dict[str, Any]:
        return {"name": "a fake GPU", "multiprocessors": self.multiprocessors, "capability": self.capability,
                "shared_bytes": self.shared_limit}

    def load_module(self, ptx: bytes, what: str) -> str:
        self.calls.append(("load_module", what))
        return "module"

    def function(self, module: str, name: str) -> str:
        return name

    def allow_shared(self, function: str, shared_bytes: int, name: str) -> None:
        self.calls.append(("allow_shared", name, shared_bytes))

    def blocks_per_multiprocessor(self, function: str, threads: int, shared_bytes: int) -> int:
        return self.blocks

    def allocate(self, size: int, what: str) -> int:
        block = (ctypes.c_ubyte * (size + 512))()
        ctypes.memset(block, 0xAB, size + 512)
        address = -(-ctypes.addressof(block) // 256) * 256
        self.memory[address] = block
        self.calls.append(("allocate", size, what))
        return address

    def free(self, pointer: int) -> None:
        del self.memory[pointer]
        self.calls.append(("free",))

    def fill(self, pointer: int, byte: int, size: int, stream: int) -> None:
        ctypes.memset(pointer, byte, size)
        self.calls.append(("fill", byte, size, stream))

    def write(self, pointer: int, data: bytes) -> None:
        ctypes.memmove(pointer, data, len(data))
        self.calls.append(("write", len(data)))

    def read(self, pointer: int, size: int) -> bytes:
        return ctypes.string_at(pointer, size)

    def is_capturing(self, stream: int) -> bool:
        return stream in self.capturing

    def synchronize(self, stream: int) -> None:
        self.calls.append(("synchronize", stream))

    def configure(self, grid: Any, block: Any, cluster: Any, shared_bytes: int, stream: int,
                  is_cooperative: bool) -> tuple[Any, ...]:
        return grid, stream, is_cooperative

    def launch(self, config: Any, function: str, parameters: int, name: str) -> None:
        if self.fail.get(name, 0):
            self.fail[name] -= 1
            raise DriverError(719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure", f"launch '{name}'")
        self.launches.append(Launch(name, config[1], config[0], config[2], parameters))
        if self.on_launch:
            self.on_launch(self.launches[-1])

    def names(self) -> list[str]:
        """Entries launched since the last call of this."""
        names = [launch.name for launch in self.launches]
        self.launches.clear()
        return names


def values(launch: Launch, entry: Any) -> dict[str, Any]:
    """The parameters of a launch, read as a GPU would: through the array of addresses."""
    array = (ctypes.c_void_p * len(entry.parameters)).from_address(launch.parameters)
    return {item.name: FORMATS[item.type].from_address(array[i]).value for i, item in enumerate(entry.parameters)}
