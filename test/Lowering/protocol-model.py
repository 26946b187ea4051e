# RUN: python3 %s worker --examples %dash_examples | FileCheck %s --check-prefix=WORKER
# RUN: python3 %s workers --examples %dash_examples | FileCheck %s --check-prefix=GRID
# RUN: python3 %s faults --examples %dash_examples | FileCheck %s --check-prefix=FAULTS --implicit-check-not=crash
# REQUIRES: spin, host-supports-nvptx
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
# FAULTS:         none {{ *}}- {{ *}}- {{ *}}- {{ *}}nothing
# FAULTS-NOT:     {{nothing$}}
"""The protocol of main kernels, in all interleavings: a model of the IR with waits and phases, checked by SPIN.

    worker     one worker in full detail
    workers    several, reduced to takes and gives of turns
    faults     edits of the IR, and who finds them
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

# Kind, mask, and how many workers.
ORDERS = [("ascending", "causal", 3), ("descending", "causal", 3), ("shift", "full", 3), ("symmetric-shift", "causal", 3),
          ("synthesized", "causal", 3)]
CHECKERS = ["check-resources", "verify-waits", "verify-protocol"]


def table(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def worker(args, scratch):
    rows = [("kernel", "list", "states", "found")]
    for mask, head_dim in spin.PROGRAMS:
        model = spin.emit(spin.kernel_ir(args.examples, mask, head_dim, scratch), scratch / f"{mask}-{head_dim}")
        lists = [("3 items of 4 steps", ("ITEMS=3", "STEPS=4"))]
        if (mask, head_dim) == spin.PROGRAMS[-1]:
            lists += [("all lists of 2 items, up to 2 steps", ("ITEMS=2", "STEPS=2", "ANY")),
                      ("1 item of 4 steps, copies at any time", ("ITEMS=1", "STEPS=4", "LANDING"))]
        for name, defines in lists:
            verdict = spin.check(model, *defines)
            rows.append((f"{mask}, head dim {head_dim}", name, str(verdict.states), verdict.error or "nothing"))
    # A reduced worker of other depths is not this one.
    text = model.read_text(encoding="utf-8")
    ahead = int(re.search(r"#define AHEAD (\d+)", text)[1])
    for slots in (ahead - 1, 2 * ahead):
        model.write_text(text.replace(f"#define AHEAD {ahead}\n", f"#define AHEAD {slots}\n"), encoding="utf-8")
        verdict = spin.check(model, "ITEMS=2", "STEPS=4")
        rows.append((f"{mask}, head dim {head_dim}", f"2 items of 4 steps, reduced worker of D = {slots}", str(verdict.states), verdict.error))
    table(rows)


def workers(args, scratch):
    model = spin.emit(spin.kernel_ir(args.examples, "causal", 128, scratch), scratch / "grid")
    rows = [("order", "workers", "index", "resident", "states", "found")]
    for kind, mask, count in ORDERS:
        report = spin.run("dash-opt", args.examples / f"bwd-{mask}.mlir", "--dash-tile",
                          f"--dash-apply-schedule=kind={kind} workers={count} sizes=q:384,kv:384,heads:2",
                          "--dash-report-schedule=format=json", "-o", "/dev/null").stdout
        schedule, = json.loads(report)["schedules"]
        needed = schedule["minWorkers"]
        tries = [("ticket", resident) for resident in (needed, needed - 1) if resident]
        # Blocks of their own index may start in any order, which matters where not all are resident.
        tries += [("own", resident) for resident in (needed, count) if needed < count]
        for index, resident in tries:
            (model.parent / "order.pml").write_text(reduced.order_to_promela(schedule, resident), encoding="utf-8")
            verdict = spin.check(model, "GRID", *["OWN_INDEX"] * (index == "own"))
            rows.append((f"{kind}, {mask}", str(count), index, str(resident), str(verdict.states), verdict.error or "nothing"))
    table(rows)


def found_by(path, checker):
    result = spin.run("dash-opt", path, f"--dash-{checker}", "-o", "/dev/null", check=False)
    return "found" if result.returncode == 1 and "error: " in result.stderr else "-" if result.returncode == 0 else "crash"


def seeded(args, scratch):
    ir = spin.kernel_ir(args.examples, "causal", 128, scratch)
    plan = spin.kernel_ir(args.examples, "causal", 128, scratch, before="dash-check-resources")
    rows = [("fault", *CHECKERS, "model")]
    for number, (name, edit) in enumerate([("none", lambda text: text), *faults.FAULTS.items()]):
        folder = scratch / str(number)
        model = spin.emit(edit(ir), folder)
        (folder / "plan.mlir").write_text(faults.PLAN_FAULTS.get(name, lambda text: text)(plan), encoding="utf-8")
        found = [found_by(folder / ("plan.mlir" if checker == "check-resources" else "kernel.mlir"), checker) for checker in CHECKERS]
        rows.append((name, *found, spin.check(model, "ITEMS=2", "STEPS=4").error or "nothing"))
    table(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["worker", "workers", "faults"])
    parser.add_argument("--examples", type=Path, required=True)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        {"worker": worker, "workers": workers, "faults": seeded}[args.what](args, Path(scratch))


if __name__ == "__main__":
    main()
