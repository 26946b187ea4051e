# RUN: %python %s --dash-opt dash-opt --dash-run dash-run --tmp %t
# REQUIRES: python
"""The forward on the CPU lane: its bits are those of its model, and near float64."""

from __future__ import annotations

import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))

from programs import Tools  # noqa: E402  (finds the models of schedules)

import numpy as np  # noqa: E402
from arithmetic import decode, same_bits  # noqa: E402
from dash_opt import Tally  # noqa: E402
from forward import Forward, Outcome, by_definition, execute, model  # noqa: E402
from problem import Blocks, Mask, Problem, Sequence, Union  # noqa: E402

FULL, CAUSAL = Mask(), Mask(causal=True)
RANDOM = 50  # problems
# Norm of O's error over O's norm: P is rounded once, and O once more, each by at most half a unit
# in the last place. The LSE's is that of scores, some roundings to f32.
TOLERANCE = {"bf16": 2.0**-8, "f16": 2.0**-11}
TOLERANCE_OF_LSE = 2.0**-21


def cases() -> list[Forward]:
    lists = (Sequence(33, 47), Sequence(64, 16), Sequence(5, 5), Sequence(16, 90))
    gaps = Blocks(32, 32, ("1010", "0110", "1001"))
    problems = [
        # rows, q and kv rows of a tile, mask, heads, kv heads
        Problem((Sequence(77, 50),), 16, 32, CAUSAL, 2, 1),  # rows without keys
        Problem((Sequence(41, 90),), 32, 16, FULL, 4, 2),
        Problem((Sequence(41, 90),), 32, 16, CAUSAL, 6, 2),
        Problem(lists, 16, 32, CAUSAL, 2, 1),
        Problem(lists, 64, 16, FULL, 2, 2),
        Problem((Sequence(50, 50),) * 2, 16, 16, CAUSAL, 3, 3),
        Problem((Sequence(90, 70),), 16, 32, Mask(window=(20, 0)), 2, 1),
        Problem((Sequence(40, 150),), 16, 48, Mask(window=(17, 9)), 2, 1),
        Problem((Sequence(150, 40),), 16, 32, Mask(causal=True, window=(30, -1)), 2, 1),
        Problem((Sequence(120, 90),), 16, 32, Mask(blocks=gaps), 2, 1),
        Problem((Sequence(90, 110),), 16, 32, Mask(union=Union(40, (-1, 0))), 2, 1),
        Problem((Sequence(150, 190),), 16, 16, Mask(causal=True, union=Union(20, (25, -1))), 2, 1),
        Problem((Sequence(1, 1),), 16, 16, FULL, 1, 1),
    ]
    found = []
    for number, problem in enumerate(problems):
        common = {
            "is_list": len(set(problem.sequences)) > 1,
            "half": "f16" if number % 4 == 3 else "bf16",
            "workers": 1 + number % 5,
            "level": ("row", "run", "batch", "machine")[number % 4],
            "seed": number,
        }
        found.append(Forward(problem, "longest-first", **common))
        form = "table" if number % 2 else "formulas"
        found.append(Forward(problem, "ascending", form=form, **common))
    plain = Problem((Sequence(77, 50),), 16, 32, CAUSAL, 4, 2)
    for softcap, has_sink, slack, scale in (
        (50.0, False, 8, None),
        (0.3, True, 8, 1.5),
        (None, True, 8, None),
        (None, False, 0, None),
        (None, False, 2.5, 3.0),  # references move in many tiles
        (None, True, 15, -0.7),  # the least score counts most
        (None, False, 8, 0.0),
    ):
        found.append(
            Forward(plain, softcap=softcap, has_sink=has_sink, slack=slack, scale=scale, seed=7)
        )
    for mask, cut, is_list, has_sink, softcap in (
        (CAUSAL, 32, False, False, None),
        (FULL, 64, True, True, None),
        (Mask(window=(20, 9)), 32, False, True, 5.0),
        (Mask(causal=True, union=Union(20, (25, -1))), 96, True, False, None),
        (Mask(causal=True, blocks=Blocks(64, 64, ("1", "0", "1"))), 64, False, True, None),
        (CAUSAL, 960, False, False, None),  # one piece
    ):
        lengths = (Sequence(33, 147), Sequence(3, 300), Sequence(70, 40))
        few = Problem(lengths if is_list else lengths[:1] * 2, 16, 32, mask, 4, 2)
        for kind, form in (("longest-first", "formulas"), ("ascending", "table")):
            found.append(
                Forward(
                    few,
                    kind,
                    form=form,
                    is_list=is_list,
                    has_sink=has_sink,
                    softcap=softcap,
                    cut=cut,
                )
            )
    for head_dim, head_dim_v, kv in (
        (128, 128, 128),
        (40, 96, 96),
        (192, 128, 112),
        (256, 256, 64),
    ):
        wide = Problem((Sequence(200, 260),), 128, kv, CAUSAL, 2, 1)
        found.append(Forward(wide, "longest-first", head_dim=head_dim, head_dim_v=head_dim_v))
    return found


def random_case(number: int) -> Forward:
    """A problem of any mask, lengths, groups, caps and sinks."""
    rng = random.Random(number)
    is_list = rng.random() < 0.4
    lengths = [Sequence(rng.randint(1, 90), rng.randint(1, 120)) for _ in range(rng.randint(1, 3))]
    if not is_list:
        lengths = lengths[:1] * len(lengths)
    tile_q, tile_kv = (16 * rng.randint(1, 4) for _ in range(2))
    bound = lambda: rng.choice((-1, 0, rng.randint(1, 60)))  # noqa: E731
    mask = rng.choice(
        (
            FULL,
            CAUSAL,
            Mask(window=(bound(), bound())),
            Mask(causal=True, window=(bound(), -1)),
            Mask(causal=True, union=Union(rng.randint(1, 40), (rng.randint(0, 30), -1))),
        )
    )
    kv_heads = rng.randint(1, 2)
    heads = kv_heads * rng.randint(1, 3)
    level = rng.choice(("run", "batch", "machine", "row"))
    # Above level `run`, auto would look at a list's other sequences.
    kinds = ("ascending", "longest-first", "auto")[: 3 if level == "run" else 2]
    return Forward(
        Problem(tuple(lengths), tile_q, tile_kv, mask, heads, kv_heads),
        kind=rng.choice(kinds),
        workers=rng.randint(1, 7),
        form=rng.choice(("formulas", "table")),
        level=level,
        is_list=is_list,
        half=rng.choice(("bf16", "f16")),
        head_dim=8 * rng.randint(1, 12),
        head_dim_v=8 * rng.randint(1, 12),
        softcap=rng.choice((None, None, 0.5, 20.0)),
        has_sink=rng.random() < 0.3,
        slack=rng.choice((0, 2.5, 8, 15)),
        scale=rng.choice((None, None, 0.5, -0.3)),
        seed=number,
        cut=tile_kv * rng.randint(1, 3) if rng.random() < 0.4 else None,
    )


def differences_of(case: Forward, outcome: Outcome) -> list[str]:
    found = []
    for name, expected in model(case, outcome).items():
        if not same_bits(expected, outcome.files[name]):
            wrong = int((decode(expected) != decode(outcome.files[name])).sum())
            found.append(f"{name}: {wrong} of {expected.size} numbers differ from the model")
    exact, ours = by_definition(case, outcome), outcome.arrays()
    error, size = np.linalg.norm(ours["o"] - exact["o"]), np.linalg.norm(exact["o"])
    if not error <= TOLERANCE[case.half] * size:
        found.append(f"o: error {error / size:.3g}, expected at most {TOLERANCE[case.half]:.3g}")
    empty = np.isneginf(exact["lse"])
    if not (empty == np.isneginf(ours["lse"])).all():
        found.append("lse: expected -inf where a row sees nothing, and nowhere else")
    expected = np.where(empty, 0, exact["lse"])
    error = np.abs(np.where(empty, 0, ours["lse"]) - expected).max()
    limit = TOLERANCE_OF_LSE * max(8, np.abs(expected).max())
    if not error <= limit:
        found.append(f"lse: error {error:.3g}, expected at most {limit:.3g}")
    facts = {"own": "q", "minWorkers": 1, "dynamicIssue": True, "chains": []}
    found += [
        f"{key} is {outcome.schedule.get(key)}, expected {value}"
        for key, value in facts.items()
        if outcome.schedule.get(key) != value
    ]
    return found


def main() -> int:
    tools = Tools.from_arguments(__doc__)

    def check(numbered: tuple[int, Forward]) -> list[str]:
        number, case = numbered
        try:
            outcome = execute(tools, case, f"case-{number}")
        except RuntimeError as error:
            return [case.title(), str(error)]
        found = differences_of(case, outcome)
        return [case.title(), *found, outcome.command] if found else []

    tally = Tally()
    problems = [*cases(), *map(random_case, range(RANDOM))]
    tally.check_all(enumerate(problems), check)
    return tally.exit_code()


if __name__ == "__main__":
    sys.exit(main())
