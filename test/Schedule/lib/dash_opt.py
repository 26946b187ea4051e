"""Runs dash-opt on the examples: a problem and a kind of order in, a report document out."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from checks import document_differences
from cost import Cost
from problem import Mask, Problem
from report import Json, read

Case = TypeVar("Case")
KINDS = [
    "ascending",
    "descending",
    "longest-first",
    "shift",
    "shortest-first",
    "symmetric-shift",
    "synthesized",
]


def mask_text(mask: Mask) -> str:
    """The mask in dash's text; not its canonical one."""
    entries = ["causal"] if mask.causal else []
    if mask.window is not None:
        entries.append(f"window = [{mask.window[0]}, {mask.window[1]}]")
    if mask.blocks is not None:
        blocks = mask.blocks
        rows = ", ".join("[" + ", ".join(row) + "]" for row in blocks.bits)
        shape = f"{len(blocks.bits)}x{len(blocks.bits[0])}"
        entries.append(
            f"blocks = #dash.blocks<q = {blocks.q}, kv = {blocks.kv},"
            f" bits = dense<[{rows}]> : tensor<{shape}xi1>>"
        )
    if mask.union is not None:
        left, right = mask.union.window
        entries.append(
            f"union = #dash.union<columns = {mask.union.columns}, window = [{left}, {right}]>"
        )
    return f"mask(<{', '.join(entries) or 'full'}>)"


def serves(kind: str, problem: Problem) -> bool:
    """Whether a kind cuts so: into runs of q tiles formulas do on full masks, and no kind into more
    than a head has tiles."""
    is_full = problem.mask in (Mask(), Mask(window=(-1, -1)))
    return problem.runs <= max(map(problem.q_tiles, range(len(problem.sequences)))) and (
        problem.runs == 1 or is_full or kind in ("synthesized", "auto", "file")
    )


@dataclass(frozen=True)
class Request:
    """What is asked of --dash-apply-schedule; `order` is the file of kind=file."""

    problem: Problem
    kind: str
    workers: int
    level: str = "run"
    for_workers: int = 32
    cost: Cost = field(default_factory=Cost)
    order: Path | None = None
    batch: int | None = None
    form: str = "formulas"
    apart: str = "none"

    def sizes(self) -> str:
        problem = self.problem
        if self.batch is None:
            q = "+".join(str(sequence.q) for sequence in problem.sequences)
            kv = "+".join(str(sequence.kv) for sequence in problem.sequences)
            rows = f"q:{q},kv:{kv}" + (",batch:1" if len(problem.sequences) == 1 else "")
        else:
            first = problem.sequences[0]
            rows = f"q:{first.q},kv:{first.kv},batch:{self.batch}"
        return f"{rows},heads:{problem.heads},kv-heads:{problem.kv_heads}"

    def options(self) -> list[str]:
        problem, cost = self.problem, self.cost
        path = "" if self.order is None else f" path={self.order}"
        return [
            f"--dash-tile=q={problem.tile_q} kv={problem.tile_kv}",
            (
                f"--dash-apply-schedule=kind={self.kind}{path} workers={self.workers}"
                f" form={self.form} level={self.level} for-workers={self.for_workers}"
                f" parts={problem.parts} compute={cost.compute!r} reduce={cost.reduce!r}"
                f" latency={cost.latency!r} buffers={cost.buffers} boundary={cost.boundary!r}"
                f" piece={cost.piece!r} convert={cost.convert!r} gather={cost.gather!r}"
                f" apart={self.apart} sizes={self.sizes()}"
            ),
        ]


@dataclass(frozen=True)
class Answer:
    code: int
    errors: str
    document: Json | None
    command: str

    @property
    def schedule(self) -> Json:
        """The report of the example's one function."""
        if self.document is None:
            raise RuntimeError(f"{self.errors}{self.command}")
        return self.document["schedules"][0]

    def told(self, differences: list[str]) -> list[str]:
        """Differences, if any, with the command that shows them."""
        return [*differences[:10], self.command] if differences else []

    def differences(self) -> list[str]:
        """What the checker says of the report, or the error where there is none."""
        if self.document is None:
            return self.told([f"exit code {self.code}: {self.errors.strip()}"])
        return self.told(document_differences(self.document))

    def refusal(self) -> list[str]:
        """What a refusal lacks: exit code 1 and an error at the function, no crash."""
        if self.code != 1:
            return self.told([f"exit code {self.code}, expected 1: {self.errors.strip()}"])
        if "Stack dump" in self.errors or "PLEASE submit" in self.errors:
            return self.told([f"crash: {self.errors}"])
        if not re.search(r"bwd-\w+\.mlir\"?:\d+:\d+\)?: error: \S", self.errors):
            return self.told([f"no located error in: {self.errors.strip() or 'nothing'}"])
        return []


@dataclass(frozen=True)
class DashOpt:
    tool: str
    examples: Path
    scratch: Path

    @staticmethod
    def from_arguments(description: str) -> DashOpt:
        parser = argparse.ArgumentParser(description=description)
        parser.add_argument("--dash-opt", default="dash-opt", help="the tool under test")
        parser.add_argument("--examples", type=Path, required=True, help="folder of bwd-*.mlir")
        parser.add_argument("--tmp", type=Path, required=True, help="folder for reports and orders")
        arguments = parser.parse_args()
        arguments.tmp.mkdir(parents=True, exist_ok=True)
        return DashOpt(arguments.dash_opt, arguments.examples, arguments.tmp)

    def run(self, request: Request, *more: str) -> Answer:
        """One run, with more passes if wanted; the document is None where dash-opt failed."""
        output = self.scratch / f"report-{threading.get_ident()}.json"
        output.unlink(missing_ok=True)
        command = [
            self.tool,
            str(self.program(request.problem.mask)),
            *request.options(),
            "--dash-verify-schedule",
            f"--dash-report-schedule=format=json output={output}",
            *more,
            "-o",
            "/dev/null",
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        text = " ".join(f"'{word}'" if " " in word else word for word in command)
        document = read(output) if done.returncode == 0 else None
        return Answer(done.returncode, done.stderr, document, text)

    def program(self, mask: Mask) -> Path:
        """The example with this mask; one that is written here where there is none."""
        name = "bwd-causal.mlir" if mask.causal else "bwd-full.mlir"
        if mask in (Mask(), Mask(causal=True)):
            return self.examples / name
        text = (self.examples / "bwd-full.mlir").read_text(encoding="utf-8")
        path = self.scratch / f"bwd-mask_{threading.get_ident()}.mlir"
        path.write_text(text.replace("mask(<full>)", mask_text(mask)), encoding="utf-8")
        return path

    def write_order(self, document: Json | str) -> Path:
        path = self.scratch / f"order-{threading.get_ident()}.json"
        text = document if isinstance(document, str) else json.dumps(document)
        path.write_text(text, encoding="utf-8")
        return path

    def run_order(self, request: Request, document: Json | str) -> Answer:
        """A run with an order from outside, of the same problem, workers and cost."""
        return self.run(replace(request, kind="file", order=self.write_order(document)))


@dataclass
class Tally:
    """Failures of a test, each with the command that shows it."""

    checked: int = 0
    failures: list[str] = field(default_factory=list)

    def check(self, differences: list[str]) -> None:
        self.checked += 1
        if differences:
            self.failures.append("\n  ".join(differences))

    def check_all(self, cases: Iterable[Case], differences: Callable[[Case], list[str]]) -> None:
        """A check of each case, two at a time."""
        with ThreadPoolExecutor(2) as threads:
            for lines in threads.map(differences, cases):
                self.check(lines)

    def exit_code(self) -> int:
        for failure in self.failures:
            print(failure)
        print(f"{self.checked} checked, {len(self.failures)} failed")
        return 1 if self.failures or not self.checked else 0
