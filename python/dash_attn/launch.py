"""A kernel on one device, and its launches with everything but the tensors' addresses settled."""

from __future__ import annotations

import ctypes
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .errors import ArgumentError, CapacityError, ManifestError
from .manifest import Entry, Manifest
from .read_manifest import stride_names
from .tensors import Tensor
from .workspace import Workspace, region_bytes, this_thread

SLOT = 8  # bytes that each parameter's value has, whatever its type
FORMATS = {"i32": "<i", "i64": "<q", "ptr": "<Q", "f32": "<f"}


class DeviceKernel:
    """The PTX assembled for one device. Make it with the device current.

    Raises ManifestError if it was compiled for another kind of device, DriverError with the assembler's log.
    """

    def __init__(self, manifest: Manifest, ptx: bytes, driver: Any, device: int) -> None:
        self.manifest, self.driver, self.device = manifest, driver, device
        self.about = driver.describe(device)
        self._check_target()
        self.module = driver.load_module(ptx, f"'{manifest.ptx_file}' for {self.about['name']}")
        self.functions = {entry.name: driver.function(self.module, entry.name) for entry in manifest.entries}
        self.resident: dict[str, int] = {}
        for entry in manifest.entries:
            self._admit(entry)
        self.order_address = self._upload_order()

    def check_capacity(self, entry: Entry, blocks: int) -> None:
        """Raises CapacityError if the blocks must be resident at one time and cannot. Compiled for more SMs, for one."""
        resident, needed = self.resident[entry.name], blocks if entry.is_cooperative else 0
        if entry.role == "main":
            needed = max(needed, min(self.manifest.program.min_workers, blocks))
        if needed > resident:
            multiprocessors = self.about["multiprocessors"]
            raise CapacityError(
                f"'{entry.name}' needs {needed} resident blocks, found room for {resident} on {self.about['name']}: "
                f"{resident // multiprocessors if multiprocessors else 0} on each of {multiprocessors} multiprocessors; "
                f"compile it with workers={resident}")

    def _check_target(self) -> None:
        target = self.manifest.target
        match = re.fullmatch(r"sm_(\d+)(\d)([af]?)", target)
        if match is None:
            raise ManifestError(f"{self.manifest.path}: cannot read the target '{target}'")
        wanted, found = (int(match[1]), int(match[2])), tuple(self.about["capability"])
        # Code for sm_90a runs on exactly that capability, code for sm_90 on every later one.
        if found != wanted if match[3] else found < wanted:
            raise ManifestError(f"{self.manifest.path}: compiled for {target}, found {self.about['name']} of "
                                f"sm_{found[0]}{found[1]}")

    def _admit(self, entry: Entry) -> None:
        """Opts in to the entry's shared memory, and asks how many of its blocks the device holds at one time."""
        function, limit = self.functions[entry.name], self.about["shared_bytes"]
        if entry.shared_bytes > limit:
            raise CapacityError(f"'{entry.name}' needs {entry.shared_bytes} bytes of shared memory a block, found {limit} "
                                f"on {self.about['name']}")
        if entry.shared_bytes:
            self.driver.allow_shared(function, entry.shared_bytes, entry.name)
        per_multiprocessor = self.driver.blocks_per_multiprocessor(function, entry.threads, entry.shared_bytes)
        self.resident[entry.name] = per_multiprocessor * self.about["multiprocessors"]

    def _upload_order(self) -> int:
        """Address of an order that is a table; 0 if an entry makes the order."""
        if self.manifest.order.source != "file":
            return 0
        data = self.manifest.read_order()
        address = self.driver.allocate(len(data), f"the order '{self.manifest.order.file}'")
        self.driver.write(address, data)
        return address


@dataclass
class Step:
    """One entry's launch. `parameters` is an array of addresses in the plan's values."""

    entry: Entry
    config: Any
    function: Any
    parameters: Any
    address: int


@dataclass
class Plan:
    """All launches of one backward. Sizes, strides, scale and stream are fixed; addresses may change between runs."""

    kernel: DeviceKernel
    workspace: Workspace
    values: dict[str, int]  # sizes, derived sizes, workers, width
    sizes: tuple[int, ...]
    tensors: dict[str, Tensor]  # as of the last check of addresses
    steps: list[Step] = field(default_factory=list)
    allocate: Any = None
    addresses: tuple[int, ...] = ()
    _slots: dict[str, int] = field(default_factory=dict)
    _memory: Any = None
    _address_slots: list[int] = field(default_factory=list)
    _region_bytes: dict[str, int] = field(default_factory=dict)
    _generation: int = -1  # that the addresses in _memory are of; a workspace never shrinks

    @staticmethod
    def make(kernel: DeviceKernel, workspace: Workspace, sizes: Mapping[str, int], tensors: dict[str, Tensor],
             scale: float) -> Plan:
        manifest = kernel.manifest
        plan = Plan(kernel, workspace, manifest.values(sizes), tuple(sizes.values()), tensors)
        for entry in manifest.entries:
            grid = tuple(item(plan.values) for item in entry.grid)
            kernel.check_capacity(entry, grid[0] * grid[1] * grid[2])
        plan._region_bytes = region_bytes(manifest, plan.values)
        names = sorted({(item.name, item.type) for entry in manifest.entries for item in entry.parameters})
        plan._slots = {name: i for i, (name, _) in enumerate(names)}
        # One value more: addresses of tensors that no entry takes go there.
        plan._memory = (ctypes.c_uint64 * (len(names) + 1))()
        known = {**plan.values, **_strides(tensors), "scale": scale}
        for name, type_ in names:
            if name in known:
                try:
                    struct.pack_into(FORMATS[type_], plan._memory, SLOT * plan._slots[name], known[name])
                except (struct.error, OverflowError):
                    raise ArgumentError(f"'{name}' of {known[name]} is no {type_}, as the kernel takes it") from None
        plan._address_slots = [plan._slots.get(name, len(names)) for name in tensors]
        for entry in manifest.entries:
            plan._add(entry)
        return plan

    def point_at(self, addresses: tuple[int, ...]) -> None:
        """Addresses of the tensors, in the manifest's order; checked by the caller."""
        for slot, address in zip(self._address_slots, addresses):
            self._memory[slot] = address
        self.addresses = addresses

    def ready(self) -> bool:
        """Provides the workspace. True if the order has to be made: it is for other sizes, or goes into a graph."""
        workspace = self.workspace
        if workspace.thread is not None and workspace.thread is not this_thread():
            raise ArgumentError("this plan is for the per-thread default stream of another thread; bind it in this one")
        if self._generation != workspace.generation or workspace.is_dirty:
            workspace.provide(self._region_bytes, self.allocate)
        if self.kernel.driver.is_capturing(workspace.stream):
            workspace.is_captured = True
        if self._generation != workspace.generation:
            for name in self.kernel.manifest.workspace:
                slot = self._slots.get(f"workspace.{name}")
                if slot is not None:
                    self._memory[slot] = workspace.address(name) if name in workspace.layout.offsets \
                        else self.kernel.order_address
            self._generation = workspace.generation
        # What a graph captured runs when it is replayed: it makes its own order, and nobody knows whose is there now.
        return workspace.is_captured or workspace.ordered_for != self.sizes

    def run(self) -> None:
        """Launches all entries. Raises DriverError; the workspace is cleared before the next launch then."""
        workspace = self.workspace
        with workspace.lock:
            makes_order, was_dirty = self.ready(), workspace.is_dirty  # dirty still: in a capture, which clears nothing now
            workspace.is_dirty = True
            workspace.ordered_for = None
            for step in self.steps:
                if makes_order or step.entry.when == "always":
                    self.launch(step)
            workspace.ordered_for = self.sizes
            workspace.is_dirty = was_dirty

    def launch(self, step: Step) -> None:
        """One entry alone; for measurements, between `ready` and a whole run."""
        self.kernel.driver.launch(step.config, step.function, step.address, step.entry.name)

    def _add(self, entry: Entry) -> None:
        grid = tuple(item(self.values) for item in entry.grid)
        config = self.kernel.driver.configure(grid, entry.block, entry.cluster, entry.shared_bytes,
                                              self.workspace.stream, entry.is_cooperative)
        start = ctypes.addressof(self._memory)
        addresses = [start + SLOT * self._slots[item.name] for item in entry.parameters]
        parameters = (ctypes.c_void_p * max(len(addresses), 1))(*addresses)
        self.steps.append(Step(entry, config, self.kernel.functions[entry.name], parameters,
                               ctypes.addressof(parameters)))


def _strides(tensors: Mapping[str, Tensor]) -> dict[str, int]:
    return {f"{name}.stride.{dimension}": stride for name, tensor in tensors.items()
            for dimension, stride in zip(stride_names(len(tensor.shape)), tensor.strides)}
