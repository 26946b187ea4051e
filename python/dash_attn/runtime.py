"""Loads a kernel that dash-opt compiled, and computes gradients of attention with it.

    kernel = Kernel.load("attention_bwd.json")
    kernel.backward(q, k, v, do, o, lse, dq, dk, dv, scale=head_dim**-0.5)

Tensors are PyTorch's, CuPy's, anything with `__cuda_array_interface__`, or `Tensor`. Needs none of these to be imported.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .checks import bind_sizes, check_addresses, check_strides, writes_nothing
from .driver import cuda_driver
from .compiler import compile_program
from .errors import ArgumentError, CompileError, ManifestError
from .launch import DeviceKernel, Plan
from .manifest import Manifest
from .read_manifest import load_manifest
from .tensors import Tensor, as_tensor, current_stream, signature, stream_handle
from .workspace import PER_THREAD, Workspace, region_bytes, this_thread

TENSORS = ("q", "k", "v", "do", "o", "lse", "dq", "dk", "dv")
LAYOUTS = ("bhsd", "bshd")
LARGEST_F32 = (2 - 2**-23) * 2.0**127
MOST_PLANS = 256  # of one kernel; more shapes and strides than that begin anew


class Kernel:
    """A backward pass for one head dim, element type, mask and order; any device of its target, any stream.

    Sizes that the manifest leaves open are those of the tensors. May be used by several threads.
    """

    def __init__(self, manifest: Manifest, ptx: bytes, driver: Any = None) -> None:
        """driver: what launches; the CUDA driver if None, opened with the first call."""
        unknown = sorted(set(manifest.tensors) ^ set(TENSORS))
        if unknown:
            raise ManifestError(f"{manifest.path}: expected the tensors {', '.join(TENSORS)}; differs in "
                                f"{', '.join(unknown)}")
        self.manifest, self._ptx, self._driver = manifest, ptx, driver
        self._takes_scale = any(item.name == "scale" for entry in manifest.entries for item in entry.parameters)
        self._devices: dict[int, DeviceKernel] = {}
        self._workspaces: dict[tuple[int, int, object], Workspace] = {}
        self._plans: dict[Any, Plan | None] = {}
        self._lock = threading.RLock()

    @staticmethod
    def load(path: str | Path, driver: Any = None) -> Kernel:
        """path: the manifest; its PTX lies beside it. Raises ManifestError."""
        manifest = load_manifest(path)
        return Kernel(manifest, manifest.read_ptx(), driver)

    @staticmethod
    def compile(source: str | bytes, options: str = "", *, name: str = "<program>", driver: Any = None) -> Kernel:
        """Compiles a program with one function, in memory: source and options as for `compile_program`. Raises CompileError."""
        compiled = compile_program(source, options, name=name)
        if len(compiled) != 1:
            raise CompileError(f"{name}: expected one function with an attention backward, found {len(compiled)}: "
                               f"{', '.join(one.name for one in compiled)}; compile_program gives all")
        manifest = compiled[0].read_manifest()
        return Kernel(manifest, manifest.read_ptx(), driver)

    @property
    def certificate(self) -> str:
        """Hash of all that fixes the gradients' bits: keep it beside a checkpoint."""
        return self.manifest.certificate

    @property
    def driver(self) -> Any:
        if self._driver is None:
            self._driver = cuda_driver()
        return self._driver

    def backward(self, q: Any, k: Any, v: Any, do: Any, o: Any, lse: Any, dq: Any, dk: Any, dv: Any, *,
                 scale: float | None = None, stream: Any = None, layout: str = "bhsd") -> None:
        """Writes dq, dk and dv, in the stream's order; returns when all is launched.

        q, do, o, dq: [batch, heads, q_rows, head_dim]; k, v, dk, dv: [batch, kv_heads, kv_rows, head_dim], of the manifest's
        element type; lse: [batch, heads, q_rows] of f32, natural logarithms. Any strides with the last dimension contiguous;
        layout "bshd" takes [batch, rows, heads, head_dim] (lse as before).
        scale: factor on the scores, head_dim^-0.5 if None; stream: that of q's library if None.
        If all gradients are empty nothing happens. The first call on a stream, and the first with larger sizes, allocates
        workspace; a capture into a CUDA graph must come after it (or after `reserve`), on the same stream.
        Raises ArgumentError or CapacityError before anything is written, DriverError if a launch fails.
        """
        given = (q, k, v, do, o, lse, dq, dk, dv)
        scale = self._scale(scale)  # a number from here on: a scalar of a library may change its value
        with self._lock:
            signatures = [signature(value, name, self._device_of) for name, value in zip(TENSORS, given)]
            addresses = tuple([address for address, _ in signatures])
            handle = current_stream(q) if stream is None else stream_handle(stream)
            key = (tuple([rest for _, rest in signatures]), scale, layout, handle, _thread_of(handle))
            plan = self._plans.get(key, self)
            if plan is self:
                plan = self._remember(key, self._plan(given, scale, handle, layout))
            if plan is None:
                return
            with self.driver.on(plan.kernel.device):
                if plan.addresses != addresses:
                    self._repoint(plan, addresses)
                plan.run()

    def bind(self, q: Any, k: Any, v: Any, do: Any, o: Any, lse: Any, dq: Any, dk: Any, dv: Any, *,
             scale: float | None = None, stream: Any = None, layout: str = "bhsd") -> Plan | None:
        """Checks everything as `backward` does and returns what it would launch, for these tensors: `plan.run()`.

        Keep the tensors while the plan is used, and use it with their device current. None if all gradients are empty.
        """
        given = (q, k, v, do, o, lse, dq, dk, dv)
        scale = self._scale(scale)
        with self._lock:
            return self._plan(given, scale, current_stream(q) if stream is None else stream_handle(stream), layout)

    def reserve(self, *, device: int = 0, stream: Any = 0, **sizes: int) -> Workspace:
        """Allocates workspace for these sizes on a stream, as before a capture: reserve(batch=2, heads=16, ...)."""
        wanted = tuple(self.manifest.sizes)
        if set(sizes) != set(wanted):
            raise ArgumentError(f"reserve: expected the sizes {', '.join(wanted)}, found {', '.join(sizes) or 'none'}")
        for name, size in sizes.items():
            if type(size) is not int or not self.manifest.sizes[name].minimum <= size <= self.manifest.sizes[name].maximum:
                raise ArgumentError(f"reserve: expected {name} to be {self.manifest.sizes[name].minimum} to "
                                    f"{self.manifest.sizes[name].maximum}, found {size!r}")
        with self._lock, self.driver.on(device):
            self._on(device)
            workspace = self.workspace(device, stream)
            with workspace.lock:
                workspace.provide(region_bytes(self.manifest, self.manifest.values(sizes)))
            return workspace

    def workspace(self, device: int = 0, stream: Any = 0) -> Workspace:
        """The workspace of a stream; empty before its first launch."""
        handle = stream_handle(stream)
        place = (device, handle, _thread_of(handle))
        if place not in self._workspaces:
            self._workspaces[place] = Workspace(self.manifest, self.driver, handle, thread=place[2])
        return self._workspaces[place]

    # ---- What a call with new shapes goes through ---------------------------------------------------------------

    def _plan(self, given: Sequence[Any], scale: float, handle: int, layout: str) -> Plan | None:
        """Everything that does not depend on addresses is decided here, once; then the addresses of this call."""
        tensors = self._tensors(given, layout, handle)
        sizes = bind_sizes(self.manifest, tensors)
        check_strides(self.manifest, tensors)
        check_addresses(self.manifest, tensors)
        if writes_nothing(self.manifest, tensors):
            return None
        device = tensors["q"].device
        with self.driver.on(device):
            plan = Plan.make(self._on(device), self.workspace(device, handle), sizes, tensors, scale)
        plan.allocate = _torch_allocator(given[0].device) if hasattr(given[0], "data_ptr") else None
        plan.point_at(tuple(tensor.pointer for tensor in tensors.values()))
        return plan

    def _tensors(self, given: Sequence[Any], layout: str, handle: int) -> dict[str, Tensor]:
        """In the manifest's order, which is that of the arguments, as [batch, heads, rows, head_dim]."""
        if layout not in LAYOUTS:
            raise ArgumentError(f"layout: expected one of {', '.join(LAYOUTS)}, found '{layout}'")
        tensors = {name: as_tensor(value, name, self._device_of, handle, self.manifest.tensors[name].is_written)
                   for name, value in zip(TENSORS, given)}
        if layout == "bshd":
            tensors = {name: tensor.transposed(1, 2) if len(tensor.shape) == 4 else tensor
                       for name, tensor in tensors.items()}
        return tensors

    def _device_of(self, pointer: int) -> int:
        return self.driver.device_of(pointer)

    def _scale(self, scale: float | None) -> float:
        if scale is None:
            return self.manifest.program.head_dim**-0.5 if self._takes_scale else 1.0
        try:
            number = float(scale)
        except (TypeError, ValueError, OverflowError):
            raise ArgumentError(f"scale: expected a number, found {scale!r}") from None
        if not math.isfinite(number) or abs(number) > LARGEST_F32:
            raise ArgumentError(f"scale: expected a number of f32, found {number}")
        if not self._takes_scale and number != 1:
            raise ArgumentError(f"scale: '{self.manifest.name}' was compiled without a scale, found {scale}")
        return number

    def _on(self, device: int) -> DeviceKernel:
        if device not in self._devices:
            self._devices[device] = DeviceKernel(self.manifest, self._ptx, self.driver, device)
        return self._devices[device]

    def _remember(self, key: Any, plan: Plan | None) -> Plan | None:
        if len(self._plans) >= MOST_PLANS:
            self._plans.clear()
        self._plans[key] = plan
        return plan

    def _repoint(self, plan: Plan, addresses: tuple[int, ...]) -> None:
        moved: Mapping[str, Tensor] = {
            name: Tensor(address, tensor.shape, tensor.strides, tensor.dtype, tensor.device)
            for (name, tensor), address in zip(plan.tensors.items(), addresses)}
        check_addresses(self.manifest, moved)
        plan.point_at(addresses)


def _thread_of(stream: int) -> object:
    """Whose stream it is, if threads have different ones under this handle."""
    return this_thread() if stream == PER_THREAD else None


def _torch_allocator(device: Any) -> Any:
    """Workspace out of PyTorch's cache: what it holds back is not there for anybody else. Keeps no tensor alive."""
    import torch

    def allocate(size: int, stream: int) -> tuple[int, Any]:
        ours = torch.cuda.ExternalStream(stream, device=device) if stream else torch.cuda.default_stream(device)
        with torch.cuda.stream(ours):
            memory = torch.empty(size, dtype=torch.uint8, device=device)
        return memory.data_ptr(), memory

    return allocate
