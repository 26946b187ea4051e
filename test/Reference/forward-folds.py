# RUN: %python %s --dash-opt dash-opt --dash-run dash-run --tmp %t
# REQUIRES: python
"""Programs whose q tiles fold query heads have the bits of those that do not, on the CPU lane: O
and the LSE of every row and head. Each case runs without a fold and with those of its group."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))

from programs import Tools  # noqa: E402  (finds the models of schedules)

from dash_opt import Tally  # noqa: E402
from forward import Forward, execute  # noqa: E402
from problem import Mask, Problem, Sequence  # noqa: E402

CAUSAL = Mask(causal=True)
FOLDS = (2, 4, 8, 16, 32, 64)


def of(
    *rows: tuple[int, int], heads: int, kv_heads: int = 1, mask: Mask = CAUSAL, tile_q: int = 64
) -> Problem:
    return Problem(tuple(Sequence(*one) for one in rows), tile_q, 48, mask, heads, kv_heads)


CASES = (
    # few rows beside many keys, in batches; rows that fill tiles in part; rows that see nothing
    Forward(of((1, 150), heads=8, kv_heads=2)),
    Forward(of((3, 100), (3, 100), heads=8)),
    Forward(of((70, 70), heads=4)),
    Forward(of((70, 40), heads=4, kv_heads=2), has_sink=True),
    # a group that is no power of two, and one of a tile's rows
    Forward(of((9, 60), heads=6), workers=2),
    Forward(of((2, 60), heads=64), form="table"),
    # masks, a sink of each head, a softcap, tables, levels, halves, head dims
    Forward(of((20, 90), heads=4, mask=Mask()), kind="longest-first"),
    Forward(of((20, 90), heads=4, mask=Mask(window=(13, 5))), form="table", level="batch"),
    Forward(of((20, 90), heads=8, kv_heads=2), has_sink=True, softcap=2.0, scale=0.3),
    Forward(of((20, 30), heads=4, tile_q=48), half="f16", head_dim=40, head_dim_v=72),
    # lists, with lengths that fill tiles in part
    Forward(of((5, 70), (33, 20), (1, 100), heads=4), is_list=True, has_sink=True),
    Forward(of((40, 40), (17, 90), heads=8, kv_heads=2), is_list=True, kind="longest-first"),
    # keys are cut, with a sink, and in a list
    Forward(of((1, 150), heads=8, kv_heads=2), cut=48, kind="longest-first"),
    Forward(of((20, 150), heads=4), cut=96, has_sink=True, softcap=2.0, form="table"),
    Forward(of((5, 70), (33, 120), heads=4, kv_heads=2), cut=48, is_list=True, has_sink=True),
)


def check(tools: Tools, case: Forward, name: str) -> list[str]:
    alone = execute(tools, case, f"{name}-alone")
    given = {one: alone.files[one] for one in ("q", "k", "v", "sink") if one in alone.files}
    if case.scale is None:
        given["scale"] = alone.files["scale"]
    group, found = case.problem.heads // case.problem.kv_heads, []
    for fold in (fold for fold in FOLDS if group % fold == 0 and case.problem.tile_q % fold == 0):
        folded = execute(tools, replace(case, fold=fold), f"{name}-{fold}", given)
        items, fewer = (len(one.schedule["items"]) for one in (alone, folded))
        if folded.schedule["fold"] != fold or fewer > items:
            found.append(f"{fewer} items with a fold of {fold}, {items} without")
        for output in ("o", "lse"):
            if alone.files[output].tobytes() != folded.files[output].tobytes():
                found.append(f"other bits of {output} with a fold of {fold}: {case.title()}")
    return found


def main() -> int:
    tools, tally = Tools.from_arguments(__doc__), Tally()
    for number, case in enumerate(CASES):
        tally.check(check(tools, case, f"fold-{number}"))
    return tally.exit_code()


if __name__ == "__main__":
    sys.exit(main())
