"""TMA descriptors: 128 bytes with fields that instructions replace one by one. Where a field lies
is the emulator's own affair, as it is a GPU's. Five dimensions, elements of 16 bits, rows of 32, 64
or 128 bytes in shared memory, swizzled: that is what the kernels use."""

from __future__ import annotations

import numpy as np
from ptx_text import Wrong

BYTES, RANK = 128, 5
MAP = np.dtype(
    [
        ("global_address", "<u8"),
        ("global_stride", "<u8", RANK - 1),
        ("global_dim", "<u4", RANK),
        ("box_dim", "<u4", RANK),
        ("element_stride", "<u4", RANK),
        ("rank", "u1"),
        ("elemtype", "u1"),
        ("interleave_layout", "u1"),
        ("swizzle_mode", "u1"),
        ("fill_mode", "u1"),
    ]
)
# PTX counts ranks from 0; f16 is 6, bf16 is 10; swizzles of 32, 64 and 128 bytes are 1, 2 and 3;
# what is out of bounds is zero.
EXPECTED = {
    "rank": (RANK - 1,),
    "elemtype": (6, 10),
    "interleave_layout": (0,),
    "swizzle_mode": (1, 2, 3),
    "fill_mode": (0,),
}


def replaced(content: np.ndarray, field: str, index: int, value: int) -> np.ndarray:
    """The 128 bytes with another value in a field."""
    new = content.copy()
    fields = new[: MAP.itemsize].view(MAP)
    if fields[field].ndim > 1:
        fields[field][0, index] = value
    else:
        fields[field][0] = value
    return new


class TensorMap:
    """What a descriptor says, checked as the driver checks it."""

    def __init__(self, content: np.ndarray):
        fields = content[: MAP.itemsize].view(MAP)[0]
        for name, values in EXPECTED.items():
            if fields[name] not in values:
                raise Wrong(f"expected {name} of a descriptor to be {values}, found {fields[name]}")
        self.address = int(fields["global_address"])
        self.strides = [int(x) for x in fields["global_stride"]]
        self.sizes, self.box = (
            [int(x) for x in fields[name]] for name in ("global_dim", "box_dim")
        )
        if (
            self.address % 16
            or any(stride % 16 for stride in self.strides)
            or any(fields["element_stride"] != 1)
        ):
            raise Wrong(
                f"a descriptor's address {self.address:#x}, strides {self.strides} or element"
                " strides do not fit"
            )
        self.width = 16 << int(fields["swizzle_mode"])
        if not (
            2 * self.box[0] == self.width
            and all(1 <= box <= 256 for box in self.box)
            and min(self.sizes) >= 1
        ):
            raise Wrong(f"a descriptor's box {self.box} of sizes {self.sizes} does not fit")

    @property
    def bytes(self) -> int:
        return 2 * int(np.prod(self.box))

    def rows(self, coordinates: list[int]) -> tuple[np.ndarray, np.ndarray, int]:
        """The address of each row of the box, in shared memory's order, whether it is in bounds,
        and how many of its bytes are."""
        grids = np.meshgrid(*(np.arange(size) for size in self.box[:0:-1]), indexing="ij")
        at = [
            coordinate + grid.reshape(-1) for coordinate, grid in zip(coordinates[1:], grids[::-1])
        ]
        inside = np.logical_and.reduce(
            [(0 <= x) & (x < size) for x, size in zip(at, self.sizes[1:])]
        )
        address = (
            self.address
            + 2 * coordinates[0]
            + sum(x * stride for x, stride in zip(at, self.strides))
        )
        columns = min(self.box[0], self.sizes[0] - coordinates[0])
        return address.astype(np.uint64), inside & (columns > 0), 2 * max(1, columns)


def swizzled(address: int, rows: int, width: int) -> np.ndarray:
    """[rows, width]: where the bytes of rows lie behind an address of shared memory: 16 bytes
    change places within eight rows."""
    byte = address + width * np.arange(rows)[:, None] + np.arange(width)[None, :]
    return byte ^ (byte >> 7 & width // 16 - 1) << 4
