"""Runs an entry of one warp, lane by lane side by side: each value is an array of 32 numbers.

Reads the generic form of the ops that entries are made of before --dash-convert-to-llvm. Branches
are masks, loops go the same way in all lanes, memory is what `Memory` has; an address outside of it
is an error.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

LANES = 32
Value = np.ndarray

OP = re.compile(r'(?:(%[\w#]+)(?::\d+)? = )?"([\w.]+)"\(([^)]*)\)(?:\s*<\{(.*?)\}>)?')


class LanesError(Exception):
    """Something that a kernel may not do, or that this reader does not know."""


@dataclass
class Memory:
    """Named blocks of bytes, each at an address of its own, far from the others."""

    blocks: dict[str, bytearray] = field(default_factory=dict)

    def address(self, name: str) -> int:
        return (1 + list(self.blocks).index(name)) << 40

    def place(self, address: int, size: int) -> tuple[bytearray, int]:
        index, offset = (address >> 40) - 1, address & ((1 << 40) - 1)
        blocks = list(self.blocks.items())
        if not 0 <= index < len(blocks) or offset % size or offset + size > len(blocks[index][1]):
            name = blocks[index][0] if 0 <= index < len(blocks) else "no block"
            raise LanesError(f"{size} bytes at {offset} of {name}")
        return blocks[index][1], offset

    def load(self, address: int) -> int:
        block, offset = self.place(address, 4)
        return int.from_bytes(block[offset : offset + 4], "little", signed=True)

    def store(self, address: int, words: list[int]) -> None:
        block, offset = self.place(address, 4 * len(words))
        for i, word in enumerate(words):
            block[offset + 4 * i : offset + 4 * i + 4] = (int(word) & 0xFFFFFFFF).to_bytes(
                4, "little"
            )


def _wrap(value: Value, type_: str) -> Value:
    if type_ == "i1":
        return value & 1
    bits = 32 if type_ == "i32" else 64
    return (
        ((value + (1 << (bits - 1))) & ((1 << bits) - 1)) - (1 << (bits - 1))
        if bits == 32
        else value.astype(np.int64)
    )


def _divide(a: Value, b: Value) -> Value:
    """Rounded to zero, as arith.divsi does; a divisor of 0 in a lane whose result is not taken
    gives 0."""
    quotient = np.abs(a) // np.maximum(np.abs(b), 1)
    return np.where((a < 0) != (b < 0), -quotient, quotient)


ARITH = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b,
    "arith.andi": lambda a, b: a & b,
    "arith.ori": lambda a, b: a | b,
    "arith.xori": lambda a, b: a ^ b,
    "arith.shli": lambda a, b: a << b,
    "arith.minsi": np.minimum,
    "arith.maxsi": np.maximum,
    "arith.divsi": _divide,
    "arith.remsi": lambda a, b: a - _divide(a, b) * b,
    # For numbers that are not negative.
    "arith.divui": _divide,
    "arith.remui": lambda a, b: a - _divide(a, b) * b,
    "arith.shrui": lambda a, b: a >> b,
    "arith.shrsi": lambda a, b: a >> b,
    "arith.floordivsi": lambda a, b: a // np.maximum(b, 1),
    "arith.ceildivsi": lambda a, b: -(-a // np.maximum(b, 1)),
}
# arith.cmpi, signed.
COMPARE = [np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal]


class Warp:
    """One launch of an entry with a grid of one block of one warp."""

    def __init__(self, memory: Memory) -> None:
        self.memory, self.values, self.stored = memory, {}, 0

    def run(self, ir: str, entry: str, arguments: dict[str, int]) -> None:
        """arguments: by the names of dash.parameter; regions and tensors are addresses."""
        lines = [line.strip() for line in ir.splitlines()]
        start = next(
            i
            for i, line in enumerate(lines)
            if line.startswith('"llvm.func"') and f'sym_name = "{entry}"' in line
        )
        names = re.findall(r'dash\.parameter = "([^"]+)"', lines[start])
        header = lines[start + 1]
        formals = re.findall(r"(%\w+): ", header)
        if len(formals) != len(names):
            raise LanesError(f"{len(formals)} arguments of {entry}, {len(names)} names")
        for formal, name in zip(formals, names):
            self.values[formal] = np.full(LANES, arguments[name], dtype=np.int64)
        self._block(lines, start + 2, np.ones(LANES, dtype=bool))

    def _block(self, lines: list[str], at: int, mask: Value) -> tuple[int, list[Value]]:
        """Runs up to the end of a region; the line of its `}` and what it yields."""
        yielded: list[Value] = []
        while not lines[at].startswith("}"):
            found = OP.match(lines[at])
            if not found:
                raise LanesError(f"cannot read '{lines[at]}'")
            result, op, operands, properties = found.groups()
            values = [self._value(name) for name in filter(None, operands.split(", "))]
            if op == "scf.yield":
                yielded = values
            elif op == "scf.for":
                at = self._loop(lines, at, result, values, mask)
                continue
            elif op == "scf.if":
                at = self._branch(lines, at, result, values[0] != 0, mask)
                continue
            elif op == "llvm.return":
                return at, []
            else:
                self._op(lines[at], op, result, values, properties or "", mask)
            at += 1
        return at, yielded

    def _value(self, name: str) -> Value:
        return self.values[name]

    def _set(self, result: str, values: list[Value]) -> None:
        if result:
            self.values[result] = values[0] if values else None
            for i, value in enumerate(values):
                self.values[f"{result}#{i}"] = value

    def _loop(
        self, lines: list[str], at: int, result: str, values: list[Value], mask: Value
    ) -> int:
        begin, end, step, *carried = values
        if any(len(set(bound.tolist())) > 1 for bound in (begin, end, step)):
            raise LanesError(f"lanes loop differently: {lines[at]}")
        formals = re.findall(r"(%\w+): ", lines[at + 1])
        close = at
        for number in range(int(begin[0]), int(end[0]), int(step[0])):
            for formal, value in zip(formals, [np.full(LANES, number, dtype=np.int64), *carried]):
                self.values[formal] = value
            close, carried = self._block(lines, at + 2, mask)
        if close == at:
            close = self._skip(lines, at + 2)
        self._set(result, carried)
        return close + 1

    def _skip(self, lines: list[str], at: int) -> int:
        depth = 0
        while depth or not lines[at].startswith("}"):
            depth += lines[at].endswith("({") - (
                lines[at].startswith("})") and not lines[at].endswith("{")
            )
            at += 1
        return at

    def _branch(self, lines: list[str], at: int, result: str, condition: Value, mask: Value) -> int:
        at, then = self._block(lines, at + 1, mask & condition)
        other: list[Value] = []
        if lines[at].startswith("}, {"):
            at, other = self._block(lines, at + 1, mask & ~condition)
        self._set(result, [np.where(condition, a, b) for a, b in zip(then, other)])
        return at + 1

    def _op(
        self, line: str, op: str, result: str, values: list[Value], properties: str, mask: Value
    ) -> None:
        type_ = line.rsplit("-> ", 1)[-1].strip()
        if op in ARITH:
            made = _wrap(ARITH[op](*values), type_)
        elif op == "arith.constant":
            text = re.search(r"value = (-?\w+)", properties)[1]
            made = np.full(
                LANES,
                {"true": 1, "false": 0}[text] if text in ("true", "false") else int(text),
                dtype=np.int64,
            )
        elif op == "arith.cmpi":
            made = COMPARE[int(re.search(r"predicate = (\d+)", properties)[1])](*values).astype(
                np.int64
            )
        elif op == "arith.select":
            made = np.where(values[0] != 0, values[1], values[2])
        elif op in ("arith.extsi", "arith.trunci", "arith.index_cast"):
            made = _wrap(values[0], type_)
        elif op == "llvm.call_intrinsic" and "sreg.tid.x" in properties:
            made = np.arange(LANES, dtype=np.int64)
        elif op == "nvvm.shfl.sync":
            made = values[1][np.arange(LANES) ^ values[2]]
        elif op == "llvm.getelementptr":
            made = values[0] + (
                values[1]
                if len(values) > 1
                else int(re.search(r"array<i32: (-?\d+)>", properties)[1])
            )
        elif op in ("llvm.load", "llvm.store", "llvm.mlir.poison", "llvm.insertelement"):
            made = self._memory(op, line, values, mask)
        else:
            raise LanesError(f"no lane does '{line}'")
        if made is not None:
            self._set(result, [made])

    def _memory(self, op: str, line: str, values: list[Value], mask: Value) -> Value | None:
        if op == "llvm.load":
            return np.array(
                [self.memory.load(int(a)) if on else 0 for a, on in zip(values[0], mask)],
                dtype=np.int64,
            )
        if op == "llvm.mlir.poison":
            return np.zeros((4, LANES), dtype=np.int64)
        if op == "llvm.insertelement":
            vector = values[0].copy()
            vector[int(values[2][0])] = values[1]
            return vector
        for lane in np.flatnonzero(mask):
            words = values[0][:, lane] if values[0].ndim == 2 else values[0][lane : lane + 1]
            self.memory.store(int(values[1][lane]), words.tolist())
            self.stored += len(words)
        return None
