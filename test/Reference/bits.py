# RUN: %python %s --dash-opt dash-opt --dash-run dash-run --tmp %t
# REQUIRES: python
"""The CPU lane's bits: replayed from its contributions, recomputed from its inputs, and near
float64."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))

from programs import Case, Ran, Tools  # noqa: E402  (finds the models of schedules)

import numpy as np  # noqa: E402
from arithmetic import decode, encode, same_bits  # noqa: E402
from cost import Cost  # noqa: E402
from dash_opt import KINDS, Request, Tally, serves  # noqa: E402
from gradients import recompute, sink_gradient, sink_gradients, slots_of, sum_up  # noqa: E402
from orders import random_order  # noqa: E402
from nearness import float64_differences  # noqa: E402
from problem import Blocks, Mask, Problem, Sequence, Union  # noqa: E402
from report import Numbers, Setting, document, schedule_json  # noqa: E402

FULL, CAUSAL = Mask(), Mask(causal=True)


def named_cases() -> list[Case]:
    """Every kind and mask, on problems that each have something odd."""
    lists = (Sequence(33, 47), Sequence(64, 16), Sequence(5, 5), Sequence(16, 90))
    problems = [
        ((Sequence(77, 50),), 16, 32, 2, 1, 1),  # more queries than keys: causal rows without keys
        ((Sequence(41, 90),), 32, 16, 4, 2, 2),  # groups, split in parts
        (lists, 16, 32, 2, 1, 2),  # a list of sequences
        ((Sequence(50, 50), Sequence(50, 50)), 16, 16, 3, 3, 1),  # a batch
        # Heads, split in runs of q tiles; causal, in runs without one.
        ((Sequence(75, 60),), 16, 16, 2, 1, 6),
    ]
    return [
        Case(
            Request(
                Problem(rows, q, kv, mask, *heads),
                kind,
                workers=3 + number,
                batch=2 if batch else None,
            ),
            is_list=len(rows) == 4,
            takes_delta=number % 2 == 1,
            seed=number,
        )
        for number, (rows, q, kv, *heads) in enumerate(problems)
        for batch in [number == 3]
        for mask in (FULL, CAUSAL)
        for kind in KINDS
        if serves(kind, Problem(rows, q, kv, mask, *heads))
    ]


def mask_cases() -> list[Case]:
    """Windows, bitmaps and unions: rows and whole tiles without keys, columns that no row sees,
    gaps in chains."""

    def problem(q: int, kv: int, mask: Mask) -> Problem:
        return Problem((Sequence(q, kv),), 16, 32, mask, 2, 1, 2)

    gaps = Blocks(32, 32, ("1010", "0110", "1001"))
    hole = Blocks(48, 64, ("010", "000"))
    problems = [
        problem(90, 70, Mask(window=(20, 0))),
        problem(40, 150, Mask(window=(17, 9))),
        problem(150, 40, Mask(causal=True, window=(30, -1))),
        problem(120, 90, Mask(blocks=gaps)),
        problem(100, 90, Mask(causal=True, window=(40, -1), blocks=gaps)),
        problem(130, 70, Mask(blocks=hole)),
        problem(90, 110, Mask(union=Union(40, (-1, 0)))),
        problem(150, 90, Mask(causal=True, union=Union(3, (25, -1)))),
        problem(
            60,
            130,
            Mask(
                window=(50, 30), blocks=Blocks(32, 64, ("11", "01", "10")), union=Union(33, (7, 5))
            ),
        ),
    ]
    lists = Problem(
        (Sequence(50, 30), Sequence(120, 90), Sequence(7, 64)),
        16,
        16,
        Mask(causal=True, blocks=gaps),
        2,
        2,
        1,
    )
    return [
        Case(Request(one, kind, 4), is_list=len(one.sequences) > 1, seed=number)
        for number, one in enumerate([*problems, lists])
        for kind in (("shift", "descending") if number % 2 else ("synthesized", "symmetric-shift"))
    ]


def score_cases() -> list[Case]:
    """Softcaps from those that scores hardly feel to those that bend all, and sinks: in groups,
    parts, batches, lists, rows without keys."""
    problems = [
        Problem((Sequence(77, 50),), 16, 32, CAUSAL, 4, 2, 2),
        Problem((Sequence(90, 70),) * 3, 32, 16, Mask(window=(20, 0)), 2, 1, 1),
        # More runs of rows than sums of them.
        Problem((Sequence(1100, 40),), 64, 16, CAUSAL, 2, 1, 1),
        Problem(
            (Sequence(33, 47), Sequence(1, 16), Sequence(64, 5), Sequence(1060, 90)),
            32,
            16,
            Mask(causal=True, window=(40, -1)),
            2,
            1,
            1,
        ),
    ]
    return [
        Case(
            Request(
                problem,
                kind,
                4,
                batch=(
                    len(problem.sequences)
                    if len(set(problem.sequences)) < len(problem.sequences)
                    else None
                ),
            ),
            is_list=len(set(problem.sequences)) > 1,
            softcap=softcap,
            has_sink=has_sink,
            takes_delta=takes_delta,
            half=half,
            seed=number,
        )
        for number, problem in enumerate(problems)
        for kind, softcap, has_sink, takes_delta, half in (
            ("shift", 50.0, False, False, "bf16"),
            ("ascending", 0.3, True, True, "f16"),
            ("symmetric-shift", None, True, False, "bf16"),
        )
    ]


def special_cases() -> list[Case]:
    rows = (Sequence(70, 40),)
    wide = Problem((Sequence(40, 52),), 16, 16, CAUSAL, 2, 1, 1)
    return [
        Case(Request(Problem(rows, 16, 16, CAUSAL, 4, 1, 4), "shift", 5), half="f16"),
        Case(Request(wide, "symmetric-shift", 4), head_dim=192, head_dim_v=128),
        Case(Request(wide, "descending", 2), head_dim=96, head_dim_v=96, half="f16"),
        Case(Request(wide, "shift", 4, form="table")),
        Case(
            Request(Problem((Sequence(300, 260),), 64, 128, CAUSAL), "symmetric-shift", 2),
            head_dim=128,
            head_dim_v=128,
        ),
        Case(Request(Problem((Sequence(1, 1),), 16, 16, FULL), "ascending", 1)),
    ]


def file_cases(tools: Tools) -> list[Case]:
    """Orders that no kind makes."""
    cases = []
    for number, mask in enumerate((FULL, CAUSAL)):
        rng = random.Random(number)
        problem = Problem((Sequence(60, 45), Sequence(30, 80)), 16, 16, mask, 4, 2, 2)
        order = random_order(problem, 3, rng)
        schedule = schedule_json(
            problem,
            order,
            Numbers(0, 0, 1, False),
            Setting(cost=Cost(2.1, 1.6, 0.3, 2), head_dim=64, head_dim_v=64),
        )
        path = tools.scratch / f"order-{number}.json"
        path.write_text(json.dumps(document(schedule)), encoding="utf-8")
        cases.append(Case(Request(problem, "file", 3, order=path), is_list=True))
    return cases


def by_slot(
    slots: list[list[tuple[int, ...]]], dumped: np.ndarray
) -> dict[tuple[int, ...], np.ndarray]:
    keys = [key for chain in slots for key in chain]
    if len(keys) != len(dumped):
        raise RuntimeError(f"{len(keys)} contributions in the report, {len(dumped)} dumped")
    return dict(zip(keys, dumped))


def gradient_differences(
    case: Case, ran: Ran, name: str, contributions: dict, what: str
) -> list[str]:
    """Sums contributions in the order of the report and compares the bits of the gradient."""
    chains, part_chains = slots_of(ran.schedule)
    expected = sum_up(
        case.problem,
        chains if name == "dq" else part_chains,
        contributions,
        ran.files[name],
        name != "dq",
        case.is_list,
        np.float32(1) if name == "dv" else ran.arrays.scale,
        case.half,
    )
    if same_bits(encode(expected, case.half), ran.files[name]):
        return []
    wrong = int((expected != decode(ran.files[name])).sum())
    return [f"{name}, {what}: {wrong} of {expected.size} numbers differ"]


def replay_differences(case: Case, ran: Ran) -> list[str]:
    """Test 1: only the adds, of what the program itself computed."""
    chains, part_chains = slots_of(ran.schedule)
    summed = [("dq", chains)]
    if case.problem.parts > 1:
        summed += [("dk", part_chains), ("dv", part_chains)]
    return [
        line
        for name, slots in summed
        for line in gradient_differences(
            case, ran, name, by_slot(slots, ran.files[f"contributions-{name}"]), "replayed"
        )
    ]


def recompute_differences(case: Case, ran: Ran) -> list[str]:
    """Test 2: everything from the inputs, contributions too."""
    found = recompute(case.problem, ran.schedule, ran.arrays, case.half, case.is_list)
    chains, part_chains = slots_of(ran.schedule)
    differences = []
    if case.has_sink and not same_bits(
        sink_gradients(case.problem, ran.arrays, case.is_list), ran.files["dsink"]
    ):
        differences.append("dsink, recomputed: has other bits")
    for name, slots in (("dq", chains), ("dk", part_chains), ("dv", part_chains)):
        contributions = getattr(found, name)
        differences += gradient_differences(case, ran, name, contributions, "recomputed")
        dumped = ran.files.get(f"contributions-{name}")
        if dumped is not None:
            different = [
                key
                for key, tile in by_slot(slots, dumped).items()
                if not same_bits(tile, contributions[key])
            ]
            differences += [f"{name}: contributions {different[:3]} differ"] if different else []
    return differences


def infinite_sinks(tools: Tools) -> list[str]:
    """A sink of -inf has a gradient of 0, and rows with an infinite LSE add nothing to any."""
    case = score_cases()[2]
    made = tools.execute(case, "finite")
    folder = tools.scratch / "infinite-args"
    folder.mkdir(exist_ok=True)
    arrays = {
        name: made.files[name].copy() for name in ("q", "k", "v", "do", "o", "lse", "scale", "sink")
    }
    arrays["sink"][0] = -np.inf
    arrays["lse"][:, :, 3::7], arrays["lse"][:, :, 5::11] = np.inf, -np.inf
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    ran = tools.execute(case, "infinite", folder)
    expected = sink_gradient(ran.arrays.sink, ran.arrays.lse, ran.arrays.delta)
    found = ran.files["dsink"]
    if (
        same_bits(found, expected)
        and (found[:, 0] == 0).all()
        and np.isfinite(found).all()
        and (found[:, 1] != 0).all()
    ):
        return []
    return [case.title(), f"dsink {found}, expected {expected}", ran.command]


def main() -> int:
    tools = Tools.from_arguments(__doc__)
    cases = [*named_cases(), *mask_cases(), *score_cases(), *special_cases(), *file_cases(tools)]

    def differences(numbered: tuple[int, Case]) -> list[str]:
        number, case = numbered
        try:
            ran = tools.execute(case, f"case-{number}")
        except RuntimeError as error:
            return [case.title(), str(error)]
        found = [
            *replay_differences(case, ran),
            *recompute_differences(case, ran),
            *float64_differences(case, ran),
        ]
        return [case.title(), *found, ran.command] if found else []

    tally = Tally()
    tally.check_all(enumerate(cases), differences)
    tally.check_all([tools], infinite_sinks)
    return tally.exit_code()


if __name__ == "__main__":
    sys.exit(main())
