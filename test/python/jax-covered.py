# RUN: %jax_python %s
# REQUIRES: jax, plain-libdash
"""The README's column of JAX: calls of each row are served, or refused."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

import jax_on_cpu  # noqa: E402, F401  (computes dash_attn's custom call)
import jax.numpy as jnp  # noqa: E402
from covered import demand_column  # noqa: E402

import dash_attn.jax  # noqa: E402
from dash_attn.jax import attention, explain  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
OFFSETS = jnp.array([0, 5, 12], dtype=jnp.int32)
PACKED = {"cu_seqlens_q": OFFSETS, "cu_seqlens_k": OFFSETS}


def call(
    dtype: Any = jnp.bfloat16, head_dim: int = 64, of_v: int | None = None, **options: Any
) -> Callable[[], object]:
    q, k, v = (
        jnp.zeros(
            (12, heads, columns) if "cu_seqlens_q" in options else (2, heads, 12, columns), dtype
        )
        for heads, columns in ((4, head_dim), (2, head_dim), (2, of_v or head_dim))
    )
    return lambda: explain(q, k, v, **options)


def rectangle(**options: Any) -> Callable[[], object]:
    q, k = (jnp.zeros((1, 2, rows, 64), jnp.bfloat16) for rows in (12, 20))
    return lambda: explain(q, k, k, causal=True, **options)


def with_argument(name: str) -> Callable[[], object]:
    q = jnp.zeros((1, 1, 12, 64), jnp.bfloat16)
    return lambda: attention(q, q, q, **{name: None})


demand_column(
    ROOT,
    "JAX",
    {
        "bf16, f16": [call(), call(jnp.float16)],
        "head dims in multiples of 8 up to 128, or 256 without sinks; that of v may differ": [
            call(head_dim=136),
            call(causal=True, head_dim=192),
            call(head_dim=256),
            *(call(head_dim=columns) for columns in range(8, 129, 8)),
            call(of_v=32),
        ],
        "full and causal masks, sliding windows, grouped heads, sinks": [
            call(),
            call(causal=True),
            call(window=(5, 0)),
            call(sink=jnp.zeros(4)),
        ],
        "windows with a right side": [call(window=(5, 2))],
        "packed sequences whose lengths lie on the device, levels `run` and `batch`": [
            call(causal=True, **PACKED),
            call(level="batch", **PACKED),
        ],
        "softcaps, causal rectangles, level `batch` for batches": [
            call(softcap=30.0),
            rectangle(),
            call(level="batch"),
            call(level="machine"),
        ],
        "block masks, unions of masks": [with_argument("mask")],
        "several GPUs: batch and heads apart": [
            lambda: (
                "shard_map" in (ROOT / "test/python/jax-attention.py").read_text(encoding="utf-8")
            )
        ],
        "several GPUs: rows of one document apart, head dims up to 128": [
            lambda: getattr(dash_attn.jax, "World", None)
        ],
        "float32, fp8, head dims above 256, dropout, biases": [
            call(jnp.float32),
            call(jnp.float8_e4m3fn),
            call(head_dim=264),
            with_argument("dropout_rate"),
            with_argument("bias"),
        ],
    },
)
