# RUN: %python %s --dash-opt dash-opt --dash-run dash-run --tmp %t | FileCheck %s
# REQUIRES: python
# CHECK: 33 of 33 claims hold
"""What comes out of numbers that are hard: infinities, NaN, a scale of 0, subnormals, the ends of
ranges (dialects/dash/docs/numbers.md).

Bits are also those of the model, in which any NaN is as good as another.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))

from programs import Case, Ran, Tools  # noqa: E402  (finds the models of schedules)

import numpy as np  # noqa: E402
from arithmetic import decode, encode, round_bf16  # noqa: E402
from dash_opt import Request  # noqa: E402
from gradients import float64_gradients, recompute, slots_of, sum_up  # noqa: E402
from problem import Mask, Problem, Sequence  # noqa: E402

Files = dict[str, np.ndarray]
# The changes: heads 0 and 1 share kv head 0, and 2 and 3 the other.
BATCH, HEAD, ROW, KV_HEAD = 0, 1, 5, 0
SEEN = 1 + ROW + 52 - 40  # kv rows that the row sees
CASE = Case(Request(Problem((Sequence(40, 52),), 16, 16, Mask(causal=True), 4, 2, 1), "shift", 4))
AT = (BATCH, HEAD, ROW)
FAILURES: list[str] = []
CLAIMS = 0


def claim(holds: object, what: str) -> None:
    global CLAIMS
    CLAIMS += 1
    if not holds:
        FAILURES.append(what)


def same(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(np.array_equal(decode(a), decode(b), equal_nan=True))


class Lane:
    """Runs a case on inputs that are changed."""

    def __init__(self, tools: Tools, case: Case = CASE, name: str = "case") -> None:
        self.tools, self.case, self.name, self.number = tools, case, name, 0
        self.plain = tools.execute(case, f"{name}-plain")

    def run(self, change: Callable[[Files], None], what: str) -> Ran:
        """The model has the same bits."""
        self.number += 1
        folder = self.tools.scratch / f"{self.name}-{self.number}-inputs"
        folder.mkdir(exist_ok=True)
        files = {
            name: self.plain.files[name].copy()
            for name in ("q", "k", "v", "do", "o", "lse", "scale")
        }
        change(files)
        for name, array in files.items():
            np.save(folder / f"{name}.npy", array)
        ran = self.tools.execute(self.case, f"{self.name}-{self.number}", args=folder)
        with np.errstate(all="ignore"):
            found = recompute(
                self.case.problem, ran.schedule, ran.arrays, self.case.half, self.case.is_list
            )
            chains, part_chains = slots_of(ran.schedule)
            for name, slots in (("dq", chains), ("dk", part_chains), ("dv", part_chains)):
                factor = np.float32(1) if name == "dv" else ran.arrays.scale
                expected = sum_up(
                    self.case.problem,
                    slots,
                    getattr(found, name),
                    ran.files[name],
                    name != "dq",
                    self.case.is_list,
                    factor,
                    self.case.half,
                )
                if not same(encode(expected, self.case.half), ran.files[name]):
                    FAILURES.append(
                        f"{what}: {name} has other bits than the model\n  {ran.command}"
                    )
        return ran


def put(name: str, at: tuple[int, ...], value: float) -> Callable[[Files], None]:
    def change(files: Files) -> None:
        files[name][at] = (
            value
            if files[name].dtype == np.float32
            else encode(np.full(1, value, np.float32), CASE.half)[0]
        )

    return change


def is_nan(ran: Ran, name: str) -> np.ndarray:
    """Rows of a gradient that are NaN altogether; a row that is so in part counts as none, which no
    claim expects."""
    nan = np.isnan(decode(ran.files[name]))
    return nan.all(-1) if (nan.all(-1) == nan.any(-1)).all() else np.zeros(nan.shape[:-1], bool)


def only(shape: tuple[int, ...], at: object) -> np.ndarray:
    where = np.zeros(shape, bool)
    where[at] = True
    return where


def check_lse(lane: Lane) -> None:
    empty = lane.run(put("lse", AT, -np.inf), "LSE -inf")
    claim((decode(empty.files["dq"])[AT] == 0).all(), "LSE -inf: dQ of the row is 0")
    claim(
        all(np.isfinite(decode(empty.files[name])).all() for name in ("dq", "dk", "dv")),
        "LSE -inf: all is finite",
    )
    other = lane.run(put("lse", AT, np.inf), "LSE inf")
    claim(
        all(same(empty.files[name], other.files[name]) for name in ("dq", "dk", "dv")),
        "LSE inf: as with -inf",
    )
    nan = lane.run(put("lse", AT, np.nan), "LSE NaN")
    claim((is_nan(nan, "dq") == only((1, 4, 40), AT)).all(), "LSE NaN: dQ of that row")
    for name in ("dk", "dv"):
        claim(
            (is_nan(nan, name) == only((1, 2, 52), (BATCH, KV_HEAD, slice(SEEN)))).all(),
            f"LSE NaN: {name} of what the row sees",
        )


def check_inputs(lane: Lane) -> None:
    """NaN and infinities in a row of an input."""
    for value in (np.nan, np.inf):
        for name in ("q", "do"):
            ran = lane.run(put(name, (*AT, 3), value), f"{name} {value}")
            dq, plain = decode(ran.files["dq"]), decode(lane.plain.files["dq"])
            rest = ~only((1, 4, 40), AT)
            claim(
                not np.isfinite(dq[AT]).all() and (dq[rest] == plain[rest]).all(),
                f"{name} {value}: dQ of that row only",
            )
            claim(
                all(same(ran.files[kv][:, 1], lane.plain.files[kv][:, 1]) for kv in ("dk", "dv")),
                f"{name} {value}: other kv heads keep their bits",
            )
        for name in ("k", "v"):
            ran = lane.run(put(name, (BATCH, KV_HEAD, ROW, 3), value), f"{name} {value}")
            rest = ~only((1, 2, 52), (BATCH, KV_HEAD, ROW))
            claim(
                all(
                    (decode(ran.files[kv])[rest] == decode(lane.plain.files[kv])[rest]).all()
                    for kv in ("dk", "dv")
                ),
                f"{name} {value}: dK and dV of that row only",
            )


def check_scale(lane: Lane) -> None:
    zero = lane.run(put("scale", (), 0), "scale 0")
    claim(
        all((decode(zero.files[name]) == 0).all() for name in ("dq", "dk")),
        "scale 0: dQ and dK are 0",
    )
    negative = lane.run(put("scale", (), -0.125), "scale below 0")
    for name, expected in float64_gradients(CASE.problem, negative.arrays, False).items():
        error = np.linalg.norm(decode(negative.files[name]) - expected.value)
        if not error <= 2.0**-7 * np.linalg.norm(expected.value):
            FAILURES.append(f"scale below 0: {name} is not near float64")


def check_ends(lane: Lane) -> None:
    """dV = P^T dO, with V and so dP of 0, where dO is tiny or huge."""

    def scaled(factor: float) -> Callable[[Files], None]:
        def change(files: Files) -> None:
            files["do"] = encode(
                round_bf16(np.abs(decode(files["do"])).clip(0.5, 1) * np.float32(factor)), "bf16"
            )
            files["v"][...] = 0
            files["o"][...] = 0

        return change

    tiny = lane.run(scaled(2.0**-130), "subnormals")
    exact = float64_gradients(CASE.problem, tiny.arrays, False)["dv"].value
    claim(
        (np.abs(decode(tiny.files["dv"]) - exact) <= 2.0**-134 + exact * 2.0**-7).all(),
        "subnormals are kept but in chains",
    )
    huge = lane.run(scaled(3.3e38), "the end of bf16")
    exact = float64_gradients(CASE.problem, huge.arrays, False)["dv"].value
    found, end = decode(huge.files["dv"]), 3.39e38
    claim(
        (found[exact > 1.01 * end] == np.inf).all() and (exact > 1.01 * end).any(),
        "past the end of bf16: inf",
    )
    claim(
        np.isfinite(found[exact < 0.98 * end]).all() and (exact < 0.98 * end).any(),
        "below the end of bf16: finite",
    )
    claim(
        all((decode(huge.files[name]) == 0).all() for name in ("dq", "dk")),
        "the end of bf16: dQ and dK without dP are 0",
    )


def check_few(tools: Tools) -> None:
    one = Lane(
        tools,
        Case(Request(Problem((Sequence(1, 1),), 16, 16, Mask(), 2, 1, 1), "ascending", 1)),
        "one",
    )
    ran = one.run(lambda files: None, "one row")
    claim(
        (np.abs(decode(ran.files["dq"])) < 0.02).all(),
        "one row, one column: dQ is what rounding leaves",
    )
    unseen = Lane(
        tools,
        Case(Request(Problem((Sequence(77, 50),), 16, 16, Mask(causal=True), 2, 1, 1), "shift", 3)),
        "unseen",
    )
    ran = unseen.run(lambda files: None, "rows of -inf")
    claim((decode(ran.files["dq"])[:, :, : 77 - 50] == 0).all(), "rows that see nothing: dQ is 0")


def check_lists(tools: Tools) -> None:
    """In a list, a row belongs to its sequence alone; one of the second sequence sees something
    from its row 16 on."""
    lengths = (Sequence(40, 52), Sequence(33, 17), Sequence(1, 1))
    lane = Lane(
        tools,
        Case(
            Request(Problem(lengths, 16, 16, Mask(causal=True), 2, 1, 1), "shift", 3), is_list=True
        ),
        "list",
    )
    claim(
        (decode(lane.plain.files["dq"])[0, :, 40:56] == 0).all(),
        "rows that see nothing of their sequence: dQ is 0",
    )
    q_of_others, kv_of_others = np.ones(74, bool), np.ones(70, bool)
    q_of_others[40:73], kv_of_others[52:69] = False, False
    for name, at in (("q", (0, 0, 60, 3)), ("lse", (0, 0, 60)), ("k", (0, 0, 55, 3))):
        ran = lane.run(put(name, at, np.nan), f"list, {name} NaN")
        claim(
            not np.isfinite(decode(ran.files["dq"])[0, 0, 60]).all(),
            f"list, {name} NaN: dQ of the row",
        )
        claim(
            all(
                (
                    decode(ran.files[one])[0, :, others]
                    == decode(lane.plain.files[one])[0, :, others]
                ).all()
                for one, others in (("dq", q_of_others), ("dk", kv_of_others), ("dv", kv_of_others))
            ),
            f"list, {name} NaN: other sequences keep their bits",
        )
    empty = lane.run(put("lse", (0, 0, 73), np.inf), "list, LSE inf")
    claim((decode(empty.files["dq"])[0, 0, 73] == 0).all(), "list, LSE inf: dQ of the row is 0")


def main() -> int:
    tools = Tools.from_arguments(__doc__)
    lane = Lane(tools)
    for check in (check_lse, check_inputs, check_scale, check_ends):
        check(lane)
    check_few(tools)
    check_lists(tools)
    print("\n".join(FAILURES))
    print(f"{CLAIMS - len(FAILURES)} of {CLAIMS} claims hold")
    return len(FAILURES) > 0


if __name__ == "__main__":
    sys.exit(main())
