"""Kernels for capi-launch, what it is told to do, and what its driver wrote down. That driver reads
from the PTX how many parameters of how many bytes an entry takes."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fixtures

BUILD, TMP = Path(sys.argv[1]), Path(sys.argv[2])
TMP.mkdir(parents=True, exist_ok=True)
ELEMENTS = {"bf16": 1, "f16": 2, "f32": 3}
WORKSPACE, ORDER = 1 << 50, 1 << 51


def write(name: str, change: Any = None, table: bytes = b"", is_wrong: bool = False) -> Path:
    """A kernel of fixtures; returns the path without an ending."""
    return fixtures.write(TMP, change, table, name=name, is_wrong=is_wrong).with_suffix("")


@dataclass
class Ran:
    """What a program printed, and the calls of its driver that change anything, with words in their
    place."""

    lines: list[str]
    calls: list[list[str]]

    def launches(self) -> list[list[str]]:
        return [call[1:] for call in self.calls if call[0] == "launch"]

    def enqueued(self) -> list[str]:
        return [call[0] for call in self.calls if call[0] in ("fill", "copy", "launch")]


def run(base: Path, mode: str = "run", text: str = "", **settings: Any) -> Ran:
    log = TMP / "calls"
    log.unlink(missing_ok=True)
    environment = (
        os.environ
        | {"DASH_STUB_LOG": str(log)}
        | {f"DASH_STUB_{name.upper()}": str(value) for name, value in settings.items()}
    )
    done = subprocess.run(
        [BUILD / "bin/capi-launch", BUILD / "lib/libcapi-stub-driver.so", base, mode],
        input=text,
        text=True,
        env=environment,
        stdout=subprocess.PIPE,
        check=False,
    )
    assert done.returncode in (0, 1), (done, base, mode)
    calls = [line.split() for line in log.read_text().splitlines()] if log.exists() else []
    assert "contextless" not in [call[0] for call in calls], calls  # its threads have no context
    return Ran(done.stdout.splitlines(), calls)


def problem(given: dict[str, Any], sizes: dict[str, int], *more: str) -> str:
    """The lines that capi-launch reads."""
    lines = [f"size {name} {value}" for name, value in sizes.items()]
    for tensor in given.values():
        numbers = (
            tensor.pointer,
            ELEMENTS[tensor.dtype],
            len(tensor.shape),
            *tensor.shape,
            *tensor.strides,
        )
        lines.append("tensor " + " ".join(map(str, numbers)))
    return "\n".join(
        [
            *lines,
            f"workspace {WORKSPACE} 0",
            f"order {ORDER} 0",
            f"scale {128**-0.5}",
            *more,
            "go",
            "",
        ]
    )


def sizes_of(given: dict[str, Any]) -> dict[str, int]:
    q, k = given["q"].shape, given["k"].shape
    return {"batch": q[0], "heads": q[1], "kv_heads": k[1], "q_rows": q[2], "kv_rows": k[2]}
