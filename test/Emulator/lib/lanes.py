"""What instructions compute, for the 32 lanes of a warp at once. A register is an array of unsigned
words, a predicate one of booleans; arrays are never written to, so that registers may share
them."""

from __future__ import annotations

import numpy as np

LANES = 32
LANE = np.arange(LANES)
u16, u32, u64 = np.uint16, np.uint32, np.uint64
i32, i64 = np.int32, np.int64
f16, f32, f64 = np.float16, np.float32, np.float64
SMALLEST = np.finfo(f32).tiny
HALF, ONE, MOST = u32(16), u32(1), u32(0x7FFF)
np.seterr(all="ignore")


def constant(value: int, dtype: type) -> np.ndarray:
    """In all lanes; of what does not fit the low bits."""
    unsigned = (
        np.array(value & (1 << 64) - 1, u64).astype(f"u{np.dtype(dtype).itemsize}")
        if dtype is not bool
        else bool(value & 1)
    )
    return np.full(LANES, unsigned).view(dtype)


def merge(lanes: np.ndarray, new: np.ndarray, old: np.ndarray | None) -> np.ndarray:
    """New in some lanes; a lane that never had a value has all bits set, which is no number."""
    return np.where(
        lanes,
        new,
        constant(-1, new.dtype.type if new.dtype != bool else bool) if old is None else old,
    )


def high_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The upper 64 bits of the products of u64 numbers, by halves."""
    low, half = u64(0xFFFFFFFF), u64(32)
    across = (a >> half) * (b & low) + ((a & low) * (b & low) >> half)
    other = (a & low) * (b >> half) + (across & low)
    return (a >> half) * (b >> half) + (across >> half) + (other >> half)


def high_signed_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The same of numbers with signs, as u64."""
    sign, zero = u64(63), u64(0)
    return high_product(a, b) - np.where(a >> sign, b, zero) - np.where(b >> sign, a, zero)


def fma(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """The product is exact; the sum is rounded to 53 bits and then to 24, which is twice only where
    the first rounding meets a tie."""
    return (a.astype(f64) * b + c).astype(f32)


def flushed(x: np.ndarray) -> np.ndarray:
    return np.where(np.abs(x) < SMALLEST, np.copysign(f32(0), x), x)


def ex2(x: np.ndarray) -> np.ndarray:
    """For what is too small for a full mantissa it is 1 anyhow; what becomes so small is 0."""
    power = np.exp2(x)
    return np.where(power < SMALLEST, f32(0), power)


def rcp(x: np.ndarray) -> np.ndarray:
    return flushed(f32(1) / flushed(x))


def lg2(x: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log2(flushed(x))


def divided(x: np.ndarray | np.float32, y: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return x / y


def bf16(x: np.ndarray) -> np.ndarray:
    """To nearest, ties to even; as words of 32 bits."""
    bits = x.view(u32)
    return np.where(x == x, bits + ((bits >> HALF & ONE) + MOST) >> HALF, MOST)


def bf16x2(high: np.ndarray, low: np.ndarray) -> np.ndarray:
    both = bf16(np.concatenate([high, low]))
    return both[:LANES] << HALF | both[LANES:]


def f16x2(high: np.ndarray, low: np.ndarray) -> np.ndarray:
    return high.astype(f16).view(u16).astype(u32) << u32(16) | low.astype(f16).view(u16)


def widened(halves: np.ndarray, element: str) -> np.ndarray:
    """Words of 16 bits as f32."""
    return (
        halves.view(f16).astype(f32)
        if element == "f16"
        else (halves.astype(u32) << u32(16)).view(f32)
    )


def quotient(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Towards zero; by zero, of whom a lane that is not active may be, anything."""
    divisor = np.where(b == 0, b.dtype.type(1), b)
    floor = a // divisor
    return floor + ((a - floor * divisor != 0) & ((a < 0) != (divisor < 0))).astype(b.dtype)


def remainder(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a - quotient(a, b) * b


def bits_set(x: np.ndarray) -> np.ndarray:
    return sum((x >> u32(i) & u32(1) for i in range(32)), np.zeros_like(x))
