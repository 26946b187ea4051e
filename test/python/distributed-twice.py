# RUN: %torch_python %s
# REQUIRES: torch, plain-libdash
"""Leaves that are computed twice: a flipped bit is found and its rank named, by virtual ranks and
by processes; clean steps give no alarm."""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from fixtures import refused  # noqa: E402
from ranks import on_ranks  # noqa: E402
from worlds import found_of, hashes, local, made, whole  # noqa: E402

from dash_attn import ArgumentError  # noqa: E402
from dash_attn.distributed import Corruption, CorruptionError, World, attention  # noqa: E402
from dash_attn.distributed.twice import samples_of  # noqa: E402

torch.set_num_threads(1)
DOCUMENTS = (450, 90, 64)  # of 3, 1 and 1 leaves a kv head
UNITS = 2 * 5


class Faulty:
    """A kernel that flips a bit on one rank: of dq, of a sum, of the LSE, or of O."""

    def __init__(self, kernel: Any, rank: int, what: str, document: int = 0) -> None:
        self.kernel, self.rank, self.what, self.document = kernel, rank, what, document

    def _flip(self, is_here: bool, what: str, values: Any) -> None:
        if is_here and what == self.what:
            values.view(torch.int16).view(-1)[8] ^= 1

    def forward(self, plan: Any, runs: Any, rows: Any) -> Any:
        for run, o, lse in self.kernel.forward(plan, runs, rows):
            for what, values in (("lse", lse), ("o", o)):
                self._flip(run.rank == self.rank and run.document == self.document, what, values)
            yield run, o, lse

    def backward(self, plan: Any, runs: Any, rows: Any) -> Any:
        for leaf, dq, sums, rounded in self.kernel.backward(plan, runs, rows):
            is_here = runs[0].rank == self.rank and leaf.document == self.document
            self._flip(is_here, "dq", dq)
            self._flip(is_here, "dk", sums.values[0])
            yield leaf, dq, sums, rounded


def step(world: World, rank: int | None = None) -> None:
    tensors = whole(DOCUMENTS)
    if rank is None:
        q, k, v, do = (
            [*one] for one in zip(*(local(world, rank, tensors) for rank in world.exchange.ranks))
        )
        torch.autograd.grad(attention(q, k, v, world=world), [*q, *k, *v], do)
    else:
        q, k, v, do = local(world, rank, tensors)
        torch.autograd.grad(attention(q, k, v, world=world), (q, k, v), do)


def clean() -> None:
    expected = hashes(found_of(made(1, DOCUMENTS), whole(DOCUMENTS)))
    for ranks, share, options in (
        (2, 1.0, {"kept": "inputs"}),
        (3, 0.4, {"halves": True}),
        (4, 1 / 64, {"ranks_per_node": 2}),
    ):
        world = made(ranks, DOCUMENTS, kind="random", twice=share, **options)
        for _ in range(3):
            assert hashes(found_of(world, whole(DOCUMENTS))) == expected
        pairs = Counter(
            place
            for place, _ in {((one.call, one.sample), one.rank) for one in world.twice.results}
        )
        assert set(pairs.values()) <= {2} and (share < 1 or len(pairs) > 2 * UNITS)
        assert world.checked() == [] == world.checked() and not world.twice.calls


def found() -> None:
    for what in ("dq", "dk", "lse", "o"):
        for faulty in (0, 2):
            world = made(4, DOCUMENTS, kind="random", seed=3, twice=1.0, on_corruption="log")
            world.kernel = Faulty(world.kernel, faulty, what)
            assert any(run.rank == faulty for run in world.plan.runs())
            step(world)
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                differ = world.checked()
            # Faults of the rank that does it again are found, too.
            assert differ and all(one.wrong == (faulty,) and one.document == 0 for one in differ), (
                differ
            )
            assert len(said) == 1 and str(differ[0]) in str(said[0].message)
            assert world.checked() == []
    message = str(Corruption(7, 4, 2, 8, (1, 3, 5), (3,)))
    assert (
        message
        == "rank 3 computed leaf 8 of document 4, kv head 2, of backward 7 otherwise than ranks 1,"
        " 5 from the same inputs: its GPU or memory is wrong"
    ), message


def found_by_chance() -> None:
    """A share of leaves finds a fault that stays within as many steps as it takes to draw one of
    its leaves."""
    drawn: list[list[Corruption]] = []
    world = made(3, DOCUMENTS, kind="rows", twice=0.1, on_corruption=drawn.append)
    world.kernel = Faulty(world.kernel, 1, "dk")
    for number in range(60):
        step(world)
        if world.checked():
            break
    assert 0 < len(drawn) <= number + 1 and {one.wrong for one in drawn[0]} == {(1,)}, (
        number,
        drawn,
    )
    # Two ranks cannot say which of them.
    world = made(2, DOCUMENTS, kind="random", twice=1.0)
    world.kernel = Faulty(world.kernel, 1, "dq")
    step(world)
    error = None
    try:
        world.checked()
    except CorruptionError as raised:
        error = raised
    assert (
        error is not None
        and error.found[0].wrong == (0, 1)
        and "ranks 0, 1 computed leaf 0 of document 0" in str(error)
    ), error


def draws() -> None:
    """As many as the share says, each leaf and each pair of ranks in its turn, and never the rank
    that computes it itself."""
    plan = made(4, (2000, 300), kind="random").plan
    units = 2 * sum(len(plan.leaves.of(document)) for document in range(2))
    every = [samples_of(plan, 0.05, 1, call) for call in range(2000)]
    assert every == [samples_of(plan, 0.05, 1, call) for call in range(2000)]
    count = sum(map(len, every))
    assert 0.9 * 0.05 * units * 2000 < count <= 1.1 * 0.05 * units * 2000, (count, units)
    leaves, pairs = (
        Counter(key(one) for of_call in every for one in of_call)
        for key in (
            lambda one: (one.run.document, one.run.head, one.number),
            lambda one: (one.run.rank, one.checker),
        )
    )
    assert len(leaves) == units and max(leaves.values()) < 2 * count / units
    assert len(pairs) == 12 and all(one != other for one, other in pairs)
    assert all(
        one.run.first_leaf <= one.number < one.run.end_leaf for of_call in every for one in of_call
    )


def refusals() -> None:
    for options, message in (
        ({"twice": 1.5}, "twice: expected a share of leaves from 0 to 1, found 1.5"),
        ({"twice": True}, "twice: expected a share of leaves from 0 to 1, found True"),
        (
            {"twice": 0.5, "ranks": 1},
            "twice: expected at least 2 ranks, found 1: another one computes leaves again",
        ),
        (
            {"on_corruption": "stop"},
            "on_corruption: expected one of raise, log, or a function, found 'stop'",
        ),
    ):
        given = {"ranks": 2, "documents": DOCUMENTS} | options
        assert (said := refused(lambda given=given: made(**given), ArgumentError)) == message, said


def of_rank(rank: int) -> str:
    world = made(dist.group.WORLD, DOCUMENTS, kind="random", twice=1.0)
    step(world, rank)
    assert world.checked() == []
    if rank == 1:
        world.kernel = Faulty(world.kernel, 1, "dk")
    step(world, rank)
    return refused(world.checked, CorruptionError)


if __name__ == "__main__":
    said = on_ranks(3, of_rank)
    assert len(set(said)) == 1 and said[0].startswith("rank 1 computed leaf "), said
    assert (
        "of backward 2 otherwise than ranks 0, 2 from the same inputs: its GPU or memory is wrong"
        in said[0]
    ), said[0]
    draws()
    refusals()
    clean()
    found()
    found_by_chance()
