# RUN: %python %s --dash-opt dash-opt --dash-run dash-run --tmp %t
# REQUIRES: python
"""dQ apart: items that own q tiles fold their own dQ. Its bits are those of its model, whatever
runs it."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))

from programs import Case, Ran, Tools  # noqa: E402  (finds the models of schedules)

import numpy as np  # noqa: E402
from arithmetic import decode, encode, same_bits  # noqa: E402
from dash_opt import Request, Tally  # noqa: E402
from gradients import fold_dq, recompute, sink_gradients, slots_of, sum_up  # noqa: E402
from nearness import float64_differences  # noqa: E402
from problem import Blocks, Mask, Problem, Sequence, Union  # noqa: E402

FULL, CAUSAL = Mask(), Mask(causal=True)
KINDS_OF_Q = ("ascending", "longest-first")


@dataclass(frozen=True)
class Apart:
    """A case whose request is that of dK and dV; and the kind of the items of dQ."""

    case: Case
    kind: str = "ascending"
    form: str = "formulas"
    level: str = "run"
    workers: int = 3

    def options(self) -> list[str]:
        request = self.case.request
        tile, apply = request.options()
        rest = apply.removeprefix("--dash-apply-schedule=")
        return [
            f"{tile} split=dq",
            f"--dash-apply-schedule=function=attention_bwd {rest}",
            (
                f"--dash-apply-schedule=function=attention_bwd#1 kind={self.kind} form={self.form}"
                f" level={self.level} workers={self.workers} sizes={request.sizes()}"
            ),
        ]

    def title(self) -> str:
        return (
            f"{self.case.title()}; dQ by {self.kind}, {self.form}, level {self.level},"
            f" {self.workers} workers"
        )


def cases() -> list[Apart]:
    lists = (Sequence(33, 47), Sequence(64, 16), Sequence(5, 5), Sequence(16, 90))
    gaps = Blocks(32, 32, ("1010", "0110", "1001"))
    problems = [
        # rows, q and kv rows of a tile, mask, heads, kv heads, parts of dK and dV
        Problem((Sequence(77, 50),), 16, 32, CAUSAL, 2, 1, 1),  # rows without keys
        Problem((Sequence(41, 90),), 32, 16, FULL, 4, 2, 2),  # groups
        Problem((Sequence(41, 90),), 32, 16, CAUSAL, 6, 2, 1),
        Problem(lists, 16, 32, CAUSAL, 2, 1, 2),
        Problem(lists, 16, 16, FULL, 2, 2, 1),
        Problem((Sequence(50, 50),) * 2, 16, 16, CAUSAL, 3, 3, 1),
        Problem((Sequence(90, 70),), 16, 32, Mask(window=(20, 0)), 2, 1, 1),
        Problem((Sequence(40, 150),), 16, 32, Mask(window=(17, 9)), 2, 1, 1),
        Problem((Sequence(150, 40),), 16, 32, Mask(causal=True, window=(30, -1)), 2, 1, 1),
        Problem((Sequence(60, 90),), 16, 16, Mask(window=(5, -1)), 2, 1, 1),
        Problem((Sequence(120, 90),), 16, 32, Mask(blocks=gaps), 2, 1, 1),
        Problem((Sequence(90, 110),), 16, 32, Mask(union=Union(40, (-1, 0))), 2, 1, 1),
        # Gaps in walks.
        Problem(
            (Sequence(150, 190),), 16, 16, Mask(causal=True, union=Union(20, (25, -1))), 2, 1, 1
        ),
        Problem(
            (Sequence(60, 130),),
            16,
            32,
            Mask(
                window=(50, 30), blocks=Blocks(32, 64, ("11", "01", "10")), union=Union(33, (7, 5))
            ),
            2,
            1,
            1,
        ),
        Problem((Sequence(1, 1),), 16, 16, FULL, 1, 1, 1),
    ]
    found = []
    for number, problem in enumerate(problems):
        is_list = len(set(problem.sequences)) > 1
        batch = len(problem.sequences) if len(problem.sequences) > 1 and not is_list else None
        kind = (
            ("ascending", "shift", "synthesized")[number % 3] if problem.parts == 1 else "ascending"
        )
        for kind_of_q in KINDS_OF_Q:
            found.append(
                Apart(
                    Case(
                        Request(problem, kind, workers=2 + number % 4, batch=batch),
                        is_list=is_list,
                        takes_delta=number % 2 == 1,
                        half="f16" if number % 4 == 3 else "bf16",
                        seed=number,
                    ),
                    kind_of_q,
                    form="table" if number % 5 == 2 else "formulas",
                    workers=1 + number % 6,
                    level=("run", "batch", "machine")[number % 3],
                )
            )
    plain = Problem((Sequence(77, 50),), 16, 32, CAUSAL, 4, 2, 1)
    wide = Problem((Sequence(200, 260),), 64, 128, CAUSAL, 2, 1, 1)
    for softcap, has_sink, half in (
        (50.0, False, "bf16"),
        (0.3, True, "f16"),
        (None, True, "bf16"),
    ):
        found.append(
            Apart(
                Case(Request(plain, "ascending", 3), softcap=softcap, has_sink=has_sink, half=half),
                "longest-first",
            )
        )
    for head_dim, head_dim_v in ((128, 128), (96, 96), (192, 128), (256, 256)):
        found.append(
            Apart(
                Case(
                    Request(wide, "shift", 4),
                    head_dim=head_dim,
                    head_dim_v=head_dim_v,
                    seed=head_dim,
                ),
                "longest-first",
                workers=5,
            )
        )
    return found


def bits_of_model(one: Apart, ran: Ran, second: dict) -> list[str]:
    case, is_list, half = one.case, one.case.is_list, one.case.half
    differences = []
    expected = fold_dq(case.problem, second, ran.arrays, ran.files["dq"], half, is_list)
    if not same_bits(encode(expected, half), ran.files["dq"]):
        wrong = int((expected != decode(ran.files["dq"])).sum())
        differences.append(f"dq: {wrong} of {expected.size} numbers differ from the model")
    found = recompute(case.problem, ran.schedule, ran.arrays, half, is_list)
    _, part_chains = slots_of(ran.schedule)
    for name, factor in (("dk", ran.arrays.scale), ("dv", np.float32(1))):
        expected = sum_up(
            case.problem,
            part_chains,
            getattr(found, name),
            ran.files[name],
            True,
            is_list,
            factor,
            half,
        )
        if not same_bits(encode(expected, half), ran.files[name]):
            differences.append(f"{name}: differs from the model")
    if case.has_sink and not same_bits(
        sink_gradients(case.problem, ran.arrays, is_list), ran.files["dsink"]
    ):
        differences.append("dsink: differs from the model")
    return differences


def facts(second: dict) -> list[str]:
    """Nothing is summed across items, so nothing waits and no worker can change a bit."""
    expected = {
        "own": "q",
        "keeps": "machine",
        "minWorkers": 1,
        "dynamicIssue": True,
        "chains": [],
        "partChains": [],
    }
    return [
        f"{key} is {second.get(key)}, expected {value}"
        for key, value in expected.items()
        if second.get(key) != value
    ]


def same_on_any_workers(tools: Tools) -> list[str]:
    """dQ of one problem by every kind, level, form and number of workers."""
    problem = Problem((Sequence(150, 190), Sequence(41, 90)), 16, 16, CAUSAL, 4, 2, 1)
    case = Case(Request(problem, "shift", 4), is_list=True)
    seen: dict[bytes, str] = {}
    for number, (kind, level, form, workers) in enumerate(
        (kind, level, form, workers)
        for kind in (*KINDS_OF_Q, "auto")
        for level, form, workers in (
            ("run", "formulas", 1),
            ("run", "table", 5),
            ("machine", "formulas", 7),
            ("machine", "table", 40),
        )
        if kind != "auto" or level == "run"
    ):
        one = Apart(case, kind, form, level, workers)
        ran, second = tools.execute_apart(case, f"same-{number}", one.options())
        seen.setdefault(ran.files["dq"].tobytes(), one.title())
        if found := facts(second):
            return [one.title(), *found, ran.command]
    return [] if len(seen) == 1 else ["dQ has other bits in", *seen.values()]


def same_beside_others(tools: Tools) -> list[str]:
    """dQ of a sequence alone is that of the sequence in a batch: the seed fills sequence 0
    alike."""
    alone = Problem((Sequence(50, 70),), 16, 32, CAUSAL, 2, 1, 1)
    beside = Problem((Sequence(50, 70),) * 3, 16, 32, CAUSAL, 2, 1, 1)
    dq = []
    for number, problem in enumerate((alone, beside)):
        case = Case(Request(problem, "ascending", 3, batch=len(problem.sequences)), head_dim=64)
        ran, _ = tools.execute_apart(
            case, f"beside-{number}", Apart(case, "longest-first").options()
        )
        dq.append(ran.files["dq"][0])
    return [] if same_bits(dq[0], dq[1]) else ["dQ of sequence 0 has other bits beside others"]


def main() -> int:
    tools = Tools.from_arguments(__doc__)

    def differences(numbered: tuple[int, Apart]) -> list[str]:
        number, one = numbered
        try:
            ran, second = tools.execute_apart(one.case, f"case-{number}", one.options())
        except RuntimeError as error:
            return [one.title(), str(error)]
        found = [
            *facts(second),
            *bits_of_model(one, ran, second),
            *float64_differences(one.case, ran),
        ]
        return [one.title(), *found, ran.command] if found else []

    tally = Tally()
    tally.check_all(enumerate(cases()), differences)
    for check in (same_on_any_workers, same_beside_others):
        tally.check_all([tools], check)
    return tally.exit_code()


if __name__ == "__main__":
    sys.exit(main())
