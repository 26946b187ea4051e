# RUN: %torch_python %s
# REQUIRES: torch, plain-libdash
"""What attention() costs on the host, beside a driver that does nothing and a forward operator that
computes nothing, also where gradients come from two programs. Times are printed; demanded is how
many calls of Python and of C are made, which is the same on every machine."""

from __future__ import annotations

import cProfile
import pstats
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

import torch  # noqa: E402
from fixtures import refused  # noqa: E402
from stub_driver import STUB  # noqa: E402

from dash_attn import ArgumentError, attention  # noqa: E402
from dash_attn.kernel import runtime  # noqa: E402
from dash_attn.kernel.driver import Driver  # noqa: E402
from dash_attn.kernel.tensors import Tensor  # noqa: E402
from dash_attn.torch import kernels, operator, problem, refusal  # noqa: E402
from dash_attn.torch.forward import launch_forward  # noqa: E402

ROUNDS, CALLS = 20, 300
BF16 = torch.bfloat16
MEMORY = torch.empty(1 << 24, dtype=torch.uint8)
O, LSE = torch.randn(1, 2, 128, 128, dtype=BF16), torch.zeros(1, 2, 128, 1)


def as_tensor(value: torch.Tensor, *_: Any) -> Tensor:
    return Tensor(
        value.data_ptr(),
        tuple(value.shape),
        value.stride(),
        "f32" if value.dtype == torch.float32 else "bf16",
    )


class Theirs(torch.autograd.Function):
    """The least that a Function with a forward operator and three gradients can do."""

    @staticmethod
    def forward(ctx: Any, q: Any, k: Any, v: Any) -> Any:
        o, lse, *_ = torch.ops.aten._scaled_dot_product_cudnn_attention.default(q, k, v, None, True)
        ctx.save_for_backward(q, k, v, o, lse)
        return o

    @staticmethod
    def backward(ctx: Any, do: Any) -> Any:
        q, k, v, *_ = ctx.saved_tensors
        return torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)


DRIVER = Driver(STUB)
CURRENT = DRIVER.on(0)
CURRENT.__enter__()  # as it is where anything ran before
runtime.as_tensor, runtime.cuda_driver, problem.DEVICE = as_tensor, lambda: DRIVER, "cpu"
refusal.refusal_of_device = lambda index: None
torch._C._cuda_getCurrentRawStream = lambda index: 0


class Places(dict[int, int]):
    """Each number of bytes has memory of its own: that of dS is no workspace's."""

    def __missing__(self, size: int) -> int:
        begin = max(self.values(), default=-(-MEMORY.data_ptr() // 256) * 256 - STEP) + STEP
        assert size <= STEP and begin + STEP <= MEMORY.data_ptr() + MEMORY.nbytes
        return self.setdefault(size, begin)


STEP, PLACES = 1 << 20, Places()
kernels.allocate, kernels.free = lambda size, *_: PLACES[size], lambda pointer: None
LIBRARY = torch.library.Library("aten", "IMPL")
LIBRARY.impl(
    "_scaled_dot_product_cudnn_attention",
    lambda *_, **__: (O.detach(), LSE, LSE, LSE, 128, 128, LSE, LSE, LSE),
    "CPU",
)
torch.library.impl(operator.NAME, "CPU", operator.launch_any)


def least(call: Callable[[], Any]) -> float:
    """Microseconds; the least of some rounds, since others use the machine too."""
    times = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        for _ in range(CALLS):
            call()
        times.append((time.perf_counter() - begun) / CALLS)
    return min(times) * 1e6


def count(call: Callable[[], Any]) -> int:
    """Functions that one call enters, of Python and of C."""
    profile = cProfile.Profile()
    profile.enable()
    call()
    profile.disable()
    return pstats.Stats(profile).total_calls


torch.manual_seed(1)
q, k, v, do = (torch.randn(1, 2, 128, 128, dtype=BF16) for _ in range(4))
leaves = [x.clone().requires_grad_() for x in (q, k, v)]
given = (do, q, k, v, O, LSE[..., 0], -1, 0, 0.125)
MEASURED: dict[str, Callable[[], Any]] = {
    "an empty Function, both ways": lambda: torch.autograd.grad(Theirs.apply(*leaves), leaves, do),
    "attention(), both ways": lambda: torch.autograd.grad(
        attention(*leaves, causal=True), leaves, do
    ),
    "attention(), forward": lambda: attention(q, k, v, causal=True),
    "the operator of the backward pass": lambda: operator.gradients(*given),
    "its launch": lambda: operator.launch(*given),
}
# The same at head dims whose gradients come from two programs.
WIDE, WIDE_V = 256, 192
of_wide = [torch.randn(1, 2, 128, d, dtype=BF16) for d in (WIDE, WIDE, WIDE_V, WIDE_V, WIDE_V)]
*wide, wide_do, wide_o = of_wide
wide_leaves = [x.clone().requires_grad_() for x in wide]
wide_given = (wide_do, *wide, wide_o, LSE[..., 0], -1, 0, 0.125)
MEASURED |= {
    "attention() by two programs, both ways": lambda: torch.autograd.grad(
        attention(*wide_leaves, causal=True), wide_leaves, wide_do
    ),
    "their launch": lambda: operator.launch(*wide_given),
}
CALLS_OF: dict[str, int] = {}
for name, call in MEASURED.items():
    call()
    call()  # what PyTorch imports when it is first needed is no part of it
    CALLS_OF[name] = count(call)
    print(f"{name}: {least(call):.1f} us, {CALLS_OF[name]} calls")
empty, both, forward, _, launched, by_two, launched_two = CALLS_OF.values()
assert both - empty <= 63, "what is ours of both ways has more calls than it needs"
assert forward <= 42 and launched <= 28, "forward and launch have more calls than they need"
assert by_two <= both + 8, "two programs cost more than a launch"
assert launched_two <= launched + 6, "and than the memory of dS, which is taken and given back"

# Each program is given the tensors that it has: those of a first call are those of its launch.
PROGRAMS: list[int] = []
RUN = kernels.TorchLaunch.run_with


def looked_at(launch: Any, addresses: Any, scale: float | None) -> None:
    # dS has other memory in each launch
    first = [one.address for one in launch._tensors if one.rank != 2]
    assert first == list(addresses[: len(first)])
    PROGRAMS.append(len(addresses))
    RUN(launch, addresses, scale)


kernels.TorchLaunch.run_with = looked_at
kernels.launches.clear()
operator.launch(*wide_given)
operator.launch(*given)
kernels.launches.clear()
kernels.TorchLaunch.run_with = RUN
# without dq, without dk and dv, both with dS, and with all
assert PROGRAMS == [9, 8, 9], PROGRAMS

# A launch that is kept for these shapes looks at each scale, too.
for scale in (0.0, -0.125, float("nan")):
    reason = refused(lambda scale=scale: launch_forward(q, k, v, -1, 0, scale), ArgumentError)
    assert reason == f"scale: expected a number above 0, found {scale}", reason
