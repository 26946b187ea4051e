"""Loads a kernel that dash-opt compiled, and computes attention or its gradients with it.

    kernel = Kernel.load("attention_bwd.json")
    kernel.backward(q, k, v, do, o, lse, dq, dk, dv, scale=head_dim**-0.5)

Tensors are PyTorch's, CuPy's, anything with `__cuda_array_interface__`, or `Tensor`. Needs none
of these to be imported. What is checked and launched, and what is said of mistakes, is
libdash's.
"""

from __future__ import annotations

import ctypes
import json
import os
import time
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import ArgumentError, CompileError, ManifestError
from ..support.forks import new_lock
from .compiler import compile_program
from .driver import Driver, cuda_driver
from .launch import Launch, references
from .library import HANDLER, Handle, StringRef, check, library, make
from .plan import Plan, Table
from .problem import demand, refusal_of_scale
from .programs import tell
from .tensors import as_tensor, current_stream, signature, stream_handle
from .unrounded import NAME as UNROUNDED_NAME
from .workspace import PER_THREAD, Thread, Workspace, this_thread

TENSORS = ("q", "k", "v", "do", "o", "lse", "dq", "dk", "dv")
GRADIENTS = TENSORS[6:]
PARTS = (("dk", "dv"), ("dq",))  # of the gradients, which some kernels compute alone
OUTPUT = TENSORS.index("o")  # in whose place some kernels take delta
FORWARD = ("q", "k", "v", "o", "lse")  # of a forward's kernel; beside them its sink
# of a kernel of a list whose lengths come with each call
LENGTHS = ("cu_seqlens_q", "cu_seqlens_kv")
SINK = ("sink", "dsink")  # of a kernel of a program with a sink
UNROUNDED = (UNROUNDED_NAME,)  # of a forward that writes o in f32, too
TASKS = ("ds",)  # of a kernel of dk and dv that keeps dS, and of one of dq that reads it
LAYOUTS = ("bhsd", "bshd", "thd")
MOST_LAUNCHES = 256  # of one kernel; more shapes and strides than that begin anew
# of one kernel, with a workspace each; of more the one that is asked for least lately goes
MOST_STREAMS = 64
# the first of each program and cubin of a driver is never given back: streams may run its code
_loaded: dict[tuple[int, str, str], Handle] = {}


# of each that a kernel has or not: its element, what such a kernel does, and its program's clause
_BESIDE = {
    SINK[0]: ("f32", "has a sink", "sink(...)"),
    LENGTHS[0]: ("i32", "is of a list of sequences", "sequences(<?>)"),
    UNROUNDED_NAME: ("f32", "writes o unrounded, too", "unrounded(...)"),
    TASKS[0]: ("tiles of dS", "passes dS from one program to another", "ds(...)"),
}


class _Streams:
    """What a kernel has for the streams of all threads, or for those that are one thread's own."""

    def __init__(self) -> None:
        self.workspaces: dict[tuple[int, int], Workspace] = {}
        self.launches: dict[Any, Launch] = {}


class Kernel:
    """A backward pass, or a forward pass, for one head dim, element type, mask and order; on any
    device of its target and any stream.

    Tensors give the sizes that the manifest leaves open. Several threads may use it. manifest:
    as JSON data. is_forward: it computes o and the LSE, not gradients.
    """

    _make_launch: type[Launch] = Launch

    def __init__(
        self, make_kernel: Callable[[Handle], Handle], driver: Driver | None = None
    ) -> None:
        """make_kernel: makes the kernel for a driver, or for none. driver: the CUDA driver if
        None, opened with the first call."""
        lib, made = library(), make_kernel(driver.handle if driver else Handle())
        self._make_kernel: Callable[[Handle], Handle] | None = make_kernel
        self._driver, self._handle = driver, Handle()
        self._manifest_text = lib.dashKernelGetManifest(made).text
        self.manifest: dict[str, Any] = json.loads(self._manifest_text)
        self.name, self.certificate = (
            lib.dashKernelGetName(made).text,
            lib.dashKernelGetCertificate(made).text,
        )
        self._sizes = [
            lib.dashKernelGetSizeName(made, i).text for i in range(lib.dashKernelGetNumSizes(made))
        ]
        self._tensors = [
            lib.dashKernelGetTensorName(made, i).text
            for i in range(lib.dashKernelGetNumTensors(made))
        ]
        self._scale = lib.dashKernelGetDefaultScale(made)
        if driver:
            self._keep(made)
        else:
            lib.dashKernelDestroy(made)
        self._takes_delta = "delta" in self._tensors
        self.is_forward = not set(GRADIENTS) & set(self._tensors)
        output = "delta" if self._takes_delta else "o"
        backward = (*TENSORS[:OUTPUT], output, *TENSORS[OUTPUT + 1 :])
        # a program of dk and dv, or of dq, has no other gradients
        own = tuple(name for name in GRADIENTS if name in self._tensors)
        own = own if own in PARTS else GRADIENTS
        backward = tuple(name for name in backward if name not in GRADIENTS or name in own)
        self._names: tuple[str, ...] = FORWARD if self.is_forward else backward
        for names in (SINK[:1] if self.is_forward else SINK, LENGTHS, UNROUNDED, TASKS):
            self._names += names if set(names) & set(self._tensors) else ()
        unknown = sorted(set(self._tensors) ^ set(self._names))
        if unknown:
            raise ManifestError(
                f"'{self.name}': expected the tensors {', '.join(self._names)}; differs in"
                f" {', '.join(unknown)}"
            )
        self._of_all, self._of_threads = _Streams(), weakref.WeakKeyDictionary[Thread, _Streams]()
        self._plans: dict[tuple[int, ...], Plan] = {}
        self._tables: dict[int, Table] = {}
        self._lock = new_lock()

    @classmethod
    def load(cls, path: str | Path, driver: Driver | None = None) -> Kernel:
        """path: the manifest; its PTX lies beside it. Raises ManifestError."""
        name = os.fsencode(path)
        return cls(
            lambda driver: make(library().dashKernelOpen, driver, StringRef.of(name)), driver
        )

    @classmethod
    def compile(
        cls,
        source: str | bytes,
        options: str = "",
        *,
        name: str = "<program>",
        driver: Driver | None = None,
        **files: str | Path,
    ) -> Kernel:
        """Compiles a program with one function, in memory: source, options and files (order,
        costs, ptxas) as for `compile_program`. Raises CompileError."""
        compiled = compile_program(source, options, name=name, **files)
        if len(compiled) != 1:
            raise CompileError(
                f"{name}: expected one function with an attention, found {len(compiled)}: "
                f"{', '.join(one.name for one in compiled)}; compile_program gives all"
            )
        return cls(
            maker_of((compiled[0].manifest.encode(), compiled[0].ptx, compiled[0].order)), driver
        )

    @property
    def driver(self) -> Driver:
        if self._driver is None:
            self._driver = cuda_driver()
        return self._driver

    def backward(
        self,
        q: Any,
        k: Any,
        v: Any,
        do: Any,
        o: Any,
        lse: Any,
        dq: Any,
        dk: Any,
        dv: Any,
        *,
        delta: Any = None,
        sink: Any = None,
        dsink: Any = None,
        cu_seqlens_q: Any = None,
        cu_seqlens_kv: Any = None,
        ds: Any = None,
        scale: float | None = None,
        stream: Any = None,
        layout: str = "bhsd",
        clears_rows: bool = False,
    ) -> None:
        """Writes dq, dk and dv (and dsink, for a kernel with a sink) in the stream's order;
        returns once everything is launched. A kernel of dk and dv alone takes None for dq, and one
        of dq None for dk and dv.

        q, do, o and dq are [batch, heads, q_rows, head_dim]; k, v, dk and dv are [batch,
        kv_heads, kv_rows, head_dim]; all have the manifest's element type. lse is [batch, heads,
        q_rows] of f32, natural logarithms. Any strides with a contiguous last dimension. layout
        "bshd" takes [batch, rows, heads, head_dim] (lse as before); "thd" takes [rows, heads,
        head_dim] and lse [heads, rows]. delta, for a kernel of `delta = %delta`: rowsum(o * do),
        shaped as lse, f32; o is None then, and only then. sink and dsink, for a kernel with
        `sink`, f32: [heads], whose exponentials the LSE includes, and its gradient [batch,
        heads], which is not summed over the batch; for a list [sequences, heads]. cu_seqlens_q
        and cu_seqlens_kv, for a kernel of `sequences(<?>)`, i32 on the device: sequence i has
        the rows from offset i to offset i + 1. The device reads them, so a replayed graph may
        have others; offsets that do not ascend, or exceed the tensors, are clamped. clears_rows:
        whether gradients of rows outside all sequences become 0; else they are not written. ds, for
        a kernel with `ds(...)`: [tiles, 4096] of the element type, as many tiles as the manifest
        says; a kernel of dk and dv writes it, and one of dq reads it behind, on the same stream.
        scale: factor on the scores, head_dim^-0.5 if None. stream: that of q's library if None.

        If all gradients are empty, nothing happens. The first call on a stream, and the first
        with larger sizes, allocates workspace. A capture into a CUDA graph must come after it
        (or after `reserve`), on the same stream. Raises ArgumentError or CapacityError before
        anything is written, and DriverError if a launch fails.
        """
        given = self._given(
            (q, k, v, do, o, lse, dq, dk, dv),
            delta,
            (sink, dsink),
            (cu_seqlens_q, cu_seqlens_kv),
            ds,
        )
        self._run(given, scale, stream, layout, clears_rows)

    def own(self, gradients: Iterable[Any]) -> tuple[Any, ...]:
        """dq, dk and dv as `backward` takes them: None for those that another kernel computes."""
        return tuple(
            value if name in self._names else None for name, value in zip(GRADIENTS, gradients)
        )

    def forward(
        self,
        q: Any,
        k: Any,
        v: Any,
        o: Any,
        lse: Any,
        *,
        sink: Any = None,
        cu_seqlens_q: Any = None,
        cu_seqlens_kv: Any = None,
        scale: float | None = None,
        stream: Any = None,
        layout: str = "bhsd",
        clears_rows: bool = False,
        unrounded: Any = None,
    ) -> None:
        """Writes o and lse, of a kernel of `dash.attention_fwd`.

        q is [batch, heads, q_rows, head_dim], k [batch, kv_heads, kv_rows, head_dim], v the same
        with its own head dim, o as q with that of v; lse [batch, heads, q_rows], f32, natural
        logarithms, -inf for a row that sees nothing; sink, for a kernel with one, [heads], f32;
        unrounded, for a kernel with it, as o but f32: o before it is rounded.
        clears_rows: whether rows of o and lse outside all sequences become 0 and -inf; else they
        are not written. scale: a factor on scores, above 0. All else is as `backward` has it.
        Raises ArgumentError or CapacityError before anything is written, and DriverError if a
        launch fails.
        """
        lengths = cu_seqlens_q, cu_seqlens_kv
        given = self._given_of_forward((q, k, v, o, lse), sink, lengths, unrounded)
        self._run(given, self._scale_of_forward(scale), stream, layout, clears_rows)

    def bind_forward(
        self,
        q: Any,
        k: Any,
        v: Any,
        o: Any,
        lse: Any,
        *,
        sink: Any = None,
        cu_seqlens_q: Any = None,
        cu_seqlens_kv: Any = None,
        scale: float | None = None,
        stream: Any = None,
        layout: str = "bhsd",
        clears_rows: bool = False,
        unrounded: Any = None,
    ) -> Launch:
        """Checks everything as `forward` does and returns what it would launch, for these
        tensors: `launch.run()`. Its tensors are in the order of `FORWARD`, then the sink, the
        offsets and the unrounded o that the kernel has.

        Keep the tensors while it is used.
        """
        number = self._scale_of_forward(scale)
        with self._lock:
            lengths = cu_seqlens_q, cu_seqlens_kv
            given = self._given_of_forward((q, k, v, o, lse), sink, lengths, unrounded)
            handle = current_stream(q) if stream is None else stream_handle(stream)
            return self._launch(given, number, handle, layout, clears_rows)

    def _run(
        self,
        given: tuple[Any, ...],
        scale: float | None,
        stream: Any,
        layout: str,
        clears_rows: bool,
    ) -> None:
        # a number from here on: a scalar of a library may change its value
        number = self._number(scale)
        q = given[0]
        signatures = [
            signature(value, name, self._device_of) for name, value in zip(self._names, given)
        ]
        handle = current_stream(q) if stream is None else stream_handle(stream)
        launches = self._of_all.launches if handle != PER_THREAD else self._streams(handle).launches
        key = (tuple([rest for _, rest in signatures]), layout, handle, clears_rows)
        launch = launches.get(key)
        if launch is None:
            with self._lock:
                launch = self._launch(given, number, handle, layout, clears_rows)
                if len(launches) >= MOST_LAUNCHES:
                    launches.clear()
                launches[key] = launch
        addresses = [address for address, _ in signatures]
        if self._tensors != list(self._names):
            addresses = [addresses[self._names.index(name)] for name in self._tensors]
        launch.run_with(addresses, number)

    def bind(
        self,
        q: Any,
        k: Any,
        v: Any,
        do: Any,
        o: Any,
        lse: Any,
        dq: Any,
        dk: Any,
        dv: Any,
        *,
        delta: Any = None,
        sink: Any = None,
        dsink: Any = None,
        cu_seqlens_q: Any = None,
        cu_seqlens_kv: Any = None,
        ds: Any = None,
        scale: float | None = None,
        stream: Any = None,
        layout: str = "bhsd",
        clears_rows: bool = False,
    ) -> Launch:
        """Checks everything as `backward` does and returns what it would launch, for these
        tensors: `launch.run()`.

        Keep the tensors while it is used.
        """
        number = self._number(scale)
        with self._lock:
            given = self._given(
                (q, k, v, do, o, lse, dq, dk, dv),
                delta,
                (sink, dsink),
                (cu_seqlens_q, cu_seqlens_kv),
                ds,
            )
            return self._launch(
                given,
                number,
                current_stream(q) if stream is None else stream_handle(stream),
                layout,
                clears_rows,
            )

    def reserve(self, *, device: int = 0, stream: Any = 0, **sizes: int) -> Workspace:
        """Makes the workspace of a stream ready for these sizes, as before a capture:
        reserve(batch=2, heads=16, ...)."""
        for name, size in sizes.items():
            if type(size) is not int or not -(2**63) <= size < 2**63:
                raise ArgumentError(
                    f"reserve: expected {name} to be a whole number, found {size!r}"
                )
        with self._lock:
            workspace, plan = self.workspace(device, stream), self._plan(device, sizes)
            with workspace.lock:
                workspace.provide(plan, plan.capture_query(workspace.stream)())
            return workspace

    def workspace(self, device: int = 0, stream: Any = 0) -> Workspace:
        """The workspace of a stream; empty before its first launch."""
        handle = stream_handle(stream)
        with self._lock:
            streams = self._streams(handle)
            found = streams.workspaces.pop((device, handle), None) or Workspace(
                self.driver, device, handle, self.name
            )
            streams.workspaces[device, handle] = found  # the latest
            if len(streams.workspaces) > MOST_STREAMS:
                del streams.workspaces[next(iter(streams.workspaces))]
                streams.launches.clear()  # some have it, too
            return found

    def _given(
        self,
        tensors: tuple[Any, ...],
        delta: Any,
        sink: tuple[Any, Any],
        lengths: tuple[Any, Any],
        ds: Any,
    ) -> tuple[Any, ...]:
        """The tensors that the kernel has."""
        if self.is_forward:
            raise ArgumentError(f"'{self.name}' computes no gradients: call forward")
        if self._takes_delta:
            if delta is None or tensors[OUTPUT] is not None:
                raise ArgumentError(
                    "delta: expected rowsum(o * do) and None for o, found"
                    f" {'no delta' if delta is None else 'both'}: '{self.name}' takes delta in"
                    " place of o"
                )
            tensors = (*tensors[:OUTPUT], delta, *tensors[OUTPUT + 1 :])
        elif delta is not None:
            raise ArgumentError(
                f"delta: '{self.name}' takes none: it was not compiled for 'delta = …'"
            )
        beside = (SINK, sink), (LENGTHS, lengths), (TASKS, (ds,))
        return self._own_of(tensors) + self._given_beside(*beside)

    def _own_of(self, tensors: tuple[Any, ...]) -> tuple[Any, ...]:
        """Without the gradients that the kernel does not compute."""
        own = []
        for name, value in zip(TENSORS, tensors):
            has = name not in GRADIENTS or name in self._names
            if not has and value is not None:
                computed = " and ".join(one for one in GRADIENTS if one in self._names)
                raise ArgumentError(
                    f"{name}: expected None, for '{self.name}' computes {computed} alone: another"
                    f" kernel computes {name}"
                )
            if has:
                own.append(value)
        return tuple(own)

    def _given_of_forward(
        self, tensors: tuple[Any, ...], sink: Any, lengths: tuple[Any, Any], unrounded: Any
    ) -> tuple[Any, ...]:
        """The same of a forward."""
        if not self.is_forward:
            raise ArgumentError(f"'{self.name}' computes gradients: call backward")
        beside = (SINK[:1], (sink,)), (LENGTHS, lengths), (UNROUNDED, (unrounded,))
        return tensors + self._given_beside(*beside)

    def _given_beside(self, *groups: tuple[tuple[str, ...], tuple[Any, ...]]) -> tuple[Any, ...]:
        """A sink, offsets and an output in f32, as the kernel has them or not."""
        found: tuple[Any, ...] = ()
        for names, values in groups:
            what, why, clause = _BESIDE[names[0]]
            for name, value in zip(names, values):
                if (value is None) == (name in self._names):
                    raise ArgumentError(
                        f"{name}: expected {what} on the device, found None: '{self.name}' {why}"
                        if value is None
                        else f"{name}: '{self.name}' takes none: it was not compiled for '{clause}'"
                    )
            found += values if names[0] in self._names else ()
        return found

    def _scale_of_forward(self, scale: float | None) -> float:
        number = self._number(scale)
        demand(refusal_of_scale(number))
        return number

    def _streams(self, handle: int) -> _Streams:
        """A thread that ends takes its own along."""
        return (
            self._of_all
            if handle != PER_THREAD
            else self._of_threads.setdefault(this_thread(), _Streams())
        )

    # ---- What a call with new shapes goes through ------------------------------------------------

    def _launch(
        self, given: Sequence[Any], scale: float, handle: int, layout: str, clears_rows: bool
    ) -> Launch:
        """Everything that does not depend on addresses is decided here, once."""
        if layout not in LAYOUTS:
            raise ArgumentError(f"layout: expected one of {', '.join(LAYOUTS)}, found '{layout}'")
        written = {spec["name"] for spec in self.manifest["tensors"] if spec["access"] != "read"}
        tensors = {
            name: as_tensor(value, name, self._device_of, handle, name in written)
            for name, value in zip(self._names, given)
        }
        device = tensors["q"].device
        if layout == "thd":
            tensors = {
                name: tensor if name in LENGTHS + SINK + TASKS else tensor.in_batch()
                for name, tensor in tensors.items()
            }
        if layout != "bhsd":
            tensors = {
                name: tensor.transposed(1, 2) if len(tensor.shape) == 4 else tensor
                for name, tensor in tensors.items()
            }
        found = references([tensors[name] for name in self._tensors])
        sizes = (ctypes.c_int64 * len(self._sizes))()
        check(
            library().dashKernelFindSizes(
                self._loaded(), found, len(found), HANDLER, None, sizes, len(sizes)
            )
        )
        plan = self._plan(device, dict(zip(self._sizes, sizes)))
        # PyTorch would give memory of one thread's stream to another's: of these the driver has it
        # back, which waits.
        is_torchs = hasattr(given[0], "data_ptr") and handle != PER_THREAD
        allocate = _torch_allocator(given[0].device) if is_torchs else None
        workspace = self.workspace(device, handle)
        launch = self._make_launch(plan, workspace, found, scale, allocate, clears_rows)
        launch.label = f"dash {self.manifest['program']['kind']} {self.certificate}"
        launch.manifest = self._manifest_text
        return launch

    def _loaded(self) -> Handle:
        """The kernel with its driver."""
        if not self._handle:
            self._keep(self._make_kernel(self.driver.handle))
        return self._handle

    def _keep(self, handle: Handle) -> None:
        """Goes with this object. The code stays loaded, as the first handle of a program does,
        and with what plans a graph may run."""
        self._handle, self._make_kernel = handle, None  # and what that keeps may go
        program = (
            self.driver.handle.ptr,
            self.manifest["ptx"]["sha256"],
            self.manifest.get("cubin", {}).get("sha256", ""),
        )
        if _loaded.setdefault(program, handle) is not handle:
            weakref.finalize(self, library().dashKernelDestroy, handle).atexit = False

    def _plan(self, device: int, sizes: Mapping[str, int]) -> Plan:
        key = (device, *sorted(sizes.items()))
        if key not in self._plans:
            if len(self._plans) >= MOST_LAUNCHES:
                self._plans.clear()
            with self.driver.on(device), self.driver.in_captures():  # the first one loads code
                handle, begun = self._loaded(), time.perf_counter()
                self._plans[key] = Plan(
                    handle, device, sizes, self._tables, self.manifest["order"]["source"] == "file"
                )
                tell("assembled", self.name, time.perf_counter() - begun)
        return self._plans[key]

    def _device_of(self, pointer: int) -> int:
        return self.driver.device_of(pointer)

    def _number(self, scale: float | None) -> float:
        if scale is None:
            return self._scale
        try:
            return float(scale)
        except (TypeError, ValueError, OverflowError):
            raise ArgumentError(f"scale: expected a number, found {scale!r}") from None


def maker_of(texts: tuple[bytes, bytes, bytes]) -> Callable[[Handle], Handle]:
    """What makes the kernel for a driver, or for none. It keeps the texts."""
    return lambda driver: make(library().dashKernelCreate, driver, *map(StringRef.of, texts))


def _torch_allocator(device: Any) -> Any:
    """Workspace out of PyTorch's cache: what it holds back is not there for anybody else. Keeps
    no tensor alive."""
    import torch

    def allocate(size: int, stream: int) -> tuple[int, Any]:
        ours = (
            torch.cuda.ExternalStream(stream, device=device)
            if stream
            else torch.cuda.default_stream(device)
        )
        with torch.cuda.stream(ours):
            memory = torch.empty(size, dtype=torch.uint8, device=device)
        return memory.data_ptr(), memory

    return allocate
