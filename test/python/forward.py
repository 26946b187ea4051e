# RUN: %python %s %dash_src %t
# REQUIRES: python, plain-libdash, host-supports-nvptx
"""A forward's kernel, of a batch and of a list: what a call launches, and what is refused before
anything is written."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

from fixtures import refused, tensors, write  # noqa: E402
from stub_driver import StubDriver  # noqa: E402

from dash_attn import ArgumentError, Kernel, Tensor  # noqa: E402
from dash_attn.kernel.tensors import contiguous  # noqa: E402

EXAMPLES = Path(sys.argv[1]) / "dialects/dash/examples"
SINK = Tensor(20 << 40, (4,), (1,), "f32")  # a number for each head of fixtures.tensors
ENTRIES = [f"attention_fwd_{role}" for role in ("sequences", "order", "prepare", "main")]
HEADS, KV_HEADS, Q_ROWS, KV_ROWS, SEQUENCES = 4, 2, 1000, 1100, 7


def compiled(
    driver: StubDriver, has_sink: bool = False, is_list: bool = False, cut: int = 0
) -> Kernel:
    program = (EXAMPLES / "fwd-causal.mlir").read_text(encoding="utf-8")
    if has_sink:
        program = program.replace("%scale: f32)", "%scale: f32, %sink: memref<?xf32>)").replace(
            "scale(%scale)", "scale(%scale) sink(%sink : memref<?xf32>)"
        )
    if is_list:
        program = program.replace("scale(%scale)", "scale(%scale) sequences(<?>)")
    if cut:
        program = program.replace("\n  return", f" cut({cut})\n  return")
    return Kernel.compile(program, "kind=longest-first workers=8", driver=driver)


def given(**changed: Any) -> dict[str, Any]:
    every = tensors() | changed
    return {name: every[name] for name in ("q", "k", "v", "o", "lse")}


def packed(**changed: Any) -> dict[str, Any]:
    """Tensors of a list, as FlashAttention packs them."""
    shapes = {
        "q": (Q_ROWS, HEADS, 128),
        "k": (KV_ROWS, KV_HEADS, 128),
        "v": (KV_ROWS, KV_HEADS, 128),
        "o": (Q_ROWS, HEADS, 128),
        "lse": (HEADS, Q_ROWS),
    }
    found = {
        name: Tensor((i + 1) << 40, shape, contiguous(shape), "f32" if name == "lse" else "bf16")
        for i, (name, shape) in enumerate(shapes.items())
    }
    return found | lengths() | changed


def lengths(elements: int = SEQUENCES + 1, **changed: Any) -> dict[str, Tensor]:
    return {
        name: Tensor((30 + i) << 40, (elements,), (1,), "i32")
        for i, name in enumerate(("cu_seqlens_q", "cu_seqlens_kv"))
    } | changed


def launches_of_list() -> None:
    """All entries in each call: the host knows the number of sequences, and not their lengths."""
    driver = StubDriver()
    kernel = compiled(driver, is_list=True)
    for _ in range(2):
        kernel.forward(**packed(), layout="thd")
        found = driver.launches()
        assert [launch.name for launch in found] == ENTRIES, found
    values = {
        launch.name: launch.values(entry)
        for launch, entry in zip(found, kernel.manifest["entries"])
    }
    sequences, order, prepare, main = (values[name] for name in ENTRIES)
    q_tiles = -(-(Q_ROWS + 127 * (SEQUENCES - 1)) // 128)
    assert (sequences["cu_seqlens_q"], sequences["cu_seqlens_kv"]) == (30 << 40, 31 << 40)
    assert [sequences[name] for name in ("sequences", "heads", "q_rows", "kv_rows")] == [
        SEQUENCES,
        HEADS,
        Q_ROWS,
        KV_ROWS,
    ]
    assert order["q_tiles"] == main["q_tiles"] == q_tiles, (order, main)
    # A row of one head lies behind those of all heads of the row before.
    assert [prepare[f"o.stride.{name}"] for name in ("head", "row")] == [128, HEADS * 128]
    assert main["lse.stride.head"] == Q_ROWS and not found[3].is_cooperative


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


def launches_of_pieces() -> None:
    """Where keys are cut, another entry puts the pieces of a row together; both find them in the
    workspace."""
    for is_list in (False, True):
        driver = StubDriver()
        kernel = compiled(driver, is_list=is_list, cut=256)
        assert kernel.manifest["program"]["cut"] == 256
        tensors_of = packed() if is_list else given()
        kernel.forward(**tensors_of, layout="thd" if is_list else "bhsd")
        found = {launch.name: launch for launch in driver.launches()}
        assert list(found)[-1] == "attention_fwd_combine", list(found)
        entries = {entry["role"]: entry for entry in kernel.manifest["entries"]}
        main, combine = (
            found[f"attention_fwd_{role}"].values(entries[role]) for role in ("main", "combine")
        )
        for name in ("o", "lse"):
            assert combine[name] == tensors_of[name].pointer and name not in main, (main, combine)
            region = f"workspace.{name}_pieces"
            assert main[region] == combine[region] and main[region] % 128 == 0, (main, combine)
        kv_rows = tensors_of["k"].shape[0 if is_list else 2]
        assert main["kv_pieces"] == combine["kv_pieces"] == -(-kv_rows // 256)


def refusals() -> None:
    driver = StubDriver()
    plain, of_sink = compiled(driver), compiled(driver, has_sink=True)
    of_list = compiled(driver, is_list=True)
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
        (
            "cu_seqlens_q: expected i32 on the device, found None: 'attention_fwd' is of a list of"
            " sequences",
            lambda: of_list.forward(**packed(cu_seqlens_q=None), layout="thd"),
        ),
        (
            "cu_seqlens_q: 'attention_fwd' takes none: it was not compiled for 'sequences(<?>)'",
            lambda: plain.forward(**given(), **lengths()),
        ),
        (
            "cu_seqlens_kv: expected bounds = 8, found 9 in shape (9,) of [bounds]",
            lambda: of_list.forward(
                **packed(cu_seqlens_kv=lengths(SEQUENCES + 2)["cu_seqlens_kv"]), layout="thd"
            ),
        ),
        (
            "'attention_fwd' serves bounds = 2 to 65536, found 1",
            lambda: of_list.forward(**packed() | lengths(1), layout="thd"),
        ),
        (
            "lse: this output shares memory with cu_seqlens_q",
            lambda: of_list.forward(
                **packed(cu_seqlens_q=Tensor(5 << 40, (8,), (1,), "i32")), layout="thd"
            ),
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
launches_of_list()
launches_of_pieces()
refusals()
