# RUN: rm -rf %t && mkdir -p %t && %torch_python %s %t
# REQUIRES: torch, plain-libdash
"""An exchange that a device waits in while the host has gone on: the rank that is late is named
with phase and call, once the timeout is over, and a watch of hangs says the same, wherever the
host is. Events are made up."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))

import fixtures  # noqa: E402, F401
import torch.distributed as dist  # noqa: E402

from dash_attn import hang  # noqa: E402
from dash_attn.distributed.failures import Watch  # noqa: E402
from dash_attn.distributed.under_way import MOST, Recorded, UnderWay  # noqa: E402
from dash_attn.hang.ranks import load  # noqa: E402

TMP, TIMEOUT = Path(sys.argv[1]), 2.0
PLACE = "a backward of attention, phase 'sums'"


class Event:
    def __init__(self, has_happened: bool) -> None:
        self.has_happened = has_happened

    def query(self) -> bool:
        return self.has_happened


def asked_beside_captures() -> None:
    inside = list[str]()

    @contextmanager
    def entered(what: str) -> Iterator[None]:
        inside.append(what)
        yield
        inside.pop()

    class Driver:
        def in_captures(self) -> AbstractContextManager[None]:
            return entered("captures")

    class Asked:
        def query(self) -> bool:
            return inside == ["device", "captures"]

    assert Recorded(Asked(), Driver(), lambda: entered("device")).query() and not inside


class Gone:
    """A store whose process has ended."""

    def check(self, keys: list[str]) -> bool:
        raise RuntimeError("no store")


class Failed:
    """An event of a device that has failed."""

    def query(self) -> bool:
        raise RuntimeError("no device")


def without_a_store() -> None:
    """The exchange is waited for no longer than its timeout, and its place is named."""
    under_way, ended = UnderWay(), list[float]()
    watch = Watch(
        Gone(), 1, 2, lambda: ended.append(time.monotonic()), lambda: True, under_way, TIMEOUT / 4
    )
    begin = time.monotonic()
    under_way.add(PLACE, 3, Event(False))
    while not watch.has_failed:
        assert time.monotonic() < begin + 10, "expected a rank that is late, found none"
        time.sleep(0.05)
    said = str(watch.explain(""))
    assert said.startswith(f"rank 1 waited in {PLACE}, call 3 of attention, and the process"), said
    assert "store of torch.distributed" in said and len(ended) == 1, said


def on_a_failed_device() -> None:
    under_way = UnderWay()
    watch = Watch(dist.HashStore(), 0, 2, lambda: None, lambda: True, under_way, TIMEOUT / 4)
    under_way.add(PLACE, 3, Failed())
    watch.where, watch.call = "the leaves of a backward", 3
    time.sleep(TIMEOUT / 2)
    assert watch.now().where == "the leaves of a backward" and not watch.has_failed


def bounded() -> None:
    under_way = UnderWay()
    for number in range(MOST + 5):
        under_way.add(PLACE, number, Event(False))
    front = under_way.front()
    assert front and front.call == 5, front


def main() -> None:
    under_way, ended = UnderWay(), list[float]()
    assert under_way.front() is None
    watch = Watch(
        dist.HashStore(),
        0,
        2,
        lambda: ended.append(time.monotonic()),
        lambda: True,
        under_way,
        TIMEOUT,
    )
    under_way.add("a forward of attention, phase 'inputs'", 3, Event(True))
    slow = Event(False)
    under_way.add("a backward of attention, phase 'inputs'", 3, slow)
    time.sleep(TIMEOUT / 2)
    slow.has_happened = True
    assert watch.now().call == 0 and not watch.has_failed
    # The host is elsewhere: it waits for its device.
    watch.where, watch.call = "the leaves of a backward", 3
    begin = time.monotonic()
    under_way.add(PLACE, 3, Event(False))
    with hang.watch(TIMEOUT / 4, folder=TMP, report=lambda report: None, rank=0, ranks=2):
        while not watch.has_failed:
            assert time.monotonic() < begin + TIMEOUT + 10, (
                "expected a rank that is late, found none"
            )
            time.sleep(0.05)
    assert ended and ended[0] - begin > TIMEOUT
    said = str(watch.explain("something else"))
    assert said == (
        f"rank 1 has ended, or hangs where no other thread runs, while rank 0 waited in {PLACE},"
        f" call 3 of attention: nothing came for {TIMEOUT:g} seconds"
    ), said
    report = load(TMP / "hang-0.json")
    assert (report["where"], report["call"]) == (PLACE, 3), report
    assert hang.explain_ranks([report])[1] == f"rank 0 waits in {PLACE}, call 3 of attention"


asked_beside_captures()
bounded()
without_a_store()
on_a_failed_device()
main()
