# RUN: rm -rf %t && mkdir -p %t && %python %s %dash_src %t
# REQUIRES: python, plain-libdash
"""Worlds from Python, through the C API: what it gives is what dash-plan writes; certificates;
misuse is refused with a message."""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
from pathlib import Path

SOURCE, TMP = Path(sys.argv[1]), Path(sys.argv[2])
sys.path.insert(0, str(SOURCE / "test/World/lib"))

from world_model import Facts, Handle, Plan, Problem, StringRef, call, library, lines  # noqa: E402

PROBLEM = Problem(
    [1700, 200, 500],
    [
        (0, 0, 0, 600),
        (1, 0, 600, 600),
        (2, 0, 1200, 500),
        (2, 1, 0, 100),
        (3, 1, 100, 100),
        (3, 2, 0, 500),
    ],
    ranks=4,
    ranks_per_node=2,
    heads=4,
    kv_heads=2,
)


def create(problem: Problem) -> tuple[Handle, str, str]:
    world = Handle()
    status, said = call(
        library.dashWorldCreate, [ctypes.byref(problem.as_c())], [ctypes.byref(world)]
    )
    return world, status, said


def make(world: Handle, kind: str) -> tuple[Handle, str, str]:
    plan = Handle()
    status, said = call(
        library.dashWorldPlan,
        [world, StringRef.of(kind), ctypes.c_uint64(13)],
        [ctypes.byref(plan)],
    )
    return plan, status, said


def certify(world: Handle, *kernels: str, forward: str = "flash 2") -> str:
    names = (StringRef * max(1, len(kernels)))(*map(StringRef.of, kernels))
    return library.dashWorldGetCertificate(
        world, StringRef.of(forward), names, ctypes.c_size_t(len(kernels))
    ).text()


world, status, said = create(PROBLEM)
assert status == "DASH_SUCCESS", said

# A plan, and the same plan from dash-plan and from a file.
plan, status, said = make(world, "random")
assert status == "DASH_SUCCESS", said
Plan(PROBLEM, plan).check()
report = library.dashWorldPlanGetReport(plan, StringRef.of("json")).text()
(TMP / "lengths.txt").write_text("1700 200 500")
written = subprocess.run(
    [
        "dash-plan",
        "--world",
        f"--documents={TMP}/lengths.txt",
        "--ranks=4",
        "--ranks-per-node=2",
        "--heads=4",
        "--kv-heads=2",
        "--cut=0",
        "--kind=random",
        "--seed=13",
        "--report=json",
    ],
    check=True,
    capture_output=True,
    text=True,
).stdout
assert report == written
(TMP / "plan.json").write_text(written)
read_world, read_plan = Handle(), Handle()
status, said = call(
    library.dashWorldReadPlan,
    [StringRef.of(str(TMP / "plan.json"))],
    [ctypes.byref(read_world), ctypes.byref(read_plan)],
)
assert status == "DASH_SUCCESS", said
assert library.dashWorldPlanGetReport(read_plan, StringRef.of("json")).text() == report

facts, figures = Facts(), json.loads(report)["figures"]
library.dashWorldPlanGetFacts(plan, ctypes.byref(facts))
assert (facts.numRuns, facts.numFolds) == (
    len(json.loads(report)["runs"]),
    len(json.loads(report)["folds"]),
)
assert (facts.numForwardPhases, facts.numBackwardPhases) == (3, 4)
assert facts.memory == max(rank["memory"] for rank in json.loads(report)["ranks"])
assert (
    abs(facts.backward.layer - figures["backward"]["layer"] * 1e-12) < 1e-15
    and facts.backward.balance == figures["backward"]["balance"]
)
assert [
    library.dashWorldGetPhaseName(which, ctypes.c_int64(phase)).text()
    for which, phase in ((0, 0), (0, 2), (1, 3), (1, 4), (2, 0), (0, -1))
] == ["inputs", "outputs", "gradients", "", "", ""]

# A rank's own lines, as many as there is room for.
every = lines(library.dashWorldPlanGetRuns, 5, plan, ctypes.c_int64(-1))
assert (
    lines(library.dashWorldPlanGetRuns, 5, plan, ctypes.c_int64(2)) == every[every[:, 0] == 2]
).all()
both = lines(library.dashWorldPlanGetMessages, 13, plan, 1, ctypes.c_int64(3), ctypes.c_int64(2))
assert len(both) and ((both[:, 0] == 2) | (both[:, 1] == 2)).all()
assert (
    len(lines(library.dashWorldPlanGetBuffers, 2, plan, 0, ctypes.c_int64(0), ctypes.c_int64(1)))
    == 1
)
few = (ctypes.c_int64 * 6)(*[-7] * 6)
assert library.dashWorldPlanGetRuns(plan, ctypes.c_int64(-1), few, ctypes.c_size_t(1)) == len(every)
assert list(few) == [*every[0], -7]

# Leaves: what the page says of their ends, and how kernels compute the last one.
assert [
    len(lines(library.dashWorldGetLeaves, 5, world, ctypes.c_int64(document)))
    for document in (-1, 0, 1, 2, 3)
] == [0, 18, 1, 2, 0]
leaves = lines(library.dashWorldGetLeaves, 5, world, ctypes.c_int64(0))
assert (
    leaves[:, 1].tolist() == Plan(PROBLEM, plan).leaf_ends(1700)
    and leaves[1:, 0].tolist() == leaves[:-1, 1].tolist()
    and leaves[0, 0] == 0
)
assert leaves[0].tolist() == [0, 320, 320, 320, 0] and leaves[-1].tolist() == [
    1600,
    1700,
    192,
    1792,
    0,
], leaves
assert lines(library.dashWorldGetLeaves, 5, world, ctypes.c_int64(1)).tolist() == [
    [0, 200, 256, 256, 0]
]
assert library.dashWorldGetLeaves(Handle(), ctypes.c_int64(0), None, ctypes.c_size_t(0)) == 0

# The certificate follows from what fixes bits, and from nothing else.
same = [certify(world, "a", "b"), certify(world, "b", "a", "a"), certify(read_world, "a", "b")]
elsewhere = Problem([300], [(0, 0, 0, 300)], heads=4, kv_heads=2, kept=-1)
other, status, said = create(elsewhere)
assert status == "DASH_SUCCESS", said
same.append(certify(other, "a", "b"))
assert len(set(same)) == 1 and same[0].startswith("sha256:") and len(same[0]) == 71, same
different = {same[0], certify(world, "a"), certify(world, "a", "b", forward="flash 3")}
for change in ({"heads": 8}, {"head_dim": 64}, {"element": "f16"}, {"cut": 1}):
    made, status, said = create(Problem(**{**elsewhere.__dict__, **change}))
    assert status == "DASH_SUCCESS", said
    different.add(certify(made, "a", "b"))
    library.dashWorldDestroy(made)
assert len(different) == 7, different


# Misuse.
def refused(found: tuple[str, str], message: str) -> None:
    assert found == ("DASH_INVALID_ARGUMENT", message), found


null = StringRef(None, 3)
refused(
    make(world, "best")[1:],
    "expected one of the kinds greedy, heads-first, home, random, ring, rows, zigzag, got 'best'",
)
refused(make(Handle(), "rows")[1:], "'world' or 'plan' is NULL")
refused(
    call(library.dashWorldPlan, [world, null, ctypes.c_uint64(0)], [ctypes.byref(Handle())]),
    "a string is NULL but not empty",
)
refused(
    call(library.dashWorldCreate, [None], [ctypes.byref(Handle())]), "'problem' or 'world' is NULL"
)
refused(
    call(library.dashWorldReadPlan, [null], [ctypes.byref(Handle()), ctypes.byref(Handle())]),
    "a string is NULL but not empty",
)
refused(
    call(library.dashWorldReadPlan, [StringRef.of("x")], [None, None]), "'world' or 'plan' is NULL"
)
refused(
    call(
        library.dashWorldReadPlan,
        [StringRef.of(f"{TMP}/none")],
        [ctypes.byref(Handle()), ctypes.byref(Handle())],
    ),
    f"cannot read plan file '{TMP}/none': No such file or directory",
)
for change, message in (
    ({"ranks": 0}, "expected from 1 to 65536 ranks, got 0"),
    ({"homes": [(4, 0, 0, 1)]}, "home 0: expected ranks 0 to 3, got 4"),
    ({"documents": [0]}, "document 0: expected from 1 to 2097152 rows, got 0"),
    ({"speeds": [1]}, "expected a speed for each of 4 ranks, got 1"),
):
    refused(create(Problem(**{**PROBLEM.__dict__, **change}))[1:], message)
broken = PROBLEM.as_c()
broken.documents = None
refused(
    call(library.dashWorldCreate, [ctypes.byref(broken)], [ctypes.byref(Handle())]),
    "an array of the problem is NULL but not empty",
)
broken = PROBLEM.as_c()
broken.element = null
refused(
    call(library.dashWorldCreate, [ctypes.byref(broken)], [ctypes.byref(Handle())]),
    "a string is NULL but not empty",
)
small = Problem(**{**PROBLEM.__dict__, "memory": 1000})
limited, status, said = create(small)
assert (
    make(limited, "rows")[1:][0] == "DASH_INVALID_ARGUMENT"
    and "of 1000 that it may use" in make(limited, "rows")[2]
)

# Nothing of nothing.
nothing = Handle()
library.dashWorldPlanGetFacts(nothing, ctypes.byref(facts))
assert (
    facts.numRuns == 0
    and library.dashWorldPlanGetRuns(nothing, ctypes.c_int64(-1), None, ctypes.c_size_t(0)) == 0
)
assert (
    library.dashWorldPlanGetMessages(
        plan, 1, ctypes.c_int64(9), ctypes.c_int64(-1), None, ctypes.c_size_t(0)
    )
    == 0
)
assert library.dashWorldPlanGetFolds(nothing, ctypes.c_int64(-1), None, ctypes.c_size_t(0)) == 0
assert (
    library.dashWorldPlanGetBuffers(
        nothing, 0, ctypes.c_int64(0), ctypes.c_int64(-1), None, ctypes.c_size_t(0)
    )
    == 0
)
assert (
    library.dashWorldPlanGetReport(plan, StringRef.of("text")).text()
    == ""
    == library.dashWorldPlanGetReport(nothing, StringRef.of("json")).text()
)
assert (
    library.dashWorldGetCertificate(nothing, StringRef.of("x"), None, ctypes.c_size_t(0)).text()
    == ""
)

# A plan outlives its world.
library.dashWorldDestroy(world)
Plan(PROBLEM, plan).check()
for one in (plan, read_plan, nothing):
    library.dashWorldPlanDestroy(one)
for one in (read_world, other, limited, nothing):
    library.dashWorldDestroy(one)
