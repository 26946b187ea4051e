# RUN: %python %s %dash_src %t
# REQUIRES: python, plain-libdash, host-supports-nvptx
"""A forward's kernel: what a call launches, and what is refused before anything is written."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

from fixtures import refused, tensors, write  # noqa: E402
from stub_driver import StubDriver  # noqa: E402

from dash_attn import ArgumentError, Kernel, Tensor  # noqa: E402

EXAMPLES = Path(sys.argv[1]) / "dialects/dash/examples"
SINK = Tensor(20 << 40, (4,), (1,), "f32")  # a number for each head of fixtures.tensors


def compiled(driver: StubDriver, has_sink: bool = False) -> Kernel:
    program = (EXAMPLES / "fwd-causal.mlir").read_text(encoding="utf-8")
    if has_sink:
        program = program.replace("%scale: f32)", "%scale: f32, %sink: memref<?xf32>)").replace(
            "scale(%scale)", "scale(%scale) sink(%sink : memref<?xf32>)"
        )
    return Kernel.compile(program, "kind=longest-first workers=8", driver=driver)


def given(**changed: Any) -> dict[str, Any]:
    every = tensors() | changed
    return {name: every[name] for name in ("q", "k", "v", "o", "lse")}


def launches() -> None:
    driver = StubDriver()
    kernel = compiled(driver, has_sink=True)
    kernel.forward(**given(), sink=SINK, scale=0.25)
    found = {launch.name: launch for launch in driver.launches()}
    values: dict[str, Any] = {}
    for entry in kernel.manifest["entries"]:
        values |= found[entry["name"]].values(entry)
    for name, tensor in given().items():
        assert values[name] == tensor.pointer, (name, values[name])
    assert values["sink"] == SINK.pointer and values["scale"] == 0.25, values
    assert found["attention_fwd_main"].grid == (8, 1, 1), found["attention_fwd_main"]


def refusals() -> None:
    driver = StubDriver()
    plain, of_sink = compiled(driver), compiled(driver, has_sink=True)
    backward = Kernel.load(write(Path(sys.argv[2])), driver)
    computes_none = "'attention_fwd' computes no gradients: call forward"
    wrong: tuple[tuple[str, Callable[[], Any]], ...] = (
        (
            "'attention_bwd' computes gradients: call backward",
            lambda: backward.forward(**given()),
        ),
        (computes_none, lambda: plain.backward(**tensors())),
        (computes_none, lambda: plain.bind(**tensors())),
        (
            "sink: expected f32 on the device, found None: 'attention_fwd' has a sink",
            lambda: of_sink.forward(**given()),
        ),
        (
            "sink: 'attention_fwd' takes none: it was not compiled for 'sink(...)'",
            lambda: plain.forward(**given(), sink=SINK),
        ),
        *(
            (
                f"scale: expected a number above 0, found {scale}",
                lambda scale=scale: plain.forward(**given(), scale=scale),
            )
            for scale in (0.0, -0.5, float("nan"))
        ),
        (
            "scale: expected a number, found 'one'",
            lambda: plain.forward(**given(), scale="one"),
        ),
        (
            "o: this output shares memory with q",
            lambda: plain.forward(**given(o=tensors()["q"])),
        ),
    )
    for message, call in wrong:
        found = refused(call, ArgumentError)
        assert found == message, found
    assert not driver.launches(), driver.launches()


launches()
refusals()
