"""libdash's plans: everything about the launches of one problem but addresses, strides and the
scale."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress

from ..errors import DriverError
from ..support.forks import new_lock
from .driver import Driver
from .library import HANDLER, Arguments, Handle, Memory, Region, check, library, make, named


class Table:
    """An order on a device, complete. Its memory lives as long as this object."""

    total = 0  # bytes of all of them
    _lock = new_lock()  # what collects garbage may do so while it is held

    def __init__(self, driver: Driver, device: int, size: int) -> None:
        with driver.on(device), driver.in_captures():
            self.memory = Memory(driver.allocate(size, "the order"), size)
        with Table._lock:
            Table.total += size
        weakref.finalize(self, Table._free, driver, device, self.memory).atexit = False

    @staticmethod
    def _free(driver: Driver, device: int, memory: Memory) -> None:
        with Table._lock:
            Table.total -= memory.bytes
        # a child of a fork has no device
        with suppress(DriverError), driver.on(device), driver.in_captures():
            driver.free(memory.address)


class Plan:
    """table: where its order is, if that is a table; the same for all plans of a kernel on a
    device."""

    def __init__(
        self,
        kernel: Handle,
        device: int,
        sizes: Mapping[str, int],
        tables: dict[int, Table],
        has_table: bool,
    ) -> None:
        lib, given = library(), named(sizes)
        self.handle = make(lib.dashPlanCreate, kernel, device, given, len(given))
        # threads may still run it at the end
        weakref.finalize(self, lib.dashPlanDestroy, self.handle).atexit = False
        self.workspace_bytes = lib.dashPlanGetWorkspaceBytes(self.handle)
        self.order_bytes = lib.dashPlanGetOrderBytes(self.handle)
        self.is_table = has_table and self.order_bytes != 0
        self.sizes = dict(sizes)
        self._device, self._tables = device, tables

    @property
    def table(self) -> Table | None:
        return self._tables.get(self._device) if self.is_table else None

    @property
    def steps(self) -> list[str]:
        """The roles of the entries that every run launches."""
        lib = library()
        return [
            lib.dashPlanGetStepRole(self.handle, i).text
            for i in range(lib.dashPlanGetNumSteps(self.handle))
        ]

    def regions(self) -> dict[str, Region]:
        lib = library()
        found = [
            lib.dashPlanGetRegion(self.handle, i)
            for i in range(lib.dashPlanGetNumRegions(self.handle))
        ]
        return {region.name.text: region for region in found}

    def check(self, stream: int, arguments: Arguments) -> None:
        check(library().dashPlanCheck(self.handle, stream, ctypes.byref(arguments), HANDLER, None))

    def capture_query(self, stream: int) -> Callable[[], bool]:
        """A function that says whether the stream is being captured: asked before every launch,
        by one thread at a time."""
        ask, handle, found = library().dashPlanIsCapturing, self.handle, ctypes.c_int32()
        reference = ctypes.byref(found)

        def is_capturing() -> bool:
            status = ask(handle, stream, HANDLER, None, reference)
            if status:
                check(status)
            return found.value != 0

        return is_capturing

    def clear(self, stream: int, workspace: Memory) -> None:
        check(library().dashPlanClear(self.handle, stream, workspace, HANDLER, None))

    def make_order(self, stream: int, order: Memory) -> None:
        check(library().dashPlanMakeOrder(self.handle, stream, order, HANDLER, None))

    def copy_table(self, driver: Driver, device: int) -> None:
        """Once for all streams, and done when it returns. Some stream may be being captured
        meanwhile."""
        table = Table(driver, device, self.order_bytes)
        with driver.on(device), driver.in_captures(), driver.stream() as stream:
            self.make_order(stream, table.memory)
            driver.synchronize(stream)
        self._tables[device] = table
