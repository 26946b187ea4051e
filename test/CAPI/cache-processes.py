# RUN: rm -rf %t && mkdir -p %t
# RUN: env PYTHONPATH=%dash_src/test/python/lib %python %s %dash_build %t
# REQUIRES: python
"""Processes that begin at once on one empty cache all run, and leave one whole file, which later
ones load instead of assembling."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))

from capi_launch import BUILD, TMP, problem, sizes_of, write  # noqa: E402
from fixtures import tensors  # noqa: E402

ROUNDS, PROCESSES = 5, 6


def at_once(base: Path, cache: Path) -> list[set[str]]:
    """What each process did with code: "assemble", or "load" something."""
    text = problem(tensors(), sizes_of(tensors()))
    logs = [cache.with_name(f"{cache.name}-{i}.calls") for i in range(PROCESSES)]
    for log in logs:
        log.unlink(missing_ok=True)
    started = [
        subprocess.Popen(
            [BUILD / "bin/capi-launch", BUILD / "lib/libcapi-stub-driver.so", base, "run"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"DASH_STUB_LOG": str(log), "DASH_CACHE": str(cache)},
        )
        for log in logs
    ]
    for process in started:  # they wait for a problem
        process.stdin.write(text)
        process.stdin.close()
        process.stdin = None
    for process in started:
        out, errors = process.communicate(timeout=120)
        assert (
            process.returncode == 0 and out.splitlines()[-1] == "run: DASH_SUCCESS" and not errors
        ), (process, out, errors)
    words = [
        [line.split() for line in log.read_text(encoding="utf-8").splitlines()] for log in logs
    ]
    return [
        {
            f"{call[0]} {call[-1]}" if call[0] == "load" else call[0]
            for call in calls
            if call[0] in ("assemble", "load")
        }
        for calls in words
    ]


with tempfile.TemporaryDirectory(prefix="dash-ptxas-", dir="/tmp") as tools:
    os.environ["DASH_PTXAS"] = shutil.copy(Path(__file__).parent / "lib/stub-ptxas", tools)
    kernel = write("kernel")
    for number in range(ROUNDS):
        folder = TMP / f"cache-{number}"
        first = at_once(kernel, folder)
        assert any("assemble" in did for did in first) and all(
            "load cubin" in did for did in first
        ), first
        kept = [path.name for path in folder.iterdir()]
        assert len(kept) == 1 and kept[0].endswith(".cubin"), kept
        again = at_once(kernel, folder)
        assert all(did == {"load cubin"} for did in again), again
