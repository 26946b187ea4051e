"""Levels of determinism, of each class of masks: at level batch a sequence has the bits that it has
alone, at level machine bits do not depend on how many workers there are. What a lower level would
give, on the same inputs, has other bits: the negative control.

Level run is what the groups repeat and sequences ask for. Lists whose lengths come with a launch
keep level batch whatever kind they are of (group sequences); tables of lists at level batch do, and
those of level run differ.
"""

from __future__ import annotations

from typing import Any

import torch
from accuracy import load
from cases import case
from group import Test, demand
from repeat import demand_same
from sequences import has_lengths, lists_of, make
from sequences import run as run_list

from dash_attn.measure.bundle import BundledKernel
from dash_attn.measure.testing import OUTPUTS, make_inputs, poison, run

Gradients = dict[str, torch.Tensor]
BATCHES = (1, 2, 7)
ROWS, HEADS, KV_HEADS = 1000, 4, 2
# More pairs of kv tiles than there are workers, so that orders for 132, for 66 and for 64 of them
# differ.
LONG_ROWS = 17500
LISTS = (
    [(LONG_ROWS, LONG_ROWS)],
    [(300, 300), (0, 5), (9000, 9001), (1, 1), (129, 700), (64, 0), (2000, 2000)],
)


def tests(kernels: list[BundledKernel], quick: bool) -> list[Test]:
    found = []
    tables = {
        (kernel.manifest["program"]["level"], kernel.name.rsplit("-", 2)[1]): kernel
        for kernel in kernels
        if kernel.is_list and not has_lengths(kernel)
    }
    if tables:
        found.append(
            Test(
                "levels of tables of lists",
                next(iter(tables.values())).name,
                lambda: neighbours_change_nothing(tables),
            )
        )
    for is_list in (False, True):
        some = [
            kernel
            for kernel in kernels
            if kernel.is_list == is_list and (has_lengths(kernel) or not is_list)
        ]
        by_level = {
            level: [kernel for kernel in some if kernel.manifest["program"]["level"] == level]
            for level in ("run", "batch", "machine")
        }
        if machine := by_level["machine"]:
            lower = [
                kernel
                for kernel in (by_level["batch"] if is_list else by_level["run"])
                if "-of-" not in kernel.name
            ]
            found.append(
                Test(
                    f"levels {machine[0].name.rsplit('-', 1)[0]}",
                    machine[0].name,
                    lambda machine=machine, lower=lower: workers_change_nothing(machine, lower),
                )
            )
        if not is_list and (batch := by_level["batch"]):
            lower = [kernel for kernel in by_level["run"] if "-of-" in kernel.name]
            found.append(
                Test(
                    f"levels {batch[0].name}",
                    batch[0].name,
                    lambda batch=batch, lower=lower: batch_changes_nothing(batch, lower),
                )
            )
    return found


def gradients(kernel: BundledKernel) -> list[Gradients]:
    """The problems on which orders for other numbers of workers differ."""
    if kernel.is_list:
        return [run_list(kernel, make(kernel, lengths, 2, 1, seed=11)) for lengths in LISTS]
    problem = case(kernel, (LONG_ROWS, LONG_ROWS, 1, 2, 1, "bshd"), seed=11)
    return [run(load(kernel), problem, make_inputs(problem), stream=0)]


def differing_in(some: Gradients, others: Gradients) -> int:
    """Elements of all gradients with other bits."""
    return sum(
        int((some[name].view(torch.int16) != others[name].view(torch.int16)).sum())
        for name in OUTPUTS
    )


def neighbours_change_nothing(tables: dict[tuple[str, str], BundledKernel]) -> dict[str, Any]:
    """The first sequence beside one other, and among many: the same bits at level batch; at level
    run others, the negative control."""
    differing = {}
    for level in ("batch", "run"):
        alone, among = (first_of(tables[level, which]) for which in ("beside", "among"))
        differing[level] = differing_in(alone, among)
    demand(
        not differing["batch"],
        f"{differing['batch']} elements have other bits beside other sequences",
    )
    demand(
        differing["run"],
        "at level run the bits are the same, too, so equal bits at level batch mean nothing",
    )
    return differing


def first_of(kernel: BundledKernel) -> Gradients:
    """Gradients of the first sequence of the list that the table is for; its inputs depend on its
    lengths alone."""
    lengths, heads, kv_heads, gap = lists_of(kernel, 1)[0]
    packed = make(kernel, lengths, heads, kv_heads, 11, gap)
    found = run_list(kernel, packed)
    return {name: found[name][packed.rows(0, name)] for name in OUTPUTS}


def workers_change_nothing(
    machine: list[BundledKernel], lower: list[BundledKernel]
) -> dict[str, Any]:
    """An order made for 64 workers on 132, 100 and 66; orders of the level below, made for as many
    as run them, differ."""
    expected = gradients(machine[0])
    for kernel in machine[1:]:
        for number, (found, right) in enumerate(zip(gradients(kernel), expected)):
            demand_same(
                found, right, f"problem {number} on {kernel.manifest['program']['workers']} workers"
            )
    below = [gradients(kernel)[0] for kernel in lower]
    differ = differing_in(below[0], below[-1])
    demand(
        differ,
        f"{lower[0].name} and {lower[-1].name} have the same bits, so equal bits at level machine"
        " mean nothing",
    )
    return {
        "workers": [kernel.manifest["program"]["workers"] for kernel in machine],
        "problems": len(expected),
        "differing_below": differ,
    }


def batch_changes_nothing(
    kernels: list[BundledKernel], lower: list[BundledKernel]
) -> dict[str, Any]:
    """Sequence by sequence: alone, in a batch of 2 and in one of 7. Orders that are tables come one
    a batch, and those of level run differ."""

    def of(some: list[BundledKernel], batch: int) -> BundledKernel:
        return next(
            (kernel for kernel in some if kernel.fixed_sizes.get("batch") == batch), some[0]
        )

    def in_batch(kernel: BundledKernel, tensors: Gradients, batch: int, first: int) -> Gradients:
        part = {name: tensor[first : first + batch].clone() for name, tensor in tensors.items()}
        poison(part)
        return run(
            load(kernel), case(kernel, (ROWS, ROWS, batch, HEADS, KV_HEADS, "bhsd")), part, stream=0
        )

    most = BATCHES[-1]
    tensors = make_inputs(
        case(of(kernels, most), (ROWS, ROWS, most, HEADS, KV_HEADS, "bhsd"), seed=5)
    )
    together = in_batch(of(kernels, most), tensors, most, 0)
    checked = 0
    for batch in BATCHES[:-1]:
        for first in range(0, most - batch + 1, batch):
            found = in_batch(of(kernels, batch), tensors, batch, first)
            right = {name: together[name][first : first + batch] for name in OUTPUTS}
            demand_same(found, right, f"sequences from {first} on, {batch} of {most}")
            checked += batch
    if not lower:
        return {"checked": checked}
    one, all_of_them = (in_batch(of(lower, batch), tensors, batch, 0) for batch in (1, most))
    differ = differing_in(one, {name: all_of_them[name][:1] for name in OUTPUTS})
    demand(
        differ,
        f"{of(lower, 1).name} and {of(lower, most).name} have the same bits, so equal bits at level"
        " batch mean nothing",
    )
    return {"checked": checked, "differing_below": differ}
