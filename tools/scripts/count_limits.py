"""What a step of a main kernel needs of a multiprocessor, counted in the steady-state loops of its
PTX.

Throughput of a multiprocessor of sm_90, each from NVIDIA's CUDA C++ programming guide and H100
whitepaper:
  tensor core        4096 operations a cycle of 16-bit factors: N/2 cycles for an m64nNk16
  shared memory      128 bytes a cycle, and a warp's instruction at least one
  exponentials       16 results a cycle
A wgmma reads its right factor, 16*N elements, from shared memory, and its left one, 64*16, where no
registers hold it.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import house

sys.path.insert(0, str(house.ROOT / "test/Main"))
from ptx_text import Instruction, parse  # noqa: E402

FLOPS, BYTES, RESULTS, LANES, WARPS = 4096, 128, 16, 32, 4  # a cycle; of a warp; of a warpgroup
FACTOR = 2  # bytes of an element of a product
PRODUCT = re.compile(r"wgmma\.mma_async\.sync\.aligned\.m64n(\d+)k16\..*")
MATRIX = re.compile(r"(?:ldmatrix|stmatrix)\..*\.x(\d)\..*")
ACCESS = re.compile(r"(ld|st)\.shared\.(?:v(\d)\.)?[bfu](\d+)")
BARRIER = re.compile(r"mbarrier\.(?:try_wait|arrive)\..*")
EXPECTED = re.compile(r"mbarrier\.arrive\.expect_tx\..*")


@dataclass
class Need:
    """Cycles a task; fences a warp. shared: the parts by what they are for."""

    tensor: float
    shared: dict[str, float]
    exponentials: float
    fences: float

    @property
    def shared_cycles(self) -> float:
        return sum(self.shared.values())


class Flow:
    """The instructions of an entry and which follows which."""

    def __init__(self, text: str, entry: str) -> None:
        self.code, labels, _ = parse(text, entry)
        self.next: list[list[int]] = []
        for index, one in enumerate(self.code):
            ways = [labels[one.operands[0]]] if one.name == "bra" else []
            if one.name not in ("bra", "ret", "trap") or one.guard:
                ways.append(index + 1)
            self.next.append([way for way in ways if way < len(self.code)])

    def cycles(self, nodes: set[int]) -> Iterator[set[int]]:
        """Tarjan's strongly connected components that have an edge of their own."""
        index, low, stack, on_stack = {}, {}, [], set()
        for root in sorted(nodes):
            work = [(root, iter(()))] if root not in index else []
            while work:
                node, ways = work[-1]
                if node not in index:
                    index[node] = low[node] = len(index)
                    stack.append(node)
                    on_stack.add(node)
                    ways = iter([way for way in self.next[node] if way in nodes])
                    work[-1] = (node, ways)
                way = next(ways, None)
                if way is not None:
                    if way not in index:
                        work.append((way, iter(())))
                    elif way in on_stack:
                        low[node] = min(low[node], index[way])
                    continue
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    found = set(stack[stack.index(node) :])
                    del stack[stack.index(node) :]
                    on_stack -= found
                    if len(found) > 1 or node in self.next[node]:
                        yield found

    def loops(
        self, nodes: set[int] | None = None, depth: int = 1
    ) -> Iterator[tuple[int, set[int]]]:
        """All loops, with how deep they are nested."""
        everything = set(range(len(self.code))) if nodes is None else nodes
        for found in self.cycles(everything):
            yield depth, found
            yield from self.loops(found - self.entries(found), depth + 1)

    def entries(self, loop: set[int]) -> set[int]:
        return {
            way
            for node in range(len(self.code))
            if node not in loop
            for way in self.next[node]
            if way in loop
        }

    def always(self, loop: set[int]) -> list[Instruction]:
        """What each turn of a loop runs: without it no way leads from the loop's beginning back to
        it."""
        (header,) = self.entries(loop)

        def returns_without(left_out: int) -> bool:
            seen, unfinished = {left_out}, [header]
            while unfinished:
                for way in self.next[unfinished.pop()]:
                    if way == header:
                        return True
                    if way in loop and way not in seen:
                        seen.add(way)
                        unfinished.append(way)
            return False

        return [
            self.code[node] for node in sorted(loop) if node == header or not returns_without(node)
        ]


def count(text: str, entry: str, elements: int) -> Need:
    """elements: of a tile of scores, of which each has one exponential."""
    flow = Flow(text, entry)
    found = [(depth, loop, {flow.code[node].name for node in loop}) for depth, loop in flow.loops()]
    products = [loop for _, loop, names in found if any(map(PRODUCT.fullmatch, names))]
    consumers = [loop for loop in products if not any(other < loop for other in products)]
    total: Counter[str] = Counter()
    for loop in consumers:
        for one in flow.always(loop):
            count_instruction(one, total)
    tasks = total["exponentials"] * LANES * WARPS / elements
    if not tasks or tasks != int(tasks):
        sys.exit(
            f"error: expected loops of products with an exponential for each of {elements} scores,"
            f" found {tasks} of that"
        )
    # A role that loads what a step needs is in a loop within that of items; one that loads what an
    # item needs is not.
    constants = dict(re.findall(r"mov\.b32\s+(%r\d+), (\d+);", text))
    loads = [
        (depth, sorted(loop)) for depth, loop, names in found if any(map(EXPECTED.fullmatch, names))
    ]
    loaded = sum(
        int(constants[one.operands[-1]])
        for one in flow.always(set(max(loads)[1]))
        if EXPECTED.fullmatch(one.name)
    )
    # What is put is what is added: each byte of dQ is written and read once.
    shared = {
        "products": total["products"] / BYTES,
        "loads": loaded / BYTES * tasks,
        "dS": total["matrices"] / BYTES,
        "dQ": 2 * total["stores"] / BYTES,
        "rows and barriers": total["words"],
    }
    return Need(
        total["operations"] / FLOPS / tasks,
        {name: cycles / tasks for name, cycles in shared.items()},
        total["exponentials"] * LANES * WARPS / RESULTS / tasks,
        total["fences"] / len(consumers) / tasks,
    )


def count_instruction(one: Instruction, total: Counter[str]) -> None:
    """Adds what a warpgroup's instruction needs: operations, bytes, a warp's accesses, results of a
    thread, fences of a warp."""
    if product := PRODUCT.fullmatch(one.name):
        columns = int(product[1])
        total["operations"] += 2 * 64 * columns * 16
        total["products"] += 16 * columns * FACTOR
        if not one.operands[1].startswith("{"):
            total["products"] += 64 * 16 * FACTOR
    elif matrix := MATRIX.fullmatch(one.name):
        total["matrices"] += int(matrix[1]) * 8 * 8 * FACTOR * WARPS
    elif access := ACCESS.fullmatch(one.name):
        kind, vector, bits = access[1], int(access[2] or 1), int(access[3])
        if kind == "st":
            total["stores"] += vector * bits // 8 * LANES * WARPS
        else:
            total["words"] += WARPS  # rows are read by many lanes at once
    elif BARRIER.fullmatch(one.name):
        total["words"] += WARPS
    elif one.name.startswith("ex2."):
        total["exponentials"] += 1
    elif one.name.startswith("fence.proxy.async"):
        total["fences"] += 1
