# RUN: %python %s --root %dash_src | FileCheck %s
# CHECK: {{[0-9]+}} claims, each in the README's words and with a test that is there
"""The page that says what stands behind each claim of the README quotes it, and names tests that
exist."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("--root", type=Path, required=True)
root = parser.parse_args().root

page = (root / "dialects/dash/docs/evidence.md").read_text(encoding="utf-8")
readme = " ".join((root / "README.md").read_text(encoding="utf-8").split())
tests = [
    path.relative_to(root / "test").as_posix()
    for path in (root / "test").rglob("*")
    if path.suffix in (".mlir", ".py", ".test") and not {"Inputs", "lib"} & set(path.parts)
]
rows = [
    row
    for row in re.findall(r"^\| (.+) \| (.+) \| (.+) \|$", page, re.M)
    if row[0] not in ("claim", "---")
]
wrong = []
for claim, known, named in rows:
    if not re.match(r'"[^"]+"$|the same: ', claim):
        wrong.append(f"expected words of the README in quotes, found '{claim}'")
    elif claim.startswith('"') and claim.strip('"') not in readme:
        wrong.append(f"expected words of the README, found {claim}")
    if not re.search(r"\b(proven|tested|measured|assumed)\b", known):
        wrong.append(f"expected how {claim} is known, found '{known}'")
    for name in re.findall(r"`([^`]+)`", named) or [f"none for {claim}"]:
        if not any(test.startswith(name) for test in tests):
            wrong.append(f"expected a test that begins with its path under test/, found '{name}'")
print(
    "\n".join(wrong)
    if wrong
    else f"{len(rows)} claims, each in the README's words and with a test that is there"
)
sys.exit(len(wrong))
