# RUN: %python %s --dash-opt dash-opt --examples %dash_examples --tmp %t
# REQUIRES: python
"""Reports of many problems hold what they claim, and keep their determinism level's promise."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))

from cost import Cost  # noqa: E402
from dash_opt import KINDS, DashOpt, Request, Tally, serves  # noqa: E402
from problem import Blocks, Mask, Problem, Sequence, Union  # noqa: E402
from report import Json, bits_of, cost_of  # noqa: E402

MASKS = [Mask(causal=False), Mask(causal=True)]
# Left and right; with causal or without, many leave rows or tiles without keys where q and kv
# differ.
WINDOWS = [
    (512, 0),
    (2048, 0),
    (512, 512),
    (333, 77),
    (0, 0),
    (0, 5),
    (-1, 100),
    (100, -1),
    (-1, 0),
    (-1, -1),
    (1, 2147483647),
]
TILES = [(16, 16), (64, 128), (64, 64), (128, 64), (16, 48), (80, 32)]
COSTS = [
    Cost(),
    Cost(2.1, 1.6, 0.3, 2, 5.5, 1.7, 7.0),
    Cost(1.0, 3.0, 0.25, 1, 0.5, 0.2),
    Cost(0.7, 0.1, 5.0, 3),
]

# (q, kv) in rows: one row, odd counts of tiles, partial tiles, q above and below kv.
LENGTHS = [
    [(1, 1)],
    [(1, 700)],
    [(700, 1)],
    [(1000, 1000)],
    [(1088, 1088)],
    [(500, 1300)],
    [(1300, 500)],
    [(129, 127)],
    [(1000, 1000), (3000, 3000)],
    [(1, 1), (640, 640), (17, 900), (900, 17), (640, 640)],
]
# (heads, kv heads, parts)
HEADS = [(1, 1, 1), (3, 3, 1), (4, 1, 1), (4, 2, 2), (6, 1, 3), (4, 1, 4), (2, 2, 3), (2, 1, 4)]
WORKERS = [1, 2, 3, 7, 16, 33, 132, 133]


def problem(
    rows: list[tuple[int, int]],
    heads: tuple[int, int, int] = (1, 1, 1),
    tiles: tuple[int, int] = (64, 128),
    mask: Mask = MASKS[0],
) -> Problem:
    sequences = tuple(Sequence(q, kv) for q, kv in rows)
    return Problem(sequences, *tiles, mask, *heads)


def corners() -> Iterator[Request]:
    """All kinds, masks and lengths, the rest in rotation."""
    for index, (kind, mask, rows) in enumerate(product(KINDS, MASKS, LENGTHS)):
        yield Request(
            problem(rows, HEADS[index % len(HEADS)], mask=mask),
            kind,
            WORKERS[index % len(WORKERS)],
            cost=COSTS[index % len(COSTS)],
        )
    for kind, mask, workers in product(KINDS, MASKS, WORKERS):
        square = problem([(720, 720)], (2, 1, 2), (48, 80), mask)
        yield Request(square, kind, workers)
    for kind, mask in product(KINDS, MASKS):
        yield Request(problem([(200, 300)] * 4, (2, 2, 1), (16, 32), mask), kind, 5, batch=4)


def bitmap(
    rows: list[tuple[int, int]], blocks: tuple[int, int], density: float, rng: random.Random
) -> Blocks:
    """Random bits for the longest of the sequences."""
    q, kv = (-(-max(lengths) // size) for lengths, size in zip(zip(*rows), blocks))
    bits = ("".join("01"[rng.random() < density] for _ in range(q)) for _ in range(kv))
    return Blocks(*blocks, tuple(bits))


def windows() -> Iterator[Request]:
    """All kinds, windows and lengths, the rest in rotation."""
    index = 0
    for window, rows in product(WINDOWS, LENGTHS):
        index += 1
        mask = Mask(causal=index % 3 == 0, window=window)
        yield Request(
            problem(rows, HEADS[index % len(HEADS)], TILES[index % len(TILES)], mask),
            KINDS[index % len(KINDS)],
            WORKERS[index % len(WORKERS)],
            cost=COSTS[index % len(COSTS)],
        )
    for kind, window in product(KINDS, WINDOWS):
        yield Request(
            problem([(1100, 1300), (1300, 900)], (2, 1, 1), mask=Mask(window=window)), kind, 9
        )


def bitmaps() -> Iterator[Request]:
    """All kinds on random bitmaps of several densities, alone and within a band."""
    rng = random.Random(7)
    bands = [Mask(), Mask(causal=True), Mask(window=(300, 40)), Mask(True, (200, -1))]
    cases = product(KINDS, bands, LENGTHS, [0.0, 0.1, 0.3, 0.8])
    for index, (kind, band, rows, density) in enumerate(list(cases)):
        if index % 5:
            continue
        q, kv = TILES[index % len(TILES)]
        blocks = bitmap(rows, (q * rng.choice([1, 2, 3]), kv * rng.choice([1, 2, 5])), density, rng)
        yield Request(
            problem(rows, HEADS[index % len(HEADS)], (q, kv), replace(band, blocks=blocks)),
            kind,
            WORKERS[index % len(WORKERS)],
            cost=COSTS[index % len(COSTS)],
        )


def unions() -> Iterator[Request]:
    """All kinds on first columns beside windows: prefixes, sinks, and others, of a tile, less and
    more; within bands and bitmaps."""
    rng = random.Random(9)
    bands = [Mask(), Mask(causal=True), Mask(window=(400, 60)), Mask(True, (250, -1))]
    pairs = product(KINDS, bands, LENGTHS, [1, 4, 48, 100, 480, 2000])
    for index, (kind, band, rows, columns) in enumerate(list(pairs)):
        if index % 4:
            continue
        tiles = TILES[index % len(TILES)]
        union = Union(
            columns, rng.choice([(-1, 0), (64, -1), (130, 20), (0, 0), (300, -1), (-1, -1)])
        )
        blocks = bitmap(rows, (2 * tiles[0], tiles[1]), 0.6, rng) if rng.random() < 0.2 else None
        yield Request(
            problem(
                rows, HEADS[index % len(HEADS)], tiles, replace(band, union=union, blocks=blocks)
            ),
            kind,
            WORKERS[index % len(WORKERS)],
            cost=COSTS[index % len(COSTS)],
        )


def random_mask(rows: list[tuple[int, int]], tiles: tuple[int, int], rng: random.Random) -> Mask:
    mask = rng.choice(MASKS)
    if rng.random() < 0.4:
        mask = replace(mask, window=(rng.randrange(-1, 900), rng.randrange(-1, 900)))
    if rng.random() < 0.4:
        size = tiles[0] * rng.randrange(1, 6), tiles[1] * rng.randrange(1, 6)
        mask = replace(mask, blocks=bitmap(rows, size, rng.random(), rng))
    if rng.random() < 0.25:
        mask = replace(
            mask,
            union=Union(rng.randrange(1, 500), (rng.randrange(-1, 300), rng.randrange(-1, 300))),
        )
    return mask


def canonical(mask: Mask) -> Json:
    """The mask as reports spell it: either `causal` or `window` says what the band is."""
    left, right = (-1 if bound is None else bound for bound in mask.bounds())
    blocks, union = mask.blocks, mask.union
    # What the band says already is no bound of the union's, and one without bounds is none.
    bounds = (
        [
            bound if bound >= 0 and (whole == -1 or bound < whole) else -1
            for bound, whole in zip(union.window, (left, right))
        ]
        if union
        else [-1, -1]
    )
    return {
        "causal": (left, right) == (-1, 0),
        "window": None if left == -1 and right <= 0 else [left, right],
        "blocks": blocks and {"q": blocks.q, "kv": blocks.kv, "bits": list(blocks.bits)},
        "union": None if bounds == [-1, -1] else {"columns": union.columns, "window": bounds},
    }


def mixtures(count: int) -> Iterator[Request]:
    """A fixed sample of everything together; level machine with as many workers as made for."""
    rng = random.Random(20)
    for _ in range(count):
        rows = [
            (rng.randrange(1, 900), rng.randrange(1, 900))
            for _ in range(rng.choice([1, 1, 1, 2, 3]))
        ]
        level, made_for = rng.choice(["run", "batch", "machine"]), rng.choice([1, 4, 9, 32])
        tiles = rng.choice(TILES)
        yield Request(
            problem(rows, rng.choice(HEADS), tiles, random_mask(rows, tiles, rng)),
            rng.choice(KINDS),
            rng.randrange(made_for if level == "machine" else 1, 134),
            level,
            made_for,
            rng.choice(COSTS),
            form=rng.choice(["formulas", "table"]),
        )


def served(requests: Iterator[Request]) -> Iterator[Request]:
    """In one part where a kind does not cut so, or where a head has fewer q tiles."""
    for request in requests:
        yield (
            request
            if serves(request.kind, request.problem)
            else replace(request, problem=replace(request.problem, parts=1))
        )


def as_asked(dash: DashOpt, request: Request) -> list[str]:
    """The checker's lines, and where the report is of something else than was asked."""
    answer = dash.run(request)
    lines = answer.differences()
    if lines:
        return lines
    s, cost, asked = answer.schedule, request.cost, request.problem
    pairs = [
        ("op", s["op"], "attention_bwd"),
        ("kind", s["kind"], request.kind),
        ("level", s["level"], request.level),
        ("workers", s["workers"], request.workers),
        ("cost", cost_of(s), cost),
        ("tiles", (s["tiles"]["q"], s["tiles"]["kv"]), (asked.tile_q, asked.tile_kv)),
        (
            "sequences",
            [(r["q"], r["kv"]) for r in s["sequences"]],
            [(r.q, r.kv) for r in asked.sequences],
        ),
        (
            "heads",
            (s["heads"], s["kvHeads"], s["parts"]),
            (asked.heads, asked.kv_heads, asked.parts),
        ),
        ("mask", s["mask"], canonical(asked.mask)),
        ("head dims", (s["headDim"], s["headDimV"]), (128, 128)),
    ]
    if request.level == "machine":
        pairs.append(("forWorkers", s["forWorkers"], request.for_workers))
    return answer.told(
        [f"{what}: found {have}, asked {want}" for what, have, want in pairs if have != want]
    )


def same_as_a_table(dash: DashOpt, request: Request) -> list[str]:
    """Formulas written out for stated sizes are the same order at the same cost."""
    table = dash.run(replace(request, form="table"))
    if table.document is None:
        return table.differences()
    formulas = dash.run(request).schedule
    return table.told(
        [
            f"{key} differs from the formulas'"
            for key in formulas
            if formulas[key] != table.schedule[key]
        ]
    )


def same_with_all_blocks(dash: DashOpt, request: Request) -> list[str]:
    """A bitmap that hides nothing leaves a kind's order as it is, though it makes it a table."""
    rows = [(s.q, s.kv) for s in request.problem.sequences]
    tiles = request.problem.tile_q, request.problem.tile_kv * 2
    blocks = bitmap(rows, tiles, 1.0, random.Random())
    mask = replace(request.problem.mask, blocks=blocks)
    masked = dash.run(replace(request, problem=replace(request.problem, mask=mask)))
    if masked.document is None:
        return masked.differences()
    plain = dash.run(request).schedule
    return masked.told(
        [
            f"{key} differs from the mask's without blocks"
            for key in plain
            if key != "mask" and plain[key] != masked.schedule[key]
        ]
    )


def same_in_a_batch(dash: DashOpt, case: tuple[str, Mask, str]) -> list[str]:
    """From level batch on, a sequence has the same bits alone and beside others, in any place."""
    kind, mask, level = case
    lines = []
    for parts, shortest in ((2, 1), (4, 17)):
        a, b, c = (500, 500), (340, 700), (shortest, 90)
        if not serves(kind, problem([a], (4, 2, parts), (16, 48), mask)):
            continue

        def bits(*rows: tuple[int, int]) -> list[object]:
            request = Request(problem(list(rows), (4, 2, parts), (16, 48), mask), kind, 7, level, 4)
            schedule = dash.run(request).schedule
            return [bits_of(schedule, sequence) for sequence in range(len(rows))]

        alone = {rows: bits(rows)[0] for rows in (a, b, c)}
        lines += [
            f"{kind} {mask} level {level} in {parts} parts: sequence {place} of {batch} differs"
            " from itself alone"
            for batch in ((a, b), (b, a, c), (c, c, a))
            for place, found in enumerate(bits(*batch))
            if found != alone[batch[place]]
        ]
    return lines


def same_on_any_machine(dash: DashOpt, case: tuple[str, Mask]) -> list[str]:
    """From level machine on, the number of workers fixes no bit."""
    kind, mask = case
    rows = [(720, 720), (300, 500)]
    lines = []
    for parts in (1, 3):
        asked = problem(rows, (2, 2, parts), (16, 48), mask)
        requests = [
            Request(asked, kind, workers, "machine", 6) for workers in (6, 7, 11, 12, 40, 132)
        ]
        if not serves(kind, asked):
            continue
        answers = [dash.run(request).schedule for request in requests]
        lines += [
            f"{kind} {mask} in {parts} parts: {request.workers} workers differ from"
            f" {requests[0].workers}"
            for request, answer in zip(requests, answers)
            for sequence in range(len(rows))
            if bits_of(answer, sequence) != bits_of(answers[0], sequence)
        ]
    return lines


def main() -> int:
    dash, tally = DashOpt.from_arguments(__doc__), Tally()
    tally.check_all(
        served((*corners(), *windows(), *bitmaps(), *unions(), *mixtures(200))),
        lambda request: as_asked(dash, request),
    )
    tally.check_all(
        served(
            (
                *list(corners())[::5],
                *list(windows())[::9],
                *[one for one in unions() if one.kind in ("ascending", "descending")][::4],
            )
        ),
        lambda request: same_as_a_table(dash, request),
    )
    tally.check_all(
        served(
            request
            for request in (*list(corners())[::4], *list(windows())[::7])
            if request.problem.runs == 1
        ),
        lambda request: same_with_all_blocks(dash, request),
    )
    window = Mask(window=(130, 20))
    sinks = Mask(True, union=Union(20, (130, -1)))
    tally.check_all(
        product([*KINDS, "auto"], [*MASKS, window, sinks], ["batch", "machine"]),
        lambda case: same_in_a_batch(dash, case),
    )
    rows = [(720, 720), (300, 500)]
    blocks = replace(window, blocks=bitmap(rows, (32, 96), 0.5, random.Random(3)))
    tally.check_all(
        product([*KINDS, "auto"], [*MASKS, window, blocks, sinks]),
        lambda case: same_on_any_machine(dash, case),
    )
    return tally.exit_code()


if __name__ == "__main__":
    sys.exit(main())
