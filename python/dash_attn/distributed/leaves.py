"""What computes leaves. Bits of a leaf must follow from its rows alone, whatever else is
computed beside it, and in whichever run it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import torch

from .plan import Plan, Run
from .problem import Leaf
from .rows import Rows

Gradients = tuple[
    Leaf, torch.Tensor, "torch.Tensor | None", "tuple[torch.Tensor, torch.Tensor] | None"
]


class LeafKernel(Protocol):
    def forward(
        self, plan: Plan, runs: Sequence[Run], rows: Rows
    ) -> Iterator[tuple[Run, torch.Tensor, torch.Tensor]]:
        """For each run, in any order: o as [query heads, rows, head_dim] and the LSE as [query
        heads, rows] of float32, natural logarithms. rows: where q, k and v are read from."""

    def backward(self, plan: Plan, runs: Sequence[Run], rows: Rows) -> Iterator[Gradients]:
        """For each leaf: dq as [query heads, rows, head_dim]; and the f32 sums of dK and dV
        without the factor, [2, context, head_dim], which the caller may change; or, of a
        document of one leaf, dk and dv, rounded. Leaves of a kv head of a document come in
        ascending order. rows: where q, k, v, do, lse and delta are read from."""

    def certificates(self) -> tuple[str, list[str]]:
        """What computes O and LSE; and of what computes leaves, a line for each class of shapes."""
