"""Packed sequences: what their offsets must be, the same in all frameworks. Names are those of the
arguments of `attention`: cu_seqlens_q and cu_seqlens_k, and seqused_q and seqused_k where only the
first rows of each are used."""

from __future__ import annotations

from collections.abc import Sequence

NO_VMAP = (
    "packed sequences are a batch: put those of vmap's dimension one behind the other, with their"
    " offsets"
)
PARTS_OF_USED = 3  # packed sequences of each that uses some of its rows
NONE_OF_Q = "cu_seqlens_q: expected offsets of sequences in q, found None beside others"


def refusal_of_offsets(
    name: str, dtype: str, shape: Sequence[int], of_q: Sequence[int], hint: str
) -> str | None:
    """Why an array of this type and shape is no offsets. of_q: the shape of cu_seqlens_q; hint:
    how an array is cast in its framework."""
    if dtype != "int32" or len(shape) != 1:
        return (
            f"{name}: expected int32 of one dimension, found {dtype} of the shape {tuple(shape)};"
            f" {hint}"
        )
    if shape[0] < 2:
        return (
            f"{name}: expected offsets of at least 1 sequence, one more than these, found"
            f" {shape[0]}"
        )
    if shape[0] != of_q[0]:
        return f"{name}: expected as many offsets as of q, {of_q[0]}, found {shape[0]}"
    return None


def refusal_of_numbers(
    name: str, numbers: Sequence[int], rows: int, bound: int | None = None
) -> str | None:
    """Why these offsets make no sense; the device would cut them. name: q or k; rows: of its
    tensor; bound: of all lengths, max_seqlen."""
    sizes = [end - begin for begin, end in zip(numbers, numbers[1:])]
    if numbers[0] < 0 or numbers[-1] > rows or any(size < 0 for size in sizes):
        return (
            f"cu_seqlens_{name}: expected numbers that ascend from 0 to {rows} at most, found"
            f" {numbers[:8]}{' …' * (len(numbers) > 8)}"
        )
    if bound is not None and max(sizes, default=0) > bound:
        return (
            f"max_seqlen_{name}: expected a bound of all lengths, the longest is {max(sizes)},"
            f" found {bound}"
        )
    return None


def refusal_of_used(
    name: str, dtype: str, shape: Sequence[int], sequences: int, hint: str
) -> str | None:
    """Why an array of this type and shape does not say how many rows each sequence uses. name:
    seqused_q or seqused_k; hint: how an array is cast in its framework."""
    if dtype == "int32" and tuple(shape) == (sequences,):
        return None
    return (
        f"{name}: expected int32 of the shape {(sequences,)}, a number for each sequence, found"
        f" {dtype} of the shape {tuple(shape)}; {hint}"
    )


def refusal_of_many(sequences: int, most: int) -> str:
    """That so many are too many for one launch."""
    return (
        f"seqused: expected at most {most} sequences beside it, found {sequences}; call attention"
        " for some of them at a time"
    )


def refusal_of_used_numbers(name: str, numbers: Sequence[int], rows: Sequence[int]) -> str | None:
    """Why these numbers make no sense; the device would cut them. name: q or k; rows: of each
    sequence."""
    for index, (number, most) in enumerate(zip(numbers, rows)):
        if not 0 <= number <= most:
            return (
                f"seqused_{name}: expected from 0 to {most} rows of sequence {index}, found"
                f" {number}"
            )
    return None
