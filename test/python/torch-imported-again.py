# RUN: %torch_python %s
# REQUIRES: torch, plain-libdash
"""Importing changes no switch of PyTorch, and leaves its compiler out. The package may be imported
again: operators are what they were, do what the last import says, and another version is refused in
a line."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "python"))

import torch  # noqa: E402
from torch._subclasses import FakeTensorMode  # noqa: E402


def switches() -> list[object]:
    cuda, cudnn = torch.backends.cuda, torch.backends.cudnn
    return [
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
        torch.get_default_dtype(),
        torch.get_default_device(),
        torch.is_grad_enabled(),
        torch.get_num_threads(),
        torch.is_warn_always_enabled(),
        torch.initial_seed(),
        torch.get_rng_state().sum().item(),
        torch.get_float32_matmul_precision(),
        cuda.matmul.allow_tf32,
        cudnn.allow_tf32,
        cudnn.deterministic,
        cudnn.benchmark,
        cuda.flash_sdp_enabled(),
        cuda.cudnn_sdp_enabled(),
        cuda.mem_efficient_sdp_enabled(),
        cuda.math_sdp_enabled(),
    ]


before = switches()

import dash_attn  # noqa: E402
from dash_attn.torch import function, operator, registry  # noqa: E402

assert switches() == before, (before, switches())
attention, first = dash_attn.attention, [function.attended, operator.gradients]
old_launch = operator.launch_any
for name in [name for name in sys.modules if name.partition(".")[0] == "dash_attn"]:
    del sys.modules[name]
again = importlib.import_module("dash_attn")
assert again is not dash_attn and again.attention is not attention  # which imports dash_attn.torch
modules = [sys.modules[f"dash_attn.torch.{name}"] for name in ("function", "operator")]
assert [modules[0].attended, modules[1].gradients] == first and modules[1] is not operator
for module in modules:
    importlib.reload(module)
launch = sys.modules["dash_attn.torch.operator"].launch_any
assert launch is not old_launch and first[1]._dash_functions["CUDA"] is launch

with FakeTensorMode():
    q, lse = (
        torch.empty(1, 2, 64, 64, dtype=torch.bfloat16, device="cuda"),
        torch.empty(1, 2, 64, device="cuda"),
    )
    sink, cu = torch.empty(2, device="cuda"), torch.empty(2, dtype=torch.int32, device="cuda")
    for operation in (operator.gradients, modules[1].gradients):
        *found, dsink = operation(q, q, q, q, q, lse, -1, -1, 1.0)
        assert [tuple(one.shape) for one in found] == [(1, 2, 64, 64)] * 3 and dsink is None
    assert operation(q, q, q, q, q, lse, -1, -1, 1.0, None, sink)[3].shape == (1, 2)
    packed = q[0].transpose(0, 1)
    of_packed = [*[packed] * 5, lse[0], -1, -1, 1.0, None, sink, cu]
    assert operation(*of_packed)[3].shape == (1, 2)

try:
    registry.define(operator.NAME, "(Tensor q) -> Tensor")
except RuntimeError as error:
    assert (
        "has imported another version of dash_attn before, whose operator is"
        " dash::attention_backward(" in str(error)
    ), error
    assert str(error).endswith(": start the process again"), error
else:
    raise AssertionError("expected another version to be refused")

# PyTorch's compiler takes seconds to import, and most programs compile nothing.
LIGHT = """
import sys
import torch
before = "torch._dynamo" in sys.modules
import dash_attn
dash_attn.attention, dash_attn.enable, dash_attn.explain
assert ("torch._dynamo" in sys.modules) == before, "dash_attn has imported torch._dynamo"
"""
folder = str(Path(__file__).parents[2] / "python")
subprocess.run([sys.executable, "-c", LIGHT], env={**os.environ, "PYTHONPATH": folder}, check=True)
