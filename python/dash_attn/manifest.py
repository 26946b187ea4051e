"""The launch manifest that dash-opt writes beside a kernel's PTX, as dataclasses. read_manifest.py reads it.

Sizes are counts of elements or tiles, strides are in elements, workspace is in bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .errors import ManifestError
from .expressions import Expression


@dataclass(frozen=True)
class Size:
    """What a size may be: `minimum` to `maximum`; equal if the kernel serves one value only."""

    name: str
    minimum: int
    maximum: int


@dataclass(frozen=True)
class Constraint:
    expression: Expression
    equals: int
    message: str


@dataclass(frozen=True)
class TensorSpec:
    """A tensor that the caller gives: shape as expressions in sizes, alignment in bytes, strides in elements."""

    name: str
    element: str
    access: str
    shape: tuple[Expression, ...]
    alignment: int
    stride_multiple: int

    @property
    def is_written(self) -> bool:
        return self.access != "read"


@dataclass(frozen=True)
class Region:
    """A part of the workspace. initial: "any", "zero" (and left zero), "entry" or "file" (the order)."""

    name: str
    bytes: Expression
    alignment: int
    initial: str
    after: str


@dataclass(frozen=True)
class Parameter:
    name: str
    type: str


@dataclass(frozen=True)
class Entry:
    """A function of the PTX. when: "always", or "sizes-change" for what only sizes decide."""

    name: str
    role: str
    when: str
    grid: tuple[Expression, Expression, Expression]
    block: tuple[int, int, int]
    cluster: tuple[int, int, int]
    shared_bytes: int
    is_cooperative: bool
    registers: int | None
    parameters: tuple[Parameter, ...]

    @property
    def threads(self) -> int:
        return self.block[0] * self.block[1] * self.block[2]


@dataclass(frozen=True)
class Program:
    """What was fixed at compile time."""

    element: str
    head_dim: int
    head_dim_v: int
    mask: str
    q_tile: int
    kv_tile: int
    kind: str
    level: str
    is_deterministic: bool
    parts: int
    workers: int
    width: int
    min_workers: int


@dataclass(frozen=True)
class Order:
    """Where the order buffer comes from: an entry of the PTX, or a file made for stated sizes."""

    source: str
    file: str = ""
    bytes: int = 0
    sha256: str = ""
    command: str = ""


@dataclass(frozen=True)
class Manifest:
    path: Path
    name: str
    ptx_file: str
    ptx_sha256: str
    isa: str
    target: str
    certificate: str
    program: Program
    sizes: dict[str, Size]
    constraints: tuple[Constraint, ...]
    derived: dict[str, Expression]
    tensors: dict[str, TensorSpec]
    workspace: dict[str, Region]
    order: Order
    entries: tuple[Entry, ...]
    raw: dict[str, Any] = field(repr=False, compare=False)
    files: dict[str, bytes] = field(default_factory=dict, repr=False, compare=False)  # those that are in memory, not beside `path`

    def read_ptx(self) -> bytes:
        """The PTX that this manifest belongs to. Raises ManifestError if the file beside it is another one."""
        return self._read(self.ptx_file, self.ptx_sha256, "PTX")

    def read_order(self) -> bytes:
        """The order's table, int32 words, little-endian. Raises ManifestError if the file is another one."""
        data = self._read(self.order.file, self.order.sha256, "order")
        if len(data) != self.order.bytes:
            raise ManifestError(f"{self.path}: expected {self.order.bytes} bytes in '{self.order.file}', "
                                f"found {len(data)}")
        return data

    def values(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """Sizes, and what expressions may use beside them: derived sizes, workers and width."""
        values = {**sizes, "workers": self.program.workers, "width": self.program.width}
        for name, expression in self.derived.items():
            values[name] = expression(values)
        return values

    def _read(self, file: str, sha256: str, what: str) -> bytes:
        try:
            data = self.files[file] if file in self.files else (self.path.parent / file).read_bytes()
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise ManifestError(f"{self.path}: cannot read its {what} '{file}': {why}") from error
        found = hashlib.sha256(data).hexdigest()
        if found != sha256.removeprefix("sha256:"):
            raise ManifestError(f"{self.path}: does not belong to the {what} '{file}': expected sha256 "
                                f"{sha256.removeprefix('sha256:')}, found {found}; compile both again")
        return data
