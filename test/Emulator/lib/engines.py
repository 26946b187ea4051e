"""What runs beside threads and takes effect at a time of its own: copies, and the tensor core."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from random import Random

import numpy as np
from lanes import LANE, LANES, constant, f64, u16, u32, widened
from memory import SHARED, Shared
from ptx_text import Instruction, Wrong, operands_of

ROWS, K = 16, 16  # of a warp in a product of 64 rows; of a step
SWIZZLES = {1: 128, 2: 64, 3: 32}  # bytes of a panel's row by the mode of a matrix descriptor
NONE = constant(-1, u32)


class Copy:
    """Reads at one time and writes at a later one; whoever waits for `read` or `write` may go on
    behind that stage."""

    READ, WRITTEN = 1, 2
    slow = 0.35  # so many reads and writes take effect only when nothing else happens

    def __init__(self, read: Callable[[], np.ndarray], write: Callable[[np.ndarray], None]):
        self.stage, self.read, self.write = 0, read, write

    def advance(self) -> bool:
        """Whether something is left to do."""
        if self.stage == 0:
            self.data = self.read()
        else:
            self.write(self.data)
        self.stage += 1
        return self.stage < Copy.WRITTEN


class Copies:
    """A lane's, in groups."""

    def __init__(self) -> None:
        self.open: list[Copy] = []
        self.groups: list[list[Copy]] = []

    def commit(self) -> None:
        self.groups.append(self.open)
        self.open = []

    def unfinished(self, but: int, stage: int) -> list[Copy]:
        groups = self.groups[: len(self.groups) - but]
        return [copy for group in groups for copy in group if copy.stage < stage]


@cache
def places(
    start: int, first: int, count: int, transposed: bool, width: int, leading: int, stride: int
) -> tuple[np.ndarray, int, int]:
    """[count, 16]: where elements lie behind a multiple of 1024 bytes, in halfwords: rows from
    `first` on, 16 along the sum. Transposed, a row of memory has as many of `count` as fit into
    `width` bytes, and panels of them are `leading` bytes apart; eights of rows are `stride`
    apart. Then the least and the largest of these places."""
    panel = width // 2
    outer, inner = (first + np.arange(count))[:, None], np.arange(K)[None, :]
    if transposed:
        byte = (
            outer // panel * leading + inner // 8 * stride + inner % 8 * width + outer % panel * 2
        )
    else:
        byte = outer // 8 * stride + outer % 8 * width + inner * 2
    byte = byte + start
    found = (byte ^ (byte >> 7 & width // 16 - 1) << 4) >> 1
    return found, int(found.min()), int(found.max())


def factor(
    shared: Shared, descriptor: int, first: int, count: int, transposed: bool, element: str
) -> np.ndarray:
    """[count, 16] of f64, as the tensor core sees shared memory."""
    if descriptor >> 62 not in SWIZZLES or descriptor >> 49 & 7:
        raise Wrong(f"expected a descriptor of a swizzle without an offset, found {descriptor:#x}")
    width = SWIZZLES[descriptor >> 62]
    start, leading, stride = ((descriptor >> shift & 0x3FFF) << 4 for shift in (0, 16, 32))
    at, least, most = places(start & 1023, first, count, transposed, width, leading, stride)
    base = (start & ~1023) - SHARED >> 1
    if base + least < 0 or base + most >= len(shared.seen) // 2:
        raise Wrong(f"reads a factor outside of shared memory, from {start:#x}")
    return widened(shared.seen.view(u16)[at + base], element).astype(f64)


class Product:
    """One step of 16 of a product, decoded: a warp's 16 rows of it."""

    def __init__(self, instruction: Instruction):
        found = re.fullmatch(
            r"wgmma\.mma_async\.sync\.aligned\.m64n(\d+)k16\.f32\.(bf16|f16)\.\2", instruction.name
        )
        operands = instruction.operands
        if not found or not operands[-1] in "01":
            raise Wrong(
                f"expected an instruction that this machine knows, got '{instruction.name}'"
            )
        self.columns, self.element, self.text = int(found[1]), found[2], instruction.text
        self.sums = tuple(operands_of(operands[0].strip("{}")))
        self.held = operands_of(operands[1].strip("{}")) if operands[1].startswith("{") else []
        flags = operands[4:]
        if (
            len(self.sums) != self.columns // 2
            or flags[:2] != ["1", "1"]
            or len(flags) != (3 if self.held else 4)
        ):
            raise Wrong(
                f"expected a product of no signs and {self.columns // 2} sums, got"
                f" '{instruction.text[:200]}'"
            )
        self.left, self.right, self.adds = operands[1], operands[2], operands[3]
        self.left_transposed, self.right_transposed = (
            not self.held and flags[2] == "1",
            flags[-1] == "1",
        )


def matrix_of(words: np.ndarray) -> np.ndarray:
    """[16, columns] of f32 from the words of sums: word 4i + 2h + e of lane 4g + t is row g + 8h,
    column 8i + 2t + e."""
    return words.view(np.float32).reshape(-1, 2, 2, 8, 4).transpose(1, 3, 0, 4, 2).reshape(ROWS, -1)


def words_of(matrix: np.ndarray) -> np.ndarray:
    return (
        np.ascontiguousarray(matrix.reshape(2, 8, -1, 4, 2).transpose(2, 0, 4, 1, 3))
        .view(u32)
        .reshape(-1, LANES)
    )


class Products:
    """Products of a warp, in their order. Registers of sums are no numbers from the first product
    until one waits for the last; factors in registers and in shared memory are read when a product
    happens to run."""

    slow = 0.1

    def __init__(
        self, registers: dict[str, np.ndarray], shared: Shared, first_row: int, random: Random
    ):
        self.registers, self.shared, self.first_row, self.random = (
            registers,
            shared,
            first_row,
            random,
        )
        self.queue: list[tuple[Product, int, int, bool]] = []
        self.sums: dict[tuple[str, ...], np.ndarray] = {}
        self.open: list[Product] = []
        # How many products have run when it is done.
        self.groups: list[tuple[int, list[Product]]] = []
        self.issued = self.run = 0

    def issue(self, product: Product) -> None:
        words = self.registers
        if product.sums not in self.sums:
            if any(set(product.sums) & set(others) for others in self.sums):
                raise Wrong("adds to some of the sums of a product that is not waited for")
            self.sums[product.sums] = matrix_of(
                np.concatenate([words.get(name, NONE) for name in product.sums])
            )
            words.update(dict.fromkeys(product.sums, NONE))
        left, right = (
            int(words[name][LANE[0]]) if name in words else 0
            for name in (product.left, product.right)
        )
        self.queue.append((product, left, right, bool(words[product.adds][0])))
        self.open.append(product)
        self.issued += 1

    def advance(self) -> bool:
        """Some products, of those that are issued."""
        for _ in range(self.random.randrange(len(self.queue)) + 1):
            self.run_one()
        return bool(self.queue)

    def run_one(self) -> None:
        product, left, right, adds = self.queue.pop(0)
        if product.held:
            halves = (
                np.concatenate([self.registers[name] for name in product.held])
                .view(u16)
                .reshape(2, 2, 8, 4, 2)
            )
            a = widened(
                np.ascontiguousarray(halves.transpose(1, 2, 0, 3, 4)).reshape(ROWS, K),
                product.element,
            ).astype(f64)
        else:
            a = factor(
                self.shared, left, self.first_row, ROWS, product.left_transposed, product.element
            )
        b = factor(
            self.shared, right, 0, product.columns, product.right_transposed, product.element
        )
        # Products of 16-bit numbers are exact in f64, and so nearly are their sums: rounded once a
        # step.
        result = a @ b.T
        self.sums[product.sums] = (result + self.sums[product.sums] if adds else result).astype(
            np.float32
        )
        self.run += 1

    def commit(self) -> None:
        self.groups.append((self.issued, self.open))
        self.open = []

    def is_done(self, but: int) -> bool:
        return len(self.groups) <= but or self.run >= self.groups[len(self.groups) - but - 1][0]

    def retire(self, but: int) -> None:
        """Sums that nothing adds to any more go into their registers."""
        done = len(self.groups) - but
        finished = {product.sums for _, group in self.groups[:done] for product in group}
        finished -= {product.sums for _, group in self.groups[done:] for product in group} | {
            product.sums for product in self.open
        }
        self.groups = self.groups[max(done, 0) :]
        for names in finished:
            self.registers.update(zip(names, words_of(self.sums.pop(names))))
