# RUN: %python %s %t
# REQUIRES: python
"""What callers and strangers' manifests do wrong ends in an error of ours, never in a launch on memory that is gone or dirty."""

from __future__ import annotations

import gc
import json
import sys
import threading
import types
import weakref
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

from fake_driver import FakeDriver, values  # noqa: E402
from fixtures import manifest, refused, tensors, write  # noqa: E402

from dash_attn import ArgumentError, DriverError, Kernel, ManifestError, Tensor  # noqa: E402
from dash_attn.read_manifest import load_manifest, parse_manifest  # noqa: E402

TMP = Path(sys.argv[1])
MAIN = "attention_bwd_main"


class FullDriver(FakeDriver):
    """Has no more memory than `room` bytes."""

    room = 1 << 40

    def allocate(self, size: int, what: str) -> int:
        if size + sum(len(block) for block in self.memory.values()) > self.room:
            raise DriverError(2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory", f"allocate {size} bytes for {what}")
        return super().allocate(size, what)


def load(name: str, driver: Any, change: Callable[[dict[str, Any]], Any] | None = None) -> Kernel:
    return Kernel.load(write(TMP / name, change), driver)


def turns_of(kernel: Kernel, driver: FakeDriver) -> int:
    """Where the last main kernel was told to count."""
    launch = [launch for launch in driver.launches if launch.name == MAIN][-1]
    return values(launch, kernel.manifest.entries[2])["workspace.turns"]


def memory_runs_out() -> None:
    """A workspace that cannot grow stays as it was, or is given up for good: no plan launches on what was freed."""
    driver = FullDriver()
    kernel = load("full", driver)
    plan = kernel.bind(**tensors())
    plan.run()
    kept = turns_of(kernel, driver)
    driver.room = 64 << 20
    refused(lambda: kernel.backward(**tensors(q_rows=1 << 20)), DriverError)
    plan.run()  # on memory that is there, and zero
    address = turns_of(kernel, driver)
    assert any(start <= address < start + len(block) for start, block in driver.memory.items()), (address, kept)
    assert driver.read(address, 4 * 2 * 4 * 4) == bytes(4 * 2 * 4 * 4)
    # Room for the new one alone: the old one is given up for it.
    needed = kernel.reserve(stream=5, batch=2, heads=4, kv_heads=4, q_rows=1024, kv_rows=256).layout.total
    driver.room = sum(len(block) for block in driver.memory.values()) + needed // 2
    kernel.reserve(stream=5, batch=2, heads=4, kv_heads=4, q_rows=1280, kv_rows=256)
    # A graph has its address: then it is not given up.
    driver = FullDriver(capturing={3})
    kernel = load("graph", driver)
    driver.capturing.clear()
    kernel.backward(**tensors(), stream=3)
    driver.capturing = {3}
    kernel.backward(**tensors(), stream=3)
    driver.capturing.clear()
    captured, driver.room = dict(driver.memory), 1
    refused(lambda: kernel.backward(**tensors(q_rows=4096), stream=3), DriverError)
    kernel.backward(**tensors(), stream=3)
    assert driver.memory.keys() == captured.keys()


def captures_clear_nothing() -> None:
    """The zeroing that a capture writes down is not done: the next launch outside of it zeroes."""
    driver = FakeDriver(fail={MAIN: 1})
    kernel = load("dirty", driver)
    refused(lambda: kernel.backward(**tensors()), DriverError)
    for capturing, dirty in (({0}, True), (set(), False)):
        driver.capturing = capturing
        driver.calls.clear()
        kernel.backward(**tensors())
        assert [call[0] for call in driver.calls] == ["fill"] and kernel.workspace().is_dirty == dirty
    driver.calls.clear()
    kernel.backward(**tensors())
    assert driver.calls == []


@dataclass(frozen=True)
class Device:
    type: str = "cuda"
    index: int = 0


class TorchLike:
    """As much of a PyTorch tensor as a launch looks at."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor, self.shape, self.device = tensor, tensor.shape, Device()
        self.dtype = {"bf16": "torch.bfloat16", "f32": "torch.float32"}[tensor.dtype]

    def data_ptr(self) -> int:
        return self.tensor.pointer

    def stride(self) -> tuple[int, ...]:
        return self.tensor.strides


def plans_keep_no_tensor() -> None:
    torch = types.ModuleType("torch")
    driver = FakeDriver()

    def empty(size: int, **_: Any) -> TorchLike:
        return TorchLike(Tensor(driver.allocate(size, "torch"), (size,), (1,)))

    torch.cuda = types.SimpleNamespace(current_stream=lambda _: types.SimpleNamespace(cuda_stream=0), stream=lambda _: driver.on(0),
                                       default_stream=lambda _: None)
    torch.empty, torch.uint8 = empty, "uint8"
    sys.modules["torch"] = torch
    kernel, given = load("torch", driver), {name: TorchLike(tensor) for name, tensor in tensors().items()}
    kernel.backward(**given)
    watched = [weakref.ref(tensor) for tensor in given.values()]
    given.clear()
    gc.collect()
    assert len(driver.launches) == 4 and [reference() for reference in watched] == [None] * 9
    del sys.modules["torch"]


class OfInterface:
    def __init__(self, pointer: int = 1 << 40, read_only: bool = False, **interface: Any) -> None:
        shape = (2, 4, 256, 128)
        self.__cuda_array_interface__ = {"version": 3, "data": (pointer, read_only), "shape": shape, "typestr": "<u2"} | interface


def array_interfaces() -> None:
    """Device, read-only, mask and stream of an array count, each time."""
    driver = FakeDriver()
    driver.device_of = lambda pointer: int(pointer >= 1 << 50)
    kernel = load("arrays", driver)
    kernel.backward(**tensors(dq=OfInterface(1 << 49)))
    found = refused(lambda: kernel.backward(**tensors(dq=OfInterface(1 << 50))), ArgumentError)
    assert found == "dq: expected device 0 as for q, found device 1", found
    found = refused(lambda: kernel.backward(**tensors(dq=OfInterface(1 << 49, True))), ArgumentError)
    assert found == "dq: expected memory to write to, found an array that is read-only", found
    kernel.backward(**tensors(q=OfInterface(read_only=True)))
    found = refused(lambda: kernel.backward(**tensors(k=OfInterface(mask=OfInterface()))), ArgumentError)
    assert found == "k: expected an array without a mask, found one that hides elements", found
    driver.launches.clear()
    kernel.backward(**tensors(q=OfInterface(stream=7)))
    assert {launch.stream for launch in driver.launches} == {7}
    kernel.backward(**tensors(v=OfInterface(stream=1)))  # the legacy default stream by its other name
    found = refused(lambda: kernel.backward(**tensors(v=OfInterface(stream=7))), ArgumentError)
    assert found == ("v: its array is in use on the stream 0x7, found a launch on 0x1; launch there, or synchronize and pass an "
                     "array without a stream"), found
    kernel.backward(**tensors(v=OfInterface(shape=[2, 4, 256, 128], strides=[262144, 65536, 256, 2])))
    for wrong in ({"data": None}, {"data": (1,)}, {"shape": 3}, {"shape": ([],)}, {"strides": 1}):
        assert "v: cannot read its __cuda_array_interface__: " in refused(
            lambda wrong=wrong: kernel.backward(**tensors(v=OfInterface(**wrong))), ArgumentError)


def per_thread_streams() -> None:
    """One handle, but a stream for each thread: each has its own workspace, and plans stay in their thread."""
    driver = FakeDriver()
    kernel = load("threads", driver)
    seen, errors, plan = [], [], kernel.bind(**tensors(), stream=2)

    def launch() -> None:
        kernel.backward(**tensors(), stream=2)
        seen.append(turns_of(kernel, driver))
        errors.append(refused(plan.run, ArgumentError))

    for _ in range(2):
        thread = threading.Thread(target=launch)
        thread.start()
        thread.join()
    plan.run()
    assert len({*seen, turns_of(kernel, driver)}) == 3
    assert set(errors) == {"this plan is for the per-thread default stream of another thread; bind it in this one"}


def bound_plans_wait_for_each_other() -> None:
    """Two plans on one stream, in two threads: entries of two runs do not mix."""
    driver = FakeDriver()
    kernel = load("locked", driver)
    kernel.backward(**tensors())
    driver.names()
    plans = [kernel.bind(**tensors()) for _ in range(2)]
    meet = threading.Barrier(2, timeout=0.2)

    def pause(_: Any) -> None:
        try:
            meet.wait()
        except threading.BrokenBarrierError:
            pass

    driver.on_launch = pause
    threads = [threading.Thread(target=plan.run) for plan in plans]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert driver.names() == [f"attention_bwd_{role}" for role in ("prepare", "main", "convert")] * 2


class Scalar:
    """A number that changes, as a tensor with one element may."""

    value = 0.5

    def __float__(self) -> float:
        return self.value


def scales() -> None:
    driver = FakeDriver()
    kernel, scale = load("scales", driver), Scalar()
    found = []
    for scale.value in (0.5, 0.25):
        kernel.backward(**tensors(), scale=scale)
        found.append(values(driver.launches[-1], kernel.manifest.entries[3])["scale"])
    assert found == [0.5, 0.25]
    for wrong, message in (("x", "expected a number, found 'x'"), ([], "expected a number, found []"),
                           (1e39, "expected a number of f32, found 1e+39"), (float("nan"), "expected a number of f32, found nan"),
                           (10**400, f"expected a number, found {10**400!r}")):
        assert refused(lambda wrong=wrong: kernel.backward(**tensors(), scale=wrong), ArgumentError) == f"scale: {message}"


def numbers() -> None:
    """Numbers of a call that are none, or that the kernel cannot take."""
    kernel = load("numbers", FakeDriver())
    for wrong in ({"pointer": "q"}, {"pointer": -1}, {"pointer": 2**64}, {"shape": [1, 2]}, {"strides": None}, {"device": None},
                  {"strides": (2**64, 1, 1, 1)}, {"shape": (2, -4, 256, 128)}):
        found = refused(lambda wrong=wrong: replace(tensors()["q"], **wrong), ArgumentError)
        assert found.startswith("expected an address, a shape, strides and a device as whole numbers, found "), found
    assert refused(lambda: Tensor(1, (1,), (1,), "f8"), ArgumentError) == "expected elements of bf16, f16 or f32, found 'f8'"
    for stream in (-1, 2**64, 1.5, types.SimpleNamespace(ptr="x")):
        assert "stream: expected a number or a stream" in refused(lambda stream=stream: kernel.backward(**tensors(), stream=stream),
                                                                  ArgumentError)
    sizes = {"batch": 2, "heads": 4, "kv_heads": 4, "q_rows": 256}
    for wrong in ("256", 0, 2.0):
        found = refused(lambda wrong=wrong: kernel.reserve(**sizes, kv_rows=wrong), ArgumentError)
        assert found == f"reserve: expected kv_rows to be 1 to 16777216, found {wrong!r}", found

    def passes(raw: dict[str, Any]) -> None:
        raw["derived"]["much"] = "q_rows * 16777216"
        raw["entries"][3]["parameters"].append({"name": "much", "type": "i32"})

    found = refused(lambda: load("passes", FakeDriver(), passes).backward(**tensors()), ArgumentError)
    assert found == "'much' of 4294967296 is no i32, as the kernel takes it", found


def manifests() -> None:
    """Without jsonschema as well: these go to what every launcher checks."""
    path = TMP / "m.json"

    def wrong(place: tuple[Any, ...], value: Any, message: str) -> None:
        raw: Any = manifest()
        raw["order"] = {"source": "file", "file": "kernel.order", "bytes": 64, "sha256": "0" * 64}
        node = raw
        for part in place[:-1]:
            node = node[part]
        node[place[-1]] = value
        found = refused(lambda: parse_manifest(raw, path), ManifestError)
        assert found == f"{path}{message}", found

    for name in ("/etc/passwd", "../kernel.ptx", "a/b", "a\\b", "c:x", "", "..", "a\0b", "\ud800"):
        wrong(("ptx", "file"), name, f".ptx.file: expected the name of a file beside the manifest, found {name!r}")
        wrong(("order", "file"), name, f".order.file: expected the name of a file beside the manifest, found {name!r}")
    for place in (("program", "head_dim"), ("program", "tiles", "q"), ("order", "bytes"), ("tensors", 0, "alignment"),
                  ("tensors", 0, "stride_multiple"), ("workspace", 0, "alignment"), ("program", "workers")):
        spelled = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place)
        for number in (0, -1, 2**31):
            wrong(place, number, f"{spelled}: expected 1 to 2147483647, found {number}")
    wrong(("workspace", 0, "alignment"), 24, ".workspace[0].alignment: expected a power of two up to 256, found 24")
    wrong(("sizes", "batch", "max"), 2**40, f".sizes.batch.max: expected 1 to 2147483647, found {2**40}")
    wrong(("entries", 0, "shared_bytes"), -1, ".entries[0].shared_bytes: expected 0 to 2147483647, found -1")
    for text in ("[" * 100000, json.dumps(manifest())[:-1], '{"version": ' + "9" * 5000 + "}", "\xff"):
        path.write_text(text, encoding="latin-1")
        assert refused(lambda: load_manifest(path), ManifestError).startswith(f"{path}: not a manifest: ")


for test in (memory_runs_out, captures_clear_nothing, plans_keep_no_tensor, array_interfaces, per_thread_streams,
             bound_plans_wait_for_each_other, scales, numbers, manifests):
    test()
