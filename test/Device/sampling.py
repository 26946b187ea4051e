#!/usr/bin/env python3
"""sampling.py [--out DIR] [--steps N] [--every N]: what looking at one step in N costs, on a GPU.

Trains a small model, dash in each layer, in turns with and without a sampler, and prints the ratio
of the medians of whole turns, which is to be at most 1.01; the status is 1 where it is more. Then
the same with NVTX ranges. DIR gets heat maps of launches and of steps.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "python")]

import torch  # noqa: E402
from torch import nn  # noqa: E402

from dash_attn import attention, heat  # noqa: E402
from dash_attn.torch.sampling import Sampler, ranges  # noqa: E402

WIDTH, HEADS, LAYERS, ROWS, BATCH, TURNS, MOST = 1024, 8, 8, 2048, 4, 8, 1.01


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out, self.up, self.down = (
            nn.Linear(*sizes, dtype=torch.bfloat16, device="cuda")
            for sizes in (
                (WIDTH, 3 * WIDTH),
                (WIDTH, WIDTH),
                (WIDTH, 4 * WIDTH),
                (4 * WIDTH, WIDTH),
            )
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (
            one.unflatten(2, (HEADS, -1)).transpose(1, 2) for one in self.qkv(x).chunk(3, dim=2)
        )
        x = x + self.out(attention(q, k, v, causal=True).transpose(1, 2).flatten(2))
        return x + self.down(torch.relu(self.up(x)))


def turn(
    model: nn.Module, x: torch.Tensor, optimizer: Any, steps: int, sampler: Sampler | None
) -> float:
    """Milliseconds of so many steps, by events."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(steps):
        with sampler.step() if sampler else nullcontext():
            model(x).float().square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path)
    parser.add_argument("--steps", type=int, default=40, help="of a turn (default: 40)")
    parser.add_argument("--every", type=int, default=20)
    arguments = parser.parse_args()
    torch.manual_seed(1)
    model = nn.Sequential(*(Layer() for _ in range(LAYERS)))
    x = torch.randn(BATCH, ROWS, WIDTH, dtype=torch.bfloat16, device="cuda")
    optimizer, sampler = torch.optim.SGD(model.parameters(), lr=1e-4), Sampler(arguments.every)
    turn(model, x, optimizer, 5, sampler)  # compiles
    times: dict[str, list[float]] = {"plain": [], "sampled": [], "ranges": []}
    for number in range(TURNS):
        for name in [*times][:: 1 if number % 2 else -1]:
            with ranges() if name == "ranges" else nullcontext():
                times[name].append(
                    turn(
                        model, x, optimizer, arguments.steps, sampler if name == "sampled" else None
                    )
                )
    medians = {name: statistics.median(of_name) for name, of_name in times.items()}
    ratio = medians["sampled"] / medians["plain"]
    print(
        f"{torch.cuda.get_device_name()}: {medians['plain'] / arguments.steps:.3f} ms a step; one"
        f" step in {arguments.every} sampled: {ratio:.4f}; all launches in NVTX ranges:"
        f" {medians['ranges'] / medians['plain']:.4f}",
        flush=True,
    )
    found, samples = sampler.heat(), sampler.samples()
    print(
        f"{len(samples)} samples of {len(found.rows)} launches, {found.rows[0]} to"
        f" {found.rows[-1]}; stragglers: {found.stragglers or 'none'}",
        flush=True,
    )
    failed = (
        ratio > MOST
        or len(found.rows) != LAYERS
        or not all(len(sample.launches) == LAYERS for sample in samples)
    )
    if arguments.out:
        arguments.out.mkdir(parents=True, exist_ok=True)
        for name, one in (("launches", found), ("steps", sampler.ranks())):
            for ending in (".svg", ".json"):
                heat.save(arguments.out / f"heat-{name}{ending}", one)
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
