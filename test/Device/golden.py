"""The bits of every kernel's gradients, held by the hashes in golden.json: a change of bits is one
that was decided.

Inputs are made of integers (golden_values.py). Each problem runs twice, on workspaces that hold
different rubbish, and must give the same bytes. The outcome has what was found, from which
tools/scripts/record_golden.py makes the file.
"""

from __future__ import annotations

import math
from typing import Any

import golden_values as values
import torch
from accuracy import load
from group import Failed, Test, demand

from dash_attn.measure.bundle import BundledKernel
from dash_attn.measure.testing import (
    OUTPUTS,
    Case,
    allocate,
    errors,
    poison,
    poison_workspace,
    references,
    run,
)

# Further from float64 than kernels ever are: hashes of rubbish are not worth to be held.
FURTHEST = 1e-2
# Scores, above which float64 takes too long; of such problems only the bytes are looked at.
MOST_SCORES = 1 << 27
INPUTS: dict[str, dict[str, torch.Tensor]] = {}
EXACT: dict[str, Any] = {}


def tests(kernels: list[BundledKernel], quick: bool) -> list[Test]:
    golden = values.read() if values.FILE.exists() else {"hashes": {}}
    return [
        Test(
            f"golden {kernel.name} {values.problem_name(problem)}",
            kernel.name,
            lambda kernel=kernel, problem=problem: check(kernel, problem, golden),
        )
        for kernel in kernels
        if not quick or not kernel.debug and not kernel.name.endswith("-bench")
        for problem in values.problems(kernel.fixed_sizes)
    ]


def check(
    bundled: BundledKernel, problem: tuple[int, int, int, int, int, str], golden: dict[str, Any]
) -> dict[str, Any]:
    q_rows, kv_rows, batch, heads, kv_heads, memory = problem
    case = Case(
        bundled.head_dim,
        bundled.mask,
        q_rows,
        kv_rows,
        batch,
        heads,
        kv_heads,
        memory,
        element=bundled.element,
    )
    kernel, tensors = load(bundled), inputs(case)
    found: dict[str, str] = {}
    gradients: dict[str, torch.Tensor] = {}
    for byte in (0xFF, 0x00):
        poison(tensors)
        poison_workspace(kernel, case, byte=byte)
        gradients = run(kernel, case, tensors, stream=0)
        torch.cuda.synchronize()
        again = {
            name: values.hash_of(content(gradients[name]))
            for name in values.hashed_outputs(bundled.name)
        }
        demand(not found or found == again, f"two runs differ: {found} and {again}")
        found = again
    record = {"kernel": bundled.name, "problem": values.problem_name(problem), "hashes": found}
    error = distance(case, tensors, gradients)
    if not all(value < FURTHEST for value in error.values()):
        raise Failed(f"expected gradients within {FURTHEST} of float64, found {error}")
    different = values.difference(golden, bundled.name, values.problem_name(problem), found)
    demand(not different, different, **record)
    return record | {"errors": error}


def inputs(case: Case) -> dict[str, torch.Tensor]:
    """q, k, v, do, o and lse of integers, on the GPU; kept for the next kernel. Rows that see
    nothing have the LSE +inf."""
    if case.name in INPUTS:
        return INPUTS[case.name]
    for kept in (INPUTS, EXACT):
        if len(kept) > len(values.PROBLEMS):
            kept.clear()
    tensors = {
        **allocate(case, ("q", "k", "v"), "cuda"),
        **allocate(case, ("do",), "cuda"),
        **allocate(case, ("o",), "cuda"),
        **allocate(case, OUTPUTS, "cuda"),
    }
    for name in ("q", "k", "v", "do", "o"):
        index = torch.arange(tensors[name].numel(), device="cuda")
        tensors[name].copy_(
            (values.numerators(name, index).float() / values.DENOMINATORS[name]).view(
                tensors[name].shape
            )
        )
    rows = (case.batch, case.heads, case.q_rows)
    numerators, sees = values.lse_numerators(
        torch.arange(math.prod(rows), device="cuda"), case.q_rows, case.kv_rows, case.mask
    )
    lse = numerators.float() / values.DENOMINATORS["lse"]
    tensors["lse"] = torch.where(sees, lse, float("inf")).view(rows).contiguous()
    INPUTS[case.name] = tensors
    return tensors


def content(tensor: torch.Tensor) -> bytes:
    return tensor.contiguous().view(torch.uint8).cpu().numpy().tobytes()


def distance(
    case: Case, tensors: dict[str, torch.Tensor], gradients: dict[str, torch.Tensor]
) -> dict[str, float]:
    """Relative errors beside float64; of problems too large for that, 0 where everything is
    finite."""
    if case.batch * case.heads * case.q_rows * case.kv_rows > MOST_SCORES:
        return {
            name: 0.0 if torch.isfinite(gradients[name]).all() else float("nan") for name in OUTPUTS
        }
    if case.name not in EXACT:
        EXACT[case.name] = references(case, tensors)
    return errors(gradients, *EXACT[case.name])
