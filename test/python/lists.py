# RUN: %python %s %dash_src
# REQUIRES: python, plain-libdash, host-supports-nvptx
"""Kernels of lists of sequences: which lengths they take, what is launched with them in each call,
and what is refused."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

from fixtures import ON_KV, READS, WRITES, refused  # noqa: E402
from stub_driver import StubDriver  # noqa: E402

from dash_attn import ArgumentError, Kernel, Tensor  # noqa: E402
from dash_attn.kernel.compiler import compile_program  # noqa: E402
from dash_attn.kernel.runtime import maker_of  # noqa: E402
from dash_attn.kernel.tensors import contiguous  # noqa: E402

PROGRAM = (Path(sys.argv[1]) / "dialects/dash/examples/bwd-causal.mlir").read_text(encoding="utf-8")
ENTRIES = [f"attention_bwd_{role}" for role in ("sequences", "order", "prepare", "main", "convert")]
CLEAR = "attention_bwd_clear"
HEADS, KV_HEADS, Q_ROWS, KV_ROWS, SEQUENCES = 4, 2, 1000, 1100, 7


def compiled(
    driver: StubDriver,
    options: str = "kind=shift level=batch workers=8",
    change: str = "sequences(<?>)",
) -> Kernel:
    return Kernel.compile(
        PROGRAM.replace("scale(%scale)", f"scale(%scale) {change}"), options, driver=driver
    )


def packed(q_rows: int = Q_ROWS, kv_rows: int = KV_ROWS, **changed: Any) -> dict[str, Any]:
    """Tensors as FlashAttention packs them."""
    found: dict[str, Any] = {}
    for i, name in enumerate((*READS, *WRITES)):
        shape = (
            (kv_rows, KV_HEADS, 128)
            if name in ON_KV
            else (HEADS, q_rows)
            if name == "lse"
            else (q_rows, HEADS, 128)
        )
        found[name] = Tensor(
            (i + 1) << 40, shape, contiguous(shape), "f32" if name == "lse" else "bf16"
        )
    return found | lengths() | changed


def lengths(elements: int = SEQUENCES + 1, **changed: Any) -> dict[str, Tensor]:
    return {
        name: Tensor((20 + i) << 40, (elements,), (1,), "i32")
        for i, name in enumerate(("cu_seqlens_q", "cu_seqlens_kv"))
    } | changed


def launches() -> None:
    """All entries in each call: the host does not know whether lengths are those of the call
    before."""
    driver = StubDriver()
    kernel = compiled(driver)
    kernel.backward(**packed(), layout="thd")
    assert [name for name in driver.names() if name not in ("allocate", "free")] == ENTRIES
    kernel.backward(**packed(), layout="thd")
    found = driver.launches()
    assert [launch.name for launch in found] == ENTRIES
    values = {
        launch.name: launch.values(entry)
        for launch, entry in zip(found, kernel.manifest["entries"])
    }
    sequences, order, prepare, main, convert = (values[name] for name in ENTRIES)
    q_tiles = -(-(Q_ROWS + 63 * (SEQUENCES - 1)) // 64)
    assert (sequences["cu_seqlens_q"], sequences["cu_seqlens_kv"]) == (20 << 40, 21 << 40)
    assert [sequences[name] for name in ("sequences", "q_rows", "kv_rows", "kv_heads")] == [
        SEQUENCES,
        Q_ROWS,
        KV_ROWS,
        KV_HEADS,
    ]
    assert [order["q_tiles"], main["q_tiles"], convert["q_tiles"]] == [q_tiles] * 3
    assert (
        found[2].grid == (HEADS * q_tiles, 1, 1)
        and found[0].grid == (1, 1, 1)
        and found[3].is_cooperative
    )
    # A row of one head lies behind those of all heads of the row before.
    assert [prepare[f"q.stride.{name}"] for name in ("head", "row")] == [128, HEADS * 128]
    assert prepare["lse.stride.head"] == Q_ROWS
    kernel.bind(**packed(), layout="thd").run()
    assert [launch.name for launch in driver.launches()] == ENTRIES
    kernel.reserve(batch=1, heads=HEADS, kv_heads=KV_HEADS, q_rows=5000, kv_rows=5000, bounds=100)


def cleared_rows() -> None:
    """Rows outside of all sequences are cleared where a call asks for it, by the last entry, whose
    parameters are the gradients with rows."""
    driver = StubDriver()
    kernel = compiled(driver)
    for clears_rows in (True, False, True):
        driver.calls()
        kernel.backward(**packed(), layout="thd", clears_rows=clears_rows)
        found = driver.launches()
        assert [launch.name for launch in found] == ENTRIES + [CLEAR] * clears_rows
    assert found[-1].grid == (8, 1, 1)
    values = found[-1].values(kernel.manifest["entries"][-1])
    of_row = {"dq": HEADS * 128, "dk": KV_HEADS * 128, "dv": KV_HEADS * 128}
    assert {name: values[f"{name}.stride.row"] for name in of_row} == of_row
    assert [values[name] for name in of_row] == [packed()[name].pointer for name in of_row]
    assert [values[name] for name in ("heads", "kv_heads", "q_rows", "kv_rows", "sequences")] == [
        HEADS,
        KV_HEADS,
        Q_ROWS,
        KV_ROWS,
        SEQUENCES,
    ]
    launch = kernel.bind(**packed(), layout="thd", clears_rows=True)
    launch.run()
    assert [one.name for one in driver.launches()] == [*ENTRIES, CLEAR]
    # Each step alone is what it is in a run that clears rows.
    assert launch.plan.steps[-1] == "clear" and len(launch.plan.steps) == len(ENTRIES) + 1
    launch.ready()
    launch.run_step(len(ENTRIES))
    assert [one.name for one in driver.launches()] == [CLEAR]


def kernels_that_cannot_clear() -> None:
    """A list's without the entry, as an older compiler made it, is refused; a batch has no such
    rows."""
    program = PROGRAM.replace("scale(%scale)", "scale(%scale) sequences(<?>)")
    (made,) = compile_program(program, "kind=shift level=batch workers=8")
    manifest = json.loads(made.manifest)
    manifest["entries"] = [one for one in manifest["entries"] if one["name"] != CLEAR]
    driver = StubDriver()
    older = Kernel(maker_of((json.dumps(manifest).encode(), made.ptx, made.order)), driver)
    older.backward(**packed(), layout="thd")
    assert [launch.name for launch in driver.launches()] == ENTRIES
    found = refused(
        lambda: older.backward(**packed(), layout="thd", clears_rows=True), ArgumentError
    )
    assert found == "clearsRows: 'attention_bwd' has no entry that clears rows; compile it anew", (
        found
    )
    driver = StubDriver()
    plain = compiled(driver, change="")
    given = {name: value for name, value in packed().items() if name not in lengths()}
    plain.backward(**given, layout="thd", clears_rows=True)
    assert [launch.name for launch in driver.launches()] == ENTRIES[1:]


def sizes_of_regions() -> None:
    """The order of a list of one sequence, and of many, has room for the most tiles that there may
    be."""
    kernel = compiled(StubDriver())
    for q_rows, kv_rows, bounds in ((1, 1, 2), (64, 128, 2), (1000, 3000, 33), (5, 5, 1000)):
        workspace = kernel.reserve(
            batch=1, heads=2, kv_heads=1, q_rows=q_rows, kv_rows=kv_rows, bounds=bounds
        )
        n = bounds - 1
        q_tiles, kv_tiles = -(-(q_rows + 63 * (n - 1)) // 64), -(-(kv_rows + 127 * (n - 1)) // 128)
        assert workspace.region("turns")[1] == 4 * 2 * q_tiles
        visits = min(q_tiles * -(-kv_rows // 128), -(-q_rows // 64) * kv_tiles)
        words = -(-(20 + 12 * n + q_tiles) // 8) * 8 + 16 + 8 * kv_tiles + 4 * visits
        assert workspace.region("order")[1] == 4 * words, (workspace.region("order"), words)


def refusals() -> None:
    kernel = compiled(StubDriver())
    wrong = {
        "cu_seqlens_q: expected elements of i32, found f32": lengths(
            cu_seqlens_q=Tensor(20 << 40, (8,), (1,), "f32")
        ),
        "cu_seqlens_kv: expected bounds = 8, found 9 in shape (9,) of [bounds]": lengths(
            cu_seqlens_kv=Tensor(21 << 40, (9,), (1,), "i32")
        ),
        "'attention_bwd' serves bounds = 2 to 65536, found 1": lengths(1),
        (
            "cu_seqlens_q: expected i32 on the device, found None:"
            " 'attention_bwd' is of a list of sequences"
        ): {"cu_seqlens_q": None},
        "cu_seqlens_q: expected memory, found a null pointer": lengths(
            cu_seqlens_q=Tensor(0, (8,), (1,), "i32")
        ),
        (
            "cu_seqlens_q: expected the innermost dimension to be contiguous,"
            " found a stride of 2 elements; pass a contiguous copy"
        ): lengths(cu_seqlens_q=Tensor(20 << 40, (8,), (2,), "i32")),
        "dq: this output shares memory with cu_seqlens_q": lengths(
            cu_seqlens_q=Tensor(7 << 40, (8,), (1,), "i32")
        ),
    }
    for message, changed in wrong.items():
        found = refused(
            lambda changed=changed: kernel.backward(**packed() | changed, layout="thd"),
            ArgumentError,
        )
        assert found == message, found
    plain = compiled(StubDriver(), change="")
    found = refused(lambda: plain.backward(**packed(), layout="thd"), ArgumentError)
    assert (
        found
        == "cu_seqlens_q: 'attention_bwd' takes none: it was not compiled for 'sequences(<?>)'"
    ), found


def tables() -> None:
    """With stated lengths nothing is read on the device, and the tensors have the rows of all."""
    driver = StubDriver()
    kernel = compiled(
        driver,
        "kind=shift table=true workers=8 sizes=q:300+1+99,kv:200+500+1,heads:4,kv-heads:2",
        change="",
    )
    given = {name: value for name, value in packed(400, 701).items() if name not in lengths()}
    kernel.backward(**given, layout="thd")
    assert [launch.name for launch in driver.launches()] == ENTRIES[2:]
    found = refused(
        lambda: kernel.backward(
            **{name: value for name, value in packed().items() if name not in lengths()},
            layout="thd",
        ),
        ArgumentError,
    )
    assert (
        found.startswith(
            "'attention_bwd' serves q_rows = 400, found 1000; its order is a table for stated sizes"
        )
        and "sizes=q:300+1+99,kv:200+500+1,batch:1,heads:4,kv-heads:2" in found
    ), found


launches()
cleared_rows()
kernels_that_cannot_clear()
sizes_of_regions()
refusals()
tables()
