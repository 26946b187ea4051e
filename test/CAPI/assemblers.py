# RUN: rm -rf %t && mkdir -p %t
# RUN: env PYTHONPATH=%dash_src/test/python/lib %python %s %t
# REQUIRES: python, plain-libdash
"""Which assembler has its turn, and what becomes of what it made: code that is slow is neither run
nor kept, and the assembler is named with its version and its words. Code of one assembler, or a
cubin, is not taken for that of another. The words are those of real ones."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path

from first_calls import ASSEMBLED, CUBIN, PROBLEM, PTX, PTXAS, assembler, called, files, first_call
from fixtures import refused, write
from stub_driver import StubDriver

from dash_attn import DriverError, Kernel

TMP = Path(sys.argv[1])
GOOD = os.environ["DASH_PTXAS"]
EXPECTED = "; expected that of CUDA 12.4, 12.6 or newer"
INSTEAD = (
    "; the driver assembles in its place, in every process, unless the variable DASH_PTXAS names"
    " another one"
)
SERIALIZED = (
    "ptxas info    : (C7516) Potential Performance Loss: wgmma.mma_async instructions are"
    " serialized due to ill formed pipeline stage in the function 'attention_bwd_main'"
)
INJECTED = (
    "ptxas info    : (C7517) warpgroup.wait is injected in around line 1939 by compiler to allow"
    " use of registers defined by GMMA in function 'attention_bwd_main'"
)
SHORT = (
    "ptxas info    : (C7511) Potential Performance Loss: wgmma.mma_async instructions are"
    " serialized due to insufficient register resources for the wgmma pipeline in the function"
    " 'attention_bwd_main'"
)
TOO_NEW = "ptxas kernel.ptx, line 5; fatal   : Unsupported .version 8.3; current version is '8.2'"
MANIFEST, OTHER = (
    write(TMP / "kernel"),
    write(TMP / "other", lambda raw: raw["entries"][3]["parameters"].pop(0)),
)


def not_good_enough() -> None:
    """Its code is not used; it is asked once, and said so once, whatever kernels follow."""
    for folder, version, said, status, what in (
        (
            "serializes",
            "12.3.107",
            SERIALIZED,
            0,
            f"lets products wait for each other: {SERIALIZED}",
        ),
        (
            "injects",
            "12.5.82",
            f"{SHORT}\n{INJECTED}",
            0,
            f"lets products wait for each other: {SHORT}",
        ),
        ("only-injects", "12.5.82", INJECTED, 0, f"lets products wait for each other: {INJECTED}"),
        ("too-old", "12.2.140", TOO_NEW, 255, f"refuses the PTX: {TOO_NEW}"),
    ):
        os.environ["DASH_PTXAS"] = bad = assembler(
            folder, version=version, said=said, status=status
        )
        calls, warned = first_call(TMP / folder, MANIFEST, OTHER)
        assert calls == [PTXAS, PTX, PTX] and not files(TMP / folder), calls
        assert warned == [f"'{bad}' (CUDA {version}) {what}{EXPECTED}{INSTEAD}"], warned
        assert first_call("off", MANIFEST) == ([PTX], [])
    nothing = Path(assembler("writes-nothing"))
    nothing.write_text("#!/bin/sh\necho a version\n", encoding="utf-8")
    os.environ["DASH_PTXAS"] = str(nothing)
    assert first_call(TMP / "nothing", MANIFEST) == (
        [PTX],
        [f"'{nothing}' (whose version is not known) succeeds, and writes nothing{INSTEAD}"],
    )
    for none, why in (
        ("/bin/false", "its status is 1"),
        ("/nowhere/ptxas", "No such file or directory"),
    ):
        os.environ["DASH_PTXAS"] = none
        calls, (said,) = first_call(TMP / "none", MANIFEST)
        assert (
            calls == [PTX]
            and said.startswith(f"cannot ask '{none}' for its version: ")
            and why in said
            and said.endswith(INSTEAD)
        ), said
    os.environ["DASH_PTXAS"] = GOOD


def the_first_that_is_good() -> None:
    """On PATH a good one has its turn after a bad one, and what it made is found without asking
    either."""
    bad, path = assembler("serializes", version="12.3.107", said=SERIALIZED), os.environ["PATH"]
    del os.environ["DASH_PTXAS"]
    os.environ["PATH"] = os.pathsep.join([str(Path(one).parent) for one in (bad, GOOD)] + [path])
    assert first_call(TMP / "path", MANIFEST) == ([PTXAS, *ASSEMBLED], [])
    assert first_call(TMP / "path", MANIFEST) == ([CUBIN], []) and len(files(TMP / "path")) == 1
    os.environ["PATH"], os.environ["DASH_PTXAS"] = path, GOOD


def kept_for_one_assembler() -> None:
    cache = TMP / "versions"
    for version, expected in (
        ("13.0.88", ASSEMBLED),
        ("13.1.3", ASSEMBLED),
        ("13.0.88", [CUBIN]),
        ("13.1.3", [CUBIN]),
    ):
        os.environ["DASH_PTXAS"] = assembler("another", version=version)
        assert first_call(cache, MANIFEST) == (expected, []), version
    assert len(files(cache)) == 2
    os.environ["DASH_PTXAS"] = GOOD


def loaded_for_one_assembler() -> None:
    """In one process, on one driver: kernels of one PTX, by two assemblers, and of two cubins."""
    os.environ["DASH_CACHE"] = str(TMP / "loaded")
    driver, kernels = StubDriver(), []

    def load(manifest: Path) -> list[list[str]]:
        kernels.append(Kernel.load(manifest, driver))
        kernels[-1].reserve(**PROBLEM)
        return called(driver)

    assert load(MANIFEST) == ASSEMBLED and load(MANIFEST) == []
    os.environ["DASH_PTXAS"] = assembler("another", version="13.1.3")
    assert load(MANIFEST) == ASSEMBLED and load(MANIFEST) == []
    os.environ["DASH_PTXAS"] = GOOD
    assert load(MANIFEST) == []
    os.environ["DASH_CACHE"] = "off"
    assert load(MANIFEST) == [PTX]
    ptx = MANIFEST.with_suffix(".ptx").read_bytes()
    for name, expected in (("one", [CUBIN]), ("two", [CUBIN]), ("one", [])):
        manifest, code = write(TMP / name), b"cubin of " + ptx + f"// {name}".encode()
        raw = json.loads(manifest.read_text(encoding="utf-8"))
        raw["cubin"] = {
            "file": "kernel.cubin",
            "sha256": hashlib.sha256(code).hexdigest(),
            "ptx_sha256": raw["ptx"]["sha256"],
            "target": raw["ptx"]["target"],
        }
        manifest.with_suffix(".cubin").write_bytes(code)
        manifest.write_text(json.dumps(raw), encoding="utf-8")
        assert load(manifest) == expected, name
    assert load(MANIFEST) == []


def of_the_driver() -> None:
    """The driver's own assembler may be no better, and a driver too old."""
    found = first_call("off", MANIFEST, OTHER, version=12030, assembler_said=SERIALIZED)
    assert found == (
        [PTX, PTX],
        [
            "the driver's assembler (CUDA 12.3) lets products wait for each other:"
            f" {SERIALIZED}{EXPECTED}, or a ptxas that DASH_PTXAS names"
        ],
    ), found
    said = refused(
        lambda: first_call("off", MANIFEST, fail="cuModuleLoadDataEx:222", version=11080),
        DriverError,
    )
    assert (
        said == "assemble 'attention_bwd' for a fake GPU: CUDA_ERROR_UNSUPPORTED_PTX_VERSION (222):"
        " unknown error; PTX 8.0 needs a driver of CUDA 12.0 or newer, found one of CUDA"
        " 11.8\nptxas fatal: a log"
    ), said


for test in (
    not_good_enough,
    the_first_that_is_good,
    kept_for_one_assembler,
    loaded_for_one_assembler,
    of_the_driver,
):
    test()
