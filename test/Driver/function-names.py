"""A function may be called anything: its entries have names that PTX takes, and no two functions
get one name."""

# RUN: %python %s %dash_examples %t
# REQUIRES: python, host-supports-nvptx

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = [
    b"attention_bwd",
    b"_",
    b"jit_bwd.1",
    b"jit_bwd$2e1",
    b"123",
    b"a/b",
    b"..",
    "é€𝄞".encode(),
    b'%x\0\n"\\ ',
    b"x" * 200,
]
PLAIN = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*")
examples, scratch = Path(sys.argv[1]), Path(sys.argv[2])
failures = []


def expect(holds, what):
    if not holds:
        failures.append(what)


def function_name(ptx_name):
    """Undoes what the compiler did."""
    return re.sub(
        rb"\$([0-9a-f]{2})", lambda found: bytes.fromhex(found[1].decode()), ptx_name.encode()
    )


def symbol(name):
    return (
        '@"'
        + "".join(
            chr(byte) if chr(byte).isalnum() and byte < 128 else f"\\{byte:02X}" for byte in name
        )
        + '"'
    )


shutil.rmtree(scratch, ignore_errors=True)
scratch.mkdir(parents=True)
types, function = (
    (examples / "bwd-causal.mlir").read_text(encoding="utf-8").split("func.func @attention_bwd")
)
source = scratch / "names.mlir"
source.write_text(
    types + "".join(f"func.func {symbol(name)}{function}" for name in NAMES), encoding="utf-8"
)
subprocess.run(
    [
        "dash-opt",
        str(source),
        f"--dash-to-ptx=kind=ascending workers=4 output={scratch / 'k'}",
        "-o",
        "/dev/null",
    ],
    check=True,
)

entries = []
for path in sorted(scratch.glob("*.json")):
    manifest = json.loads(path.read_text(encoding="utf-8"))
    name = manifest["name"].encode()
    expect(name in NAMES, f"{path.name}: its name is {name}")
    expect(
        path.with_name(manifest["ptx"]["file"]).stem == path.stem,
        f"{path.name}: its PTX is {manifest['ptx']['file']}",
    )
    expect(
        function_name(path.stem.removeprefix("k-")) == name, f"{path.name}: {name} is not undone"
    )
    expect(
        ("$" in path.stem) != bool(PLAIN.fullmatch(name)),
        f"{path.name}: {name} changes only where it must",
    )
    roles = {"order": "_order", "prepare": "_prepare", "main": "_main", "convert": "_convert"}
    called = [entry["name"] for entry in manifest["entries"]]
    expect(
        called
        == [path.stem.removeprefix("k-") + roles[entry["role"]] for entry in manifest["entries"]],
        f"{name}: {called}",
    )
    ptx = path.with_suffix(".ptx").read_text(encoding="ascii")
    expect(re.findall(r"\.entry ([^(]+)\(", ptx) == called, f"{name}: entries of the PTX")
    entries += called
expect(
    len(entries) == len(set(entries)) == 4 * len(NAMES),
    f"{len(set(entries))} names of {len(NAMES)} functions",
)

# An assembler takes all of them, in one module.
if ptxas := shutil.which("ptxas"):
    text = ".version 8.8\n.target sm_90a\n.address_size 64\n" + "".join(
        f".visible .entry {name}() {{ ret; }}\n" for name in entries
    )
    (scratch / "all.ptx").write_text(text, encoding="ascii")
    done = subprocess.run(
        [ptxas, "-arch=sm_90a", "-o", "/dev/null", str(scratch / "all.ptx")],
        capture_output=True,
        text=True,
        check=False,
    )
    expect(done.returncode == 0, f"ptxas: {done.stderr}")

print("\n".join(failures))
sys.exit(1 if failures else 0)
