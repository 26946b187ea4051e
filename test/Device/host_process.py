"""What a library leaves of a host's process, with a real driver: timers and signals as they were,
memory of threads and kernels that are gone given back, and a graph that goes on when its kernel is
dropped."""

from __future__ import annotations

import gc
import os
import signal
import tempfile
import threading
from typing import Any

import torch
from group import Test, demand

from dash_attn import Kernel, compile_program
from dash_attn.cubin import find_ptxas
from dash_attn.kernel.problem import CAUSAL, Wanted, program_of
from dash_attn.measure.bundle import BundledKernel
from dash_attn.measure.testing import OUTPUTS, Case, make_inputs
from dash_attn.reference import Mask

# A stream; and bytes that a driver may take for itself.
PER_THREAD, ROUNDS, MOST_LOST = 2, 10, 64 << 20


def tests(kernels: list[BundledKernel], quick: bool) -> list[Test]:
    kernel = next(
        (kernel for kernel in kernels if not kernel.fixed_sizes and not kernel.debug), None
    )
    if kernel is None:
        return []
    return [
        Test(
            f"host_process {kernel.name} {test.__name__}",
            kernel.name,
            lambda test=test: test(kernel),
        )
        for test in (the_first_plan, memory_returns, a_graph_outlives_its_kernel)
    ]


def case_of(bundled: BundledKernel, rows: int) -> Case:
    program = bundled.manifest["program"]
    return Case(
        program["head_dim"],
        Mask.parse(program["mask"]),
        rows,
        rows,
        1,
        4,
        4,
        element=program["element"],
    )


def the_first_plan(bundled: BundledKernel) -> dict[str, Any]:
    """Runs ptxas where there is one, with an alarm set and handlers of our own."""
    numbers = (signal.SIGALRM, signal.SIGTERM, signal.SIGUSR1)
    old = {number: signal.signal(number, lambda *_: None) for number in numbers}
    ours = {number: signal.getsignal(number) for number in numbers}
    signal.setitimer(signal.ITIMER_REAL, 100000, 7)
    try:
        with tempfile.TemporaryDirectory(prefix="dash-guest-") as folder:
            os.environ["DASH_CACHE"] = folder
            if ptxas := find_ptxas():
                os.environ["DASH_PTXAS"] = ptxas
            case = case_of(bundled, 512)
            program = bundled.manifest["program"]
            (compiled,) = compile_program(
                *program_of(
                    Wanted(
                        program["head_dim"],
                        program["head_dim_v"],
                        program["element"],
                        CAUSAL,
                        "symmetric-shift",
                    )
                )[:2]
            )
            path = compiled.save(folder)
            Kernel.load(path).backward(**make_inputs(case), scale=case.scale)
            torch.cuda.synchronize()
            kept = len([name for name in os.listdir(folder) if name.endswith(".cubin")])
        left, again = signal.getitimer(signal.ITIMER_REAL)
        found = {number: signal.getsignal(number) for number in numbers}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in old.items():
            signal.signal(number, handler)
        os.environ.pop("DASH_CACHE", None)
    demand(
        left > 50000 and again == 7 and found == ours,
        f"expected timer and handlers as they were, found {left:.0f} s, {again}, {found}",
    )
    return {"assembled": kept}


def memory_returns(bundled: BundledKernel) -> dict[str, Any]:
    """Kernels that are dropped, each after a thread had its own stream."""
    case = case_of(bundled, 4096)
    tensors = make_inputs(case)
    torch.cuda.synchronize()
    free: list[int] = []
    for _ in range(ROUNDS + 2):
        kernel = Kernel.load(bundled.path)
        thread = threading.Thread(
            target=lambda kernel=kernel: kernel.backward(
                **tensors, scale=case.scale, stream=PER_THREAD
            )
        )
        thread.start()
        thread.join()
        kernel.backward(**tensors, scale=case.scale, stream=PER_THREAD)
        workspace = kernel.workspace(0, PER_THREAD).bytes
        del kernel, thread
        gc.collect()
        torch.cuda.synchronize()
        free.append(torch.cuda.mem_get_info()[0])
    lost = free[1] - free[-1]
    demand(
        lost < MOST_LOST and workspace > 1 << 20,
        f"expected memory to come back, found {lost} bytes less after {ROUNDS} rounds, each of "
        f"{workspace}",
        free=free,
    )
    return {"lost": lost, "workspace": workspace}


def a_graph_outlives_its_kernel(bundled: BundledKernel) -> None:
    case = case_of(bundled, 1024)
    tensors = make_inputs(case)
    stream = torch.cuda.Stream()
    kernel = Kernel.load(bundled.path)
    with torch.cuda.stream(stream):
        kernel.backward(**tensors, scale=case.scale)
    torch.cuda.synchronize()
    expected = {name: tensors[name].clone() for name in OUTPUTS}
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        kernel.backward(**tensors, scale=case.scale)
    del kernel
    gc.collect()
    other = Kernel.load(bundled.path)  # takes what was given back
    other.backward(**make_inputs(case_of(bundled, 4096)), scale=case.scale)
    for name in OUTPUTS:
        tensors[name].zero_()
    graph.replay()
    torch.cuda.synchronize()
    demand(
        all(torch.equal(tensors[name], expected[name]) for name in OUTPUTS),
        "a graph gives other gradients once its kernel is dropped",
    )
