# RUN: %torch_python %s %dash_src
# REQUIRES: torch, plain-libdash
"""Models of transformers at the head dims, windows and softcaps of the real ones: all their calls
are served, gradients are as near to eager's as PyTorch's own, and weights are equal in two runs. A
window, a softcap or a v that is not heeded is found, and what is refused says why."""

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
import transformers_wide as wide  # noqa: E402

from dash_attn import attention  # noqa: E402

ROWS, STEPS = 24, 2
CAUSAL, WINDOW = {"causal": True}, {"window": (5, 0)}
CALLS = {  # heads, head dims, and what each kind of layer asks for
    "deepseek-v3": ((4, 4), (192, 128), (CAUSAL | {"scale": 192**-0.5},)),
    "gemma-3": ((4, 2), (256, 256), ({**one, "scale": 0.0625} for one in (WINDOW, CAUSAL))),
    "phi-3": ((4, 4), (96, 96), (CAUSAL | {"scale": 96**-0.5},)),
    "gemma-2": (
        (4, 2),
        (256, 256),
        ({**one, "scale": 1.0, "softcap": 50.0} for one in (WINDOW, CAUSAL)),
    ),
}


def trains(name: str) -> None:
    (heads, kv_heads), (of_qk, of_v), options = CALLS[name]
    row = wide.check(name, wide.MODELS[name], ROWS, "cpu", STEPS)
    assert not row["faults"] and not row["refused"], row
    of_q, of_k, of_values = (
        [wide.BATCH, h, ROWS, d] for h, d in ((heads, of_qk), (kv_heads, of_qk), (kv_heads, of_v))
    )
    expected = [f"q {of_q}, k {of_k}, v {of_values}, {one}" for one in options]
    assert [one["call"] for one in row["served"]] == expected, row["served"]
    # Two layers; for gradients once, and twice for each step.
    assert sum(one["count"] for one in row["served"]) == 2 * (1 + 2 * STEPS), row["served"]
    dims = f"head dim {of_qk}" if of_qk == of_v else f"head dim {of_qk}/{of_v}"
    assert all("".join(one["by"]).count(dims) == 2 for one in row["served"]), row["served"]


def faults_of(name: str, change: Any) -> list[str]:
    """Those of gradients, where attention is given something else than the model gives it."""
    was = wide.layer.attention
    wide.layer.attention = lambda *tensors, **options: change(tensors, options)
    try:
        return wide.compare_gradients(wide.MODELS[name], ROWS, "cpu")[1]
    finally:
        wide.layer.attention = was


def finds() -> None:
    def without(**changed: Any) -> Any:
        return lambda tensors, options: attention(*tensors, **options | changed)

    def narrower(tensors: Any, options: Any) -> Any:
        q, k, v = tensors
        return attention(
            q, k, torch.cat([v[..., :-8], torch.zeros_like(v[..., :8])], -1), **options
        )

    for name, change in (
        ("gemma-3", without(window=None, causal=True)),
        ("gemma-2", without(softcap=0.0)),
        ("deepseek-v3", narrower),
    ):
        found = faults_of(name, change)
        assert any(f"expected an error of at most {wide.BESIDE} times " in one for one in found), (
            name
        )


def refuses() -> None:
    """A head dim that no kernel has."""
    one = wide.MODELS["gemma-3"]
    row = wide.check("wider", one._replace(options={"head_dim": 264}), ROWS, "cpu", STEPS)
    said = "q: expected a head dim that is a multiple of 8 up to 256, found 264"
    assert not row["served"] and all(one["reason"].startswith(said) for one in row["refused"]), row
    assert [fault.split(": ")[0] for fault in row["faults"]] == [
        "wider, gradients",
        "wider, dash",
        "wider",
    ], row["faults"]
    assert said in row["gradients"]["broke off"], row


compare_models.on_cpu(with_float32=False)
for model in wide.MODELS:
    trains(model)
finds()
refuses()
