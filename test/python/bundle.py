# RUN: %python %s %t
# REQUIRES: python, plain-libdash
"""A bundle is made, packed and read; what cannot be compiled is left out and said; there is nothing
to test without a GPU."""

from __future__ import annotations

import io
import json
import os
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))

from fixtures import SOURCE, refused  # noqa: E402

from dash_attn import ManifestError  # noqa: E402
from dash_attn.measure import bundle as bundle_module  # noqa: E402
from dash_attn.measure.bundle import Bundle  # noqa: E402

TMP = Path(sys.argv[1])
FOLDERS = TMP / "folders"  # that archives are unpacked into
FAKE = Path(__file__).parent / "Inputs/fake-dash-opt"


def make(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        str(SOURCE / "tools/make-device-bundle"),
        str(folder),
        f"--dash-opt={FAKE}",
        f"--library={os.environ['DASH_LIBRARY']}",
        *options,
    ]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def contents() -> None:
    made = make(TMP / "bundle", "--filter=d64-causal")
    assert made.returncode == 1 and "55 of 56 kernels" in made.stdout, made
    assert "d64-causal-unordered: program.mlir:3:1: error: no such kind" in made.stdout, made.stdout
    bundle = Bundle.open(TMP / "bundle")
    assert [kernel.name for kernel in bundle.kernels] == [
        f"d64-causal-{kind}"
        for kind in (
            "ascending",
            "descending",
            "shift",
            "symmetric-shift",
            "file",
            "symmetric-shift-parts8",
            "symmetric-shift-f16",
            "synthesized-small",
            "synthesized-runs4",
            "synthesized-bench",
        )
    ]
    assert [kernel.name for kernel in bundle.lists] == [
        f"d64-causal-{kind}-list{build}"
        for kind, build in (
            ("symmetric-shift", ""),
            ("ascending", ""),
            ("shortest-first", ""),
            ("symmetric-shift", "-softcap"),
            ("symmetric-shift", "-sink"),
            ("synthesized", ""),
            ("ascending", "-tickets"),
            ("symmetric-shift", "-threads"),
        )
    ]
    assert [kernel.name for kernel in bundle.given_delta] == [
        f"d64-causal-symmetric-shift{rows}-delta" for rows in ("", "-list")
    ]
    assert [
        (kernel.name.rsplit("-")[-1], kernel.softcap, kernel.has_sink) for kernel in bundle.scores
    ] == [("softcap", 50.0, False), ("sink", None, True)]
    assert [kernel.name for kernel in bundle.apart] == [
        f"d64-causal-{which}"
        for which in (
            "symmetric-shift-apart-all",
            "symmetric-shift-parts8-apart-parts",
            "symmetric-shift-parts8-apart-all",
            "synthesized-runs4-apart-parts",
            "synthesized-runs4-apart-all",
        )
    ]
    assert [kernel.name for kernel in bundle.forwards] == [
        f"d64-causal-forward{build}"
        for build in (
            "",
            "-q64",
            "-q128",
            "-list",
            "-q64-fold2",
            "-list-fold2",
            "-sink",
            "-softcap",
            "-q128-cut",
            "-q128-cut-list",
            "-q128-cut-fold2",
            "-unrounded",
            "-unrounded-list",
            "-unrounded-fold2",
        )
    ]
    assert [kernel.name for kernel in bundle.unrounded] == [
        "d64-causal-symmetric-shift-unrounded"
    ] and all(kernel in bundle.all for kernel in bundle.unrounded)
    for kernel in bundle.forwards:
        assert kernel.fold == 1 + kernel.name.endswith("fold2"), kernel.name
        assert kernel.is_unrounded == ("-unrounded" in kernel.name), kernel.name
    shift, table = bundle.kernels[2], bundle.kernels[7]
    assert (shift.head_dim, shift.group, shift.kind, shift.fixed_sizes) == (
        64,
        "d64-causal",
        "shift",
        {},
    )
    assert table.fixed_sizes == {"q_rows": 4096, "kv_rows": 4096}
    assert table.serves({"q_rows": 4096, "kv_rows": 4096}) and not table.serves(
        {"q_rows": 4096, "kv_rows": 64}
    )
    assert (TMP / "bundle/Device/golden.json").read_bytes() == (
        SOURCE / "test/Device/golden.json"
    ).read_bytes()
    assert (TMP / "bundle/dash_attn/libdash.so").read_bytes() == Path(
        os.environ["DASH_LIBRARY"]
    ).read_bytes()
    packed = Bundle.open(TMP / "bundle.tar.gz")
    assert [kernel.name for kernel in packed.kernels] == [kernel.name for kernel in bundle.kernels]
    assert make(TMP / "bundle", "--filter=d64-causal-shift").returncode == 0  # made anew
    assert [kernel.name for kernel in Bundle.open(TMP / "bundle").kernels] == ["d64-causal-shift"]
    made = make(TMP / "two", "--filter=d64-causal-shift,d64-full-forward-f16")
    found = Bundle.open(TMP / "two")
    assert made.returncode == 0, made
    assert [one.name for one in found.kernels + found.forwards] == [
        "d64-causal-shift",
        "d64-full-forward-f16",
    ]


def mistakes() -> None:
    made = make(TMP / "none", "--filter=d32")
    assert made.returncode and "error: no kernel has 'd32' in its name" in made.stderr, made
    (TMP / "other").mkdir(exist_ok=True)
    (TMP / "other/notes.txt").write_text("kept", encoding="utf-8")
    made = make(TMP / "other", "--filter=d64-causal-shift")
    assert (
        made.returncode
        and f"error: {TMP}/other is there and is no bundle; name another folder" in made.stderr
    ), made
    assert (TMP / "other/notes.txt").exists()
    found = refused(lambda: Bundle.open(TMP / "other"), ManifestError)
    assert found.startswith(f"{TMP}/other: expected a bundle of tools/make-device-bundle: "), found
    checked = subprocess.run(
        [sys.executable, str(SOURCE / "tools/check-device"), str(TMP / "other")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (checked.returncode, checked.stdout) == (1, "") and checked.stderr.startswith(
        f"error: {TMP}/other: expected a bundle of "
    ), checked


def archives() -> None:
    """Nothing is written anywhere else, whatever an archive says, and whether this Python has
    filters for them or not."""
    outside, tempfile.tempdir = TMP / "outside", str(FOLDERS)
    about = member(
        "bundle/bundle.json",
        json.dumps({"commit": "abc", "date": "2026-01-01", "kernels": []}).encode(),
    )
    assert packed(about).commit == "abc"
    for has_filters in (True, False):
        if not has_filters:
            tarfile.__dict__.pop("data_filter", None)
        evil = {
            "an absolute path": [member(str(outside), b"evil")],
            "a path to above": [member("bundle/../../../outside", b"evil")],
            "a link, and a file through it": [
                link("bundle/link", str(TMP), tarfile.SYMTYPE),
                member("bundle/link/outside", b"evil"),
            ],
            "a link to a file": [link("bundle/bundle.json", "/etc/passwd", tarfile.SYMTYPE)],
            "a hard link": [link("bundle/hard", "/etc/passwd", tarfile.LNKTYPE)],
            "a pipe": [link("bundle/pipe", "", tarfile.FIFOTYPE)],
            "a device": [link("bundle/zero", "", tarfile.CHRTYPE)],
            "a name twice": [member("bundle/a", b"1"), member("bundle/a", b"2")],
        }
        for what, members in evil.items():
            found = refused(lambda members=members: packed(about, *members), ManifestError)
            assert found.startswith(
                f"{TMP}/evil.tar.gz: expected a bundle of tools/make-device-bundle: "
            ), (what, found)
            assert not outside.exists() and not list(FOLDERS.iterdir()), what
    most = bundle_module.MOST_MEMBERS, bundle_module.MOST_BYTES
    for limit, value in (("MOST_MEMBERS", 2), ("MOST_BYTES", 10_000)):
        setattr(bundle_module, limit, value)
        found = refused(
            lambda: packed(about, member("bundle/a", bytes(9000)), member("bundle/b", bytes(9000))),
            ManifestError,
        )
        assert "expected at most " in found and not list(FOLDERS.iterdir()), found
        bundle_module.MOST_MEMBERS, bundle_module.MOST_BYTES = most
    for content in (b"", b"no archive", (TMP / "bundle.tar.gz").read_bytes()[:-1000]):
        (TMP / "evil.tar.gz").write_bytes(content)
        assert "expected a bundle of " in refused(
            lambda: Bundle.open(TMP / "evil.tar.gz"), ManifestError
        ) and not list(FOLDERS.iterdir())
    # Rights are those of files and programs, and there are no owners.
    opened = packed(
        about, member("bundle/tool", b"#!/bin/sh", 0o4777), member("bundle/secret", b"", 0o000)
    )
    assert [stat.S_IMODE((opened.path / name).stat().st_mode) for name in ("tool", "secret")] == [
        0o755,
        0o644,
    ]
    for name in ("../../etc/passwd", "/etc/passwd", "--x", "", "a/b", 7):
        named = member(
            "bundle/bundle.json",
            json.dumps({"commit": "abc", "date": "", "kernels": [name]}).encode(),
        )
        assert "kernels: expected a list of names, found " in refused(
            lambda named=named: packed(named), ManifestError
        )
    nested = member("bundle/bundle.json", b"[" * 100_000)
    assert "brackets nest deeper" in refused(lambda: packed(nested), ManifestError)


def member(name: str, content: bytes, mode: int = 0o644) -> tuple[tarfile.TarInfo, bytes]:
    about = tarfile.TarInfo(name)
    about.size, about.mode = len(content), mode
    return about, content


def link(name: str, target: str, kind: bytes) -> tuple[tarfile.TarInfo, bytes]:
    about = tarfile.TarInfo(name)
    about.type, about.linkname = kind, target
    return about, b""


def packed(*members: tuple[tarfile.TarInfo, bytes]) -> Bundle:
    shutil.rmtree(FOLDERS, ignore_errors=True)
    FOLDERS.mkdir()
    with tarfile.open(TMP / "evil.tar.gz", "w:gz") as archive:
        for about, content in members:
            archive.addfile(about, io.BytesIO(content))
    return Bundle.open(TMP / "evil.tar.gz")


def without_gpu() -> None:
    """Run from the bundle, not from this tree; a GPU that may be here is hidden."""
    command = [sys.executable, str(TMP / "bundle/Device/check-device"), str(TMP / "bundle")]
    found = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        env={name: value for name, value in os.environ.items() if name != "DASH_LIBRARY"}
        | {"CUDA_VISIBLE_DEVICES": ""},
    )
    assert found.returncode == 0 and found.stdout.startswith(
        "no device tests on this machine: PyTorch "
    ), found
    assert found.stdout.splitlines()[-1] == "0 passed, 0 failed, 1 skipped", found


contents()
mistakes()
archives()
without_gpu()
