# RUN: %python %s %dash_src
# REQUIRES: python, plain-libdash, host-supports-nvptx
"""Kernels with a sink: what is launched with it, and what is refused, of lists too; one with a
softcap says so, and takes what others take."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

from fixtures import ON_KV, READS, WRITES, refused, tensors  # noqa: E402
from stub_driver import StubDriver  # noqa: E402

from dash_attn import ArgumentError, Kernel, Tensor  # noqa: E402
from dash_attn.kernel.tensors import contiguous  # noqa: E402

PROGRAM = (Path(sys.argv[1]) / "dialects/dash/examples/bwd-causal.mlir").read_text(encoding="utf-8")
BATCH, HEADS, Q_ROWS = 2, 4, 256  # those of fixtures.tensors
TYPES = "memref<?xf32>, memref<?x?xf32, strided<[?, 1]>>"


def compiled(
    driver: StubDriver, change: str = f"sink(%sink, %dsink : {TYPES})", sink: bool = True
) -> Kernel:
    arguments = ", %sink: {}, %dsink: {})".format(*TYPES.split(", ", 1)) if sink else ")"
    program = PROGRAM.replace("%scale: f32)", f"%scale: f32{arguments}").replace(
        "scale(%scale)", f"scale(%scale) {change}"
    )
    return Kernel.compile(program, "kind=shift workers=8", driver=driver)


def sinks(**changed: Any) -> dict[str, Any]:
    return {
        "sink": Tensor(20 << 40, (HEADS,), (1,), "f32"),
        "dsink": Tensor(21 << 40, (BATCH, HEADS), (HEADS, 1), "f32"),
    } | changed


def launches() -> None:
    driver = StubDriver()
    kernel = compiled(driver)
    kernel.backward(**tensors(), **sinks(dsink=Tensor(21 << 40, (BATCH, HEADS), (100, 1), "f32")))
    found = driver.launches()
    values = {
        launch.name: launch.values(entry)
        for launch, entry in zip(found, kernel.manifest["entries"])
    }
    prepare, main, convert = (
        values[f"attention_bwd_{role}"] for role in ("prepare", "main", "convert")
    )
    assert prepare["sink"] == 20 << 40 and (convert["dsink"], convert["dsink.stride.batch"]) == (
        21 << 40,
        100,
    )
    assert prepare["workspace.sink_sum"] == convert["workspace.sink_sum"]
    assert not any("sink" in name for name in main)
    runs = kernel.workspace().region("sink_sum")[1]
    assert runs == 4 * BATCH * HEADS * Q_ROWS // 32, runs
    kernel.bind(**tensors(), **sinks()).run()


def lists() -> None:
    """A row of dsink for each sequence; as many sums of runs as there may be tiles."""
    driver, rows, sequences = StubDriver(), 1000, 7
    kernel = compiled(driver, f"sequences(<?>) sink(%sink, %dsink : {TYPES})")
    packed: dict[str, Any] = {}
    for i, name in enumerate((*READS, *WRITES)):
        shape = (HEADS, rows) if name == "lse" else (rows, 2 if name in ON_KV else HEADS, 128)
        packed[name] = Tensor(
            (i + 1) << 40, shape, contiguous(shape), "f32" if name == "lse" else "bf16"
        )
    packed |= {
        name: Tensor((30 + i) << 40, (sequences + 1,), (1,), "i32")
        for i, name in enumerate(("cu_seqlens_q", "cu_seqlens_kv"))
    }
    of_each = Tensor(21 << 40, (sequences, HEADS), (100, 1), "f32")
    kernel.backward(**packed, **sinks(dsink=of_each), layout="thd")
    values = {
        launch.name: launch.values(entry)
        for launch, entry in zip(driver.launches(), kernel.manifest["entries"])
    }
    convert = values["attention_bwd_convert"]
    assert (convert["dsink"], convert["dsink.stride.batch"], convert["sequences"]) == (
        21 << 40,
        100,
        sequences,
    ), convert
    q_tiles = -(-(rows + 63 * (sequences - 1)) // 64)
    assert kernel.workspace().region("sink_sum")[1] == 4 * HEADS * q_tiles * 2
    found = refused(lambda: kernel.backward(**packed, **sinks(), layout="thd"), ArgumentError)
    assert (
        found
        == f"dsink: expected sequences = {sequences}, found {BATCH} in shape ({BATCH}, {HEADS}) of"
        " [sequences, heads]"
    ), found


def refusals() -> None:
    kernel = compiled(StubDriver())
    wrong = {
        "sink: expected heads = 4, found 3 in shape (3,) of [heads]": sinks(
            sink=Tensor(20 << 40, (3,), (1,), "f32")
        ),
        "sink: expected elements of f32, found bf16": sinks(
            sink=Tensor(20 << 40, (HEADS,), (1,), "bf16")
        ),
        (
            "sink: expected the innermost dimension to be contiguous,"
            " found a stride of 2 elements; pass a contiguous copy"
        ): sinks(sink=Tensor(20 << 40, (HEADS,), (2,), "f32")),
        "dsink: expected the dimensions [batch, heads], found shape (4,) with 1 strides": sinks(
            dsink=Tensor(21 << 40, (HEADS,), (1,), "f32")
        ),
        "dsink: this output shares memory with sink": sinks(
            dsink=Tensor(20 << 40, (BATCH, HEADS), (HEADS, 1), "f32")
        ),
        "sink: expected f32 on the device, found None: 'attention_bwd' has a sink": sinks(
            sink=None
        ),
        "dsink: expected f32 on the device, found None: 'attention_bwd' has a sink": sinks(
            dsink=None
        ),
    }
    for message, changed in wrong.items():
        found = refused(
            lambda changed=changed: kernel.backward(**tensors(), **changed), ArgumentError
        )
        assert found == message, found
    plain = compiled(StubDriver(), change="", sink=False)
    found = refused(lambda: plain.backward(**tensors(), **sinks()), ArgumentError)
    assert found == "sink: 'attention_bwd' takes none: it was not compiled for 'sink(...)'", found


def softcaps() -> None:
    driver = StubDriver()
    kernel = compiled(driver, change="softcap(50.0)", sink=False)
    assert kernel.manifest["program"]["softcap"] == 50
    assert "softcap" not in compiled(driver).manifest["program"]
    kernel.backward(**tensors())
    certificates = {
        compiled(driver, change=change, sink=False).certificate
        for change in ("", "softcap(50.0)", "softcap(30.0)")
    }
    assert len(certificates) == 3, certificates


launches()
lists()
refusals()
softcaps()
