# RUN: %torch_python %s
# REQUIRES: torch, plain-libdash
"""Worlds of processes, by gloo on the CPU: the bits of virtual ranks; checkpointing, FSDP2 and two
micro-batches; documents that each describes."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any
from unittest import mock

sys.path.insert(0, str(Path(__file__).parent / "lib"))

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from fixtures import refused  # noqa: E402
from ranks import on_ranks  # noqa: E402
from torch.distributed.fsdp import fully_shard  # noqa: E402
from torch.distributed.tensor import init_device_mesh  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402
from worlds import (
    DOCUMENTS,
    HEADS,
    KV_HEADS,
    found_of,
    gathered,
    hashes,
    local,
    made,
    places,
    scattered,
    whole,
)  # noqa: E402

from dash_attn import ArgumentError  # noqa: E402
from dash_attn.distributed import World, attention, describe, pingpong  # noqa: E402
from dash_attn.distributed.groups import Groups, local_size  # noqa: E402

HALF = (700, 130, 1)
WIDTH = 32
CASES = {
    2: (
        {},
        {"homes": scattered(DOCUMENTS, 2, 5), "kind": "random", "kept": "inputs", "halves": True},
    ),
    4: (
        {"kind": "rows", "ranks_per_node": 2},
        # Two ranks are empty.
        {
            "homes": tuple((2 * (rank % 2), *rest) for rank, *rest in scattered(DOCUMENTS, 4, 6)),
            "kind": "random",
            "seed": 3,
            "ranks_per_node": 2,
            "kept": "inputs",
        },
    ),
}


def expected(_: int) -> tuple[list[int], list[int]]:
    """Hashes of all tensors, and as a world makes them, of parts."""
    found, world = found_of(made(1), whole()), made(1)
    return hashes(found), world.hashes(*([one] for one in found))


def of_rank(rank: int, size: int) -> list[list[torch.Tensor]]:
    found = []
    for options in CASES[size]:
        world = made(dist.group.WORLD if size == 2 else init_device_mesh("cpu", (size,)), **options)
        q, k, v, do = local(world, rank, whole())
        o, lse = attention(q, k, v, world=world, return_lse=True)
        found.append([o.detach(), lse.detach().T, *torch.autograd.grad(o, (q, k, v), do)])
        assert q.shape[0] > 0 or size == 4
        found[-1].append(world.hashes(found[-1][0], found[-1][1].contiguous(), *found[-1][2:]))
    return found


def same_bits() -> None:
    ((wanted, by_world),) = on_ranks(1, expected)
    for size, cases in CASES.items():
        found = on_ranks(size, of_rank, size)
        for i, options in enumerate(cases):
            world = made(size, **options)
            parts = [gathered(world, [one[i][tensor] for one in found]) for tensor in range(5)]
            assert hashes(parts) == wanted and all(one[i][5] == by_world for one in found), (
                size,
                options,
            )


# ---- Models --------------------------------------------------------------------------------------


class Layer(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.into = torch.nn.Linear(WIDTH, 64 * (HEADS + 2 * KV_HEADS), dtype=torch.bfloat16)
        self.out = torch.nn.Linear(64 * HEADS, WIDTH, dtype=torch.bfloat16)

    def before(self, x: torch.Tensor) -> Any:
        return self.into(x).unflatten(-1, (-1, 64)).split((HEADS, KV_HEADS, KV_HEADS), 1)

    def after(self, x: torch.Tensor, o: torch.Tensor) -> torch.Tensor:
        return x + self.out(o.flatten(1))

    def forward(self, x: torch.Tensor, world: World) -> torch.Tensor:
        return self.after(x, attention(*self.before(x), world=world))


class Model(torch.nn.Module):
    def __init__(self, checkpoints: dict[str, Any] | None = None) -> None:
        super().__init__()
        torch.manual_seed(5)
        self.layers, self.checkpoints = torch.nn.ModuleList(Layer() for _ in range(2)), checkpoints

    def forward(self, x: torch.Tensor, world: World) -> torch.Tensor:
        for layer in self.layers:
            x = (
                layer(x, world)
                if self.checkpoints is None
                else checkpoint(layer, x, world, **self.checkpoints)
            )
        return x.float().square().sum()


def batch(world: World, rank: int, seed: int = 0) -> torch.Tensor:
    torch.manual_seed(seed)
    return torch.randn(sum(world.problem.documents), WIDTH, dtype=torch.bfloat16)[
        places(world, rank)
    ].requires_grad_()


def gradients(model: Model, x: torch.Tensor, loss: torch.Tensor) -> list[torch.Tensor]:
    loss.backward()
    found = [x.grad, *(one.grad for one in model.parameters())]
    model.zero_grad()
    x.grad = None
    return [one.full_tensor() if hasattr(one, "full_tensor") else one for one in found]


def models(rank: int, size: int) -> list[torch.Tensor]:
    homes = scattered(HALF, size - 1, 2)  # the last rank has no rows
    for kept in ("none", "inputs"):
        world = made(dist.group.WORLD, HALF, homes=homes, kept=kept)
        x = batch(world, rank)
        plain = gradients(model := Model(), x, model(x, world))
        for options in ({"use_reentrant": False}, {"use_reentrant": True}):
            model = Model(options)
            again = gradients(model, x, model(x, world))
            assert all(map(torch.equal, again, plain)), (kept, options)
    with_fsdp(rank, size, world, x, plain)
    in_turns(rank, world)
    return [x.detach(), plain[0]]


def with_fsdp(
    rank: int, size: int, world: World, x: torch.Tensor, plain: list[torch.Tensor]
) -> None:
    """Twice the same bits; weights have the mean of what each rank has for them, x its own bits."""
    found = []
    for _ in range(2):
        model = Model()
        mesh = init_device_mesh("cpu", (size,))
        for layer in model.layers:
            fully_shard(layer, mesh=mesh)
        fully_shard(model, mesh=mesh)
        found.append(gradients(model, x, model(x, world)))
    assert all(map(torch.equal, *found)) and torch.equal(found[0][0], plain[0])
    for one, other in zip(found[0][1:], plain[1:]):
        mean = other.float()
        dist.all_reduce(mean)
        assert (one.float() - mean / size).norm() < 0.02 * (mean / size).norm()


def in_turns(rank: int, world: World) -> None:
    """Two micro-batches in turns have the bits that each has by itself; exchanges of a backward go
    in the reverse order, all parts between."""
    other = made(
        dist.group.WORLD,
        (400, 90),
        kind="random",
        homes=scattered((400, 90), dist.get_world_size(), 4),
    )
    worlds, xs = (world, other), (batch(world, rank), batch(other, rank, 1))
    alone = []
    for one, x in zip(worlds, xs):
        model = Model()
        alone.append(gradients(model, x, model(x, one)))
    order: list[tuple[int, str]] = []
    transfer = Groups._transfer

    def seen(self: Groups, given: Any, problem: Any) -> None:
        order.append((problem.documents == other.problem.documents, given.phase.name))
        transfer(self, given, problem)

    Groups._transfer = seen
    model = Model()
    x0, x1 = pingpong(model.layers, *xs, worlds=worlds)
    there = len(order)
    (x0.float().square().sum() + x1.float().square().sum()).backward()
    Groups._transfer = transfer
    of_a_layer = [(False, "inputs"), (True, "inputs"), (False, "outputs"), (True, "outputs")]
    assert sorted(order[:there]) == sorted(2 * of_a_layer) and order[:4] == of_a_layer, order
    back = [one for one in order[there:] if one[1] != "sums"]
    assert (
        back[:4] == [(True, "inputs"), (False, "inputs"), (True, "gradients"), (False, "gradients")]
        and len(back) == 8
    ), back
    for x, one in zip(xs, alone):
        assert torch.equal(x.grad, one[0])


def same_models() -> None:
    """Gradients of attention's inputs follow from no number of ranks, as long as what is around it
    does not either."""
    found = {size: on_ranks(size, models, size) for size in (2, 3)}
    (one, of_one), (other, of_other) = (
        [
            gathered(made(size, HALF, homes=scattered(HALF, size - 1, 2)), [of[i] for of in every])
            for i in range(2)
        ]
        for size, every in found.items()
    )
    # Matrix products know how many rows a rank has.
    assert torch.equal(one, other) and (of_one - of_other).norm() <= 0.02 * of_one.norm()


def nodes() -> None:
    """As torchrun says, where a group is made of whole nodes."""
    for local_ranks, ranks, size in (
        ("", range(6), 6),
        ("2", range(4), 2),
        ("2", (0, 2), 2),
        ("2", (1, 2, 3), 3),
        ("3", range(3, 6), 3),
        ("4", range(6), 6),
        ("2", (2, 3, 6, 7), 2),
        ("x", range(2), 2),
    ):
        with mock.patch.dict(os.environ, {"LOCAL_WORLD_SIZE": local_ranks}):
            assert local_size(tuple(ranks)) == size, (local_ranks, ranks)


# ---- Documents that each rank describes ----------------------------------------------------------


def described(rank: int) -> Any:
    """Rank 0: all of document 0 and a part of 1; rank 1: nothing; rank 2: the rest of 1, and 2."""
    cu, continues = (([0, 300, 400], False), ([0], False), ([0, 150, 150, 200], True))[rank]
    group = dist.group.WORLD
    found = describe(torch.tensor(cu, dtype=torch.int32), group, continues=continues)
    assert found == (
        (300, 250, 50),
        ((0, 0, 0, 300), (0, 1, 0, 100), (2, 1, 100, 150), (2, 2, 0, 50)),
    ), found
    world = made(group, found[0], homes=found[1])
    q, k, v, do = local(world, rank, whole(found[0]))
    options = {"cut": 0, "kind": "rows"}
    by_world = torch.autograd.grad(attention(q, k, v, world=world), (q, k, v), do)
    offsets, described_ones = torch.tensor(cu, dtype=torch.int32), []
    agreed = world.exchange.worlds
    for _ in range(3):  # layers
        o = attention(q, k, v, cu_seqlens=offsets, group=group, continues=continues, **options)
        described_ones.append(torch.autograd.grad(o, (q, k, v), do))
    assert world.exchange.worlds == agreed + 1 and all(
        all(map(torch.equal, one, by_world)) for one in described_ones
    )
    with world.as_current():
        assert torch.equal(attention(q, k, v), o)
    message = refused(
        lambda: describe([0, 4] if rank else [0], group, continues=rank == 1), ArgumentError
    )
    assert (
        message
        == "continues: expected False on rank 1: no rank in front of it has rows, found True"
    ), message
    return True


if __name__ == "__main__":
    nodes()
    same_bits()
    same_models()
    assert on_ranks(3, described) == [True] * 3
