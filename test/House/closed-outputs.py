"""With standard output, input or error closed, what is printed there goes nowhere: not into the
file that is opened next."""

# RUN: rm -rf %t && mkdir %t
# RUN: %python %s %dash_examples/bwd-causal.mlir %t
# REQUIRES: python

import os
import subprocess
import sys
from pathlib import Path

example, scratch = sys.argv[1], Path(sys.argv[2])
ORDER = [
    "--dash-tile",
    "--dash-apply-schedule=kind=shift workers=4 sizes=q:512",
    "--dash-report-schedule",
    "--dash-verify-stage=stage=ir",
]
failures = []


def run(command, closed):
    return subprocess.run(
        command,
        check=False,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: [os.close(descriptor) for descriptor in closed],
    ).returncode


# A report goes to standard output, and the error of the last pass to standard error.
for passes, code in ((ORDER[:3], 0), (ORDER, 1)):
    outputs = []
    for closed in ((), (0,), (1,), (2,), (0, 1, 2)):
        path = scratch / f"{code}-{''.join(map(str, closed))}.mlir"
        found = run(["dash-opt", example, *passes, "-o", str(path)], closed)
        outputs.append(path.read_bytes() if path.exists() else None)
        if found != code or outputs[-1] != outputs[0]:
            sizes = [len(output or b"") for output in (outputs[-1], outputs[0])]
            failures.append(
                f"dash-opt without {closed}: status {found}, {sizes[0]} bytes instead of {sizes[1]}"
            )

scheduled = scratch / "0-.mlir"
for closed in ((), (0,), (1,), (2,), (0, 1, 2)):
    folder = scratch / f"run-{''.join(map(str, closed))}"
    found = run(["dash-run", str(scheduled), "--seed=1", f"--out={folder}"], closed)
    names = sorted(path.name for path in folder.glob("*"))
    same = all(
        path.read_bytes() == (scratch / "run-" / path.name).read_bytes()
        for path in folder.glob("*")
    )
    if found != 0 or not names or not same:
        failures.append(f"dash-run without {closed}: status {found}, {names}")

planned = []
for closed in ((), (0,), (1,), (2,), (0, 1, 2)):
    path = scratch / f"plan-{''.join(map(str, closed))}.order"
    found = run(
        ["dash-plan", "--kind=shift", "--workers=4", "--sizes=q:512,heads:1", "-o", str(path)],
        closed,
    )
    planned.append(path.read_bytes() if path.exists() else None)
    if found != 0 or not planned[0] or planned[-1] != planned[0]:
        failures.append(
            f"dash-plan without {closed}: status {found}, {len(planned[-1] or b'')} bytes"
        )
    if (found := run(["dash-lsp-server"], closed)) not in (0, 1):
        failures.append(f"dash-lsp-server without {closed}: status {found}")

print("\n".join(failures))
sys.exit(1 if failures else 0)
