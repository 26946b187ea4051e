# RUN: %python %s --dash-opt dash-opt --dash-run dash-run --tmp %t
# REQUIRES: python
"""dV apart: two loops in one order have the bits of the one that has all gradients."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))

from programs import Case, Tools  # noqa: E402  (finds the models of schedules)

from arithmetic import same_bits  # noqa: E402
from dash_opt import Request, Tally  # noqa: E402
from problem import Mask, Problem, Sequence  # noqa: E402

FULL, CAUSAL = Mask(), Mask(causal=True)


def cases() -> list[Case]:
    rows, lists = (Sequence(77, 50),), (Sequence(33, 47), Sequence(64, 16), Sequence(16, 90))
    return [
        Case(Request(Problem(rows, 16, 32, CAUSAL, 2, 1, 1), "symmetric-shift", 3)),
        Case(
            Request(Problem(rows, 32, 16, FULL, 4, 2, 1), "shift", 2), half="f16", takes_delta=True
        ),
        # Parts, which kernels refuse.
        Case(Request(Problem(rows, 16, 32, CAUSAL, 4, 2, 2), "ascending", 3)),
        Case(
            Request(Problem(lists, 16, 16, Mask(window=(20, 0)), 2, 1, 1), "synthesized", 4),
            is_list=True,
        ),
        Case(
            Request(Problem(rows, 16, 32, CAUSAL, 2, 2, 1), "ascending", 2),
            softcap=50.0,
            has_sink=True,
        ),
        Case(
            Request(Problem((Sequence(200, 260),), 64, 128, CAUSAL, 2, 1, 1), "shift", 4),
            head_dim=192,
            head_dim_v=128,
        ),
        Case(
            Request(Problem((Sequence(90, 150),), 64, 128, FULL, 2, 1, 1), "shift", 4),
            head_dim=256,
            head_dim_v=256,
        ),
    ]


def main() -> int:
    tools = Tools.from_arguments(__doc__)

    def differences(numbered: tuple[int, Case]) -> list[str]:
        number, case = numbered
        tile, *rest = case.request.options()
        try:
            _, whole = tools.run_program(case, f"whole-{number}", [tile, *rest], None, dumps=False)
            _, apart = tools.run_program(
                case, f"apart-{number}", [f"{tile} split=dv", *rest], None, dumps=False
            )
        except RuntimeError as error:
            return [case.title(), str(error)]
        names = ("dq", "dk", "dv", *(("dsink",) if case.has_sink else ()))
        found = [
            f"{name} has other bits"
            for name in names
            if not same_bits(whole.files[name], apart.files[name])
        ]
        return [case.title(), *found, apart.command] if found else []

    tally = Tally()
    tally.check_all(enumerate(cases()), differences)
    return tally.exit_code()


if __name__ == "__main__":
    sys.exit(main())
