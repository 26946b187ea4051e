"""How bytes travel between ranks. A pass of a rank is a program: a generator that yields transfers
and computes in between; an `Exchange` drives such programs."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple, Protocol

import torch

from .plan import Phase
from .problem import Problem

WORD = 4  # bytes: splits are counted in words


class Transfer(NamedTuple):
    """send, receive: buffers of bytes, in the order of the receivers and of the senders."""

    phase: Phase
    send: torch.Tensor
    receive: torch.Tensor


Program = Generator[Transfer, None, None]


class Exchange(Protocol):
    """ranks: those whose programs this process runs; size: how many there are in all."""

    ranks: Sequence[int]
    size: int
    device: torch.device
    worlds: int  # that were agreed on
    per_node: int  # ranks of a node
    overlaps: bool  # whether the device computes while bytes travel

    def start(self, programs: Mapping[int, Program], problem: Problem) -> Any:
        """Runs a program for each of `ranks` to its end, beside what the device does next where it
        can."""

    def finish(self, started: Any) -> None:
        """What is launched from here on has what the programs leave."""

    def stream(self) -> AbstractContextManager[Any]:
        """Inside of it, what is launched and allocated belongs to the stream of exchanges."""

    def guard(self, where: str, call: int = 0) -> AbstractContextManager[None]:
        """Inside of it, what is raised ends the other ranks, with a message that names this one.
        where: for people; call: which call of attention it belongs to, counted from 1."""

    def gather(self, mine: torch.Tensor) -> list[torch.Tensor]:
        """Whole numbers of one dimension of all ranks, on the CPU, as many as each has."""

    def agree(self, fields: Mapping[str, Any], refusal: Exception | None = None) -> None:
        """Raises the same on all ranks, where they have other fields, or where one has a reason to
        refuse."""


def splits(phase: Phase, rank: int, problem: Problem) -> tuple[list[int], list[int]]:
    """Words that go to each rank of the phase's group, and come from each."""
    begin, size = (
        (problem.node_of(rank) * problem.ranks_per_node, problem.ranks_per_node)
        if phase.of_node
        else (0, problem.ranks)
    )
    size = min(size, problem.ranks - begin)
    found = [0] * size, [0] * size
    for message in phase.sent:
        found[0][message.receiver - begin] += message.bytes // WORD
    for message in phase.received:
        found[1][message.sender - begin] += message.bytes // WORD
    return found


class Together:
    """n virtual ranks in one process, in lock-step; exchanges are copies. For one GPU, and for
    tests without processes."""

    overlaps = False

    def __init__(self, size: int, device: torch.device, per_node: int) -> None:
        self.ranks, self.size, self.device, self.worlds, self.per_node = (
            range(size),
            size,
            device,
            0,
            per_node,
        )

    def start(self, programs: Mapping[int, Program], problem: Problem) -> None:
        waiting = {
            rank: transfer
            for rank, program in programs.items()
            if (transfer := next(program, None))
        }
        while waiting:
            # Nodes that have nothing to pass on among themselves are ahead of the others.
            served = {
                rank: transfer for rank, transfer in waiting.items() if transfer.phase.of_node
            } or dict(waiting)
            for phase, _, receive in served.values():
                for message in phase.received:
                    there = served[message.sender]
                    assert there.phase.name == phase.name, (there.phase.name, phase.name)
                    receive[message.receive_offset : message.receive_offset + message.bytes] = (
                        there.send[message.send_offset : message.send_offset + message.bytes]
                    )
            for rank in served:
                transfer = next(programs[rank], None)
                if transfer is None:
                    del waiting[rank]
                else:
                    waiting[rank] = transfer

    def finish(self, started: None) -> None:
        pass

    def stream(self) -> AbstractContextManager[None]:
        return nullcontext()

    def guard(self, where: str, call: int = 0) -> AbstractContextManager[None]:
        return nullcontext()

    def gather(self, mine: torch.Tensor) -> list[torch.Tensor]:
        return [mine]  # of all virtual ranks

    def agree(self, fields: Mapping[str, Any], refusal: Exception | None = None) -> None:
        if refusal is not None:
            raise refusal
        self.worlds += 1
