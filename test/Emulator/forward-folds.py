"""Kernels of forwards whose q tiles fold query heads, on the emulator of `lib`: O and the LSE are
near float64, and have the bits of the kernel that folds none. Rows of no sequence are NaN, and are
left as they are."""

# REQUIRES: python, host-supports-nvptx
# RUN: %python %s %t

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(Path(__file__).parent / "lib"), str(ROOT / "test/Main"), str(ROOT / "python")]

from forward_case import Case, are_equal, check_errors, demand, run  # noqa: E402


def check(case: Case, fold: int, folder: Path, memory: str) -> None:
    given = case.inputs()
    alone = run(case, folder / "alone", given, memory=memory)
    folded = run(replace(case, fold=fold), folder / "folded", given, memory=memory)
    check_errors(case, folded, given)
    demand(are_equal(folded, alone), f"{case}: other bits with a fold of {fold}")


def main() -> None:
    folder = Path(sys.argv[1])
    odd = ((70, 70), (0, 30), (33, 0), (40, 20), (0, 0), (1, 65), (9, 300), (5, 5))
    lists = Case(options="kind=longest-first", lengths=odd, heads=4)
    wide = {"head_dim": 128, "head_dim_v": 128}
    for number, (case, fold, memory) in enumerate(
        (
            # few rows beside many keys: a token, a chunk; batches; tables and formulas
            (Case(q=1, kv=300, heads=4, **wide), 4, "bhsd"),
            (Case(q=5, kv=200, heads=16, kv_heads=2, batch=2, options="", **wide), 8, "bshd"),
            (Case(q=70, kv=150, heads=4, kv_heads=1), 4, "padded"),
            (Case(q=40, kv=200, heads=6, options="table=true q-tile=64"), 2, "bhsd"),
            (Case(q=3, kv=100, heads=64, options=""), 64, "bshd"),
            (Case(q=9, kv=100, heads=32, options="table=true q-tile=64"), 16, "bhsd"),
            # masks; rows that see nothing; a sink of each head, a softcap, halves, head dims
            (Case(mask="full", q=20, kv=200, heads=4, **wide), 2, "bhsd"),
            (Case(mask="window = [40, 10]", q=60, kv=260, heads=4), 4, "bhsd"),
            (Case(q=60, kv=20, heads=4, has_sink=True), 4, "bhsd"),
            (Case(q=20, kv=64, heads=32, has_sink=True, softcap=20.0, options=""), 32, "bhsd"),
            (Case(q=20, kv=64, heads=4, element="f16", head_dim=40, head_dim_v=72), 4, "bshd"),
            (Case(q=7, kv=130, heads=8, head_dim=192, head_dim_v=128), 8, "bhsd"),
            (Case(q=7, kv=70, heads=4, head_dim=256, head_dim_v=256, options=""), 4, "bhsd"),
            (Case(q=7, kv=130, heads=4, options="structure=alternating"), 4, "bhsd"),
            # keys are cut, and put together for each head
            (Case(q=1, kv=500, heads=8, kv_heads=2, cut=128, options="q-tile=64"), 4, "bshd"),
            (Case(q=20, kv=300, heads=4, batch=2, cut=256, has_sink=True, softcap=20.0), 4, "bhsd"),
            (Case(q=3, kv=250, heads=16, cut=128, options="q-tile=64", **wide), 16, "bhsd"),
            (Case(q=3, kv=250, heads=64, cut=128, options="q-tile=64"), 64, "bhsd"),
            # three warpgroups: tiles of 48 rows, of 24 and of 3
            (Case(q=50, kv=150, heads=4, options="q-tile=192"), 4, "bhsd"),
            (Case(q=30, kv=200, heads=8, cut=128, options="q-tile=192"), 8, "bhsd"),
            (Case(q=4, kv=200, heads=64, cut=128, options="q-tile=192"), 64, "bhsd"),
            # lists: lengths of a launch, drawn and dealt, and stated ones
            (lists, 4, "bshd"),
            (replace(lists, options="kind=longest-first hand-out=false", heads=2), 2, "bhsd"),
            (replace(lists, has_sink=True, heads=16, kv_heads=2, **wide), 8, "padded"),
            (replace(lists, cut=128, has_sink=True), 4, "bshd"),
            (replace(lists, mask="window = [40, 10]", options="kind=ascending"), 2, "bhsd"),
            (Case(lengths=((70, 70), (20, 70), (1, 65)), is_stated=True, heads=4), 4, "bshd"),
            (Case(lengths=((70, 70), (3, 300)), is_stated=True, cut=128, heads=4), 2, "bhsd"),
        )
    ):
        check(case, fold, folder / str(number), memory)


main()
