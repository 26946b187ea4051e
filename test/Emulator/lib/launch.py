"""Launches a kernel from its manifest on the emulator: memory of all tensors and of the workspace,
poisoned where it may hold anything, and entries in their order."""

from __future__ import annotations

import hashlib
import json
import re
import struct
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
from lanes import u16
from machine import Machine
from memory import POISON
from ptx_text import Wrong

EXPRESSION = re.compile(r"(?!.*\*\*)[a-z0-9_+\-*%(), ]{1,1000}")
FUNCTIONS = {
    "__builtins__": {},
    "min": min,
    "max": max,
    "ceildiv": lambda a, b: -(-a // b),
    "align": lambda a, b: -(-a // b) * b,
}
BITS = {"f32": np.float32, "i32": np.int32}
ALL_GIVEN = 2**32 - 1  # behind a chain's last turn
PADDING = 8  # elements behind a row, of tensors that are padded


def laid_out(shape: list[int], memory: str) -> tuple[list[int], int]:
    """Strides, and how many words there are: "bhsd" contiguous, "bshd" with heads behind rows,
    "padded" with room behind each row."""
    if len(shape) < 4 or memory == "bhsd":
        sizes, order = shape, range(len(shape))
    else:
        sizes, order = (
            [*shape[:3], shape[3] + PADDING * (memory == "padded")],
            ((0, 2, 1, 3) if memory == "bshd" else range(4)),
        )
    strides, words = [0] * len(shape), 1
    for dimension in reversed(order):
        strides[dimension], words = words, words * max(sizes[dimension], 1)
    return strides, words


class Kernel:
    def __init__(self, manifest: Path):
        self.path = manifest
        self.manifest = json.loads(manifest.read_text(encoding="utf-8"))
        self.text = manifest.with_name(self.manifest["ptx"]["file"]).read_text(encoding="utf-8")
        order = self.manifest["order"]
        self.order = manifest.with_name(order["file"]).read_bytes() if "file" in order else b""
        if self.order and hashlib.sha256(self.order).hexdigest() != order["sha256"]:
            raise Wrong(f"{order['file']} is not the file that the manifest was written for")
        self.trace = b""  # of the last run
        self.machine: Machine | None = None  # its memory is what a run that hangs has left
        # What counters of turns may be behind a run: of tiles without a chain 0, where no entry
        # waits for them.
        apart = {"all": ("turns", "dk_turns", "dv_turns"), "parts": ("dk_turns", "dv_turns")}.get(
            self.manifest["program"].get("apart"), ()
        )
        left = (
            {ALL_GIVEN}
            if any(entry.get("overlaps") for entry in self.manifest["entries"])
            else {ALL_GIVEN, 0}
        )
        self.chains = {
            name: left
            for name in ("turns", "dk_turns", "dv_turns")
            if name not in apart and self.manifest["program"]["deterministic"]
        }

    def number(self, expression: str, values: dict[str, int]) -> int:
        # Manifests may have anything: nothing that has members, and no text.
        if not EXPRESSION.fullmatch(expression):
            raise Wrong(f"expected an expression of sizes, found '{expression[:80]}'")
        return eval(expression, FUNCTIONS, values)  # noqa: S307 - names, numbers, calls of FUNCTIONS

    def values(self, sizes: dict[str, int]) -> dict[str, int]:
        """Sizes, and what is derived from them."""
        program = self.manifest["program"]
        for name, allowed in self.manifest["sizes"].items():
            low, high = (
                allowed.get("value", allowed.get("min")),
                allowed.get("value", allowed.get("max")),
            )
            if not low <= sizes[name] <= high:
                raise Wrong(f"{name} must be {low} to {high}, found {sizes[name]}")
        values = sizes | {"workers": program["workers"], "width": program["width"]}
        for name, text in self.manifest["derived"].items():
            values[name] = self.number(text, values)
        return values

    def run(
        self,
        inputs: dict[str, np.ndarray],
        sizes: dict[str, int],
        scale: float,
        seed: int,
        memory: str = "bhsd",
        roles: Collection[str] | None = None,
    ) -> dict[str, np.ndarray]:
        """Inputs are words of the manifest's types, [batch, heads, rows, head dim] and [batch,
        heads, rows]; so are the outputs. roles: of the entries that are launched; None for all but
        those that a host asks for."""
        machine, values = Machine(self.text, seed), self.values(sizes)
        self.machine = machine
        known: dict[str, Any] = values | {"scale": scale}
        tensors, outputs = {}, []
        for tensor in self.manifest["tensors"]:
            name, dtype = tensor["name"], BITS.get(tensor["element"], u16)
            shape = [self.number(size, values) for size in tensor["shape"]]
            strides, words = laid_out(shape, memory)
            known[name] = machine.memory.allocate(
                name, words * np.dtype(dtype).itemsize, tensor["access"] == "write"
            )
            known |= {
                f"{name}.stride.{dimension}": stride
                for dimension, stride in zip(("batch", "head", "row"), strides)
            }
            tensors[name] = lambda name=name, dtype=dtype, shape=shape, strides=strides: (
                np.lib.stride_tricks.as_strided(
                    machine.memory.view(name, dtype),
                    shape,
                    [stride * np.dtype(dtype).itemsize for stride in strides],
                )
            )
            if tensor["access"] == "write":
                outputs.append(name)
            else:
                tensors[name]()[...] = inputs[name]
        for region in self.manifest["workspace"]:
            name, size = f"workspace.{region['name']}", self.number(region["bytes"], values)
            known[name] = machine.memory.allocate(name, size, region["initial"] != "file")
            if region["initial"] == "zero":
                machine.memory.view(name, np.uint8)[:] = 0
            elif region["initial"] == "file":
                machine.memory.view(name, np.uint8)[: len(self.order)] = np.frombuffer(
                    self.order, np.uint8
                )
        self.launch(machine, known, values, roles)
        if "trace" in self.manifest:
            self.trace = machine.memory.view("workspace.trace", np.uint8).tobytes()
        found = {name: tensors[name]().copy() for name in outputs}
        for name in outputs:
            tensors[name]()[...] = np.full(4, POISON, np.uint8).view(found[name].dtype)[0]
            if (machine.memory.view(name, np.uint8) != POISON).any():
                raise Wrong(f"writes between the rows of {name}")
        return found

    def region(self, name: str) -> bytes:
        """Bytes of the last run's workspace."""
        return self.machine.memory.view(f"workspace.{name}", np.uint8).tobytes()

    def launch(
        self,
        machine: Machine,
        known: dict[str, Any],
        values: dict[str, int],
        roles: Collection[str] | None,
    ) -> None:
        for entry in self.manifest["entries"]:
            if entry["when"] == "asked" if roles is None else entry["role"] not in roles:
                continue
            grid = [self.number(size, values) for size in entry["grid"]]
            words = []
            for parameter in entry["parameters"]:
                value = known[parameter["name"]]
                words.append(
                    (
                        parameter["type"],
                        (
                            struct.unpack("I", struct.pack("f", value))[0]
                            if parameter["type"] == "f32"
                            else value
                        ),
                    )
                )
            machine.launch(
                entry["name"],
                grid[0],
                entry["block"][0],
                entry["shared_bytes"],
                words,
                entry["role"] == "main",
            )
        if roles is not None and "main" not in roles:
            return
        for region in self.manifest["workspace"]:
            name = region["name"]
            words = machine.memory.view(f"workspace.{name}", np.uint32)
            if region["after"] == "zero" and words.any():
                raise Wrong(f"the region {name} is not zero again")
            if name in self.chains and not set(words.tolist()) <= self.chains[name]:
                raise Wrong(f"the region {name} does not say of each tile that all turns are given")
