"""Manifests against their schema, and what they say of files against the files."""

# RUN: %python %s %S %t
# REQUIRES: python, host-supports-nvptx

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import jsonschema

PASSES = ["--dash-attach-target", "--dash-convert-to-llvm"]
FACTS = [
    "element",
    "head_dim",
    "head_dim_v",
    "mask",
    "tiles",
    "kind",
    "level",
    "deterministic",
    "parts",
    "width",
]
folder, scratch = Path(sys.argv[1]), Path(sys.argv[2])
schema = json.loads(
    (folder.parents[1] / "dialects/dash/Target/manifest.schema.json").read_text(encoding="utf-8")
)
jsonschema.Draft202012Validator.check_schema(schema)
failures = []


def expect(holds, what):
    if not holds:
        failures.append(what)


def hash_of(data):
    return hashlib.sha256(data).hexdigest()


def emit(source, name):
    subprocess.run(
        [
            "dash-opt",
            str(source),
            *PASSES,
            f"--dash-emit-ptx=output={scratch / name}",
            "-o",
            "/dev/null",
        ],
        check=True,
    )


def compact(value):
    return json.dumps(value, separators=(",", ":"))


def check(path):
    """One manifest and its neighbours."""
    manifest = json.loads(path.read_text(encoding="utf-8"))
    for error in jsonschema.Draft202012Validator(schema).iter_errors(manifest):
        expect(False, f"{path.name}: {error.json_path}: {error.message}")
    ptx = path.with_name(manifest["ptx"]["file"]).read_bytes()
    expect(manifest["ptx"]["sha256"] == hash_of(ptx), f"{path.name}: hash of the PTX")
    order = "null"
    if manifest["order"]["source"] == "file":
        table = path.with_name(manifest["order"]["file"]).read_bytes()
        expect(manifest["order"]["sha256"] == hash_of(table), f"{path.name}: hash of the order")
        expect(manifest["order"]["bytes"] == len(table), f"{path.name}: bytes of the order")
        expect(
            table == b"".join(n.to_bytes(4, "little", signed=True) for n in (1, 2, -3)),
            f"{path.name}: words",
        )
        order = f"sha256:{hash_of(table)}"
    # The text that the pass documents, written again.
    searched = (
        [f"search {manifest['order']['search']} {manifest['order']['cost']}"]
        if "search" in manifest["order"]
        else []
    )
    lines = [
        "dash certificate 1",
        *(f"{key} {compact(manifest['program'][key])}" for key in FACTS),
        f"order {order}",
        *searched,
        f"ptx sha256:{hash_of(ptx)}",
        "",
    ]
    expect(
        manifest["certificate"] == f"sha256:{hash_of(chr(10).join(lines).encode())}",
        f"{path.name}: certificate",
    )
    return manifest


shutil.rmtree(scratch, ignore_errors=True)
scratch.mkdir(parents=True)
emit(folder / "emit-ptx.mlir", "one")
emit(folder / "emit-ptx-several.mlir", "two")
manifests = {path.name: check(path) for path in sorted(scratch.glob("*.json"))}
expect(
    list(manifests) == ["one.json", "two-first.json", "two-second.json"],
    f"files: {list(manifests)}",
)

# The certificate follows what fixes bits, not what a file is called.
text = (folder / "emit-ptx.mlir").read_text(encoding="utf-8")
for name, old, new, changes in [
    ("renamed", "", "", False),
    ("level", "level = run", "level = batch", True),
    ("arithmetic", "arith.mulf", "arith.addf", True),
    (
        "workers",
        "workers = 132, width = 132, min_workers = 132",
        "workers = 100, width = 132, min_workers = 100",
        False,
    ),
]:
    expect(old in text, f"{name}: expected {old} in emit-ptx.mlir")
    source = scratch / f"{name}.mlir"
    source.write_text(text.replace(old, new) if old else text, encoding="utf-8")
    emit(source, name)
    other = check(scratch / f"{name}.json")
    expect(
        (other["certificate"] != manifests["one.json"]["certificate"]) == changes,
        f"{name}: certificate",
    )

# An order of another search is another, whatever it holds.
text = (folder / "emit-ptx-several.mlir").read_text(encoding="utf-8")
for name, old, new in [
    ("search", "version = 5,", "version = 6,"),
    ("budget", "budget = 131072", "budget = 1"),
    ("cost", "boundary = 5.5", "boundary = 5.6"),
]:
    expect(old in text, f"{name}: expected {old} in emit-ptx-several.mlir")
    source = scratch / f"{name}.mlir"
    source.write_text(
        "".join(
            line if line.startswith("//") else line.replace(old, new)
            for line in text.splitlines(True)
        ),
        encoding="utf-8",
    )
    emit(source, name)
    expect(
        check(scratch / f"{name}-second.json")["certificate"]
        != manifests["two-second.json"]["certificate"],
        f"{name}: certificate",
    )

# A file that may not be written stays, whatever its folder allows. (Root may write everything.)
if os.geteuid() != 0:
    (scratch / "one.json").chmod(0o444)
    before = (scratch / "one.ptx").read_bytes()
    done = subprocess.run(
        [
            "dash-opt",
            str(scratch / "arithmetic.mlir"),
            *PASSES,
            f"--dash-emit-ptx=output={scratch / 'one'}",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    expect(
        done.returncode == 1 and "one.json': Permission denied" in done.stderr,
        f"read-only: {done.stderr}",
    )
    expect((scratch / "one.ptx").read_bytes() == before, "read-only: the PTX stays")

print("\n".join(failures))
sys.exit(1 if failures else 0)
