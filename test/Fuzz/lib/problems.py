"""Random problems by seed: their schedules are proven by dash-opt and checked by the model in
Python.

Many functions stand in one module, so that a process serves many cases. What a dash-opt can do (its
kinds, its masks) is asked of it, so a new one is tried from the day it exists.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from checks import document_differences
from cost import Cost
from dash_opt import serves
from orders import random_order
from problem import Blocks, Mask, Problem, Sequence, Union
from report import (
    Json,
    Numbers,
    Setting,
    cost_of,
    document,
    order_of,
    problem_of,
    read,
    schedule_json,
)
from tool import Tool
from trace import trace_differences

MOST_TASKS = 2500
COSTS = [
    Cost(),
    Cost(2.1, 1.6, 0.3, 2),
    Cost(1.0, 3.0, 0.25, 1),
    Cost(0.7, 0.1, 5.0, 3),
    Cost(1e-3, 1e6, 0.0, 40),
]


@dataclass(frozen=True)
class Powers:
    """What the dash-opt under test can be asked for."""

    kinds: tuple[str, ...]
    has_windows: bool
    has_blocks: bool
    has_unions: bool

    @staticmethod
    def of(tool: Tool) -> Powers:
        def parses(mask: str) -> bool:
            return (
                tool.run_text(
                    f"func.func private @f() attributes {{m = #dash.mask<{mask}>}}\n"
                ).code
                == 0
            )

        text = module_text(["run"], [Problem((Sequence(16, 16),))])
        refusal = tool.run_text(
            text, "--dash-tile=q=16 kv=16", "--dash-apply-schedule=kind=?"
        ).errors
        named = re.search(r"expected one of (.*) or file", refusal)
        if not named:
            raise RuntimeError(f"dash-opt names no kinds: {refusal}")
        # The model checks chains, which `unordered` has none of.
        kinds = tuple(kind for kind in named[1].split(", ") if kind != "unordered")
        return Powers(
            kinds,
            parses("window = [5, 0]"),
            parses("blocks = #dash.blocks<q = 64, kv = 64, bits = dense<1> : tensor<1x1xi1>>"),
            parses("union = #dash.union<columns = 1, window = [5, 0]>"),
        )


def mask_text(mask: Mask) -> str:
    words = ["causal"] if mask.causal else []
    if mask.window is not None:
        words.append(f"window = [{mask.window[0]}, {mask.window[1]}]")
    if mask.blocks is not None:
        rows = [[int(bit) for bit in row] for row in mask.blocks.bits]
        words.append(
            f"blocks = #dash.blocks<q = {mask.blocks.q}, kv = {mask.blocks.kv}, "
            f"bits = dense<{rows}> : tensor<{len(rows)}x{len(rows[0])}xi1>>"
        )
    if mask.union is not None:
        left, right = mask.union.window
        words.append(
            f"union = #dash.union<columns = {mask.union.columns}, window = [{left}, {right}]>"
        )
    return ", ".join(words) or "full"


def function_text(name: str, level: str, problem: Problem) -> str:
    """An attention backward of static sizes; equal sequences are a batch in every other problem.
    Some have a sink, some a softcap: no order knows of them."""
    q = sum(s.q for s in problem.sequences)
    kv = sum(s.kv for s in problem.sequences)
    batch, sequences = 1, ""
    is_uniform = len(set(problem.sequences)) == 1
    if is_uniform and (len(problem.sequences) == 1 or q % 2 == 0):
        batch, q, kv = len(problem.sequences), problem.sequences[0].q, problem.sequences[0].kv
    else:
        sequences = f" sequences(<{', '.join(f'[{s.q}, {s.kv}]' for s in problem.sequences)}>)"
    query = f"memref<{batch}x{problem.heads}x{q}x64xbf16>"
    key = f"memref<{batch}x{problem.kv_heads}x{kv}x64xbf16>"
    row = f"memref<{batch}x{problem.heads}x{q}xf32>"
    sinks, scores = "", " softcap(30.0)" if kv % 3 == 0 else ""
    if q % 3 == 0 and not sequences:
        types = f"memref<{problem.heads}xf32>", f"memref<{batch}x{problem.heads}xf32>"
        sinks = f", %sink: {types[0]}, %dsink: {types[1]}"
        scores = f" sink(%sink, %dsink : {', '.join(types)}){scores}"
    return (
        f"func.func @{name}(%q: {query}, %k: {key}, %v: {key}, %do: {query}, %o: {query}, %lse:"
        f" {row}, %dq: {query}, %dk: {key}, %dv: {key}{sinks}) {{\n  dash.attention_bwd ins(%q, %k,"
        f" %v, %do, %lse, o = %o : {query}, {key}, {key}, {query}, {row}, {query})\n    outs(%dq,"
        f" %dk, %dv : {query}, {key}, {key}) mask(<{mask_text(problem.mask)}>)"
        f" level({level}){sequences}{scores}\n  return\n}}\n"
    )


def module_text(levels: list[str], problems: list[Problem]) -> str:
    return "".join(
        function_text(f"p{index}", level, problem)
        for index, (level, problem) in enumerate(zip(levels, problems))
    )


class Maker:
    """Draws problems that share tiles and parts."""

    def __init__(self, rng: random.Random, powers: Powers) -> None:
        self.rng, self.powers = rng, powers
        self.tiles = rng.choice(
            [(16, 16), (64, 128), (64, 64), (128, 64), (16, 48), (80, 32), (256, 16)]
        )
        self.parts = rng.choice([1, 1, 1, 2, 3, 4])
        # Runs of the q tiles of one head: then the query heads of a kv head are given.
        self.group = rng.choice([1, 1, 2]) if rng.random() < 0.25 else None
        if self.group:
            self.parts = self.group * rng.choice([2, 2, 3, 5])

    def length(self, tile: int) -> int:
        """Rows of few tiles, the last as often full, or of one row, as not."""
        whole = self.rng.choice([0, 0, 1, 1, 2, 3, 4, 7, 8, 12, 21])
        return whole * tile + self.rng.choice([1, tile, tile, self.rng.randint(1, tile)])

    def sequences(self) -> tuple[Sequence, ...]:
        q, kv = self.tiles
        count = self.rng.choice([1, 1, 1, 1, 2, 2, 3, 5, 12])
        drawn = [Sequence(self.length(q), self.length(kv)) for _ in range(count)]
        if self.rng.random() < 0.4:
            drawn = [Sequence(s.q, s.q) for s in drawn]
        if self.rng.random() < 0.3:
            drawn = [self.rng.choice(drawn[:2]) for _ in drawn]
        return tuple(drawn)

    def mask(self, sequences: tuple[Sequence, ...]) -> Mask:
        rng, most_q, most_kv = self.rng, max(s.q for s in sequences), max(s.kv for s in sequences)
        causal = rng.random() < 0.5
        window = blocks = union = None
        if self.powers.has_windows and rng.random() < 0.5:
            window = tuple(
                rng.choice([-1, 0, 1, rng.randrange(2 * most_kv), rng.randrange(100)])
                for _ in range(2)
            )
        if self.powers.has_blocks and rng.random() < 0.4:
            q, kv = (tile * rng.choice([1, 1, 2, 3]) for tile in self.tiles)
            share = rng.choice([0.0, 0.1, 0.3, 0.7, 1.0])
            blocks = Blocks(
                q,
                kv,
                tuple(
                    "".join("1" if rng.random() < share else "0" for _ in range(-(-most_q // q)))
                    for _ in range(-(-most_kv // kv))
                ),
            )
        if self.powers.has_unions and rng.random() < 0.3:
            columns = rng.choice(
                [1, 4, self.tiles[1], rng.randint(1, most_kv), rng.randint(1, 2 * most_kv)]
            )
            union = Union(
                columns,
                (
                    rng.choice([-1, 0, rng.randrange(most_kv)]),
                    rng.choice([-1, 0, rng.randrange(100)]),
                ),
            )
        return Mask(causal, window, blocks, union)

    def problem(self) -> Problem:
        while True:
            sequences, kv_heads = self.sequences(), self.rng.choice([1, 1, 2, 3])
            heads = kv_heads * (self.group or self.parts * self.rng.choice([1, 1, 2, 3]))
            drawn = Problem(
                sequences, *self.tiles, self.mask(sequences), heads, kv_heads, self.parts
            )
            if (
                drawn.runs <= max(map(drawn.q_tiles, range(len(sequences))))
                and sum(drawn.q_tiles(s) * drawn.kv_tiles(s) for s in range(len(sequences))) * heads
                <= MOST_TASKS
            ):
                return drawn


@dataclass(frozen=True)
class Asked:
    """What the whole module is asked for."""

    kind: str
    level: str
    workers: int
    for_workers: int
    cost: Cost
    form: str
    apart: str  # "parts" where there are some

    @staticmethod
    def draw(rng: random.Random, kinds: tuple[str, ...]) -> Asked:
        workers = rng.choice([1, 2, 3, 5, 7, 8, 16, 33, 64, 131, 132])
        cost = rng.choice(
            [
                *COSTS,
                Cost(
                    rng.uniform(0.1, 4),
                    rng.uniform(0.1, 4),
                    rng.uniform(0, 2),
                    rng.randint(1, 4),
                    rng.uniform(0, 6),
                    rng.uniform(0, 3),
                    1.5,
                ),
            ]
        )
        return Asked(
            rng.choice(kinds),
            rng.choice(["run", "batch", "machine"]),
            workers,
            rng.randint(1, workers),
            cost,
            rng.choice(["formulas", "table"]),
            rng.choice(["none", "none", "parts", "all"]),
        )

    def serving(self, problems: list[Problem]) -> Asked:
        """A kind that cuts as these problems are cut."""
        return (
            self
            if all(serves(self.kind, problem) for problem in problems)
            else replace(self, kind="synthesized")
        )

    def options(self, parts: int) -> str:
        cost, apart = self.cost, "none" if self.apart == "parts" and parts == 1 else self.apart
        return (
            f"--dash-apply-schedule=kind={self.kind} level={self.level} workers={self.workers}"
            f" for-workers={self.for_workers} parts={parts} form={self.form}"
            f" compute={cost.compute!r} reduce={cost.reduce!r} latency={cost.latency!r}"
            f" buffers={cost.buffers} boundary={cost.boundary!r} piece={cost.piece!r}"
            f" convert={cost.convert!r} gather={cost.gather!r} apart={apart}"
        )


def request_differences(asked: Asked, problem: Problem, schedule: Json) -> list[str]:
    """Where the report is of something else than was asked."""
    found, cost = problem_of(schedule), asked.cost
    pairs = [
        ("level", schedule["level"], asked.level),
        ("workers", schedule["workers"], asked.workers),
        ("cost", cost_of(schedule), cost),
        ("sequences", found.sequences, problem.sequences),
        ("tiles", (found.tile_q, found.tile_kv), (problem.tile_q, problem.tile_kv)),
        (
            "heads",
            (found.heads, found.kv_heads, found.parts),
            (problem.heads, problem.kv_heads, problem.parts),
        ),
    ]
    lines = [f"{what}: found {have}, asked {want}" for what, have, want in pairs if have != want]
    if not lines and not all(
        np.array_equal(found.active(s), problem.active(s)) for s in range(len(found.sequences))
    ):
        lines.append(f"mask: found {found.mask}, asked {problem.mask}")
    return lines


def built_differences(tool: Tool, powers: Powers, seed: int, count: int) -> list[str]:
    """One module of `count` problems, ordered by one kind; what is printed reads back as the same
    orders."""
    rng = random.Random(seed)
    maker, asked = Maker(rng, powers), Asked.draw(rng, powers.kinds)
    problems = [maker.problem() for _ in range(count)]
    asked = asked.serving(problems)
    source, report, again, ordered, trace = (
        tool.path(name) for name in ("in.mlir", "a.json", "b.json", "out.mlir", "trace.json")
    )
    source.write_text(module_text(["run"] * count, problems), encoding="utf-8")
    done = tool.run(
        str(source),
        f"--dash-tile=q={maker.tiles[0]} kv={maker.tiles[1]}",
        asked.options(maker.parts),
        "--dash-verify-schedule",
        f"--dash-report-schedule=format=json output={report}",
        f"--dash-explain=output={tool.path('explain.txt')}",
        f"--dash-report-schedule=format=trace output={trace}",
        "-o",
        str(ordered),
    )
    if done.code != 0:
        return done.told(f"exit code {done.code}")
    found = read(report)
    lines = document_differences(found)
    if len(found["schedules"]) != count:
        return done.told(f"{len(found['schedules'])} schedules of {count} problems")
    for problem, schedule in zip(problems, found["schedules"]):
        lines += [
            f"@{schedule['op']}: {line}" for line in request_differences(asked, problem, schedule)
        ]
    # A trace counts nanoseconds: what is shorter is not in it.
    if (
        not lines
        and min(asked.cost.compute, asked.cost.reduce) >= 0.1
        and sum(p.num_tasks() for p in problems) < 4000
    ):
        events = read(trace)
        lines = [
            f"trace of @{schedule['op']}: {line}"
            for process, schedule in enumerate(found["schedules"], 1)
            for line in trace_differences(schedule, events, process)
        ]
    if lines:
        return done.told(*lines[:5])
    done = tool.run(
        str(ordered),
        "--verify-roundtrip",
        "--dash-verify-schedule",
        f"--dash-report-schedule=format=json output={again}",
        "-o",
        "/dev/null",
    )
    if done.code != 0 or read(again) != found:
        return done.told(f"exit code {done.code}, or another order is read back")
    return []


def given_differences(tool: Tool, powers: Powers, seed: int, count: int) -> list[str]:
    """One module of `count` problems with random orders from a file: they come back as they
    were."""
    rng = random.Random(seed)
    maker = Maker(rng, powers)
    problems = [maker.problem() for _ in range(count)]
    orders = [random_order(problem, rng.choice([1, 2, 3, 8, 40]), rng) for problem in problems]
    listed = [
        schedule_json(
            problem,
            order,
            Numbers(0, 0, 1, False),
            Setting(op=f"p{index}", cost=rng.choice(COSTS), head_dim=64, head_dim_v=64),
        )
        for index, (problem, order) in enumerate(zip(problems, orders))
    ]
    source, file, report = tool.path("in.mlir"), tool.path("order.json"), tool.path("a.json")
    source.write_text(module_text(["run"] * count, problems), encoding="utf-8")
    tool.write_json(file, document(*listed))
    done = tool.run(
        str(source),
        f"--dash-tile=q={maker.tiles[0]} kv={maker.tiles[1]}",
        f"--dash-apply-schedule=kind=file path={file}",
        "--dash-verify-schedule",
        f"--dash-report-schedule=format=json output={report}",
        "-o",
        "/dev/null",
    )
    if done.code != 0:
        return done.told(f"exit code {done.code}")
    found = read(report)
    lines = document_differences(found)
    lines += [
        f"@{schedule['op']}: another order comes back"
        for order, schedule in zip(orders, found["schedules"])
        if order_of(schedule) != order
    ]
    return done.told(*lines[:5]) if lines else []


def module_differences(
    folder: Path, tool_path: str, powers: Powers, seed: int, count: int
) -> list[str]:
    """A fifth of the modules have orders from outside."""
    tool = Tool(tool_path, folder)
    check = given_differences if seed % 5 == 0 else built_differences
    return [f"problems of seed {seed}: {line}" for line in check(tool, powers, seed, count)]
