"""TMA descriptors: 128 bytes with fields that instructions replace one by one. Where a field lies is the emulator's own affair, as it is
a GPU's. Five dimensions, elements of 16 bits, rows of 128 bytes in shared memory, swizzled: that is what the kernels use."""

from __future__ import annotations

import numpy as np
from ptx_text import Wrong

BYTES, RANK = 128, 5
MAP = np.dtype([("global_address", "<u8"), ("global_stride", "<u8", RANK - 1), ("global_dim", "<u4", RANK), ("box_dim", "<u4", RANK),
                ("element_stride", "<u4", RANK), ("rank", "u1"), ("elemtype", "u1"), ("interleave_layout", "u1"), ("swizzle_mode", "u1"),
                ("fill_mode", "u1")])
# PTX counts ranks from 0; f16 is 6, bf16 is 10; swizzles of 128 bytes are 3; what is out of bounds is zero.
EXPECTED = {"rank": (RANK - 1,), "elemtype": (6, 10), "interleave_layout": (0,), "swizzle_mode": (3,), "fill_mode": (0,)}


def replaced(content: np.ndarray, field: str, index: int, value: int) -> np.ndarray:
    """The 128 bytes with another value in a field."""
    new = content.copy()
    fields = new[:MAP.itemsize].view(MAP)
    if fields[field].ndim > 1:
        fields[field][0, index] = value
    else:
        fields[field][0] = value
    return new


class TensorMap:
    """What a descriptor says, checked as the driver checks it."""

    def __init__(self, content: np.ndarray):
        fields = content[:MAP.itemsize].view(MAP)[0]
        for name, values in EXPECTED.items():
            if fields[name] not in values:
                raise Wrong(f"expected {name} of a descriptor to be {values}, found {fields[name]}")
        self.address = int(fields["global_address"])
        self.strides = [int(x) for x in fields["global_stride"]]
        self.sizes, self.box = ([int(x) for x in fields[name]] for name in ("global_dim", "box_dim"))
        if self.address % 16 or any(stride % 16 for stride in self.strides) or any(fields["element_stride"] != 1):
            raise Wrong(f"a descriptor's address {self.address:#x}, strides {self.strides} or element strides do not fit")
        if not (self.sizes[0] == self.box[0] == 64 and all(1 <= box <= 256 for box in self.box) and min(self.sizes) >= 1):
            raise Wrong(f"a descriptor's box {self.box} of sizes {self.sizes} does not fit")

    @property
    def bytes(self) -> int:
        return 2 * int(np.prod(self.box))

    def rows(self, coordinates: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """The address of each row of 128 bytes of the box, in shared memory's order, and whether it is in bounds."""
        grids = np.meshgrid(*(np.arange(size) for size in self.box[:0:-1]), indexing="ij")
        at = [coordinate + grid.reshape(-1) for coordinate, grid in zip(coordinates[1:], grids[::-1])]
        inside = np.logical_and.reduce([(0 <= x) & (x < size) for x, size in zip(at, self.sizes[1:])]) & (coordinates[0] == 0)
        return (self.address + sum(x * stride for x, stride in zip(at, self.strides))).astype(np.uint64), inside


def swizzled(address: int, rows: int) -> np.ndarray:
    """[rows, 128]: where the bytes of rows lie behind an address of shared memory: 16 bytes change places within eight rows."""
    start = address + 128 * np.arange(rows)[:, None]
    byte = np.arange(128)[None, :]
    return start + (byte ^ ((start >> 7 & 7) << 4))
