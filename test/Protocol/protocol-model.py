# RUN: python3 %s worker --examples %dash_examples | FileCheck %s --check-prefix=WORKER
# RUN: python3 %s workers --examples %dash_examples | FileCheck %s --check-prefix=GRID
# RUN: python3 %s faults --examples %dash_examples | FileCheck %s --check-prefix=FAULTS --implicit-check-not=crash
# RUN: python3 %s more-faults --examples %dash_examples | FileCheck %s --check-prefix=MORE --implicit-check-not=crash
# REQUIRES: spin, host-supports-nvptx
# WORKER-COUNT-2: 2 parts {{ *}}3 items of 4 steps and 4 pieces {{ *}}{{[0-9]+}} {{ *}}nothing
# WORKER-COUNT-2: 2 parts, apart {{ *}}3 items of 4 steps and 4 pieces {{ *}}{{[0-9]+}} {{ *}}nothing
# WORKER:         list {{ *}}3 items of 4 steps, 2 sequences {{ *}}{{[0-9]+}} {{ *}}nothing
# WORKER-COUNT-4: 3 items of 4 steps {{ *}}{{[0-9]+}} {{ *}}nothing
# WORKER:         all lists of 2 items, up to 2 steps {{ *}}{{[0-9]+}} {{ *}}nothing
# WORKER-NEXT:    1 item of 4 steps, copies at any time {{ *}}{{[0-9]+}} {{ *}}nothing
# WORKER-NEXT:    reduced worker of D = {{.*}} unlike reduced worker
# WORKER-NEXT:    reduced worker of D = {{.*}} stuck in its turn
# GRID:           ascending, causal {{ *}}3 {{ *}}ticket {{ *}}1 {{.*}} nothing
# GRID-NEXT:      {{.*}} own {{ *}}1 {{.*}} deadlock
# GRID-NEXT:      {{.*}} own {{ *}}3 {{.*}} nothing
# GRID-NEXT:      descending, causal {{ *}}3 {{ *}}ticket {{ *}}3 {{.*}} nothing
# GRID-NEXT:      {{.*}} ticket {{ *}}2 {{.*}} deadlock
# GRID-NEXT:      shift, full {{ *}}3 {{ *}}ticket {{ *}}3 {{.*}} nothing
# GRID-NEXT:      {{.*}} ticket {{ *}}2 {{.*}} deadlock
# GRID-NEXT:      symmetric-shift, causal {{ *}}3 {{ *}}ticket {{ *}}2 {{.*}} nothing
# GRID-NEXT:      {{.*}} ticket {{ *}}1 {{.*}} deadlock
# GRID-NEXT:      {{.*}} own {{ *}}2 {{.*}} deadlock
# GRID-NEXT:      {{.*}} own {{ *}}3 {{.*}} nothing
# GRID-NEXT:      synthesized, causal {{ *}}3 {{ *}}ticket {{ *}}3 {{.*}} nothing
# GRID-NEXT:      {{.*}} ticket {{ *}}2 {{.*}} deadlock
# GRID-NEXT:      shift, full, 2 parts {{ *}}3 {{ *}}ticket {{ *}}2 {{.*}} nothing
# GRID-NEXT:      {{.*}} ticket {{ *}}1 {{.*}} deadlock
# GRID:           symmetric-shift, causal, 3 sequences {{ *}}3 {{ *}}ticket {{.*}} nothing
# GRID:           {{.*}} deadlock
# FAULTS:         none {{ *}}- {{ *}}- {{ *}}- {{ *}}nothing
# FAULTS-NOT:     {{nothing$}}
# MORE:           none, 2 parts {{ *}}- {{ *}}- {{ *}}nothing
# MORE:           none, list {{ *}}- {{ *}}- {{ *}}nothing
# MORE-NOT:       {{nothing$}}
"""The protocol of main kernels, in all interleavings: a model of the IR with waits and phases,
checked by SPIN.

    worker         one worker in full detail
    workers        several, reduced to takes and gives of turns
    faults         edits of the IR, and what finds them
    more-faults    edits of what parts and lists have
"""

import argparse
import json
import re
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))
import faults  # noqa: E402
import reduced  # noqa: E402
import spin  # noqa: E402
from verdicts import found_by, found_in, table  # noqa: E402

# Kind, mask, how many workers, and of what.
SQUARE = "sizes=q:384,kv:384,heads:2"
ORDERS = [
    ("ascending", "causal", 3, SQUARE, ""),
    ("descending", "causal", 3, SQUARE, ""),
    ("shift", "full", 3, SQUARE, ""),
    ("symmetric-shift", "causal", 3, SQUARE, ""),
    ("synthesized", "causal", 3, SQUARE, ""),
    ("shift", "full", 3, "parts=2 sizes=q:128,kv:256,heads:2,kv-heads:1", ", 2 parts"),
    ("symmetric-shift", "causal", 3, "sizes=q:256+64+384,kv:256+128+384,heads:1", ", 3 sequences"),
]
PIECES = 4  # of an item's sums
CHECKERS = ["check-resources", "verify-waits", "verify-protocol"]


def worker(args, scratch):
    rows = [("kernel", "list", "states", "found")]
    for kernel in spin.PARTS + spin.APART + spin.LISTS + spin.PLAIN:
        model = spin.emit(spin.kernel_ir(args.examples, kernel, scratch), scratch / "worker")
        more = (
            f" and {PIECES} pieces"
            if kernel.parts > 1
            else ", 2 sequences"
            if kernel.is_list
            else ""
        )
        lists = [
            ("3 items of 4 steps" + more, ("ITEMS=3", "STEPS=4", *["SEQUENCES=2"] * kernel.is_list))
        ]
        if kernel == spin.PLAIN[-1]:
            lists += [
                ("all lists of 2 items, up to 2 steps", ("ITEMS=2", "STEPS=2", "ANY")),
                ("1 item of 4 steps, copies at any time", ("ITEMS=1", "STEPS=4", "LANDING")),
            ]
        for name, defines in lists:
            verdict = spin.check(model, *defines)
            rows.append((str(kernel), name, str(verdict.states), verdict.error or "nothing"))
    # A reduced worker of other depths is not this one.
    text = model.read_text(encoding="utf-8")
    ahead = int(re.search(r"#define AHEAD (\d+)", text)[1])
    for slots in (ahead - 1, 2 * ahead):
        model.write_text(
            text.replace(f"#define AHEAD {ahead}\n", f"#define AHEAD {slots}\n"), encoding="utf-8"
        )
        verdict = spin.check(model, "ITEMS=2", "STEPS=4")
        rows.append(
            (
                str(kernel),
                f"2 items of 4 steps, reduced worker of D = {slots}",
                str(verdict.states),
                verdict.error,
            )
        )
    table(rows)


def workers(args, scratch):
    model = spin.emit(spin.kernel_ir(args.examples, spin.PLAIN[1], scratch), scratch / "grid")
    rows = [("order", "workers", "index", "resident", "states", "found")]
    for kind, mask, count, options, of in ORDERS:
        report = spin.run(
            "dash-opt",
            args.examples / f"bwd-{mask}.mlir",
            "--dash-tile",
            f"--dash-apply-schedule=kind={kind} workers={count} {options}",
            "--dash-report-schedule=format=json",
            "-o",
            "/dev/null",
        ).stdout
        (schedule,) = json.loads(report)["schedules"]
        needed = schedule["minWorkers"]
        tries = [("ticket", resident) for resident in (needed, needed - 1) if resident]
        # Blocks of their own index may start in any order, which matters where not all are
        # resident.
        tries += [("own", resident) for resident in (needed, count) if needed < count]
        for index, resident in tries:
            (model.parent / "order.pml").write_text(
                reduced.order_to_promela(schedule, PIECES, resident), encoding="utf-8"
            )
            verdict = spin.check(model, "GRID", *["OWN_INDEX"] * (index == "own"))
            rows.append(
                (
                    f"{kind}, {mask}{of}",
                    str(count),
                    index,
                    str(resident),
                    str(verdict.states),
                    verdict.error or "nothing",
                )
            )
    table(rows)


def seeded(args, scratch):
    ir = spin.kernel_ir(args.examples, spin.PLAIN[1], scratch)
    plan = spin.kernel_ir(args.examples, spin.PLAIN[1], scratch, before="dash-check-resources")
    rows = [("fault", *CHECKERS, "model")]
    for number, (name, edit) in enumerate([("none", lambda text: text), *faults.FAULTS.items()]):
        planned = scratch / f"{number}.mlir"
        planned.write_text(faults.PLAN_FAULTS.get(name, lambda text: text)(plan), encoding="utf-8")
        rows.append(
            (
                name,
                found_by(planned, CHECKERS[0]),
                *found_in(edit(ir), scratch / str(number), CHECKERS[1:], "ITEMS=2", "STEPS=4"),
            )
        )
    table(rows)


def more_seeded(args, scratch):
    rows = [("fault", *CHECKERS[1:], "model")]
    for kernel, what, edits, defines in [
        (spin.PARTS[0], "2 parts", faults.PART_FAULTS, ()),
        (spin.LISTS[0], "list", faults.LIST_FAULTS, ("SEQUENCES=2",)),
    ]:
        ir = spin.kernel_ir(args.examples, kernel, scratch)
        for number, (name, edit) in enumerate(
            [(f"none, {what}", lambda text: text), *edits.items()]
        ):
            rows.append(
                (
                    name,
                    *found_in(
                        edit(ir),
                        scratch / f"{kernel.parts}-{number}",
                        CHECKERS[1:],
                        "ITEMS=2",
                        "STEPS=4",
                        *defines,
                    ),
                )
            )
    table(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["worker", "workers", "faults", "more-faults"])
    parser.add_argument("--examples", type=Path, required=True)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        commands = {
            "worker": worker,
            "workers": workers,
            "faults": seeded,
            "more-faults": more_seeded,
        }
        commands[args.what](args, Path(scratch))


if __name__ == "__main__":
    main()
