#!/usr/bin/env python3
"""Checks that C and C++ files look as .clang-format says, and Python files as pyproject.toml does,
also programs without an ending; --fix rewrites them."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import house

# The version is part of the rule: two versions of a formatter rarely agree on every line.
RUFF = re.compile(r"\bruff==([0-9.]+)")
RUN_FIX = "not formatted; run: tools/scripts/format.py --fix"


def find_clang_format() -> str:
    for name in ("clang-format-22", str(house.LLVM_BIN / "clang-format")):
        if shutil.which(name):
            return name
    sys.exit(
        "error: expected clang-format-22, found none; run tools/check, or: "
        "apt-get install clang-format-22"
    )


def find_ruff() -> str:
    setup = house.read(house.ROOT / "tools" / "scripts" / "setup.sh")
    version = RUFF.search(setup).group(1)
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    made = os.environ.get("DASH_FORMATTER") or Path(caches) / "dash-formatter"
    found = "none"
    for name in (str(Path(made) / "bin" / "ruff"), "ruff"):
        if shutil.which(name):
            found = run([name, "--version"]).stdout.split()[-1]
            if found == version:
                return name
    sys.exit(
        f"error: expected ruff {version}, found {found}; run tools/check, or: "
        f"pip install ruff=={version}"
    )


def run(command: list[str], root: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)


def fix(root: Path, sources: list[str], scripts: list[str]) -> int:
    status = 0
    if sources:
        status |= subprocess.run(
            [find_clang_format(), "-i", *sources], cwd=root, check=False
        ).returncode
    if scripts:
        status |= subprocess.run(
            [find_ruff(), "format", "-q", *scripts], cwd=root, check=False
        ).returncode
    return status


def main() -> None:
    arguments = house.parse_arguments(
        __doc__,
        fix={"action": "store_true", "help": "rewrite the files instead of complaining"},
    )
    root = arguments.root
    sources = [str(path) for path in house.project_files(root, ".c", ".cpp", ".h")]
    scripts = [str(path) for path in house.files_in(root, "python")]
    if arguments.fix:
        sys.exit(fix(root, sources, scripts))
    findings = house.Findings("format")
    for path in sources:
        result = run([find_clang_format(), "--dry-run", "-Werror", path], root)
        if result.returncode:
            # clang-format names the place of each difference; the first is enough to find the file.
            line = result.stderr.split(":")[1] if result.stderr.count(":") > 1 else "1"
            findings.add(path, line, RUN_FIX)
    if scripts:
        result = run([find_ruff(), "format", "--check", "--output-format=concise", *scripts], root)
        for path in re.findall(r"^(.+?):\d+:\d+: unformatted", result.stdout, re.M):
            findings.add(path, 1, RUN_FIX)
        if result.returncode and not findings.lines:
            sys.exit(f"error: ruff: {result.stderr.strip() or result.stdout.strip()}")
    findings.finish()


if __name__ == "__main__":
    main()
