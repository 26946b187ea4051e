"""Runs an example as a reader would, but on the CPU: run_on_cpu.py FILE."""

import sys
from pathlib import Path

import on_cpu  # noqa: F401  (computes dash_attn's operators there)

path = Path(sys.argv[1])
text = path.read_text(encoding="utf-8")
assert 'device="cuda"' in text, f"expected an example for a GPU, found none in {path}"
exec(compile(text.replace('device="cuda"', 'device="cpu"'), path, "exec"), {"__name__": "__main__"})
