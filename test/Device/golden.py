"""The bits of every kernel's gradients, and of o and the LSE of forwards, held by the hashes in
golden.json: a change of bits is one that was decided.

Inputs are made of integers (golden_values.py). Each problem runs twice, on workspaces that hold
different rubbish, and must give the same bytes. The outcome has what was found, from which
tools/scripts/record_golden.py makes the file.
"""

from __future__ import annotations

import math
from typing import Any

import golden_forwards as forwards
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

DEVICE = "cuda"
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
        for problem in values.problems(kernel.fixed_sizes, kernel.fold)
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
        softcap=bundled.softcap,
        has_sink=bundled.has_sink,
        head_dim_v=bundled.head_dim_v,
    )
    kernel, tensors = load(bundled), inputs(case)
    takes_unrounded = bundled.is_unrounded and not bundled.is_forward
    if takes_unrounded:
        tensors = tensors | {"o": unrounded(tensors["o"])}
    found: dict[str, str] = {}
    written: dict[str, torch.Tensor] = {}
    for byte in (0xFF, 0x00):
        if bundled.is_forward:
            written = forwards.run(kernel, case, tensors, byte, bundled.is_list)
        else:
            poison(tensors)
            poison_workspace(kernel, case, byte=byte)
            written = run(kernel, case, tensors, stream=0)
        torch.cuda.synchronize()
        again = {
            name: values.hash_of(content(written[name]))
            for name in values.hashed_outputs(bundled.name)
        }
        demand(not found or found == again, f"two runs differ: {found} and {again}")
        found = again
    record = {"kernel": bundled.name, "problem": values.problem_name(problem), "hashes": found}
    which = "-forward" * bundled.is_forward + "-unrounded" * takes_unrounded
    error = distance(case, tensors, written, which)
    if not all(value < FURTHEST for value in error.values()):
        raise Failed(f"expected results within {FURTHEST} of float64, found {error}")
    different = values.difference(golden, bundled.name, values.problem_name(problem), found)
    demand(not different, different, **record)
    return record | {"errors": error}


def inputs(case: Case) -> dict[str, torch.Tensor]:
    """q, k, v, do, o, lse and a sink of integers, on the GPU; kept for the next kernel. Rows that
    see nothing have the LSE +inf."""
    if case.name in INPUTS:
        return INPUTS[case.name]
    for kept in (INPUTS, EXACT):
        if len(kept) > len(values.PROBLEMS):
            kept.clear()
    tensors = {
        **allocate(case, ("q", "k", "v"), DEVICE),
        **allocate(case, ("do",), DEVICE),
        **allocate(case, ("o",), DEVICE),
        **allocate(case, OUTPUTS, DEVICE),
    }
    for name in ("q", "k", "v", "do", "o"):
        index = torch.arange(tensors[name].numel(), device=DEVICE)
        tensors[name].copy_(
            (values.numerators(name, index).float() / values.DENOMINATORS[name]).view(
                tensors[name].shape
            )
        )
    if case.softcap:
        tensors["q"].mul_(values.LARGER)
    if case.has_sink:
        index = torch.arange(case.heads, device=DEVICE)
        tensors["sink"] = values.numerators("sink", index).float() / values.DENOMINATORS["sink"]
    rows = (case.batch, case.heads, case.q_rows)
    numerators, sees = values.lse_numerators(
        torch.arange(math.prod(rows), device=DEVICE), case.q_rows, case.kv_rows, case.mask
    )
    lse = numerators.float() / values.DENOMINATORS["lse"]
    tensors["lse"] = torch.where(sees, lse, float("inf")).view(rows).contiguous()
    INPUTS[case.name] = tensors
    return tensors


def unrounded(o: torch.Tensor) -> torch.Tensor:
    """It in f32, and something below its last place."""
    index = torch.arange(o.numel(), device=o.device)
    fine = values.numerators(values.FINE, index).float() / values.DENOMINATORS[values.FINE]
    return o.float() + fine.view(o.shape)


def content(tensor: torch.Tensor) -> bytes:
    return tensor.contiguous().view(torch.uint8).cpu().numpy().tobytes()


def distance(
    case: Case,
    tensors: dict[str, torch.Tensor],
    written: dict[str, torch.Tensor],
    which: str,
) -> dict[str, float]:
    """Relative errors beside float64; of problems too large for that, 0 where everything is
    finite. which: what is computed, of what beside the case."""
    if case.batch * case.heads * case.q_rows * case.kv_rows > MOST_SCORES:
        return {
            name: 0.0 if torch.isfinite(one).all() else float("nan")
            for name, one in written.items()
        }
    key, is_forward = case.name + which, which == "-forward"
    if key not in EXACT:
        EXACT[key] = (forwards.references if is_forward else references)(case, tensors)
    return (forwards.errors if is_forward else errors)(written, *EXACT[key])
