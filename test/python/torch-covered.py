# RUN: %torch_python %s
# REQUIRES: torch, plain-libdash
"""The README's column of PyTorch: calls of each row are served, or refused."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

import on_cpu  # noqa: E402, F401  (computes dash_attn's operators)
import torch  # noqa: E402
from covered import demand_column  # noqa: E402

from dash_attn import attention, explain  # noqa: E402
from dash_attn.reference import Blocks, Mask, Union  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
OFFSETS = torch.tensor([0, 5, 12], dtype=torch.int32)
PACKED = {"cu_seqlens_q": OFFSETS, "cu_seqlens_k": OFFSETS}


def call(
    dtype: torch.dtype = torch.bfloat16, head_dim: int = 64, of_v: int | None = None, **options: Any
) -> Callable[[], object]:
    shape = (12,) if "cu_seqlens_q" in options else (2, 12)
    q, k, v = (
        torch.zeros(
            (*shape[:-1], heads, 12, columns) if len(shape) == 2 else (12, heads, columns)
        ).to(dtype)
        for heads, columns in ((4, head_dim), (2, head_dim), (2, of_v or head_dim))
    )
    return lambda: explain(q, k, v, **options)


def with_argument(name: str) -> Callable[[], object]:
    q = torch.zeros(1, 1, 12, 64, dtype=torch.bfloat16)
    return lambda: attention(q, q, q, **{name: None})


def rectangle() -> object:
    q, k = (torch.zeros(1, 2, rows, 64, dtype=torch.bfloat16) for rows in (12, 20))
    return explain(q, k, k, causal=True)


demand_column(
    ROOT,
    "PyTorch",
    {
        "bf16, f16": [call(), call(torch.float16)],
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
            call(sink=torch.zeros(4)),
        ],
        "windows with a right side": [call(window=(5, 2))],
        "packed sequences whose lengths lie on the device, levels `run` and `batch`": [
            call(causal=True, **PACKED),
            call(level="batch", **PACKED),
        ],
        "softcaps, causal rectangles, level `batch` for batches": [
            call(softcap=30.0),
            rectangle,
            call(level="batch"),
            call(level="machine"),
        ],
        "block masks, unions of masks": [
            call(mask=Mask(right=0, union=Union(4, 7))),
            call(mask=Mask(blocks=Blocks.of([[True]], 64, 128))),
        ],
        "several GPUs: batch and heads apart": [(ROOT / "test/python/torch-sharded.py").exists],
        "several GPUs: rows of one document apart, head dims up to 128": [
            lambda: importlib.import_module("dash_attn.distributed").World
        ],
        "float32, fp8, head dims above 256, dropout, biases": [
            call(torch.float32),
            call(torch.float8_e4m3fn),
            call(head_dim=264),
            with_argument("dropout_p"),
            with_argument("bias"),
        ],
    },
)
