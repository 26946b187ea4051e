#!/usr/bin/env python3
"""bug_reports.py: the doctor on a machine with a GPU, and reports that are done again: batches,
packed sequences, sinks. The status is 0 where all is well."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGE = next(
    folder
    for folder in (HERE.parent, HERE.parents[1] / "python")
    if (folder / "dash_attn").is_dir()
)
CALLS = (
    [],
    ["--mask", "300,0", "--rows", "1000", "--head-dim", "64", "--sinks"],
    ["--sequences", "4", "--rows", "2048", "--heads", "8", "--kv-heads", "2"],
    ["--sequences", "4", "--rows", "2048", "--heads", "4", "--sinks", "--dtype", "float16"],
)
SAID = "the PTX and the certificate are those of the report; gradients have the same bits in 3 runs"


def main() -> int:
    failed = False
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(
            [str(PACKAGE), *filter(None, [os.environ.get("PYTHONPATH")])]
        ),
    }

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *command], env=environment, capture_output=True, text=True, check=False
        )

    for options in CALLS:
        with tempfile.TemporaryDirectory() as at:
            report = Path(at, "report.zip")
            done = run("-m", "dash_attn.doctor", *options, "--report", str(report))
            print(done.stdout + done.stderr, flush=True)
            if done.returncode or not report.exists():
                print(f"FAILED: the doctor ended with {done.returncode}", flush=True)
                failed = True
                continue
            with zipfile.ZipFile(report) as archive:
                for name in archive.namelist():
                    target = Path(at, "report", name)
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(archive.read(name))
            again = run(str(Path(at, "report", "reproduce.py")))
            good = again.returncode == 0 and SAID in again.stdout
            print(
                f"{'' if good else 'FAILED: '}reproduced: {again.stdout}{again.stderr}", flush=True
            )
            failed |= not good
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
