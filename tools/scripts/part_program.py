"""part_program.py GRADIENTS HEAD_DIM EXAMPLE: the example with a part of its gradients, `dk,dv` or
`dq`, and another head dim."""

from __future__ import annotations

import sys
from pathlib import Path

gradients, head_dim, example = sys.argv[1].split(","), sys.argv[2], Path(sys.argv[3])
text = example.read_text(encoding="utf-8").replace("x128xbf16", f"x{head_dim}xbf16")
for name in {"dq", "dk", "dv"} - set(gradients):
    text = text.replace(f"%{name}: !tensor, ", "")
outs = ", ".join(f"{name} = %{name}" for name in gradients)
types = ", ".join(["!tensor"] * len(gradients))
print(text.replace("outs(%dq, %dk, %dv : !tensor, !tensor, !tensor)", f"outs({outs} : {types})"))
