# RUN: %python %s
# REQUIRES: python, plain-libdash
"""Which programs pass dS on, how large it is, and how a batch is cut so that it fits."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

from fixtures import refused  # noqa: E402

from dash_attn import ArgumentError  # noqa: E402
from dash_attn.doctor.calls import Call, _wanted  # noqa: E402
from dash_attn.kernel import tasks  # noqa: E402
from dash_attn.kernel.orders import order_for  # noqa: E402
from dash_attn.kernel.problem import Wanted, program_of, slices_of  # noqa: E402
from dash_attn.kernel.tasks import BYTES, slices_of_gradients, tiles_of  # noqa: E402
from dash_attn.reference import CAUSAL, FULL, Mask  # noqa: E402

SIZES = 2, 8, 4, 1024, 1024  # batch, heads, kv heads, rows of q and of k
GIB = 1 << 30


def wide(mask: Mask = CAUSAL, of_qk: int = 192, of_v: int = 128, **rest: Any) -> Wanted:
    return Wanted(of_qk, of_v, "bf16", (mask.left, mask.right), **rest)


def counts() -> None:
    """Tiles of 64 x 64 scores, hidden ones too, for each head: rows of 6 q tiles, and one tile of
    zeros."""
    assert tiles_of(wide(), *SIZES) == tiles_of(wide(FULL), *SIZES) == 2 * 8 * 16 * 18 + 1
    assert tiles_of(wide(), 1, 3, 1, 100, 200) == 3 * 4 * 6 + 1
    assert tiles_of(wide(FULL), 1, 1, 1, 385, 1) == 12 + 1


def served() -> None:
    """Masks with a left side, rules, lists, forwards and narrow heads pass none."""
    for one in (
        wide(Mask(128, 0)),
        wide(Mask(128, 128)),
        wide(rules="blocks"),
        wide(is_list=True),
        wide(of_qk=128),
        wide(is_forward=True),
    ):
        assert tiles_of(one, *SIZES) == 0, one


def programs() -> None:
    """Both programs of an order pass dS on, or none does."""
    for level in ("run", "batch"):
        of_kv, of_q = order_for(wide(level=level), *SIZES).kernels
        assert of_kv.passes_ds and of_q.passes_ds
        for one in of_kv, of_q:
            text, _, _ = program_of(one)
            assert " ds(%ds : memref<?x4096xbf16, " in text, text
    os.environ[tasks.VARIABLE] = "0"
    assert not any(one.passes_ds for one in order_for(wide(), *SIZES).kernels)
    del os.environ[tasks.VARIABLE]


def variable() -> None:
    for text in ("2GiB", "-1", "1e9", " 5", "²"):
        os.environ[tasks.VARIABLE] = text
        reason = refused(lambda: tasks.most_bytes(), ArgumentError)
        assert reason == (
            "DASH_DS_BYTES: expected a number of bytes, 0 so that dS is always computed twice,"
            f" found {text!r}"
        ), reason
    os.environ[tasks.VARIABLE] = ""
    assert tasks.most_bytes() == 2 * GIB
    del os.environ[tasks.VARIABLE]


def shapes(batch: int, heads: int, kv_heads: int, rows: int, layout: str) -> list[tuple[int, ...]]:
    found = []
    for h, d in ((heads, 192), (kv_heads, 192), (kv_heads, 128)):
        found.append((batch, h, rows, d) if layout == "bhsd" else (batch, rows, h, d))
    return found


def slices() -> None:
    """They are of about one size, cover all heads once, and each fits."""
    for batch, heads, kv_heads, rows, most in (
        (1, 16, 16, 16384, 4 * GIB),
        (1, 10, 10, 16384, 2 * GIB),
        (4, 64, 16, 4096, 4 * GIB),
        (3, 20, 10, 16384, 4 * GIB),
        (64, 8, 8, 2048, GIB // 4),
    ):
        os.environ[tasks.VARIABLE] = str(most)
        for layout in ("bhsd", "bshd"):
            given = shapes(batch, heads, kv_heads, rows, layout)
            found = slices_of_gradients(wide(FULL), *given, layout)
            assert len(found) > 1, found
            group, seen, sizes = heads // kv_heads, set(), set()
            for some, of_q, of_k in found:
                assert (of_q.start, of_q.stop) == (of_k.start * group, of_k.stop * group)
                numbers = some.stop - some.start, of_k.stop - of_k.start
                count = tiles_of(wide(FULL), numbers[0], numbers[1] * group, numbers[1], rows, rows)
                assert 0 < count * BYTES <= most
                cells = {
                    (b, h)
                    for b in range(some.start, some.stop)
                    for h in range(of_k.start, of_k.stop)
                }
                assert not cells & seen
                seen |= cells
                sizes.add(len(cells))
            assert len(seen) == batch * kv_heads
            assert max(sizes) <= 2 * min(sizes), sizes
    # What fits goes at once. So does what would go in slices too small for all workers, or where
    # not even one head fits: then dS is computed twice.
    for batch, heads, rows, most in (
        (1, 16, 4096, 2 * GIB),
        (1, 4, 16384, GIB // 2),
        (1, 2, 65536, GIB),
    ):
        os.environ[tasks.VARIABLE] = str(most)
        given = shapes(batch, heads, heads, rows, "bhsd")
        assert slices_of_gradients(wide(FULL), *given, "bhsd") == slices_of(*given, "bhsd")
    os.environ[tasks.VARIABLE] = str(GIB // 2)
    sizes = 1, 4, 4, 16384, 16384
    assert not any(one.passes_ds for one in order_for(wide(FULL), *sizes).kernels)
    del os.environ[tasks.VARIABLE]


def without_heads() -> None:
    shapes = [(2, 4, 64, 192), (2, 0, 64, 192), (2, 0, 64, 192)]
    reason = refused(lambda: slices_of_gradients(wide(), *shapes, "bhsd"), ArgumentError)
    assert reason == "k: expected heads of at least 1, found 0", reason


def reported() -> None:
    """The doctor counts launches as calls have them: gradients of 10 heads go in four slices."""
    call = Call(256, heads=10, kv_heads=10, rows=16384)
    launches = [(one.is_forward, sizes[2], count) for one, sizes, count in _wanted(call)]
    assert launches == [(True, 10, 0), (False, 2, 2), (False, 3, 2)], launches


for test in (counts, served, programs, variable, slices, without_heads, reported):
    test()
