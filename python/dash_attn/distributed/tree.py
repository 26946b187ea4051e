"""The fixed tree that adds up f32 sums of dK and dV: its nodes, the addition, and the one
rounding at its root.

Bits are the same on a CPU and on a GPU, and wherever and in whichever order nodes are made: each
is the sum of its two children.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import torch

SMALLEST = torch.finfo(torch.float32).tiny  # of normal numbers


class Node(NamedTuple):
    """Leaves index << level to (index + 1) << level. One whose right child has no leaf is its
    left child, and has its name."""

    level: int
    index: int

    def named(self, leaves: int) -> Node:
        level, index = self
        while level > 0 and (2 * index + 1) << (level - 1) >= leaves:
            level, index = level - 1, 2 * index
        return Node(level, index)

    @property
    def left(self) -> Node:
        return Node(self.level - 1, 2 * self.index)

    def right(self, leaves: int) -> Node:
        return Node(self.level - 1, 2 * self.index + 1).named(leaves)

    def end_leaf(self, leaves: int) -> int:
        return min(leaves, (self.index + 1) << self.level)


def root_of(leaves: int) -> Node:
    return Node((leaves - 1).bit_length(), 0).named(leaves)


def flushed(values: torch.Tensor) -> torch.Tensor:
    """Subnormal numbers become zeros of their sign."""
    return values * (values.abs() >= SMALLEST)


def fold(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """left + right of float32, [2, rows, head_dim] for dK and dV, where `left` may have fewer
    rows: those that only `right` has are taken as they are. Rounded to nearest even; subnormal
    numbers that go in or come out are zeros of their sign. Written into `right`."""
    both = right[:, : left.shape[1]]
    kernels = in_one_pass() if right.is_cuda else None
    if kernels is None or not all(one.is_contiguous() for pair in (left, both) for one in pair):
        both.copy_(flushed(flushed(left) + flushed(both)))
        return right
    for one, other in zip(left, both):
        kernels.add(one, other)
    return right


@functools.cache
def in_one_pass() -> Any:
    """Kernels that add, and that bring sums into rows; None where there is no Triton."""
    try:
        from . import fold_kernel
    except ImportError:
        return None
    return fold_kernel


def rounded(
    sums: torch.Tensor, scale: float, dtype: torch.dtype
) -> tuple[torch.Tensor, torch.Tensor]:
    """dK and dV of complete sums, each rounded once."""
    return (sums[0] * scale).to(dtype), sums[1].to(dtype)
