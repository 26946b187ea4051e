"""Forwards for golden.py: o and the LSE of a problem, and o unrounded, by the kernel of a batch. A
list's kernel has the sequences of the batch one behind the other, with rows of NaN around them."""

from __future__ import annotations

from dataclasses import replace

import torch
from group import demand

from dash_attn import Kernel, reference
from dash_attn.kernel.runtime import UNROUNDED_NAME as UNROUNDED
from dash_attn.measure.testing import Case, allocate, poison_workspace

INPUTS, GAP = ("q", "k", "v"), 7  # rows in front of the list and behind it
Tensors = dict[str, torch.Tensor]


def run(kernel: Kernel, case: Case, tensors: Tensors, byte: int, is_list: bool) -> Tensors:
    """Over outputs of NaN and a workspace of such bytes."""
    more = {"sink": tensors["sink"]} if case.has_sink else {}
    is_unrounded = any(tensor["name"] == UNROUNDED for tensor in kernel.manifest["tensors"])
    names = ("o", "lse", *(UNROUNDED,) * is_unrounded)
    if not is_list:
        given = {name: tensors[name] for name in INPUTS} | outputs(case, tensors, names)
        poison_workspace(kernel, case, byte=byte)
        kernel.forward(**given, **more, scale=case.scale, stream=0)
        return rounded_alike({name: given[name] for name in names})
    rows = {name: case.kv_rows if name in ("k", "v") else case.q_rows for name in INPUTS}
    rows |= dict.fromkeys(names, case.q_rows)
    whole = replace(
        case,
        batch=1,
        q_rows=case.batch * case.q_rows + 2 * GAP,
        kv_rows=case.batch * case.kv_rows + 2 * GAP,
    )
    device = tensors["q"].device
    given = allocate(whole, INPUTS, str(device)) | outputs(whole, tensors, names)
    for name in INPUTS:
        given[name].fill_(float("nan"))
        sequences(given[name], case, rows[name]).copy_(tensors[name])
    bounds = torch.arange(case.batch + 1, dtype=torch.int32, device=device)
    more["cu_seqlens_q"] = bounds * case.q_rows + GAP
    more["cu_seqlens_kv"] = bounds * case.kv_rows + GAP
    poison_workspace(kernel, whole, byte=byte, bounds=len(bounds))
    kernel.forward(**given, **more, scale=case.scale, stream=0)
    found = {name: sequences(given[name], case, rows[name]) for name in names}
    for name in found:
        around = torch.cat([given[name][:, :, :GAP], given[name][:, :, -GAP:]])
        demand(torch.isnan(around).all(), f"{name}: rows of no sequence are written")
    return rounded_alike(found)


def outputs(case: Case, tensors: Tensors, names: tuple[str, ...]) -> Tensors:
    device = tensors["q"].device
    o = allocate(case, ("o",), str(device))["o"].fill_(float("nan"))
    every = {
        "o": o,
        "lse": torch.full(o.shape[:3], float("nan"), device=device),
        UNROUNDED: torch.full(o.shape, float("nan"), device=device),
    }
    return {name: every[name] for name in names}


def rounded_alike(found: Tensors) -> Tensors:
    """The same outputs, whose unrounded o, rounded, is o."""
    if UNROUNDED in found:
        is_alike = torch.equal(found[UNROUNDED].to(found["o"].dtype), found["o"])
        demand(is_alike, "the unrounded o, rounded, is not o")
    return found


def sequences(tensor: torch.Tensor, case: Case, rows: int) -> torch.Tensor:
    """The rows of a list's tensor, as those of the batch: a view."""
    inside = tensor[0, :, GAP : GAP + case.batch * rows]
    return inside.unflatten(1, (case.batch, rows)).transpose(0, 1)


def references(case: Case, tensors: Tensors) -> tuple[torch.Tensor, torch.Tensor]:
    """o and the LSE in float64."""
    return reference.forward(*(tensors[name] for name in INPUTS), **case.options(tensors))


def errors(written: Tensors, o: torch.Tensor, lse: torch.Tensor) -> dict[str, float]:
    """Relative to the largest of each; NaN where one is. Infinities are the same."""
    differs = written["lse"] != lse
    largest = lse[torch.isfinite(lse)].abs().max().clamp(min=1)
    of_lse = torch.where(differs, written["lse"] - lse, 0).abs().max() / largest
    of_o = {
        name: ((written[name] - o).abs().max() / o.abs().max()).item()
        for name in written
        if name != "lse"
    }
    return of_o | {"lse": of_lse.item()}
