"""The fixed arithmetic of the CPU lane, on numpy arrays (dialects/dash/docs/cpu-lane.md).

float32 arrays are rounded to nearest even after each operation, and numpy fuses none; sums are
loops over the inner index, so each element is added term after term.
"""

from __future__ import annotations

import numpy as np

F32 = np.float32
SMALLEST_NORMAL = F32(2.0**-126)


def round_bf16(x: np.ndarray) -> np.ndarray:
    """float32 numbers to the nearest bf16, ties to even, as float32. No NaN."""
    bits = np.ascontiguousarray(x, F32).view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    return rounded.astype(np.uint32).view(F32)


def round_f16(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float16).astype(F32)


ROUND = {"bf16": round_bf16, "f16": round_f16}


def decode(array: np.ndarray) -> np.ndarray:
    """What a file holds, as float32: bf16 is stored as uint16, f16 and f32 as themselves."""
    if array.dtype == np.uint16:
        return (array.astype(np.uint32) << 16).view(F32)
    return array.astype(F32)


def encode(x: np.ndarray, half: str) -> np.ndarray:
    """Numbers that are bf16 or f16 already, as a file holds them."""
    if half == "bf16":
        return (np.ascontiguousarray(x, F32).view(np.uint32) >> 16).astype(np.uint16)
    return x.astype(np.float16)


def product(a: np.ndarray, b: np.ndarray, start: np.ndarray | None = None) -> np.ndarray:
    """start + a b, the terms of each element added one after the other; start is +0 if absent."""
    total = np.zeros((a.shape[0], b.shape[1]), F32) if start is None else start.copy()
    for k in range(a.shape[1]):
        total += a[:, k, None] * b[None, k, :]
    return total


def row_sums(a: np.ndarray) -> np.ndarray:
    total = np.zeros(a.shape[:-1], F32)
    for k in range(a.shape[-1]):
        total += a[..., k]
    return total


def flush(x: np.ndarray) -> np.ndarray:
    """Subnormal numbers to zeros of their sign."""
    return np.where(np.abs(x) < SMALLEST_NORMAL, np.copysign(F32(0), x), x)


def chain_sum(contributions: list[np.ndarray]) -> np.ndarray:
    """The first as it is, then one after the other."""
    total = contributions[0]
    for contribution in contributions[1:]:
        total = flush(flush(total) + flush(contribution))
    return total


def exponential(scaled: np.ndarray, lse: np.ndarray) -> np.ndarray:
    return np.exp(scaled.astype(np.float64) - lse.astype(np.float64)).astype(F32)


def tanh_of_scores(scaled: np.ndarray, cap: np.float32) -> np.ndarray:
    """tanh(scaled / cap): 1 - 2 / (1 + exp(2 scaled / cap)) in float64, rounded once."""
    with np.errstate(over="ignore"):
        power = np.exp(2 * scaled.astype(np.float64) / np.float64(cap))
    return (1 - 2 / (1 + power)).astype(F32)


def pairwise_sum(a: np.ndarray) -> np.ndarray:
    """The sum over the last axis, of 2^n numbers: in pairs of neighbours, those in pairs, and so
    on."""
    while a.shape[-1] > 1:
        a = a[..., 0::2] + a[..., 1::2]
    return a[..., 0]


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
