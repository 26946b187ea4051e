# RUN: %python %s --root %dash_src
# REQUIRES: python
"""The contributors' page says which files of lib/ know an op by its class: these, and no others."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--root", type=Path, required=True)
root = parser.parse_args().root

page = (root / ".github/CONTRIBUTING.md").read_text(encoding="utf-8")
rows = re.findall(r"^\| `(\w+Op)` \| (\d+) \| (\d+) \| (.+) \|$", page, re.M)
if len(rows) != 10:
    sys.exit(f"expected 10 ops on the page, found {len(rows)}")
files = {
    path: path.read_text(encoding="utf-8")
    for path in sorted((root / "lib").rglob("*"))
    if path.suffix in (".cpp", ".h")
}
wrong = []
for op, before, now, names in rows:
    found = [
        f"`{path.parent.name}/{path.stem}`"
        for path, text in files.items()
        if re.search(rf"\b{op}\b", text)
    ]
    if names != ", ".join(found) or int(now) != len(found):
        wrong.append(
            f"{op}: expected on the page: {len(found)} | {', '.join(found)}; found: {now} |"
            f" {names}. A proof, a model or the conversion asks the op's interfaces instead"
        )
    if int(now) > int(before):
        wrong.append(
            f"{op}: known to {now} files, more than the {before} before there were interfaces"
        )
if wrong:
    sys.exit("\n".join(wrong))
