# RUN: %python %s %t
# REQUIRES: python, plain-libdash
"""What callers and strangers' manifests do wrong ends in an error of ours, never in a launch on
memory that is gone or dirty."""

from __future__ import annotations

import gc
import sys
import threading
import types
import weakref
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

from fixtures import refused, tensors, write  # noqa: E402
from stub_driver import StubDriver  # noqa: E402

from dash_attn import ArgumentError, DriverError, Kernel, Tensor  # noqa: E402

TMP = Path(sys.argv[1])
MAIN = "attention_bwd_main"


def load(
    name: str, driver: StubDriver, change: Callable[[dict[str, Any]], Any] | None = None
) -> Kernel:
    return Kernel.load(write(TMP / name, change), driver)


def last(kernel: Kernel, driver: StubDriver, entry: int, name: str) -> Any:
    """A parameter of the last launch of an entry."""
    wanted = kernel.manifest["entries"][entry]
    return [launch for launch in driver.launches() if launch.name == wanted["name"]][-1].values(
        wanted
    )[name]


def memory_runs_out() -> None:
    """A workspace that cannot grow stays as it was, or is given up for good: no plan launches on
    what was freed."""
    driver = StubDriver()
    kernel = load("full", driver)
    launch = kernel.bind(**tensors())
    launch.run()
    driver.set(room=64 << 20)
    found = refused(lambda: kernel.backward(**tensors(q_rows=1 << 20)), DriverError)
    assert found.startswith("allocate ") and "CUDA_ERROR_OUT_OF_MEMORY (2)" in found, found
    driver.calls()
    launch.run()  # on memory that is there, and zero
    turns, size = kernel.workspace().region("turns")
    assert last(kernel, driver, 2, "workspace.turns") == turns and driver.read(
        turns, size
    ) == bytes(size)
    # Room for the new one alone: the old one is given up for it.
    rows = {"stream": 5, "batch": 2, "heads": 4, "kv_heads": 4, "kv_rows": 256}
    needed = kernel.reserve(**rows, q_rows=1024).bytes
    driver.set(room=kernel.workspace().bytes + needed + needed // 2)
    driver.names()
    kernel.reserve(**rows, q_rows=1280)
    assert driver.names() == ["free", "allocate", "fill", "attention_bwd_order"]
    # A graph has its address: then it is not given up.
    driver = StubDriver()
    kernel = load("graph", driver)
    kernel.backward(**tensors(), stream=3)
    driver.set(capturing=3)
    kernel.backward(**tensors(), stream=3)
    driver.set(capturing=None, room=1)
    driver.names()
    refused(lambda: kernel.backward(**tensors(q_rows=4096), stream=3), DriverError)
    kernel.backward(**tensors(), stream=3)
    assert driver.names() == [
        "fill",
        *(f"attention_bwd_{role}" for role in ("order", "prepare", "main", "convert")),
    ]


def in_parts(raw: dict[str, Any]) -> None:
    """Two parts of each kv head's query heads, whose dK and dV are sums in memory, as the compiler
    describes them."""
    raw["program"]["parts"] = 2
    raw["constraints"].append(
        {
            "expression": "heads % (kv_heads*2)",
            "equals": 0,
            "message": "heads must be a multiple of kv_heads and their 2 parts",
        }
    )
    raw["workspace"] += [
        {
            "name": name,
            "bytes": "batch*kv_heads*kv_tiles*65536",
            "alignment": 128,
            "initial": "any",
            "after": "any",
        }
        for name in ("dk_sum", "dv_sum")
    ]


def sums_of_parts() -> None:
    """Heads that parts do not divide are refused, and so are sums that memory has no room for,
    before anything is launched."""
    driver = StubDriver()
    kernel, whole = load("parts", driver, in_parts), load("whole", driver)
    kernel.backward(**tensors(heads=4, kv_heads=2))
    found = refused(lambda: kernel.backward(**tensors(heads=4, kv_heads=4)), ArgumentError)
    assert (
        found
        == "heads must be a multiple of kv_heads and their 2 parts; found heads = 4, kv_heads = 4"
    ), found
    driver.set(room=64 << 20)
    long = tensors(heads=4, kv_heads=2, kv_rows=1 << 20)
    driver.names()
    found = refused(lambda: kernel.backward(**long), DriverError)
    assert found.startswith("allocate ") and "CUDA_ERROR_OUT_OF_MEMORY (2)" in found, found
    assert not [name for name in driver.names() if name.startswith("attention_bwd")]
    whole.backward(**long)  # which needs no sums


def captures_clear_nothing() -> None:
    """The zeroing that a capture writes down is not done: the next launch outside of it zeroes."""
    driver = StubDriver(fail=f"{MAIN}:719")
    kernel = load("dirty", driver)
    refused(lambda: kernel.backward(**tensors()), DriverError)
    for capturing in (0, None):
        driver.set(fail=None, capturing=capturing)
        driver.names()
        kernel.backward(**tensors())
        assert driver.names()[0] == "fill", capturing


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
    driver = StubDriver()

    def empty(size: int, **_: Any) -> TorchLike:
        return TorchLike(Tensor(driver.allocate(size, "torch"), (size,), (1,)))

    torch.cuda = types.SimpleNamespace(
        current_stream=lambda _: types.SimpleNamespace(cuda_stream=0),
        stream=lambda _: driver.on(0),
        default_stream=lambda _: None,
    )
    torch.empty, torch.uint8 = empty, "uint8"
    sys.modules["torch"] = torch
    kernel, given = (
        load("torch", driver),
        {name: TorchLike(tensor) for name, tensor in tensors().items()},
    )
    kernel.backward(**given)
    watched = [weakref.ref(tensor) for tensor in given.values()]
    given.clear()
    gc.collect()
    assert len(driver.launches()) == 4 and [reference() for reference in watched] == [None] * 9
    del sys.modules["torch"]


class OfInterface:
    def __init__(self, pointer: int = 1 << 40, read_only: bool = False, **interface: Any) -> None:
        shape = (2, 4, 256, 128)
        self.__cuda_array_interface__ = {
            "version": 3,
            "data": (pointer, read_only),
            "shape": shape,
            "typestr": "<u2",
        } | interface


def array_interfaces() -> None:
    """Device, read-only, mask and stream of an array count, each time."""
    driver = StubDriver()
    kernel = load("arrays", driver)
    kernel.backward(**tensors(dq=OfInterface(1 << 49)))
    found = refused(lambda: kernel.backward(**tensors(dq=OfInterface(1 << 60))), ArgumentError)
    assert found == "dq: expected memory of device 0, found memory of device 1", found
    found = refused(
        lambda: kernel.backward(**tensors(dq=OfInterface(1 << 49, True))), ArgumentError
    )
    assert found == "dq: expected memory to write to, found an array that is read-only", found
    kernel.backward(**tensors(q=OfInterface(read_only=True)))
    found = refused(
        lambda: kernel.backward(**tensors(k=OfInterface(mask=OfInterface()))), ArgumentError
    )
    assert found == "k: expected an array without a mask, found one that hides elements", found
    driver.calls()
    kernel.backward(**tensors(q=OfInterface(stream=7)))
    assert {launch.stream for launch in driver.launches()} == {7}
    # The legacy default stream by its other name.
    kernel.backward(**tensors(v=OfInterface(stream=1)))
    found = refused(lambda: kernel.backward(**tensors(v=OfInterface(stream=7))), ArgumentError)
    assert (
        found == "v: its array is in use on the stream 0x7, found a launch on 0x1; launch there, or"
        " synchronize and pass an array without a stream"
    ), found
    kernel.backward(
        **tensors(v=OfInterface(shape=[2, 4, 256, 128], strides=[262144, 65536, 256, 2]))
    )
    for wrong in ({"data": None}, {"data": (1,)}, {"shape": 3}, {"shape": ([],)}, {"strides": 1}):
        assert "v: cannot read its __cuda_array_interface__: " in refused(
            lambda wrong=wrong: kernel.backward(**tensors(v=OfInterface(**wrong))), ArgumentError
        )


def per_thread_streams() -> None:
    """One handle, but a stream for each thread: each has its own workspace, and plans stay in their
    thread."""
    driver = StubDriver()
    kernel = load("threads", driver)
    seen, errors, plan = [], [], kernel.bind(**tensors(), stream=2)

    def launch() -> None:
        kernel.backward(**tensors(), stream=2)
        seen.append(last(kernel, driver, 2, "workspace.turns"))
        errors.append(refused(plan.run, ArgumentError))

    both, turn = threading.Barrier(2), threading.Lock()

    def in_turn() -> None:
        with turn:
            launch()
        both.wait()  # what a thread has goes when it ends

    threads = [threading.Thread(target=in_turn) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    plan.run()
    assert len({*seen, last(kernel, driver, 2, "workspace.turns")}) == 3
    assert set(errors) == {
        "this plan is for the per-thread default stream of another thread; bind it in this one"
    }


def bound_plans_wait_for_each_other() -> None:
    """Two plans on one stream, in two threads: entries of two runs do not mix."""
    driver = StubDriver()
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

    keep = driver.on_launch(pause)
    threads = [threading.Thread(target=plan.run) for plan in plans]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert keep and not driver.on_launch(None)
    assert (
        driver.names() == [f"attention_bwd_{role}" for role in ("prepare", "main", "convert")] * 2
    )


class Scalar:
    """A number that changes, as a tensor with one element may."""

    value = 0.5

    def __float__(self) -> float:
        return self.value


def scales() -> None:
    driver = StubDriver()
    kernel, scale = load("scales", driver), Scalar()
    found = []
    for scale.value in (0.5, 0.25):
        kernel.backward(**tensors(), scale=scale)
        found.append(last(kernel, driver, 3, "scale"))
    assert found == [0.5, 0.25]
    for wrong, message in (
        ("x", "expected a number, found 'x'"),
        ([], "expected a number, found []"),
        (1e39, "expected a number of f32, found inf"),
        (float("nan"), "expected a number of f32, found nan"),
        (10**400, f"expected a number, found {10**400!r}"),
    ):
        assert (
            refused(lambda wrong=wrong: kernel.backward(**tensors(), scale=wrong), ArgumentError)
            == f"scale: {message}"
        )


def numbers() -> None:
    """Numbers of a call that are none, or that the kernel cannot take."""
    kernel = load("numbers", StubDriver())
    for wrong in (
        {"pointer": "q"},
        {"pointer": -1},
        {"pointer": 2**64},
        {"shape": [1, 2]},
        {"strides": None},
        {"device": None},
        {"strides": (2**64, 1, 1, 1)},
        {"shape": (2, -4, 256, 128)},
    ):
        found = refused(lambda wrong=wrong: replace(tensors()["q"], **wrong), ArgumentError)
        assert found.startswith(
            "expected an address, a shape, strides and a device as whole numbers, found "
        ), found
    assert (
        refused(lambda: Tensor(1, (1,), (1,), "f8"), ArgumentError)
        == "expected elements of bf16, f16, f32 or i32, found 'f8'"
    )
    for stream in (-1, 2**64, 1.5, types.SimpleNamespace(ptr="x")):
        assert "stream: expected a number or a stream" in refused(
            lambda stream=stream: kernel.backward(**tensors(), stream=stream), ArgumentError
        )
    sizes = {"batch": 2, "heads": 4, "kv_heads": 4, "q_rows": 256}
    for wrong in ("256", 2.0, 2**64):
        found = refused(lambda wrong=wrong: kernel.reserve(**sizes, kv_rows=wrong), ArgumentError)
        assert found == f"reserve: expected kv_rows to be a whole number, found {wrong!r}", found
    found = refused(lambda: kernel.reserve(**sizes, kv_rows=0), ArgumentError)
    assert found == "'attention_bwd' serves kv_rows = 1 to 16777216, found 0", found
    found = refused(lambda: replace(tensors()["q"], strides=(1, 1)), ArgumentError)
    assert (
        found == "expected a stride for each dimension, found (1, 1) for shape (2, 4, 256, 128)"
    ), found

    def passes(raw: dict[str, Any]) -> None:
        raw["derived"]["much"] = "q_rows * 16777216"
        raw["entries"][3]["parameters"].append({"name": "much", "type": "i32"})

    found = refused(
        lambda: load("passes", StubDriver(), passes).backward(**tensors()), ArgumentError
    )
    assert found == "'much' of 4294967296 is no i32, as the kernel takes it", found


for test in (
    memory_runs_out,
    sums_of_parts,
    captures_clear_nothing,
    plans_keep_no_tensor,
    array_interfaces,
    per_thread_streams,
    bound_plans_wait_for_each_other,
    scales,
    numbers,
):
    test()
