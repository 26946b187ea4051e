# RUN: rm -rf %t && mkdir -p %t && ln -s %dash_src/dialects %t/dialects
# RUN: cd %t && %python %s %dash_src/dialects/dash/docs/for-schedule-researchers.md 2>&1 | FileCheck %s --check-prefix=ORDERS
# RUN: cd %t && %python %s %dash_src/dialects/dash/docs/for-compiler-engineers.md 2>&1 | FileCheck %s --check-prefix=COMPILER
# RUN: sed 's/kind=symmetric-shift/kind=none/' %dash_src/dialects/dash/docs/for-compiler-engineers.md > %t/wrong.md
# RUN: cd %t && not %python %s wrong.md 2>&1 | FileCheck %s --check-prefix=WRONG
# REQUIRES: python, host-supports-nvptx, mlir-opt
# UNSUPPORTED: asan
# ORDERS: schedule file of @attention_bwd
# ORDERS: makespan
# ORDERS: error: order has a cycle: 1 worker waits for itself for ever
# ORDERS: 7 blocks of for-schedule-researchers.md, as they stand there
# COMPILER: lines name channels
# COMPILER: 5 blocks of for-compiler-engineers.md, as they stand there
# WRONG: error: wrong.md: expected a block that runs, found status
"""Runs the commands and the scripts of a page as a reader would, in the order in which they stand:
reader-pages.py PAGE."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

MOST_LINES = 80
page = Path(sys.argv[1])
text = page.read_text(encoding="utf-8")
blocks = re.findall(r"^```(sh|python)\n(.*?)^```$", text, re.M | re.S)
for language, block in blocks:
    program = ["bash", "-euo", "pipefail", "-c"] if language == "sh" else [sys.executable, "-c"]
    result = subprocess.run([*program, block], check=False)
    if result.returncode:
        sys.exit(
            f"error: {page.name}: expected a block that runs, found status"
            f" {result.returncode}:\n{block}"
        )
lines = len(text.splitlines())
if lines > MOST_LINES:
    sys.exit(f"error: {page.name}: expected at most {MOST_LINES} lines, found {lines}")
print(f"{len(blocks)} blocks of {page.name}, as they stand there")
