# RUN: %torch_python %s %dash_src
# REQUIRES: torch, plain-libdash
"""Models of test/Device/static_caches.py generate with a static cache: each call is served, logits
are as near to eager's as PyTorch's own, and equal in two runs. A length that is too short, calls
that are not served, and runs that differ are found."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

ROOT = Path(sys.argv[1])
sys.path[:0] = [str(ROOT / name) for name in ("test/python/lib", "test/Device")]

import fixtures  # noqa: E402, F401
import torch  # noqa: E402
import transformers  # noqa: E402

transformers.logging.set_verbosity_error()

import compare_models  # noqa: E402
import static_caches as static  # noqa: E402

from dash_attn import attention  # noqa: E402

ROWS = 24
static.NEW = 3


def generate() -> None:
    for name, batch in (("llama", 3), ("mistral", 1), ("gemma-2", 1)):
        found = static.check("dash", name, batch, ROWS, "cpu")
        assert not found["wrong"] and found["calls"] == 2 * 2 * static.NEW, found
    named = [one.rpartition(", {")[2] for one in static.wide.served]
    assert any(one.startswith("'seqused_k': [1], 'causal': True") for one in named), named


def finds() -> None:
    runs: list[int] = []

    def shorter(*tensors: Any, **options: Any) -> Any:
        if "seqused_k" in options:
            options["seqused_k"] = options["seqused_k"] // 2
        return attention(*tensors, **options)

    def other(*tensors: Any, **options: Any) -> Any:
        runs.append(1)
        return attention(*tensors, **options) * (1 + 2**-7 * (len(runs) == 1))

    case = static.Case("llama", 1, ROWS, "cpu")
    served = static.wide.layer.attention
    for change, calls, expected in (
        (shorter, 0, ["tokens: ", "expected 12 calls"]),
        (other, 0, ["two runs differ", "expected 12 calls"]),
    ):
        static.wide.layer.attention = change
        found = static.by_dash(case)
        assert found["calls"] == calls, found
        for said in expected:
            assert any(one.startswith(said) for one in found["wrong"]), (said, found)
    static.wide.layer.attention = served
    assert torch.equal(case.logits("dash"), case.logits("dash"))


compare_models.on_cpu(with_float32=False)
generate()
finds()
