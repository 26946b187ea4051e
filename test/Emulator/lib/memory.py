"""Global memory, whose allocations have guards around them, and the shared memory of a block, which
copies and products see late."""

from __future__ import annotations

import bisect

import numpy as np
from ptx_text import Wrong

GLOBAL, GUARD, POISON = 1 << 40, 1024, 0xFF  # all bits set are NaN in every type
SHARED = 1024  # where a block's memory begins; the first kilobyte is the system's


class Memory:
    """Bytes from `base` on; addresses are arrays of u64."""

    def __init__(self, base: int, size: int):
        self.base, self.bytes = base, np.full(size, POISON, np.uint8)

    def places(
        self, addresses: np.ndarray, size: int, writes: bool, alignment: int = 0
    ) -> np.ndarray:
        """The address of the first byte of each access of so many bytes."""
        places = addresses - np.uint64(self.base)  # what lies in front is large
        if places.size and int(np.maximum.reduce(places)) + size > len(self.bytes):
            at = int(addresses[places.argmax()])
            raise Wrong(
                f"{'writes' if writes else 'reads'} {size} bytes at {at:#x}: {self.nearest(at)}"
            )
        if int(np.bitwise_or.reduce(places, initial=0)) & ((alignment or size) - 1):
            raise Wrong(
                f"is not aligned to {alignment or size} bytes, at one of"
                f" {[hex(at) for at in addresses.tolist()]}"
            )
        return places.view(np.int64)

    def nearest(self, address: int) -> str:
        return f"expected addresses from {self.base:#x} to {self.base + len(self.bytes):#x}"

    def load(self, addresses: np.ndarray, words: int) -> np.ndarray:
        """[accesses, words]"""
        places = self.places(addresses, 4 * words, False)
        return self.bytes.view(np.uint32)[(places >> 2)[:, None] + np.arange(words)]

    def store(self, addresses: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Values are [accesses, words]; the places of the words."""
        places = (self.places(addresses, 4 * values.shape[1], True) >> 2)[:, None] + np.arange(
            values.shape[1]
        )
        self.bytes.view(np.uint32)[places] = values
        return places

    def rows(self, addresses: np.ndarray, size: int, writes: bool) -> np.ndarray:
        """The places of the bytes of rows of `size` bytes; engines copy 16 at a time."""
        return self.places(addresses, size, writes, 16)[:, None] + np.arange(size)


class Global(Memory):
    """An access lies in one allocation, or is an error; so is a write to what may only be read."""

    def __init__(self) -> None:
        super().__init__(GLOBAL, GUARD)
        self.owners = np.zeros(GUARD, np.int16)
        self.names, self.starts, self.writable = ["none"], [0], np.array([False])

    def allocate(self, name: str, size: int, writable: bool = True) -> int:
        """The address, at a multiple of 128."""
        start, room = len(self.bytes), -(-size // GUARD) * GUARD + GUARD
        self.bytes = np.concatenate([self.bytes, np.full(room, POISON, np.uint8)])
        self.owners = np.concatenate(
            [self.owners, np.where(np.arange(room) < size, len(self.names), 0).astype(np.int16)]
        )
        self.names.append(name)
        self.starts.append(start)
        self.writable = np.append(self.writable, writable)
        return self.base + start

    def view(self, name: str, dtype: type) -> np.ndarray:
        start = self.starts[self.names.index(name)]
        size = int(np.count_nonzero(self.owners == self.names.index(name)))
        return self.bytes[start : start + size].view(dtype)

    def places(
        self, addresses: np.ndarray, size: int, writes: bool, alignment: int = 0
    ) -> np.ndarray:
        places = super().places(addresses, size, writes, alignment)
        first, last = self.owners[places], self.owners[places + (size - 1)]
        wrong = (first != last) | (first == 0) | (writes & ~self.writable[first])
        if wrong.any():
            at = int(addresses[wrong][0])
            raise Wrong(
                f"{'writes' if writes else 'reads'} {size} bytes at {at:#x}: {self.nearest(at)}"
            )
        return places

    def nearest(self, address: int) -> str:
        index = bisect.bisect_right(self.starts, int(address) - self.base) - 1
        return (
            f"byte {int(address) - self.base - self.starts[index]} of {self.names[index]}"
            if index > 0
            else "no allocation"
        )


class Shared(Memory):
    """What threads have stored, copies and products see behind the thread's proxy fence, and not
    before."""

    def __init__(self, size: int):
        super().__init__(SHARED, size)
        self.seen = self.bytes.copy()
        # By warp, the numbers of lanes and the words that each of them has stored.
        self.unfenced: dict[int, list[tuple[np.ndarray, np.ndarray]]] = {}

    def note(self, warp: int, lanes: np.ndarray, places: np.ndarray) -> None:
        self.unfenced.setdefault(warp, []).append((lanes.nonzero()[0], places))

    def fence(self, warp: int, lanes: np.ndarray) -> None:
        kept, others = [], []
        for of, places in self.unfenced.pop(warp, ()):
            fenced = lanes[of]
            kept.append(places[fenced].reshape(-1))
            if not fenced.all():
                others.append((of[~fenced], places[~fenced]))
        if others:
            self.unfenced[warp] = others
        if kept:
            words = np.concatenate(kept)
            self.seen.view(np.uint32)[words] = self.bytes.view(np.uint32)[words]

    def arrive(self, places: np.ndarray, data: np.ndarray | int) -> None:
        """A copy writes."""
        self.bytes[places] = self.seen[places] = data
