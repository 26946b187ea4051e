"""Kernels that take delta in place of o: given what a kernel of the same order has computed from o,
they have its bits, of batches and of lists. Another delta gives others: the negative control."""

from __future__ import annotations

from typing import Any

import torch
from accuracy import load
from cases import case
from chains import region
from group import Test, demand
from sequences import Packed, bounds, demand_kept, make
from sequences import run as run_list

from dash_attn import Kernel
from dash_attn.measure.bundle import BundledKernel
from dash_attn.measure.testing import (
    OUTPUTS,
    first_difference,
    make_inputs,
    poison,
    poison_workspace,
    run,
)

SHAPES = (
    (1000, 1000, 2, 8, 2, "bshd"),
    (65, 1000, 2, 4, 4, "bhsd"),
    (1000, 65, 1, 4, 1, "padded"),
    (2048, 2048, 1, 8, 8, "packed"),
)
LISTS = ([(457, 700)], [(300, 300), (0, 0), (1, 900), (129, 129), (0, 5), (64, 64), (1000, 1000)])
BLOCK = 64
# Where the row at a place of a block stands: row 8j + 2c + e is at ((j>>1)*4 + c)*4 + (j&1)*2 + e.
PLACES = [
    ((row >> 4) * 4 + (row >> 1 & 3)) * 4 + (row >> 3 & 1) * 2 + (row & 1) for row in range(BLOCK)
]


def tests(kernels: list[BundledKernel], quick: bool) -> list[Test]:
    plain = {kernel.name: kernel for kernel in kernels}
    return [
        Test(
            f"delta {kernel.name}",
            kernel.name,
            lambda kernel=kernel: (of_lists if kernel.is_list else of_batches)(
                kernel, plain[kernel.name.removesuffix("-delta")]
            ),
        )
        for kernel in kernels
        if kernel.takes_delta
    ]


def in_rows(tiles: torch.Tensor) -> torch.Tensor:
    """[..., tiles, 64] as the main kernel reads it, as [..., rows]."""
    return tiles[..., PLACES].flatten(-2)


def demand_same(
    found: dict[str, torch.Tensor], expected: dict[str, torch.Tensor], when: str
) -> None:
    different = [
        text
        for text in (first_difference(found[name], expected[name], name) for name in OUTPUTS)
        if text
    ]
    demand(not different, f"{when}: {different}")


def others(found: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> int:
    return sum(
        int((found[name].view(torch.int16) != expected[name].view(torch.int16)).sum())
        for name in OUTPUTS
    )


def of_batches(kernel: BundledKernel, plain: BundledKernel) -> dict[str, Any]:
    differing = 0
    for seed, shape in enumerate(SHAPES):
        problem = case(plain, shape, seed)
        tensors = make_inputs(problem)
        expected = run(load(plain), problem, tensors, stream=0)
        words = region(load(plain), problem, "delta").view(torch.float32)
        delta = in_rows(words.view(problem.batch, problem.heads, -1, BLOCK))[
            ..., : problem.q_rows
        ].contiguous()
        given = tensors | {"o": None}
        poison(given)
        poison_workspace(load(kernel), problem)
        demand_same(
            run(load(kernel), problem, given | {"delta": delta}, stream=0), expected, f"{shape}"
        )
        differing += others(
            run(load(kernel), problem, given | {"delta": delta + 1}, stream=0), expected
        )
    demand(differing, "another delta gives the same bits")
    return {"problems": len(SHAPES), "differing": differing}


def delta_of_list(kernel: Kernel, packed: Packed) -> torch.Tensor:
    """[heads, q rows], of what the kernel has left in its workspace."""
    q_rows, count = packed.tensors["q"].shape[0], len(packed.lengths)
    sizes = {
        "batch": 1,
        "heads": packed.heads,
        "kv_heads": packed.kv_heads,
        "q_rows": q_rows,
        "kv_rows": packed.tensors["k"].shape[0],
        "bounds": count + 1,
    }
    address, size = kernel.reserve(stream=0, **sizes).region("delta")
    view = {"shape": (size // 4,), "typestr": "<f4", "data": (address, False), "version": 2}
    words = torch.as_tensor(type("Words", (), {"__cuda_array_interface__": view})(), device="cuda")
    tiles = words.view(packed.heads, -1, BLOCK)
    delta, first = torch.full((packed.heads, q_rows), float("nan"), device="cuda"), 0
    for index, (rows, _) in enumerate(packed.lengths):
        last = first + -(-rows // BLOCK)
        if rows:
            delta[:, packed.rows(index, "q")] = in_rows(tiles[:, first:last])[:, :rows]
        first = last
    return delta


def of_lists(kernel: BundledKernel, plain: BundledKernel) -> dict[str, Any]:
    differing = 0
    for seed, lengths in enumerate(LISTS):
        packed = make(plain, lengths, 4, 2, seed, gap=3)
        expected = run_list(plain, packed)
        delta, cu = (
            delta_of_list(load(plain), packed),
            {
                "cu_seqlens_q": bounds(packed, 0),
                "cu_seqlens_kv": bounds(packed, 1),
            },
        )

        def given(
            numbers: torch.Tensor, packed: Packed = packed, cu: dict[str, torch.Tensor] = cu
        ) -> dict[str, torch.Tensor]:
            for name in OUTPUTS:
                packed.whole[name].fill_(float("nan"))
            load(kernel).backward(
                **packed.tensors | {"o": None},
                delta=numbers,
                **cu,
                scale=packed.scale,
                layout="thd",
            )
            torch.cuda.synchronize()
            return {name: packed.tensors[name].clone() for name in OUTPUTS}

        found = given(delta)
        demand_kept(packed, found, f"{lengths}")
        demand_same(found, expected, f"{lengths}")
        differing += others(given(delta + 1), expected)
    demand(differing, "another delta gives the same bits")
    return {"lists": len(LISTS), "differing": differing}
