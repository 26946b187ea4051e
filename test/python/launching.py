# RUN: %python %s %t
# REQUIRES: python, plain-libdash
"""What is launched, with which parameters, and in which workspace; failures and captures leave it
as it must be."""

from __future__ import annotations

import gc
import os
import struct
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

from fixtures import refused, tensors, write  # noqa: E402
from stub_driver import Launch, StubDriver  # noqa: E402

from dash_attn import ArgumentError, CapacityError, DriverError, Kernel, ManifestError  # noqa: E402
from dash_attn.kernel.driver import Driver  # noqa: E402
from dash_attn.kernel.library import HANDLER, StringRef, check, library, make  # noqa: E402
from dash_attn.kernel.plan import Plan  # noqa: E402

TMP = Path(sys.argv[1])
ORDER, PREPARE, MAIN, CONVERT = (
    f"attention_bwd_{role}" for role in ("order", "prepare", "main", "convert")
)
ALWAYS = [PREPARE, MAIN, CONVERT]
MADE_READY = ["fill", ORDER, *ALWAYS]
SIZES = {"batch": 2, "heads": 4, "kv_heads": 4, "q_rows": 256, "kv_rows": 256}


def load(name: str, driver: StubDriver, **options: Any) -> Kernel:
    return Kernel.load(write(TMP / name, **options), driver)


def values(kernel: Kernel, launches: list[Launch], name: str) -> dict[str, Any]:
    """The parameters of the last launch of an entry."""
    (entry,) = [entry for entry in kernel.manifest["entries"] if entry["name"] == name]
    return [launch for launch in launches if launch.name == name][-1].values(entry)


def parameters() -> None:
    """Each entry gets what its parameters' names say, whatever order they are in."""
    driver = StubDriver()
    kernel, given = (
        load("parameters", driver),
        tensors(batch=2, heads=4, kv_heads=2, q_rows=200, kv_rows=300),
    )
    kernel.backward(**given, scale=0.25)
    launches = driver.launches()
    prepare, main = (values(kernel, launches, name) for name in (PREPARE, MAIN))
    assert prepare["k"] == given["k"].pointer and prepare["lse"] == given["lse"].pointer
    assert [prepare[f"k.stride.{name}"] for name in ("batch", "head", "row")] == [
        2 * 300 * 128,
        300 * 128,
        128,
    ]
    assert [prepare[f"lse.stride.{name}"] for name in ("batch", "head")] == [4 * 200, 200]
    assert [main[name] for name in ("batch", "heads", "kv_heads", "q_rows", "kv_rows")] == [
        2,
        4,
        2,
        200,
        300,
    ]
    assert main["scale"] == 0.25 and values(kernel, launches, ORDER)["width"] == 132
    workspace = kernel.workspace()
    for region in kernel.manifest["workspace"]:
        address, size = workspace.region(region["name"])
        assert (
            main[f"workspace.{region['name']}"] == address
            and address % region["alignment"] == 0
            and size
        ), region
    found = {launch.name: launch for launch in launches}
    assert found[ORDER].grid == (132, 1, 1) and found[PREPARE].grid == (4, 4, 2)
    assert [found[name].is_cooperative for name in (ORDER, *ALWAYS)] == [False, False, True, False]
    assert [found[name].overlaps for name in (ORDER, *ALWAYS)] == [False, False, False, True]
    kernel.backward(**given)
    assert (
        values(kernel, driver.launches(), CONVERT)["scale"]
        == struct.unpack("f", struct.pack("f", 128**-0.5))[0]
    )


def anew() -> None:
    """In one call: zeros, the order and the run, on their stream; an order that is a table is read
    only."""
    driver, table = StubDriver(), bytes(range(64))
    for name, made, given, options in (
        ("anew", MADE_READY, tensors(), {}),
        ("anew-table", ["fill", *ALWAYS], tensors(q_rows=4096, kv_rows=4096), {"table": table}),
    ):
        launch = load(name, driver, **options).bind(**given, stream=5)
        launch.run()
        driver.calls()
        check(library().dashPlanRunAnew(launch.plan.handle, 5, launch._reference, HANDLER, None))
        calls = [call for call in driver.calls() if call[0] in ("fill", "copy", "launch")]
        assert [call[1] if call[0] == "launch" else call[0] for call in calls] == made
        assert all(call[call.index("stream") + 1] == "0x5" for call in calls)
    driver.set(fail="cuMemsetD8Async:719")
    assert "CUDA_ERROR_LAUNCH_FAILED" in refused(
        lambda: check(
            library().dashPlanRunAnew(launch.plan.handle, 5, launch._reference, HANDLER, None)
        ),
        DriverError,
    )
    assert not driver.launches()


def layouts() -> None:
    """bshd: the same memory, heads and rows exchanged."""
    driver = StubDriver()
    kernel, given = (
        load("layouts", driver),
        tensors(batch=2, heads=4, kv_heads=4, q_rows=200, kv_rows=200),
    )
    turned = {
        name: tensor if name == "lse" else tensor.transposed(1, 2) for name, tensor in given.items()
    }
    found = []
    for options in (given, {**turned, "layout": "bshd"}):
        kernel.backward(**options)
        found.append(values(kernel, driver.launches(), PREPARE))
    assert found[0] == found[1]


def orders_of_tensors() -> None:
    """A manifest may have its tensors in any order."""
    driver = StubDriver()
    kernel = load("order", driver, change=lambda raw: raw["tensors"].reverse())
    given = tensors(kv_rows=512)
    for _ in range(2):
        kernel.backward(**given)
        found = values(kernel, driver.launches(), PREPARE)
        assert all(
            found[name] == given[name].pointer
            for name in ("q", "k", "v", "do", "o", "lse", "dk", "dv")
        ), found


def workspace_is_kept() -> None:
    """Counters and order are made when sizes change; memory is allocated when they grow."""
    driver = StubDriver()
    kernel = load("kept", driver)

    def launch(**sizes: int) -> list[str]:
        kernel.backward(**tensors(**sizes))
        return driver.names()

    assert launch(q_rows=256) == ["allocate", *MADE_READY]
    assert launch(q_rows=256) == ALWAYS
    assert launch(q_rows=128) == MADE_READY
    assert launch(q_rows=128) == ALWAYS
    assert launch(q_rows=1024) == ["allocate", "free", *MADE_READY]
    assert launch(batch=1) == MADE_READY
    assert launch(q_rows=1024) == MADE_READY
    address, size = kernel.workspace().region("turns")
    assert size == 4 * 2 * 4 * 16 and driver.read(address, size) == bytes(size)

    # Each stream has its own; other addresses go into the same launch.
    kernel.backward(**tensors(), stream=7)
    driver.names()
    moved = {
        name: replace(tensor, pointer=tensor.pointer + 4096) for name, tensor in tensors().items()
    }
    kernel.backward(**moved, stream=7)
    launches = driver.launches()
    assert [launch.stream for launch in launches] == [7] * 3
    assert values(kernel, launches, CONVERT)["dq"] == moved["dq"].pointer
    assert kernel.workspace(0, 7).pointer != kernel.workspace(0, 0).pointer

    # What has no output does nothing.
    for sizes in ({"batch": 0}, {"q_rows": 0, "kv_rows": 0}, {"heads": 0, "kv_heads": 0}):
        kernel.backward(**tensors(**sizes))
        kernel.bind(**tensors(**sizes)).run()
    assert driver.names() == []


def failures() -> None:
    """After a launch that failed, counters are zeroed and the order is made again."""
    driver = StubDriver(fail=f"{MAIN}:719")
    kernel = load("failures", driver)
    found = refused(lambda: kernel.backward(**tensors()), DriverError)
    assert (
        found
        == f"launch '{MAIN}' with a grid of 132 x 1 x 1 blocks, 384 threads each, 230000 bytes of"
        " shared memory: CUDA_ERROR_LAUNCH_FAILED (719): unspecified launch failure; clear the"
        " workspace before it is used again"
    ), found
    address, size = kernel.reserve(**SIZES).region("turns")
    driver.set(fail=f"{PREPARE}:719")
    try:
        kernel.backward(**tensors())
    except DriverError as error:
        assert (error.name, error.code) == ("CUDA_ERROR_LAUNCH_FAILED", 719), error
    driver.set(fail=None)
    with driver.on(0):
        driver.fill(address, 5, 8, 0)
    driver.names()
    kernel.backward(**tensors())
    assert driver.names() == MADE_READY and driver.read(address, size) == bytes(size)
    kernel.backward(**tensors())
    assert driver.names() == ALWAYS


def captures() -> None:
    """A capture allocates nothing and has counters and order in it; afterwards every launch makes
    its own, and memory stays."""
    driver = StubDriver(capturing=3)
    kernel = load("captures", driver)
    found = refused(lambda: kernel.backward(**tensors(), stream=3), ArgumentError)
    needed = kernel.reserve(stream=9, **SIZES).bytes
    assert (
        found
        == f"the stream is being captured, and needs {needed} bytes of workspace that it does not"
        " have yet: call backward or reserve with these sizes on this stream before the capture"
    ), found
    driver.set(capturing=None)
    kernel.reserve(stream=3, **SIZES)
    kernel.backward(**tensors(), stream=3)
    driver.names()
    for capturing in (3, None):  # a replay may have left counters and order of the graph's sizes
        driver.set(capturing=capturing)
        kernel.backward(**tensors(), stream=3)
        assert driver.names() == MADE_READY
    kernel.backward(**tensors(q_rows=2048), stream=3)
    assert driver.names() == ["allocate", *MADE_READY]  # the graph goes on using the old memory
    kernel.backward(**tensors(q_rows=2048), stream=3)
    assert driver.names() == ALWAYS


def tables() -> None:
    """An order from a file is uploaded once, for all streams, on a stream of its own; memory is not
    taken in a capture."""
    driver, table = StubDriver(capturing=1), bytes(range(64))
    kernel = load("tables", driver, table=table)
    assert "is being captured" in refused(
        lambda: kernel.backward(**tensors(q_rows=4096, kv_rows=4096), stream=1), ArgumentError
    )
    driver.set(capturing=None)
    assert driver.names() == []
    orders = set()
    for batch, stream in ((2, 0), (2, 1), (1, 1)):
        kernel.backward(**tensors(batch=batch, q_rows=4096, kv_rows=4096), stream=stream)
        calls = driver.calls()
        expected = (
            ["allocate", "stream", "copy", "synchronize", "destroy", "allocate"]
            if stream == 0
            else ["allocate"]
            if batch == 2
            else []
        )
        changes = ("allocate", "stream", "copy", "synchronize", "destroy", "fill", "launch")
        assert [call[0] for call in calls if call[0] in changes] == [
            *expected,
            "fill",
            *["launch"] * 3,
        ], calls
        assert all(
            call[-1] == "0x5e" for call in calls if call[0] in ("copy", "synchronize", "destroy")
        ), calls
        orders.add(kernel.workspace(0, stream).region("order"))
    ((address, size),) = orders
    assert driver.read(address, size) == table
    driver.set(capturing=1)
    kernel.backward(**tensors(batch=2, q_rows=4096, kv_rows=4096), stream=1)
    driver.set(capturing=None)
    driver.names()
    del kernel  # the graph may still read the table, and write to the workspace of stream 1
    gc.collect()
    assert driver.names() == ["free"] and driver.read(address, size) == table


def shared_code() -> None:
    """Kernels that differ in their order alone have one code on a device, until the last of them
    goes."""
    driver, lib, table = StubDriver(), library(), bytes(range(64))
    handles = []
    for name, order in (("one", table), ("other", table[::-1])):
        path = os.fsencode(write(TMP / "shared", name=name, table=order))
        handles.append(make(lib.dashKernelOpen, driver.handle, StringRef.of(path)))
    plans = [
        Plan(kernel, device, SIZES | {"q_rows": 4096, "kv_rows": 4096}, {}, True)
        for kernel in handles
        for device in (0, 1)
    ]
    assert [call[0] for call in driver.calls()].count("load") == 2  # devices
    for kernel in handles:
        lib.dashKernelDestroy(kernel)
    del plans[1:]
    assert "unload" not in [call[0] for call in driver.calls()]
    plans.clear()
    assert [call[0] for call in driver.calls()].count("unload") == 2


def capacity() -> None:
    """Workers that must be resident together are, or nothing is launched."""
    driver = StubDriver(multiprocessors=114)
    found = refused(lambda: load("small", driver).backward(**tensors()), CapacityError)
    assert (
        found
        == f"'{MAIN}' needs 132 resident blocks, found room for 114 on a fake GPU: 1 on each of"
        " 114 "
        "multiprocessors; compile it with workers=114"
    ), found

    def independent(raw: dict[str, Any]) -> None:
        raw["program"]["min_workers"] = 1
        raw["entries"][2]["cooperative"] = False

    load("independent", driver, change=independent).backward(**tensors())
    assert driver.names() == ["allocate", *MADE_READY, "free"]  # with the kernel its workspace goes
    found = refused(
        lambda: load("shared", StubDriver(shared=101376)).backward(**tensors()), CapacityError
    )
    assert (
        found == f"'{MAIN}' needs 230000 bytes of shared memory a block, found 101376 on a fake GPU"
    ), found
    found = refused(
        lambda: load("chip", StubDriver(capability=100)).backward(**tensors()), ManifestError
    )
    assert found == "compiled for sm_90a, found a fake GPU of sm_100", found
    load(
        "older", StubDriver(capability=100), change=lambda raw: raw["ptx"].update(target="sm_80")
    ).backward(**tensors())


def drivers() -> None:
    """None, one that is none, no device, and one that is too old for the PTX."""
    found = refused(lambda: Driver("/none/libcuda.so"), DriverError)
    assert found.startswith("cannot load the CUDA driver '/none/libcuda.so': "), found
    found = refused(lambda: Driver("libm.so.6"), DriverError)
    assert found == "'libm.so.6' has no cuInit: expected a driver of CUDA 12 or newer", found
    found = refused(lambda: StubDriver(fail="cuInit:100"), DriverError)
    assert found == "initialise the CUDA driver: CUDA_ERROR_UNKNOWN (100): unknown error", found
    found = refused(
        lambda: load("old", StubDriver(fail="cuModuleLoadDataEx:218")).backward(**tensors()),
        DriverError,
    )
    assert (
        found
        == "assemble 'attention_bwd' for a fake GPU: CUDA_ERROR_UNKNOWN (218): unknown error\nptxas"
        " fatal: a log"
    ), found


def bound() -> None:
    """A bound call can be run any number of times, and its entries one by one."""
    driver = StubDriver()
    kernel = load("bound", driver)
    launch = kernel.bind(**tensors())
    # Another call: not this one's addresses.
    kernel.backward(**tensors(dq=replace(tensors()["dq"], pointer=99 << 40)))
    driver.names()
    launch.run()
    assert values(kernel, driver.launches(), CONVERT)["dq"] == tensors()["dq"].pointer
    launch.run()
    assert driver.names() == ALWAYS
    assert launch.plan.steps == ["prepare", "main", "convert"]
    launch.ready()
    for step in range(3):
        launch.run_step(step)
    assert driver.names() == ALWAYS
    assert refused(lambda: launch.run_step(3), ArgumentError) == "expected a step below 3, found 3"


def devices() -> None:
    """The device is that of q; each has its own code and workspace."""
    driver = StubDriver()
    kernel = load("devices", driver)
    kernel.backward(**tensors())
    there = {
        name: replace(tensor, pointer=tensor.pointer | 1 << 60, device=1)
        for name, tensor in tensors().items()
    }
    driver.names()
    kernel.backward(**there)
    assert driver.names() == ["allocate", *MADE_READY]
    assert kernel.workspace(1).pointer != kernel.workspace(0).pointer
    found = refused(lambda: kernel.backward(**there | {"q": tensors()["q"]}), ArgumentError)
    assert found == "k: expected memory of device 0, found memory of device 1", found


for test in (
    parameters,
    anew,
    layouts,
    orders_of_tensors,
    workspace_is_kept,
    failures,
    captures,
    tables,
    shared_code,
    capacity,
    drivers,
    bound,
    devices,
):
    test()
