"""Hashes of what lies on all ranks, made where it lies: they show level world while a job runs.

A rank's rows are words of the whole, each mixed with its place among all rows
(`torch/hashing.py`); sums of words' numbers over ranks are the hash of the whole. So it is one
number, whatever the number of ranks and wherever rows lie, and only that number travels.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ..errors import ArgumentError
from ..torch.hashing import as_words, hash_words
from .problem import Problem


def hash_of_rows(problem: Problem, rank: int, rows: torch.Tensor) -> torch.Tensor:
    """The rank's part of the hash of all rows: int64, on the tensor's device. rows: [rows, …],
    the rank's own, in the order of its homes."""
    if rows.shape[0] != problem.rows(rank) or rows[:1].numel() * rows.element_size() % 4:
        raise ArgumentError(
            f"rows: expected [{problem.rows(rank)}, …] of whole words of 4 bytes a row, rank"
            f" {rank}'s rows in this world, found the shape {tuple(rows.shape)} of {rows.dtype}"
        )
    begins = [0]
    for length in problem.documents:
        begins.append(begins[-1] + length)
    total = torch.zeros((), dtype=torch.int64, device=rows.device)
    for document, first, end, at in problem.local(rank):
        part = rows[at : at + end - first].reshape(end - first, -1).contiguous()
        # Rows of whole words of 8 bytes are read as such, whatever the number of rows: so a word is
        # in one row.
        words = as_words(
            part
            if part[0].numel() * part.element_size() % 8 == 0
            else part.view(torch.int32).to(torch.int64)
        )
        total += hash_words(words, (begins[document] + first) * (words.numel() // (end - first)))
    return total


def added(parts: Sequence[int]) -> int:
    """Modulo 2^64, without a sign."""
    return sum(parts) % 2**64
