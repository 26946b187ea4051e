# RUN: rm -rf %t && mkdir -p %t
# RUN: %python %s %t
# REQUIRES: python, plain-libdash
"""A cubin beside the PTX is loaded instead of it; one that is damaged, or of another program, is
refused."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

from fixtures import SOURCE, refused, write  # noqa: E402
import stub_driver  # noqa: E402
from stub_driver import StubDriver  # noqa: E402

from dash_attn import Kernel, ManifestError  # noqa: E402
from dash_attn.cubin import assemble, main  # noqa: E402

TMP = Path(sys.argv[1])
SIZES = {"batch": 2, "heads": 4, "kv_heads": 4, "q_rows": 256, "kv_rows": 256}
PTXAS = TMP / "ptxas"  # an assembler of the stub driver


def loads(path: Path, **settings: Any) -> list[str]:
    driver = StubDriver(**settings)
    Kernel.load(path, driver).reserve(**SIZES)
    return [call[-1] for call in driver.calls() if call[0] == "load"]


def changed(path: Path, change: Callable[[dict[str, Any]], Any]) -> str:
    """How a manifest is refused that was changed; it is as before afterwards."""
    text = path.read_text(encoding="utf-8")
    raw = json.loads(text)
    change(raw)
    path.write_text(json.dumps(raw), encoding="utf-8")
    found = refused(lambda: Kernel.load(path), ManifestError)
    path.write_text(text, encoding="utf-8")
    return found.removeprefix(f"{path}: ")


def of_another_program() -> None:
    paths = [
        write(TMP / "one"),
        write(TMP / "two", lambda raw: raw["entries"][3]["parameters"].pop(0)),
    ]
    cubins = [assemble(path, str(PTXAS)) for path in paths]
    raws = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
    assert [loads(path) for path in paths] == [["cubin"]] * 2
    found = changed(paths[0], lambda raw: raw.update(cubin=raws[1]["cubin"]))
    assert (
        found
        == f"manifest.cubin.ptx_sha256: expected that of this PTX, {raws[0]['ptx']['sha256']},"
        " found "
        f"{raws[1]['ptx']['sha256']}; assemble it again"
    ), found
    found = changed(paths[0], lambda raw: raw["cubin"].update(target="sm_100a"))
    assert found == "manifest.cubin.target: expected sm_90a as of the PTX, found sm_100a", found
    for name in ("--options-file=x", "../kernel.cubin", "/tmp/kernel.cubin", ""):
        found = changed(paths[0], lambda raw, name=name: raw["cubin"].update(file=name))
        assert (
            found == "manifest.cubin.file: expected the name of a file beside the manifest, found"
            f' "{name}"'
        ), found
    found = changed(paths[0], lambda raw: raw["cubin"].pop("sha256"))
    assert found == "manifest.cubin: has no 'sha256'", found
    whole = cubins[0].read_bytes()
    for damaged in (cubins[1].read_bytes(), whole[:-1], b""):
        cubins[0].write_bytes(damaged)
        found = refused(lambda: Kernel.load(paths[0]), ManifestError)
        assert found.startswith(
            f"{paths[0]}: the manifest does not belong to the cubin: expected sha256 "
        ), found
    cubins[0].unlink()
    found = refused(lambda: Kernel.load(paths[0]), ManifestError)
    assert (
        found == f"{paths[0]}: cannot read its cubin 'kernel.cubin': No such file or directory"
    ), found


def of_other_drivers() -> None:
    """A driver that refuses it assembles the PTX, and so does one that cannot say what it takes."""
    path = write(TMP / "old")
    assemble(path, str(PTXAS))
    assert loads(path, fail="cubin:209") == ["cubin", "PTX"]
    before = TMP / "libcuda-12.3.so"
    before.write_bytes(
        Path(stub_driver.STUB)
        .read_bytes()
        .replace(b"cuFuncGetParamInfo\0", b"cuFuncGetParamNone\0")
    )
    stub_driver.STUB, newer = str(before), stub_driver.STUB
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert loads(path) == ["PTX"]
    assert [str(warning.message) for warning in caught] == [
        "the cubin of 'attention_bwd' is left, and its PTX assembled: this driver is older than"
        " CUDA 12.4, and cannot say what parameters a cubin takes"
    ], caught
    stub_driver.STUB = newer


def of_other_parameters() -> None:
    """A launch hands over what the manifest says: the driver would read past its end."""
    path = write(TMP / "parameters")
    ptx = path.with_suffix(".ptx").read_bytes()
    cubin = assemble(path, str(PTXAS))
    raw = json.loads(path.read_text(encoding="utf-8"))
    first = b"\t.param .u64 .ptr .global .align 1 attention_bwd_order_param_0,\n"
    name, count = "attention_bwd_order", 8
    for change, number, found in (
        (first * 2, 2, 8),
        (b"", 1, 4),
        (first.replace(b"u64", b"u32"), 1, 4),
    ):
        assert first in ptx
        code = b"cubin of " + ptx.replace(first, change)
        cubin.write_bytes(code)
        raw["cubin"]["sha256"] = hashlib.sha256(code).hexdigest()
        path.write_text(json.dumps(raw), encoding="utf-8")
        said = refused(lambda: loads(path), ManifestError)
        assert (
            said == f"the code of '{name}' takes other parameters than the manifest says: number"
            f" {number} of {count} has {found} bytes; assemble it again"
        ), said
    code = b"cubin of " + ptx.replace(b",\n\t.param .u32 attention_bwd_order_param_7", b"")
    cubin.write_bytes(code)
    raw["cubin"]["sha256"] = hashlib.sha256(code).hexdigest()
    path.write_text(json.dumps(raw), encoding="utf-8")
    assert " number 8 of 8 has no bytes" in refused(lambda: loads(path), ManifestError)
    os.truncate(cubin, 1 << 40)
    found = refused(lambda: Kernel.load(path), ManifestError)
    assert (
        found
        == f"{path}: cannot read its cubin 'kernel.cubin': it has {1 << 40} bytes, expected at most"
        f" {1 << 26}"
    ), found


def sizes_before_reading() -> None:
    """No file is read further than it may be long; pipes are not waited for."""
    path = write(TMP / "long", table=bytes(64))
    for ending, what, most in (
        (".order", "its order 'kernel.order'", 64),
        (".ptx", "its PTX 'kernel.ptx'", 1 << 26),
        (".json", "the manifest", 1 << 24),
    ):
        file = path.with_suffix(ending)
        kept = file.read_bytes()
        os.truncate(file, 1 << 40)
        found = refused(lambda: Kernel.load(path), ManifestError)
        assert (
            found == f"{path}: cannot read {what}: it has {1 << 40} bytes, expected at most {most}"
        ), found
        file.unlink()
        os.mkfifo(file)
        found = refused(lambda: Kernel.load(path), ManifestError)
        assert (
            found
            == f"{path}: cannot read {what}: it is a pipe or a device, expected a regular file"
        ), found
        file.unlink()
        file.write_bytes(kept)


def refusals() -> None:
    path = write(TMP / "refused")
    before = path.read_bytes()
    for script, expected in (
        (
            "echo 'ptxas fatal : no' >&2; exit 1",
            f"'{PTXAS}' (whose version is not known) refuses the PTX: ptxas fatal : no",
        ),
        ("exit 0", "cannot write"),
    ):
        PTXAS.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        assert expected in refused(lambda: assemble(path, str(PTXAS)), ManifestError)
        assert (
            path.read_bytes() == before
            and not list(path.parent.glob("*.part"))
            and not list(path.parent.glob("*.cubin"))
        )
    assert "cannot write 'kernel.cubin' by '/none'" in refused(
        lambda: assemble(path, "/none"), ManifestError
    )
    assert main([str(path), "--ptxas=/none"]) == 2


def slow() -> None:
    """One that makes slow code is passed over where another is good, and named with its version
    where none is."""
    path, folders = write(TMP / "slow"), [TMP / "bad", TMP / "fine"]
    before, said = (
        path.read_bytes(),
        (
            "ptxas info    : (C7516) Potential Performance Loss: wgmma.mma_async instructions are"
            " serialized"
        ),
    )
    for folder, script in zip(
        folders,
        (f"echo Cuda compilation tools, release 12.3, V12.3.107; echo '{said}' >&2; {FINE}", FINE),
    ):
        folder.mkdir()
        (folder / "ptxas").write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        (folder / "ptxas").chmod(0o755)
    bad, fine = (str(folder / "ptxas") for folder in folders)
    why = (
        f"{path}: '{bad}' (CUDA 12.3.107) lets products wait for each other: {said}; expected that"
        " of CUDA 12.4, 12.6 or newer"
    )
    assert refused(lambda: assemble(path, bad), ManifestError) == why
    for settings, options in (
        ({"DASH_PTXAS": bad}, []),
        ({"DASH_PTXAS": fine}, [f"--ptxas={bad}"]),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "dash_attn.cubin", path, *options],
            capture_output=True,
            text=True,
            check=False,
            env=os.environ | {"PYTHONPATH": str(SOURCE / "python")} | settings,
        )
        assert done.returncode == 2 and done.stderr == f"dash_attn.cubin: error: {why}\n", done
        assert (
            path.read_bytes() == before
            and not list(path.parent.glob("*.part"))
            and not list(path.parent.glob("*.cubin"))
        )
    environment = {name: value for name, value in os.environ.items() if name != "DASH_PTXAS"} | {
        "PATH": f"{folders[0]}:{folders[1]}:/usr/bin:/bin"
    }
    done = subprocess.run(
        [sys.executable, "-m", "dash_attn.cubin", path],
        capture_output=True,
        text=True,
        check=False,
        env=environment | {"PYTHONPATH": str(SOURCE / "python")},
    )
    assert (done.returncode, done.stderr) == (0, "") and loads(path) == ["cubin"], done


FINE = "[ \"$1\" = --version ] || { printf 'cubin of ' >$4 && cat $2 >>$4; }"
PTXAS.write_text("#!/bin/sh\nprintf 'cubin of ' >$4 && cat $2 >>$4\n", encoding="utf-8")
PTXAS.chmod(0o755)
of_another_program()
of_other_drivers()
of_other_parameters()
sizes_before_reading()
refusals()
slow()
