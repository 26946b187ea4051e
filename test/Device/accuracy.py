"""Gradients beside float64, over shapes and memory layouts, on poisoned outputs and workspace.

The measure: our error is at most 1.05 times that of PyTorch's FlashAttention backward from the same
o and LSE. Where that one cannot run (it says why in the record), the yardstick is the error of the
unavoidable roundings to 16 bits alone, and 1.25 times that is allowed: sums in f32 and approximate
exponentials add less than a tenth of it.
"""

from __future__ import annotations

from typing import Any

import torch
from cases import accuracy_cases
from group import Test, demand

from dash_attn import Kernel
from dash_attn.measure.bundle import BundledKernel
from dash_attn.measure.testing import (
    Case,
    emulated_backward,
    errors,
    flash_backward,
    make_inputs,
    poison_workspace,
    references,
    run,
    wrong_words,
)

BESIDE_FLASH, BESIDE_ROUNDING = 1.05, 1.25
# Below this an error has no yardstick: where gradients cancel (one column: dq and dk are 0) it is
# 1e-6 of what cancels, which sums in f32 leave; where they do not, it is less than half of what
# rounding to bf16 leaves.
NOISE = 1e-3
LOADED: dict[str, Kernel] = {}


def tests(kernels: list[BundledKernel], quick: bool) -> list[Test]:
    first = next((kernel.name for kernel in kernels if not kernel.fixed_sizes), "")
    return [
        Test(
            f"accuracy {kernel.name} {case.name}",
            kernel.name,
            lambda kernel=kernel, case=case: check(kernel, case),
        )
        for kernel in kernels
        for case in accuracy_cases(kernel, kernel.name == first, quick)
    ]


def load(kernel: BundledKernel) -> Kernel:
    if kernel.name not in LOADED:
        LOADED[kernel.name] = Kernel.load(kernel.path)
    return LOADED[kernel.name]


def check(bundled: BundledKernel, case: Case) -> dict[str, Any]:
    kernel, tensors = load(bundled), make_inputs(case)
    poison_workspace(kernel, case)
    found = run(kernel, case, tensors, stream=0)
    torch.cuda.synchronize()
    unwritten = {name: int((~torch.isfinite(found[name])).sum()) for name in found}
    demand(
        not any(unwritten.values()),
        "elements are not finite: "
        + ", ".join(f"{count} of {name}" for name, count in unwritten.items() if count),
    )
    left = wrong_words(kernel)
    demand(not left, f"a counter is not at its end afterwards: {left}")
    exact = references(case, tensors)
    ours = errors(found, *exact)
    peer, theirs, allowed = yardstick(case, tensors, exact)
    record = {"ours": ours, "theirs": theirs, "peer": peer}
    worse = [
        f"{name} {ours[name]:.3e} against {theirs[name]:.3e} of {peer}"
        for name in ours
        if ours[name] > max(allowed * theirs[name], NOISE)
    ]
    demand(
        not worse,
        f"expected at most {allowed} times the peer's error, found " + ", ".join(worse),
        **record,
    )
    return record


def yardstick(
    case: Case, tensors: dict[str, torch.Tensor], exact: tuple[Any, Any]
) -> tuple[str, dict[str, float], float]:
    """(whose, errors, how many times them is allowed)."""
    try:
        theirs = errors(flash_backward(case, tensors), *exact)
        if all(error == error for error in theirs.values()):
            return "flash", theirs, BESIDE_FLASH
        why = "flash gave NaN"
    except (RuntimeError, AttributeError) as error:
        why = str(error).splitlines()[0]
    return f"rounding ({why})", errors(emulated_backward(case, tensors), *exact), BESIDE_ROUNDING
