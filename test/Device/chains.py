"""Sums in the order of their chains, under delays, and by workers that draw tickets. Needs builds
for tests: kernels that keep each contribution to dQ, kernels that sleep for random times wherever
roles wait for each other, and kernels that are launched plainly."""

from __future__ import annotations

import array
from typing import Any

import torch
from accuracy import load
from cases import FEW_SHAPES, REPEATED_SHAPE, case
from check_order import decode
from group import Test, demand
from repeat import Shape, demand_same

from dash_attn import Kernel
from dash_attn.measure.bundle import BundledKernel
from dash_attn.measure.testing import (
    Case,
    make_inputs,
    poison,
    poison_workspace,
    run,
    sizes_of,
    wrong_words,
)

UNTOUCHED = -1  # what the workspace is filled with before: no sum has these bits
RUNS = 20
# A tile's sum of elements beside that of the product in float64, as parts of norms: what rounding
# to 16 bits and cancelling leave. Sums of two kv tiles differ by about a norm.
ROUNDED, CANCELLED = 0.05, 0.01


def tests(kernels: list[BundledKernel], quick: bool) -> list[Test]:
    plain = {
        kernel.kind: kernel
        for kernel in kernels
        if not kernel.debug and not kernel.fixed_sizes and kernel.element == kernels[0].element
    }
    found = []
    for kernel in kernels:
        if kernel.kind not in plain:
            continue
        if kernel.debug == "contributions":
            found += [
                Test(
                    f"chains {kernel.name} {shape}",
                    kernel.name,
                    lambda kernel=kernel, shape=shape: sums_follow_chains(
                        kernel, plain[kernel.kind], shape
                    ),
                )
                for shape in FEW_SHAPES[: 1 if quick else None]
            ]
        elif kernel.debug in ("delays", "tickets"):
            found.append(
                Test(
                    f"{kernel.debug} {kernel.name}",
                    kernel.name,
                    lambda kernel=kernel: bits_are_those_of(kernel, plain[kernel.kind]),
                )
            )
    return found


def sums_follow_chains(
    bundled: BundledKernel, plain: BundledKernel, shape: tuple[Any, ...], seed: int = 0
) -> dict[str, Any]:
    """dQ's float32 sums are those of the contributions, added one after the other in the order of
    their turns; each contribution is that of the kv tile whose turn it is by the order."""
    kernel, problem = load(bundled), case(bundled, shape, seed)
    tensors = make_inputs(problem)
    poison_workspace(kernel, problem, byte=0xFF)
    found = run(kernel, problem, tensors, stream=0)
    torch.cuda.synchronize()
    kv_of = kv_tiles_by_turn(kernel, problem)
    tiles, kv_tiles = kv_of.shape
    bits = region(kernel, problem, "contributions").view(tiles, kv_tiles, -1)
    sums = region(kernel, problem, "dq_sum").view(tiles, -1)

    written = (bits != UNTOUCHED).any(2)
    demand(
        torch.equal(written, kv_of >= 0),
        "contributions were kept in other turns than the order has",
    )
    turns, values = written.sum(1), bits.view(torch.float32)
    expected = torch.zeros_like(values[:, 0])
    for turn in range(kv_tiles):
        term = values[:, turn]
        added = term if turn == 0 else flushed(flushed(expected) + flushed(term))
        expected = torch.where((turns > turn)[:, None], added, expected)
    differ = int((expected.view(torch.int32) != sums).any(1).sum())
    demand(not differ, f"{differ} of {tiles} tiles are not the sums of their chains")

    exact, allowed = products_by_kv_tile(problem, tensors, **kernel.manifest["program"]["tiles"])
    terms = values.double().sum(2)[written]
    tile = torch.arange(tiles, device=kv_of.device)[:, None].expand_as(kv_of)[written]
    others = int(
        ((terms - exact[tile, kv_of[written]]).abs() > allowed[tile, kv_of[written]]).sum()
    )
    demand(
        not others,
        f"{others} of {len(terms)} contributions are not those of the kv tiles whose turns they"
        " have",
    )
    poison(tensors)
    demand_same(
        run(load(plain), problem, tensors, stream=0), found, f"{plain.name} beside {bundled.name}"
    )
    return {"tiles": tiles, "longest_chain": int(turns.max())}


def region(kernel: Kernel, problem: Case, name: str) -> torch.Tensor:
    """A region of the workspace as 32-bit words, where it lies."""
    address, size = kernel.reserve(stream=0, **sizes_of(problem)).region(name)
    view = {"shape": (size // 4,), "typestr": "<i4", "data": (address, False), "version": 2}
    return torch.as_tensor(type("Words", (), {"__cuda_array_interface__": view})(), device="cuda")


def kv_tiles_by_turn(kernel: Kernel, problem: Case) -> torch.Tensor:
    """[q tiles of all heads, turns]: whose turn it is, by the order in the workspace; -1 behind a
    chain's last."""
    rows = kernel.manifest["program"]["tiles"]
    q_tiles, kv_tiles = -(-problem.q_rows // rows["q"]), -(-problem.kv_rows // rows["kv"])
    found = torch.full((problem.batch, problem.heads, q_tiles, kv_tiles), -1)
    words = array.array("i", region(kernel, problem, "order").cpu().numpy().tobytes())
    entries = [
        (item.sequence, head, q, turn, item.kv)
        for items in decode(words)
        for item in items
        for head, q, turn, _ in item.tasks
    ]
    *places, kv = torch.tensor(entries).reshape(-1, 5).unbind(1)
    found[tuple(places)] = kv
    demand(int((found >= 0).sum()) == len(entries), "two items have one turn")
    return found.view(-1, kv_tiles).cuda()


def products_by_kv_tile(
    problem: Case, tensors: dict[str, torch.Tensor], q: int, kv: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """[q tiles of all heads, kv tiles]: the sum of the elements of dS K in float64, and by how much
    a kernel's may differ. q, kv: rows of tiles."""
    group = problem.heads // problem.kv_heads
    queries, do, o = (tensors[name].double() for name in ("q", "do", "o"))
    keys, values = (tensors[name].double().repeat_interleave(group, 1) for name in ("k", "v"))
    row, column = (
        torch.arange(rows, device=do.device) for rows in (problem.q_rows, problem.kv_rows)
    )
    lse = tensors["lse"].double()[..., None]
    seen = (
        problem.mask.sees(row[:, None], column[None, :], None, problem.q_rows, problem.kv_rows)
        & lse.isfinite()
    )
    p = torch.where(seen, (problem.scale * queries @ keys.mT - lse).exp(), 0.0)
    dp = do @ values.mT

    def by_tile(x: torch.Tensor, dim: int, rows: int) -> torch.Tensor:
        missing = -x.shape[dim] % rows
        x = torch.cat([x, x.new_zeros(*x.shape[:dim], missing, *x.shape[dim + 1 :])], dim)
        return x.unflatten(dim, (-1, rows))

    def products(ds: torch.Tensor) -> torch.Tensor:
        tiles = by_tile(by_tile(ds, 2, q), 4, kv)
        return (
            torch.einsum("bhqrkc,bhkcd->bhqkrd", tiles, by_tile(keys, 2, kv))
            .flatten(4)
            .flatten(0, 2)
        )

    exact = products(p * (dp - (do * o).sum(-1, keepdim=True)))
    allowed = ROUNDED * exact.norm(dim=2) + CANCELLED * products(p * dp).norm(dim=2)
    return exact.sum(2), allowed


def flushed(x: torch.Tensor) -> torch.Tensor:
    """Subnormal numbers as zeros of their sign, as adds in L2 take and give them."""
    return torch.where(
        x.abs() < torch.finfo(torch.float32).tiny, torch.zeros_like(x).copysign(x), x
    )


def bits_are_those_of(
    bundled: BundledKernel, plain: BundledKernel, shape: Shape = REPEATED_SHAPE
) -> dict[str, Any]:
    problem = case(bundled, shape)
    tensors = make_inputs(problem)
    expected = run(load(plain), problem, tensors, stream=0)
    for number in range(RUNS):
        poison(tensors)
        demand_same(
            run(load(bundled), problem, tensors, stream=0),
            expected,
            f"run {number} of {bundled.name}",
        )
    left = wrong_words(load(bundled))
    demand(not left, f"a counter is not at its end afterwards: {left}")
    return {"runs": RUNS}
