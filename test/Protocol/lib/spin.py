"""Runs SPIN on what --dash-emit-promela writes."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Kernel:
    """What is compiled: an example of a head dim, of several parts, whose contributions may be kept
    apart, or a list of sequences."""

    mask: str
    head_dim: int
    parts: int = 1
    is_list: bool = False
    is_apart: bool = False

    def __str__(self) -> str:
        kind = (
            f", {self.parts} parts{', apart' * self.is_apart}"
            if self.parts > 1
            else ", list"
            if self.is_list
            else ""
        )
        return f"{self.mask}, head dim {self.head_dim}{kind}"

    def program(self, examples: Path) -> str:
        text = (
            (examples / f"bwd-{self.mask}.mlir")
            .read_text(encoding="utf-8")
            .replace("x128xbf16", f"x{self.head_dim}xbf16")
        )
        return (
            text.replace("scale(%scale)", "scale(%scale) sequences(<?>)") if self.is_list else text
        )

    @property
    def options(self) -> str:
        return (
            "kind=shift workers=4"
            + (f" parts={self.parts} sizes=heads:{self.parts},kv-heads:1" if self.parts > 1 else "")
            + (" level=batch" if self.is_list else "")
            + " apart=all" * self.is_apart
        )


# One head dim a structure of warps.
PLAIN = [Kernel("full", 128), Kernel("causal", 128), Kernel("full", 64), Kernel("causal", 64)]
PARTS = [Kernel("causal", head_dim, parts=2) for head_dim in (128, 64)]
APART = [Kernel("causal", head_dim, parts=2, is_apart=True) for head_dim in (128, 64)]
LISTS = [Kernel("causal", 64, is_list=True)]


@dataclass(frozen=True)
class Verdict:
    states: int
    error: str  # what is wrong, or nothing


def run(*command, folder=None, check=True):
    result = subprocess.run(
        [str(word) for word in command], cwd=folder, check=False, capture_output=True, text=True
    )
    if check and result.returncode:
        raise SystemExit(
            f"{' '.join(map(str, command))}\nstatus"
            f" {result.returncode}\n{result.stdout[-2000:]}{result.stderr[-2000:]}"
        )
    return result


def kernel_ir(examples: Path, kernel: Kernel, scratch: Path, before="dash-verify-protocol") -> str:
    """A program in front of a pass: of this one, it is the last IR that speaks of slots."""
    path = scratch / "program.mlir"
    path.write_text(kernel.program(examples), encoding="utf-8")
    text = run(
        "dash-opt",
        path,
        f"--dash-to-ptx={kernel.options}",
        f"--mlir-print-ir-before={before}",
        "--mlir-print-ir-module-scope",
        "--mlir-disable-threading",
        "-o",
        "/dev/null",
    ).stderr
    return text.split("// -----// IR Dump")[1].split("\n", 1)[1]  # the first of them


def emit(ir: str, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "kernel.mlir").write_text(ir, encoding="utf-8")
    run(
        "dash-opt",
        folder / "kernel.mlir",
        f"--dash-emit-promela=output={folder / 'model.pml'}",
        "-o",
        "/dev/null",
    )
    return folder / "model.pml"


def check(model: Path, *defines: str) -> Verdict:
    """All interleavings, or the first error that SPIN finds."""
    folder = model.parent
    run(
        "spin",
        "-Pclang -std=gnu99 -E -x c",
        *[f"-D{one}" for one in defines],
        "-a",
        model.name,
        folder=folder,
    )
    run(
        "clang",
        "-w",
        "-DSAFETY",
        "-DNOREDUCE",
        "-DCOLLAPSE",
        "-DVECTORSZ=4096",
        "-o",
        "pan",
        "pan.c",
        folder=folder,
    )
    text = run("./pan", "-m1000000", folder=folder, check=False).stdout
    if (
        "Search not completed" in text and "pan:1:" not in text
    ) or "max search depth too small" in text:
        raise SystemExit(f"the search of {model} was not completed\n{text}")
    unreached = re.findall(r"unreached in proctype (role\w+)\n((?:\t.*\n)+)", text)
    error = re.search(r"pan:1: (.*) \(at depth", text)
    missed = [name for name, places in unreached if "(0 of" not in places]
    if not error and missed:
        raise SystemExit(
            f"{model}, {' '.join(defines)}: no search has come to the end of {', '.join(missed)}"
        )
    return Verdict(
        int(re.search(r"(\d+) states, stored", text)[1]), name_of(error[1]) if error else ""
    )


def name_of(error: str) -> str:
    """An assertion is called by what would be wrong: the last name in it."""
    if error.startswith("invalid end state"):
        return "deadlock"
    words = re.findall(r"[a-z]+(?:_[a-z]+)+", error)
    return words[-1].replace("_", " ") if words else error
