# RUN: %python %s --dash-opt dash-opt --dash-run dash-run --tmp %t
# REQUIRES: python
"""Level `row`: a row of the forward has the same bits in every problem in which it sees the same
keys from the same place. Each check compares parts of two runs bit for bit; controls change what
the level does not promise, and must differ."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))

from programs import Tools  # noqa: E402  (finds the models of schedules)

import numpy as np  # noqa: E402
from arithmetic import encode, round_bf16  # noqa: E402
from dash_opt import Tally  # noqa: E402
from forward import Arrays, Forward, execute  # noqa: E402
from problem import Blocks, Mask, Problem, Sequence, Union  # noqa: E402

CAUSAL = Mask(causal=True)
ROWS, HEADS, KV_HEADS, HEAD_DIM = 150, 4, 2, 64
NAN = np.uint16(0x7FC0)  # of bf16
UNCUT = Forward(
    Problem((Sequence(ROWS, ROWS),), 32, 48, CAUSAL, HEADS, KV_HEADS), scale=0.3, has_sink=True
)
CUT = replace(UNCUT, cut=96)


def random_inputs(rows: int, seed: int) -> Arrays:
    """One sequence, as files hold it."""
    random = np.random.default_rng(seed)
    shapes = {"q": HEADS, "k": KV_HEADS, "v": KV_HEADS}
    found = {
        name: encode(round_bf16(random.standard_normal((1, heads, rows, HEAD_DIM))), "bf16")
        for name, heads in shapes.items()
    }
    return found | {"sink": np.array([0.5, -1, 2, -np.inf], np.float32)}


INPUTS = random_inputs(ROWS, 1)
SEQUENCES = [INPUTS, *(random_inputs(ROWS, seed) for seed in range(2, 8))]


class Rows:
    """Runs programs, each in a folder of its own."""

    def __init__(self, tools: Tools, case: Forward):
        self.tools, self.case, self.number = tools, case, 0
        self.whole = self.of(case, INPUTS)

    def of(self, case: Forward, inputs: Arrays) -> Arrays:
        self.number += 1
        outcome = execute(self.tools, case, f"run-{self.case.cut}-{self.number}", inputs)
        return {name: outcome.files[name] for name in ("o", "lse")}

    def on(self, problem: Problem, **changes) -> Forward:
        return replace(self.case, problem=problem, **changes)

    def with_rows(self, q: int, kv: int, **changes) -> Forward:
        return self.on(replace(self.case.problem, sequences=(Sequence(q, kv),)), **changes)


def part(arrays: Arrays, rows: slice, batch: int = 0) -> list[bytes]:
    return [arrays[name][batch, :, rows].tobytes() for name in ("o", "lse")]


def rows_of(inputs: Arrays, q: slice, kv: slice) -> Arrays:
    return {
        name: array if name == "sink" else array[:, :, q if name == "q" else kv]
        for name, array in inputs.items()
    }


def joined(sequences: list[Arrays], axis: int) -> Arrays:
    return {
        name: np.concatenate([one[name] for one in sequences], axis) for name in ("q", "k", "v")
    } | {"sink": INPUTS["sink"]}


ALL = slice(0, ROWS)


def batches(rows: Rows) -> list[str]:
    """Alone, and as one of 2 and of 7, in any place."""
    found = []
    for count, place in ((2, 1), (7, 0), (7, 4)):
        order = SEQUENCES[1 : place + 1] + [INPUTS] + SEQUENCES[place + 1 : count]
        problem = replace(rows.case.problem, sequences=(Sequence(ROWS, ROWS),) * count)
        ran = rows.of(rows.on(problem), joined(order, axis=0))
        if part(ran, ALL, place) != part(rows.whole, ALL):
            found.append(f"sequence {place} of a batch of {count} has other bits than alone")
    return found


def lists(rows: Rows) -> list[str]:
    """Packed behind 37 rows and before 70, which are NaN."""
    before, behind = (rows_of(random_inputs(ROWS, 9), slice(0, n), slice(0, n)) for n in (37, 70))
    for neighbour in (before, behind):
        for name in ("q", "k", "v"):
            neighbour[name][...] = NAN
    lengths = (Sequence(37, 37), Sequence(ROWS, ROWS), Sequence(70, 70))
    ran = rows.of(
        rows.on(replace(rows.case.problem, sequences=lengths), is_list=True),
        joined([before, INPUTS, behind], axis=2),
    )
    same = part(ran, slice(37, 37 + ROWS)) == part(rows.whole, ALL)
    return [] if same else ["a sequence of a list has other bits than alone"]


def prefixes(rows: Rows) -> list[str]:
    """A shorter sequence is the beginning of a longer one."""
    found = []
    for length in (1, 48, 100):
        some = slice(0, length)
        ran = rows.of(rows.with_rows(length, length), rows_of(INPUTS, some, some))
        if part(ran, some) != part(rows.whole, some):
            found.append(f"the first {length} rows by themselves have other bits")
    return found


def chunks(rows: Rows) -> list[str]:
    """Rows of q by themselves, beside all keys up to the last: a prefill in chunks, a token."""
    found = []
    for begin, end in ((0, 64), (64, 100), (100, 150), (97, 98), (149, 150)):
        q, kv = slice(begin, end), slice(0, end)
        ran = rows.of(rows.with_rows(end - begin, end), rows_of(INPUTS, q, kv))
        if part(ran, slice(0, end - begin)) != part(rows.whole, q):
            found.append(f"rows {begin} to {end - 1} by themselves have other bits")
    return found


def kernels(rows: Rows) -> list[str]:
    """Other q tiles, kinds, forms, levels and numbers of workers."""
    found = []
    for tile_q, kind, form, level, workers in (
        (16, "ascending", "formulas", "row", 1),
        (48, "longest-first", "table", "row", 7),
        (128, "longest-first", "formulas", "run", 40),
        (256, "ascending", "table", "machine", 132),
    ):
        case = rows.on(
            replace(rows.case.problem, tile_q=tile_q),
            kind=kind,
            form=form,
            level=level,
            workers=workers,
        )
        if part(rows.of(case, INPUTS), ALL) != part(rows.whole, ALL):
            found.append(f"other bits in: {case.title()}")
    return found


def masks(rows: Rows) -> list[str]:
    """Masks that show a row the same keys."""
    everything = Blocks(96, 96, ("11", "11"))
    found = []
    for mask, some in (
        (Mask(window=(ROWS, 0)), ALL),
        (Mask(window=(70, 0)), slice(0, 71)),
        (Mask(causal=True, union=Union(80, (-1, -1))), ALL),
        (Mask(causal=True, union=Union(30, (40, -1))), slice(0, 41)),
        (Mask(causal=True, blocks=everything), ALL),
        (Mask(), slice(ROWS - 1, ROWS)),
    ):
        case = rows.on(replace(rows.case.problem, mask=mask))
        if part(rows.of(case, INPUTS), some) != part(rows.whole, some):
            found.append(f"other bits under another mask: {case.title()}")
    return found


def heads(rows: Rows) -> list[str]:
    """A query head by itself, with the kv head of its group."""
    found = []
    for head in range(HEADS):
        group = head * KV_HEADS // HEADS
        one = {"q": INPUTS["q"][:, head : head + 1], "sink": INPUTS["sink"][head : head + 1]}
        one |= {name: INPUTS[name][:, group : group + 1] for name in ("k", "v")}
        ran = rows.of(rows.on(replace(rows.case.problem, heads=1, kv_heads=1)), one)
        if any(ran[name][0, 0].tobytes() != rows.whole[name][0, head].tobytes() for name in ran):
            found.append(f"head {head} has other bits by itself")
    return found


def hidden(rows: Rows) -> list[str]:
    """NaN in keys that the mask hides, in walked tiles too; and in values of tiles that no row of
    an item walks."""
    inputs = {name: array.copy() for name, array in INPUTS.items()}
    inputs["k"][:, :, 100:] = inputs["v"][:, :, 144:] = NAN
    ran = rows.of(rows.case, inputs)
    found = []
    if part(ran, slice(0, 96)) != part(rows.whole, slice(0, 96)):
        found.append("NaN that no row sees leaves a trace in rows 0 to 95")
    if not (ran["o"][0, :, 100:] & 0x7FFF > 0x7F80).all():
        found.append("expected NaN where rows see NaN")
    return found


def zeros(rows: Rows) -> list[str]:
    """A sum of -0, which 0 times a value of a tile that the row does not see would make +0."""
    inputs = {name: array.copy() for name, array in INPUTS.items()}
    inputs["sink"][:] = -np.inf
    inputs["q"][...], inputs["k"][...], inputs["v"][...] = 0x3F80, 0, 0x3F80  # 1, 0 and 1
    inputs["v"][:, :, :48] = 0x8001  # the largest number below 0
    inputs["k"][:, :, 48:], inputs["v"][:, :, 48:96] = 0x4180, 0x8000  # 16, -0
    case, some = rows.on(replace(rows.case.problem, tile_q=128), scale=0.2), slice(48, 96)
    whole = rows.of(case, inputs)
    alone = rows.of(rows.with_rows(96, 96, scale=0.2), rows_of(inputs, slice(0, 96), slice(0, 96)))
    found = [] if part(whole, some) == part(alone, some) else ["zeros have another sign alone"]
    if (alone["o"][0, :, some] & 0x7FFF).any():
        found.append("expected an output of zeros")
    return found


def controls(rows: Rows) -> list[str]:
    """What is part of a row's bits: the kv tile, the slack, where a sequence begins, and whether
    keys are cut and where."""
    found = []
    behind = rows_of(INPUTS, slice(1, ROWS), slice(1, ROWS))
    for what, case, inputs, mine, some in (
        ("kv tile", rows.on(replace(rows.case.problem, tile_kv=96)), INPUTS, ALL, ALL),
        ("slack", rows.on(rows.case.problem, slack=0), INPUTS, ALL, ALL),
        ("beginning", rows.with_rows(149, 149), behind, slice(0, 149), slice(1, ROWS)),
        ("piece", rows.on(rows.case.problem, cut=48), INPUTS, ALL, ALL),
        ("cut", CUT if rows.case == UNCUT else UNCUT, INPUTS, ALL, ALL),
    ):
        if part(rows.of(case, inputs), mine) == part(rows.whole, some):
            found.append(f"expected other bits with another {what}")
    return found


def one_piece(rows: Rows) -> list[str]:
    """A row that sees keys of one piece has the bits of the uncut program, if there is no sink."""
    plain = rows.on(rows.case.problem, has_sink=False)
    inputs = {name: array for name, array in INPUTS.items() if name != "sink"}
    pieces, whole = (rows.of(replace(plain, cut=cut), inputs) for cut in (96, None))
    some = slice(0, 96)
    return [] if part(pieces, some) == part(whole, some) else ["the first piece has other bits"]


def main() -> int:
    tools, tally = Tools.from_arguments(__doc__), Tally()
    checks: tuple[Callable[[Rows], list[str]], ...] = (
        batches,
        lists,
        prefixes,
        chunks,
        kernels,
        masks,
        heads,
        hidden,
        zeros,
        controls,
        one_piece,
    )
    for case in (UNCUT, CUT):
        rows = Rows(tools, case)
        for check in checks:
            tally.check([f"cut {case.cut}: {finding}" for finding in check(rows)])
    return tally.exit_code()


if __name__ == "__main__":
    sys.exit(main())
