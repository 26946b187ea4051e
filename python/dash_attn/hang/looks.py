"""Looks at the counters of a launch, on a device or in a dump."""

from __future__ import annotations

import io
import json
import weakref
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import ArgumentError
from ..kernel.library import Handle, Memory, StringRef, library, make
from ..kernel.plan import Plan
from ..kernel.workspace import aligned
from ..support.files import appears, read_bytes

MOST_BYTES = 1 << 36  # of a dump
MANIFEST, SIZES = "manifest.json", "sizes.json"


class Look:
    """What the counters of a launch say. given, total: turns; data: for programs, all workers of
    it."""

    def __init__(self, handle: Handle) -> None:
        lib, self._handle = library(), handle
        weakref.finalize(self, lib.dashTurnsDestroy, handle).atexit = False
        self.given, self.total = lib.dashTurnsGetNumGiven(handle), lib.dashTurnsGetNumTurns(handle)
        self.data: dict[str, Any] = json.loads(lib.dashTurnsGetJson(handle).text)

    @property
    def is_done(self) -> bool:
        return self.given == self.total

    def describe(self, before: Look | None = None) -> str:
        """Lines for people. before: a look at the same launch some time earlier, which tells what
        is slow from what stands still."""
        return (
            library()
            .dashTurnsDescribe(self._handle, before._handle if before else Handle())
            .text.rstrip("\n")
        )

    def json(self) -> str:
        """Returns `data` as JSON text."""
        return json.dumps(self.data, indent=1)

    def region(self, index: int) -> bytes:
        """What was read of a region of the plan; empty where nothing was."""
        return library().dashTurnsGetRegion(self._handle, index).bytes


def read(plan: Plan, workspace: Memory, order: Memory) -> Look:
    """A look at a launch that is under way, or at what one has left: `launch.plan` and
    `launch.memory()`. Waits for no kernel. Raises ArgumentError where the kernel takes no turns or
    the counters are not those of such a launch, DriverError where the device does not answer."""
    return Look(make(library().dashPlanReadTurns, plan.handle, workspace, order))


def explain(manifest: str, sizes: Mapping[str, int], regions: Mapping[str, bytes]) -> Look:
    """The same of bytes: of the regions of the workspace by their names, or of all of it as
    "workspace". The order is the region `order`. Raises ArgumentError, ManifestError."""
    return Dump(manifest, dict(sizes), dict(regions)).look()


def _plan_of(manifest: str, sizes: Mapping[str, int]) -> Plan:
    """Says where regions are. It has no driver, and no code."""
    text, nothing = manifest.encode(), b""
    kernel = make(
        library().dashKernelCreate, Handle(), *map(StringRef.of, (text, nothing, nothing))
    )
    try:
        return Plan(kernel, 0, sizes, {}, has_table=False)
    finally:
        library().dashKernelDestroy(kernel)


@dataclass
class Dump:
    """Counters and order of a launch, with all that it takes to read them."""

    manifest: str
    sizes: dict[str, int]
    regions: dict[str, bytes]

    @staticmethod
    def of(plan: Plan, manifest: str, look: Look) -> Dump:
        """A dump of what `look` has read: `plan` and `manifest` are its launch's."""
        return Dump(
            manifest,
            dict(plan.sizes),
            {
                name: look.region(index)
                for index, name in enumerate(plan.regions())
                if library().dashPlanReadsRegion(plan.handle, index)
            },
        )

    def save(self, path: str | Path) -> None:
        """A .zip, whole or not at all."""
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(MANIFEST, self.manifest)
            archive.writestr(SIZES, json.dumps(self.sizes))
            for name, data in self.regions.items():
                archive.writestr(name, data)
        with appears(Path(path)) as part:
            part.write_bytes(buffer.getvalue())

    @staticmethod
    def load(path: str | Path) -> Dump:
        """What `save` has written, perhaps elsewhere. Raises ArgumentError."""
        try:
            with zipfile.ZipFile(io.BytesIO(read_bytes(path, MOST_BYTES))) as archive:
                total = sum(member.file_size for member in archive.infolist())
                if total > MOST_BYTES:
                    raise ArgumentError(
                        f"{path}: expected at most {MOST_BYTES} bytes in it, found {total}"
                    )
                files = {name: archive.read(name) for name in archive.namelist()}
            manifest, sizes = files.pop(MANIFEST).decode(), json.loads(files.pop(SIZES))
        except (zipfile.BadZipFile, KeyError, UnicodeDecodeError, json.JSONDecodeError) as error:
            raise ArgumentError(
                f"{path}: expected a dump of hang.watch, with '{MANIFEST}', '{SIZES}' and regions:"
                f" {error}"
            ) from None
        if not isinstance(sizes, dict) or not all(type(value) is int for value in sizes.values()):
            raise ArgumentError(
                f"{path}: expected sizes as whole numbers by their names, found {str(sizes)[:80]}"
            )
        return Dump(manifest, sizes, files)

    def look(self) -> Look:
        """What the dump says of its launch. Raises ArgumentError if regions are missing or are
        another program's."""
        plan, lib = _plan_of(self.manifest, self.sizes), library()
        found = plan.regions()
        given = self._cut(plan, found) if "workspace" in self.regions else self.regions
        if unknown := sorted(set(given) - set(found)):
            raise ArgumentError(
                f"expected regions of the kernel ({', '.join(found)}), found '{unknown[0]}': the"
                " dump is another program's"
            )
        read_ones = [
            name for index, name in enumerate(found) if lib.dashPlanReadsRegion(plan.handle, index)
        ]
        if missing := [name for name in read_ones if name not in given]:
            raise ArgumentError(
                f"expected the region '{missing[0]}', found {', '.join(sorted(given)) or 'none'}; "
                + (
                    "hand over the order that the launch reads"
                    if missing == ["order"]
                    else "the dump is cut, or another program's"
                )
            )
        regions = (StringRef * len(found))(*(StringRef.of(given.get(name, b"")) for name in found))
        return Look(make(lib.dashPlanExplainTurns, plan.handle, regions, len(regions)))

    def _cut(self, plan: Plan, found: Mapping[str, Any]) -> dict[str, bytes]:
        """A workspace as a whole, with the order behind it or beside it."""
        whole, rest = (
            self.regions["workspace"],
            {name: data for name, data in self.regions.items() if name != "workspace"},
        )
        behind = aligned(plan.workspace_bytes)
        if len(whole) < plan.workspace_bytes:
            raise ArgumentError(
                f"the workspace: expected {plan.workspace_bytes} bytes for these sizes, found"
                f" {len(whole)}; it is cut, or of other sizes"
            )
        cut = {
            name: whole[one.offset : one.offset + one.bytes]
            for name, one in found.items()
            if not one.is_order
        }
        if "order" not in rest and len(whole) >= behind + plan.order_bytes > behind:
            cut |= {
                name: whole[behind + one.offset : behind + one.offset + one.bytes]
                for name, one in found.items()
                if one.is_order
            }
        return cut | rest
