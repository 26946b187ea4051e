"""libdash's plans: everything about the launches of one problem but addresses, strides and the scale."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Mapping

from .driver import Driver
from .library import HANDLER, Arguments, Handle, Memory, Region, Size, StringRef, check, library, make


class Plan:
    """table: where its order is, if that is a table; the same for all plans of a kernel on a device."""

    def __init__(self, kernel: Handle, device: int, sizes: Mapping[str, int], tables: dict[int, Memory], has_table: bool) -> None:
        lib, names = library(), [name.encode() for name in sizes]
        given = (Size * len(names))(*(Size(StringRef.of(name), value) for name, value in zip(names, sizes.values())))
        self.handle = make(lib.dashPlanCreate, kernel, device, given, len(names))
        weakref.finalize(self, lib.dashPlanDestroy, self.handle)
        self.workspace_bytes = lib.dashPlanGetWorkspaceBytes(self.handle)
        self.order_bytes = lib.dashPlanGetOrderBytes(self.handle)
        self.is_table = has_table and self.order_bytes != 0
        self._device, self._tables = device, tables

    @property
    def table(self) -> Memory | None:
        return self._tables.get(self._device) if self.is_table else None

    @property
    def steps(self) -> list[str]:
        """The roles of the entries that every run launches."""
        lib = library()
        return [lib.dashPlanGetStepRole(self.handle, i).text for i in range(lib.dashPlanGetNumSteps(self.handle))]

    def regions(self) -> dict[str, Region]:
        lib = library()
        found = [lib.dashPlanGetRegion(self.handle, i) for i in range(lib.dashPlanGetNumRegions(self.handle))]
        return {region.name.text: region for region in found}

    def check(self, stream: int, arguments: Arguments) -> None:
        check(library().dashPlanCheck(self.handle, stream, ctypes.byref(arguments), HANDLER, None))

    def clear(self, stream: int, workspace: Memory) -> None:
        check(library().dashPlanClear(self.handle, stream, workspace, HANDLER, None))

    def make_order(self, stream: int, order: Memory) -> None:
        check(library().dashPlanMakeOrder(self.handle, stream, order, HANDLER, None))

    def copy_table(self, driver: Driver, device: int) -> None:
        """Once for all streams, and done when it returns."""
        with driver.on(device):
            table = Memory(driver.allocate(self.order_bytes, "the order"), self.order_bytes)
            self.make_order(0, table)
            driver.synchronize(0)
        self._tables[device] = table
