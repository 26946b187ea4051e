# RUN: rm -rf %t && mkdir -p %t && %python %s %t
# REQUIRES: python, plain-libdash
"""Threads end, kernels are dropped, streams and sizes come and go: what was theirs goes with them,
but what a graph may run."""

from __future__ import annotations

import gc
import sys
import threading
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

from fixtures import SIZES, tensors, write  # noqa: E402
from stub_driver import StubDriver  # noqa: E402

from dash_attn import Kernel  # noqa: E402
from dash_attn.kernel import runtime, workspace  # noqa: E402

TMP = Path(sys.argv[1])
PER_THREAD, CAPTURED = 2, 0xCA  # streams; the stub takes the second for one that is being captured
PROBLEM = dict(zip(SIZES, (2, 4, 4, 256, 256)))


def balance(calls: list[list[str]]) -> int:
    """How many blocks were allocated and not freed."""
    names = [call[0] for call in calls]
    return names.count("allocate") - names.count("free")


def threads_end(manifest: Path) -> None:
    driver = StubDriver()
    kernel = Kernel.load(manifest, driver)
    driver.calls()
    for _ in range(5):
        thread = threading.Thread(target=lambda: kernel.backward(**tensors(), stream=PER_THREAD))
        thread.start()
        thread.join()
    gc.collect()
    calls = driver.calls()
    assert [call[0] for call in calls].count("allocate") == 5 and balance(calls) == 0, calls
    assert not kernel._of_threads and not kernel._of_all.workspaces
    kernel.backward(**tensors(), stream=PER_THREAD)  # this one goes on
    assert balance(driver.calls()) == 1 and len(kernel._of_threads) == 1


def kernels_are_dropped(manifest: Path) -> None:
    driver = StubDriver()
    for _ in range(5):
        kernel = Kernel.load(manifest, driver)
        for stream in (0, 7):
            kernel.backward(**tensors(), stream=stream)
        bound = kernel.bind(**tensors(), stream=7)
        del kernel
        gc.collect()
        bound.run()  # a launch keeps what it needs
        del bound
    gc.collect()
    calls = driver.calls()
    assert [call[0] for call in calls].count("allocate") == 10 and balance(calls) == 0, calls
    # Code that streams may be running stays, once; the other handles went.
    assert [call[0] for call in calls].count("load") == 1 and "unload" not in {
        call[0] for call in calls
    }, calls
    assert len([key for key in runtime._loaded if key[0] == driver.handle.ptr]) == 1


def graphs_keep(manifest: Path) -> None:
    driver = StubDriver()
    kernel = Kernel.load(manifest, driver)
    kernel.reserve(stream=7, **PROBLEM)
    before = len(workspace._captured)
    driver.set(capturing=7)
    for _ in range(3):
        kernel.backward(**tensors(), stream=7)
    driver.set(capturing=None)
    assert len(workspace._captured) == before + 1
    del kernel
    gc.collect()
    assert balance(driver.calls()) == 1


def streams_come_and_go(manifest: Path) -> None:
    driver = StubDriver()
    kernel = Kernel.load(manifest, driver)
    streams = range(1000, 1000 + 3 * runtime.MOST_STREAMS)
    for stream in streams:
        kernel.backward(**tensors(), stream=stream)
    calls = driver.calls()
    assert balance(calls) == runtime.MOST_STREAMS == len(kernel._of_all.workspaces), balance(calls)
    kernel.backward(**tensors(), stream=streams[-1])
    kernel.backward(**tensors(), stream=streams[0])
    assert [call[0] for call in driver.calls()].count("allocate") == 1


def sizes_come_and_go(manifest: Path) -> None:
    driver = StubDriver()
    kernel = Kernel.load(manifest, driver)
    least = dict.fromkeys(SIZES, 1)  # the stub writes to all that it allocates
    for batch in range(1, 2 * runtime.MOST_LAUNCHES):
        kernel.reserve(**least | {"batch": batch})
    assert len(kernel._plans) <= runtime.MOST_LAUNCHES


def run(*tests: Any) -> None:
    for test in tests:
        test(write(TMP / test.__name__))


run(threads_end, kernels_are_dropped, graphs_keep, streams_come_and_go, sizes_come_and_go)
