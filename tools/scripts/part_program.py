"""part_program.py GRADIENTS HEAD_DIMS EXAMPLE [ds]: the example with a part of its gradients.

GRADIENTS: `dk,dv` or `dq`; HEAD_DIMS: `192`, or `192,128` where v has its own; ds: the program of
dk and dv keeps dS, and that of dq reads it.
"""

from __future__ import annotations

import sys
from pathlib import Path

gradients, head_dims, example = sys.argv[1].split(","), sys.argv[2].split(","), Path(sys.argv[3])
text = example.read_text(encoding="utf-8").replace("x128xbf16", f"x{head_dims[0]}xbf16")
for name in {"dq", "dk", "dv"} - set(gradients):
    text = text.replace(f"%{name}: !tensor, ", "")
outs = ", ".join(f"{name} = %{name}" for name in gradients)
types = ", ".join(["!tensor_of_v" if name == "dv" else "!tensor" for name in gradients])
text = text.replace("outs(%dq, %dk, %dv : !tensor, !tensor, !tensor)", f"outs({outs} : {types})")
for name in ("v", "do", "o", "dv"):
    text = text.replace(f"%{name}: !tensor", f"%{name}: !tensor_of_v")
text = text.replace(
    ": !tensor, !tensor, !tensor, !tensor, !per_row, !tensor)",
    ": !tensor, !tensor, !tensor_of_v, !tensor_of_v, !per_row, !tensor_of_v)",
)
if sys.argv[4:] == ["ds"]:
    text = text.replace("%scale: f32", "%scale: f32, %ds: !tiles")
    text = text.replace("scale(%scale)", "scale(%scale) ds(%ds : !tiles)")
    text = text.replace("!per_row = ", "!tiles = memref<?x4096xbf16>\n!per_row = ", 1)
of_v = f"!tensor_of_v = memref<?x?x?x{head_dims[-1]}xbf16, strided<[?, ?, ?, 1], offset: ?>>"
print(text.replace("!per_row = ", f"{of_v}\n!per_row = ", 1))
