"""What computes leaves. Bits of a leaf must follow from its rows alone, whatever else is
computed beside it, and in whichever run it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import torch

from .plan import Plan, Run
from .problem import Leaf
from .rows import Rows
from .tree import fold


class LeafSums(Protocol):
    """The f32 sums of dK and dV of a leaf, without the factor, where a kernel left them."""

    def rows(self, left: torch.Tensor | None = None) -> torch.Tensor:
        """[2, context, head_dim], which the caller may change. left: the sum of a left sibling,
        which has fewer rows; it is added (`tree.fold`)."""


class InRows:
    """Those that are in rows."""

    def __init__(self, values: torch.Tensor) -> None:
        self.values = values

    def rows(self, left: torch.Tensor | None = None) -> torch.Tensor:
        return self.values if left is None else fold(left, self.values)


Gradients = tuple[Leaf, torch.Tensor, "LeafSums | None", "tuple[torch.Tensor, torch.Tensor] | None"]


class LeafKernel(Protocol):
    def forward(
        self, plan: Plan, runs: Sequence[Run], rows: Rows
    ) -> Iterator[tuple[Run, torch.Tensor, torch.Tensor]]:
        """For each run, in any order: o as [query heads, rows, head_dim] and the LSE as [query
        heads, rows] of float32, natural logarithms. rows: where q, k and v are read from."""

    def backward(self, plan: Plan, runs: Sequence[Run], rows: Rows) -> Iterator[Gradients]:
        """For each leaf: dq as [query heads, rows, head_dim]; and the sums of dK and dV; or, of a
        document of one leaf, dk and dv, rounded. Leaves of a kv head of a document come in
        ascending order. rows: where q, k, v, do, lse and delta are read from."""

    def certificates(self) -> tuple[str, list[str]]:
        """What computes O and LSE; and of what computes leaves, a line for each class of shapes."""
