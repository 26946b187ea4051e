# RUN: %python %s %t
# REQUIRES: python, plain-libdash
"""A bundle is made, packed and read; what cannot be compiled is left out and said; there is nothing to test without a GPU."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))

from fixtures import SOURCE, refused  # noqa: E402

from dash_attn import ManifestError  # noqa: E402
from dash_attn.bundle import Bundle  # noqa: E402

TMP = Path(sys.argv[1])
FAKE = Path(__file__).parent / "Inputs/fake-dash-opt"


def make(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SOURCE / "tools/make-device-bundle"), str(folder), f"--dash-opt={FAKE}", f"--library={os.environ['DASH_LIBRARY']}",
               *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def contents() -> None:
    made = make(TMP / "bundle", "--filter=d64-causal")
    assert made.returncode == 1 and "39 of 40 kernels" in made.stdout, made
    assert "d64-causal-unordered: program.mlir:3:1: error: no such kind" in made.stdout, made.stdout
    bundle = Bundle.open(TMP / "bundle")
    assert [kernel.name for kernel in bundle.kernels] == [
        f"d64-causal-{kind}" for kind in ("ascending", "descending", "shift", "symmetric-shift", "file", "symmetric-shift-parts8",
                                          "symmetric-shift-f16", "synthesized-small", "synthesized-runs4", "synthesized-bench")]
    assert [kernel.name for kernel in bundle.lists] == [f"d64-causal-{kind}-list{build}" for kind, build in (
        ("symmetric-shift", ""), ("ascending", ""), ("symmetric-shift", "-softcap"), ("symmetric-shift", "-sink"), ("synthesized", ""),
        ("ascending", "-tickets"), ("symmetric-shift", "-threads"))]
    assert [kernel.name for kernel in bundle.given_delta] == [f"d64-causal-symmetric-shift{rows}-delta" for rows in ("", "-list")]
    assert [(kernel.name.rsplit("-")[-1], kernel.softcap, kernel.has_sink) for kernel in bundle.scores] == [
        ("softcap", 50.0, False), ("sink", None, True)]
    assert [kernel.name for kernel in bundle.apart] == [f"d64-causal-{which}" for which in (
        "symmetric-shift-apart-all", "symmetric-shift-parts8-apart-parts", "symmetric-shift-parts8-apart-all",
        "synthesized-runs4-apart-parts", "synthesized-runs4-apart-all")]
    shift, table = bundle.kernels[2], bundle.kernels[7]
    assert (shift.head_dim, shift.group, shift.kind, shift.fixed_sizes) == (64, "d64-causal", "shift", {})
    assert table.fixed_sizes == {"q_rows": 4096, "kv_rows": 4096}
    assert table.serves({"q_rows": 4096, "kv_rows": 4096}) and not table.serves({"q_rows": 4096, "kv_rows": 64})
    assert (TMP / "bundle/Device/golden.json").read_bytes() == (SOURCE / "test/Device/golden.json").read_bytes()
    assert (TMP / "bundle/dash_attn/libdash.so").read_bytes() == Path(os.environ["DASH_LIBRARY"]).read_bytes()
    packed = Bundle.open(TMP / "bundle.tar.gz")
    assert [kernel.name for kernel in packed.kernels] == [kernel.name for kernel in bundle.kernels]
    assert make(TMP / "bundle", "--filter=d64-causal-shift").returncode == 0  # made anew
    assert [kernel.name for kernel in Bundle.open(TMP / "bundle").kernels] == ["d64-causal-shift"]


def mistakes() -> None:
    made = make(TMP / "none", "--filter=d32")
    assert made.returncode and "error: no kernel has 'd32' in its name" in made.stderr, made
    (TMP / "other").mkdir(exist_ok=True)
    (TMP / "other/notes.txt").write_text("kept", encoding="utf-8")
    made = make(TMP / "other", "--filter=d64-causal-shift")
    assert made.returncode and f"error: {TMP}/other is there and is no bundle; name another folder" in made.stderr, made
    assert (TMP / "other/notes.txt").exists()
    found = refused(lambda: Bundle.open(TMP / "other"), ManifestError)
    assert found.startswith(f"{TMP}/other: expected a bundle of tools/make-device-bundle: "), found
    checked = subprocess.run([sys.executable, str(SOURCE / "tools/check-device"), str(TMP / "other")], capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stdout) == (1, "") and checked.stderr.startswith(f"error: {TMP}/other: expected a bundle of "), checked


def without_gpu() -> None:
    """Run from the bundle, not from this tree; a GPU that may be here is hidden."""
    command = [sys.executable, str(TMP / "bundle/Device/check-device"), str(TMP / "bundle")]
    found = subprocess.run(command, capture_output=True, text=True, check=False,
                           env={name: value for name, value in os.environ.items() if name != "DASH_LIBRARY"} | {"CUDA_VISIBLE_DEVICES": ""})
    assert found.returncode == 0 and found.stdout.startswith("no device tests on this machine: PyTorch "), found
    assert found.stdout.splitlines()[-1] == "0 passed, 0 failed, 1 skipped", found


contents()
mistakes()
without_gpu()
