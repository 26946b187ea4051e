"""A thread that looks whether launches of dash end, and says why one does not."""

from __future__ import annotations

import json
import os
import signal as signals
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import ArgumentError, DriverError
from ..kernel.driver import Driver
from ..kernel.library import Memory
from ..kernel.plan import Plan
from ..kernel.watching import Place, observers, places
from ..support.files import write_text
from .looks import Dump, Look, read

BETWEEN = 1.0  # seconds between two looks at a launch: what gives no turn in that time stands still
MOST_PENDING = 4096  # of launches that have not ended, the last ones
RECORDER = (
    "PyTorch's flight recorder (TORCH_NCCL_TRACE_BUFFER_SIZE, TORCH_NCCL_DUMP_ON_TIMEOUT) says what"
    " its collectives wait for"
)


@dataclass
class _Pending:
    """A launch whose end was not seen. begin, end: events in front of it and behind it. began,
    since: seconds of the host's clock."""

    number: int
    label: str
    device: int
    stream: int
    driver: Driver
    plan: Plan
    manifest: str
    memory: tuple[Memory, Memory]
    begin: int
    since: float
    end: int = 0
    began: float = 0.0


@dataclass
class Report:
    """What a watch has found. text: for people. launch: the number of the launch, counted from 1,
    that does not end; 0: none of dash's. waits: whether it has not begun. turns: `Look.data` of it.
    where, call: the place in a world's attention, and which call of it."""

    rank: int
    ranks: int
    seconds: float
    text: str = ""
    launch: int = 0
    label: str = ""
    waits: bool = False
    moves: bool = False
    where: str = ""
    call: int = 0
    turns: dict[str, Any] | None = None
    dump: Dump | None = field(default=None, repr=False)

    def to_json(self) -> str:
        return json.dumps(
            {"version": 1} | {name: value for name, value in vars(self).items() if name != "dump"},
            indent=1,
        )


def print_report(report: Report) -> None:
    print(report.text, file=sys.stderr, flush=True)


class Watch:
    """timeout: seconds that a launch may run, or wait to begin, before it is reported, once.
    report: is called with a `Report`, in the watch's thread; None prints to standard error. folder:
    has hang-RANK.json and hang-RANK.zip then, a report and a dump of counters. signal: on which
    what runs is reported at any time, in the main thread's stead, which may hang. rank, ranks: None
    asks torch.distributed and the environment.

    Costs two events a launch. Launches that a CUDA graph replays, and those of JAX, are not seen.
    Raises ArgumentError.
    """

    def __init__(
        self,
        timeout: float,
        *,
        report: Callable[[Report], Any] | None = None,
        folder: str | Path | None = None,
        signal: int | None = None,
        rank: int | None = None,
        ranks: int | None = None,
    ) -> None:
        if type(timeout) not in (int, float) or not 0 < timeout < 1e9:
            raise ArgumentError(f"timeout: expected seconds above 0, found {timeout!r}")
        if signal is not None and threading.current_thread() is not threading.main_thread():
            raise ArgumentError(
                "signal: expected None in a thread that is not the main one, which alone may choose"
                " what signals do"
            )
        self.timeout, self.reports = float(timeout), deque[Report](maxlen=64)
        self._folder = None if folder is None else Path(folder)
        self._report, self._signal = report or print_report, signal
        self._rank, self._ranks = rank_of(rank, "RANK", 0), rank_of(ranks, "WORLD_SIZE", 1)
        self._pending, self._lock, self._number = deque[_Pending](), threading.Lock(), 0
        self._ended, self._said, self._thread = threading.Event(), set[Any](), None

    # ---- Begin and end ---------------------------------------------------------------------------

    def start(self) -> None:
        """Begins to look, in a thread of its own. What was launched before is not seen."""
        self._wakes = os.pipe()
        if self._signal is not None:
            os.set_blocking(self._wakes[1], False)
            self._before = (
                signals.signal(self._signal, lambda *_: None),
                signals.set_wakeup_fd(self._wakes[1], warn_on_full_buffer=False),
            )
            threading.Thread(target=self._hear, name="dash hang signal", daemon=True).start()
        observers.append(self._launches)
        self._thread = threading.Thread(target=self._look, name="dash hang", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """What has not ended by now is not looked at any more."""
        observers.remove(self._launches)
        self._ended.set()
        if self._signal is not None:
            signals.set_wakeup_fd(self._before[1])
            signals.signal(self._signal, self._before[0])
        os.write(self._wakes[1], b"\0")
        self._thread.join(self.timeout + 5)
        with self._lock:
            for one in self._pending:
                self._forget(one)
            self._pending.clear()

    # ---- Launches, in their threads --------------------------------------------------------------

    def _launches(self, launch: Any) -> Callable[[], None]:
        if launch.is_capturing:
            return lambda: None
        driver, workspace = launch.workspace.driver, launch.workspace
        with driver.on(workspace.device):
            begin = driver.record_event(workspace.stream)

        def end() -> None:
            one = _Pending(
                0,
                launch.label,
                workspace.device,
                workspace.stream,
                driver,
                launch.plan,
                launch.manifest,
                launch.memory(),
                begin,
                time.monotonic(),
            )
            with driver.on(workspace.device):
                one.end = driver.record_event(workspace.stream)
            with self._lock:
                self._number += 1
                one.number = self._number
                self._pending.append(one)
                if len(self._pending) > MOST_PENDING:
                    self._forget(self._pending.popleft())

        return end

    @staticmethod
    def _forget(one: _Pending) -> None:
        with suppress(DriverError), one.driver.on(one.device):
            one.driver.destroy_event(one.begin)
            one.driver.destroy_event(one.end)

    # ---- The thread ------------------------------------------------------------------------------

    def _look(self) -> None:
        pause = min(1.0, self.timeout / 4)
        while not self._ended.wait(pause):
            self.look()

    def look(self, *, anyhow: bool = False) -> list[Report]:
        """Reports what stands longer than the timeout and has not been reported, or, with `anyhow`,
        all that is under way."""
        found = [self._report_launch(one) for one in self._standing(anyhow)]
        if not found:
            found = [
                self._report_place(place, at)
                for place in tuple(places)
                if (at := place.now()).call and (anyhow or self._is_late(at))
            ]
        if not found and anyhow:
            found = [
                Report(
                    self._rank,
                    self._ranks,
                    0.0,
                    f"{self._name()}: no launch of dash is under way that this watch has seen",
                )
            ]
        for report in found:
            self.reports.append(report)
            if self._folder is not None:
                self._write(report)
            self._report(report)
        return found

    def _standing(self, anyhow: bool) -> list[_Pending]:
        """Those that have not ended: the first of each stream, if it is late. What is behind it
        waits for it."""
        found: dict[tuple[int, int], _Pending] = {}
        with self._lock:
            pending = list(self._pending)
        for one in pending:
            stream = one.device, one.stream
            if stream in found:
                continue
            try:
                with one.driver.on(one.device):
                    has_ended = one.driver.has_happened(one.end)
                    if not one.began and (has_ended or one.driver.has_happened(one.begin)):
                        one.began = time.monotonic()
            except DriverError:  # the device has failed: the launching thread is told
                has_ended = True
            if has_ended:
                with self._lock, suppress(ValueError):
                    self._pending.remove(one)
                self._forget(one)
                continue
            found[stream] = one
        now = time.monotonic()
        late = [
            one
            for one in found.values()
            if anyhow
            or now - (one.began or one.since) >= self.timeout
            and one.number not in self._said
        ]
        self._said |= {one.number for one in late} if not anyhow else set()
        return late

    def _is_late(self, at: Place) -> bool:
        key = at.where, at.call
        if time.monotonic() - at.since < self.timeout or key in self._said:
            return False
        self._said.add(key)
        return True

    # ---- What is said ----------------------------------------------------------------------------

    def _name(self) -> str:
        return f"rank {self._rank} of {self._ranks}" if self._ranks > 1 else "dash"

    def _report_launch(self, one: _Pending) -> Report:
        seconds = time.monotonic() - (one.began or one.since)
        report = Report(
            self._rank,
            self._ranks,
            round(seconds, 3),
            launch=one.number,
            label=one.label,
            waits=not one.began,
        )
        where = self._where(report)
        head = f"{self._name()}: launch {one.number} of dash on this rank ({one.label}){where}"
        if report.waits:
            report.text = (
                f"{head} has waited for {seconds:.1f} s to begin: what stands still is in front of"
                f" it on its stream, such as a collective or another kernel. {RECORDER}"
            )
            return report
        report.text = (
            f"{head} has run for {seconds:.1f} s and has not ended\n{self._turns(one, report)}"
        )
        return report

    def _turns(self, one: _Pending, report: Report) -> str:
        try:
            before: Look = read(one.plan, *one.memory)
            time.sleep(BETWEEN)
            now = read(one.plan, *one.memory)
        except (ArgumentError, DriverError) as error:
            return f"its turns cannot be read: {error}"
        report.turns, report.moves = now.data, now.given != before.given
        report.dump = Dump.of(one.plan, one.manifest, now)
        return now.describe(before)

    def _where(self, report: Report) -> str:
        for place in tuple(places):
            at = place.now()
            if at.call:
                report.where, report.call = at.where, at.call
                return f", in {at.where} (call {at.call} of attention)"
        return ""

    def _report_place(self, place: Any, at: Place) -> Report:
        seconds = time.monotonic() - at.since
        text = (
            f"rank {place.rank} of {place.size}: no launch of dash is under way; this rank has been"
            f" in {at.where} (call {at.call} of attention) for {seconds:.1f} s, and waits"
            f" there for other ranks. {RECORDER}"
        )
        return Report(place.rank, place.size, round(seconds, 3), text, where=at.where, call=at.call)

    def _write(self, report: Report) -> None:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            write_text(self._folder / f"hang-{report.rank}.json", report.to_json() + "\n")
            if report.dump is not None:
                report.dump.save(self._folder / f"hang-{report.rank}.zip")
        except OSError as error:
            report.text += f"\ncannot write to '{self._folder}': {error}"

    def _hear(self) -> None:
        """Signals come as bytes, written by C wherever the main thread hangs. Those of others are
        passed on."""
        while not self._ended.is_set():
            for number in os.read(self._wakes[0], 64):
                if number == self._signal:
                    self.look(anyhow=True)
                elif number and self._before[1] != -1:
                    with suppress(OSError):
                        os.write(self._before[1], bytes([number]))


def rank_of(given: int | None, name: str, fallback: int) -> int:
    if given is not None:
        return given
    torch = sys.modules.get("torch")
    with suppress(Exception):
        if torch is not None and torch.distributed.is_initialized():
            return (
                torch.distributed.get_rank()
                if name == "RANK"
                else torch.distributed.get_world_size()
            )
    text = os.environ.get(name, "")
    return int(text) if text.isdecimal() else fallback


@contextmanager
def watch(timeout: float, **options: Any) -> Iterator[Watch]:
    """Watches all launches of this process that begin inside. Options: of `Watch`."""
    one = Watch(timeout, **options)
    one.start()
    try:
        yield one
    finally:
        one.stop()
