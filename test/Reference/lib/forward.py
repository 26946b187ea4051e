"""Attention's forward: a program of it, what it computes bit for bit, and in float64."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from arithmetic import ROUND, decode, encode, product, tanh_of_scores
from dash_opt import mask_text
from gradients import Places, visible
from problem import Problem
from programs import Tools, call
from report import Json, read

F32 = np.float32
LOG2E, LN2 = F32(1.44269504088896340736), F32(0.693147180559945309417)
LANES = 4
Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Forward:
    """A problem, and what beside it decides the program."""

    problem: Problem
    kind: str = "ascending"
    workers: int = 3
    form: str = "formulas"
    level: str = "row"
    is_list: bool = False
    half: str = "bf16"
    head_dim: int = 64
    head_dim_v: int = 64
    softcap: float | None = None
    has_sink: bool = False
    slack: float = 8
    scale: float | None = None
    cut: int | None = None
    fold: int | None = None
    seed: int = 1
    is_unrounded: bool = False

    def title(self) -> str:
        problem = self.problem
        rows = "+".join(f"{s.q}x{s.kv}" for s in problem.sequences)
        return (
            f"{self.kind} {mask_text(problem.mask)} rows {rows} heads"
            f" {problem.heads}/{problem.kv_heads} tiles {problem.tile_q}x{problem.tile_kv} workers"
            f" {self.workers} {self.form} level {self.level} {self.half}"
            f" {self.head_dim}/{self.head_dim_v} softcap {self.softcap} sink {self.has_sink} slack"
            f" {self.slack} cut {self.cut} fold {self.fold}{', unrounded' * self.is_unrounded}"
        )

    def text(self) -> str:
        """The program as a user writes it, with all sizes open that can be."""
        batch = 1 if self.is_list else "?"
        rows = ", ".join(f"[{s.q}, {s.kv}]" for s in self.problem.sequences)
        clauses = f" sequences(<{rows}>)" if self.is_list else ""
        sink = ", %sink: memref<?xf32>" if self.has_sink else ""
        clauses += " sink(%sink : memref<?xf32>)" if self.has_sink else ""
        clauses += f" softcap({self.softcap})" if self.softcap else ""
        clauses += f" cut({self.cut})" if self.cut else ""
        strides = "strided<[?, ?, ?, 1], offset: ?>"
        if self.is_unrounded:
            wide = f"memref<{batch}x?x?x{self.head_dim_v}xf32, {strides}>"
            clauses += f" unrounded(%unrounded : {wide})"
            sink += f", %unrounded: {wide}"
        clauses += f" fold({self.fold})" if self.fold else ""
        return f"""
!q = memref<{batch}x?x?x{self.head_dim}x{self.half}, {strides}>
!v = memref<{batch}x?x?x{self.head_dim_v}x{self.half}, {strides}>
!r = memref<{batch}x?x?xf32>
func.func @attention_fwd(%q: !q, %k: !q, %v: !v, %o: !v, %lse: !r, %scale: f32{sink}) {{
  dash.attention_fwd ins(%q, %k, %v : !q, !q, !v) outs(%o, %lse : !v, !r)
      {mask_text(self.problem.mask)} level({self.level}) scale(%scale){clauses}
  return
}}
"""

    def sizes(self) -> str:
        problem, first = self.problem, self.problem.sequences[0]
        if self.is_list:
            q = "+".join(str(sequence.q) for sequence in problem.sequences)
            kv = "+".join(str(sequence.kv) for sequence in problem.sequences)
            rows = f"q:{q},kv:{kv}"
        else:
            rows = f"q:{first.q},kv:{first.kv},batch:{len(problem.sequences)}"
        return f"{rows},heads:{problem.heads},kv-heads:{problem.kv_heads}"

    def options(self) -> list[str]:
        return [
            f"--dash-tile=q={self.problem.tile_q} kv={self.problem.tile_kv} slack={self.slack}",
            (
                f"--dash-apply-schedule=kind={self.kind} workers={self.workers} form={self.form}"
                f" sizes={self.sizes()}"
            ),
        ]


@dataclass
class Outcome:
    """Tensors as numbers; the order that made them, and the command."""

    schedule: Json
    files: Arrays
    command: str

    def arrays(self) -> Arrays:
        return {name: decode(array) for name, array in self.files.items()}


def execute(tools: Tools, case: Forward, name: str, inputs: Arrays | None = None) -> Outcome:
    """Runs one program; on inputs from its seed, except for those given, as files hold them."""
    folder = tools.scratch / name
    shutil.rmtree(folder, ignore_errors=True)  # of an earlier run, of another case
    (folder / "args").mkdir(parents=True)
    source, scheduled, report = (folder / f for f in ("in.mlir", "scheduled.mlir", "report.json"))
    source.write_text(case.text(), encoding="utf-8")
    reports = f"--dash-report-schedule=format=json output={report}"
    call([tools.opt, str(source), *case.options(), reports, "-o", str(scheduled)])
    given = dict(inputs or {})
    if case.scale is not None:
        given["scale"] = F32(case.scale)
    for tensor, array in given.items():
        np.save(folder / "args" / f"{tensor}.npy", array)
    command = [tools.run, str(scheduled), f"--seed={case.seed}", f"--args={folder / 'args'}"]
    command.append(f"--out={folder}")
    call(command)
    files = {
        path.stem: np.load(path)
        for where in (folder / "args", folder)
        for path in Path(where).glob("*.npy")
    }
    return Outcome(read(report)["schedules"][0], files, " ".join(command))


def power(exponent: np.ndarray) -> np.ndarray:
    """2 to an exponent: in float64, rounded once."""
    with np.errstate(over="ignore"):
        return np.exp2(exponent.astype(np.float64)).astype(F32)


def fused(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """a b + c, rounded once but for the one case in 2^40 that rounds twice."""
    wide = np.longdouble
    return (wide(a) * wide(b) + wide(c)).astype(F32)


class RowState:
    """What rows carry from tile to tile."""

    def __init__(self, rows: int, columns: int, sink: np.float32 | None):
        self.output = np.zeros((rows, columns), F32)
        self.sums = np.zeros((rows, LANES), F32)
        self.max = np.full(rows, -np.inf, F32)
        if sink is not None:
            self.max[:], self.sums[:, 0] = sink * LOG2E, 1

    def see(self, scores: np.ndarray, unit: np.float32, slack: float, v: np.ndarray, half: str):
        """A tile whose hidden scores are -inf."""
        hidden = np.isneginf(scores)
        with np.errstate(invalid="ignore"):
            most = np.where(hidden, -np.inf, np.where(hidden, 0, scores) * unit).max(1)
            new = np.where(most > self.max + F32(slack), most, self.max)
            factor = np.where(new == self.max, F32(1), power(self.max - new))
            exponent = fused(np.where(hidden, 0, scores), unit, -new[:, None])
        p = np.where(hidden, F32(0), power(np.where(hidden, 0, exponent)))
        for lane in range(LANES):
            both = np.zeros((2, len(p)), F32)
            for first in range(2 * lane, p.shape[1], 2 * LANES):
                both += p[:, first : first + 2].T
            self.sums[:, lane] = fused(self.sums[:, lane], factor, both[0] + both[1])
        self.output = product(ROUND[half](p), v, self.output * factor[:, None])
        self.max = new

    def finish(self) -> tuple[np.ndarray, np.ndarray]:
        total = (self.sums[:, 0] + self.sums[:, 1]) + (self.sums[:, 2] + self.sums[:, 3])
        empty = total == 0
        inverse = F32(1) / np.where(empty, F32(1), total)
        log = np.log2(np.where(empty, 1, total).astype(np.float64)).astype(F32)
        lse = (np.where(empty, F32(0), self.max) + log) * LN2
        output = np.where(empty[:, None], F32(0), fused(self.output, inverse[:, None], F32(0)))
        return output, np.where(empty, F32(-np.inf), lse)


def combine(o: np.ndarray, lse: np.ndarray, sink: np.ndarray | None) -> Arrays:
    """Rows from their pieces, which the first dimension counts."""
    most = np.full(lse.shape[1:], -np.inf, F32)
    if sink is not None:
        most[...] = sink[:, None]
    for one in lse:
        most = np.where(one > most, one, most)  # not if it is NaN

    def weight_of(one: np.ndarray) -> np.ndarray:
        with np.errstate(invalid="ignore"):
            return np.where(one == most, F32(1), power((one - most) * LOG2E))

    total, output = np.zeros(most.shape, F32), np.zeros(o.shape[1:], F32)
    if sink is not None:
        total = weight_of(np.broadcast_to(sink[:, None], most.shape))
    for one, numbers in zip(lse, o):
        seen = ~np.isneginf(one)
        weight = np.where(seen, weight_of(one), F32(0))
        total = total + weight
        output = np.where(seen[..., None], fused(weight[..., None], numbers, output), output)
    empty = total == 0
    inverse = F32(1) / np.where(empty, F32(1), total)
    log = np.log2(np.where(empty, 1, total).astype(np.float64)).astype(F32) * LN2
    output = np.where(empty[..., None], F32(0), fused(output, inverse[..., None], F32(0)))
    return {"o": output, "lse": np.where(empty, F32(-np.inf), most + log)}


def model(case: Forward, outcome: Outcome) -> Arrays:
    """o and lse as a file holds them, bit for bit, in the order of the schedule."""
    problem, arrays = case.problem, outcome.arrays()
    places, scale = Places(problem, case.is_list), arrays["scale"][()]
    pieces = 1 + max(item.get("piece", 0) for item in outcome.schedule["items"])
    o = np.zeros((pieces, *arrays["o"].shape), F32)
    lse = np.full((pieces, *arrays["lse"].shape), -np.inf, F32)
    seen = [visible(problem.mask, s.q, s.kv) for s in problem.sequences]
    unit = (scale if case.softcap is None else F32(case.softcap)) * LOG2E
    for item in outcome.schedule["items"]:
        s, head, q_tile = item["sequence"], item["head"], item["q"]
        q = places.tile(arrays["q"], s, head, q_tile, False)
        sink = arrays["sink"][head] if case.has_sink and not case.cut else None
        state = RowState(problem.tile_q, case.head_dim_v, sink)
        for kv_head, kv_tile in item["visit"]:
            k, v = (places.tile(arrays[name], s, kv_head, kv_tile, True) for name in "kv")
            scores = product(q, k.T)
            if case.softcap is not None:
                scores = tanh_of_scores(scale * scores, F32(case.softcap))
            rows = slice(q_tile * problem.tile_q, (q_tile + 1) * problem.tile_q)
            columns = slice(kv_tile * problem.tile_kv, (kv_tile + 1) * problem.tile_kv)
            live, some = np.zeros(scores.shape, bool), seen[s][rows, columns]
            live[: some.shape[0], : some.shape[1]] = some
            state.see(np.where(live, scores, F32(-np.inf)), unit, case.slack, v, case.half)
        output, log = state.finish()
        piece = item.get("piece", 0)
        places.put(o[piece], s, head, q_tile, False, output)
        places.put(lse[piece], s, head, q_tile, False, log)
    found = {"o": o[0], "lse": lse[0]}
    if case.cut:
        found = combine(o, lse, arrays["sink"] if case.has_sink else None)
    unrounded = {"unrounded": found["o"]} if case.is_unrounded else {}
    o = encode(ROUND[case.half](found["o"]), case.half)
    return {"o": o, "lse": found["lse"], **unrounded}


def by_definition(case: Forward, outcome: Outcome) -> Arrays:
    """o and lse in float64."""
    problem, places = case.problem, Places(case.problem, case.is_list)
    wide = {name: array.astype(np.float64) for name, array in outcome.arrays().items()}
    o, lse = np.zeros_like(wide["o"]), np.zeros_like(wide["lse"])
    for s, lengths in enumerate(problem.sequences):
        seen = visible(problem.mask, lengths.q, lengths.kv)
        (b, rows), (_, columns) = places.rows(s, False), places.rows(s, True)
        for head in range(problem.heads):
            kv_head = head // problem.group
            k, v = wide["k"][b, kv_head, columns], wide["v"][b, kv_head, columns]
            scores = wide["scale"] * (wide["q"][b, head, rows] @ k.T)
            if case.softcap is not None:
                scores = case.softcap * np.tanh(scores / case.softcap)
            scores = np.where(seen, scores, -np.inf)
            sink = wide["sink"][head] if case.has_sink else -np.inf
            most = np.maximum(scores.max(1), sink)
            most = np.where(np.isneginf(most), 0, most)
            p = np.exp(scores - most[:, None])
            total = p.sum(1) + np.exp(sink - most)
            with np.errstate(divide="ignore"):
                lse[b, head, rows] = most + np.log(total)
            o[b, head, rows] = p @ v / np.where(total == 0, 1, total)[:, None]
    return {"o": o, "lse": lse}
