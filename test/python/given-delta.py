# RUN: %python %s %dash_src
# REQUIRES: python, plain-libdash, host-supports-nvptx
"""Kernels that take delta in place of o: what is launched with it, of batches and of lists, and
what is refused."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

from fixtures import ON_KV, READS, WRITES, refused  # noqa: E402
from stub_driver import StubDriver  # noqa: E402

from dash_attn import ArgumentError, Kernel, Tensor  # noqa: E402
from dash_attn.kernel.tensors import contiguous  # noqa: E402

PROGRAM = (Path(sys.argv[1]) / "dialects/dash/examples/bwd-causal.mlir").read_text(encoding="utf-8")
TAKES_DELTA = (
    PROGRAM.replace("%o: !tensor", "%delta: !per_row")
    .replace("o = %o", "delta = %delta")
    .replace("!per_row, !tensor)", "!per_row, !per_row)")
)
BATCH, HEADS, KV_HEADS, ROWS = 3, 4, 2, 1000


def compiled(program: str, driver: StubDriver, options: str = "kind=shift workers=8") -> Kernel:
    return Kernel.compile(program, options, driver=driver)


def tensors(*names: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for i, name in enumerate((*READS, "delta", *WRITES)):
        is_row = name in ("lse", "delta")
        shape: tuple[int, ...] = (BATCH, KV_HEADS if name in ON_KV else HEADS, ROWS) + (
            (128,) if not is_row else ()
        )
        found[name] = Tensor((i + 1) << 40, shape, contiguous(shape), "f32" if is_row else "bf16")
    return {
        name: tensor
        for name, tensor in found.items()
        if name not in ("o", "delta") or name in names
    } | ({} if "o" in names else {"o": None})


def launches() -> None:
    """Delta takes the place of o, and prepare needs no shared memory for sums."""
    driver = StubDriver()
    kernel, plain = compiled(TAKES_DELTA, driver), compiled(PROGRAM, StubDriver())
    assert [spec["name"] for spec in kernel.manifest["tensors"]] == [
        "q",
        "k",
        "v",
        "do",
        "delta",
        "lse",
        "dq",
        "dk",
        "dv",
    ]
    assert kernel.manifest["tensors"][4] == plain.manifest["tensors"][5] | {"name": "delta"}
    given = tensors("delta")
    kernel.backward(**given)
    prepare = next(entry for entry in kernel.manifest["entries"] if entry["role"] == "prepare")
    values = next(launch for launch in driver.launches() if launch.name == prepare["name"]).values(
        prepare
    )
    assert values["delta"] == given["delta"].pointer and [
        values[f"delta.stride.{name}"] for name in ("batch", "head")
    ] == [HEADS * ROWS, ROWS]
    assert not [name for name in values if name == "o" or name.startswith("o.")]
    shared = {
        role: [entry["shared_bytes"] for entry in one.manifest["entries"] if entry["role"] == role][
            0
        ]
        for one in (kernel,)
        for role in ("prepare", "main")
    }
    assert shared["prepare"] == 6 * 128
    # The main kernel knows nothing of it.
    assert kernel.certificate != plain.certificate
    assert [
        entry
        for entry in kernel.manifest["entries"]
        if entry["role"] in ("order", "main", "convert")
    ] == [
        entry
        for entry in plain.manifest["entries"]
        if entry["role"] in ("order", "main", "convert")
    ]


def lists() -> None:
    driver = StubDriver()
    kernel = compiled(
        TAKES_DELTA.replace("scale(%scale)", "scale(%scale) sequences(<?>)"),
        driver,
        "kind=shift level=batch workers=8",
    )
    assert [spec["name"] for spec in kernel.manifest["tensors"]][-2:] == [
        "cu_seqlens_q",
        "cu_seqlens_kv",
    ]
    packed = {
        name: Tensor((i + 1) << 40, shape, contiguous(shape), "f32" if len(shape) == 2 else "bf16")
        for i, name in enumerate((*READS, "delta", *WRITES))
        if name != "o"
        for shape in [
            (
                (HEADS, ROWS)
                if name in ("lse", "delta")
                else (ROWS, KV_HEADS if name in ON_KV else HEADS, 128)
            )
        ]
    }
    lengths = {
        name: Tensor((30 + i) << 40, (4,), (1,), "i32")
        for i, name in enumerate(("cu_seqlens_q", "cu_seqlens_kv"))
    }
    kernel.backward(**packed, o=None, **lengths, layout="thd")
    assert driver.launches()[2].name == "attention_bwd_prepare"


def refusals() -> None:
    kernel, plain = compiled(TAKES_DELTA, StubDriver()), compiled(PROGRAM, StubDriver())
    wrong = Tensor(20 << 40, (BATCH, HEADS, ROWS), contiguous((BATCH, HEADS, ROWS)), "bf16")
    short = Tensor(20 << 40, (BATCH, HEADS, 7), contiguous((BATCH, HEADS, 7)), "f32")
    for run, given, message in (
        (
            kernel,
            tensors("o"),
            (
                "delta: expected rowsum(o * do) and None for o, found no delta: 'attention_bwd'"
                " takes delta in place of o"
            ),
        ),
        (
            kernel,
            tensors("o", "delta"),
            (
                "delta: expected rowsum(o * do) and None for o, found both: 'attention_bwd' takes"
                " delta in place of o"
            ),
        ),
        (
            plain,
            tensors("o", "delta"),
            "delta: 'attention_bwd' takes none: it was not compiled for 'delta = …'",
        ),
        (
            kernel,
            tensors("delta") | {"delta": wrong},
            "delta: expected elements of f32, found bf16",
        ),
        (
            kernel,
            tensors("delta") | {"delta": short},
            "delta: expected q_rows = 1000, found 7 in shape (3, 4, 7) of [batch, heads, q_rows]",
        ),
    ):
        found = refused(lambda run=run, given=given: run.backward(**given), ArgumentError)
        assert found == message, found


launches()
lists()
refusals()
