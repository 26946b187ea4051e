# RUN: rm -rf %t && mkdir -p %t
# RUN: env PYTHONPATH=%dash_src/test/python/lib %python %s %dash_build %t | FileCheck %s
# REQUIRES: python, plain-libdash
"""What a launch costs on the host, beside a driver that does nothing: the C API's own share, and
Python's. The least of some rounds, since others use the machine too."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from fixtures import tensors, write
from stub_driver import STUB

from dash_attn import Kernel
from dash_attn.kernel.driver import Driver

BUILD, TMP = Path(sys.argv[1]), Path(sys.argv[2])
ROUNDS, CALLS = 20, 500


def least(call: Callable[[int], None]) -> float:
    times = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        for number in range(CALLS):
            call(number)
        times.append((time.perf_counter() - begun) / CALLS)
    return min(times) * 1e6


manifest = write(TMP)
printed = subprocess.run(
    [BUILD / "bin/capi-launch", STUB, manifest.with_suffix(""), "bench"],
    capture_output=True,
    text=True,
    check=True,
)
of_c = float(re.search(r"([\d.]+) us a run", printed.stdout)[1])
driver = Driver(STUB)
kernel = Kernel.load(manifest, driver)
given = [
    tensors(),
    {name: replace(tensor, pointer=tensor.pointer + 4096) for name, tensor in tensors().items()},
]
# CHECK:      dashPlanRun, new addresses each time: {{[0-9.]+}} us
print(f"dashPlanRun, new addresses each time: {of_c:.2f} us")
with driver.on(0):  # as it is where anything ran before
    launch = kernel.bind(**given[0])
    # CHECK-NEXT: Launch.run, which was bound: {{[0-9.]+}} us
    print(f"Launch.run, which was bound: {least(lambda _: launch.run()):.1f} us")
    # CHECK-NEXT: Kernel.backward, new addresses each time: {{[0-9.]+}} us
    of_python = least(lambda number: kernel.backward(**given[number % 2]))
    print(f"Kernel.backward, new addresses each time: {of_python:.1f} us")
# A bound in microseconds would be one of the machine: Python's way goes through C's.
assert of_c < of_python / 2, "C has a share in a call that Python has none of"
