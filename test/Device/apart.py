"""Kernels whose contributions are kept apart: the gradients have the bits of the kernel of the same
order whose sums grow turn by turn. A search finds another order where less waits, so of its kernels
that is not asked.

And what other groups ask: errors beside float64 on poisoned memory, the same bits on every run,
alone and beside other work."""

from __future__ import annotations

from typing import Any

import torch
from accuracy import check, load
from cases import case
from group import Test
from parts import REPEATS, shapes_of_parts
from repeat import alone, beside, demand_same

from dash_attn.kernel.problem import SEARCHED
from dash_attn.measure.bundle import BundledKernel
from dash_attn.measure.testing import make_inputs, poison, run

# Few rows beside many and many beside few, rows that see no column, lengths that tiles do not
# divide.
PLAIN_SHAPES = (
    (1, 4096, 1, 32, 8, "bhsd"),
    (16, 4096, 1, 8, 8, "bshd"),
    (1000, 65, 2, 4, 2, "bhsd"),
    (577, 577, 2, 3, 3, "packed"),
    (2048, 2048, 1, 2, 2, "padded"),
)


def shapes_of(kernel: BundledKernel) -> tuple[tuple[tuple[Any, ...], ...], tuple[Any, ...]]:
    """And that of repeats."""
    if kernel.manifest["program"]["parts"] > 1:
        return shapes_of_parts(kernel)
    shapes: tuple[tuple[Any, ...], ...] = PLAIN_SHAPES
    if kernel.fixed_sizes:  # of a table
        sizes = kernel.fixed_sizes
        shapes = (
            (
                sizes["q_rows"],
                sizes["kv_rows"],
                sizes["batch"],
                sizes["heads"],
                sizes["kv_heads"],
                "bhsd",
            ),
        )
    return shapes, shapes[-1]


def tests(kernels: list[BundledKernel], quick: bool) -> list[Test]:
    found = []

    def add(name: str, kernel: BundledKernel, test: Any, *arguments: Any) -> None:
        found.append(
            Test(f"apart {kernel.name} {name}", kernel.name, lambda: test(kernel, *arguments))
        )

    named = {kernel.name: kernel for kernel in kernels}
    for kernel in kernels:
        if not kernel.is_apart:
            continue
        in_turns, (shapes, repeated) = named[kernel.name.rsplit("-apart-", 1)[0]], shapes_of(kernel)
        for seed, shape in enumerate(shapes[:2] if quick else shapes):
            if kernel.manifest["program"]["kind"] != SEARCHED:
                add(f"bits {shape}", kernel, bits_are_those_of, in_turns, shape)
            add(f"accuracy {shape}", kernel, check, case(kernel, shape, seed))
        for name, test in (("alone", alone), ("beside", beside)):
            add(name, kernel, test, REPEATS // 10 if quick else REPEATS, repeated)
    return found


def bits_are_those_of(
    kernel: BundledKernel, in_turns: BundledKernel, shape: tuple[Any, ...]
) -> dict[str, Any]:
    problem = case(kernel, shape)
    tensors = make_inputs(problem)
    expected = {
        name: tensor.clone()
        for name, tensor in run(load(in_turns), problem, tensors, stream=0).items()
    }
    poison(tensors)
    found = run(load(kernel), problem, tensors, stream=0)
    torch.cuda.synchronize()
    demand_same(found, expected, f"{kernel.name} beside {in_turns.name}")
    return {"elements": sum(tensor.numel() for tensor in found.values())}
