# RUN: %python %s --page %dash_src/dialects/dash/docs/schedules.md
# REQUIRES: python
"""Problems of more tasks than are ordered as a whole: what they take of their bound, and the tasks
that planning simulates and proves, as the table in schedules.md has them. The work is bounded
whatever the sizes.

--write writes the table, which also replays each order task by task, where it can be written out;
that takes minutes.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MOST_WORK = 28_000_000  # tasks, of a choice and of a plan
TABLE = re.compile(r"(?<=<!-- many tasks -->\n\n)(\|[^\n]*\n)+")
HEADER = """| mask | rows | heads | tasks | order | work of a choice | of a plan | estimate | replayed | searched as a whole |
|---|---|---|---|---|---|---|---|---|---|
"""


@dataclass(frozen=True)
class Problem:
    """whole: what the search as a whole took of the bound, before there were bundles (5e4197a);
    None for problems that it did not write out."""

    mask: str
    rows: str
    heads: str
    whole: float | None = None

    @property
    def sizes(self) -> str:
        q, _, kv = self.rows.partition(" x ")
        batch, _, heads = self.heads.rpartition(" x ")
        heads, _, kv_heads = heads.partition("/")
        return f"q:{q},kv:{kv or q},batch:{batch or 1},heads:{heads},kv-heads:{kv_heads or heads}"


PROBLEMS = (
    Problem("causal", "4096", "64 x 64", 1.0011),
    Problem("causal", "16384", "16 x 64", 1.0115),
    Problem("causal", "65536", "32", 1.0131),
    Problem("causal", "65536", "37", 1.0132),
    Problem("causal", "65536", "64/8", 1.014),
    Problem("causal", "8192", "32 x 128/8", 1.0139),
    Problem("causal", "131072", "8", 1.0065),
    Problem("causal", "131072", "32", 1.0065),
    Problem("causal", "131072", "32/4", 1.0068),
    Problem("causal", "262144", "4", 1.003),
    Problem("causal", "314437", "4", 1.0025),
    Problem("causal", "314437", "56"),
    Problem("causal", "314437", "8/1", 1.0024),
    Problem("causal", "2097152", "1"),
    Problem("causal", "1024 x 131072", "512", 1.0003),
    Problem("causal", "64 x 128", "8388608"),
    Problem("window:4096,0", "131072", "2 x 64", 1.0122),
    Problem("full", "8192 x 1024", "64 x 64", 1.0),
    Problem("full", "4194304", "1"),
)


def run(*command: str) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def of_bound(found: dict) -> float:
    return found["makespan"] / found["lowerBound"]


def replayed(problem: Problem, kind: str) -> str:
    """What the order takes when each task is run, of its bound; "-" if there are too many."""
    mask = {"causal": "<causal>", "full": "<full>"}.get(
        problem.mask, f"<window = [{problem.mask.partition(':')[2].replace(',', ', ')}]>"
    )
    text = (
        (ROOT / "dialects/dash/examples/bwd-causal.mlir")
        .read_text(encoding="utf-8")
        .replace("<causal>", mask)
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "problem.mlir"
        path.write_text(text, encoding="utf-8")
        said = run(
            "dash-opt",
            str(path),
            "--dash-tile=q=64 kv=128",
            f"--dash-apply-schedule=kind={kind} parts=1 apart=none workers=132"
            f" sizes={problem.sizes}",
            "--dash-report-schedule=format=table max-steps=1 max-workers=1",
            "-o",
            "/dev/null",
        )
    makespan, bound = map(
        float, re.search(r"makespan +([\d.]+), lower bound ([\d.]+)", said).groups()
    )
    return f"{makespan / bound:.4f}"


def row(problem: Problem, replays: bool) -> tuple[list[str], str]:
    """Its cells, and what is wrong with it."""
    request = (f"--mask={problem.mask}", f"--sizes={problem.sizes}", "--workers=132")
    choice = json.loads(run("dash-plan", "--choose", *request))
    work, plan = choice["work"], "-"
    if choice["isTable"]:
        planned = json.loads(run("dash-plan", f"--kind={choice['kind']}", *request))
        plan, work = f"{planned['work'] / 1e6:.1f}", max(work, planned["work"])
    tasks = choice["tasks"]
    exact = replayed(problem, choice["kind"]) if replays and tasks <= 1 << 26 else "-"
    cells = [
        problem.mask,
        problem.rows,
        problem.heads,
        f"{tasks / 1e6:.1f} M",
        "a table" if choice["isTable"] else f"`{choice['kind']}`",
        f"{choice['work'] / 1e6:.1f} M",
        f"{plan} M" if plan != "-" else plan,
        f"{of_bound(choice):.4f}",
        exact,
        f"{problem.whole:.4f}" if problem.whole else "-",
    ]
    wrong = (
        f"{problem.sizes}: work of {work} tasks, expected at most {MOST_WORK}"
        if work > MOST_WORK
        else ""
    )
    return cells, wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", type=Path, required=True)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    text = arguments.page.read_text(encoding="utf-8")
    rows, problems = zip(*(row(problem, arguments.write) for problem in PROBLEMS))
    wrong = [one for one in problems if one]
    if arguments.write:
        table = HEADER + "".join("| " + " | ".join(cells) + " |\n" for cells in rows)
        arguments.page.write_text(TABLE.sub(lambda _: table, text), encoding="utf-8")
    else:
        found = TABLE.search(text)
        stated = (
            [
                [cell.strip() for cell in line.strip("|\n").split("|")]
                for line in found.group().splitlines()[2:]
            ]
            if found
            else []
        )
        # replays are in the page alone
        for cells, page in zip(rows, stated):
            if cells[:8] + cells[9:] != page[:8] + page[9:]:
                wrong.append(f"the page has {page}, expected {cells}")
        if len(stated) != len(rows):
            wrong.append(f"the page has {len(stated)} rows, expected {len(rows)}")
    print("\n".join(wrong) or "as the page says")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
