"""What a call takes, on the host and on the device."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import torch


def host_time(call: Callable[[], Any], rounds: int = 600) -> float:
    """The median of microseconds of the host."""
    times = []
    for number in range(rounds):
        if number % 20 == 0:
            torch.cuda.synchronize()
        begun = time.perf_counter()
        call()
        times.append(time.perf_counter() - begun)
    return round(statistics.median(times) * 1e6, 2)


def device_time(calls: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Medians of interleaved rounds, of which the first two do not count."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(12):
        for name, call in calls.items():
            torch.cuda._sleep(1_000_000)
            ends = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
            ends[0].record()
            call()
            ends[1].record()
            torch.cuda.synchronize()
            times[name].append(ends[0].elapsed_time(ends[1]))
    return {name: round(statistics.median(several[2:]), 4) for name, several in times.items()}
