# RUN: rm -rf %t && mkdir -p %t && env PYTHONPATH=%dash_src/python %python %s %t
# REQUIRES: python, plain-libdash
"""Command lines of the package: each says which dash it is, says in a line what is wrong with a
file, and ends as diff does."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
from pathlib import Path

from dash_attn.audit import Entry, Run
from dash_attn.kernel import commands
from dash_attn.kernel.library import library

TMP = Path(sys.argv[1])
VERSION = library().dashGetVersion().text
BAD = TMP / "bad.json"
CONTENTS = (
    "",
    "{",
    "[]",
    "3",
    '"text"',
    "null",
    "{}",
    '{"results": 3}',
    '{"results": [3]}',
    '{"dash_audit": 1}',
    '{"kernels": {}}',
    "[" * 200000,
    "\udcff",
)


def call(name: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", f"dash_attn.{name}", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )


def says_its_version() -> None:
    assert VERSION.startswith("dash "), VERSION
    for name in ("audit", "bench", "cubin", "doctor", "trace", "tune"):
        done = call(name, "--version")
        assert (done.returncode, done.stdout, done.stderr) == (0, f"{VERSION}\n", ""), done


def without_pytorch() -> None:
    """The benchmark says its version and its arguments, and in a line what it needs."""
    begun = "import runpy, sys; sys.modules['torch'] = None; runpy.run_module('dash_attn.bench', "
    for argument, status, said in (
        ("--version", commands.GOOD, f"{VERSION}\n"),
        ("--help", commands.GOOD, "usage: python3 -m dash_attn.bench "),
        ("--backward", commands.TROUBLE, ""),
        ("bundle", commands.TROUBLE, ""),
    ):
        done = subprocess.run(
            [sys.executable, "-c", f"{begun}run_name='__main__')", argument],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == status and done.stdout.startswith(said), done
        assert (status == commands.GOOD) == (not done.stderr) and done.stderr.count("\n") < 2, done
        if status == commands.TROUBLE:
            assert not done.stdout, done
            assert done.stderr.startswith("dash_attn.bench: error: measuring needs torch"), done
            assert done.stderr.endswith(": install dash-attn[bench]\n"), done


def in_a_line(name: str, main: list[str]) -> None:
    """In this process, which is quicker."""
    command = __import__(f"dash_attn.{name}", fromlist=["main"]).main
    with (
        contextlib.redirect_stderr(io.StringIO()) as errors,
        contextlib.redirect_stdout(io.StringIO()) as said,
    ):
        status = command(main)
    text = errors.getvalue()
    assert (
        status == commands.TROUBLE
        and text.startswith(f"dash_attn.{name}: error: ")
        and str(BAD) in text
    ), (name, status, text[-500:])
    assert text.count("\n") == 1 and len(text) < 2000 and not said.getvalue(), (name, text[:500])


def bad_files() -> None:
    for content in CONTENTS:
        BAD.write_bytes(content.encode("utf-8", errors="surrogateescape"))
        for name, arguments in (
            ("audit", [BAD, BAD]),
            ("tune", [TMP / "costs", f"--from={BAD}"]),
            ("cubin", [BAD, "--ptxas=/bin/true"]),
            ("doctor", [f"--config={BAD}"]),
        ):
            in_a_line(name, [str(one) for one in arguments])
    BAD.unlink()
    for name, arguments in (
        ("audit", [BAD, BAD]),
        ("tune", [TMP / "costs", f"--from={BAD}"]),
        ("cubin", [BAD, "--ptxas=/bin/true"]),
        ("doctor", [f"--program={BAD}"]),
    ):
        in_a_line(name, [str(one) for one in arguments])
    assert not (TMP / "costs").exists()


def statuses() -> None:
    for name, digits in (("one", 1), ("other", 2)):
        Run((Entry(0, "forward", "", "mm", 0, digits),)).save(TMP / name)
    for names, status in (
        (("one", "one"), 0),
        (("one", "other"), 1),
        (("one", "none"), 2),
        (("one",), 2),
    ):
        assert call("audit", *(TMP / name for name in names)).returncode == status, names
    # A mistake of our own is not "they differ"
    with contextlib.redirect_stderr(io.StringIO()) as errors:
        assert commands.run("audit", lambda: 1 // 0) == commands.TROUBLE
        assert "ZeroDivisionError" in errors.getvalue()

        def interrupted() -> int:
            raise KeyboardInterrupt

        assert commands.run("tune", interrupted, "nothing is lost") == 130
    assert errors.getvalue().endswith("dash_attn.tune: interrupted; nothing is lost\n")
    with open("/dev/full", "w") as full:  # nor is a result that cannot be read
        done = subprocess.run(
            [sys.executable, "-m", "dash_attn.audit", TMP / "one", TMP / "one"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2 and "dash_attn.audit: error: " in done.stderr, done
    assert json.loads((TMP / "one").read_text().splitlines()[0])["dash_audit"] == 1


says_its_version()
without_pytorch()
bad_files()
statuses()
