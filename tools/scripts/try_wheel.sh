# try_wheel.sh EXAMPLES - what a user of the installed package does, in the folder where this runs.
set -euo pipefail
examples=$1

dash-opt "$examples/bwd-causal.mlir" --dash-to-ptx='kind=symmetric-shift output=attention_bwd' \
  -o /dev/null
python - "$examples/bwd-causal.mlir" <<'PYTHON'
import importlib.util
import sys
from pathlib import Path

from dash_attn import CompileError, Kernel, compile_program

source = Path(sys.argv[1]).read_text()
(compiled,) = compile_program(source, "kind=symmetric-shift")
of_tool = Path("attention_bwd.ptx").read_bytes()
assert compiled.ptx == of_tool, "the library gives another PTX than the tool"
kernel, loaded = Kernel.compile(source, "kind=symmetric-shift"), Kernel.load("attention_bwd.json")
assert kernel.certificate == loaded.certificate
front_ends = ("dash_attn.torch", "dash_attn.jax")
assert all(map(importlib.util.find_spec, front_ends)), "the wheel lacks a front end"
try:
    compile_program("module {}")
except CompileError as error:
    assert "expected a 'dash.attention_bwd'" in str(error), error
PYTHON

# The CPU computes the same program.
sed -e 's/memref<?x?x?x128xbf16, strided<\[?, ?, ?, 1\], offset: ?>>/memref<1x2x64x64xbf16>/' \
  -e 's/memref<?x?x?xf32, strided<\[?, ?, 1\], offset: ?>>/memref<1x2x64xf32>/' \
  "$examples/bwd-causal.mlir" >small.mlir
dash-opt small.mlir --dash-tile='q=16 kv=16' \
  --dash-apply-schedule='kind=shift workers=2' --dash-verify-schedule -o scheduled.mlir
dash-run scheduled.mlir --seed=1 --out=run
[[ -s run/dq.npy && -s run/dk.npy && -s run/dv.npy ]]
! dash-opt small.mlir --no-such-pass 2>/dev/null
