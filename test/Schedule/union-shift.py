# RUN: %python %s --dash-opt dash-opt --example %dash_examples/bwd-union.mlir --page %dash_src/dialects/dash/docs/schedules.md --tmp %t
# REQUIRES: python
"""What fixed kinds take on unions, and what a shift would whose formulas are made for them: the
table in schedules.md.

Such a shift has every kv tile begin at a q tile of its own among those that it sees, and wrap
around; a chain holds wave after wave, and of a wave which comes first. It is tried as order files,
in two ways: from the diagonal on, and from places as far apart as can be.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

WORKERS, Q_TILE, KV_TILE = 132, 64, 128
IN_EXAMPLE = "<causal, union = #dash.union<columns = 4, window = [512, -1]>>"
FIXED = ("descending", "shift", "symmetric-shift", "synthesized")
BEGINS = ("diagonal", "apart")


@dataclass(frozen=True)
class Problem:
    """left: None for a prefix, whose rows see all before them; else the mask is causal."""

    columns: int
    left: int | None
    rows: int
    heads: int

    @property
    def mask(self) -> str:
        if self.left is None:
            return f"<union = #dash.union<columns = {self.columns}, window = [-1, 0]>>"
        return (
            f"<causal, union = #dash.union<columns = {self.columns}, window = [{self.left}, -1]>>"
        )

    def sees(self, q: int, kv: int) -> bool:
        is_behind = kv * KV_TILE <= q * Q_TILE + Q_TILE - 1
        is_near = self.left is None or (kv + 1) * KV_TILE - 1 >= q * Q_TILE - self.left
        return (
            is_behind
            and is_near
            or kv * KV_TILE < self.columns
            and (self.left is None or is_behind)
        )


def shifted(problem: Problem, begin: str) -> dict[str, object]:
    """An order file, as much of it as is read."""
    q_tiles, kv_tiles = problem.rows // Q_TILE, problem.rows // KV_TILE
    waves = -(-kv_tiles // WORKERS)
    walks = []
    for kv in range(kv_tiles):
        seen = [q for q in range(q_tiles) if problem.sees(q, kv)]
        at = (
            next(i for i, q in enumerate(seen) if q >= kv * KV_TILE // Q_TILE)
            if begin == "diagonal"
            else kv * len(seen) // kv_tiles
        )
        walks.append(seen[at:] + seen[:at])
    chains = [
        sorted(
            (kv for kv in range(kv_tiles) if q in walks[kv]),
            key=lambda kv: (kv * waves // kv_tiles, walks[kv].index(q), -kv),
        )
        for q in range(q_tiles)
    ]
    items = [
        {
            "worker": (head * kv_tiles + kv) % WORKERS,
            "sequence": 0,
            "kvHead": head,
            "part": 0,
            "kv": kv,
            "visit": [[head, q] for q in walk],
        }
        for head in range(problem.heads)
        for kv, walk in enumerate(walks)
    ]
    return {
        "version": 1,
        "schedules": [
            {
                "op": "attention_bwd",
                "kind": "file",
                "level": "run",
                "forWorkers": WORKERS,
                "workers": WORKERS,
                "items": items,
                "chains": [
                    {"sequence": 0, "head": head, "q": q, "order": [[kv, 0] for kv in chain]}
                    for head in range(problem.heads)
                    for q, chain in enumerate(chains)
                ],
            }
        ],
    }


def of_bound(problem: Problem, kind: str, arguments: argparse.Namespace) -> float:
    """The predicted time, proven and by its lower bound."""
    program = arguments.example.read_text(encoding="utf-8").replace(IN_EXAMPLE, problem.mask)
    assert problem.mask in program
    found = subprocess.run(
        [
            arguments.dash_opt,
            f"--dash-tile=q={Q_TILE} kv={KV_TILE}",
            (
                f"--dash-apply-schedule=kind={kind} workers={WORKERS} parts=1"
                f" sizes=q:{problem.rows},heads:{problem.heads}"
            ),
            "--dash-report-schedule",
            "-o",
            "/dev/null",
        ],
        input=program,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return float(re.search(r"lower bound \S+: (\S+) of it", found)[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dash-opt", required=True)
    for name in ("--example", "--page", "--tmp"):
        parser.add_argument(name, type=Path, required=True)
    arguments = parser.parse_args()
    arguments.tmp.mkdir(parents=True, exist_ok=True)
    rows = re.search(
        r"<!-- unions -->\n+(.*?)\n\n", arguments.page.read_text(encoding="utf-8"), re.S
    )[1].splitlines()[2:]
    assert len(rows) >= 6, rows
    wrong = []
    for row in rows:
        columns, left, *rest = (cell.strip() for cell in row.strip("|").split("|"))
        problem = Problem(
            int(columns), None if left == "-" else int(left), int(rest[0]), int(rest[1])
        )
        path = arguments.tmp / "order.json"
        found = [of_bound(problem, kind, arguments) for kind in FIXED]
        own = []
        for begin in BEGINS:
            path.write_text(json.dumps(shifted(problem, begin)), encoding="utf-8")
            own.append(of_bound(problem, f"file path={path}", arguments))
        found.insert(2, min(own))
        expected = (
            "| " + " | ".join([columns, left, *rest[:2], *(f"{time:.2f}" for time in found)]) + " |"
        )
        if expected != row:
            wrong.append(expected)
    assert not wrong, "\n".join(["the table is:", *wrong])


main()
