# RUN: %python %s --dash-opt dash-opt --examples %dash_examples --tmp %t --runtime %mlir_lib/libmlir_c_runner_utils.so
# REQUIRES: python, mlir-opt, mlir-runner
"""Orders of lists of sequences, made on the device: the two entries that read lengths and evaluate
formulas.

`NAME_sequences` runs lane by lane (lib/lanes.py) on lengths that make sense and on such that do
not, beside a model. From the records `NAME_order` makes an order (by the machine of
order-entry.py), which

- is that of the report of the same list, where neighbours have different lengths, and so the host
  deals it as the device does;
- is proven as a whole, for any list: it goes back into dash-opt as a file, whose verifier knows
  nothing of where it comes from;
- gives a sequence the same visits and turns whatever stands beside it.

A forward has its records here, and its orders in `test/Emulator/forward-lists.py`.
"""

from __future__ import annotations

import argparse
import array
import random
import re
import sys
from importlib import import_module
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path += [str(TESTS / "Schedule" / "lib"), str(TESTS / "Device"), str(TESTS / "Entries" / "lib")]

import check_order  # noqa: E402
from dash_opt import DashOpt, Request, Tally  # noqa: E402
from lanes import Memory, Warp  # noqa: E402
from problem import Mask, Problem, Sequence, Union  # noqa: E402
from tilings import with_tiling, without_rows  # noqa: E402

one_thread = import_module("order-entry")

RECORD, HEADER = 12, 8
MASKS = [
    Mask(),
    Mask(causal=True),
    Mask(window=(100, 40)),
    Mask(window=(300, -1)),
    Mask(union=Union(200, (-1, 0))),
    Mask(causal=True, union=Union(4, (100, -1))),
]
KINDS = [
    ("ascending", "run"),
    ("descending", "batch"),
    ("shift", "batch"),
    ("shift", "machine"),
    ("shortest-first", "run"),
    ("symmetric-shift", "batch"),
    ("symmetric-shift", "machine"),
]
LENGTHS = [0, 1, 63, 64, 65, 128, 129, 300, 457, 700, 1000]
TILE_Q, TILE_KV = 64, 128
UNTOUCHED = -7


def ceil_div(a: int, b: int) -> int:
    return -(-a // b)


def records_of(
    cu_q: list[int], cu_kv: list[int], q_rows: int, kv_rows: int
) -> list[tuple[int, ...]]:
    """What the entry is documented to write, but for units: end, rows, first tile and offset; end,
    rows, first tile, first visit."""

    def ranges(numbers: list[int], rows: int) -> list[tuple[int, int]]:
        found, begin = [], 0
        for own, after in zip(numbers, numbers[1:]):
            begin = max(begin, min(max(own, 0), rows))
            end = max(begin, min(max(after, 0), rows))
            found.append((end, end - begin))
            begin = end
        return found

    records, q_tiles, kv_tiles, visits = [], 0, 0, 0
    for (q_end, q), (kv_end, kv) in zip(ranges(cu_q, q_rows), ranges(cu_kv, kv_rows)):
        records.append((q_end, q, q_tiles, kv - q, kv_end, kv, kv_tiles, visits))
        mine, theirs = ceil_div(q, TILE_Q), ceil_div(kv, TILE_KV)
        q_tiles, kv_tiles, visits = q_tiles + mine, kv_tiles + theirs, visits + mine * theirs
    return [*records, (0, 0, q_tiles, 0, 0, 0, kv_tiles, visits)]


class Entries:
    """Both entries of a program of a kind, a level and a mask."""

    function = "attention_bwd"

    def __init__(
        self,
        tool: DashOpt,
        kind: str,
        level: str,
        mask: Mask,
        workers: int,
        width: int,
        runtime: str,
    ) -> None:
        self.tool, self.kind, self.level, self.mask = tool, kind, level, mask
        self.workers, self.width, self.runtime = workers, width, runtime
        text = (
            tool.program(mask)
            .read_text(encoding="utf-8")
            .replace("scale(%scale)", "scale(%scale) sequences(<?>)")
        )
        program = tool.scratch / "open-list.mlir"
        program.write_text(with_tiling(text, TILE_Q, TILE_KV, 128), encoding="utf-8")
        request = Request(
            Problem((Sequence(300, 300), Sequence(40, 700)), TILE_Q, TILE_KV, mask),
            kind,
            workers,
            level,
            width,
        )
        passes = [
            str(program),
            *without_rows(request.options()),
            "--dash-check-kernels",
            "--dash-assign-roles",
            "--dash-outline-program",
            "--dash-lower-sequences",
            "--dash-lower-order",
        ]
        self.ir = one_thread.pipe([tool.tool, *passes])
        self.generic = one_thread.pipe(
            [tool.tool, *passes, "--mlir-print-op-generic", "--mlir-print-local-scope"]
        )
        self.order = one_thread.entry_for_one_thread(self.ir)

    def places(self, count: int, q_rows: int, kv_rows: int, kv_heads: int) -> tuple[int, int, int]:
        """(q tiles at most, first word of the lists, words), as the manifest has them."""
        q_tiles, kv_tiles = (
            ceil_div(rows + (tile - 1) * (count - 1), tile)
            for rows, tile in ((q_rows, TILE_Q), (kv_rows, TILE_KV))
        )
        first_list = ceil_div(HEADER + RECORD * (count + 1) + q_tiles, 8) * 8
        most = min(q_tiles * ceil_div(kv_rows, TILE_KV), ceil_div(q_rows, TILE_Q) * kv_tiles)
        return (
            q_tiles,
            first_list,
            first_list + ceil_div(1 + self.workers, 8) * 8 + 8 * kv_heads * kv_tiles + 4 * most,
        )

    def records(
        self, cu_q: list[int], cu_kv: list[int], q_rows: int, kv_rows: int, kv_heads: int
    ) -> array.array:
        """The buffer behind NAME_sequences."""
        count = len(cu_q) - 1
        _, _, words = self.places(count, q_rows, kv_rows, kv_heads)
        memory = Memory(
            {
                name: bytearray(array.array("i", numbers).tobytes())
                for name, numbers in (
                    ("order", [UNTOUCHED] * words),
                    ("cu_q", cu_q),
                    ("cu_kv", cu_kv),
                )
            }
        )
        Warp(memory).run(
            self.generic,
            f"{self.function}_sequences",
            {
                "cu_seqlens_q": memory.address("cu_q"),
                "cu_seqlens_kv": memory.address("cu_kv"),
                "heads": 2 * kv_heads,
                "kv_heads": kv_heads,
                "q_rows": q_rows,
                "kv_rows": kv_rows,
                "sequences": count,
                "workers": self.workers,
                "width": self.width,
                "workspace.order": memory.address("order"),
            },
        )
        found = array.array("i")
        found.frombytes(bytes(memory.blocks["order"]))
        return found

    def orders(self, launches: list[tuple[array.array, int, int, int, int]]) -> list[array.array]:
        """Buffers of launches: records, heads, kv heads, sequences, q tiles."""
        functions = [LAUNCH, self.order]
        calls = []
        for number, (buffer, heads, kv_heads, count, q_tiles) in enumerate(launches):
            known = list(buffer[: HEADER + RECORD * (count + 1)])
            functions.append(
                f"llvm.mlir.global internal constant @given{number}(dense<{known}> :"
                f" tensor<{len(known)}xi32>) : !llvm.array<{len(known)} x i32>"
            )
            values = [
                len(buffer),
                len(known),
                heads,
                kv_heads,
                count,
                q_tiles,
                self.workers,
                self.width,
            ]
            names = [f"%v{number}_{i}" for i in range(len(values))]
            calls += [
                f"  {name} = arith.constant {value} : {'i64' if i < 2 else 'i32'}"
                for i, (name, value) in enumerate(zip(names, values))
            ]
            calls += [
                f"  %g{number} = llvm.mlir.addressof @given{number} : !llvm.ptr",
                (
                    f"  call @launch(%g{number}, {', '.join(names)}) : (!llvm.ptr, i64, i64, i32,"
                    " i32, i32, i32, i32, i32) -> ()"
                ),
            ]
        return one_thread.buffers(
            functions, calls, [len(buffer) for buffer, *_ in launches], self.runtime
        )


class Forward(Entries):
    """That of a forward which reads lengths. Its units are items: q tiles of query heads."""

    function = "attention_fwd"

    def __init__(self, tool: DashOpt, workers: int) -> None:
        self.workers = self.width = workers
        text = (tool.examples / "fwd-causal.mlir").read_text(encoding="utf-8")
        program = tool.scratch / "open-list-fwd.mlir"
        program.write_text(
            text.replace("scale(%scale)", "scale(%scale) sequences(<?>)"), encoding="utf-8"
        )
        passes = [
            f"--dash-choose-tiling=q-tile={TILE_Q} kv-tile={TILE_KV}",
            "--dash-tile",
            f"--dash-apply-schedule=kind=ascending workers={workers} assume=true",
            "--dash-verify-schedule",
            "--dash-check-kernels",
            "--dash-assign-roles",
            "--dash-outline-program",
            "--dash-lower-sequences",
            "--mlir-print-op-generic",
            "--mlir-print-local-scope",
        ]
        self.generic = one_thread.pipe([tool.tool, str(program), *passes])

    @staticmethod
    def units_of(records: list[tuple[int, ...]], kv_heads: int) -> list[int]:
        return [2 * kv_heads * record[2] for record in records]


# That of order-entry.py, with the parameters of a list, on a buffer that has records in it.
LAUNCH = one_thread.launch_of(
    "%given: !llvm.ptr, %words: i64, %known: i64, %heads: i32, %kv_heads: i32, %sequences: i32,"
    " %q_tiles: i32, %workers: i32, %width: i32",
    "%heads, %kv_heads, %sequences, %q_tiles, %workers, %width",
    ", ".join(["i32"] * 6),
    """  scf.for %i = %zero to %known step %one : i64 {
    %from = llvm.getelementptr %given[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i32
    %word = llvm.load %from : !llvm.ptr -> i32
    %at = llvm.getelementptr %buffer[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i32
    llvm.store %word, %at : i32, !llvm.ptr
  }
""",
)


def bounds(lengths: list[int], gap: int) -> list[int]:
    numbers = [gap]
    for length in lengths:
        numbers.append(numbers[-1] + length)
    return numbers


def check_records(entries: Entries, rng: random.Random) -> list[str]:
    """Lists that make sense, and numbers that do not."""
    failures = []
    for _ in range(6):
        count = rng.choice([1, 2, 31, 32, 33, 70])
        q_rows, kv_rows = rng.randrange(1, 5000), rng.randrange(1, 5000)
        lists = []
        for rows in (q_rows, kv_rows):
            numbers = sorted(rng.randrange(rows + 1) for _ in range(count + 1))
            if rng.random() < 0.5:
                numbers = [
                    rng.choice([number, -5, 2**31 - 1, -(2**31), rng.randrange(rows + 1)])
                    for number in numbers
                ]
            lists.append(numbers)
        words = entries.records(*lists, q_rows, kv_rows, kv_heads=2)
        found = [
            tuple(words[HEADER + RECORD * i : HEADER + RECORD * i + 8]) for i in range(count + 1)
        ]
        expected = records_of(*lists, q_rows, kv_rows)
        failures += [
            f"record {i} of {lists}, {q_rows}, {kv_rows}: expected {want}, found {have}"
            for i, (want, have) in enumerate(zip(expected, found))
            if want != have
        ][:2]
        units = [words[HEADER + RECORD * i + 8] for i in range(count + 1)]
        if isinstance(entries, Forward) and units != entries.units_of(expected, kv_heads=2):
            failures.append(f"{lists}: units {units} of a forward")
        if units != sorted(units) or any(
            word != UNTOUCHED for word in words[HEADER + RECORD * (count + 1) :]
        ):
            failures.append(
                f"{lists}: units do not ascend, or words behind the records are written: {units}"
            )
    return failures


def decode(words: array.array, first_list: int) -> list[list[check_order.BufferItem]]:
    """The lists of a buffer of a list, by the reader of buffers of batches: parts are moved to
    where those have them."""
    version, workers, items, lists_at, items_at, visits_at, _, count = words[:8]
    if (version, lists_at) != (1, first_list) or visits_at != items_at + 8 * items:
        raise check_order.MalformedError(
            f"header {list(words[:8])}, expected lists at {first_list}"
        )
    first_item = (9 + workers + 7) // 8 * 8
    moved = array.array("i", [1, workers, items, 8, first_item, first_item + 8 * items, 0, 0])
    moved.extend(words[lists_at : lists_at + workers + 1])
    moved.extend([0] * (first_item - len(moved)))
    moved.extend(words[items_at:])
    return check_order.decode(moved)


def owners_of(words: array.array, count: int, q_tiles: int) -> list[int]:
    first = HEADER + RECORD * (count + 1)
    return list(words[first : first + q_tiles])


def as_document(answer, lists: list[list[check_order.BufferItem]]) -> dict:  # noqa: ANN001
    """The report of the same problem, with the lists of a buffer: an order for kind=file."""
    document = answer.document
    schedule = document["schedules"][0]
    schedule["items"] = [
        {
            "worker": worker,
            "sequence": item.sequence,
            "kvHead": item.kv_head,
            "part": 0,
            "kv": item.kv,
            "visit": [[head, q] for head, q, _, _ in item.tasks],
        }
        for worker, items in enumerate(lists)
        for item in items
    ]
    chains: dict[tuple[int, int, int], dict[int, int]] = {}
    for item in (item for items in lists for item in items):
        for head, q, turn, _ in item.tasks:
            chains.setdefault((item.sequence, head, q), {})[turn] = item.kv
    for chain in schedule["chains"]:
        turns = chains.get((chain["sequence"], chain["head"], chain["q"]), {})
        chain["order"] = [[turns[turn], 0] for turn in sorted(turns)]
    return document


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runtime", required=True, help="MLIR's runtime library, for printing")
    arguments, rest = parser.parse_known_args()
    sys.argv[1:] = rest
    tool, tally = DashOpt.from_arguments(__doc__), Tally()
    tally.check(check_records(Forward(tool, workers=8), random.Random("forward")))
    for number, (kind, level) in enumerate(KINDS):
        for mask in MASKS:
            if not one_thread.has_formulas(kind, mask):
                continue
            rng = random.Random(f"{kind} {level} {mask}")
            width = rng.choice([2, 3, 8])
            workers = rng.randrange(width, 40)
            entries = Entries(
                tool,
                kind,
                level,
                mask,
                workers,
                width if level == "machine" else workers,
                arguments.runtime,
            )
            tally.check(check_records(entries, rng))
            asked = []
            for _ in range(4):
                lengths = [
                    (rng.choice(LENGTHS), rng.choice(LENGTHS)) for _ in range(rng.choice([1, 3, 7]))
                ]
                lengths += [lengths[0]] * rng.choice([0, 2])
                heads, kv_heads = rng.choice([(1, 1), (4, 2), (3, 3)])
                gap = rng.choice([0, 9])
                q, kv = (bounds([pair[side] for pair in lengths], gap) for side in (0, 1))
                q_rows, kv_rows = max(q[-1] + gap, 1), max(kv[-1] + gap, 1)
                q_tiles, first_list, _ = entries.places(len(lengths), q_rows, kv_rows, kv_heads)
                buffer = entries.records(q, kv, q_rows, kv_rows, kv_heads)
                asked.append((lengths, heads, kv_heads, q_tiles, first_list, buffer))
            made = entries.orders(
                [
                    (buffer, heads, kv_heads, len(lengths), q_tiles)
                    for lengths, heads, kv_heads, q_tiles, _, buffer in asked
                ]
            )
            for (lengths, heads, kv_heads, q_tiles, first_list, _), words in zip(asked, made):
                tally.check(
                    check_order_of(
                        tool, entries, lengths, heads, kv_heads, q_tiles, first_list, words
                    )
                )
    return tally.exit_code()


def check_order_of(
    tool: DashOpt,
    entries: Entries,
    lengths: list[tuple[int, int]],
    heads: int,
    kv_heads: int,
    q_tiles: int,
    first_list: int,
    words: array.array,
) -> list[str]:
    where = (
        f"{entries.kind}, {entries.level}, {entries.mask}, {lengths}, {heads} heads over"
        f" {kv_heads}, {entries.workers} workers"
    )
    owners = [index for index, (q, _) in enumerate(lengths) for _ in range(ceil_div(q, TILE_Q))]
    owners += [-1] * (q_tiles - len(owners))
    if owners_of(words, len(lengths), q_tiles) != owners:
        return [f"{where}: owners {owners_of(words, len(lengths), q_tiles)}, expected {owners}"]
    lists = decode(words, first_list)
    # A report has no empty sequences: they are left out, and must have no task.
    kept = [index for index, pair in enumerate(lengths) if min(pair) > 0]
    if any(item.tasks for items in lists for item in items if item.sequence not in kept):
        return [f"{where}: a sequence without a partner has tasks"]
    if not kept:
        return []
    new = {index: place for place, index in enumerate(kept)}
    lists = [
        [
            check_order.BufferItem(
                new[item.sequence],
                *(getattr(item, name) for name in ("kv_head", "kv", "part_turn", "tasks")),
            )
            for item in items
            if item.sequence in new
        ]
        for items in lists
    ]
    problem = Problem(
        tuple(Sequence(*lengths[index]) for index in kept),
        TILE_Q,
        TILE_KV,
        entries.mask,
        heads,
        kv_heads,
        1,
    )
    request = Request(problem, entries.kind, entries.workers, entries.level, entries.width)
    answer = tool.run(request)
    if answer.document is None:
        return [f"{where}: {answer.errors}"]
    ours = {(item.sequence, item.kv_head, item.kv): item.tasks for items in lists for item in items}
    theirs = {
        (item.sequence, item.kv_head, item.kv): item.tasks
        for items in check_order.expected(answer.schedule)
        for item in items
    }
    if ours != theirs:
        return answer.told([f"{where}: visits or turns are not those of the report"])
    is_plain = len(kept) == len(lengths) and all(a != b for a, b in zip(lengths, lengths[1:]))
    if is_plain and lists != check_order.expected(answer.schedule):
        return answer.told([f"{where}: lists are not those of the report"])
    proven = tool.run_order(request, as_document(answer, lists))
    return proven.told([f"{where}: not proven: {proven.errors}"]) if proven.document is None else []


if __name__ == "__main__":
    sys.exit(main())
