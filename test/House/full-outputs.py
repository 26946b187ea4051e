"""A full disk is an error with a place and a reason, of every tool and every way to write: no
crash, no half file, nothing lost."""

# RUN: rm -rf %t && mkdir %t
# RUN: %python %s %dash_examples/bwd-causal.mlir %t
# REQUIRES: python

import os
import resource
import subprocess
import sys
from pathlib import Path

example, scratch = sys.argv[1], Path(sys.argv[2])
ORDER = [example, "--dash-tile", "--dash-apply-schedule=kind=shift workers=4 sizes=q:512"]
PLAN = ["dash-plan", "--kind=shift", "--workers=4", "--sizes=q:512,heads:1"]
failures = []


def run(command, most=None, stdout=subprocess.DEVNULL):
    """With room for so many bytes in each file."""
    limit = (
        (lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)))
        if most is not None
        else None
    )
    done = subprocess.run(
        [str(word) for word in command],
        check=False,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=limit,
    )
    return done.returncode, done.stderr


def expect(command, message, **how):
    status, said = run(command, **how)
    if status != 1 or not said.endswith(message + "\n") or "LLVM ERROR" in said:
        failures.append(
            f"{' '.join(map(str, command))}: expected status 1 and '{message}', found {status} and"
            f" '{said}'"
        )


full = "/dev/full"
for tool, command in (("dash-opt", ["dash-opt", *ORDER]), ("dash-plan", PLAN)):
    expect([*command, "-o", full], f"{tool}: error: '{full}': No space left on device")
    with open(full, "wb") as device:
        expect(command, f"{tool}: error: standard output: No space left on device", stdout=device)
    # What was there stays, as it was; there is nothing beside it.
    folder = scratch / tool
    folder.mkdir()
    file, link = folder / "file", folder / "link"
    file.write_text("old")
    link.symlink_to("file")
    expect([*command, "-o", link], f"{tool}: error: '{link}': File too large", most=100)
    if file.read_text() != "old" or not link.is_symlink() or len(list(folder.iterdir())) != 2:
        failures.append(
            f"{tool}: a file was changed that could not be written: {list(folder.iterdir())}"
        )
    status, said = run([*command, "-o", link])
    if status or not link.is_symlink() or len(file.read_bytes()) < 200:
        failures.append(f"{tool}: expected the file of a link written, found {status}, {said}")

# A run that fails leaves the file that it was to write.
kept = scratch / "kept"
kept.write_text("old")
status, said = run(["dash-opt", *ORDER, "--dash-verify-stage=stage=ir", "-o", kept])
if status != 1 or kept.read_text() != "old":
    failures.append(
        f"expected the output of before behind a pass that fails, found {status},"
        f" {kept.read_bytes()[:40]}"
    )

for report in ("dash-report-schedule", "dash-compare", "dash-explain"):
    status, said = run(["dash-opt", *ORDER, f"--{report}=output={full}"])
    if status != 1 or f"'{full}': No space left on device" not in said or "LLVM ERROR" in said:
        failures.append(f"{report}: expected an error, found {status}, {said}")

scheduled, out = scratch / "scheduled.mlir", scratch / "run"
run(["dash-opt", *ORDER, "-o", scheduled])
expect(
    ["dash-run", scheduled, "--seed=1", f"--out={out}"],
    f"dash-run: error: '{out}/dq.npy': File too large",
    most=1000,
)
if list(out.iterdir()):
    failures.append(f"dash-run: expected nothing, found {list(out.iterdir())}")

print("\n".join(failures))
sys.exit(1 if failures else 0)
