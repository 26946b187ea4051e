"""delta = rowsum(o * do) of an o that is not rounded: what `attention(delta="unrounded")` means.

A row whose probability lies at few columns has dP - delta of numbers that nearly cancel. Then the
rounding of o to 16 bits is most of the error of dq and dk. The forward writes o in f32, too, and
the backward reads that one. Its exponentials are beside the row's largest score, not up to 2^8
above it: the largest one is 1, so it loses nothing where it is rounded for its product.
"""

from __future__ import annotations

from typing import Any

ROUNDED, UNROUNDED = "rounded", "unrounded"  # of what o delta is
NAME = "unrounded"  # the forward's second output
SLACK = 0  # of a forward with one


def refusal_of_delta(
    delta: Any, is_foreign: bool, whose: str, cut: int | None, is_sharded: bool = False
) -> str | None:
    """Why delta is not of such an o. is_foreign: whether the forward pass is one of `whose`; cut:
    rows of pieces of keys, or None."""
    if not isinstance(delta, str) or delta not in (ROUNDED, UNROUNDED):
        return f"delta: expected '{ROUNDED}' or '{UNROUNDED}', found {delta!r}"
    if delta == ROUNDED:
        return None
    if is_foreign:
        return (
            f"delta: expected '{ROUNDED}', found '{delta}': no forward pass of {whose} gives its"
            " output before it is rounded; leave out forward"
        )
    if cut is not None:
        return (
            f"delta: expected '{ROUNDED}' beside cut, found '{delta}': what puts pieces of keys"
            " together writes rounded numbers; leave out one of both"
        )
    if is_sharded:
        return (
            f"delta: expected '{ROUNDED}' for a DTensor, found '{delta}'; call attention with local"
            " tensors (DTensor.to_local())"
        )
    return None


def type_of(head_dim: int) -> str:
    return f"memref<?x?x?x{head_dim}xf32, strided<[?, ?, ?, 1], offset: ?>>"
