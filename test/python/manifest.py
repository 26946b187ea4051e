# RUN: %python %s %t
# REQUIRES: python
"""Manifests are read whole, and every mistake in one is an error that names its place."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

from fixtures import PTX, refused, write  # noqa: E402

from dash_attn import Kernel, ManifestError  # noqa: E402
from dash_attn.read_manifest import load_manifest  # noqa: E402

TMP = Path(sys.argv[1])


def setting(value: Any, *path: str | int) -> Callable[[dict[str, Any]], None]:
    def change(raw: dict[str, Any]) -> None:
        place: Any = raw
        for part in path[:-1]:
            place = place[part]
        place[path[-1]] = value

    return change


def removing(*path: str | int) -> Callable[[dict[str, Any]], None]:
    def change(raw: dict[str, Any]) -> None:
        place: Any = raw
        for part in path[:-1]:
            place = place[part]
        del place[path[-1]]

    return change


# What is changed, and the message behind the file's name.
MISTAKES = (
    (setting(2, "version"), ": expected manifest version 1, found 2; use the dash_attn that came with the compiler"),
    (removing("ptx"), ": has no 'ptx'"),
    (setting(7, "ptx", "file"), ".ptx.file: expected str, found 7"),
    (setting([], "program"), ".program: expected dict, found []"),
    (setting(True, "program", "head_dim"), ".program.head_dim: expected int, found True"),
    (setting("int8", "program", "element"), ".program.element: expected one of bf16, f16, found 'int8'"),
    (setting(["a"], "entries"), ".entries[0]: expected an object, found str"),
    (setting([1, 1], "entries", 0, "grid"), ".entries[0].grid: expected 3 numbers, found 2"),
    (setting([1, 0, 1], "entries", 0, "block"), ".entries[0].block: expected 3 positive numbers, found [1, 0, 1]"),
    (setting([1.5, 1, 1], "entries", 0, "grid"), ".entries[0].grid[0]: expected an expression, found 1.5"),
    (setting("sometimes", "entries", 0, "when"),
     ".entries[0].when: expected one of always, sizes-change, found 'sometimes'"),
    (setting("12", "entries", 0, "registers"), ".entries[0].registers: expected a number, found '12'"),
    (setting("rows*2", "workspace", 0, "bytes"), ".workspace[0].bytes: 'rows*2' uses 'rows', known are batch, heads, "
     "kv_heads, kv_rows, kv_tiles, q_rows, q_tiles, width, workers"),
    (setting({"min": 1}, "sizes", "pages"), ": no tensor's shape has the size 'pages'"),
    (setting([], "entries"), ": has no entries"),
    (setting("i64", "entries", 1, "parameters", 0, "type"),
     ": entry 'attention_bwd_prepare': parameter 'q' of type i64 is ptr"),
    (setting("q.stride.dim", "entries", 1, "parameters", 0, "name"),
     ": entry 'attention_bwd_prepare': parameter 'q.stride.dim' of type ptr is none that a launcher knows"),
    (setting("workspace.heap", "entries", 1, "parameters", 0, "name"),
     ": entry 'attention_bwd_prepare': parameter 'workspace.heap' of type ptr is none that a launcher knows"),
)


def mistakes() -> None:
    for number, (change, message) in enumerate(MISTAKES):
        path = write(TMP / f"mistake{number}", change)
        found = refused(lambda path=path: load_manifest(path), ManifestError)
        assert found == f"{path}{message}", found


def files() -> None:
    """Files that are missing, broken, or belong to another manifest."""
    found = refused(lambda: load_manifest(TMP / "none.json"), ManifestError)
    assert found == f"{TMP}/none.json: cannot read the manifest: No such file or directory", found
    broken = TMP / "broken.json"
    broken.write_text("{", encoding="utf-8")
    assert refused(lambda: load_manifest(broken), ManifestError).startswith(f"{broken}: not a manifest: ")
    broken.write_text("[" * 200_000, encoding="utf-8")
    assert refused(lambda: load_manifest(broken), ManifestError).startswith(f"{broken}: not a manifest: ")

    path = write(TMP / "foreign")
    ptx = path.with_name("kernel.ptx")
    ptx.write_bytes(PTX + b"\n")
    found = refused(lambda: Kernel.load(path), ManifestError)
    right, wrong = hashlib.sha256(PTX).hexdigest(), hashlib.sha256(PTX + b"\n").hexdigest()
    assert found == (f"{path}: does not belong to the PTX 'kernel.ptx': expected sha256 {right}, found {wrong}; "
                     "compile both again"), found
    ptx.unlink()
    found = refused(lambda: Kernel.load(path), ManifestError)
    assert found == f"{path}: cannot read its PTX 'kernel.ptx': No such file or directory", found

    path = write(TMP / "order", table=bytes(64))
    assert load_manifest(path).read_order() == bytes(64)
    path.with_name("kernel.order").write_bytes(bytes(60))
    assert "does not belong to the order 'kernel.order'" in refused(load_manifest(path).read_order, ManifestError)
    path = write(TMP / "short", setting(128, "order", "bytes"), table=bytes(64))
    found = refused(load_manifest(path).read_order, ManifestError)
    assert found == f"{path}: expected 128 bytes in 'kernel.order', found 64", found

    path = write(TMP / "tensors", lambda raw: raw["tensors"].append(raw["tensors"][0] | {"name": "bias"}))
    found = refused(lambda: Kernel.load(path), ManifestError)
    assert found == f"{path}: expected the tensors q, k, v, do, o, lse, dq, dk, dv; differs in bias", found


def chain_of_squares(raw: dict[str, Any]) -> None:
    """A number of 2**60 digits, if anybody worked it out."""
    raw["derived"] |= {"x0": "q_rows"} | {f"x{i}": f"x{i - 1}*x{i - 1}" for i in range(1, 61)}


def main() -> None:
    manifest = load_manifest(write(TMP / "right"))
    assert [entry.role for entry in manifest.entries] == ["order", "prepare", "main", "convert"]
    values = manifest.values({"batch": 2, "heads": 8, "kv_heads": 4, "q_rows": 1000, "kv_rows": 130})
    assert (values["q_tiles"], values["kv_tiles"], values["workers"]) == (16, 2, 132)
    assert manifest.workspace["order"].bytes(values) == 4 * (144 + 8 * 2 * 4 * 2 + 4 * 16 * 2)
    assert manifest.entries[2].is_cooperative and manifest.entries[2].threads == 384
    assert manifest.sizes["batch"].maximum == 65535 and manifest.entries[2].registers is None
    fixed = load_manifest(write(TMP / "table", table=bytes(64)))
    assert (fixed.sizes["q_rows"].minimum, fixed.sizes["q_rows"].maximum) == (4096, 4096)
    squares = load_manifest(write(TMP / "squares", chain_of_squares))
    found = refused(lambda: squares.values({"batch": 2, "heads": 8, "kv_heads": 4, "q_rows": 1000, "kv_rows": 130}),
                    ManifestError)
    assert found == f"{TMP}/squares/kernel.json.derived.x3: 'x2*x2' is a number of more than 64 bits", found
    mistakes()
    files()


main()
