# RUN: %torch_python %s
# REQUIRES: torch, plain-libdash
"""The example of long documents, on the CPU: one process and two have the same first loss and the
same hash of attention, and the hash tells other documents apart."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))

from fixtures import SOURCE  # noqa: E402

EXAMPLE = SOURCE / "python/examples/long_context.py"
SIZES = (
    "--device=cpu --layers=2 --heads=4 --kv-heads=2 --head-dim=64 --inner=256 --vocabulary=128"
    " --chunk=128 --cut=0 --steps=2 --peak=0"
).split()
DOCUMENTS = "512,192,64"
LINE = re.compile(r"step (\d): loss \d+\.\d+ \((0x\S+)\); attention ([0-9a-f]{16})$", re.MULTILINE)
Steps = list[tuple[str, str, str]]  # number, loss, hash


def run(ranks: int, *more: str, documents: str = DOCUMENTS) -> tuple[Steps, str]:
    """What the first rank prints of each step, and what it says beside."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = os.environ | {
        "PYTHONPATH": str(SOURCE / "python"),
        "OMP_NUM_THREADS": "1",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "WORLD_SIZE": str(ranks),
    }
    processes = [
        subprocess.Popen(
            [sys.executable, str(EXAMPLE), *SIZES, f"--documents={documents}", *more],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment | {"RANK": str(rank), "LOCAL_RANK": str(rank)},
        )
        for rank in range(ranks)
    ]
    try:
        said = [process.communicate(timeout=240) for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert all(process.returncode == 0 for process in processes), [
        wrong[-2000:] for _, wrong in said
    ]
    assert not any(LINE.search(out) for out, _ in said[1:]), said
    return LINE.findall(said[0][0]), said[0][1]


one, beside_one = run(1)
two, beside_two = run(2)
assert [number for number, _, _ in one] == [number for number, _, _ in two] == ["0", "1"], (
    one,
    two,
)
assert one[0] == two[0], (one[0], two[0])
assert one[0][1:] != one[1][1:], one
assert "note:" not in beside_one + beside_two, (beside_one, beside_two)
# Chunks that ranks do not share are said, since losses are sums over other rows then.
other, beside = run(2, "--steps=1", documents="512,100")
assert other[0][1:] != one[0][1:], other
assert (
    "note: 612 rows over 2 ranks do not cut into chunks of 128; losses differ from those of other"
    " numbers of ranks" in beside
), beside
