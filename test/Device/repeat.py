"""The same bits on every run: alone, beside other work, on two streams, from a graph; different
bits from different chains."""

from __future__ import annotations

from typing import Any

import torch
from accuracy import load
from cases import DIFFERENT_CHAINS, REPEATED_SHAPE, case
from group import Failed, Skip, Test, demand

from dash_attn.measure.bundle import BundledKernel
from dash_attn.measure.testing import (
    OUTPUTS,
    differences,
    make_inputs,
    poison,
    poison_workspace,
    run,
    wrong_words,
)

REPEATS = 200
Shape = tuple[int, int, int, int, int, str]


def tests(kernels: list[BundledKernel], quick: bool) -> list[Test]:
    repeats = REPEATS // 10 if quick else REPEATS
    found = []
    for kernel in kernels:
        if not kernel.is_deterministic:
            continue
        found += [
            Test(
                f"repeat {kernel.name} {name}",
                kernel.name,
                lambda kernel=kernel, test=test: test(kernel, repeats),
            )
            for name, test in (
                ("alone", alone),
                ("beside", beside),
                ("streams", streams),
                ("graph", graph),
            )
        ]
    by_kind = {
        kernel.kind: kernel
        for kernel in kernels
        if not kernel.fixed_sizes and kernel.element == kernels[0].element
    }
    found += [
        Test(
            f"chains {kernels[0].name.rsplit('-', 1)[0]} {a} {b}",
            by_kind[a].name,
            lambda a=a, b=b: chains_differ(by_kind[a], by_kind[b]),
        )
        for a, b in DIFFERENT_CHAINS
        if a in by_kind and b in by_kind
    ]
    return found


def alone(bundled: BundledKernel, repeats: int, shape: Shape = REPEATED_SHAPE) -> dict[str, Any]:
    """Poisoned workspace and outputs in every run."""
    kernel, problem = load(bundled), case(bundled, shape)
    tensors = make_inputs(problem)
    expected = run(kernel, problem, tensors, stream=0)
    for number in range(repeats):
        poison(tensors)
        if number % 20 == 0:
            poison_workspace(kernel, problem, byte=(0xFF, 0x7F, 0x00)[number // 20 % 3])
        demand_same(run(kernel, problem, tensors, stream=0), expected, f"run {number}")
    left = wrong_words(kernel)
    demand(not left, f"a counter is not at its end afterwards: {left}")
    return {"repeats": repeats}


def beside(bundled: BundledKernel, repeats: int, shape: Shape = REPEATED_SHAPE) -> dict[str, Any]:
    """Beside matrix products on another stream, which take multiprocessors away and change all
    timing."""
    kernel, problem = load(bundled), case(bundled, shape)
    tensors = make_inputs(problem)
    expected = run(kernel, problem, tensors, stream=0)
    torch.cuda.synchronize()
    other = torch.cuda.Stream()
    a = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
    b = torch.empty_like(a)
    for number in range(repeats):
        with torch.cuda.stream(other):
            for _ in range(1 + number % 3):
                torch.matmul(a, a, out=b)
        poison(tensors)
        demand_same(
            run(kernel, problem, tensors, stream=0),
            expected,
            f"run {number} beside matrix products",
        )
    torch.cuda.synchronize()
    return {"repeats": repeats}


def streams(bundled: BundledKernel, repeats: int) -> dict[str, Any]:
    """Two streams at a time, each with its own workspace and problem."""
    kernel = load(bundled)
    problems = [case(bundled, REPEATED_SHAPE, seed) for seed in range(2)]
    inputs = [make_inputs(problem) for problem in problems]
    expected = [
        run(kernel, problem, tensors, stream=0) for problem, tensors in zip(problems, inputs)
    ]
    torch.cuda.synchronize()
    pair = [torch.cuda.Stream() for _ in problems]
    for number in range(max(1, repeats // 10)):
        for stream, problem, tensors in zip(pair, problems, inputs):
            with torch.cuda.stream(stream):
                poison(tensors)
                kernel.backward(**tensors, scale=problem.scale)
        torch.cuda.synchronize()
        for which, (tensors, right) in enumerate(zip(inputs, expected)):
            demand_same(
                {name: tensors[name] for name in OUTPUTS}, right, f"run {number}, stream {which}"
            )
    return {"repeats": max(1, repeats // 10)}


def graph(bundled: BundledKernel, repeats: int) -> dict[str, Any]:
    """Captured once, replayed between launches of other sizes on the same stream."""
    kernel, problem = load(bundled), case(bundled, REPEATED_SHAPE)
    tensors = make_inputs(problem)
    other_problem = case(bundled, (500, 500, 1, 4, 4, "bhsd"))
    other = make_inputs(other_problem)
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        expected = run(kernel, problem, tensors)
        other_expected = run(kernel, other_problem, other)
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured, stream=stream):
        kernel.backward(**tensors, scale=problem.scale)
    for number in range(max(2, repeats // 20)):
        with torch.cuda.stream(stream):
            poison(tensors)
            captured.replay()
            demand_same({name: tensors[name] for name in OUTPUTS}, expected, f"replay {number}")
            demand_same(
                run(kernel, other_problem, other), other_expected, f"launch after replay {number}"
            )
    return {"replays": max(2, repeats // 20)}


def chains_differ(first: BundledKernel, second: BundledKernel) -> dict[str, Any]:
    """Order matters: if two chains give the same dQ, one of them was not followed."""
    problem = case(first, REPEATED_SHAPE)
    tensors = make_inputs(problem)
    found = []
    for bundled in (first, second):
        poison(tensors)
        found.append(run(load(bundled), problem, tensors, stream=0)["dq"])
    if first.manifest["program"]["tiles"]["q"] != second.manifest["program"]["tiles"]["q"]:
        raise Skip("tiles differ as well")
    differ = int((found[0].view(torch.int16) != found[1].view(torch.int16)).sum())
    demand(differ, f"dq has the same bits with {first.kind} and {second.kind}")
    return {"differing": differ, "of": found[0].numel()}


def demand_same(
    found: dict[str, torch.Tensor], expected: dict[str, torch.Tensor], when: str
) -> None:
    if not all(
        torch.equal(found[name].view(torch.int16), expected[name].view(torch.int16))
        for name in expected
    ):
        raise Failed(f"{when}: {differences(found, expected)}")
