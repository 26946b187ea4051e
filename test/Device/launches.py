"""Ways to launch that give the same bits, and calls that are refused before anything is written."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from accuracy import load
from cases import case
from group import Failed, Skip, Test, demand

from dash_attn import ArgumentError, CapacityError, DriverError, Kernel, ManifestError, Tensor
from dash_attn.measure.bundle import BundledKernel
from dash_attn.measure.testing import OUTPUTS, Case, differences, make_inputs, poison, run

SHAPE = (300, 300, 2, 4, 4, "bhsd")
NAMES_OF_TYPES = {torch.float32: "f32", torch.bfloat16: "bf16", torch.float16: "f16"}
NAMES = ("q", "k", "v", "do", "o", "lse", *OUTPUTS)


def tests(kernels: list[BundledKernel], quick: bool) -> list[Test]:
    kernel = kernels[0]
    ways = (
        plain_pointers,
        array_interface,
        cupy_arrays,
        rows_before_heads,
        packed_gradients,
        later_allocation,
    )
    refusals = (
        too_few_workers,
        foreign_ptx,
        broken_ptx,
        misaligned,
        overlapping,
        wrong_type,
        host_memory,
        heads_not_grouped,
        growth_in_a_capture,
    )
    return [
        Test(f"launch {kernel.name} {test.__name__}", kernel.name, lambda test=test: test(kernel))
        for test in (*ways, *refusals)
    ]


def same_bits(
    bundled: BundledKernel, launch: Callable[[Kernel, Case, dict[str, torch.Tensor]], Any]
) -> None:
    kernel, problem = load(bundled), case(bundled, SHAPE)
    tensors = make_inputs(problem)
    expected = run(kernel, problem, tensors, stream=0)
    poison(tensors)
    torch.cuda.synchronize()
    launch(kernel, problem, tensors)
    torch.cuda.synchronize()
    demand(not (found := differences({name: tensors[name] for name in OUTPUTS}, expected)), found)


def described(tensor: torch.Tensor) -> Tensor:
    return Tensor(
        tensor.data_ptr(),
        tuple(tensor.shape),
        tuple(tensor.stride()),
        NAMES_OF_TYPES[tensor.dtype],
        tensor.device.index,
    )


def plain_pointers(bundled: BundledKernel) -> None:
    same_bits(
        bundled,
        lambda kernel, problem, tensors: kernel.backward(
            **{name: described(tensors[name]) for name in NAMES}, scale=problem.scale
        ),
    )


class OfInterface:
    """Nothing but __cuda_array_interface__; bf16 as 16-bit integers."""

    def __init__(self, tensor: torch.Tensor) -> None:
        bits = tensor if tensor.dtype == torch.float32 else tensor.view(torch.int16)
        self.__cuda_array_interface__ = dict(bits.__cuda_array_interface__)
        self.__cuda_array_interface__["typestr"] = "<f4" if tensor.dtype == torch.float32 else "<u2"


def array_interface(bundled: BundledKernel) -> None:
    same_bits(
        bundled,
        lambda kernel, problem, tensors: kernel.backward(
            **{name: OfInterface(tensors[name]) for name in NAMES}, scale=problem.scale
        ),
    )


def cupy_arrays(bundled: BundledKernel) -> None:
    try:
        import cupy
    except ImportError as error:
        raise Skip(str(error)) from None

    def as_cupy(tensor: torch.Tensor) -> Any:
        if tensor.dtype == torch.float32:
            return cupy.from_dlpack(tensor)
        return cupy.from_dlpack(tensor.view(torch.int16)).view(cupy.uint16)

    same_bits(
        bundled,
        lambda kernel, problem, tensors: kernel.backward(
            **{name: as_cupy(tensors[name]) for name in NAMES}, scale=problem.scale
        ),
    )


def rows_before_heads(bundled: BundledKernel) -> None:
    """layout="bshd" takes what a model has, without a transposed view."""

    def launch(kernel: Kernel, problem: Case, tensors: dict[str, torch.Tensor]) -> None:
        turned = {
            name: tensors[name] if name == "lse" else tensors[name].transpose(1, 2).contiguous()
            for name in NAMES
        }
        kernel.backward(**turned, scale=problem.scale, layout="bshd")
        for name in OUTPUTS:
            tensors[name].copy_(turned[name].transpose(1, 2))

    same_bits(bundled, launch)


def packed_gradients(bundled: BundledKernel) -> None:
    """dq, dk and dv as slices of one tensor that interleave: nothing of the neighbours is
    written."""

    def launch(kernel: Kernel, problem: Case, tensors: dict[str, torch.Tensor]) -> None:
        b, h, s, d = tensors["dq"].shape
        whole = torch.full((b, s, 4, h, d), 7.0, dtype=torch.bfloat16, device="cuda")
        slices = {name: whole[:, :, i].transpose(1, 2) for i, name in enumerate(OUTPUTS)}
        kernel.backward(**{**tensors, **slices}, scale=problem.scale)
        for name in OUTPUTS:
            tensors[name].copy_(slices[name])
        demand(bool((whole[:, :, 3] == 7).all()), "memory beside the gradients was written")

    if bundled.fixed_sizes.get("q_rows") != bundled.fixed_sizes.get("kv_rows"):
        raise Skip("its sizes are fixed, and differ")
    same_bits(bundled, launch)


def later_allocation(bundled: BundledKernel) -> None:
    """Growing the workspace leaves results as they were."""
    if bundled.fixed_sizes:
        raise Skip("its sizes are fixed")
    kernel = Kernel.load(bundled.path)
    problems = [
        case(bundled, (rows, rows, 1, heads, heads, "bhsd"))
        for rows, heads in ((64, 1), (900, 4), (64, 1))
    ]
    found = [run(kernel, problem, make_inputs(problem), stream=0) for problem in problems]
    torch.cuda.synchronize()
    demand(not (wrong := differences(found[2], found[0])), wrong)


# ---- Refusals ------------------------------------------------------------------------------------


def refused(call: Callable[[], Any], kind: type[Exception], *parts: str) -> dict[str, Any]:
    try:
        call()
    except kind as error:
        missing = [part for part in parts if part not in str(error)]
        demand(not missing, f"expected {missing} in the message: {error}")
        return {"refusal": str(error)[:500]}
    raise Failed(f"expected a {kind.__name__}, found none")


def unchanged_call(
    bundled: BundledKernel,
    kind: type[Exception],
    *parts: str,
    change: Callable[[dict[str, torch.Tensor]], Any],
) -> dict[str, Any]:
    """A refused call, which must leave the outputs as they are."""
    problem = case(bundled, SHAPE)
    tensors = make_inputs(problem)
    bits = {name: tensors[name].clone() for name in OUTPUTS}
    given = {**tensors, **change(tensors)}
    result = refused(lambda: load(bundled).backward(**given, scale=problem.scale), kind, *parts)
    torch.cuda.synchronize()
    demand(
        not (found := differences({name: tensors[name] for name in OUTPUTS}, bits)),
        f"refused, yet wrote: {found}",
    )
    return result


def altered(bundled: BundledKernel, change: Callable[[dict[str, Any], Path], None]) -> Path:
    """A copy of the kernel's files with another manifest or PTX."""
    folder = Path(tempfile.mkdtemp(prefix="dash-altered-"))
    for file in bundled.path.parent.glob(f"{bundled.name}.*"):
        shutil.copy(file, folder)
    path = folder / bundled.path.name
    raw = json.loads(path.read_text(encoding="utf-8"))
    change(raw, folder)
    path.write_text(json.dumps(raw), encoding="utf-8")
    return path


def launch_altered(bundled: BundledKernel, path: Path) -> None:
    problem = case(bundled, SHAPE)
    Kernel.load(path).backward(**make_inputs(problem), scale=problem.scale)


def too_few_workers(bundled: BundledKernel) -> dict[str, Any]:
    def change(raw: dict[str, Any], folder: Path) -> None:
        raw["program"] |= {"workers": 10000, "min_workers": 10000}

    if bundled.manifest["order"]["source"] == "file":
        raise Skip("its table is for stated workers")
    path = altered(bundled, change)
    return refused(
        lambda: launch_altered(bundled, path),
        CapacityError,
        "needs 10000 resident blocks",
        "multiprocessors",
    )


def foreign_ptx(bundled: BundledKernel) -> dict[str, Any]:
    def change(raw: dict[str, Any], folder: Path) -> None:
        with (folder / raw["ptx"]["file"]).open("ab") as ptx:
            ptx.write(b"\n// one more line\n")

    return refused(
        lambda: Kernel.load(altered(bundled, change)), ManifestError, "does not belong to the PTX"
    )


def broken_ptx(bundled: BundledKernel) -> dict[str, Any]:
    def change(raw: dict[str, Any], folder: Path) -> None:
        text = (
            (folder / raw["ptx"]["file"])
            .read_bytes()
            .replace(b"ret;", b"frobnicate.u32 %r1;\n\tret;", 1)
        )
        (folder / raw["ptx"]["file"]).write_bytes(text)
        raw["ptx"]["sha256"] = hashlib.sha256(text).hexdigest()
        raw.pop("cubin", None)  # it is another program's then, which is another error

    return refused(
        lambda: launch_altered(bundled, altered(bundled, change)),
        DriverError,
        "assemble",
        "frobnicate",
    )


def misaligned(bundled: BundledKernel) -> dict[str, Any]:
    def change(tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        q = tensors["q"]
        return {"q": torch.empty(q.numel() + 1, dtype=q.dtype, device="cuda")[1:].view(q.shape)}

    return unchanged_call(
        bundled, ArgumentError, "q: expected an address that is a multiple of 16", change=change
    )


def overlapping(bundled: BundledKernel) -> dict[str, Any]:
    return unchanged_call(
        bundled, ArgumentError, "shares memory with", change=lambda tensors: {"dk": tensors["dv"]}
    )


def wrong_type(bundled: BundledKernel) -> dict[str, Any]:
    return unchanged_call(
        bundled,
        ArgumentError,
        "k: expected elements of bf16, found f16",
        change=lambda tensors: {"k": tensors["k"].half()},
    )


def host_memory(bundled: BundledKernel) -> dict[str, Any]:
    return unchanged_call(
        bundled,
        ArgumentError,
        "v: expected memory of a CUDA device",
        change=lambda tensors: {"v": tensors["v"].cpu()},
    )


def heads_not_grouped(bundled: BundledKernel) -> dict[str, Any]:
    if bundled.fixed_sizes:
        raise Skip("its sizes are fixed")
    return unchanged_call(
        bundled,
        ArgumentError,
        "heads must be a multiple of kv_heads",
        change=lambda tensors: {
            name: tensors[name][:, :3].contiguous() for name in ("k", "v", "dk", "dv")
        },
    )


def growth_in_a_capture(bundled: BundledKernel) -> dict[str, Any]:
    kernel, problem = Kernel.load(bundled.path), case(bundled, SHAPE)
    tensors, stream, graph = make_inputs(problem), torch.cuda.Stream(), torch.cuda.CUDAGraph()
    # Assembles the PTX; this stream has workspace, the other none.
    kernel.backward(**tensors, scale=problem.scale, stream=0)
    torch.cuda.synchronize()
    found: dict[str, Any] = {}
    with torch.cuda.graph(graph, stream=stream):
        torch.zeros(1, device="cuda")  # a graph that is not empty
        found = refused(
            lambda: kernel.backward(**tensors, scale=problem.scale),
            ArgumentError,
            "is being captured",
        )
    return found
