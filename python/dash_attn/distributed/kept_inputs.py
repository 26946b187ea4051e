"""What stays with a server from a forward to its backward: inputs that arrived, and the LSE of
rows that are at home elsewhere. A plan says of which kv heads of which documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import torch

from .plan import FORWARD, LSE, Message, Plan, Run
from .rows import Piece, Rows

ARRIVALS = ("inputs", "relays")  # phases of a forward


def messages_kept(plan: Plan, rank: int, name: str) -> tuple[list[Message], list[Message]]:
    """Those of a phase that stay: as they arrived, and as they lie one behind the other. All kv
    heads of a message stay, or none."""
    arrived = [
        one
        for one in plan.phase(FORWARD, name, rank).received
        if (one.document, one.head) in plan.kept
    ]
    at, moved = 0, []
    for one in arrived:
        moved.append(one._replace(receive_offset=at))
        at += one.bytes
    return arrived, moved


def rows_kept(plan: Plan, rank: int) -> Iterator[tuple[Run, int, int]]:
    """Rows of runs that are at home elsewhere: run, first row, end row."""
    for run in plan.runs(rank):
        if (run.document, run.head) not in plan.kept:
            continue
        leaves = plan.leaves.of(run.document)
        at, end = leaves[run.first_leaf][0], leaves[run.end_leaf - 1][1]
        own = sorted(
            (first, stop)
            for document, first, stop, _ in plan.problem.local(rank)
            if document == run.document and first < end and stop > at
        )
        for first, stop in [*own, (end, end)]:
            if at < first:
                yield run, at, first
            at = max(at, stop)


def kept_bytes(plan: Plan, rank: int) -> int:
    arrived = (one for name in ARRIVALS for one in messages_kept(plan, rank, name)[0])
    of_lse = sum(end - first for _, first, end in rows_kept(plan, rank))
    return sum(one.bytes for one in arrived) + 4 * plan.problem.group * of_lse


def keep(
    plan: Plan, rank: int, rows: Rows, buffers: Mapping[tuple[int, str], torch.Tensor]
) -> list[torch.Tensor]:
    """Bytes that arrived, of each phase, and the LSE. A buffer of which all stays is not copied."""
    nothing = torch.empty(0, dtype=torch.uint8, device=rows.form.device)
    found = []
    for name in ARRIVALS:
        arrived, _ = messages_kept(plan, rank, name)
        buffer = buffers.get((FORWARD, name), nothing)
        if len(arrived) == len(plan.phase(FORWARD, name, rank).received):
            found.append(buffer)
        else:
            parts = [buffer[one.receive_offset : one.receive_offset + one.bytes] for one in arrived]
            found.append(torch.cat([nothing, *parts]))
    lse = [
        rows.head(LSE, run.document, run.head, first, end).flatten()
        for run, first, end in rows_kept(plan, rank)
    ]
    return [*found, torch.cat([nothing.view(torch.float32), *lse])]


def give_back(plan: Plan, rank: int, rows: Rows, kept: Sequence[torch.Tensor]) -> None:
    """Adds what `keep` gave to the rows of the backward."""
    *buffers, lse = kept
    for name, buffer in zip(ARRIVALS, buffers):
        rows.add_received(buffer, messages_kept(plan, rank, name)[1])
    at, group = 0, rows.form.group
    for run, first, end in rows_kept(plan, rank):
        values = lse[at : at + group * (end - first)].view(1, group, end - first)
        rows.add(LSE, run.document, Piece(run.head, 1, first, end, values))
        at += values.numel()
