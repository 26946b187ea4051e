"""Times of variants on a GPU, one a round and in a random order: what dash_attn.bench, tune and
device tests measure by."""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch

from ..reference import visible
from .testing import Case

# about 2 ms: longer than the host needs to launch one backward, or both ways
BUSY_CYCLES = 4_000_000


@dataclass
class Variant:
    """Something that computes the gradients; milliseconds holds a time a round."""

    name: str
    run: Callable[[], Any]
    milliseconds: list[float] = field(default_factory=list)
    entries: dict[str, list[float]] = field(default_factory=dict)
    launch: Any = None  # one of ours


def measure(
    variants: list[Variant], rounds: int, flush: torch.Tensor | None, generator: random.Random
) -> None:
    """One time a round for each variant; then, in rounds of their own, one for each entry of
    ours."""
    measure_whole(variants, rounds, flush, generator)
    measure_entries(variants, max(5, rounds // 3), flush, generator)


def measure_whole(
    variants: list[Variant],
    rounds: int,
    flush: torch.Tensor | None,
    generator: random.Random,
    warm_up: int = 3,
) -> None:
    """One time a round for each variant."""
    for variant in variants:
        for _ in range(warm_up):
            variant.run()
    torch.cuda.synchronize()
    for _ in range(rounds):
        for variant in generator.sample(variants, len(variants)):
            variant.milliseconds.append(timed([variant.run], flush)[0])


def measure_entries(
    variants: list[Variant], rounds: int, flush: torch.Tensor | None, generator: random.Random
) -> None:
    """One time a round for each entry of ours."""
    ours = [variant for variant in variants if variant.launch is not None]
    for variant in ours:
        variant.launch.ready()
    for _ in range(rounds):
        for variant in generator.sample(ours, len(ours)):
            # One after the other, and all of them: each needs what those before it leave.
            steps = variant.launch.plan.steps
            times = timed(
                [partial(variant.launch.run_step, index) for index in range(len(steps))], flush
            )
            for role, milliseconds in zip(steps, times):
                variant.entries.setdefault(role, []).append(milliseconds)


def timed(runs: list[Callable[[], Any]], flush: torch.Tensor | None) -> list[float]:
    """Milliseconds of each, one behind the other."""
    events = [torch.cuda.Event(enable_timing=True) for _ in range(len(runs) + 1)]
    if flush is not None:
        flush.zero_()
    torch.cuda._sleep(BUSY_CYCLES)
    events[0].record()
    for run, event in zip(runs, events[1:]):
        run()
        event.record()
    events[-1].synchronize()
    return [begin.elapsed_time(end) for begin, end in zip(events, events[1:])]


def summary(case: Case, variant: Variant, passes: float = 1) -> dict[str, Any]:
    """passes: operations of it, beside those of a backward pass."""
    times = sorted(variant.milliseconds)
    low, high = (times[min(len(times) - 1, int(len(times) * part))] for part in (0.1, 0.9))
    median = statistics.median(times)
    return {
        "head_dim": case.head_dim,
        "mask": case.mask.name,
        "rows": case.q_rows,
        "kv_rows": case.kv_rows,
        "batch": case.batch,
        "heads": case.heads,
        "kv_heads": case.kv_heads,
        "variant": variant.name,
        "rounds": len(times),
        "ms": median,
        "ms_p10": low,
        "ms_p90": high,
        "tflops": passes * operations(case) / median / 1e9,
        "entries_ms": {role: statistics.median(found) for role, found in variant.entries.items()},
    }


def operations(case: Case) -> float:
    pairs = case.q_rows * case.kv_rows
    seen = {"full": pairs, "causal": pairs / 2}.get(case.mask.name) or visible(
        case.q_rows, case.kv_rows, case.mask
    )
    columns = 3 * case.head_dim + 2 * case.columns_v  # S, dQ and dK are of the first; dP, dV
    return 2.0 * case.batch * case.heads * seen * columns
