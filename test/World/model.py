# RUN: %python %s 150 | FileCheck %s
# REQUIRES: python, plain-libdash
# CHECK: 600 plans are as the page says
"""Plans of random worlds, through the C API, beside a checker in Python that was written from the
page. `model.py COUNT [SEED]` does more."""

from __future__ import annotations

import ctypes
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))

from world_model import Handle, Plan, Problem, StringRef, call, library  # noqa: E402


def draw(source: random.Random) -> Problem:
    cut = source.choice((0, 0, 0, 1))
    longest = 60000 if cut else 1500
    documents = [
        source.randint(1, source.choice((longest, longest // 10)))
        for _ in range(source.randint(1, 5))
    ]
    per_node = source.randint(1, 4)
    ranks = per_node * source.randint(1, 4)
    homes = []
    for document, rows in enumerate(documents):
        first = 0
        while first < rows:
            count = min(rows - first, source.randint(1, rows))
            homes.append((source.randrange(ranks), document, first, count))
            first += count
    kv_heads = source.randint(1, 3)
    return Problem(
        documents,
        homes,
        ranks,
        per_node,
        kv_heads * source.choice((1, 2, 3, 4, 8)),
        kv_heads,
        source.choice((64, 128, 8 * source.randint(1, 16))),
        cut=cut,
        kept=source.choice((0, -1, source.randint(1, 1 << 21))),
        speeds=[source.randint(500, 1500) for _ in range(ranks)] if source.random() < 0.3 else [],
    )


def main() -> None:
    count, seed = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1
    source, plans = random.Random(seed), 0
    for number in range(count):
        problem, world = draw(source), Handle()
        status, said = call(
            library.dashWorldCreate, [ctypes.byref(problem.as_c())], [ctypes.byref(world)]
        )
        assert status == "DASH_SUCCESS", said
        for kind in ("heads-first", "rows", "home", "random"):
            plan = Handle()
            status, said = call(
                library.dashWorldPlan,
                [world, StringRef.of(kind), ctypes.c_uint64(number)],
                [ctypes.byref(plan)],
            )
            assert status == "DASH_SUCCESS", said
            try:
                Plan(problem, plan).check()
            except AssertionError as wrong:
                raise AssertionError(
                    f"problem {number} of seed {seed}, kind {kind}: {problem}"
                ) from wrong
            library.dashWorldPlanDestroy(plan)
            plans += 1
        library.dashWorldDestroy(world)
    print(f"{plans} plans are as the page says")


if __name__ == "__main__":
    main()
