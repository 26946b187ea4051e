# RUN: %python %s --root %dash_src
"""What the glossary says is in the IR is there: its ops, attributes and passes are defined; and it
has each word once."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("--root", type=Path, required=True)
root = parser.parse_args().root
sys.path.insert(0, str(root / "tools/scripts"))

import specification  # noqa: E402

rows = re.findall(
    r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$",
    (root / "dialects/dash/docs/glossary.md").read_text(encoding="utf-8"),
    re.M,
)
rows = [row for row in rows if row[0] != "word"]
assert len(rows) > 30, rows

words = [word for row in rows for word in row[0].split(", ")]
assert len(set(words)) == len(words), sorted(word for word in words if words.count(word) > 1)
for word, meaning, _ in rows:
    assert not meaning.endswith(".") and meaning[0].islower(), (
        f"{word}: expected a sentence without capital and full stop"
    )

defined = {(one.kind, one.name) for one in specification.entries(root)}
spelled = {"op": r"`dash\.(\w+)`", "attribute": r"`#dash\.(\w+)`", "pass": r"`--([\w-]+)`"}
named = {
    (kind, name)
    for *_, where in rows
    for kind, pattern in spelled.items()
    for name in re.findall(pattern, where)
}
assert named and named <= defined, (
    f"the glossary names what is not defined: {sorted(named - defined)}"
)
