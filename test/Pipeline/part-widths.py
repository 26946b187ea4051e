# RUN: %python %s --dash-opt dash-opt --tmp %t
# REQUIRES: python, host-supports-nvptx
"""Parts of the gradients compile at every pair of widths that tiles have, for q and for v."""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
from pathlib import Path

WIDTHS = (64, 96, 128, 192, 256)
PARTS = (("dk", "dv"), ("dq",))
# Head dims that do not fill their tiles, too.
PAIRS = [*itertools.product(WIDTHS, WIDTHS), (136, 200), (8, 248), (200, 72)]

parser = argparse.ArgumentParser()
parser.add_argument("--dash-opt", required=True)
parser.add_argument("--tmp", type=Path, required=True)
arguments = parser.parse_args()
arguments.tmp.mkdir(parents=True, exist_ok=True)


def program(gradients: tuple[str, ...], head_dim: int, head_dim_v: int, clauses: str) -> str:
    types = {"dq": "!q", "dk": "!q", "dv": "!v"}
    given = "".join(f", %{name}: {types[name]}" for name in gradients)
    outs = ", ".join(f"{name} = %{name}" for name in gradients)
    outs += " : " + ", ".join(types[name] for name in gradients)
    return f"""
!q = memref<?x?x?x{head_dim}xbf16>
!v = memref<?x?x?x{head_dim_v}xbf16>
!r = memref<?x?x?xf32>
func.func @f(%q: !q, %k: !q, %v: !v, %do: !v, %o: !v, %lse: !r{given}, %scale: f32) {{
  dash.attention_bwd ins(%q, %k, %v, %do, %lse, o = %o : !q, !q, !v, !v, !r, !v) outs({outs})
      mask(<causal>) level(run) scale(%scale){clauses}
  return
}}
"""


def compile_one(gradients: tuple[str, ...], *head_dims: int, clauses: str = "") -> None:
    options = f"kind=longest-first output={arguments.tmp / 'one'}"
    done = subprocess.run(
        [arguments.dash_opt, "-", f"--dash-to-ptx={options}", "-o", "/dev/null"],
        input=program(gradients, *head_dims, clauses),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, (gradients, head_dims, clauses, done.stderr)


for gradients, pair in itertools.product(PARTS, PAIRS):
    compile_one(gradients, *pair)
    if gradients == ("dq",):
        manifest = json.loads((arguments.tmp / "one.json").read_text(encoding="utf-8"))
        assert manifest["program"]["tiles"] == {"q": 128, "kv": 64}, (pair, manifest["program"])
for gradients, width in itertools.product(PARTS, WIDTHS):
    compile_one(gradients, width, width, clauses=" softcap(30.0)")
