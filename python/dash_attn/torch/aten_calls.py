"""What calls of PyTorch's operators of attention have in common, forward and backward: why kernels
do not serve one, and the launch of one that they do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import ArgumentError, CapacityError
from ..kernel.problem import FULL, Window
from .problem import Lengths, refusal_of_device, refusal_of_sequences, refusal_of_tensors


def refusal(
    q: Any,
    k: Any,
    v: Any,
    dropout: float,
    layout: str = "bhsd",
    lengths: Lengths | None = None,
    window: Window = FULL,
) -> str | None:
    """Why no kernel serves these tensors, in one direction or in both. lengths: of packed
    sequences."""
    if dropout:
        return f"expected no dropout, found {dropout}"
    of_tensors = (
        refusal_of_tensors(q, k, v, layout, window)
        if lengths is None
        else refusal_of_sequences(q, k, v, lengths, window)
    )
    return of_tensors or refusal_of_device(q.device.index)


def attempt(launch: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """What it gives, or why there is nothing after all, as of more tasks than an order can have,
    or on a part of a GPU: nothing is written then."""
    try:
        return launch(*arguments, **options)
    except (ArgumentError, CapacityError) as error:
        return str(error)


def number(scale: float | None, q: Any) -> float:
    return q.shape[-1] ** -0.5 if scale is None else scale


def sides(left: int | None, right: int | None) -> Window:
    return tuple(-1 if side is None or side < 0 else side for side in (left, right))


def has_offsets(offsets: Any) -> bool:
    return offsets is not None and offsets.numel() > 0


def refusal_of_offsets(offsets: Any) -> str | None:
    return (
        "expected sequences of one length, found offsets of unequal ones"
        if has_offsets(offsets)
        else None
    )


def refusal_of_bias(bias: Any) -> str | None:
    return None if bias is None or bias.numel() == 0 else "expected no mask or bias, found one"


def refusal_of_window(window: int | None) -> str | None:
    return f"expected no window, found one of {window}" if window else None
