# RUN: rm -rf %t && mkdir -p %t && %torch_python %s %t
# REQUIRES: torch, plain-libdash
"""An exchange that a device waits in while the host has gone on: the rank that is late is named
with phase and call, once the timeout is over, and a watch of hangs says the same, wherever the
host is. Events are made up."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))

import fixtures  # noqa: E402, F401
import torch.distributed as dist  # noqa: E402

from dash_attn import hang  # noqa: E402
from dash_attn.distributed.failures import FAILED, PATIENCE, Watch  # noqa: E402
from dash_attn.distributed.limited import Limited  # noqa: E402
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


class Silent:
    """A store whose process stands still."""

    def __init__(self) -> None:
        self.goes_on = threading.Event()

    def check(self, keys: list[str]) -> bool:
        self.goes_on.wait()
        return False

    get = compare_set = check


def beside_a_silent_store() -> None:
    """Neither the thread that looks nor a question why waits for it."""
    under_way, store, event = UnderWay(), Silent(), Event(False)
    watch = Watch(store, 1, 2, lambda: None, lambda: True, under_way, TIMEOUT / 4)
    begin = time.monotonic()
    under_way.add(PLACE, 3, event)
    said = str(watch.explain("nothing came"))
    assert said.startswith(f"rank 1 waited in {PLACE}, call 3 of attention, and the process"), said
    assert "has ended or does not answer: nothing came" in said, said
    while not watch.has_failed:
        assert time.monotonic() < begin + 4 * PATIENCE, "the thread waits for the store"
        time.sleep(0.05)
    try:
        Limited(store, 0.1).get("key")
    except TimeoutError as error:
        assert str(error) == "no answer for 0.1 seconds"
    else:
        raise AssertionError("a silent store has answered")
    store.goes_on.set()
    event.has_happened = True  # a watch of hangs must not report it


class Shaky(dist.HashStore):
    """It fails now and then."""

    calls, fails = 0, ""

    def check(self, keys: list[str]) -> bool:
        self.calls += 1
        if self.calls == 1:
            raise RuntimeError("not now")
        return super().check(keys)

    def compare_set(self, key: str, expected: str, value: str) -> bytes:
        if key.startswith(self.fails):
            raise RuntimeError("not this")
        return super().compare_set(key, expected, value)


def with_a_shaky_store() -> None:
    """A store that failed once is asked again; that this rank cannot say where it is does not keep
    it from letting go."""
    store, ended = Shaky(), list[float]()
    watch = Watch(store, 1, 2, lambda: ended.append(1.0), lambda: True)
    while not store.calls:
        time.sleep(0.01)
    store.fails = "at "
    dist.HashStore.compare_set(store, FAILED, "", '{"rank": 0, "where": "there", "error": "ill"}')
    begin = time.monotonic()
    while not watch.has_failed:
        assert time.monotonic() < begin + 4 * PATIENCE, "another rank's failure is not seen"
        time.sleep(0.05)
    assert store.calls > 1 and ended == [1.0]
    assert str(watch.explain("")) == (
        "rank 0 raised in there, while rank 1 was outside of attention: ill"
    ), watch.explain("")


def abort_fails() -> None:
    """What a rank raises is raised, though its group cannot be ended."""

    def abort() -> None:
        raise RuntimeError("no such group")

    watch = Watch(dist.HashStore(), 2, 4, abort, lambda: True)
    try:
        with watch.at("the leaves of a backward"):
            raise ValueError("no such leaf")
    except ValueError as error:
        assert str(error) == "no such leaf" and watch.has_failed


def on_a_failed_device() -> None:
    under_way = UnderWay()
    watch = Watch(dist.HashStore(), 3, 4, lambda: None, lambda: True, under_way, TIMEOUT / 4)
    under_way.add(PLACE, 3, Failed())
    watch.where, watch.call = "the leaves of a backward", 3
    time.sleep(TIMEOUT / 2)
    assert watch.now().where == "the leaves of a backward" and not watch.has_failed
    watch.call = 0  # a watch of hangs must not report it


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
beside_a_silent_store()
with_a_shaky_store()
abort_fails()
on_a_failed_device()
main()
