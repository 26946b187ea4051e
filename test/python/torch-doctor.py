# RUN: %torch_python %s %t
# REQUIRES: torch, plain-libdash
"""What the doctor says of a call is what `explain` says; of a model's file, what transformers fills
in."""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))

import on_cpu  # noqa: E402, F401
import torch  # noqa: E402

from dash_attn import explain  # noqa: E402
from dash_attn.doctor import machine  # noqa: E402
from dash_attn.doctor.calls import Call, answer  # noqa: E402
from dash_attn.doctor.models import calls_of  # noqa: E402

PATH = Path(sys.argv[1])


def as_explained() -> None:
    for call, options in (
        (Call(heads=4, kv_heads=2, rows=300), {"causal": True}),
        (
            Call(heads=4, kv_heads=4, rows=200, head_dim=64, dtype="float16", window=(100, 0)),
            {"window": (100, 0)},
        ),
        (
            Call(heads=4, kv_heads=2, rows=300, has_sink=True),
            {"causal": True, "sink": torch.zeros(4)},
        ),
        (Call(heads=4, kv_heads=2, rows=300, kv_rows=500), {"causal": True}),
        (Call(heads=4, kv_heads=2, rows=300, head_dim=72), {"causal": True}),
        (Call(heads=4, kv_heads=2, rows=300, head_dim=76), {}),
        (Call(heads=4, kv_heads=4, rows=300, head_dim=192, head_dim_v=128), {"causal": True}),
        (
            Call(heads=4, kv_heads=2, rows=300, head_dim=256, softcap=50.0),
            {"causal": True, "softcap": 50.0},
        ),
        (Call(heads=4, kv_heads=2, rows=300, level="batch"), {"causal": True, "level": "batch"}),
    ):
        q, k, v = (
            torch.empty(call.batch, heads, rows, columns, dtype=getattr(torch, call.dtype))
            for heads, rows, columns in (
                (call.heads, call.rows, call.head_dim),
                (call.kv_heads, call.columns, call.head_dim),
                (call.kv_heads, call.columns, call.columns_v),
            )
        )
        explained, found = explain(q, k, v, **options), answer(call)
        assert bool(explained) == (not found.refused and not found.by_hand), (explained, found)
        if explained:
            assert [
                one["certificate"] for one in found.kernels
            ] == explained.certificate.split() and found.kernels[1]["order"] == explained.order
        else:
            reason = found.refused or found.by_hand
            assert explained.refusal.split(":")[0] == reason.split(":")[0], (explained, found)


def filled() -> None:
    for fields, expected in (
        (
            {"model_type": "gemma2", "architectures": ["Gemma2ForCausalLM"]},
            [((4095, 0), 256, 256, 50.0), ((-1, 0), 256, 256, 50.0)],
        ),
        (
            {"model_type": "mistral", "architectures": ["MistralForCausalLM"], "hidden_size": 2048},
            [((4095, 0), 64, 64, 0.0)],
        ),
        ({"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"]}, [((-1, 0), 64, 64, 0.0)]),
        (
            {"model_type": "deepseek_v3", "architectures": ["DeepseekV3ForCausalLM"]},
            [((-1, 0), 192, 128, 0.0)],
        ),
        (
            {"model_type": "phi3", "architectures": ["Phi3ForCausalLM"], "sliding_window": 2047},
            [((2046, 0), 96, 96, 0.0)],
        ),
    ):
        PATH.write_text(json.dumps(fields), encoding="utf-8")
        found, notes = calls_of(str(PATH), Call(rows=8192))
        assert [
            (one.window, one.head_dim, one.columns_v, one.softcap) for one in found
        ] == expected and not notes, (found, notes)
    PATH.write_text(
        '{"model_type": "nobodys", "num_attention_heads": 2, "head_dim": 64}', encoding="utf-8"
    )
    assert "transformers knows no type 'nobodys'" in calls_of(str(PATH), Call())[1][0]


assert {"torch", "transformers"} <= set(machine.look("no-such-libcuda.so")["packages"])
as_explained()
filled()
