"""PTX and manifest are of one run, or both as they were: two writers, a signal, a full disk, a
rename that fails."""

# RUN: %cxx -shared -fPIC %S/Inputs/faults.cpp -o %t.so
# RUN: %python %s %S %t %t.so
# REQUIRES: python, host-supports-nvptx
# UNSUPPORTED: asan

import hashlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

folder, scratch, shim = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
text = (folder / "emit-ptx.mlir").read_text(encoding="utf-8")
failures = []


def expect(holds, what):
    if not holds:
        failures.append(what)


def start(source, name, fault="", **options):
    """A writer; another source is another PTX and another manifest."""
    environment = os.environ | ({"LD_PRELOAD": shim, "FAULT": fault} if fault else {})
    return subprocess.Popen(
        [
            "dash-opt",
            str(source),
            "--dash-attach-target",
            "--dash-convert-to-llvm",
            f"--dash-emit-ptx=output={scratch / name}",
            "-o",
            "/dev/null",
        ],
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def end(process):
    errors = process.communicate(timeout=60)[1]
    return process.returncode, errors


def pair(name):
    """The hash of the PTX, if the manifest is its own and nothing else is left."""
    path = scratch / name
    left = sorted(file.name for file in path.parent.glob(f"{path.name}*"))
    expect(left in ([], [f"{path.name}.json", f"{path.name}.ptx"]), f"{name}: left are {left}")
    if not left:
        return None
    ptx = hashlib.sha256(path.with_suffix(".ptx").read_bytes()).hexdigest()
    expect(
        json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))["ptx"]["sha256"] == ptx,
        f"{name}: files of two runs",
    )
    return ptx


shutil.rmtree(scratch, ignore_errors=True)
scratch.mkdir(parents=True)
sources = [scratch / "sources" / "old.mlir", scratch / "sources" / "new.mlir"]
sources[0].parent.mkdir()
sources[0].write_text(text, encoding="utf-8")
sources[1].write_text(text.replace("arith.mulf", "arith.addf"), encoding="utf-8")
hashes = []
for source in sources:
    expect(end(start(source, source.stem)) == (0, ""), f"{source.name} is compiled")
    hashes.append(pair(source.stem))
old, new = hashes
expect(old != new, "two sources are two kernels")

# Faults over an old pair, and where there is none.
for fault, code, said, is_kept in [
    ("signal", -signal.SIGTERM, "", False),
    ("refuse", 1, "json': Input/output error", True),
    ("full", 1, "ptx': No space left on device", True),
]:
    for before in (old, None):
        name = f"{fault}-{'over' if before else 'fresh'}"
        if before:
            end(start(sources[0], name))
        found, errors = end(start(sources[1], name, fault))
        expect(found == code and said in errors, f"{name}: status {found}: {errors}")
        expect(pair(name) == (before if is_kept else new), f"{name}: kept is what should not be")

# A limit on the size of files is a signal, which kills a writer that does not expect it.
found, errors = end(
    start(
        sources[1],
        "limit",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)),
    )
)
expect(found in (1, -signal.SIGXFSZ) and pair("limit") is None, f"limit: status {found}: {errors}")

# One writer is between its two files when others come.
writers = [
    start(sources[0], "two", "wait"),
    *(start(sources[index % 2], "two", "wait") for index in range(5)),
]
for writer in writers:
    expect(end(writer) == (0, ""), "two: every writer ends well")
expect(pair("two") in hashes, "two: files of neither")

# A lock that a killed writer has left keeps no writer out.
(scratch / "stale.ptx.lock").touch()
expect(
    end(start(sources[1], "stale")) == (0, "") and pair("stale") == new,
    "stale: a lock of no process",
)

# One file under both names.
OLD = '{"ptx": {}, "entries": []}'
(scratch / "same.json").write_text(OLD, encoding="utf-8")
(scratch / "same.ptx").symlink_to("same.json")
found, errors = end(start(sources[1], "same"))
expect(found == 1 and "same.json': two outputs are this file" in errors, f"same: {errors}")
expect((scratch / "same.json").read_text(encoding="utf-8") == OLD, "same: the file stays")

print("\n".join(failures))
sys.exit(1 if failures else 0)
