"""A training run, looked at now and then: one step in n, by events of CUDA, which no host waits
for.

    sampler = Sampler(every=50)
    for batch in data:
        with sampler.step():
            train_step(batch)
    heat.save("launches.svg", sampler.heat())       # launches of dash by sampled steps
    heat.save("ranks.svg", sampler.ranks(group))    # whole steps, of each rank

    with ranges():                                  # NVTX: "dash symmetric-shift sha256:…" around each launch of dash

Neither does anything where it is not asked for, and steps that are not sampled cost nothing.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from ..errors import ArgumentError
from ..heat import Heat, of_ranks
from ..kernel.watching import observers
from ..support.forks import new_lock

MOST_SAMPLES = 4096  # more of them and the oldest go
DIGITS = 3


@contextmanager
def ranges() -> Iterator[None]:
    """Puts each launch of dash in this process, in whatever thread, into an NVTX range with the
    kind of its order and its certificate."""

    def around(launch: Any) -> Callable[[], None]:
        torch.cuda.nvtx.range_push(launch.label)
        return torch.cuda.nvtx.range_pop

    observers.append(around)
    try:
        yield
    finally:
        observers.remove(around)


def record_event(device: int, stream: int | None = None) -> Any:
    """On a stream by its handle, or on the current one."""
    event = torch.cuda.Event(enable_timing=True)
    with torch.cuda.device(device):
        event.record(
            torch.cuda.current_stream() if stream is None else torch.cuda.ExternalStream(stream)
        )
    return event


@dataclass
class Sample:
    """A step. Times in microseconds of the device, once `Sampler.samples` has them. clock: MHz,
    power: W, where they were asked for."""

    step: int
    begin: Any = None
    end: Any = None
    events: list[tuple[str, Any, Any]] = field(default_factory=list)
    whole: float = 0.0
    launches: list[tuple[str, float]] = field(default_factory=list)
    clock: int | None = None
    power: float | None = None

    def read(self) -> None:
        """Waits for the device to be behind the step."""
        if self.end is not None:
            self.end.synchronize()
            self.whole = round(1000 * self.begin.elapsed_time(self.end), DIGITS)
            self.launches = [
                (label, round(1000 * begin.elapsed_time(end), DIGITS))
                for label, begin, end in self.events
            ]
            self.begin, self.end, self.events = None, None, []


class Sampler:
    """Times one step in `every`, from the first on, and each launch of dash in it. Launches that
    a CUDA graph replays are in no list, but in the whole of their step. clocks: also asks for
    clock and power at the end of such a step, which takes the host a millisecond and needs
    nvidia-ml-py. Raises ArgumentError."""

    def __init__(self, every: int = 50, *, device: int | None = None, clocks: bool = False) -> None:
        if type(every) is not int or every < 1:
            raise ArgumentError(f"every: expected a whole number of steps above 0, found {every!r}")
        if clocks and importlib.util.find_spec("pynvml") is None:
            raise ArgumentError(
                "clocks: expected the package nvidia-ml-py, which asks for them, found none;"
                " install it, or leave clocks out"
            )
        self.every, self._device, self._clocks = every, device, clocks
        self._number, self._is_inside, self._lock = 0, False, new_lock()
        self._samples: list[Sample] = []

    @contextmanager
    def step(self) -> Iterator[None]:
        if self._is_inside:
            raise ArgumentError(
                "step: expected steps one behind the other, found one inside of another"
            )
        number, self._number = self._number, self._number + 1
        self._is_inside = True
        try:
            if number % self.every:
                yield
            else:
                yield from self._sampled(number)
        finally:
            self._is_inside = False

    def _sampled(self, number: int) -> Iterator[None]:
        sample, device = (
            Sample(number),
            (torch.cuda.current_device() if self._device is None else self._device),
        )

        def around(launch: Any) -> Callable[[], None]:
            label, stream = launch.label, launch.workspace.stream
            if launch.workspace.device != device or torch.cuda.is_current_stream_capturing():
                return lambda: None
            begin = record_event(device, stream)

            def end() -> None:
                with self._lock:
                    sample.events.append((label, begin, record_event(device, stream)))

            return end

        sample.begin = record_event(device)
        observers.append(around)
        try:
            yield
        finally:
            observers.remove(around)
        sample.end = record_event(device)  # of a step that failed nothing is kept
        if self._clocks:
            sample.clock, sample.power = (
                torch.cuda.clock_rate(device),
                torch.cuda.power_draw(device) / 1000,
            )
        self._samples.append(sample)
        del self._samples[:-MOST_SAMPLES]

    def samples(self) -> list[Sample]:
        """Those that were taken, with their times. Waits for the device."""
        for sample in self._samples:
            sample.read()
        return list(self._samples)

    def heat(self, title: str = "launches of dash by sampled steps") -> Heat:
        """A row for each launch of a step, in their order: those of a model's layers, the last
        one first. Waits for the device."""
        samples = self.samples()
        count = max((len(sample.launches) for sample in samples), default=0)
        names = [
            next(sample.launches[row][0] for sample in samples if row < len(sample.launches)).split(
                " "
            )[1:2]
            for row in range(count)
        ]
        return Heat(
            title,
            tuple(" ".join((str(row), *name)) for row, name in enumerate(names)),
            tuple(
                tuple(
                    sample.launches[row][1] if row < len(sample.launches) else None
                    for sample in samples
                )
                for row in range(count)
            ),
            "launch",
        )

    def ranks(self, group: Any = None, title: str = "ranks by sampled steps") -> Heat:
        """Whole steps of all ranks of a group of torch.distributed, on each of them; of this
        process alone where there is none. Every rank calls it."""
        own = [sample.whole for sample in self.samples()]
        if group is None and not torch.distributed.is_initialized():
            return of_ranks([own], title)
        found: list[Any] = [None] * torch.distributed.get_world_size(group)
        torch.distributed.all_gather_object(found, own, group=group)
        return of_ranks(found, title)
