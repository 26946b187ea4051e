"""Every head dim that kernels have, and v at another than q and k, compiles, for memory of its own
columns.

Columns that do not fill panels are one dimension of a descriptor, whose panels are copied one by
one: as many copies a tile as it has panels.
"""

# RUN: %python %s %t
# REQUIRES: python, host-supports-nvptx

import json
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

PROGRAM = """!q = memref<?x?x?x{d}xbf16, strided<[?, ?, ?, 1], offset: ?>>
!v = memref<?x?x?x{dv}xbf16, strided<[?, ?, ?, 1], offset: ?>>
!row = memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>
func.func @bwd(%q: !q, %k: !q, %v: !v, %do: !v, %o: !v, %lse: !row, %dq: !q, %dk: !q, %dv: !v, %scale: f32) {{
  dash.attention_bwd ins(%q, %k, %v, %do, %lse, o = %o : !q, !q, !v, !v, !row, !v) outs(%dq, %dk, %dv : !q, !q, !v)
      mask(<causal>) level(run) scale(%scale)
  return
}}
"""
WIDTHS = (64, 96, 128)
EVERY = range(8, 129, 8)
CASES = [(d, d, "kind=ascending") for d in EVERY] + [
    (128, 64, "kind=shift"),
    (64, 128, "kind=shift"),
    (96, 72, "kind=shift"),
    (24, 80, "kind=shift"),
    (40, 16, "kind=shift"),
    (120, 8, "kind=shift"),
    (80, 40, "kind=ascending parts=2 sizes=heads:2,kv-heads:1"),
    (80, 104, "kind=ascending apart=all"),
]
OF_V = ("v", "do", "o", "dv")
LOAD = re.compile(r"cp\.async\.bulk\.tensor\.5d\.shared::cluster\.global")
scratch = Path(sys.argv[1])


def compiled(case):
    d, dv, options = case
    name = scratch / f"d{d}-{dv}-{len(options)}"
    text = PROGRAM.format(d=d, dv=dv)
    done = subprocess.run(
        ["dash-opt", "-", f"--dash-to-ptx={options} output={name}", "-o", "/dev/null"],
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{case}: {done.stderr[:1000]}"
    return name


def check(case, name):
    d, dv, options = case
    manifest = json.loads(name.with_suffix(".json").read_text(encoding="utf-8"))
    assert (manifest["program"]["head_dim"], manifest["program"]["head_dim_v"]) == (d, dv), case
    for tensor in manifest["tensors"]:
        if len(tensor["shape"]) == 4:
            assert tensor["shape"][-1] == str(dv if tensor["name"] in OF_V else d), (case, tensor)
    width = next(width for width in WIDTHS if max(d, dv) <= width)
    sums = [region["bytes"] for region in manifest["workspace"] if region["name"] == "dq_sum"]
    assert sums == ([] if "apart" in options else [f"4*batch*heads*q_tiles*64*{width}"]), (
        case,
        sums,
    )
    text = name.with_suffix(".ptx").read_text(encoding="utf-8")
    copies = LOAD.findall(text)
    return len(copies)


shutil.rmtree(scratch, ignore_errors=True)
scratch.mkdir(parents=True)
with ThreadPoolExecutor(2) as pool:
    copies = {case: check(case, name) for case, name in zip(CASES, pool.map(compiled, CASES))}
for case, count in copies.items():
    d, dv, options = case
    # K and V, Q and dO twice: before the walk's loop and in it.
    if d == dv and options == "kind=ascending":
        width = next(width for width in WIDTHS if d <= width)
        whole = copies[(width, width, options)]
        assert whole == copies[(128, 128, options)] or width == 64, (case, whole)
        # A box a panel where columns do not fill them: of 64 columns; at width 96 of 32, and K's of
        # 16
        assert (count == whole) == (d in WIDTHS or d < 64) and count >= whole, (case, count, whole)
