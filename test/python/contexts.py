# RUN: %python %s %t
# REQUIRES: python, plain-libdash
"""Every call that a host may make works in a thread without a context, with that of the device, of
another one, or one of no device primary; it is made on its own device, and what was current before
is current afterwards. The driver refuses whatever finds no context, or launches in another one, and
writes it down."""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

from fixtures import refused, tensors, write  # noqa: E402
from stub_driver import STUB, StubDriver  # noqa: E402

from dash_attn import ArgumentError, DriverError, Kernel, Tensor  # noqa: E402
from dash_attn.kernel.launch import references  # noqa: E402
from dash_attn.kernel.library import (
    HANDLER,
    Arguments,
    Handle,
    Memory,
    StringRef,
    check,
    library,
    make,
    named,
)  # noqa: E402
from dash_attn.kernel.plan import Plan  # noqa: E402

TMP = Path(sys.argv[1])
FOREIGN = 0xF0E  # a context, and a stream of it
PER_THREAD = 2
SIZES = {"batch": 2, "heads": 4, "kv_heads": 4, "q_rows": 256, "kv_rows": 256}
OF_TABLE = SIZES | {"q_rows": 4096, "kv_rows": 4096}
CUDA = ctypes.CDLL(STUB)
CUDA.cuCtxPushCurrent_v2.argtypes = (ctypes.c_void_p,)


def current() -> int | None:
    found = ctypes.c_void_p()
    assert CUDA.cuCtxGetCurrent(ctypes.byref(found)) == 0
    return found.value


def in_thread(call: Callable[[], Any], context: int | None = None) -> None:
    """Runs a call in a thread of its own, which has this context or none, before and after it."""
    failures: list[BaseException] = []

    def body() -> None:
        try:
            assert current() is None
            if context:
                assert CUDA.cuCtxPushCurrent_v2(context) == 0
            call()
            assert current() == context, (current(), context)
            if context:
                assert CUDA.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p())) == 0
            assert current() is None
        except BaseException as error:  # noqa: BLE001  (the test fails by it, in its own thread)
            failures.append(error)

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    if failures:
        raise failures[0]


def contexts(driver: StubDriver) -> dict[str, int | None]:
    found: dict[str, int | None] = {"none": None, "foreign": FOREIGN}
    for device in (0, 1):
        with driver.on(device):
            found[f"of device {device}"] = current()
    return found


def on_device(device: int, **sizes: int) -> dict[str, Tensor]:
    return {
        name: replace(tensor, pointer=tensor.pointer | device << 60, device=device)
        for name, tensor in tensors(**sizes).items()
    }


class OfInterface:
    def __init__(self, tensor: Tensor) -> None:
        self.__cuda_array_interface__ = {
            "version": 3,
            "data": (tensor.pointer, False),
            "shape": tensor.shape,
            "typestr": "<f4" if tensor.dtype == "f32" else "<u2",
        }


def device_in_use() -> None:
    """First of all, while no other device is in use: whose memory a pointer is asks none that is
    not in use."""
    driver = StubDriver()
    with driver.on(1):
        pass
    driver.calls()
    in_thread(lambda: driver.device_of(1 << 60))
    assert driver.calls() == []
    assert driver.device_of(1 << 60) == 1 and driver.device_of(1 << 40) == 0


def python_calls() -> None:
    driver, table = StubDriver(), bytes(range(64))
    for word, context in contexts(driver).items():
        for device in (0, 1):
            # cold: its code is not loaded.
            kernel = Kernel.load(write(TMP / word / str(device)), driver)
            given = on_device(device)
            driver.names()
            in_thread(lambda: kernel.backward(**given), context)
            assert len(driver.launches()) == 4
            in_thread(lambda: kernel.backward(**given, stream=7), context)
            in_thread(lambda: kernel.backward(**given, stream=PER_THREAD), context)
            in_thread(lambda: kernel.bind(**given).run(), context)
            in_thread(
                lambda: kernel.backward(
                    **{name: OfInterface(tensor) for name, tensor in given.items()}
                ),
                context,
            )
            in_thread(lambda: kernel.reserve(device=device, stream=9, **SIZES), context)
            bound = kernel.bind(**given)
            in_thread(lambda: (bound.ready(), bound.run_step(0)), context)
            in_thread(lambda: driver.device_of(given["q"].pointer), context)
            assert len(driver.launches()) == 4 + 4 + 3 + 3 + 1 + 1  # the order once for each stream
            tabled = Kernel.load(write(TMP / word / str(device) / "table", table=table), driver)
            given = on_device(device, q_rows=4096, kv_rows=4096)
            in_thread(lambda: tabled.backward(**given), context)
            in_thread(lambda: tabled.backward(**given, stream=7), context)
            assert [name for name in driver.names() if name == "attention_bwd_main"] == [
                "attention_bwd_main"
            ] * 2
            del kernel, tabled, bound
            in_thread(gc.collect, context)
            driver.calls()


def c_calls() -> None:
    """The same of each function of the C API that looks at a device."""
    driver, lib, table = StubDriver(), library(), bytes(range(64))
    for word, context in contexts(driver).items():
        for device in (0, 1):
            for order in (b"", table):
                path = str(write(TMP / "c" / word / str(device), table=order)).encode()
                sizes = OF_TABLE if order else SIZES
                kernel, plan, given = (
                    make(lib.dashKernelOpen, driver.handle, StringRef.of(path)),
                    Handle(),
                    named(sizes),
                )
                driver.calls()
                in_thread(
                    lambda: check(
                        lib.dashPlanCreate(
                            kernel, device, given, len(given), HANDLER, None, ctypes.byref(plan)
                        )
                    ),
                    context,
                )
                assert [call[0] for call in driver.calls()].count("load") == 1
                tensors_ = references(
                    list(
                        on_device(device, q_rows=sizes["q_rows"], kv_rows=sizes["kv_rows"]).values()
                    )
                )
                workspace = Memory(1 << 50 | device << 60, lib.dashPlanGetWorkspaceBytes(plan))
                memory = Memory(1 << 51 | device << 60, lib.dashPlanGetOrderBytes(plan))
                arguments = Arguments(tensors_, len(tensors_), 0.5, workspace, memory)
                is_capturing = ctypes.c_int32(7)
                steps = lib.dashPlanGetNumSteps(plan)
                orders = 0 if order else 1
                reference = ctypes.byref(arguments)
                for expected, name, one in (
                    (0, "Clear", workspace),
                    (orders, "MakeOrder", memory),
                    (0, "Check", reference),
                    (steps, "Run", reference),
                    (steps + orders, "RunAnew", reference),
                ):
                    in_thread(
                        lambda: check(
                            getattr(lib, f"dashPlan{name}")(plan, None, one, HANDLER, None)
                        ),
                        context,
                    )
                    assert len(driver.launches()) == expected, name
                in_thread(
                    lambda: check(lib.dashPlanRunStep(plan, 1, None, reference, HANDLER, None)),
                    context,
                )
                in_thread(
                    lambda: check(
                        lib.dashPlanIsCapturing(
                            plan, None, HANDLER, None, ctypes.byref(is_capturing)
                        )
                    ),
                    context,
                )
                assert len(driver.launches()) == 1 and is_capturing.value == 0
                in_thread(
                    lambda: (lib.dashKernelDestroy(kernel), lib.dashPlanDestroy(plan)), context
                )
                assert [call for call in driver.calls() if call[0] in ("unload", "release")] == [
                    ["unload"],
                    ["release", str(device)],
                ]


def whose_capture() -> None:
    """The default stream of a thread is one for each device: asked is that of the launch, whatever
    is current."""
    driver = StubDriver(capturing=f"{PER_THREAD}@1")
    kernel = Kernel.load(write(TMP / "capture"), driver)
    for word, context in contexts(driver).items():
        for device, is_captured in ((0, False), (1, True)):
            plan = Plan(kernel._loaded(), device, SIZES, {}, False)
            found: list[bool] = []
            in_thread(lambda: found.append(plan.capture_query(PER_THREAD)()), context)
            assert found == [is_captured], (word, device)


def streams_of_others() -> None:
    """A stream of another context takes nothing from this one: said so, and nothing is launched."""
    driver = StubDriver()
    kernel = Kernel.load(write(TMP / "stream"), driver)
    driver.names()
    found = refused(lambda: kernel.backward(**tensors(), stream=FOREIGN), ArgumentError)
    assert (
        found
        == "fill 128 bytes: CUDA_ERROR_INVALID_HANDLE (400): invalid resource handle; expected a"
        " stream of the primary context of device 0, found one of another context or device"
    ), found
    assert driver.launches() == []


def no_such_device() -> None:
    driver = StubDriver()
    kernel = Kernel.load(write(TMP / "device"), driver)
    found = refused(lambda: kernel.reserve(device=7, **SIZES), DriverError)
    assert found == "take the context of device 7: CUDA_ERROR_UNKNOWN (101): unknown error", found


for test in (
    device_in_use,
    python_calls,
    c_calls,
    whose_capture,
    streams_of_others,
    no_such_device,
):
    test()
