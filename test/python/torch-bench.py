# RUN: %torch_python %s
# REQUIRES: torch, plain-libdash
"""The benchmark without a bundle, computed on the CPU: what it calls gives the same gradients, what
refuses says so, and a row is whole."""

from __future__ import annotations

import contextlib
import io
import json
import random
import sys
import tempfile
import types
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

import aten_on_cpu  # noqa: E402, F401
import torch  # noqa: E402
from fixtures import refused  # noqa: E402

import dash_attn  # noqa: E402
from dash_attn import ManifestError, bench  # noqa: E402
from dash_attn.measure import (
    calls as bench_calls,
    graphs as bench_graphs,
    peers,
    timing,
)  # noqa: E402
from dash_attn.measure.bundle import Bundle, BundledKernel  # noqa: E402
from dash_attn.measure.testing import Case  # noqa: E402
from dash_attn.reference import CAUSAL, FULL  # noqa: E402

CASE = Case(64, CAUSAL, 24, 24, 1, 4, 2)
SWITCH: list[bool] = []


def flash_attn_func(
    q: Any, k: Any, v: Any, causal: bool = False, deterministic: bool = False
) -> Any:
    SWITCH.append(deterministic)
    if q.shape[1] != k.shape[1]:
        raise RuntimeError("no such rectangles\nand more")
    o = bench_calls.F.scaled_dot_product_attention(
        *(x.transpose(1, 2) for x in (q, k, v)), is_causal=causal, enable_gqa=True
    )
    return o.transpose(1, 2), None


def names() -> None:
    shapes = bench_calls.shapes()
    assert (
        len(shapes) == len(bench_calls.MODELS) == 16
        and shapes["32/8 heads, 2k"].batch == 8
        and shapes["one of 128k"].batch == 1
    )
    assert {case.heads for case in shapes.values()} == {12, 16, 32, 40} and shapes[
        "ViT, 577"
    ].mask == FULL
    assert set(bench_calls.functions(True)) == {
        "dash",
        "SDPA flash",
        "SDPA cuDNN",
        "SDPA efficient",
        "SDPA flash det",
    }
    with dash_attn.enable():
        said = (
            "expected PyTorch's own attention, to measure beside, found dash_attn.enable(); end it"
            " by dash_attn.disable()"
        )
        for call in (lambda: bench_calls.functions(True), lambda: peers.make_tensors(CASE)):
            assert refused(call, RuntimeError) == said
    few = bench_graphs.shapes()
    for name, case in few.items():
        assert case.batch == 1 and case.q_rows > 0, name
        if name.startswith("as many"):  # within 5 % of the operations of the shape above it
            assert (
                case.heads == case.kv_heads == 16
                and abs(timing.operations(case) / before - 1) < 0.05
            ), (name, timing.operations(case) / before)
        before = timing.operations(case)
    sys.modules["flash_attn"] = types.SimpleNamespace(flash_attn_func=flash_attn_func)
    sys.modules["flash_attn_interface"] = types.SimpleNamespace()


def kernels() -> None:
    """The kernels of a bundle: one of a kind, that serves the sizes and has one part."""

    def bundled(name: str, element: str = "bf16", parts: int = 1, **fixed: int) -> BundledKernel:
        sizes = {size: {"value": value} for size, value in fixed.items()}
        return BundledKernel(
            name,
            64,
            element,
            CAUSAL,
            "shift",
            True,
            Path(name),
            {"program": {"parts": parts}, "sizes": sizes},
        )

    made = (
        bundled("plain"),
        bundled("parts4", parts=4),
        bundled("f16", "f16"),
        bundled("table", q_rows=24),
        bundled("other-table", q_rows=48),
    )
    bundle = Bundle(Path(), "", "", made)
    assert [kernel.name for kernel in peers.kernels_of(bundle, CASE)] == ["plain", "table"]
    best = replace(bundled("best"), kind=peers.BEST_FIXED[CASE.mask.name])
    assert peers.best_fixed(replace(bundle, kernels=(*made, best)), CASE) is best
    try:
        peers.best_fixed(bundle, CASE)
    except ManifestError as error:
        assert (
            f"expected a kernel for {CASE.name} of the fixed kind that is best on its mask (full:"
            " shift, causal: symmetric-shift), found none" in str(error)
        )
    else:
        raise AssertionError("a bundle without it was taken")
    assert not peers.kernels_of(bundle, Case(64, FULL, 24, 24, 1, 4, 2)) and not peers.kernels_of(
        bundle, Case(128, CAUSAL, 24, 24, 1, 4, 2)
    )


def calls() -> None:
    runs, refused = bench_calls.runs_of(CASE, "cpu")
    assert {"dash", "SDPA flash", "SDPA flash det", "flash-attn", "flash-attn det"} <= set(
        runs
    ) and "SDPA cuDNN" in refused, (runs, refused)
    assert SWITCH == [False, True] and all("\n" not in reason for reason in refused.values())
    exact = [x.double() for x in runs["dash"]()]
    for name, run in runs.items():
        for one, other in zip(run(), exact, strict=True):
            assert (one.double() - other).norm() < 0.02 * other.norm(), name
    assert (
        not torch.are_deterministic_algorithms_enabled()
        and torch.utils.deterministic.fill_uninitialized_memory
    )
    with bench_calls.deterministic("SDPA flash det"):
        assert (
            torch.are_deterministic_algorithms_enabled()
            and not torch.utils.deterministic.fill_uninitialized_memory
        )
    runs, refused = bench_calls.runs_of(Case(64, CAUSAL, 12, 24, 1, 4, 2), "cpu")
    assert "dash" in runs and refused["flash-attn"] == "no such rectangles", refused


def rows() -> None:
    """All of `main`, with clocks that stand still."""
    torch.cuda.is_available, torch.cuda.synchronize, torch.cuda.get_device_name = (
        lambda: True,
        lambda: None,
        lambda: "none",
    )
    torch.backends.cudnn.version = lambda: 0
    bench_calls.allocate = lambda case, names, device: allocate(case, names, "cpu")
    bench_calls.peak, timing.timed = (
        lambda run: 1.5,
        lambda runs, flush: [run() and 2.0 for run in runs],
    )
    bench_calls.MODELS = (
        ("small", 64, CAUSAL, 24, 24, 4, 2, 1),
        ("wide", 64, FULL, 12, 24, 4, 2, 1),
    )
    found = bench_calls.measure_calls("small", CASE, 3, None, random.Random(1))
    ours = next(row for row in found if row["variant"] == "dash")
    assert (ours["ms"], ours["mib"], ours["rounds"], ours["kv_heads"]) == (2.0, 1.5, 3, 2) and ours[
        "host_us"
    ] > 0
    assert ours["tflops"] == 1.4 * timing.operations(CASE) / 2e9
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as said:
        paths = [Path(folder) / name for name in ("b.json", "b.svg")]
        assert bench.main(["--rounds=3", f"--json={paths[0]}", f"--svg={paths[1]}"]) == 0
        record = json.loads(paths[0].read_text())
        assert {row["shape"] for row in record["results"]} == {"small", "wide"} and paths[
            1
        ].read_text().startswith("<svg")
        assert bench.main(["--seconds=-1"]) == 0 and bench.main(["--shapes=none"]) == 2
        bench_graphs.shapes = lambda: {"few": CASE}
        bench_graphs.replays_of = lambda case: bench_calls.runs_of(case, "cpu")
        assert bench.main(["--backward", f"--json={paths[0]}"]) == 0
        (ours,) = (
            row for row in json.loads(paths[0].read_text())["results"] if row["variant"] == "dash"
        )
        assert (
            ours["shape"] == "few"
            and ours["tflops"] == timing.operations(CASE) / 2e9
            and "host_us" not in ours
        )
        assert "milliseconds of the backward pass" in said.getvalue()
        with contextlib.redirect_stderr(io.StringIO()) as error:
            assert bench.main(["--backward", "bundle"]) == 2
        assert "expected --backward without a bundle" in error.getvalue()
    assert (
        "no time was left for small, wide" in said.getvalue()
        and "small: SDPA cuDNN refuses: " in said.getvalue()
    ), said.getvalue()
    torch.cuda.is_available = lambda: False
    assert bench.main([]) == 2


allocate = bench_calls.allocate
names()
kernels()
calls()
rows()
