"""The memory that a kernel needs beside its tensors: one piece for each device and stream, kept and grown.

Regions keep their place while sizes stay within what was allocated, so that a region of zeros, which every launch leaves
zero again, need not be cleared between launches of different sizes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from .errors import ArgumentError
from .manifest import Manifest

ALIGNMENT = 256  # of the allocation; no region asks for more
PER_THREAD = 2  # CU_STREAM_PER_THREAD: one handle, and a stream of its own for each thread
_threads = threading.local()


def this_thread() -> object:
    """Stands for the calling thread, and for none after it: numbers of threads are given out again."""
    if not hasattr(_threads, "token"):
        _threads.token = object()
    return _threads.token


class Memory(Protocol):
    """What a workspace needs of a driver."""

    def allocate(self, size: int, what: str) -> int: ...
    def free(self, pointer: int) -> None: ...
    def fill(self, pointer: int, byte: int, size: int, stream: int) -> None: ...
    def is_capturing(self, stream: int) -> bool: ...


# Gives (address, what keeps it alive) for a number of bytes, in a stream's order.
Allocator = Callable[[int, int], tuple[int, Any]]


@dataclass(frozen=True)
class Layout:
    """Where regions lie: bytes from the start of the allocation. Order of the manifest."""

    offsets: dict[str, int]
    sizes: dict[str, int]
    total: int

    @staticmethod
    def of(manifest: Manifest, sizes: Mapping[str, int]) -> Layout:
        """sizes: bytes of each region."""
        offsets, position = {}, 0
        for name, size in sizes.items():
            alignment = manifest.workspace[name].alignment
            position = -(-position // alignment) * alignment
            offsets[name] = position
            position += size
        return Layout(offsets, dict(sizes), position)


def region_bytes(manifest: Manifest, values: Mapping[str, int]) -> dict[str, int]:
    """Bytes of each region that is allocated for a stream; an order from a file is not: it never changes."""
    return {name: region.bytes(values) for name, region in manifest.workspace.items() if region.initial != "file"}


@dataclass
class Workspace:
    """One stream's memory. Not for two launches at a time: a stream runs them one after the other."""

    manifest: Manifest
    memory: Memory
    stream: int
    layout: Layout = field(default_factory=lambda: Layout({}, {}, 0))
    pointer: int = 0
    generation: int = 0  # counts allocations: who keeps addresses looks whether they still hold
    is_dirty: bool = False  # a launch failed: regions of zeros may hold something else
    is_captured: bool = False  # a graph has its addresses, and fills the order whenever it is replayed
    ordered_for: tuple[int, ...] | None = None  # the sizes that the order in it is for
    _allocation: tuple[int, Any] = (0, None)  # what the allocator gave
    _keep: list[Any] = field(default_factory=list)
    thread: Any = None  # of the per-thread default stream: whose it is
    lock: Any = field(default_factory=threading.RLock, repr=False, compare=False)  # held by who launches on this stream

    def address(self, region: str) -> int:
        return self.pointer + self.layout.offsets[region]

    def provide(self, needed: Mapping[str, int], allocate: Allocator | None = None) -> None:
        """Makes room for so many bytes of each region, and clears what must be zero. Raises ArgumentError in a capture
        that would have to allocate."""
        have = self.layout.sizes
        if self.pointer == 0 or any(size > have.get(name, 0) for name, size in needed.items()):
            self._grow({name: max(size, have.get(name, 0)) for name, size in needed.items()}, allocate)
        if self.is_dirty:
            self.clear()
            # A capture only writes the clearing down; whoever launches without the graph has to clear as well.
            self.is_dirty = self.memory.is_capturing(self.stream)

    def clear(self) -> None:
        """Zeroes, in the stream's order, the regions that launches expect to be zero."""
        for name, size in self.layout.sizes.items():
            if self.manifest.workspace[name].initial == "zero":
                self.memory.fill(self.address(name), 0, size, self.stream)
        self.is_dirty = False
        self.ordered_for = None

    def _grow(self, sizes: dict[str, int], allocate: Allocator | None) -> None:
        layout = Layout.of(self.manifest, sizes)
        if self.memory.is_capturing(self.stream):
            raise ArgumentError(f"the stream is being captured, and needs {layout.total} bytes of workspace that it does "
                                "not have yet: call backward or reserve with these sizes on this stream before the capture")
        total = layout.total + ALIGNMENT

        def take() -> tuple[int, Any]:
            return allocate(total, self.stream) if allocate \
                else (self.memory.allocate(total, f"the workspace of '{self.manifest.name}'"), None)

        try:
            taken = take()
        except RuntimeError:  # PyTorch's and ours alike: there may be room without what we hold
            if self.pointer == 0 or self.is_captured:
                raise
            self._release()
            taken = take()
        self._release()
        self._allocation = taken
        self.pointer = -(-self._allocation[0] // ALIGNMENT) * ALIGNMENT
        self.layout = layout
        self.generation += 1
        self.is_captured, self.is_dirty = False, True  # until it is cleared
        self.clear()

    def _release(self) -> None:
        """Gives memory back, or leaves it to the graphs that go on using it. Plans find out: they provide anew."""
        start, owner = self._allocation
        if self.is_captured:
            self._keep.append(self._allocation)
        elif start and owner is None:
            self.memory.free(start)
        self.pointer, self._allocation, self.layout = 0, (0, None), Layout({}, {}, 0)
        self.generation += 1
