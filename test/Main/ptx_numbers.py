"""Integers of PTX: what an instruction computes. Floats are only known to be some."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from ptx_text import Wrong

SIGNED = re.compile(r"\.s(8|16|32|64)\b")
Value = Callable[..., int]  # of an operand, in so many bits, signed or not


@cache
def bits_of(name: str) -> int:
    found = re.findall(r"\.[subfx]*b?(8|16|32|64)\b", name)
    return int(found[-1]) if found else 32


@cache
def kind_of(name: str) -> tuple[int, bool, bool]:
    """What a name says: bits, whether they have a sign, and whether they are floats."""
    return (
        1 if name.endswith(".pred") else bits_of(name),
        bool(SIGNED.search(name)),
        bool(re.search(r"\.b?f(16|32)", name)),
    )


def signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


COMPARE = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "lo": lambda a, b: a < b,
    "ls": lambda a, b: a <= b,
    "hi": lambda a, b: a > b,
    "hs": lambda a, b: a >= b,
}
ARITHMETIC = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "min": min,
    "max": max,
    "shl": lambda a, b: a << min(b, 64),
    "shr": lambda a, b: a >> min(b, 64),
    "div": lambda a, b: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1),
    "rem": lambda a, b: (abs(a) % abs(b)) * (-1 if a < 0 else 1),
}


def result_of(root: str, name: str, operands: list[str], value: Value) -> int:
    """What the first operand gets; `root` is the name's first word."""
    if root == "createpolicy":
        return 0  # only L2 reads it
    bits, is_signed, is_float = kind_of(name)
    if is_float and root not in ("mov", "selp"):
        return 0
    given = (
        [value(operand, bits, is_signed) for operand in operands[1:]]
        if root not in ("selp", "cvt")
        else []
    )
    if root in ("mov", "cvta", "shfl"):
        result = given[0]
    elif root == "setp":
        result = int(COMPARE[name.split(".")[1]](given[0], given[1]))
    elif root == "selp":
        result = value(operands[1 if value(operands[3], 1) else 2], bits)
    elif root == "cvt":
        source = name.rsplit(".", 1)[1]
        result = value(operands[1], bits_of("." + source), source.startswith("s"))
        bits = bits_of(name.rsplit(".", 1)[0])
    elif root in ("mul", "mad"):
        result = given[0] * given[1] >> (bits if ".hi" in name else 0)
        wide = 2 * bits if ".wide" in name else bits
        if root == "mad":
            result += value(operands[3], wide)
        bits = wide
    elif root == "bfe":
        result = given[0] >> given[1] & ((1 << given[2]) - 1)
    elif root in ("not", "neg"):
        result = ~given[0] if root == "not" else -given[0]
    elif root in ARITHMETIC:
        result = ARITHMETIC[root](given[0], given[1])
    else:
        raise Wrong(f"expected an instruction that this machine knows, got '{name}'")
    return result & ((1 << bits) - 1)
