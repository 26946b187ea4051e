# RUN: %torch_python %s
# REQUIRES: torch, plain-libdash
"""Rows outside of all packed sequences are cleared by an entry of each program, and PyTorch fills
no memory for them. Only `out` of a forward keeps what stands there."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

import torch  # noqa: E402
from stub_driver import StubDriver  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from dash_attn.kernel import runtime  # noqa: E402
from dash_attn.kernel.tensors import Tensor  # noqa: E402
from dash_attn.torch import kernels, problem  # noqa: E402
from dash_attn.torch.forward import launch_forward  # noqa: E402
from dash_attn.torch.operator import launch_any  # noqa: E402

WORDS = {torch.float32: "f32", torch.int32: "i32", torch.float16: "f16", torch.bfloat16: "bf16"}
MEMORY = torch.empty(1 << 24, dtype=torch.uint8)
ROWS, HEADS, KV_HEADS = 40, 4, 2


def as_tensor(value: torch.Tensor, *_: Any) -> Tensor:
    return Tensor(value.data_ptr(), tuple(value.shape), value.stride(), WORDS[value.dtype])


driver = StubDriver()
runtime.as_tensor, runtime.cuda_driver, problem.DEVICE = as_tensor, lambda: driver, "cpu"
torch._C._cuda_getCurrentRawStream = lambda index: 0
runtime.current_stream = lambda tensor: 0
kernels.allocate, kernels.free = lambda *_: -(-MEMORY.data_ptr() // 256) * 256, lambda pointer: None


class Watched(TorchDispatchMode):
    """Names of the operators of PyTorch that run."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def __torch_dispatch__(
        self, function: Any, types: Any, arguments: Any = (), options: Any = None
    ) -> Any:
        self.names.add(function.overloadpacket.__name__)
        return function(*arguments, **options or {})


def launched(call: Callable[[], Any]) -> tuple[list[str], set[str]]:
    """Entries that a call launches, and operators that it runs."""
    driver.calls()
    with Watched() as watched:
        call()
    return [one.name.split("_")[-1] for one in driver.launches()], watched.names


cu = torch.tensor([1, 20, 20, 30], dtype=torch.int32)
for head_dim, head_dim_v, programs in ((64, 64, 1), (192, 128, 2)):
    q, k, v, o = (
        torch.zeros(ROWS, heads, columns, dtype=torch.bfloat16)
        for heads, columns in (
            (HEADS, head_dim),
            (KV_HEADS, head_dim),
            (KV_HEADS, head_dim_v),
            (HEADS, head_dim_v),
        )
    )
    lse, given = torch.zeros(HEADS, ROWS), (q, k, v)
    entries, ran = launched(lambda: launch_forward(*given, -1, 0, 0.1, cu_q=cu))
    assert entries == ["sequences", "order", "prepare", "main", "clear"], entries
    assert ran <= {"new_empty"}, ran
    entries, ran = launched(
        lambda: launch_forward(*given, -1, 0, 0.1, cu_q=cu, out=o, clears_rows=False)
    )
    assert entries == ["sequences", "order", "prepare", "main"] and "fill_" in ran, (entries, ran)
    entries, ran = launched(lambda: launch_any(o, *given, o, lse, -1, 0, 0.1, cu_q=cu))
    assert entries.count("clear") == programs and entries[-1] == "clear", entries
    assert ran <= {"empty_like", "new_empty"}, ran
