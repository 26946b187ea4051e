"""The same bits for as long as one likes: problems, kernels, loads and ways to launch drawn from a seed, each run for some seconds.

    check-device BUNDLE --groups soak --soak 600 --seed 7 --record r.json
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import torch
from accuracy import load
from cases import case
from group import Test, demand

from dash_attn import Kernel
from dash_attn.bundle import BundledKernel
from dash_attn.testing import BITS, OUTPUTS, Case, make_inputs, poison, run, zeros_left

SLICE = 8.0  # seconds of a test
CHECKED_EACH = 50  # runs between two looks at what they found
ROWS = (1, 64, 65, 128, 300, 1000, 2048, 4097)
LONG_ROWS = (8192, 8200, 16384)  # of one draw in four


def tests(kernels: list[BundledKernel], seconds: float, seed: int) -> list[Test]:
    """By number: each is decided by the seed and its own number."""
    plain = {(kernel.kind, kernel.element): kernel for kernel in kernels if not kernel.debug and kernel.is_deterministic}
    drawn = [kernel for kernel in kernels if kernel.debug in ("", "delays") and (kernel.kind, kernel.element) in plain]
    found = []
    for number in range(max(1, round(seconds / SLICE)) if drawn else 0):
        rng = random.Random(f"{seed} {drawn[0].head_dim} {drawn[0].mask.name} {number}")
        kernel, load_name = rng.choice(drawn), rng.choice(tuple(LOADS))
        shape = draw_shape(rng)
        found.append(Test(f"soak {number} {kernel.name} {load_name} " + "x".join(map(str, shape[:5])), kernel.name,
                          lambda kernel=kernel, name=load_name, shape=shape: soak(
                              kernel, plain[kernel.kind, kernel.element], LOADS[name], shape)))
    return found


def draw_shape(rng: random.Random) -> tuple[int, int, int, int, int, str]:
    rows = rng.choice(LONG_ROWS) if rng.random() < 0.25 else rng.choice(ROWS)
    kv_rows = rows if rng.random() < 0.6 else rng.choice(ROWS)
    kv_heads, group, batch = rng.choice((1, 2, 5)), rng.choice((1, 1, 2, 4)), 1 if rows > 4097 else rng.choice((1, 2, 3))
    return rows, kv_rows, batch, kv_heads * group, kv_heads, rng.choice(("bhsd", "bshd", "packed", "padded"))


def soak(bundled: BundledKernel, plain: BundledKernel, make_load: Callable[..., Callable[[], None]],
         shape: tuple[Any, ...]) -> dict[str, Any]:
    """Repeats of one problem beside a load; each has to have the bits of the plain kernel's first run alone."""
    problem = case(bundled, shape)
    tensors = make_inputs(problem)
    expected = run(load(plain), problem, tensors, stream=0)
    torch.cuda.synchronize()
    kernel = load(bundled)
    with ExitStack() as stack:
        step = make_load(stack, kernel, problem, tensors)
        wrong = torch.zeros((), dtype=torch.int64, device="cuda")
        repeats, begin = 0, time.monotonic()
        while time.monotonic() - begin < SLICE:
            for _ in range(CHECKED_EACH):
                poison(tensors)
                step()
                for name in OUTPUTS:
                    bits = BITS[expected[name].element_size()]
                    wrong += (tensors[name].contiguous().view(bits) != expected[name].view(bits)).any()
            repeats += CHECKED_EACH
            found = int(wrong)  # waits
            demand(not found, f"{found} gradients of {repeats} repeats differ", repeats=repeats)
        torch.cuda.synchronize()
    left = zeros_left(kernel)
    demand(not left, f"a counter is not zero afterwards: {left}")
    return {"repeats": repeats}


def alone(stack: ExitStack, kernel: Kernel, problem: Case, tensors: dict[str, torch.Tensor]) -> Callable[[], None]:
    return lambda: kernel.backward(**tensors, scale=problem.scale, stream=0)


def beside(work: Callable[[torch.Tensor, torch.Tensor], Any]) -> Callable[..., Callable[[], None]]:
    """Work on another stream, which takes multiprocessors or bandwidth away."""

    def make(stack: ExitStack, kernel: Kernel, problem: Case, tensors: dict[str, torch.Tensor]) -> Callable[[], None]:
        other = torch.cuda.Stream()
        a = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
        b = torch.empty_like(a)
        stack.callback(torch.cuda.synchronize)

        def step() -> None:
            with torch.cuda.stream(other):
                work(a, b)
            kernel.backward(**tensors, scale=problem.scale, stream=0)

        return step

    return make


def graph(stack: ExitStack, kernel: Kernel, problem: Case, tensors: dict[str, torch.Tensor]) -> Callable[[], None]:
    """Replays of one capture."""
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        run(kernel, problem, tensors)
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured, stream=stream):
        kernel.backward(**tensors, scale=problem.scale)
    stack.callback(torch.cuda.synchronize)
    return captured.replay


def two_streams(stack: ExitStack, kernel: Kernel, problem: Case, tensors: dict[str, torch.Tensor]) -> Callable[[], None]:
    """A second problem of the same kernel, on a stream and a workspace of its own."""
    other = torch.cuda.Stream()
    second = problem.with_seed(1)
    its = make_inputs(second)
    torch.cuda.synchronize()
    stack.callback(torch.cuda.synchronize)

    def step() -> None:
        with torch.cuda.stream(other):
            kernel.backward(**its, scale=second.scale)
        kernel.backward(**tensors, scale=problem.scale, stream=0)

    return step


LOADS = {"alone": alone, "products": beside(lambda a, b: torch.matmul(a, a, out=b)),
         "copies": beside(lambda a, b: b.copy_(a)), "graph": graph, "streams": two_streams}
