"""Kernels whose scores have a softcap, or whose softmax has a sink: gradients beside float64 on
poisoned memory, dsink too; the same bits on every run, alone and beside other work; the gradient of
a sink of each sequence as it is alone, whatever is in the batch."""

from __future__ import annotations

from typing import Any

import torch
from accuracy import check, load
from cases import case
from group import Test, demand
from repeat import REPEATED_SHAPE, REPEATS, alone, beside, demand_same

from dash_attn.measure.bundle import BundledKernel
from dash_attn.measure.testing import make_inputs, poison, run

SHAPES = (
    (1, 1, 3, 8, 2, "bshd"),
    (65, 65, 2, 2, 2, "bshd"),
    (129, 129, 1, 8, 2, "packed"),
    (1000, 1000, 2, 8, 8, "padded"),
    (4097, 4097, 1, 4, 1, "bhsd"),
    (65, 1000, 2, 4, 4, "bhsd"),
    (1000, 65, 2, 4, 4, "bhsd"),
)


def tests(kernels: list[BundledKernel], quick: bool) -> list[Test]:
    found = []

    def add(name: str, kernel: BundledKernel, test: Any, *arguments: Any) -> None:
        found.append(
            Test(f"scores {kernel.name} {name}", kernel.name, lambda: test(kernel, *arguments))
        )

    for kernel in kernels:
        for seed, shape in enumerate(SHAPES[1:4] if quick else SHAPES):
            add(f"accuracy {shape}", kernel, check, case(kernel, shape, seed))
        for name, test in (("alone", alone), ("beside", beside)):
            add(name, kernel, test, REPEATS // 10 if quick else REPEATS, REPEATED_SHAPE)
        add("without keys", kernel, rows_without_keys)
        if kernel.has_sink:
            add("in a batch", kernel, batch_changes_nothing)
    return found


def rows_without_keys(bundled: BundledKernel) -> dict[str, Any]:
    """Rows with an LSE of -inf or +inf have gradients of zero, and add nothing to the others'."""
    kernel, problem = load(bundled), case(bundled, (300, 300, 1, 4, 4, "bhsd"))
    tensors = make_inputs(problem)
    emptied = slice(70, 140)
    tensors["do"][:, :, emptied] = 0  # what they add is nothing without their LSE, too
    expected = run(kernel, problem, tensors, stream=0)
    for lse in (float("-inf"), float("inf")):
        tensors["lse"][:, :, emptied] = lse
        poison(tensors)
        found = run(kernel, problem, tensors, stream=0)
        demand(
            bool((found["dq"][:, :, emptied] == 0).all()), f"rows with an LSE of {lse} have a dq"
        )
        for name in found:
            demand(
                bool(torch.isfinite(found[name]).all()),
                f"{name} is not finite beside rows with an LSE of {lse}",
            )
        if bundled.has_sink:
            demand(
                torch.equal(found["dsink"], expected["dsink"]),
                f"rows with an LSE of {lse} add to dsink",
            )
    return {"rows": emptied.stop - emptied.start}


def batch_changes_nothing(bundled: BundledKernel) -> dict[str, Any]:
    """dsink of a sequence is that which it has alone, at every level."""
    rows, batch = 1000, 3
    kernel, many = load(bundled), case(bundled, (rows, rows, batch, 8, 2, "bhsd"))
    one = case(bundled, (rows, rows, 1, 8, 2, "bhsd"))
    tensors = make_inputs(many)
    together = run(kernel, many, tensors, stream=0)
    for number in range(batch):
        single = {
            name: tensor if name == "sink" else tensor[number : number + 1].clone()
            for name, tensor in tensors.items()
        }
        poison(single)
        found = run(kernel, one, single, stream=0)
        demand_same(
            {"dsink": found["dsink"]},
            {"dsink": together["dsink"][number : number + 1]},
            f"sequence {number} alone",
        )
    return {"sequences": batch}
