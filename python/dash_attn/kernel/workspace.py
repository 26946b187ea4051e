"""The memory that a kernel needs beside its tensors: one block for each device and stream, kept and
grown."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ..errors import ArgumentError, DriverError
from ..support.forks import new_lock
from .driver import Driver
from .library import Memory
from .plan import Plan

ALIGNMENT = 256  # DASH_ALIGNMENT
PER_THREAD = 2  # CU_STREAM_PER_THREAD: one handle, and a stream of its own for each thread
_threads = threading.local()

# Gives (address, what keeps it alive) for a number of bytes, in a stream's order.
Allocator = Callable[[int, int], tuple[int, Any]]


class Thread:
    """Stands for a thread, for as long as it runs."""


def this_thread() -> Thread:
    """Numbers of threads are given out again; this is not."""
    if not hasattr(_threads, "token"):
        _threads.token = Thread()
    return _threads.token


class Block:
    """Memory of a device, as long as this object lives. owner: keeps it alive; None is the driver,
    which waits for work that may use it."""

    def __init__(self, driver: Driver, device: int, pointer: int, owner: Any) -> None:
        self.pointer, self._owner = pointer, owner
        if owner is None:
            weakref.finalize(self, _free, driver, device, pointer).atexit = False


def _free(driver: Driver, device: int, pointer: int) -> None:
    # A child of a fork has no device.
    with suppress(DriverError), driver.on(device), driver.in_captures():
        driver.free(pointer)


# Graphs may run them to the end of the process, by their ids.
_captured: dict[tuple[int, int], tuple[Block | None, Plan]] = {}


class Workspace:
    """One stream's memory: a plan's workspace, and its order behind it. Not for two launches at a
    time.

    A run begins its own counters, and leaves the order as it was. What has to be zero is zero
    again; so both are made for the first run of a plan only. A graph that has captured a run fills
    them whenever it is replayed: from then on every run makes its own.
    """

    def __init__(self, driver: Driver, device: int, stream: int, name: str) -> None:
        self.driver, self.device, self.stream, self._name = driver, device, stream, name
        self.lock = new_lock()  # held during a launch on this stream
        self.plan: Plan | None = None  # whose counters and order are in it
        self.bytes = self.pointer = 0
        self.moves = 0  # counts changes: users that keep addresses check whether they still hold
        self._is_captured = False
        self._block: Block | None = None
        self._thread = weakref.ref(this_thread()) if stream == PER_THREAD else None

    def place(self, plan: Plan) -> tuple[Memory, Memory]:
        """Where the plan's workspace is, and its order."""
        order = self.pointer + aligned(plan.workspace_bytes)
        return Memory(self.pointer, plan.workspace_bytes), (
            plan.table.memory if plan.table else Memory(order, plan.order_bytes)
        )

    def region(self, name: str) -> tuple[int, int]:
        """Address and bytes of a region of the plan that is ready."""
        found = self.plan.regions()[name]
        return self.place(self.plan)[found.is_order].address + found.offset, found.bytes

    def provide(self, plan: Plan, is_capturing: bool, allocate: Allocator | None = None) -> None:
        """Makes it ready for a run of the plan; is_capturing: the stream is. Raises ArgumentError
        in a capture that would have to allocate."""
        if self._thread is not None and self._thread() is not this_thread():
            raise ArgumentError(
                "this plan is for the per-thread default stream of another thread; bind it in"
                " this one"
            )
        if self.plan is plan and not (is_capturing or self._is_captured):
            return
        needed = aligned(plan.workspace_bytes) + (0 if plan.is_table else plan.order_bytes)
        if is_capturing and needed > self.bytes:
            raise ArgumentError(
                f"the stream is being captured, and needs {needed} bytes of workspace that it does"
                " not have yet: call backward or reserve with these sizes on this stream before"
                " the capture"
            )
        if plan.is_table and not plan.table:
            plan.copy_table(self.driver, self.device)
        if needed > self.bytes:
            self._grow(needed, allocate)
        if is_capturing:
            self._is_captured = True
            _captured[id(self._block), id(plan)] = self._block, plan
        self.plan = None
        workspace, order = self.place(plan)
        plan.clear(self.stream, workspace)
        if not plan.is_table:
            plan.make_order(self.stream, order)
        self.plan = plan
        self.moves += 1

    def forget(self) -> None:
        """A launch failed, or other code wrote into it: counters and order are made again."""
        self.plan = None

    def _grow(self, needed: int, allocate: Allocator | None) -> None:
        def take() -> Block:
            if allocate:
                return Block(self.driver, self.device, *allocate(needed + ALIGNMENT, self.stream))
            with self.driver.on(self.device):
                return Block(
                    self.driver,
                    self.device,
                    self.driver.allocate(needed + ALIGNMENT, f"the workspace of '{self._name}'"),
                    None,
                )

        try:
            taken = take()
        except RuntimeError:  # PyTorch's and ours alike: there may be room without what we hold
            if self.pointer == 0 or self._is_captured:
                raise
            self.plan, self.pointer, self.bytes, self._block = None, 0, 0, None
            taken = take()
        # What was there goes, or stays for the graphs that use it.
        self.plan, self._block, self.bytes, self._is_captured = None, taken, needed, False
        self.pointer = aligned(taken.pointer)


def aligned(number: int) -> int:
    return -(-number // ALIGNMENT) * ALIGNMENT
