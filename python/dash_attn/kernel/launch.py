"""Launches of one problem on one stream, for tensors of given shapes and strides."""

from __future__ import annotations

import ctypes
import operator
from collections.abc import Sequence
from typing import Any

from .library import HANDLER, Arguments, Memory, TensorRef, check, library
from .plan import Plan
from .tensors import ELEMENTS, Tensor
from .watching import begin, observers
from .workspace import Workspace

WORDS = ctypes.sizeof(TensorRef) // 8


def references(tensors: Sequence[Tensor]) -> ctypes.Array[TensorRef]:
    """Tensors as libdash takes them."""
    found = (TensorRef * len(tensors))()
    for reference, tensor in zip(found, tensors):
        reference.address, reference.element, reference.rank = (
            tensor.pointer,
            ELEMENTS[tensor.dtype],
            len(tensor.shape),
        )
        for i, (size, stride) in enumerate(zip(tensor.shape[:4], tensor.strides)):
            reference.shape[i], reference.strides[i] = size, stride
    return found


class Launch:
    """Keeps no tensor: the code that runs it keeps them. label: its name in reports; manifest: its
    kernel's, as text."""

    label, manifest = "dash", ""

    def __init__(
        self,
        plan: Plan,
        workspace: Workspace,
        tensors: ctypes.Array[TensorRef],
        scale: float,
        allocate: Any,
        clears_rows: bool = False,
    ) -> None:
        """Raises ArgumentError where `run` would. clears_rows: as `Kernel.backward` has it."""
        self.plan, self.workspace, self._tensors, self._allocate = (
            plan,
            workspace,
            tensors,
            allocate,
        )
        self._words = (ctypes.c_uint64 * (WORDS * len(tensors))).from_buffer(tensors)
        self._places = slice(0, WORDS * len(tensors), WORDS)  # of all addresses
        self._arguments = Arguments(tensors, len(tensors), scale, clears_rows=clears_rows)
        self._reference, self._moves = ctypes.byref(self._arguments), -1
        self._run, self._handle, self._stream = library().dashPlanRun, plan.handle, workspace.stream
        self._is_capturing = plan.capture_query(self._stream)
        plan.check(self._stream, self._arguments)

    def run(self) -> None:
        """Launches all entries. Raises DriverError; counters are cleared before the next launch
        then."""
        self.run_with((), None)

    def run_with(self, addresses: Sequence[int], scale: float | None) -> None:
        """The same with other addresses, of all tensors in their order or of none, and another
        scale."""
        with self.workspace.lock:
            if scale is not None:
                self._arguments.scale = scale
            if addresses:
                self._words[self._places] = addresses
            self.ready()
            ends = begin(self) if observers else ()
            try:
                status = self._run(self._handle, self._stream, self._reference, HANDLER, None)
            finally:
                for end in ends:
                    end()
            if status:
                self.workspace.forget()
                check(status)

    @property
    def is_capturing(self) -> bool:
        """Whether the stream is being captured into a graph."""
        return self._is_capturing()

    def memory(self) -> tuple[Memory, Memory]:
        """The workspace of the last run, and its order. Both stay as they are until its stream is
        behind the run."""
        workspace, order = self._arguments.workspace, self._arguments.order
        return Memory(workspace.address, workspace.bytes), Memory(order.address, order.bytes)

    def ready(self) -> None:
        """Everything that a run needs before it; for measurements of `run_step`."""
        workspace = self.workspace
        workspace.provide(self.plan, self._is_capturing(), self._allocate)
        if self._moves != workspace.moves:
            self._arguments.workspace, self._arguments.order = workspace.place(self.plan)
            self._moves = workspace.moves

    def run_step(self, index: int) -> None:
        """One entry alone, of `plan.steps`; for measurements, between `ready` and a whole run."""
        check(
            library().dashPlanRunStep(
                self._handle, index, self._stream, self._reference, HANDLER, None
            )
        )


class Launches:
    """Launches of one problem by kernels that compute a part of the gradients each, one behind the
    other on one stream. It runs as a `Launch` does."""

    def __init__(self, parts: Sequence[tuple[Launch, Sequence[int]]]) -> None:
        """parts: each with the places of its tensors among the addresses that `run_with` is
        given."""
        self._parts = [(launch.run_with, operator.itemgetter(*at)) for launch, at in parts]

    def run_with(self, addresses: Sequence[int], scale: float | None) -> None:
        """Launches all parts. Raises DriverError; then later parts are not launched. addresses: of
        all tensors of the parts, those of memory for one call behind the others."""
        for run, own in self._parts:
            run(own(addresses), scale)


class Slices:
    """Launches of slices of one problem, one behind the other on one stream."""

    def __init__(self, parts: Sequence[tuple[Launch | Launches, Sequence[int]]]) -> None:
        """parts: each with how many bytes behind a tensor's address its slice begins, in the order
        of the addresses that `run_with` is given."""
        self._parts = [(launch.run_with, tuple(offsets)) for launch, offsets in parts]

    def run_with(self, addresses: Sequence[int], scale: float | None) -> None:
        """Launches all slices. Raises DriverError; then later slices are not launched."""
        for run, offsets in self._parts:
            run([*map(operator.add, addresses, offsets)], scale)
