# RUN: %python %s --dash-opt dash-opt --examples %dash_examples --tmp %t
# REQUIRES: python
"""Orders of items that own q tiles, against the definition of masks: coverage, walks, lists, facts
and predicted time."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))

import numpy as np  # noqa: E402
from dash_opt import DashOpt, Request, Tally  # noqa: E402
from problem import Blocks, Mask, Problem, Sequence, Union  # noqa: E402
from report import Json, read  # noqa: E402
from schema import schema_differences  # noqa: E402

KINDS_OF_Q = ("ascending", "longest-first")
MASKS = [
    Mask(),
    Mask(causal=True),
    Mask(window=(20, 0)),
    Mask(window=(7, 9)),
    Mask(window=(-1, 40)),
    Mask(window=(33, -1)),
    Mask(causal=True, window=(70, -1)),
    Mask(union=Union(20, (-1, 0))),
    Mask(causal=True, union=Union(3, (25, -1))),
    Mask(causal=True, union=Union(40, (10, -1))),
    Mask(window=(60, 30), union=Union(33, (7, 5))),
]
BITMAP = Mask(
    causal=True, blocks=Blocks(32, 32, ("101011", "011010", "100110", "111111", "000010", "010101"))
)


def requests() -> list[Request]:
    rng = random.Random(5)
    found = []
    for number in range(90):
        mask = MASKS[number % len(MASKS)]
        count = rng.choice((1, 1, 1, 2, 4))
        sequences = tuple(Sequence(rng.randint(1, 190), rng.randint(1, 190)) for _ in range(count))
        kv_heads = rng.choice((1, 2, 3))
        problem = Problem(
            sequences,
            rng.choice((16, 32, 48)),
            rng.choice((16, 32, 64)),
            mask,
            kv_heads * rng.choice((1, 2, 4)),
            kv_heads,
        )
        found.append(
            Request(
                problem,
                (*KINDS_OF_Q, "auto")[number % 3],
                workers=rng.choice((1, 2, 5, 13)),
                level="run" if count > 1 else rng.choice(("run", "batch", "machine")),
                form="table" if number % 7 == 3 else "formulas",
            )
        )
    for kind in KINDS_OF_Q:
        found.append(Request(Problem((Sequence(190, 180),), 16, 32, BITMAP, 2, 1), kind, 4))
        found.append(
            Request(
                Problem((Sequence(90, 70),) * 3, 16, 32, Mask(causal=True), 4, 2),
                kind,
                6,
                level="machine",
                batch=3,
            )
        )
    return found


def run(opt: DashOpt, request: Request, name: str) -> tuple[Json | None, str]:
    output = opt.scratch / f"{name}.json"
    tile, apply = request.options()
    rest = apply.removeprefix("--dash-apply-schedule=")
    command = [
        opt.tool,
        str(opt.program(request.problem.mask)),
        f"{tile} split=dq",
        f"--dash-apply-schedule=function=attention_bwd#1 {rest}",
        "--dash-verify-schedule",
        f"--dash-report-schedule=format=json output={output}",
        "-o",
        "/dev/null",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return None, done.stderr + " ".join(
            f"'{word}'" if " " in word else word for word in command
        )
    return read(output), " ".join(f"'{word}'" if " " in word else word for word in command)


def coverage(problem: Problem, schedule: Json) -> list[str]:
    """Every item once, with the kv tiles that its rows see, upward, in the head of its group."""
    lines = []
    keys = sorted((item["sequence"], item["head"], item["q"]) for item in schedule["items"])
    if keys != sorted(problem.chain_keys()):
        lines.append("items are not one for each sequence, head and q tile")
    for item in schedule["items"]:
        tiles = np.flatnonzero(problem.active(item["sequence"])[:, item["q"]]).tolist()
        expected = [[item["head"] // problem.group, kv] for kv in tiles]
        if item["visit"] != expected:
            lines.append(
                f"sequence {item['sequence']}, head {item['head']}, q tile {item['q']}: visits"
                f" {item['visit']}, expected {expected}"
            )
    return lines


def lists(request: Request, schedule: Json) -> list[str]:
    """Longest first, where the mask has one bound or none: lengths never grow along the items of a
    bundle, which has the heads that have two items for each worker."""
    problem = request.problem
    left, right = problem.mask.bounds()
    if (
        schedule["kind"] != "longest-first"
        or problem.mask.union
        or problem.mask.blocks
        or (left is not None and right is not None)
    ):
        return []
    # Formulas are of all sequences of a batch, and of one of a list.
    is_batch = len(set(problem.sequences)) == 1
    lengths: dict[int, list[int]] = {}
    for item in schedule["items"]:
        lengths.setdefault(0 if is_batch else item["sequence"], []).append(len(item["visit"]))
    wrong = []
    for index, found in lengths.items():
        q_tiles = -(-problem.sequences[index].q // problem.tile_q)
        most = 2 * schedule["workers"]
        size = max(most // q_tiles, 1) * q_tiles if q_tiles <= most else len(found)
        bundles = [found[begin : begin + size] for begin in range(0, len(found), size)]
        wrong += [f"lengths grow: {one}" for one in bundles if one != sorted(one, reverse=True)]
    return wrong


def facts(schedule: Json) -> list[str]:
    expected = {
        "own": "q",
        "keeps": "machine",
        "minWorkers": 1,
        "dynamicIssue": True,
        "deterministic": True,
        "chains": [],
        "partChains": [],
        "parts": 1,
    }
    return [
        f"{key} is {schedule.get(key)}, expected {value}"
        for key, value in expected.items()
        if schedule.get(key) != value
    ]


def times(schedule: Json) -> list[str]:
    """A worker computes its tasks one after the other, and nothing else takes time but the
    boundaries of its items."""
    cost, ends = schedule["cost"], [0.0] * schedule["workers"]
    for item in schedule["items"]:
        tasks = len(item["visit"])
        ends[item["worker"]] += tasks * cost["c"] + (cost["boundary"] if tasks else 0)
    lines = []
    if abs(schedule["makespan"] - max(ends)) > 1e-9 * max(1.0, max(ends)):
        lines.append(f"makespan {schedule['makespan']}, expected {max(ends)}")
    if schedule["lowerBound"] > schedule["makespan"] * (1 + 1e-12):
        lines.append(
            f"lower bound {schedule['lowerBound']} above the makespan {schedule['makespan']}"
        )
    return lines


def balance(schedule: Json) -> list[str]:
    """Lists of many lengths keep workers evenly loaded: each sequence pairs its longest items with
    its shortest ones, wherever its workers begin."""
    loads = [0] * schedule["workers"]
    for item in schedule["items"]:
        loads[item["worker"]] += len(item["visit"])
    share = max(loads) * len(loads) / sum(loads)
    return [f"a worker has {share:.2f} of the mean, expected at most 1.2"] if share > 1.2 else []


def long_lists() -> list[Request]:
    """Their items, dealt back and forth from anywhere, would leave a worker 1.4 to 1.5 of the
    mean."""
    lengths = 248, 378, 837, 387, 2002, 880, 3840, 775, 910, 1965, 467, 2184, 269, 152, 299, 791
    found = []
    for rows in (lengths, (3840, 3839, 3838, 3837)):
        sequences = tuple(Sequence(one, one) for one in rows)
        problem = Problem(sequences, 128, 128, Mask(causal=True), 16, 16)
        found.append(Request(problem, "longest-first", 132, level="run"))
    return found


def main() -> int:
    opt = DashOpt.from_arguments(__doc__)

    def differences(numbered: tuple[int, Request]) -> list[str]:
        number, request = numbered
        document, command = run(opt, request, f"report-{number}")
        if document is None:
            return [command]
        schedule = document["schedules"][0]
        found = [
            *schema_differences(document),
            *facts(schedule),
            *coverage(request.problem, schedule),
            *lists(request, schedule),
            *times(schedule),
        ]
        return [*found[:10], command] if found else []

    def no_file(request: Request) -> list[str]:
        """What a report of such an order says is no order for kind=file, of either side."""
        document, command = run(opt, request, "written")
        path = opt.scratch / "order.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        answer = opt.run(Request(request.problem, "file", request.workers, order=path))
        return answer.refusal() or (
            []
            if "own" in answer.errors
            else answer.told([f"no word of 'own' in: {answer.errors.strip()}"])
        )

    def loads(numbered: tuple[int, Request]) -> list[str]:
        number, request = numbered
        document, command = run(opt, request, f"loads-{number}")
        found = [] if document is None else balance(document["schedules"][0])
        return [*found, command] if found or document is None else []

    tally = Tally()
    tally.check_all(enumerate(requests()), differences)
    tally.check_all(enumerate(long_lists()), loads)
    tally.check_all([Request(Problem((Sequence(64, 64),)), "ascending", 2)], no_file)
    return tally.exit_code()


if __name__ == "__main__":
    sys.exit(main())
