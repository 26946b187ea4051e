"""Makes a program for a problem, gives it an order with dash-opt, and runs it with dash-run."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "Schedule" / "lib"))

from arithmetic import decode  # noqa: E402
from dash_opt import Request, mask_text  # noqa: E402
from gradients import Arrays, delta_of  # noqa: E402
from problem import Problem  # noqa: E402
from report import Json, read  # noqa: E402


@dataclass(frozen=True)
class Case:
    """A request, and what beside it decides the program."""

    request: Request
    half: str = "bf16"
    head_dim: int = 64
    head_dim_v: int = 64
    is_list: bool = False
    takes_delta: bool = False
    softcap: float | None = None
    has_sink: bool = False
    seed: int = 1
    is_unrounded: bool = False  # o is f32

    @property
    def problem(self) -> Problem:
        return self.request.problem

    def title(self) -> str:
        problem = self.problem
        rows = "+".join(f"{s.q}x{s.kv}" for s in problem.sequences)
        return (
            f"{self.request.kind} {mask_text(problem.mask)} rows {rows} heads"
            f" {problem.heads}/{problem.kv_heads} parts {problem.parts} tiles"
            f" {problem.tile_q}x{problem.tile_kv} workers {self.request.workers} level"
            f" {self.request.level} {self.half} {self.head_dim}/{self.head_dim_v} softcap"
            f" {self.softcap} sink {self.has_sink}"
        )


def program_text(case: Case) -> str:
    """The problem as a user writes it, with all sizes open that can be."""
    problem, delta = case.problem, case.takes_delta
    batch = 1 if case.is_list else "?"
    rows = ", ".join(f"[{s.q}, {s.kv}]" for s in problem.sequences)
    clauses = f" sequences(<{rows}>)" if case.is_list else ""
    sinks = ", %sink: memref<?xf32>, %dsink: memref<?x?xf32>" if case.has_sink else ""
    clauses += " sink(%sink, %dsink : memref<?xf32>, memref<?x?xf32>)" if case.has_sink else ""
    clauses += f" softcap({case.softcap})" if case.softcap else ""
    given, of_given = ("delta", "!r") if delta else ("o", "!o")
    of_o = "f32" if case.is_unrounded else case.half
    return f"""
!q = memref<{batch}x?x?x{case.head_dim}x{case.half}, strided<[?, ?, ?, 1], offset: ?>>
!k = memref<{batch}x?x?x{case.head_dim}x{case.half}, strided<[?, ?, ?, 1], offset: ?>>
!v = memref<{batch}x?x?x{case.head_dim_v}x{case.half}, strided<[?, ?, ?, 1], offset: ?>>
!o = memref<{batch}x?x?x{case.head_dim_v}x{of_o}, strided<[?, ?, ?, 1], offset: ?>>
!r = memref<{batch}x?x?xf32>
func.func @attention_bwd(%q: !q, %k: !k, %v: !v, %do: !v, %lse: !r, %o: {of_given},
                         %dq: !q, %dk: !k, %dv: !v, %scale: f32{sinks}) {{
  dash.attention_bwd
      ins(%q, %k, %v, %do, %lse, {given} = %o : !q, !k, !v, !v, !r, {of_given})
      outs(%dq, %dk, %dv : !q, !k, !v)
      {mask_text(problem.mask)} level(run) scale(%scale){clauses}
  return
}}
"""


@dataclass
class Ran:
    """What a run left."""

    schedule: Json
    files: dict[str, np.ndarray]
    command: str
    softcap: float | None = None
    arrays: Arrays = field(init=False)

    def __post_init__(self) -> None:
        read_one = {name: decode(self.files[name]) for name in ("q", "k", "v", "do")}
        delta = self.files.get("delta")
        if delta is None:
            delta = delta_of(decode(self.files["o"]), read_one["do"])
        self.arrays = Arrays(
            **read_one,
            lse=self.files["lse"],
            delta=delta,
            scale=self.files["scale"][()],
            sink=self.files.get("sink"),
            softcap=None if self.softcap is None else np.float32(self.softcap),
        )


@dataclass(frozen=True)
class Tools:
    opt: str
    run: str
    scratch: Path

    @staticmethod
    def from_arguments(description: str | None) -> Tools:
        parser = argparse.ArgumentParser(description=description)
        parser.add_argument("--dash-opt", default="dash-opt")
        parser.add_argument("--dash-run", default="dash-run")
        parser.add_argument(
            "--tmp", type=Path, required=True, help="folder for programs and arrays"
        )
        arguments = parser.parse_args()
        arguments.tmp.mkdir(parents=True, exist_ok=True)
        return Tools(arguments.dash_opt, arguments.dash_run, arguments.tmp)

    def execute(self, case: Case, name: str, args: Path | None = None) -> Ran:
        """Schedules and runs one program; inputs from the seed, or from `args`."""
        schedules, ran = self.run_program(case, name, case.request.options(), args)
        ran.schedule = schedules[0]
        return ran

    def execute_apart(self, case: Case, name: str, options: list[str]) -> tuple[Ran, Json]:
        """The same by options of its own, of a program with a second order, which is given beside
        it."""
        schedules, ran = self.run_program(case, name, options, None, dumps=False)
        ran.schedule, second = schedules
        return ran, second

    def run_program(
        self, case: Case, name: str, options: list[str], args: Path | None, dumps: bool = True
    ) -> tuple[list[Json], Ran]:
        folder = self.scratch / name
        shutil.rmtree(folder, ignore_errors=True)  # of an earlier run, of another case
        folder.mkdir()
        source, scheduled, report = (
            folder / f for f in ("in.mlir", "scheduled.mlir", "report.json")
        )
        source.write_text(program_text(case), encoding="utf-8")
        call(
            [
                self.opt,
                str(source),
                *options,
                f"--dash-report-schedule=format=json output={report}",
                "-o",
                str(scheduled),
            ]
        )
        inputs = [f"--seed={case.seed}"] if args is None else [f"--args={args}"]
        command = [
            self.run,
            str(scheduled),
            *inputs,
            f"--out={folder}",
            *(["--dump-contributions"] if dumps else []),
        ]
        call(command)
        files = {
            path.stem: np.load(path)
            for where in (args, folder)
            if where is not None
            for path in where.glob("*.npy")
        }
        return read(report)["schedules"], Ran({}, files, " ".join(command), case.softcap)


def call(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        words = " ".join(f"'{word}'" if " " in word else word for word in command)
        raise RuntimeError(f"{done.stderr.strip()}\n  {words}")
