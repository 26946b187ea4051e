"""compute-sanitizer over a small backward, and a small forward, of one kernel: memory, races in
shared memory, barriers."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from group import Failed, Skip, Test

from dash_attn.measure.bundle import BundledKernel

# Memory for every head dim and mask; what takes long for one of them, whose main kernel has all
# roles and masks.
TOOLS, MORE_TOOLS, MORE_FOR = ("memcheck",), ("racecheck", "synccheck"), "d128-causal"
# racecheck knows what a thread says of itself at a barrier, not that a warp's lanes have come
# together before one of them says it for all: it is given the build in which every thread arrives.
# What the roles wait for is the same.
OF_THREADS = ("racecheck",)
ROWS, SECONDS = 200, 100


def tests(kernels: list[BundledKernel], quick: bool) -> list[Test]:
    which = []
    for is_forward, is_list in itertools.product((False, True), repeat=2):
        some = [
            kernel
            for kernel in kernels
            if kernel.is_forward == is_forward
            and kernel.is_list == is_list
            and kernel.manifest["order"]["source"] == "entry"
        ]
        kernel = next((kernel for kernel in some if not kernel.debug), None)
        threads = next((kernel for kernel in some if kernel.debug == "threads"), None)
        if kernel is not None and threads is not None:
            which += [
                (tool, threads if tool in OF_THREADS else kernel)
                for tool in TOOLS + MORE_TOOLS * (kernel.group == MORE_FOR)
            ]
        # What a sink's gradient reads and writes, over a list also of sequences without a tile;
        # what pieces of keys write and read again; an o in f32; boxes of several heads.
        which += [
            ("memcheck", kernel)
            for kernel in some
            if kernel.has_sink or kernel.is_cut or kernel.is_unrounded or kernel.fold > 1
        ]
    return [
        Test(
            f"sanitizer {kernel.name} {tool}",
            kernel.name,
            lambda kernel=kernel, tool=tool: check(kernel, tool),
        )
        for tool, kernel in which
    ]


def check(kernel: BundledKernel, tool: str) -> dict[str, Any]:
    sanitizer = shutil.which("compute-sanitizer") or shutil.which(
        "/usr/local/cuda/bin/compute-sanitizer"
    )
    if sanitizer is None:
        raise Skip("compute-sanitizer is not installed")
    command = [
        sanitizer,
        "--tool",
        tool,
        "--error-exitcode",
        "9",
        "--print-limit",
        "5",
        # libdash asks each entry for one parameter more than it has, to see that there is none
        "--report-api-errors",
        "no",
        sys.executable,
        str(Path(__file__).with_name("sanitize.py")),
        str(kernel.path),
        str(ROWS),
    ]
    environment = dict(os.environ, PYTHONPATH=str(Path(__file__).resolve().parent.parent))
    try:
        result = subprocess.run(
            command, capture_output=True, text=True, timeout=SECONDS, env=environment, check=False
        )
    except subprocess.TimeoutExpired:
        raise Skip(f"not done after {SECONDS} s under {tool}") from None
    text = result.stdout + result.stderr
    if (
        "Device not supported" in text
        or "not supported" in text.lower()
        and "ERROR SUMMARY" not in text
    ):
        raise Skip("compute-sanitizer does not support this machine")
    summary = [line.strip("= ") for line in text.splitlines() if "SUMMARY" in line]
    if result.returncode:
        raise Failed("; ".join(summary) or f"exit status {result.returncode}", output=text[-3000:])
    return {"summary": summary}
