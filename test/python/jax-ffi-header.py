# RUN: %jax_python %s %cxx %t.cpp
# REQUIRES: jax
"""lib/CAPI/XlaFfi.h says of XLA's structures what the header says that jaxlib ships: fields, their
places and sizes, and numbers."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import jax

OURS = Path(__file__).parents[2] / "lib/CAPI/XlaFfi.h"
THEIRS = Path(jax.ffi.include_dir()) / "xla/ffi/api/c_api.h"
text = OURS.read_text(encoding="utf-8")
text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)

claims = []
structures = re.findall(r"(?:typedef )?struct (\w+) \{(.*?)\}", text, flags=re.DOTALL)
for name, body in structures:
    for field in re.findall(r"(\w+);", body):
        for measure in ("offsetof({0}::{1}, {2})", "sizeof({0}::{1}::{2})"):
            ours, theirs = (measure.format(space, name, field) for space in ("ours", "theirs"))
            claims.append(f'static_assert({ours} == {theirs}, "{name}.{field}");')
numbers = re.findall(r"(XLA_FFI_\w+) = ", text)
claims += [
    f'static_assert(int(ours::{name}) == int(theirs::{name}), "{name}");' for name in numbers
]
claims += [
    f'static_assert(their_{part} == XLA_FFI_API_{part.upper()}, "version");'
    for part in ("major", "minor")
]
assert len(structures) == 15 and len(claims) >= 180, (len(structures), len(claims))

lines = [
    "#include <stddef.h>",
    "#include <stdint.h>",
    f'namespace theirs {{\n#include "{THEIRS}"\n}}',
    *(
        f"constexpr int their_{part} = XLA_FFI_API_{part.upper()};\n#undef"
        f" XLA_FFI_API_{part.upper()}"
        for part in ("major", "minor")
    ),
    f'namespace ours {{\n#include "{OURS}"\n}}',
    *claims,
]
cxx, file = sys.argv[1], Path(sys.argv[2])
file.write_text("\n".join(lines), encoding="utf-8")
subprocess.run([cxx, "-std=c++20", "-fsyntax-only", "-Wno-invalid-offsetof", file], check=True)
# It would be seen: a field that moved.
file.write_text(
    "\n".join(lines).replace(
        "offsetof(ours::XLA_FFI_Buffer, rank)", "offsetof(ours::XLA_FFI_Buffer, dims)"
    ),
    encoding="utf-8",
)
assert subprocess.run(
    [cxx, "-std=c++20", "-fsyntax-only", file], capture_output=True, check=False
).returncode
