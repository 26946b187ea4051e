"""Documents, the ranks that share them, and why some cannot be served. Looks at nothing but
numbers and names."""

from __future__ import annotations

import ctypes
import math
import weakref
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import ArgumentError
from ..kernel.library import Handle, StringRef, make
from ..kernel.problem import plain
from .capi import LEAF_WIDTH, CProblem, functions, lines, numbers

Home = tuple[int, int, int, int]  # rank, document, first row, rows
KINDS = ("heads-first", "home", "random", "rows")  # of plans, whose bits are level world
COMPARED = ("greedy", "ring", "zigzag")
KEPT = {"none": 0, "inputs": -1}  # bytes; all of them
NOT_SERVED = {
    "window": None,
    "sink": None,
    "bitmap": None,
    "softcap": None,
    "dropout": 0.0,
    "dropout_p": 0.0,
}


def plain_numbers(name: str, values: Any) -> tuple[int, ...]:
    """Lengths that the host knows, as numbers of Python."""
    if hasattr(values, "tolist"):
        values = values.tolist()
    if not isinstance(values, Iterable) or isinstance(values, (str, bytes, dict)):
        raise ArgumentError(f"{name}: expected whole numbers, found {values!r}")
    found = tuple(plain(value) for value in values)
    for i, value in enumerate(found):
        if type(value) is not int or not -(2**63) <= value < 2**63:
            raise ArgumentError(f"{name}: expected whole numbers, found {value!r} at {i}")
    return found


def plain_homes(homes: Any) -> tuple[Home, ...]:
    if not isinstance(homes, Iterable) or isinstance(homes, (str, bytes, dict)):
        raise ArgumentError(
            f"homes: expected (rank, document, first row, rows) of each, found {homes!r}"
        )
    found = tuple(plain_numbers(f"homes: home {i}", home) for i, home in enumerate(homes))
    for i, home in enumerate(found):
        if len(home) != 4:
            raise ArgumentError(
                f"homes: expected (rank, document, first row, rows), found {home} at {i}"
            )
    return found  # type: ignore[return-value]


def packed_homes(documents: Sequence[int], ranks: int) -> tuple[Home, ...]:
    """All documents one behind the other, in equal shares: rank r has rows total * r // ranks to
    total * (r + 1) // ranks."""
    total, homes, begin = sum(documents), [], 0
    bounds = [total * rank // ranks for rank in range(ranks + 1)]
    for document, rows in enumerate(documents):
        for rank in range(ranks):
            first, end = max(begin, bounds[rank]), min(begin + rows, bounds[rank + 1])
            if first < end:
                homes.append((rank, document, first - begin, end - first))
        begin += rows
    return tuple(homes)


def refuse_options(options: dict[str, Any]) -> None:
    """Raises ArgumentError for options of attention that no world has."""
    for name, value in options.items():
        if name not in NOT_SERVED:
            raise ArgumentError(f"{name}: a world has no such option")
        if plain(value) != NOT_SERVED[name]:
            found = (
                repr(value) if isinstance(value, (int, float, tuple, str)) else type(value).__name__
            )
            raise ArgumentError(
                f"{name}: expected {NOT_SERVED[name]}, found {found}: a world serves causal"
                " attention within documents, without window, bitmap, sink, softcap and dropout;"
                " dash_attn.attention has windows and sinks on one GPU"
            )


@dataclass(frozen=True)
class Problem:
    """What `DashWorldProblem` has, as numbers and words of Python; equal problems have equal
    plans."""

    documents: tuple[int, ...]
    homes: tuple[Home, ...]
    ranks: int
    ranks_per_node: int
    heads: int
    kv_heads: int
    head_dim: int
    element: str
    causal: bool = True
    kept: int = 0
    cut: int = 1
    speeds: tuple[int, ...] = ()
    memory: int = 0
    _local: dict[int, tuple[tuple[int, int, int, int], ...]] = field(
        default_factory=dict, compare=False, repr=False
    )

    def make(self) -> Handle:
        """A world of libdash. Raises ArgumentError with what was expected and found."""
        element = self.element.encode()
        flat = [number for home in self.homes for number in home]
        given = CProblem(
            numbers(self.documents),
            len(self.documents),
            self.heads,
            self.kv_heads,
            self.head_dim,
            StringRef.of(element),
            self.causal,
            self.kept,
            self.cut,
            self.ranks,
            self.ranks_per_node,
            numbers(flat),
            len(self.homes),
            numbers(self.speeds),
            len(self.speeds),
            self.memory,
            0.0,
            0.0,
        )
        return make(functions().dashWorldCreate, ctypes.byref(given))

    @property
    def group(self) -> int:
        """Query heads of a kv head."""
        return self.heads // self.kv_heads

    def node_of(self, rank: int) -> int:
        return rank // self.ranks_per_node

    def local(self, rank: int) -> tuple[tuple[int, int, int, int], ...]:
        """For each of the rank's homes: document, first row, end row, and where it begins in the
        rank's own rows."""
        if rank not in self._local:
            found, at = [], 0
            for of, document, first, rows in self.homes:
                if of == rank:
                    found.append((document, first, first + rows, at))
                    at += rows
            self._local[rank] = tuple(found)
        return self._local[rank]

    def rows(self, rank: int) -> int:
        return sum(end - first for _, first, end, _ in self.local(rank))


@dataclass(frozen=True)
class Leaf:
    """Query rows [first, end) of one kv head over the context [0, end), which a kernel computes
    as q_rows rows over `context`, filled up with rows that see nothing. document_leaves: how
    many leaves the document has."""

    document: int
    head: int
    number: int
    first: int
    end: int
    q_rows: int
    context: int
    is_packed: bool
    document_leaves: int

    @property
    def is_whole(self) -> bool:
        return self.document_leaves == 1


class Leaves:
    """The cut: leaves of each document, as libdash has them."""

    def __init__(self, problem: Problem) -> None:
        handle = problem.make()
        weakref.finalize(self, functions().dashWorldDestroy, handle).atexit = False
        self._handle, self._found = handle, {}

    def of(self, document: int) -> list[tuple[int, ...]]:
        """First row, end row, rows and context as computed, whether it is packed."""
        if document not in self._found:
            self._found[document] = lines(
                functions().dashWorldGetLeaves, LEAF_WIDTH, self._handle, document
            )
        return self._found[document]

    def leaf(self, document: int, head: int, number: int) -> Leaf:
        ends = self.of(document)
        first, end, q_rows, context, is_packed = ends[number]
        return Leaf(document, head, number, first, end, q_rows, context, bool(is_packed), len(ends))

    def certificate(self, forward: str, kernels: Sequence[str]) -> str:
        """ "sha256:…" of all that fixes bits. forward: what computes O and LSE; kernels:
        certificates of what computes leaves."""
        texts = [kernel.encode() for kernel in kernels]
        given, name = (StringRef * max(1, len(texts)))(*map(StringRef.of, texts)), forward.encode()
        return (
            functions()
            .dashWorldGetCertificate(self._handle, StringRef.of(name), given, len(texts))
            .text
        )


def refusal_of_node(ranks: Any) -> str | None:
    """Why a node cannot have so many ranks; None is what torchrun says."""
    if ranks is None or type(ranks) is int and ranks > 0:
        return None
    return f"ranks_per_node: expected a whole number of at least 1, found {ranks!r}"


def kept_of(kept: Any) -> int:
    """Bytes that may stay with a rank from a forward to its backward; -1: any."""
    kept = plain(kept)
    if isinstance(kept, str) and kept in KEPT:
        return KEPT[kept]
    if type(kept) is not int or not 0 <= kept < 2**63:
        raise ArgumentError(
            f"kept: expected one of {', '.join(KEPT)}, or a number of bytes, found {kept!r}"
        )
    return kept


def scale_of(scale: Any, head_dim: int) -> float:
    scale = plain(scale)
    if scale is None:
        return head_dim**-0.5
    if type(scale) not in (int, float) or not math.isfinite(scale):
        raise ArgumentError(f"scale: expected a finite number that the host knows, found {scale!r}")
    return float(scale)
