#!/usr/bin/env python3
"""Assembles PTX and refuses what makes kernels slow: warnings, serialized products, spills, stack.

    check_ptxas.py KERNEL.ptx
    check_ptxas.py KERNEL.ptx --allow-spills name_main=16:"two pointers, outside of the loop"

Prints a line for each entry, then a line for each finding; the status is 1 if there is one. Where
cuobjdump is installed, the loops that multiply (HGMMA) are read in the machine's code too: no LDL
or STL may stand in them.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
from dash_attn.kernel.assembler import GOOD, find_assemblers, find_waits, spell  # noqa: E402

ENTRY = re.compile(r"Compiling entry function '([^']+)' for '([^']+)'")
STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
REGISTERS = re.compile(r"Used (\d+) registers")
SHARED = re.compile(r"(\d+) bytes smem")
TARGET = re.compile(r"^\.target\s+(\w+)", re.M)
# One instruction of cuobjdump -sass, its address first.
INSTRUCTION = re.compile(r"/\*([0-9a-f]{4,})\*/\s+(.*?);")
BRANCH = re.compile(r"\bBRA\b.*?\b0x([0-9a-f]+)")


@dataclass
class Entry:
    """What ptxas says of one entry; stack, stores and loads in bytes of a thread."""

    name: str
    registers: int = 0
    shared: int = 0
    stack: int = 0
    stores: int = 0
    loads: int = 0


def read_entries(text):
    entries = []
    for line in text.splitlines():
        if match := ENTRY.search(line):
            entries.append(Entry(match[1]))
        if not entries:
            continue
        if match := STACK.search(line):
            entries[-1].stack, entries[-1].stores, entries[-1].loads = map(int, match.groups())
        if match := REGISTERS.search(line):
            entries[-1].registers = int(match[1])
            shared = SHARED.search(line)
            entries[-1].shared = int(shared[1]) if shared else 0
    return entries


def loops_with_products(code):
    """The instructions of each innermost backward branch's range that holds a HGMMA."""
    instructions = [(int(at, 16), text) for at, text in INSTRUCTION.findall(code)]
    ranges = [
        (int(match[1], 16), at)
        for at, text in instructions
        if (match := BRANCH.search(text)) and int(match[1], 16) < at
    ]
    for first, last in ranges:
        if any(first <= a and b <= last and (a, b) != (first, last) for a, b in ranges):
            continue
        body = [text for at, text in instructions if first <= at <= last]
        if any("HGMMA" in text for text in body):
            yield first, body


def local_accesses(cuobjdump, cubin):
    """A finding for each loop of products that uses local memory."""
    text = subprocess.run(
        [cuobjdump, "-sass", str(cubin)], capture_output=True, text=True, check=True
    ).stdout
    for part in text.split("Function : ")[1:]:
        name = part.split()[0]
        for first, body in loops_with_products(part):
            found = sorted({word for line in body for word in re.findall(r"\b(?:LDL|STL)\b", line)})
            if found:
                yield f"{name}: {', '.join(found)} in the loop of products at 0x{first:x}"


def allowance(text):
    match = re.fullmatch(r"([^=]+)=(\d+):(.+)", text, re.S)
    if not match:
        raise argparse.ArgumentTypeError(f"expected ENTRY=BYTES:REASON, found '{text}'")
    return match[1], int(match[2])


def find(tool, given):
    if tool == "ptxas":
        return given or next(iter(find_assemblers()), None)
    return given or shutil.which(tool) or shutil.which(tool, path="/usr/local/cuda/bin")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("ptx", type=Path)
    parser.add_argument(
        "--ptxas", help="the assembler; that of DASH_PTXAS, or the first on PATH, by default"
    )
    parser.add_argument(
        "--cuobjdump", help="reads machine code; the one on PATH, if any, by default"
    )
    parser.add_argument(
        "--allow-spills",
        type=allowance,
        action="append",
        default=[],
        metavar="ENTRY=BYTES:REASON",
        help="bytes of stack, of stores and of loads that an entry may have, and why",
    )
    arguments = parser.parse_args()
    ptxas, cuobjdump = find("ptxas", arguments.ptxas), find("cuobjdump", arguments.cuobjdump)
    if not ptxas:
        sys.exit("error: no ptxas on PATH; install CUDA's or pass --ptxas")
    target = TARGET.search(arguments.ptx.read_text(encoding="utf-8"))
    if not target:
        sys.exit(f"error: {arguments.ptx}: expected a .target, found none")
    allowed, findings = dict(arguments.allow_spills), []
    with tempfile.TemporaryDirectory() as scratch:
        cubin = Path(scratch) / "kernel.cubin"
        done = subprocess.run(
            [
                ptxas,
                f"-arch={target[1]}",
                "-v",
                "--warning-as-error",
                "-o",
                str(cubin),
                str(arguments.ptx),
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        said = done.stdout + done.stderr
        entries = read_entries(said)
        if cuobjdump and cubin.is_file():
            findings += local_accesses(cuobjdump, cubin)
    print("entry registers shared stack stores loads")
    for entry in entries:
        print(entry.name, entry.registers, entry.shared, entry.stack, entry.stores, entry.loads)
        for what in ("stack", "stores", "loads"):
            if getattr(entry, what) > allowed.get(entry.name, 0):
                findings.append(
                    f"{entry.name}: expected at most {allowed.get(entry.name, 0)} bytes of {what}, "
                    f"found {getattr(entry, what)}"
                )
    for name in set(allowed) - {entry.name for entry in entries}:
        findings.append(f"--allow-spills: no entry '{name}'")
    findings += [
        f"{spell(ptxas)} lets products wait for each other: {line}; expected {GOOD}"
        for line in find_waits(said)
    ]
    if done.returncode != 0:
        findings.append(
            f"{spell(ptxas)} fails with status {done.returncode}, expected {GOOD}:\n{said.strip()}"
        )
    elif not entries:
        findings.append("expected an entry, found none")
    print("\n".join(findings), end="\n" if findings else "")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
