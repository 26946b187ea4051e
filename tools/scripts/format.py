#!/usr/bin/env python3
"""Checks that the C++ files look as .clang-format says; --fix rewrites them."""

import shutil
import subprocess
import sys

import house


def find_clang_format():
    # The version is part of the rule: two versions of clang-format rarely agree on every line.
    for name in ("clang-format-22", str(house.LLVM_BIN / "clang-format")):
        if shutil.which(name):
            return name
    sys.exit("error: expected clang-format-22, found none; run tools/check, or: apt-get install clang-format-22")


def main():
    arguments = house.parse_arguments(
        __doc__, fix={"action": "store_true", "help": "rewrite the files instead of complaining"})
    paths = [str(path) for path in house.project_files(arguments.root, ".cpp", ".h")]
    if not paths:
        return
    if arguments.fix:
        command = [find_clang_format(), "-i", *paths]
        sys.exit(subprocess.run(command, cwd=arguments.root, check=False).returncode)
    findings = house.Findings("format")
    for path in paths:
        command = [find_clang_format(), "--dry-run", "-Werror", path]
        result = subprocess.run(command, cwd=arguments.root, capture_output=True, text=True, check=False)
        if result.returncode:
            # clang-format names the place of each difference; the first is enough to find the file.
            line = result.stderr.split(":")[1] if result.stderr.count(":") > 1 else "1"
            findings.add(path, line, "not formatted; run: tools/scripts/format.py --fix")
    findings.finish()


if __name__ == "__main__":
    main()
