"""`attention` over a world, in three autograd functions: other work may run between them, such
as another micro-batch.

The engine runs functions that are ready by their age, the youngest first: so a backward over
several calls goes through their parts in the exact reverse order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.autograd.function import once_differentiable

from ..kernel.problem import demand
from .passes import Backward, Forward
from .plan import Plan
from .problem import Problem
from .world import World, current_world


class Flight:
    """A call on its way. passes: of each rank whose program this process runs."""

    def __init__(self, world: World, plan: Plan) -> None:
        self.world, self.plan = world, plan
        self.inputs: list[tuple[torch.Tensor, ...]] = []
        self.passes: dict[int, Any] = {}
        self.started: Any = None
        self.call = world.calls

    def start(self, part: str, of_pass: str) -> None:
        exchange = self.world.exchange
        with exchange.guard(f"a {of_pass} of attention", self.call):
            self.started = exchange.start(
                {rank: getattr(one, part)() for rank, one in self.passes.items()}, self.plan.problem
            )

    def compute(self, of_pass: str) -> None:
        with self.world.exchange.guard(f"the leaves of a {of_pass}", self.call):
            self.world.exchange.finish(self.started)
            for one in self.passes.values():
                one.compute()
        self.start("receive", of_pass)

    def outputs(self, of_pass: str) -> list[tuple[torch.Tensor, ...]]:
        with self.world.exchange.guard(f"the end of a {of_pass}", self.call):
            self.world.exchange.finish(self.started)
            found = [one.outputs() for one in self.passes.values()]
        self.passes, self.started = {}, None
        return found


class Send(torch.autograd.Function):
    """Inputs begin to travel; in a backward gradients arrive."""

    @staticmethod
    def forward(ctx: Any, flight: Flight, *tensors: torch.Tensor) -> torch.Tensor:
        ctx.flight, world = flight, flight.world
        flight.inputs = [tensors[i : i + 3] for i in range(0, len(tensors), 3)]
        flight.passes = {
            rank: Forward(flight.plan, rank, world.form, world.kernel, *given)
            for rank, given in zip(world.exchange.ranks, flight.inputs)
        }
        flight.start("send", "forward")
        return tensors[0].new_empty(0)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, _: torch.Tensor) -> tuple[Any, ...]:
        return None, *(gradient for found in ctx.flight.outputs("backward") for gradient in found)


class Compute(torch.autograd.Function):
    """Leaves are computed, and what they give begins to travel home."""

    @staticmethod
    def forward(ctx: Any, flight: Flight, token: torch.Tensor) -> torch.Tensor:
        ctx.flight = flight
        flight.compute("forward")
        if flight.plan.kept:
            ctx.save_for_backward(*(kept for one in flight.passes.values() for kept in one.kept()))
        return token.new_empty(0)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, token: torch.Tensor) -> tuple[Any, ...]:
        flight, saved = ctx.flight, ctx.saved_tensors
        for i, one in enumerate(flight.passes.values()):
            one.keep(saved[3 * i : 3 * i + 3])
        flight.compute("backward")
        return None, token


class Receive(torch.autograd.Function):
    """O and LSE have come home; in a backward their gradients begin to travel."""

    @staticmethod
    def forward(ctx: Any, flight: Flight, token: torch.Tensor) -> tuple[torch.Tensor, ...]:
        ctx.flight = flight
        found = flight.outputs("forward")
        ctx.save_for_backward(
            *(
                tensor
                for given, outputs in zip(flight.inputs, found)
                for tensor in (*given, *outputs)
            )
        )
        flight.inputs = []
        ctx.set_materialize_grads(False)
        return tuple(one for of_rank in found for one in of_rank)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[Any, ...]:
        flight, saved, world = ctx.flight, ctx.saved_tensors, ctx.flight.world
        flight.passes, call = {}, world.twice.next_call(flight.plan, world.number)
        for i, rank in enumerate(world.exchange.ranks):
            *given, o, lse = saved[5 * i : 5 * i + 5]
            do, dlse = (
                torch.zeros_like(one) if gradient is None else gradient
                for one, gradient in zip((o, lse), gradients[2 * i : 2 * i + 2])
            )
            flight.passes[rank] = Backward(
                flight.plan,
                rank,
                world.form,
                world.kernel,
                world.scale,
                world.twice,
                call,
                *given,
                o,
                lse,
                do,
                dlse,
            )
        flight.start("send", "backward")
        return None, saved[0].new_empty(0)


@torch.compiler.disable
def attention(
    q: Any,
    k: Any,
    v: Any,
    *,
    world: World | None = None,
    cu_seqlens: Any = None,
    group: Any = None,
    continues: bool = False,
    return_lse: bool = False,
    **options: Any,
) -> Any:
    """Causal attention within each of the world's documents; its bits and those of its gradients
    depend on neither ranks nor places.

    q: [rows, heads, head_dim], k, v: [rows, kv_heads, head_dim]: this rank's own rows, in the
    order of its homes; of virtual ranks a list with one for each. Gives o as q is, with
    `return_lse` also the LSE, [heads, rows] of float32, natural logarithms; both have gradients.
    world: None is that of `with world.as_current():`. Or, in its place, offsets of this rank's
    own packed rows and the group, as `describe` takes them, beside options of `World`: described
    once for a tensor of offsets. All ranks have to call it, in the same order, and as often
    differentiate. Raises ArgumentError where a tensor does not suit the world, RankError where
    another rank failed.
    """
    if cu_seqlens is not None:
        from .described import world_of

        if world is not None:
            with world.exchange.guard("a call of attention"):
                demand("world: expected none beside cu_seqlens, found one")
        world = world_of(q, k, cu_seqlens, group, continues, options)
        group, options = None, {}
    world = current_world() if world is None else world
    demand(
        None
        if world is not None
        else "world: expected one, or a call inside of `with world.as_current():`, found None"
    )
    world.calls += 1
    with world.exchange.guard("a call of attention", world.calls):
        demand(
            None
            if group is None and not options
            else f"{'group' if group is not None else next(iter(options))}: expected cu_seqlens"
            " beside it, found None; options of a world are those of World(...)"
        )
    tensors = tensors_of(world, q, k, v)
    flights = [Flight(world, plan) for plan in world.parts]
    tokens = [
        Send.apply(flight, *given)
        for flight, given in zip(flights, split(tensors, [one.plan.problem for one in flights]))
    ]
    tokens = [Compute.apply(flight, token) for flight, token in zip(flights, tokens)]
    o, lse = given_back(
        [Receive.apply(flight, token) for flight, token in zip(flights, tokens)],
        isinstance(q, (list, tuple)),
    )
    return (o, lse) if return_lse else o


def begin(world: World, q: Any, k: Any, v: Any) -> tuple[Flight, torch.Tensor, bool]:
    """Sends the inputs of a call; and whether these are lists. `Compute` and `Receive` do the
    rest."""
    world.calls += 1
    flight = Flight(world, world.plan)
    return flight, Send.apply(flight, *tensors_of(world, q, k, v)), isinstance(q, (list, tuple))


def split(
    tensors: Sequence[torch.Tensor], problems: Sequence[Problem]
) -> list[tuple[torch.Tensor, ...]]:
    """The heads of each part. Not by slices, whose gradients would be added to zeros: so a zero
    would lose its sign."""
    if len(problems) == 1:
        return [tuple(tensors)]
    of_heads = {"q": [one.heads for one in problems], "kv": [one.kv_heads for one in problems]}
    return list(
        zip(
            *(
                tensor.split(of_heads["q" if i % 3 == 0 else "kv"], 1)
                for i, tensor in enumerate(tensors)
            )
        )
    )


def given_back(parts: Sequence[tuple[torch.Tensor, ...]], is_list: bool) -> tuple[Any, Any]:
    """O and LSE of all heads: of each rank, where the caller gave lists."""
    found = list(zip(*parts))
    o, lse = (
        [one[0] if len(one) == 1 else torch.cat(one, dim) for one in found[i::2]]
        for i, dim in ((0, 1), (1, 0))
    )
    return (o, lse) if is_list else (o[0], lse[0])


def tensors_of(world: World, q: Any, k: Any, v: Any) -> list[torch.Tensor]:
    """q, k and v of each rank of this process, one rank after the other."""
    with world.exchange.guard("a call of attention"):
        return _tensors_of(world, q, k, v)


def _tensors_of(world: World, q: Any, k: Any, v: Any) -> list[torch.Tensor]:
    given = [one if isinstance(one, (list, tuple)) else [one] for one in (q, k, v)]
    ranks = world.exchange.ranks
    for name, one in zip("qkv", given):
        demand(
            None
            if len(one) == len(ranks)
            else (
                f"{name}: expected a list of {len(ranks)} tensors, one for each virtual rank, found"
                f" {len(one)}"
            )
        )
    found = list(zip(*given))
    for rank, one in zip(ranks, found):
        demand(world.refusal_of(one, rank))
    return [tensor for one in found for tensor in one]
