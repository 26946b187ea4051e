"""What a rank has of tensors of all rows: its own ones, their positions within documents, and
the tokens that come next."""

from __future__ import annotations

import torch

from ..errors import ArgumentError
from .problem import Problem

IGNORED = -100  # of losses: a label that counts for nothing


def places_of(problem: Problem, rank: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Where each of the rank's rows is among all rows, and in its document; int64 on the
    CPU."""
    begins = [0]
    for length in problem.documents:
        begins.append(begins[-1] + length)
    positions = [torch.arange(first, end) for _, first, end, _ in problem.local(rank)]
    places = [begins[document] + one for (document, *_), one in zip(problem.local(rank), positions)]
    nothing = torch.empty(0, dtype=torch.int64)
    return torch.cat([nothing, *places]), torch.cat([nothing, *positions])


def local_rows(problem: Problem, rank: int, rows: torch.Tensor) -> torch.Tensor:
    """rows: [all rows, …]."""
    total = sum(problem.documents)
    if rows.dim() < 1 or rows.shape[0] != total:
        raise ArgumentError(
            f"rows: expected [{total}, …], all rows of all documents, found the shape"
            f" {tuple(rows.shape)}"
        )
    return rows[places_of(problem, rank)[0].to(rows.device)]


def shifted(problem: Problem, tokens: torch.Tensor) -> torch.Tensor:
    """The token behind each row; none behind a document's last one."""
    found = tokens.roll(-1, 0)
    found[torch.tensor(problem.documents).cumsum(0).to(tokens.device) - 1] = IGNORED
    return found
