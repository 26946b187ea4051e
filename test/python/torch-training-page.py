# RUN: rm -rf %t && mkdir -p %t && cd %t && env TRITON_INTERPRET=1 %torch_python %s %dash_src/dialects/dash/docs/for-training.md | FileCheck %s
# REQUIRES: torch, plain-libdash
# CHECK: backward     dash, causal mask
# CHECK: None
# CHECK: 4 blocks of for-training.md, as they stand there
"""The page for training engineers: its Python runs from top to bottom, on the CPU."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

import on_cpu  # noqa: E402, F401  (computes dash_attn's operators there)

page = Path(sys.argv[1])
text = page.read_text(encoding="utf-8")
blocks = re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S)
names: dict[str, Any] = {"__name__": "__main__"}
for block in blocks:
    exec(compile(block.replace('device="cuda"', 'device="cpu"').replace('.to("cuda", ', '.to("cpu", '), page.name, "exec"), names)
assert len(text.splitlines()) <= 80, len(text.splitlines())
print(f"{len(blocks)} blocks of {page.name}, as they stand there")
