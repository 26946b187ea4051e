# RUN: %python %s --dash-opt dash-opt --dash-run dash-run --tmp %t
# REQUIRES: python
"""delta of an o that is not rounded, on the CPU lane: bits of both programs, and how much less the
error of dq and dk is. The table of numbers.md is what this prints."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(Path(__file__).parent / "lib"), str(ROOT / "python")]

from programs import Case, Tools  # noqa: E402  (finds the models of schedules)

import numpy as np  # noqa: E402
from arithmetic import ROUND, decode, encode, row_sums, same_bits  # noqa: E402
from dash_opt import Request, Tally  # noqa: E402
from forward import Arrays, Forward, execute, model  # noqa: E402
from problem import Mask, Problem, Sequence  # noqa: E402

from dash_attn import reference  # noqa: E402

F32 = np.float32
PAGE = ROOT / "dialects/dash/docs/numbers.md"
ROWS, HEADS, HEAD_DIM = 256, 4, 64
WAYS = "rounded", "two halves", "unrounded", "unrounded, slack 8", "exact"
# An error beside that of an exact delta, which is that of P and dS as factors of products.
MOST_MORE = 1.15


@dataclass(frozen=True)
class Row:
    """A problem of the table. peak: a factor on q, so on the spread of scores."""

    name: str
    mask: Mask
    sink: float | None = None
    peak: float = 1
    softcap: float | None = None
    half: str = "bf16"

    def forward(self, slack: float) -> Forward:
        problem = Problem((Sequence(ROWS, ROWS),), 64, 128, self.mask, HEADS, HEADS)
        has_sink = self.sink is not None
        rest = {"softcap": self.softcap, "half": self.half, "has_sink": has_sink}
        return Forward(problem, slack=slack, is_unrounded=True, **rest)

    def backward(self, **rest: bool) -> Case:
        request = Request(self.forward(0).problem, "ascending", 3)
        has_sink = self.sink is not None
        return Case(request, softcap=self.softcap, half=self.half, has_sink=has_sink, **rest)

    def inputs(self) -> Arrays:
        rng, shape = np.random.default_rng(7), (1, HEADS, ROWS, HEAD_DIM)
        made = {name: rng.standard_normal(shape).astype(F32) for name in ("q", "k", "v", "do")}
        made["q"] *= F32(self.peak)
        found = {name: encode(ROUND[self.half](one), self.half) for name, one in made.items()}
        found["scale"] = F32(HEAD_DIM**-0.5)
        if self.sink is not None:
            found["sink"] = np.full(HEADS, self.sink, F32)
        return found


def window(columns: int) -> Mask:
    return Mask(window=(columns - 1, 0))


CAUSAL, FULL = Mask(causal=True), Mask()
TABLE = (
    *(Row(f"window of {n}, sink of -3", window(n), sink=-3) for n in (1, 2, 8, 64)),
    Row("window of 1, sink of 0", window(1), sink=0),
    *(Row(f"window of {n}", window(n)) for n in (2, 8, 64)),
    Row("causal", CAUSAL),
    Row("causal, softcap 20", CAUSAL, softcap=20.0),
    Row("causal, sink of 0", CAUSAL, sink=0),
    Row("full", FULL),
    Row("full, scores of 4", FULL, peak=4),
    Row("full, scores of 8", FULL, peak=8),
    Row("window of 1, sink of -3, f16", window(1), sink=-3, half="f16"),
    Row("full, scores of 8, f16", FULL, peak=8, half="f16"),
)


def errors_of(tools: Tools, number: int, row: Row) -> tuple[dict[str, list[float]], list[str]]:
    """Errors of dq and dk for each delta, and what is wrong with bits. Gradients are those of
    kernels: P and dS are rounded where they are factors, and sums are not."""
    rounded, given = ROUND[row.half], row.inputs()
    outcomes, wrong = {}, []
    for slack in (0, 8):
        case = row.forward(slack)
        outcome = execute(tools, case, f"fwd-{number}-{slack}", inputs=given)
        outcomes[slack] = outcome.arrays()
        wrong += [
            f"{row.name}, slack {slack}: other bits of {name}"
            for name, expected in model(case, outcome).items()
            if not same_bits(expected, outcome.files[name])
        ]
    do = decode(given["do"])
    wide = {name: decode(given[name]).astype(np.float64) for name in ("q", "k", "v", "do")}
    options = {"scale": HEAD_DIM**-0.5, "softcap": row.softcap, "sink": given.get("sink")}
    options["mask"] = reference.Mask(*((-1, 0) if row.mask.causal else row.mask.window or (-1, -1)))
    qkv = wide["q"], wide["k"], wide["v"]
    exact_o, exact_lse = reference.forward(*qkv, **options)
    expected = reference.backward(*qkv, wide["do"], exact_o, exact_lse, **options)

    def delta_of(o: np.ndarray) -> np.ndarray:
        return row_sums(o * do)

    narrow, plain = outcomes[0], outcomes[8]
    whole = narrow["unrounded"]
    deltas = (
        (plain, delta_of(plain["o"])),
        (narrow, delta_of(narrow["o"] + rounded(whole - narrow["o"]))),
        (narrow, delta_of(whole)),
        (plain, delta_of(plain["unrounded"])),
        (narrow, (exact_o * wide["do"]).sum(-1)),
    )
    errors = {}
    for name, (forward, delta) in zip(WAYS, deltas):
        found = reference.backward(
            *qkv,
            wide["do"],
            exact_o,
            forward["lse"],
            **options,
            delta=delta,
            rounded=lambda x: rounded(x.astype(F32)),
        )
        errors[name] = [
            float(np.linalg.norm(rounded(found[one].astype(F32)) - expected[one]))
            / float(np.linalg.norm(expected[one]))
            for one in ("dq", "dk")
        ]
    return errors, wrong


def bits_of_backward(tools: Tools, number: int, row: Row) -> list[str]:
    """A program of an unrounded o has the bits of one that is given its delta; one of the rounded o
    has others."""
    given = row.inputs()
    outcome = execute(tools, row.forward(0), f"fwd-bits-{number}", inputs=given)
    do, wrong, ran = decode(given["do"]), [], {}
    o = outcome.files["unrounded"]
    shared = {**given, "lse": outcome.files["lse"]}
    for name, extra, rest in (
        ("unrounded", {"o": o}, {"is_unrounded": True}),
        ("delta", {"delta": row_sums(o * do)}, {"takes_delta": True}),
        ("rounded", {"o": outcome.files["o"]}, {}),
    ):
        folder = tools.scratch / f"args-{name}-{number}"
        folder.mkdir(exist_ok=True)
        for tensor, array in {**shared, **extra}.items():
            np.save(folder / f"{tensor}.npy", array)
        ran[name] = tools.execute(row.backward(**rest), f"bwd-{name}-{number}", folder).files
    names = ["dq", "dk", "dv", *(["dsink"] if row.sink is not None else [])]
    for name in names:
        if not same_bits(ran["unrounded"][name], ran["delta"][name]):
            wrong.append(f"{row.name}: {name} has other bits than of the same delta")
    if same_bits(ran["unrounded"]["dq"], ran["rounded"]["dq"]):
        wrong.append(f"{row.name}: an o that is rounded gives the same bits: nothing is compared")
    return wrong


def line_of(row: Row, errors: dict[str, list[float]]) -> str:
    cells = [", ".join(f"{error:.1e}" for error in errors[way]) for way in WAYS]
    return f"| {' | '.join([row.name, *cells])} |"


def main() -> int:
    tools, page = Tools.from_arguments(__doc__), PAGE.read_text(encoding="utf-8")
    lines = {}

    def check(numbered: tuple[int, Row]) -> list[str]:
        number, row = numbered
        try:
            errors, wrong = errors_of(tools, number, row)
        except RuntimeError as error:
            return [row.name, str(error)]
        lines[number] = line_of(row, errors)
        if lines[number] not in page:
            wrong.append(f"{PAGE.name} has another line than: {lines[number]}")
        for mine, least in zip(errors["unrounded"], errors["exact"]):
            if not mine <= MOST_MORE * least:
                wrong.append(f"{row.name}: error {mine:.2e}, that of an exact delta is {least:.2e}")
        return wrong

    tally = Tally()
    tally.check_all(enumerate(TABLE), check)
    print(f"| dq, dk | {' | '.join(WAYS)} |", *map(lines.get, sorted(lines)), sep="\n")
    tally.check_all(
        enumerate((TABLE[1], TABLE[9], replace(TABLE[6], half="f16"))),
        lambda numbered: bits_of_backward(tools, *numbered),
    )
    return tally.exit_code()


if __name__ == "__main__":
    sys.exit(main())
