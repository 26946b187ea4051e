"""Kernels whose items are parts of a kv head's query heads, or of one's q tiles: dK and dV are sums
over parts, in the order of their chains.

As the other groups ask of dQ: errors beside float64 on poisoned memory, the same bits on every run,
alone, beside other work and from builds that sleep, sums replayed from kept contributions; and at
level batch the same bits whatever is in the batch."""

from __future__ import annotations

from typing import Any

import torch
from accuracy import check, load
from cases import case
from chains import UNTOUCHED, bits_are_those_of, flushed, region
from group import Test, demand
from repeat import alone, beside, demand_same

from dash_attn.measure.bundle import BundledKernel
from dash_attn.measure.testing import OUTPUTS, make_inputs, poison, poison_workspace, run

# Heads that 2, 4 and 8 parts divide.
SHAPES = (
    (1, 1, 1, 8, 1, "bhsd"),
    (65, 65, 2, 8, 1, "bshd"),
    (129, 129, 1, 16, 2, "packed"),
    (1000, 1000, 2, 8, 1, "padded"),
    (2048, 2048, 1, 8, 1, "bshd"),
    (65, 1000, 1, 8, 1, "bhsd"),
    (1000, 65, 2, 16, 2, "bshd"),
    (128, 4097, 1, 16, 1, "padded"),
)
REPEATED_SHAPE = (2048, 2048, 2, 8, 1, "bhsd")
# Parts are runs of q tiles: some without one, of lengths that runs do not divide, and few heads at
# usual lengths.
RUNS_SHAPES = (
    (1, 1, 1, 1, 1, "bhsd"),
    (65, 65, 2, 2, 2, "bshd"),
    (577, 577, 1, 2, 2, "packed"),
    (1000, 1000, 2, 3, 3, "padded"),
    (2048, 2048, 1, 2, 2, "bshd"),
    (4096, 4096, 1, 1, 1, "bhsd"),
    (128, 4097, 1, 2, 2, "padded"),
    (16384, 16384, 1, 2, 2, "bhsd"),
)
REPEATED_RUNS = (2048, 2048, 1, 2, 2, "bhsd")
REPEATS = 200


def tests(kernels: list[BundledKernel], quick: bool) -> list[Test]:
    found = []

    def add(name: str, kernel: BundledKernel, test: Any, *arguments: Any) -> None:
        found.append(
            Test(f"parts {kernel.name} {name}", kernel.name, lambda: test(kernel, *arguments))
        )

    plain = {
        (kernel.kind, kernel.manifest["program"]["parts"]): kernel
        for kernel in kernels
        if not kernel.debug
    }
    for kernel in kernels:
        shapes, repeated = shapes_of_parts(kernel)
        same = plain.get((kernel.kind, kernel.manifest["program"]["parts"]))
        if kernel.debug == "contributions":
            for shape in shapes[2:4] or shapes if quick else shapes:
                add(f"chains {shape}", kernel, sums_follow_chains, same, shape)
        elif kernel.debug == "delays":
            add("delays", kernel, bits_are_those_of, same, repeated)
        elif not kernel.debug:
            for seed, shape in enumerate(shapes[1:5] or shapes if quick else shapes):
                add(f"accuracy {shape}", kernel, check, case(kernel, shape, seed))
            for name, test in (("alone", alone), ("beside", beside)):
                add(name, kernel, test, REPEATS // 10 if quick else REPEATS, repeated)
            if kernel.manifest["program"]["level"] in ("batch", "machine"):
                add("in a batch", kernel, batch_changes_nothing)
    return found


def shapes_of_parts(kernel: BundledKernel) -> tuple[tuple[tuple[Any, ...], ...], tuple[Any, ...]]:
    """And that of repeats."""
    if "-runs" not in kernel.name:
        return SHAPES, REPEATED_SHAPE
    # A table has sizes of its own.
    return (REPEATED_RUNS,) if kernel.kind == "synthesized" else RUNS_SHAPES, REPEATED_RUNS


def sums_follow_chains(
    bundled: BundledKernel, plain: BundledKernel, shape: tuple[Any, ...]
) -> dict[str, Any]:
    """The float32 sums of dQ, dK and dV are those of the contributions, added one after the other
    in the order of their turns."""
    kernel, problem = load(bundled), case(bundled, shape)
    tensors = make_inputs(problem)
    poison_workspace(kernel, problem, byte=0xFF)
    found = run(kernel, problem, tensors, stream=0)
    torch.cuda.synchronize()
    program = kernel.manifest["program"]
    tile, parts = program["tiles"], program["parts"]
    kv_tiles = -(-problem.kv_rows // tile["kv"])
    pieces = problem.batch * problem.kv_heads * kv_tiles * (tile["kv"] // tile["q"])
    tiles = problem.batch * problem.heads * -(-problem.q_rows // tile["q"])
    for sums, kept, count, most in (
        ("dq_sum", "contributions", tiles, kv_tiles),
        ("dk_sum", "dk_contributions", pieces, parts),
        ("dv_sum", "dv_contributions", pieces, parts),
    ):
        bits = region(kernel, problem, kept).view(count, most, -1)
        turns, values = (bits != UNTOUCHED).any(2).sum(1), bits.view(torch.float32)
        demand(
            sums == "dq_sum" or bool((turns == parts).all()),
            f"a piece of {sums} has not the contributions of {parts} parts",
        )
        expected = torch.zeros_like(values[:, 0])
        for turn in range(most):
            term = values[:, turn]
            added = term if turn == 0 else flushed(flushed(expected) + flushed(term))
            expected = torch.where((turns > turn)[:, None], added, expected)
        differ = int(
            (expected.view(torch.int32) != region(kernel, problem, sums).view(count, -1))
            .any(1)
            .sum()
        )
        demand(not differ, f"{differ} of {count} tiles of {sums} are not the sums of their chains")
    poison(tensors)
    demand_same(
        run(load(plain), problem, tensors, stream=0), found, f"{plain.name} beside {bundled.name}"
    )
    return {"tiles": tiles, "pieces": 2 * pieces}


def batch_changes_nothing(bundled: BundledKernel) -> dict[str, Any]:
    """The gradients of a sequence are those that it has alone."""
    rows, batch = 1000, 3
    kernel, many = load(bundled), case(bundled, (rows, rows, batch, 8, 1, "bhsd"))
    one = case(bundled, (rows, rows, 1, 8, 1, "bhsd"))
    tensors = make_inputs(many)
    together = run(kernel, many, tensors, stream=0)
    for number in range(batch):
        single = {name: tensor[number : number + 1].clone() for name, tensor in tensors.items()}
        poison({name: single[name] for name in OUTPUTS})
        found = run(kernel, one, single, stream=0)
        demand_same(
            found,
            {name: together[name][number : number + 1] for name in OUTPUTS},
            f"sequence {number} alone",
        )
    return {"sequences": batch}
