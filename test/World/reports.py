# RUN: rm -rf %t && mkdir -p %t && %python %s %dash_src %t
# REQUIRES: python
"""Reports of a plan, and plans from files: what is written is as the schema says, is read back as
it was, and is refused once it is spoiled."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as xml
from pathlib import Path

import jsonschema

SOURCE, TMP = Path(sys.argv[1]), Path(sys.argv[2])
SMALL = [
    "--documents=" + str(TMP / "lengths.txt"),
    "--ranks=4",
    "--ranks-per-node=2",
    "--heads=4",
    "--kv-heads=2",
    "--cut=0",
]


def plan(*options: str) -> str:
    done = subprocess.run(
        ["dash-plan", "--world", *options], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def refused(*options: str) -> str:
    done = subprocess.run(["dash-plan", *options], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and not done.stdout, (options, done)
    return done.stderr.removeprefix("dash-plan: error: ").strip()


def expect(found: str, expected: str) -> None:
    assert found == expected, f"expected {expected!r}, found {found!r}"


(TMP / "lengths.txt").write_text("1700 200\n500\n")
schema = json.loads((SOURCE / "dialects/dash/World/world.schema.json").read_text())
jsonschema.Draft202012Validator.check_schema(schema)
for kind, kept in (
    ("random", "inputs"),
    ("heads-first", "300000"),
    ("heads-first", "none"),
    ("random", "none"),
):
    options = *SMALL, f"--kind={kind}", "--seed=13", "--speeds=1:800", f"--kept={kept}"
    text = plan(*options, "--report=json")
    jsonschema.validate(json.loads(text), schema)
    (TMP / "plan.json").write_text(text)
    assert plan("--kind=file", f"--path={TMP}/plan.json", "--report=json") == text, (
        "read back as it was written"
    )
    assert plan(*options, "--report=json") == text, "the same plan again"
assert plan(*SMALL, "--kind=random", "--seed=14", "--report=json") != plan(
    *SMALL, "--kind=random", "--seed=13", "--report=json"
)
good = json.loads(text)

# Who wrote a plan does not matter.
assert plan("--kind=file", f"--path={SOURCE}/test/World/Inputs/plan.json").startswith(
    "world by hand\n"
)

# A rank of half the speed gets half: all take equally long.
ranks = json.loads(plan("--documents=lognormal:1", "--ranks=8", "--speeds=3:500", "--report=json"))[
    "ranks"
]
even = [rank["compute"] + rank["folds"] for rank in ranks]
assert min(even) > 0.95 * max(even), even

# What stays from forward to backward is within its budget, and need not be sent again.
brought = []
for kept in ("none", "400000", "900000", "inputs"):
    read = json.loads(plan(*SMALL, "--kind=random", "--seed=13", f"--kept={kept}", "--report=json"))
    sizes = read["keptBytes"]
    assert kept == "inputs" or max(sizes) <= (0 if kept == "none" else int(kept)), (kept, sizes)
    brought.append((sum(sum(one["receiveBytes"]) for one in read["backward"][:2]), sum(sizes)))
assert sorted(brought, reverse=True) == brought and len(set(brought)) == 4, brought
# Each byte that stays is one less to bring, but for the padding of messages.
assert max(map(sum, brought)) - min(map(sum, brought)) < 10000, brought
said = plan(*SMALL, "--kind=random", "--seed=13", "--kept=900000", "--rank=2")
line = next(line for line in said.splitlines() if line.startswith("  kept "))
assert " GB of it from forward to backward, on the rank that keeps most; " in line, line
assert " GB kept\n" in said, said

picture = xml.fromstring(plan(*SMALL, "--report=svg"))
assert picture.tag.endswith("svg") and sum(one.tag.endswith("rect") for one in picture) > 5 * 4
events = json.loads(plan(*SMALL, "--report=trace"))["traceEvents"]
assert {event["name"] for event in events if event["ph"] == "X"} >= {
    "forward leaves",
    "backward leaves",
    "forward inputs",
    "backward gradients",
}
assert {event["args"]["name"] for event in events if event["name"] == "thread_name"} >= {
    "rank 0 compute",
    "rank 3 exchange",
}
detail = plan(*SMALL, "--kind=random", "--seed=13", "--rank=1")
assert all(
    f"\n  {word}" in detail for word in ("run ", "forward inputs", "backward gradients", "fold ")
), detail


def spoil(edit) -> str:
    spoilt = json.loads(text)
    edit(spoilt)
    (TMP / "spoilt.json").write_text(json.dumps(spoilt))
    return refused("--world", "--kind=file", f"--path={TMP}/spoilt.json")


def put(*path, value):
    def edit(root):
        for key in path[:-1]:
            root = root[key]
        root[path[-1]] = value

    return edit


file = f"plan file '{TMP}/spoilt.json': "
for edit, message in (
    (put("version", value=2), "expected 1 at plan.version"),
    (put("level", value="run"), "expected world at plan.level"),
    (
        put("problem", "kept", value="all"),
        "expected none, inputs or a number of bytes at plan.problem.kept",
    ),
    (
        put("problem", "kept", value=-1),
        "expected none, inputs or a number of bytes at plan.problem.kept",
    ),
    (put("keptHeads", value=[[0, 0]]), "expected 3 numbers at plan.keptHeads[0]"),
    (put("problem", "more", value=1), "unknown key at plan.problem.more"),
    (put("problem", "homes", value=[[[0, 0]]]), "expected 3 numbers at plan.problem.homes[0][0]"),
    (put("problem", "homes", value=5), "expected array at plan.problem.homes"),
    (lambda root: root["problem"].pop("homes"), "missing value at plan.problem.homes"),
    (lambda root: root.pop("folds"), "missing value at plan.folds"),
    (lambda root: root["forward"][0].pop("messages"), "missing value at plan.forward[0].messages"),
    (put("runs", 0, value=[1, 2]), "expected 5 numbers at plan.runs[0]"),
    (put("runs", 0, 0, value=1 << 40), "expected a rank at plan.runs[0][0]"),
    (put("forward", value=[]), "expected 3 phases at plan.forward"),
    (put("backward", value=[]), "expected 4 phases at plan.backward"),
    (
        put("forward", 1, "phase", value="inputs"),
        (
            "expected the phases of the format, in its order and over its groups at"
            " plan.forward[1].phase"
        ),
    ),
    (
        put("forward", 1, "group", value="all"),
        (
            "expected the phases of the format, in its order and over its groups at"
            " plan.forward[1].group"
        ),
    ),
    (
        put("forward", 0, "messages", 0, value=[0]),
        "expected 13 values at plan.forward[0].messages[0]",
    ),
    (
        put("forward", 0, "messages", 0, 2, value="V+K"),
        "expected tensors, as in Q+dO+LSE+delta at plan.forward[0].messages[0][2]",
    ),
    (put("folds", 0, value=[0]), "expected 9 values at plan.folds[0]"),
    (put("folds", 0, 0, value="rank"), "expected server, node or home at plan.folds[0][0]"),
):
    found = spoil(edit)
    assert (
        found.startswith(file)
        and message.split(" at ")[0] in found
        and message.split(" at plan")[1] in found
    ), (message, found)
expect(
    spoil(lambda root: root["runs"].pop()),
    file + "document 2, kv head 1, leaf 1 is computed by no rank",
)
expect(
    spoil(put("prices", "task", value=0)),
    file + "expected prices from 1 to 1000000000 picoseconds, got 0",
)
(TMP / "broken.json").write_text("{")
assert refused("--world", "--kind=file", f"--path={TMP}/broken.json").startswith(
    f"plan file '{TMP}/broken.json': ["
)
expect(
    refused("--world", "--kind=file", f"--path={TMP}/none.json"),
    f"cannot read plan file '{TMP}/none.json': No such file or directory",
)

# What is asked for.
(TMP / "word.txt").write_text("12\n13 many\n")
(TMP / "long.txt").write_text("2097153\n")
(TMP / "empty.txt").write_text("\n")
for options, message in (
    (["--world"], "expected --documents=FILE, lognormal:SEED, pareto:SEED or mixed:SEED"),
    (["--ranks=4"], "--ranks is an option of --world"),
    (["--world", "--sizes=q:1"], "--sizes is an option of orders, and --world makes none"),
    ([], "expected --sizes, as in --sizes=q:8192,batch:2,heads:16, or --world"),
    (
        ["--world", "--documents=lognormal:x"],
        "expected a seed, as in lognormal:1, got 'lognormal:x'",
    ),
    (
        ["--world", f"--documents={TMP}/none"],
        f"cannot read documents file '{TMP}/none': No such file or directory",
    ),
    (
        ["--world", f"--documents={TMP}/word.txt"],
        f"documents file '{TMP}/word.txt': line 2: expected a number of rows, got 'many'",
    ),
    (
        ["--world", f"--documents={TMP}/long.txt"],
        "document 0: expected from 1 to 2097152 rows, got 2097153",
    ),
    (["--world", f"--documents={TMP}/empty.txt"], "expected at least one document, got none"),
    (
        ["--world", *SMALL, "--tokens=100"],
        "documents have 2400 rows, and 4 ranks of 100 rows have room for 400",
    ),
    (
        ["--world", *SMALL, "--ranks=0"],
        "expected from 1 to 65536 --ranks of 1 to 16777216 --tokens, got 0 of 32768",
    ),
    (
        ["--world", "--documents=mixed:1", "--ranks=12"],
        "expected nodes of 8 ranks each, got 12 ranks in all, which leaves a node of 4",
    ),
    (
        ["--world", "--documents=mixed:1", "--ranks-per-node=0"],
        "expected at least 1 rank a node, got 0",
    ),
    (["--world", "--documents=mixed:1", "--heads=5"], "5 heads are not a multiple of 8 kv heads"),
    (
        ["--world", "--documents=mixed:1", "--heads=0"],
        "expected from 1 to 65535 heads and kv heads, got 0 and 8",
    ),
    (
        ["--world", "--documents=mixed:1", "--head-dim=100"],
        "worlds have head dims that are multiples of 8 up to 128, got 100",
    ),
    (["--world", "--documents=mixed:1", "--cut=2"], "expected version 0 or 1 of the cut, got 2"),
    (
        ["--world", "--documents=mixed:1", "--kept=all"],
        "expected --kept=none, inputs or a number of bytes, got 'all'",
    ),
    (
        ["--world", "--documents=mixed:1", "--homes=any"],
        "expected --homes=packed or zigzag, got 'any'",
    ),
    (
        ["--world", "--documents=mixed:1", "--speeds=9:1"],
        "expected --speeds=RANK:THOUSANDTHS,… of ranks 0 to 7, got '9:1'",
    ),
    (
        ["--world", "--documents=mixed:1", "--speeds=1:0"],
        "rank 1: expected a speed from 1 to 1000000 thousandths, got 0",
    ),
    (
        ["--world", "--documents=mixed:1", "--memory=-1"],
        "expected memory of at least 0 bytes, got -1",
    ),
    (
        ["--world", "--documents=mixed:1", "--network=0"],
        "expected rates from 1 to 1000000 GB/s, got 0.00",
    ),
    (
        ["--world", "--documents=mixed:1", "--kind=best"],
        (
            "expected one of the kinds greedy, heads-first, home, random, ring, rows, zigzag, got"
            " 'best'"
        ),
    ),
    (
        ["--world", "--documents=mixed:1", "--kind=ring"],
        (
            "kind 'ring' is there to compare with: it cuts rows anywhere, so its bits are not "
            "of level world, and it has no plan to execute"
        ),
    ),
    (
        ["--world", "--documents=mixed:1", "--report=text"],
        "expected --report=table, json, svg or trace, got 'text'",
    ),
    (["--world", "--documents=mixed:1", "--rank=8"], "expected --rank from 0 to 7, got 8"),
    (
        ["--world", "--documents=mixed:1", "--compare", "--rank=1"],
        "--compare is a report by itself, of all kinds: leave out --report, --rank and --kind=file",
    ),
    (["--world", "--documents=mixed:1", "--path=x"], "--path is for --kind=file"),
    (["--world", "--kind=file"], "expected --path=PLAN.json beside --kind=file"),
    (
        ["--world", "--kind=file", "--path=x", "--documents=mixed:1"],
        "a plan from a file has its documents and ranks: leave out --documents",
    ),
):
    expect(refused(*options), message)


# Problems that files and the C API state.
def state(**changes) -> str:
    return spoil(lambda root: root["problem"].update(changes)).removeprefix(file)


expect(state(element="f32"), "kernels have elements bf16 and f16, got 'f32'")
expect(
    state(causal=False),
    "a world serves causal documents: a leaf reads all rows in front of its own, and no others",
)
expect(state(homes=good["problem"]["homes"][:3]), "expected homes of 4 ranks, got those of 3")
expect(state(homes=[[[5, 0, 1]], [], [], []]), "homes of rank 0: expected documents 0 to 2, got 5")
expect(
    state(homes=[[[0, 1600, 200]], [], [], []]),
    "homes of rank 0: rows 1600 to 1800 are not in document 0, which has 1700",
)
expect(
    state(homes=[[[0, 0, 5]], [[0, 7, 1693]], [], []]),
    "document 0: rows 5 to 7 are nowhere at home",
)
expect(
    state(homes=[[[0, 0, 5]], [[0, 4, 1696]], [], []]),
    "document 0: rows 4 to 5 are at home twice, the second time on rank 1",
)
expect(state(homes=[[[0, 0, 5]], [], [], []]), "document 0: rows 5 to 1700 are nowhere at home")
expect(state(speeds=[1000]), "expected a speed for each of 4 ranks, got 1")
expect(state(ranks=1 << 20), "expected from 1 to 65536 ranks, got 1048576")
expect(
    state(
        documents=[2097152] * 4000,
        kvHeads=64,
        heads=64,
        homes=[[[i, 0, 2097152] for i in range(4000)], [], [], []],
        cut=1,
    ),
    "documents that take more than 4000 s by these prices, or whose sums do; use fewer documents",
)
