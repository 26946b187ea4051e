"""Sums in the order of their chains, and under delays. Needs builds for tests: kernels that keep each contribution to dQ, and
kernels that sleep for random times wherever roles wait for each other."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from accuracy import load
from cases import FEW_SHAPES, REPEATED_SHAPE, case
from group import Test, demand
from repeat import demand_same

from dash_attn.bundle import BundledKernel
from dash_attn.testing import make_inputs, poison, poison_workspace, run, sizes_of, zeros_left

UNTOUCHED = 0xFFFFFFFF  # what the workspace is filled with before: no sum has these bits
DELAYED_RUNS = 20


def tests(kernels: list[BundledKernel], quick: bool) -> list[Test]:
    plain = {kernel.kind: kernel for kernel in kernels
             if not kernel.debug and not kernel.fixed_sizes and kernel.element == kernels[0].element}
    found = []
    for kernel in kernels:
        if kernel.kind not in plain:
            continue
        if kernel.debug == "contributions":
            found += [Test(f"chains {kernel.name} {shape}", kernel.name,
                           lambda kernel=kernel, shape=shape: sums_follow_chains(kernel, plain[kernel.kind], shape))
                      for shape in FEW_SHAPES[:1 if quick else None]]
        elif kernel.debug == "delays":
            found.append(Test(f"delays {kernel.name}", kernel.name,
                              lambda kernel=kernel: delays_change_nothing(kernel, plain[kernel.kind])))
    return found


def sums_follow_chains(bundled: BundledKernel, plain: BundledKernel, shape: tuple[Any, ...]) -> dict[str, Any]:
    """dQ's float32 sums are those of the contributions, added one after the other in the order of their turns."""
    kernel, problem = load(bundled), case(bundled, shape)
    tensors = make_inputs(problem)
    poison_workspace(kernel, problem, byte=0xFF)
    found = run(kernel, problem, tensors, stream=0)
    torch.cuda.synchronize()
    workspace = kernel.reserve(stream=0, **sizes_of(problem))
    program = kernel.manifest["program"]
    tile = program["tiles"]
    tiles = problem.batch * problem.heads * -(-problem.q_rows // tile["q"])
    kv_tiles = -(-problem.kv_rows // tile["kv"])

    def read(region: str, *shape: int) -> np.ndarray:
        shape = (*shape, tile["q"] * program["head_dim"])
        address, size = workspace.region(region)
        demand(size == 4 * math.prod(shape), f"expected {4 * math.prod(shape)} bytes of {region}, found {size}")
        content = kernel.driver.read(address, size)
        return np.frombuffer(bytearray(content), dtype=np.uint32).reshape(shape)

    sums, contributions = read("dq_sum", tiles), read("contributions", tiles, kv_tiles)
    written = (contributions != UNTOUCHED).any(axis=2)
    turns = written.sum(axis=1)
    demand(all(row[:count].all() for row, count in zip(written, turns)), "a turn between others kept no contribution")
    expected = np.zeros(sums.shape, dtype=np.float32)
    values = contributions.view(np.float32)
    for turn in range(kv_tiles):
        takes_part = turns > turn
        term = values[takes_part, turn]
        expected[takes_part] = term if turn == 0 else flushed(flushed(expected[takes_part]) + flushed(term))
    differ = int((expected.view(np.uint32) != sums).any(axis=1).sum())
    demand(not differ, f"{differ} of {len(sums)} tiles are not the sums of their chains")
    poison(tensors)
    demand_same(run(load(plain), problem, tensors, stream=0), found, f"{plain.name} beside {bundled.name}")
    return {"tiles": len(sums), "longest_chain": int(turns.max())}


def flushed(x: np.ndarray) -> np.ndarray:
    """Subnormal numbers as zeros of their sign, as adds in L2 take and give them."""
    return np.where(np.abs(x) < np.finfo(np.float32).tiny, np.copysign(np.float32(0), x), x)


def delays_change_nothing(bundled: BundledKernel, plain: BundledKernel) -> dict[str, Any]:
    problem = case(bundled, REPEATED_SHAPE)
    tensors = make_inputs(problem)
    expected = run(load(plain), problem, tensors, stream=0)
    for number in range(DELAYED_RUNS):
        poison(tensors)
        demand_same(run(load(bundled), problem, tensors, stream=0), expected, f"run {number} with delays")
    left = zeros_left(load(bundled))
    demand(not left, f"a counter is not zero afterwards: {left}")
    return {"runs": DELAYED_RUNS}
