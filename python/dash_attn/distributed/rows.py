"""Rows of tensors that a rank has: at home, received or computed; and messages, as they lie in
buffers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import torch

from .plan import DELTA, DK, DO, DQ, DV, K, LSE, O, Q, SUMS, V, Message
from .problem import Problem

OF_QUERIES = Q | DO | LSE | DELTA | O | DQ  # of the query heads of a kv head
OF_ROWS = LSE | DELTA  # one number a row
F32 = LSE | DELTA | SUMS
NAMES = dict(
    zip(
        (Q, DO, LSE, DELTA, K, V, O, DQ, SUMS, DK, DV), "q do lse delta k v o dq sums dk dv".split()
    )
)


def tensors_of(what: int) -> list[int]:
    """In the order in which a message has them."""
    return [tensor for tensor in NAMES if what & tensor]


class Format(NamedTuple):
    """How tensors of a world look: group is the number of query heads of a kv head."""

    group: int
    head_dim: int
    dtype: torch.dtype
    device: torch.device

    def dtype_of(self, tensor: int) -> torch.dtype:
        return torch.float32 if tensor & F32 else self.dtype

    def shape(self, tensor: int, heads: int, rows: int) -> tuple[int, ...]:
        """[kv heads, query heads of each, rows, head dim], of sums [2, kv heads, rows, head
        dim]."""
        if tensor == SUMS:
            return (2, heads, rows, self.head_dim)
        per = self.group if tensor & OF_QUERIES else 1
        return (heads, per, rows) if tensor & OF_ROWS else (heads, per, rows, self.head_dim)

    def empty(self, tensor: int, heads: int, rows: int) -> torch.Tensor:
        return torch.empty(
            self.shape(tensor, heads, rows), dtype=self.dtype_of(tensor), device=self.device
        )

    def views(
        self, buffer: torch.Tensor, offset: int, message: Message
    ) -> Iterator[tuple[int, torch.Tensor]]:
        """The message's tensors in a buffer of bytes."""
        for tensor in tensors_of(message.what):
            shape = self.shape(tensor, message.heads, message.end - message.first)
            dtype = self.dtype_of(tensor)
            size = dtype.itemsize
            for extent in shape:
                size *= extent
            yield tensor, buffer[offset : offset + size].view(dtype).view(shape)
            offset += size


class Piece(NamedTuple):
    """Rows [first, end) of kv heads [head, head + heads), as [kv heads, query heads of each,
    rows, …]."""

    head: int
    heads: int
    first: int
    end: int
    values: torch.Tensor


class Rows:
    """Pieces of tensors by document. A row that is read is in one piece; a plan that is proven
    says so."""

    def __init__(self, form: Format) -> None:
        self.form = form
        self._pieces: dict[tuple[int, int], list[Piece]] = defaultdict(list)

    def add(self, tensor: int, document: int, piece: Piece) -> None:
        self._pieces[tensor, document].append(piece)

    def add_local(
        self,
        tensor: int,
        values: torch.Tensor,
        homes: Iterable[tuple[int, int, int, int]],
        kv_heads: int,
    ) -> None:
        """values: a rank's own rows, [rows, heads, head_dim], or [heads, rows] of one number a
        row."""
        for document, first, end, at in homes:
            of_rows = bool(tensor & OF_ROWS)
            own = (
                values[:, at : at + end - first]
                if of_rows
                else values[at : at + end - first].transpose(0, 1)
            )
            self.add(
                tensor, document, Piece(0, kv_heads, first, end, own.unflatten(0, (kv_heads, -1)))
            )

    def add_received(self, buffer: torch.Tensor, messages: Iterable[Message]) -> None:
        """All but sums, which have nodes."""
        for message in messages:
            for tensor, values in self.form.views(buffer, message.receive_offset, message):
                if tensor != SUMS:
                    self.add(
                        tensor,
                        message.document,
                        Piece(message.head, message.heads, message.first, message.end, values),
                    )

    def read(
        self, tensor: int, document: int, head: int, first: int, end: int, out: torch.Tensor
    ) -> torch.Tensor:
        """Rows [first, end) of the kv heads from `head` on that `out` has: [kv heads, query
        heads of each, rows, …]."""
        count, heads = 0, out.shape[0]
        for piece in self._pieces[tensor, document]:
            begin, stop = max(first, piece.first), min(end, piece.end)
            one, last = max(head, piece.head), min(head + heads, piece.head + piece.heads)
            if begin < stop and one < last:
                out[one - head : last - head, :, begin - first : stop - first].copy_(
                    piece.values[
                        one - piece.head : last - piece.head,
                        :,
                        begin - piece.first : stop - piece.first,
                    ]
                )
                count += (stop - begin) * (last - one)
        if count != (end - first) * heads:
            raise AssertionError(
                f"{NAMES[tensor]} of document {document}: expected {(end - first) * heads} rows,"
                f" found {count}"
            )
        return out

    def head(self, tensor: int, document: int, head: int, first: int, end: int) -> torch.Tensor:
        """Rows of one kv head, contiguous: [query heads, rows, …], of k and v [rows, head_dim]."""
        found = self.read(
            tensor, document, head, first, end, self.form.empty(tensor, 1, end - first)
        )[0]
        return found if tensor & OF_QUERIES else found[0]

    def write_local(
        self,
        tensor: int,
        out: torch.Tensor,
        homes: Iterable[tuple[int, int, int, int]],
        kv_heads: int,
    ) -> torch.Tensor:
        """Fills a rank's own rows, which lie as in `add_local`."""
        for document, first, end, at in homes:
            own = (
                out[:, at : at + end - first]
                if tensor & OF_ROWS
                else out[at : at + end - first].transpose(0, 1)
            )
            self.read(tensor, document, 0, first, end, own.unflatten(0, (kv_heads, -1)))
        return out


def format_of(problem: Problem, dtype: torch.dtype, device: torch.device) -> Format:
    return Format(problem.group, problem.head_dim, dtype, device)
