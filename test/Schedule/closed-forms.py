# RUN: %python %s --dash-opt dash-opt --examples %dash_examples --tmp %t
# REQUIRES: python
"""The paper's closed forms, each under the assignment for which it holds.

n kv tiles x n q tiles a head, m heads, latency 0, one dQ buffer:

    ascending        full    n workers      m n (c + r) + (n - 1) r
    ascending        causal  n workers      m n (c + r) + (n - 1) r
    descending       causal  n workers      m (n + 1)(c + r) / 2 + (n - 1) r         m even, and
                             plus (m / 2 - 1)(n - 1)(r - c) where c < r
    shift            full    n workers      m n (c + r)
    symmetric-shift  causal  n workers      m (n + 1)(c + r) / 2                     m, n even
    symmetric-shift  causal  n / 2 workers  m (n + 1)(c + r)                         n rounded up

Ascending causal pays its ramp once, not once a head: kv tile 0 is always worker 0's, and the others
have slack. Descending hands each pair of heads back and forth; its ramp is paid once only while
c >= r.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))

from builders import square  # noqa: E402
from cost import Cost, makespan  # noqa: E402
from dash_opt import DashOpt, Request, Tally  # noqa: E402
from order import EventGraph  # noqa: E402
from report import order_of  # noqa: E402

COSTS = [(1.0, 1.0), (2.0, 1.0), (1.0, 2.0), (5.0, 1.0), (1.0, 5.0), (3.0, 2.0), (2.0, 3.0)]


@dataclass(frozen=True)
class Claim:
    kind: str
    causal: bool
    workers: Callable[[int], int]
    form: Callable[[int, int, float, float], float]
    n_step: int = 1
    m_step: int = 1
    tight: bool = False

    def holds_for(self, n: int, m: int) -> bool:
        return n % self.n_step == 0 and m % self.m_step == 0


def ramped(n: int, m: int, c: float, r: float) -> float:
    return m * n * (c + r) + (n - 1) * r


def descended(n: int, m: int, c: float, r: float) -> float:
    again = (m // 2 - 1) * (n - 1) * max(0.0, r - c)
    return m * (n + 1) * (c + r) / 2 + (n - 1) * r + again


CLAIMS = [
    Claim("ascending", False, lambda n: n, ramped),
    Claim("ascending", True, lambda n: n, ramped),
    Claim("descending", True, lambda n: n, descended, m_step=2),
    Claim("shift", False, lambda n: n, lambda n, m, c, r: m * n * (c + r), tight=True),
    Claim(
        "symmetric-shift",
        True,
        lambda n: n,
        lambda n, m, c, r: m * (n + 1) * (c + r) / 2,
        n_step=2,
        m_step=2,
        tight=True,
    ),
    Claim(
        "symmetric-shift", True, lambda n: (n + 1) // 2, lambda n, m, c, r: m * (n + 1) * (c + r)
    ),
]


def differences(dash: DashOpt, case: tuple[Claim, int, int]) -> list[str]:
    """dash-opt's makespan for one cost, and the model's of the same order for the others."""
    claim, n, m = case
    asked = Cost(*COSTS[(n + m) % len(COSTS)])
    request = Request(square(n, m, claim.causal), claim.kind, claim.workers(n), cost=asked)
    answer = dash.run(request)
    if answer.document is None:
        return answer.differences()
    found = [("reported", asked, answer.schedule["makespan"])]
    graph = EventGraph.of(order_of(answer.schedule))
    found += [("modelled", cost, makespan(graph, cost)) for cost in (Cost(*c) for c in COSTS)]
    lines = [
        f"{claim.kind}, n {n}, m {m}, c {cost.compute}, r {cost.reduce}: {how} {have}, closed form "
        f"{claim.form(n, m, cost.compute, cost.reduce)}"
        for how, cost, have in found
        if have != claim.form(n, m, cost.compute, cost.reduce)
    ]
    if claim.tight and answer.schedule["lowerBound"] != answer.schedule["makespan"]:
        lines.append(f"{claim.kind}, n {n}, m {m}: above the lower bound")
    return answer.told(lines)


def main() -> int:
    dash, tally = DashOpt.from_arguments(__doc__.splitlines()[0]), Tally()
    cases = [
        (claim, n, m)
        for claim in CLAIMS
        for n in range(2, 17)
        for m in range(1, 9)
        if claim.holds_for(n, m)
    ]
    tally.check_all(cases, lambda case: differences(dash, case))
    return tally.exit_code()


if __name__ == "__main__":
    sys.exit(main())
