# RUN: %python %s %t
# REQUIRES: python
"""What is launched, with which parameters, and in which workspace; failures and captures leave it as it must be."""

from __future__ import annotations

import struct
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

from fake_driver import FakeDriver, values  # noqa: E402
from fixtures import refused, tensors, write  # noqa: E402

from dash_attn import ArgumentError, CapacityError, DriverError, Kernel, ManifestError  # noqa: E402

TMP = Path(sys.argv[1])
ALL = [f"attention_bwd_{role}" for role in ("order", "prepare", "main", "convert")]
ALWAYS = ALL[1:]


def load(name: str, driver: FakeDriver, **options: Any) -> Kernel:
    return Kernel.load(write(TMP / name, **options), driver)


def parameters() -> None:
    """Each entry gets what its parameters' names say, whatever order they are in."""
    driver = FakeDriver()
    kernel, given = load("parameters", driver), tensors(batch=2, heads=4, kv_heads=2, q_rows=200, kv_rows=300)
    kernel.backward(**given, scale=0.25)
    launches = {launch.name: launch for launch in driver.launches}
    found = {name: values(launch, next(entry for entry in kernel.manifest.entries if entry.name == name))
             for name, launch in launches.items()}
    prepare, main = found[ALL[1]], found[ALL[2]]
    assert prepare["k"] == given["k"].pointer and prepare["lse"] == given["lse"].pointer
    assert [prepare[f"k.stride.{name}"] for name in ("batch", "head", "row")] == [2 * 300 * 128, 300 * 128, 128]
    assert [prepare[f"lse.stride.{name}"] for name in ("batch", "head")] == [4 * 200, 200]
    assert [main[name] for name in ("batch", "heads", "kv_heads", "q_rows", "kv_rows")] == [2, 4, 2, 200, 300]
    assert main["scale"] == 0.25 and found[ALL[0]]["width"] == 132
    workspace = kernel.workspace()
    for name in kernel.manifest.workspace:
        assert main[f"workspace.{name}"] == workspace.address(name) and workspace.address(name) % 16 == 0
    assert launches[ALL[0]].grid == (132, 1, 1) and launches[ALL[1]].grid == (4, 4, 2)
    assert [launches[name].is_cooperative for name in ALL] == [False, False, True, False]
    assert ("allow_shared", ALL[2], 230000) in driver.calls
    kernel.backward(**given)
    assert values(driver.launches[-1], kernel.manifest.entries[3])["scale"] == struct.unpack("f", struct.pack("f", 128**-0.5))[0]


def layouts() -> None:
    """bshd: the same memory, heads and rows exchanged."""
    driver = FakeDriver()
    kernel, given = load("layouts", driver), tensors(batch=2, heads=4, kv_heads=4, q_rows=200, kv_rows=200)
    turned = {name: tensor if name == "lse" else tensor.transposed(1, 2) for name, tensor in given.items()}
    kernel.backward(**given)
    kernel.backward(**turned, layout="bshd")
    first, second = (values(driver.launches[i], kernel.manifest.entries[1]) for i in (1, 4))
    assert first == second and driver.names() == ALL + ALWAYS


def workspace_is_kept() -> None:
    """The order is made when sizes change; memory is allocated when they grow, and zeros are set then only."""
    driver = FakeDriver()
    kernel = load("kept", driver)

    def launch(**sizes: int) -> tuple[list[str], list[str]]:
        driver.calls.clear()
        kernel.backward(**tensors(**sizes))
        return driver.names(), [call[0] for call in driver.calls if call[0] in ("allocate", "fill", "free")]

    assert launch(q_rows=256) == (ALL, ["allocate", "fill"])
    assert launch(q_rows=256) == (ALWAYS, [])
    assert launch(q_rows=128) == (ALL, [])
    assert launch(q_rows=128) == (ALWAYS, [])
    assert launch(q_rows=1024) == (ALL, ["allocate", "free", "fill"])
    turns = kernel.workspace().address("turns")
    assert launch(batch=1, kv_rows=4096) == (ALL, ["allocate", "free", "fill"])  # more order, less of the rest: none shrinks
    assert kernel.workspace().layout.sizes["turns"] == 4 * 2 * 4 * 16 and len(driver.memory) == 1
    assert launch(q_rows=1024) == (ALL, []) and kernel.workspace().address("turns") != 0 != turns
    zeros = driver.read(kernel.workspace().address("turns"), 4 * 2 * 4 * 16)
    assert zeros == bytes(len(zeros))

    # Each stream has its own; other addresses go into the same launch.
    kernel.backward(**tensors(), stream=7)
    moved = {name: replace(tensor, pointer=tensor.pointer + 4096) for name, tensor in tensors().items()}
    kernel.backward(**moved, stream=7)
    assert [launch.stream for launch in driver.launches] == [7] * 7
    assert values(driver.launches[-1], kernel.manifest.entries[3])["dq"] == moved["dq"].pointer
    assert kernel.workspace(0, 7).pointer != kernel.workspace(0, 0).pointer

    # What has no output does nothing.
    driver.names()
    for sizes in ({"batch": 0}, {"q_rows": 0, "kv_rows": 0}, {"heads": 0, "kv_heads": 0}):
        kernel.backward(**tensors(**sizes))
    assert driver.names() == []


def failures() -> None:
    """After a launch that failed, counters are zeroed and the order is made again."""
    driver = FakeDriver(fail={ALL[2]: 1})
    kernel = load("failures", driver)
    found = refused(lambda: kernel.backward(**tensors()), DriverError)
    assert found == f"launch '{ALL[2]}': CUDA_ERROR_LAUNCH_FAILED (719): unspecified launch failure", found
    workspace = kernel.workspace()
    driver.fill(workspace.address("turns"), 5, 8, 0)
    driver.calls.clear()
    driver.names()
    kernel.backward(**tensors())
    assert driver.names() == ALL and driver.calls == [("fill", 0, workspace.layout.sizes["turns"], 0)]
    assert driver.read(workspace.address("turns"), 8) == bytes(8)
    kernel.backward(**tensors())
    assert driver.names() == ALWAYS


def captures() -> None:
    """A capture allocates nothing and has the order in it; afterwards every launch makes its own, and memory stays."""
    driver = FakeDriver(capturing={3})
    kernel = load("captures", driver)
    found = refused(lambda: kernel.backward(**tensors(), stream=3), ArgumentError)
    needed = kernel.reserve(stream=9, batch=2, heads=4, kv_heads=4, q_rows=256, kv_rows=256).layout.total
    assert found == (f"the stream is being captured, and needs {needed} bytes of workspace that it does not have yet: call "
                     "backward or reserve with these sizes on this stream before the capture"), found
    driver.capturing.clear()
    kernel.reserve(stream=3, batch=2, heads=4, kv_heads=4, q_rows=256, kv_rows=256)
    kernel.backward(**tensors(), stream=3)
    driver.names()
    driver.capturing = {3}
    driver.calls.clear()
    kernel.backward(**tensors(), stream=3)
    assert driver.names() == ALL and driver.calls == []
    driver.capturing.clear()
    kernel.backward(**tensors(), stream=3)
    assert driver.names() == ALL  # a replay may have left the order of the graph's sizes
    kernel.backward(**tensors(q_rows=2048), stream=3)
    assert ("free",) not in driver.calls  # the graph goes on using the old memory
    driver.names()
    kernel.backward(**tensors(q_rows=2048), stream=3)
    assert driver.names() == ALWAYS


def tables() -> None:
    """An order from a file is uploaded once, for all streams."""
    driver, table = FakeDriver(), bytes(range(64))
    kernel = load("tables", driver, table=table)
    for stream in (0, 1):
        kernel.backward(**tensors(q_rows=4096, kv_rows=4096), stream=stream)
    assert [call for call in driver.calls if call[0] == "write"] == [("write", 64)]
    orders = {values(launch, kernel.manifest.entries[1])["workspace.order"] for launch in driver.launches
              if launch.name == ALL[2]}
    assert len(orders) == 1 and driver.read(orders.pop(), 64) == table
    assert driver.names() == ALWAYS * 2


def capacity() -> None:
    """Workers that must be resident together are, or nothing is launched."""
    found = refused(lambda: load("small", driver := FakeDriver(multiprocessors=114)).backward(**tensors()), CapacityError)
    assert found == (f"'{ALL[2]}' needs 132 resident blocks, found room for 114 on a fake GPU: 1 on each of 114 "
                     "multiprocessors; compile it with workers=114"), found

    def independent(raw: dict[str, Any]) -> None:
        raw["program"]["min_workers"] = 1
        raw["entries"][2]["cooperative"] = False

    driver = FakeDriver(multiprocessors=114)
    load("independent", driver, change=independent).backward(**tensors())
    assert driver.names() == ALL
    found = refused(lambda: load("shared", FakeDriver(shared_limit=101376)).backward(**tensors()), CapacityError)
    assert found == f"'{ALL[2]}' needs 230000 bytes of shared memory a block, found 101376 on a fake GPU", found
    found = refused(lambda: load("chip", FakeDriver(capability=(10, 0))).backward(**tensors()), ManifestError)
    assert found == f"{TMP}/chip/kernel.json: compiled for sm_90a, found a fake GPU of sm_100", found

    def older(raw: dict[str, Any]) -> None:
        raw["ptx"]["target"] = "sm_80"

    load("older", FakeDriver(capability=(10, 0)), change=older).backward(**tensors())
    found = refused(lambda: load("odd", FakeDriver(), change=lambda raw: raw["ptx"].update(target="x86")).backward(**tensors()),
                    ManifestError)
    # The schema, where it can be checked, says it first.
    assert found in (f"{TMP}/odd/kernel.json: cannot read the target 'x86'",
                     f"{TMP}/odd/kernel.json: ptx.target: 'x86' does not match '^sm_[0-9]+[af]?$'"), found


def bound() -> None:
    """A bound call can be run any number of times, and its entries one by one."""
    driver = FakeDriver()
    kernel = load("bound", driver)
    plan = kernel.bind(**tensors())
    kernel.backward(**tensors(dq=replace(tensors()["dq"], pointer=99 << 40)))  # another call: not this plan's addresses
    driver.names()
    plan.run()
    assert values(driver.launches[-1], kernel.manifest.entries[3])["dq"] == tensors()["dq"].pointer
    assert driver.names() == ALWAYS
    plan.ready()
    for step in plan.steps:
        plan.launch(step)
    assert driver.names() == ALL
    assert kernel.bind(**tensors(batch=0)) is None


for test in (parameters, layouts, workspace_is_kept, failures, captures, tables, capacity, bound):
    test()
