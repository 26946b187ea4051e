# RUN: rm -rf %t && mkdir -p %t
# RUN: env -u XDG_CACHE_HOME DASH_CACHE=%t/cache %python %s %t
# REQUIRES: python, plain-libdash
"""Compiled programs and their code are kept for later processes, whole and of one build of libdash,
and made ahead of the first call."""

from __future__ import annotations

import contextlib
import hashlib
import io
import itertools
import json
import logging
import os
import subprocess
import sys
import time
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).parent / "lib"))

from fixtures import refused, write  # noqa: E402
from stub_driver import StubDriver  # noqa: E402

from dash_attn import ArgumentError, Kernel  # noqa: E402
from dash_attn.cubin import main  # noqa: E402
from dash_attn.kernel import ahead, compiler, programs  # noqa: E402
from dash_attn.kernel.ahead import Order  # noqa: E402
from dash_attn.kernel.assembler import packaged_assemblers  # noqa: E402
from dash_attn.kernel.orders import (  # noqa: E402
    _compiled,
    forward_for,
    forward_of_list,
    order_for,
    texts_of,
)
from dash_attn.kernel.problem import (
    ANY_SIZES,
    CAUSAL,
    FULL,
    ROW,
    SEARCHED,
    Wanted,
    for_any_sizes,
    parts_of,
    program_of,
)  # noqa: E402

TMP = Path(sys.argv[1])
CACHE = TMP / "cache/programs"
WANTED = Wanted(64, 64, "bf16", CAUSAL, SEARCHED, sizes=ANY_SIZES)
ASKED = program_of(WANTED)
PTXAS = TMP / "ptxas"
PTXAS.write_text(
    "#!/bin/sh\n[ \"$1\" = --version ] || { printf 'cubin of ' >$4 && cat $2 >>$4; }\n",
    encoding="utf-8",
)
PTXAS.chmod(0o755)


def compiled(**settings: str) -> tuple[compiler.Compiled, int]:
    """What is found or made, and how often the compiler was asked."""
    with (
        mock.patch.dict(os.environ, settings),
        mock.patch.object(programs, "compile_program", wraps=compiler.compile_program) as asked,
    ):
        return programs.compiled_program(*ASKED), asked.call_count


def what_was_compiled_is_found() -> None:
    said = io.StringIO()
    handler = logging.StreamHandler(said)
    programs.log.addHandler(handler)
    programs.log.setLevel(logging.INFO)
    with mock.patch.object(programs, "SLOW", 0):
        made, asked = compiled()
    programs.log.removeHandler(handler)
    assert asked == 1 and said.getvalue().startswith("compiled 'attention of causal mask' in "), (
        said.getvalue()
    )
    assert said.getvalue().endswith(
        " s; `python3 -m dash_attn.cubin --all` does so ahead of the first call\n"
    ), said.getvalue()
    key, ptx = programs.key_of(*ASKED), hashlib.sha256(made.ptx).hexdigest()
    assert sorted(path.name for path in CACHE.iterdir()) == sorted([f"{key}.program", f"{ptx}.ptx"])
    assert CACHE.stat().st_mode & 0o777 == 0o700
    again, asked = compiled()
    assert asked == 0 and (again.name, again.ptx, again.manifest, again.order) == (
        made.name,
        made.ptx,
        made.manifest,
        made.order,
    )
    # Another option, or another build, is another program.
    for other in (
        programs.key_of(ASKED[0], ASKED[1] + " ", ASKED[2]),
        programs.key_of(ASKED[0] + " ", *ASKED[1:]),
    ):
        assert other != key
    with mock.patch.object(programs, "build_id", lambda: "0" * 40):
        assert programs.key_of(*ASKED) != key and compiled(DASH_CACHE=str(TMP / "build"))[1] == 1
        assert compiled(DASH_CACHE=str(TMP / "build"))[1] == 0
    assert compiled(DASH_CACHE=str(TMP / "build"))[1] == 1
    with mock.patch.object(programs, "build_id", lambda: ""):
        assert compiled(DASH_CACHE=str(TMP / "none"))[1] == 1 and not (TMP / "none").exists()
    assert compiled(DASH_CACHE="off")[1] == 1
    assert compiled(DASH_CACHE="/proc/none")[1] == 1  # no right to write


def what_is_damaged_is_not() -> None:
    for path in CACHE.iterdir():
        whole = path.read_bytes()
        for damaged in (b"", whole[:-1], whole[:100] + b"x" + whole[101:], whole[75:]):
            path.write_bytes(damaged)
            assert compiled()[1] == 1 and path.read_bytes() == whole
        path.unlink()
        assert compiled()[1] == 1 and path.read_bytes() == whole
        path.unlink()
        path.symlink_to(TMP / "elsewhere")
        (TMP / "elsewhere").write_bytes(whole)
        assert compiled()[1] == 1 and not path.is_symlink()
    with mock.patch("os.geteuid", return_value=os.geteuid() + 1):
        assert compiled()[1] == 1


def folders_do_not_grow() -> None:
    folder = TMP / "trimmed"
    folder.mkdir()
    for i in range(4):
        (folder / str(i)).write_bytes(bytes(100))
        os.utime(folder / str(i), (time.time() - i, time.time() - i))
    with mock.patch.object(programs, "MOST_OF_FOLDER", 250):
        programs._trim(folder)
    assert sorted(path.name for path in folder.iterdir()) == ["0", "1"]


def the_build_is_the_linkers() -> None:
    said = subprocess.run(
        ["readelf", "-n", programs.library()._name], capture_output=True, text=True, check=True
    ).stdout
    assert f"Build ID: {programs.build_id()}\n" in said and len(programs.build_id()) == 40
    notes = b"\4\0\0\0\2\0\0\0\1\0\0\0GNU\0ab\0\0" + b"\4\0\0\0\3\0\0\0\3\0\0\0GNU\0abc\0"
    assert programs._build_id_in(notes) == "616263" and programs._build_id_in(notes[:20]) == ""


def loads(path: Path) -> list[str]:
    driver = StubDriver()
    Kernel.load(path, driver).reserve(batch=2, heads=4, kv_heads=4, q_rows=256, kv_rows=256)
    return [call[-1] for call in driver.calls() if call[0] == "load"]


def libdash_loads_kept_code() -> None:
    path = write(TMP / "kernel")
    ptx = path.with_suffix(".ptx").read_bytes()
    kept = CACHE / f"{hashlib.sha256(ptx).hexdigest()}.cubin"
    with mock.patch.dict(os.environ, {"DASH_PTXAS": str(TMP / "no ptxas")}):
        programs.write_kept(kept, b"cubin of " + ptx)
        assert loads(path) == ["cubin"]
        whole = kept.read_bytes()
        kept.unlink()
        kept.symlink_to(TMP / "code")
        (TMP / "code").write_bytes(whole)
        assert loads(path) == ["PTX"]
        kept.unlink()
        for damaged in (whole[:-1], whole[71:], b"", b"sha256 " + b"0" * 64 + whole[71:]):
            kept.write_bytes(damaged)
            assert loads(path) == ["PTX"], damaged[:80]
        kept.write_bytes(whole)
        with mock.patch.dict(os.environ, {"DASH_CACHE": "off"}):
            assert loads(path) == ["PTX"]


def call(*arguments: str) -> tuple[int, str, str]:
    out, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        try:
            status = main(list(arguments))
        except SystemExit as end:
            status = int(str(end.code))
    return status, out.getvalue(), errors.getvalue()


def all_are_made() -> None:
    folder, few = (
        TMP / "ahead",
        {
            CAUSAL: (
                Order((SEARCHED, "shift"), is_table=True),
                Order((SEARCHED,), is_table=True, parts=2),
            )
        },
    )
    options = (
        "--all",
        f"--to={folder}",
        "--head-dims=64",
        "--elements=bf16",
        "--jobs=2",
        f"--ptxas={PTXAS}",
    )
    with mock.patch.object(ahead, "ORDERS", few):
        status, said, progress = call(*options)
        # Two of tables, each with a sink and without, which share their PTX; one of parts; two of
        # lists. Twelve forwards: with a sink and without, q tiles of two heights, of lists, and
        # with formulas and a table. Six that fold heads.
        assert status == 0 and said.startswith(f"25 programs in {folder}, "), (
            status,
            said,
            progress,
        )
        assert said.endswith(" MB; new are 25 of them, and the code of 23\n"), said
        assert progress.splitlines()[0].startswith(
            "0 of 25 programs, 0 s"
        ) and progress.splitlines()[-1].startswith("25 of 25 programs, "), progress
        assert call(*options)[1].endswith("; new are 0 of them, and the code of 0\n")
    names = [path.suffix for path in folder.iterdir()]
    assert {suffix: names.count(suffix) for suffix in set(names)} == {
        ".program": 25,
        ".ptx": 23,
        ".cubin": 23,
    }
    for path in folder.glob("*.cubin"):
        assert path.read_bytes().split(b"\n", 1)[1].startswith(b"cubin of ")
    # What `attention` takes is among them: its order, its kernel and its code.
    (TMP / "named").mkdir()
    folder.rename(TMP / "named/programs")
    _compiled.cache_clear()
    with (
        mock.patch.dict(os.environ, {"DASH_CACHE": str(TMP / "named")}),
        mock.patch.object(programs, "compile_program") as asked,
    ):
        manifest, ptx, table = texts_of(
            order_for(Wanted(64, 64, "bf16", CAUSAL), 1, 16, 16, 4096, 4096).wanted
        )
        assert table and not asked.called
        assert (TMP / f"named/programs/{json.loads(manifest)['ptx']['sha256']}.cubin").exists()


def usual_sizes_are_served() -> None:
    """By what `--all` makes, without looking at it."""
    usual = set(ahead.wanted_programs(((64, 64), (128, 128)), ("bf16",)))
    assert len(usual) == 200 and len(ahead.wanted_programs(((64, 32),), ("bf16", "f16"))) == 188
    for wanted in (
        Wanted(64, 64, "bf16", FULL, "shift"),
        Wanted(128, 128, "bf16", CAUSAL, SEARCHED, sizes=ANY_SIZES, has_sink=True),
        Wanted(128, 128, "bf16", CAUSAL, is_list=True),
    ):
        assert wanted in usual, wanted
    for head_dim, has_sink in itertools.product((64, 128), (False, True)):
        forward = Wanted(head_dim, head_dim, "bf16", CAUSAL, level=ROW, is_forward=True)
        forward = forward._replace(has_sink=has_sink)
        for batch, rows in ((32, 512), (2, 8192), (1, 16384)):
            wanted = forward_for(forward, batch, 16, 16, rows, rows)
            assert for_any_sizes(wanted) in usual, wanted
            of_list = forward_of_list(forward._replace(is_list=True), batch, batch * rows)
            assert of_list in usual, of_list
    # Tokens that are decoded, and a few of a prompt, of groups of query heads. Models have these.
    groups = {1: 1, 2: 2, 3: 1, 4: 4, 5: 1, 6: 2, 7: 1, 8: 8, 12: 4}
    folded = set()
    for head_dim, window, group in itertools.product((64, 128), ahead.ORDERS, groups):
        forward = Wanted(head_dim, head_dim, "bf16", window, level=ROW, is_forward=True)
        for batch, rows, kv_rows in itertools.product((1, 32), (1, 8, 16), (100, 32768)):
            wanted = forward_for(forward, batch, 4 * group, 4, rows, kv_rows)
            of_list = forward._replace(is_list=True)
            of_list = forward_of_list(of_list, batch, batch * rows, group)
            assert wanted.fold == of_list.fold == groups[group], (group, wanted)
            assert {for_any_sizes(wanted), of_list} <= usual, wanted
            folded |= {for_any_sizes(wanted), of_list}
    assert {one for one in usual if one.fold > 1} <= folded
    # Above 128 all sizes are served, by a program for each part of the gradients.
    usual = set(ahead.wanted_programs(ahead.HEAD_DIMS, ahead.ELEMENTS))
    assert len(usual) == 720, len(usual)
    for head_dims, window in itertools.product(((192, 128), (192, 192), (256, 256)), ahead.ORDERS):
        one = Wanted(*head_dims, "bf16", window)
        assert len([wanted for wanted in usual if wanted[:4] == one[:4]]) == 11
        for batch, heads, rows in ((1, 4, 128), (3, 8, 1000), (2, 64, 16384)):
            parts = order_for(one, batch, heads, 4, rows, rows).kernels
            forward = one._replace(level=ROW, is_forward=True)
            for wanted in (*parts, forward_for(forward, batch, heads, 4, rows, rows)):
                assert for_any_sizes(wanted) in usual, wanted
            assert set(parts_of(one._replace(is_list=True))) <= usual


def refusals() -> None:
    for arguments, expected in (
        (("--all", "x.json"), "expected manifests or --all"),
        ((), "expected manifests or --all"),
        (("--all", "--jobs=0"), "expected at least one job, found 0"),
    ):
        status, _, said = call(*arguments)
        assert status == 2 and expected in said, (arguments, said)
    for head_dims, expected in (("7", "found 7"), ("264", "up to 256, found 264")):
        status, _, said = call("--all", f"--head-dims={head_dims}", f"--ptxas={PTXAS}")
        assert status == 2 and expected in said, said
    with (
        mock.patch.dict(os.environ, {"PATH": ""}),
        mock.patch("dash_attn.kernel.assembler.CUDA", str(TMP / "none")),
        mock.patch("sys.path", [str(TMP)]),
    ):
        status, _, said = call("--all")
        assert (
            status == 2
            and "nor among the packages of Python; name it by --ptxas or DASH_PTXAS" in said
        ), said
        packaged = TMP / "triton/backends/nvidia/bin/ptxas"
        packaged.parent.mkdir(parents=True)
        packaged.symlink_to(PTXAS)
        assert packaged_assemblers() == [str(packaged)]
        with mock.patch.dict(os.environ, {"DASH_PTXAS": "/none"}):
            assert packaged_assemblers() == []
    bad = TMP / "bad"
    bad.write_text("#!/bin/sh\necho 'ptxas fatal : no' >&2; exit 1\n", encoding="utf-8")
    bad.chmod(0o755)
    with mock.patch.object(ahead, "ORDERS", {CAUSAL: ()}):
        status, _, said = call(
            "--all",
            f"--to={TMP / 'bad-programs'}",
            "--head-dims=64",
            "--elements=bf16",
            f"--ptxas={bad}",
        )
    assert (
        status == 2
        and f"'{bad}' (whose version is not known) refuses the PTX: ptxas fatal : no" in said
    ), said
    assert not list((TMP / "bad-programs").glob("*.cubin"))
    with mock.patch.object(programs, "build_id", lambda: ""):
        found = refused(lambda: ahead.make(TMP, [], [], 1, lambda *_: None), ArgumentError)
        assert (
            found
            == "expected a libdash with a build ID, found one without; link it with --build-id"
        ), found


for test in (
    what_was_compiled_is_found,
    what_is_damaged_is_not,
    folders_do_not_grow,
    the_build_is_the_linkers,
    libdash_loads_kept_code,
    all_are_made,
    usual_sizes_are_served,
    refusals,
):
    test()
