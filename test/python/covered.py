# RUN: env PYTHONPATH=%dash_src/python %python %s %dash_src %dash_examples
# REQUIRES: python, host-supports-nvptx, plain-libdash
"""The README's column of kernels: programs of each row compile, or are refused."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))

from covered import demand_column  # noqa: E402

from dash_attn import compile_program  # noqa: E402

ROOT, EXAMPLES = map(Path, sys.argv[1:])
SINK = ", %sink: memref<?xf32>, %dsink: memref<?x?xf32, strided<[?, 1]>>)"
SINK_CLAUSE = " sink(%sink, %dsink : memref<?xf32>, memref<?x?xf32, strided<[?, 1]>>)"


def program(
    *changes: tuple[str, str], mask: str = "causal", options: str = "kind=ascending"
) -> Callable[[], object]:
    text = (EXAMPLES / f"bwd-{mask}.mlir").read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return lambda: compile_program(text, options)


def element(name: str) -> Callable[[], object]:
    return program(("bf16", name))


def head_dim(columns: int) -> Callable[[], object]:
    return program(("x128x", f"x{columns}x"))


def part(columns: int) -> Callable[[], object]:
    """dQ alone: head dims above 128 have a program for each part of the gradients."""
    return program(
        ("x128x", f"x{columns}x"),
        (", %dq: !tensor, %dk: !tensor, %dv: !tensor", ", %dq: !tensor"),
        ("outs(%dq, %dk, %dv : !tensor, !tensor, !tensor)", "outs(dq = %dq : !tensor)"),
    )


def clause(words: str) -> Callable[[], object]:
    return program((" scale(%scale)", f" scale(%scale){words}"))


NARROW_V = "!narrow = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1], offset: ?>>\n"
V_APART = program(
    ("!per_row = ", f"{NARROW_V}!per_row = "),
    *((f"%{name}: !tensor", f"%{name}: !narrow") for name in ("v", "do", "o", "dv")),
    (
        "!tensor, !tensor, !tensor, !tensor, !per_row, !tensor)",
        "!tensor, !tensor, !narrow, !narrow, !per_row, !narrow)",
    ),
    (
        "outs(%dq, %dk, %dv : !tensor, !tensor, !tensor)",
        "outs(%dq, %dk, %dv : !tensor, !tensor, !narrow)",
    ),
)

demand_column(
    ROOT,
    "kernels, libdash",
    {
        "bf16, f16": [element("bf16"), element("f16")],
        "head dims in multiples of 8 up to 128, or 256 without sinks; that of v may differ": [
            *(head_dim(columns) for columns in range(8, 129, 8)),
            *(part(columns) for columns in (136, 192, 256)),
            V_APART,
        ],
        "full and causal masks, sliding windows, grouped heads, sinks": [
            program(),
            program(mask="full"),
            program(mask="window"),
            program(options="kind=ascending sizes=heads:8,kv-heads:2"),
            program(
                ("%scale: f32)", "%scale: f32" + SINK),
                (" scale(%scale)", f" scale(%scale){SINK_CLAUSE}"),
            ),
        ],
        "windows with a right side": [program(("[512, 0]", "[512, 64]"), mask="window")],
        "packed sequences whose lengths lie on the device, levels `run` and `batch`": [
            clause(" sequences(<?>)"),
            program(
                ("level(run)", "level(batch)"), (" scale(%scale)", " scale(%scale) sequences(<?>)")
            ),
        ],
        "softcaps, causal rectangles, level `batch` for batches": [
            clause(" softcap(50.0)"),
            program(options="kind=ascending sizes=q:100,kv:300"),
            program(("level(run)", "level(batch)")),
        ],
        "block masks, unions of masks": [
            program(
                mask="blocks",
                options="kind=ascending sizes=q:1024,kv:1024,batch:1,heads:2,kv-heads:2",
            ),
            program(mask="union"),
        ],
        "several GPUs: batch and heads apart": [],
        "several GPUs: rows of one document apart, head dims up to 128": [],
        "float32, fp8, head dims above 256, dropout, biases": [
            element("f32"),
            element("f8E4M3FN"),
            head_dim(264),
            clause(" dropout(0.1)"),
            clause(" bias(%bias : !tensor)"),
        ],
    },
)
