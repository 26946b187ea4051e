# RUN: %python %s --dash-opt dash-opt --dash-plan dash-plan --examples %dash_examples --tmp %t
# REQUIRES: python
"""The planner against dash-opt: its buffers hold the orders that dash-opt reports, and what it
cannot serve it refuses."""

import argparse
import json
import subprocess
import sys
from pathlib import Path

import numpy as np

parser = argparse.ArgumentParser()
for name in ("--dash-opt", "--dash-plan", "--examples", "--tmp"):
    parser.add_argument(name, required=True)
args = parser.parse_args()
Path(args.tmp).mkdir(parents=True, exist_ok=True)
BUFFER, REPORT = Path(args.tmp) / "order.words", Path(args.tmp) / "report.json"


def plan(*options):
    return subprocess.run(
        [args.dash_plan, *options, f"-o={BUFFER}"], capture_output=True, text=True, check=False
    )


def report(mask, options):
    subprocess.run(
        [
            args.dash_opt,
            f"{args.examples}/bwd-{mask}.mlir",
            "--dash-tile=q=64 kv=128",
            f"--dash-apply-schedule={options}",
            f"--dash-report-schedule=format=json output={REPORT}",
            "-o",
            "/dev/null",
        ],
        check=True,
    )
    return json.loads(REPORT.read_text())["schedules"][0]


def read(words):
    """Lists of (sequence, kv head, kv tile, part turn, visits as (head, q, turn, is last)), from
    the words that the format names."""
    version, workers, items, lists, first_item, first_visit, visits, reserved = words[:8]
    assert (version, lists, reserved) == (1, 8, 0) and len(words) == first_visit + 4 * visits
    begins = words[lists : lists + workers + 1]
    assert begins[0] == 0 and begins[-1] == items
    records = words[first_item : first_item + 8 * items].reshape(-1, 8)
    tasks = words[first_visit:].reshape(-1, 4)
    result = []
    for worker in range(workers):
        rows = []
        for sequence, kv_head, kv, head, begin, count, rounds, part_turn in records[
            begins[worker] : begins[worker + 1]
        ]:
            assert rounds == 1
            rows.append(
                (
                    int(sequence),
                    int(kv_head),
                    int(kv),
                    int(part_turn),
                    [
                        (int(h + head), int(q), int(turn), int(last))
                        for h, q, turn, last in tasks[begin : begin + count]
                    ],
                )
            )
        result.append(rows)
    return result


def expected(schedule):
    """The same from a report."""
    turns, lengths = {}, {}
    for chain in schedule["chains"]:
        place = chain["sequence"], chain["head"], chain["q"]
        lengths[place] = len(chain["order"])
        for turn, (kv, _) in enumerate(chain["order"]):
            turns[(*place, kv)] = turn
    part_turns = {
        (chain["sequence"], chain["kvHead"], chain["kv"], part): turn
        for chain in schedule["partChains"]
        for turn, part in enumerate(chain["order"])
    }
    result = [[] for _ in range(schedule["workers"])]
    for item in schedule["items"]:
        visits = []
        for head, q in item["visit"]:
            turn = turns[item["sequence"], head, q, item["kv"]]
            visits.append((head, q, turn, int(turn == lengths[item["sequence"], head, q] - 1)))
        part_turn = part_turns[item["sequence"], item["kvHead"], item["kv"], item["part"]]
        result[item["worker"]].append(
            (item["sequence"], item["kvHead"], item["kv"], part_turn, visits)
        )
    return result


def check(mask, kind, workers, sizes, level="run", parts=1, apart="none"):
    name = (
        f"{kind} of {mask}, {sizes}, {workers} workers, level {level}, {parts} parts, apart:"
        f" {apart}"
    )
    options = [
        f"--mask={mask}",
        f"--kind={kind}",
        f"--workers={workers}",
        f"--sizes={sizes}",
        f"--level={level}",
        "--for-workers=4",
        f"--parts={parts}",
        f"--apart={apart}",
    ]
    planned = plan(*options)
    if planned.returncode:
        return [f"{name}: {planned.stderr}"]
    facts, words = json.loads(planned.stdout), BUFFER.read_bytes()
    schedule = report(
        mask,
        f"kind={kind} workers={workers} sizes={sizes} level={level} for-workers=4 parts={parts}"
        f" apart={apart}",
    )
    problems = []
    if read(np.frombuffer(words, dtype=np.int32)) != expected(schedule):
        problems.append(f"{name}: the buffer holds another order than the report")
    for key in ("kind", "minWorkers", "makespan", "lowerBound"):
        if facts[key] != schedule[key]:
            problems.append(f"{name}: {key} is {facts[key]}, expected {schedule[key]}")
    plan(*options, "--repeats=3")
    if BUFFER.read_bytes() != words:
        problems.append(f"{name}: planned anew, the order is another")
    return problems


REFUSED = {
    "--sizes=q:0": "sizes: 'q' must be a number from 1 to 2147483647, got '0'",
    "--sizes=q:64+64,kv:64+64": "expected sizes of equal sequences",
    "--sizes=q:64,heads:5,kv-heads:2": "5 heads are not a multiple of 2 kv heads",
    "--sizes=q:64,heads:8,kv-heads:2 --parts=3": (
        "parts must divide the 4 query heads of a kv head or be a multiple of them, got 3"
    ),
    "--sizes=q:64,heads:8,kv-heads:2 --parts=0": (
        "parts must divide the 4 query heads of a kv head or be a multiple of them, got 0"
    ),
    "--sizes=q:256,heads:2 --parts=5": (
        "5 parts cut the 4 q tiles of a head into 5 runs, expected at most one a tile: state at"
        " most 4 parts"
    ),
    "--sizes=q:64 --workers=0": "workers must be from 1 to 16384, got 0",
    "--sizes=q:64 --kind=spiral": "unknown schedule 'spiral', expected one of",
    "--sizes=q:64 --kind=unordered": "kind 'unordered' has no order to plan",
    "--sizes=q:64 --mask=diagonal": (
        "expected --mask=full, causal or window:LEFT,RIGHT, got 'diagonal'"
    ),
    "--sizes=q:64 --mask=window:-5,0": "bounds of a mask must be at least -1, which is none",
    "--sizes=q:64 --apart=some": "expected --apart=none, parts or all, got 'some'",
    "--sizes=q:64 --apart=parts": (
        "apart=parts keeps what parts add to dK and dV, and the order is in one part: take more"
        " parts, or apart=all"
    ),
    "--sizes=q:64 --level=world": "expected --level=run, batch or machine, got 'world'",
    "--sizes=q:64,heads:16777217": "heads must be from 1 to 16777216, got 16777217",
    "--sizes=q:2000000000": (
        "problem is too large to be scheduled: expected at most 8388608 kv tiles"
    ),
    "--sizes=q:4000000": "words as a table for kernels, expected at most 2147483647",
    "--sizes=q:1200000 --kind=synthesized": (
        "schedule 'synthesized' writes out at most 67108864 tasks"
    ),
    "--sizes=q:2097152,heads:2 --mask=full --kind=shift": (
        "words as a table for kernels, expected at most 2147483647"
    ),
}


def main():
    problems = []
    for mask in ("full", "causal"):
        for kind in ("ascending", "shift", "symmetric-shift", "synthesized", "auto"):
            problems += check(mask, kind, 5, "q:1000,kv:1500,batch:3,heads:6,kv-heads:2")
        problems += check(mask, "auto", 8, "q:700,kv:700,batch:2,heads:4", "batch")
        problems += check(mask, "synthesized", 8, "q:700,kv:700,batch:2,heads:4", "machine")
        for kind in ("shift", "synthesized"):
            for apart in ("none", "parts", "all"):
                problems += check(
                    mask, kind, 5, "q:700,kv:900,heads:8,kv-heads:1", parts=4, apart=apart
                )
        problems += check(
            mask,
            "synthesized",
            8,
            "q:700,kv:700,batch:2,heads:4,kv-heads:2",
            "batch",
            parts=2,
            apart="all",
        )
        for level in ("run", "batch", "machine"):
            problems += check(
                mask, "synthesized", 8, "q:700,kv:900,batch:2,heads:4,kv-heads:2", level, parts=6
            )
    problems += check("full", "shift", 5, "q:700,kv:900,batch:2,heads:2", parts=3)
    for workers in (78, 114):  # multiprocessors of other Hopper cards
        for mask in ("full", "causal"):
            problems += check(mask, "auto", workers, "q:2048,kv:2048,heads:8,kv-heads:2")
            problems += check(
                mask, "synthesized", workers, "q:1000,kv:1500,batch:3,heads:6,kv-heads:2", "batch"
            )
    for options, message in REFUSED.items():
        answer = plan(*options.split())
        if answer.returncode != 1 or message not in answer.stderr:
            problems.append(
                f"{options}: expected '{message}', got status {answer.returncode},"
                f" '{answer.stderr.strip()}'"
            )
    print("\n".join(problems) or "all as reported")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
