# RUN: rm -rf %t && mkdir -p %t
# RUN: %python %s %t %cxx
# REQUIRES: python, plain-libdash
"""A kernel is loaded from files: those that are missing, broken, elsewhere or of another manifest
are an error that names the place."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

from fixtures import SOURCE, manifest, ptx_of, refused, write  # noqa: E402

from dash_attn import Kernel, ManifestError  # noqa: E402

TMP = Path(sys.argv[1])


def setting(value: Any, *path: str | int) -> Callable[[dict[str, Any]], None]:
    def change(raw: dict[str, Any]) -> None:
        place: Any = raw
        for part in path[:-1]:
            place = place[part]
        place[path[-1]] = value

    return change


def refusal(path: Path) -> str:
    found = refused(lambda: Kernel.load(path), ManifestError)
    assert found.startswith(f"{path}: "), found
    return found.removeprefix(f"{path}: ")


def files() -> None:
    assert refusal(TMP / "none.json") == "cannot read the manifest: No such file or directory"
    assert refusal(TMP) == "cannot read the manifest: Is a directory"
    broken = TMP / "broken.json"
    for text in (
        "{",
        "[" * 200_000,
        json.dumps(manifest())[:-1],
        '{"version": ' + "9" * 5000 + "}",
        "\xff",
        "",
    ):
        broken.write_text(text, encoding="latin-1")
        assert refusal(broken).startswith("manifest"), refusal(broken)
    os.mkfifo(TMP / "pipe.json")
    assert refusal(TMP / "pipe.json").startswith("cannot read the manifest: ")

    path = write(TMP / "foreign")
    ptx = path.with_name("kernel.ptx")
    right = hashlib.sha256(ptx.read_bytes()).hexdigest()
    ptx.write_bytes(ptx_of(manifest()) + b"\n")
    wrong = hashlib.sha256(ptx.read_bytes()).hexdigest()
    assert (
        refusal(path)
        == f"the manifest does not belong to the PTX: expected sha256 {right}, found {wrong};"
        " compile both again"
    )
    ptx.unlink()
    assert refusal(path) == "cannot read its PTX 'kernel.ptx': No such file or directory"

    path = write(TMP / "order", table=bytes(64))
    Kernel.load(path)
    path.with_name("kernel.order").write_bytes(bytes(63) + b"1")
    assert refusal(path).startswith("the manifest does not belong to the order: expected sha256 ")
    path = write(TMP / "short", setting(128, "order", "bytes"), table=bytes(64))
    assert refusal(path) == "expected an order of 128 bytes, found 64"

    path = write(
        TMP / "tensors", lambda raw: raw["tensors"].append(raw["tensors"][0] | {"name": "bias"})
    )
    found = refused(lambda: Kernel.load(path), ManifestError)
    assert (
        found
        == "'attention_bwd': expected the tensors q, k, v, do, o, lse, dq, dk, dv; differs in bias"
    ), found


def names() -> None:
    """No path leaves the manifest's folder, and no tool takes a name for an option."""
    for name in (
        "--options-file=kernel.json",
        "-o",
        "/etc/passwd",
        "../kernel.ptx",
        "a/b",
        "a\\b",
        "c:x",
        "",
        "..",
        ".",
        "a\0b",
        "a\nb",
    ):
        for what, table in (("ptx", b""), ("order", bytes(64))):
            path = write(TMP / "names", setting(name, what, "file"), table, is_wrong=True)
            expected = (
                f"manifest.{what}.file: expected the name of a file beside the manifest, found"
                f" {json.dumps(name)}"
            )
            assert refusal(path) == expected, refusal(path)


def without_library() -> None:
    """One error says what to do: in a source tree without a build, and with a library that is none,
    or of another version."""
    other = TMP / "libother.so"
    subprocess.run(
        [sys.argv[2], "-shared", "-x", "c", "-", "-o", str(other)],
        check=True,
        text=True,
        input="int dashGetApiVersion(void) { return 7; }",
    )
    for library, expected in (
        ("", "install the wheel, or let DASH_LIBRARY name the libdash.so of a build"),
        ("/none.so", "cannot load libdash from '/none.so': "),
        ("libm.so.6", "cannot load libdash from 'libm.so.6': "),
        (str(other), f"{other}: expected version 1 of the C API, found 7"),
    ):
        for call in ("Kernel.load('x.json')", "compile_program('')"):
            environment = os.environ | {
                "PYTHONPATH": str(SOURCE / "python"),
                "DASH_LIBRARY": library,
            }
            done = subprocess.run(
                [sys.executable, "-c", f"from dash_attn import Kernel, compile_program\n{call}"],
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            last = done.stderr.splitlines()[-1]
            assert last.startswith("dash_attn.errors.LibraryError: ") and expected in last, done


right = Kernel.load(write(TMP / "right"))
assert (right.name, right.certificate) == ("attention_bwd", "sha256:" + "0" * 64)
assert (
    right.manifest["program"]["kind"] == "shift"
    and [entry["role"] for entry in right.manifest["entries"]][2] == "main"
)
files()
names()
without_library()
