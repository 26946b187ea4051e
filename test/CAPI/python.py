# RUN: rm -rf %t
# RUN: env PYTHONPATH=%dash_src/python %python %s %dash_examples %t
# REQUIRES: python, host-supports-nvptx, plain-libdash
"""dash_attn compiles through libdash: the same bytes as dash-opt, in memory and in files; what is
wrong is said with its place."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from dash_attn import CompileError, Kernel, compile_program

EXAMPLES, TMP = Path(sys.argv[1]), Path(sys.argv[2])
SOURCE = (EXAMPLES / "bwd-causal.mlir").read_text(encoding="utf-8")
TABLE = "kind=synthesized workers=4 sizes=q:512,kv:512,batch:1,heads:2,kv-heads:2"


def refused(source: str | bytes, options: str = "") -> CompileError:
    try:
        compile_program(source, options, name="here.mlir")
    except CompileError as error:
        return error
    raise AssertionError("expected a CompileError")


def is_what_dash_opt_writes() -> None:
    for options in ("kind=symmetric-shift", TABLE):
        TMP.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            [
                "dash-opt",
                str(EXAMPLES / "bwd-causal.mlir"),
                f"--dash-to-ptx={options} output={TMP}/attention_bwd",
                "-o",
                "/dev/null",
            ],
            check=True,
        )
        (compiled,) = compile_program(SOURCE, options)
        assert compiled.name == "attention_bwd"
        assert compiled.ptx == (TMP / "attention_bwd.ptx").read_bytes()
        assert compiled.manifest.encode() == (TMP / "attention_bwd.json").read_bytes()
        assert (options == TABLE) == bool(compiled.order)
        again = compiled.save(TMP / "saved")
        assert again.read_bytes() == (TMP / "attention_bwd.json").read_bytes()
        if compiled.order:
            assert (
                again.with_suffix(".order").read_bytes()
                == compiled.order
                == (TMP / "attention_bwd.order").read_bytes()
            )
        kernel = Kernel.compile(SOURCE, options)
        assert (
            kernel.certificate == Kernel.load(again).certificate
            and kernel.manifest == Kernel.load(again).manifest
        )


def names_are_free() -> None:
    (compiled,) = compile_program(SOURCE.replace("@attention_bwd", '@"layer.1/bwd"'), "kind=shift")
    assert (compiled.name, compiled.file) == ("layer.1/bwd", "layer$2e1$2fbwd")
    path = compiled.save(TMP / "names")
    manifest = Kernel.load(path).manifest
    assert (manifest["name"], manifest["entries"][0]["name"]) == (
        "layer.1/bwd",
        "layer$2e1$2fbwd_order",
    )
    assert path.with_suffix(".ptx").read_bytes() == compiled.ptx


def mistakes_have_places() -> None:
    error = refused("func.func @f() {\n  dash.nonsense\n}")
    (diagnostic,) = error.diagnostics
    assert (diagnostic.severity, diagnostic.file, diagnostic.line, diagnostic.column) == (
        "error",
        "here.mlir",
        2,
        3,
    ), diagnostic
    assert str(error).startswith("here.mlir:2:3: error: "), error
    error = refused(SOURCE, "kind=sideways")
    assert "sideways" in str(error) and error.diagnostics[0].line, error
    assert "no such option" in str(refused(SOURCE, "workrs=3"))
    assert "leave out 'output'" in str(refused(SOURCE, "output=x"))
    assert "expected a 'dash.attention_bwd' or 'dash.attention_fwd'" in str(refused("module {}"))
    refused(b"ML\xefR\x01")  # bytecode that breaks off
    refused(b"\x00\xff")
    two = SOURCE + SOURCE[SOURCE.index("func.func") :].replace("@attention_bwd", "@second")
    assert [one.name for one in compile_program(two)] == ["attention_bwd", "second"]
    try:
        Kernel.compile(two)
    except CompileError as found:
        assert (
            str(found) == "<program>: expected one function with an attention, found 2:"
            " attention_bwd, second; compile_program gives all"
        ), found
    else:
        raise AssertionError("expected a CompileError")


def threads_do_not_meet() -> None:
    kinds = ["ascending", "shift", "symmetric-shift", "descending"]
    alone = [compile_program(SOURCE, f"kind={kind}") for kind in kinds]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda kind: compile_program(SOURCE, f"kind={kind}"), kinds)) == alone


def data_names_no_files() -> None:
    """Not options, not a program as text or as bytecode; the caller's arguments do. The assembler
    says that it ran."""
    TMP.mkdir(parents=True, exist_ok=True)
    ran, ptxas = TMP / "ran", TMP / "an assembler"
    ptxas.write_text(f"#!/bin/sh\necho >'{ran}'\n", encoding="utf-8")
    ptxas.chmod(0o755)
    costs = Path(__file__).parents[2] / "dialects/dash/Schedule/costs-h200.json"
    for option, value, what in (
        ("ptxas", "/bin/true", "a program"),
        ("ptxas", "auto", "a program"),
        ("costs", costs, "a file"),
        ("path", costs, "a file"),
    ):
        for text in (
            f"kind=shift {option}={value}",
            f"{option}={value}",
            f"{option}='{ptxas}'",
            f"{option}={{{value}}}",
        ):
            error = str(refused(SOURCE, text))
            assert (
                f"error: the option '{option}' names {what}: options may come with data, so pass it"
                " apart, " in error
            ), error
    assert not ran.exists()
    (plain,) = compile_program(SOURCE, "kind=shift")
    (asked,) = compile_program(SOURCE, "kind=shift", ptxas=ptxas, costs=costs)
    assert ran.exists() and asked.ptx == plain.ptx
    stated = "sizes=q:512,kv:512,batch:1,heads:2,kv-heads:1 workers=4"
    subprocess.run(
        [
            "dash-opt",
            str(EXAMPLES / "bwd-causal.mlir"),
            "--dash-tile",
            f"--dash-apply-schedule=kind=shift {stated}",
            f"--dash-report-schedule=format=json output={TMP}/order.json",
            "-o",
            "/dev/null",
        ],
        check=True,
    )
    assert (
        Kernel.compile(SOURCE, f"kind=file {stated}", order=TMP / "order.json").manifest["program"][
            "kind"
        ]
        == "file"
    )
    # Libraries and assemblers of other targets, and kernels that were compiled before: their
    # dialects are none of programs.
    linked = (
        f'gpu.module @m [#nvvm.target<link = ["{costs}"], flags = {{"ptxas-path" = "{ptxas}"}}>]'
        " {}"
    )
    subprocess.run(
        [
            "dash-opt",
            str(EXAMPLES / "bwd-causal.mlir"),
            "--dash-to-ptx=kind=shift",
            "--emit-bytecode",
            "-o",
            str(TMP / "compiled.mlirbc"),
        ],
        check=True,
    )
    for brought in (f"{linked}\n{SOURCE}", (TMP / "compiled.mlirbc").read_bytes()):
        assert "nvvm" in str(refused(brought)), refused(brought)


is_what_dash_opt_writes()
data_names_no_files()
names_are_free()
mistakes_have_places()
threads_do_not_meet()
