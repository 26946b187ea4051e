"""What the front ends of all frameworks are held to: values beside float64, and bits."""

from __future__ import annotations

from typing import Any

import torch
from accuracy import BESIDE_ROUNDING, NOISE, yardstick
from group import demand

from dash_attn import reference
from dash_attn.measure.testing import Case, errors, first_difference, references

MOST_LSE = 1e-4  # of the logarithms beside float64


def demand_same(
    found: dict[str, torch.Tensor], expected: dict[str, torch.Tensor], when: str
) -> None:
    different = [
        text for name, one in found.items() if (text := difference(one, expected[name], name))
    ]
    demand(not different, f"{when}: {'; '.join(different)}")


def difference(found: torch.Tensor, expected: torch.Tensor, name: str) -> str:
    """Empty if both have the same bits; else in how many elements they differ, and how far.
    Infinities of one sign are no distance, and NaN has none."""
    said = first_difference(found, expected, name)
    if not said or found.shape != expected.shape:
        return said
    one, other = found.double(), expected.double()
    apart = torch.where(one == other, 0, (one - other).abs()).nan_to_num(0, posinf=torch.inf)
    return (
        f"{said}; they differ by {float(apart.max()):.3g} at most of"
        f" {float(other.abs().max()):.3g}, {int(one.isnan().sum())} found and"
        f" {int(other.isnan().sum())} expected are NaN"
    )


def demand_accurate(
    problem: Case, given: dict[str, torch.Tensor], found: dict[str, torch.Tensor]
) -> dict[str, Any]:
    """given: what the gradients follow from, found's o and lse among it. With a sink o is rounded
    twice, by the forward pass and with the sink's part, and dsink is that of all batches."""
    o, lse = reference.forward(given["q"], given["k"], given["v"], **problem.options(given))
    of_o, rounded = (
        reference.relative_error(found["o"], o, o),
        reference.relative_error(o.to(problem.dtype), o, o),
    )
    of_lse = float((found["lse"] - lse).abs().max())
    exact = references(problem, given)
    whole = [
        {name: x.sum(0) if name == "dsink" else x for name, x in each.items()} for each in exact
    ]
    ours = errors({name: found[name] for name in problem.outputs}, *whole)
    peer, theirs, allowed = yardstick(problem, given, exact)
    record = {
        "o": of_o,
        "o_rounded": rounded,
        "lse": of_lse,
        "ours": ours,
        "theirs": theirs,
        "peer": peer,
    }
    demand(
        of_lse < MOST_LSE and of_o < 2 * BESIDE_ROUNDING * rounded,
        "the forward pass is not exact",
        **record,
    )
    demand(
        all(error <= max(allowed * theirs.get(name, 0), NOISE) for name, error in ours.items()),
        "gradients are worse than the peer's",
        **record,
    )
    return record
