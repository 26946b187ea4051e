# RUN: %python %s %dash_src
# REQUIRES: python, plain-libdash, host-supports-nvptx
"""Kernels of an o that is not rounded, by `Kernel`: what is launched, of batches and of lists, and
what is refused before anything is written."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

from fixtures import refused, tensors  # noqa: E402
from stub_driver import StubDriver  # noqa: E402

from dash_attn import ArgumentError, Kernel, Tensor  # noqa: E402
from dash_attn.kernel.problem import Wanted, program_of  # noqa: E402
from dash_attn.kernel.tensors import contiguous  # noqa: E402

FORWARD = Wanted(128, 128, "bf16", (-1, 0), level="row", is_forward=True, is_unrounded=True)
BACKWARD = Wanted(128, 128, "bf16", (-1, 0), kind="shift", is_unrounded=True)
HEADS, ROWS, SEQUENCES = 4, 1000, 3


def compiled(wanted: Wanted, driver: StubDriver) -> Kernel:
    text, options, name = program_of(wanted)
    return Kernel.compile(text, f"{options} workers=8", name=name, driver=driver)


def given(**changed: Any) -> dict[str, Any]:
    every = tensors() | changed
    return {name: every[name] for name in ("q", "k", "v", "o", "lse")} | {
        name: value for name, value in changed.items() if name == "unrounded"
    }


def f32_like(tensor: Tensor, at: int) -> Tensor:
    return Tensor(at << 40, tensor.shape, contiguous(tensor.shape), "f32")


def launches() -> None:
    driver = StubDriver()
    kernel = compiled(FORWARD, driver)
    unrounded = f32_like(tensors()["o"], 40)
    kernel.forward(**given(), unrounded=unrounded)
    found = {launch.name: launch for launch in driver.launches()}
    (main,) = (one for one in kernel.manifest["entries"] if one["role"] == "main")
    values = found["attention_fwd_main"].values(main)
    heads, rows = unrounded.shape[1:3]
    assert values["unrounded"] == unrounded.pointer, values
    strides = [values[f"unrounded.stride.{name}"] for name in ("batch", "head", "row")]
    assert strides == [heads * rows * 128, rows * 128, 128], strides
    bound = kernel.bind_forward(**given(), unrounded=unrounded)
    bound.run()
    again = {launch.name: launch for launch in driver.launches()}
    assert again["attention_fwd_main"].values(main)["unrounded"] == unrounded.pointer


def launches_of_list() -> None:
    """Rows outside of all sequences are cleared in the f32 one, too."""
    driver = StubDriver()
    kernel = compiled(FORWARD._replace(is_list=True), driver)
    shapes = {name: (ROWS, HEADS, 128) for name in ("q", "k", "v", "o", "unrounded")}
    shapes["lse"] = (HEADS, ROWS)
    of = {
        name: Tensor(
            (i + 1) << 40,
            shape,
            contiguous(shape),
            "f32" if name in ("lse", "unrounded") else "bf16",
        )
        for i, (name, shape) in enumerate(shapes.items())
    }
    of |= {
        name: Tensor((30 + i) << 40, (SEQUENCES + 1,), (1,), "i32")
        for i, name in enumerate(("cu_seqlens_q", "cu_seqlens_kv"))
    }
    kernel.forward(**of, layout="thd", clears_rows=True)
    found = {launch.name: launch for launch in driver.launches()}
    entries = {one["role"]: one for one in kernel.manifest["entries"]}
    for role in ("main", "clear"):
        values = found[f"attention_fwd_{role}"].values(entries[role])
        assert values["unrounded"] == of["unrounded"].pointer, (role, values)
        assert values["unrounded.stride.row"] == HEADS * 128, (role, values)


def backwards() -> None:
    driver = StubDriver()
    kernel = compiled(BACKWARD, driver)
    whole = tensors() | {"o": f32_like(tensors()["o"], 40)}
    kernel.backward(**whole)
    found = {launch.name: launch for launch in driver.launches()}
    (prepare,) = (one for one in kernel.manifest["entries"] if one["role"] == "prepare")
    assert found["attention_bwd_prepare"].values(prepare)["o"] == whole["o"].pointer


def refusals() -> None:
    driver = StubDriver()
    twice, once = (compiled(FORWARD._replace(is_unrounded=one), driver) for one in (True, False))
    backward = compiled(BACKWARD, driver)
    rounded = compiled(BACKWARD._replace(is_unrounded=False), driver)
    unrounded = f32_like(tensors()["o"], 40)
    wrong: tuple[tuple[str, Callable[[], Any]], ...] = (
        (
            "unrounded: expected f32 on the device, found None: 'attention_fwd' writes o unrounded,"
            " too",
            lambda: twice.forward(**given()),
        ),
        (
            "unrounded: 'attention_fwd' takes none: it was not compiled for 'unrounded(...)'",
            lambda: once.forward(**given(), unrounded=unrounded),
        ),
        (
            "unrounded: expected elements of f32, found bf16",
            lambda: twice.forward(**given(), unrounded=tensors()["dq"]),
        ),
        (
            "unrounded: this output shares memory with q",
            lambda: twice.forward(**given(), unrounded=f32_like(tensors()["o"], 1)),
        ),
        ("o: expected elements of f32, found bf16", lambda: backward.backward(**tensors())),
        (
            "o: expected elements of bf16, found f32",
            lambda: rounded.backward(**tensors() | {"o": unrounded}),
        ),
    )
    for message, call in wrong:
        found = refused(call, ArgumentError)
        assert found == message, found
    assert not driver.launches(), driver.launches()


for test in (launches, launches_of_list, backwards, refusals):
    test()
