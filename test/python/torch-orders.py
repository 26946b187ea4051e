# RUN: env DASH_CACHE=off %torch_python %s
# REQUIRES: torch, plain-libdash
"""The order that attention() takes is that of kind=auto for its sizes. Tables are made once, copied
once, also where the first call is captured, shared by sizes of the same tiles, streams and threads,
and forgotten where there are too many."""

from __future__ import annotations

import gc
import json
import sys
import threading
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

import torch  # noqa: E402
from fixtures import refused  # noqa: E402
from on_cpu import LAUNCHED  # noqa: E402
from stub_driver import StubDriver  # noqa: E402

import dash_attn  # noqa: E402
from dash_attn import ArgumentError, DriverError, Tensor, compile_program  # noqa: E402
from dash_attn.kernel import runtime  # noqa: E402
from dash_attn.kernel.orders import FEWEST_OF_FORMULAS, SIZES, order_for, texts_of  # noqa: E402
from dash_attn.kernel.plan import Table  # noqa: E402
from dash_attn.kernel.problem import CAUSAL, FULL, Wanted, program_of  # noqa: E402
from dash_attn.kernel.tensors import contiguous  # noqa: E402
from dash_attn.torch import kernels  # noqa: E402

ALWAYS = [f"attention_bwd_{role}" for role in ("prepare", "main", "convert")]
driver = StubDriver()


def wanted(window: tuple[int, int] = CAUSAL) -> Wanted:
    return Wanted(64, 64, "bf16", window)


def as_compiled() -> None:
    """Kind and parts are those that the compiler takes, and so is a table for the sizes that it
    stands for, to its certificate."""

    def manifest(
        program: str, name: str, sizes: tuple[int, ...], order: str = "kind=auto apart=auto"
    ) -> Any:
        stated = ",".join(
            f"{key}:{size}" for key, size in zip(("batch", "heads", "kv-heads", "q", "kv"), sizes)
        )
        (compiled,) = compile_program(program, f"{order} sizes={stated}", name=name)
        return json.loads(compiled.manifest)

    found = set()
    for window, sizes in (
        (CAUSAL, (1, 8, 1, 2048, 2048)),
        (CAUSAL, (2, 32, 8, 2048, 2048)),
        (CAUSAL, (2, 6, 1, 1000, 1000)),
        (CAUSAL, (1, 4, 4, 100, 100)),
        ((300, -1), (2, 4, 4, 65, 1000)),
        (FULL, (1, 16, 16, 8192, 8192)),
        (FULL, (2, 32, 8, 1024, 8192)),
        (FULL, (28, 16, 16, 577, 577)),
        (FULL, (1, 8, 1, 2048, 2048)),
        (CAUSAL, (1, 2, 2, 3000, 3000)),
        (FULL, (1, 2, 2, 2048, 2048)),
        ((300, 0), (2, 8, 8, 2000, 2000)),
        ((300, 0), (2, 8, 8, 1000, 2000)),
    ):
        has_sink = sizes == (2, 32, 8, 2048, 2048)
        program, _, name = program_of(wanted(window)._replace(kind="shift", has_sink=has_sink))
        expected = manifest(program, name, sizes)
        q, k = (
            torch.empty(sizes[0], heads, rows, 64, dtype=torch.bfloat16)
            for heads, rows in ((sizes[1], sizes[3]), (sizes[2], sizes[4]))
        )
        explained = dash_attn.explain(
            q,
            k,
            k,
            causal=window == CAUSAL,
            window=None if window == CAUSAL else window,
            sink=torch.zeros(32) if has_sink else None,
        )
        assert (explained.order, explained.parts) == (
            expected["program"]["kind"],
            expected["program"]["parts"],
        ), (sizes, explained)
        # A chain of 16 parts is 2.19 of a bound that has only their work.
        most = 2.2 if (window, sizes) == (CAUSAL, (1, 8, 1, 2048, 2048)) else 2
        assert (
            1 <= explained.predicted < most
            and f"predicted {explained.predicted:.3f} x its lower bound\n" in str(explained)
        ), explained
        assert (f", heads in {explained.parts} parts, " in str(explained)) == (explained.parts > 1)
        ordered = kernels.order_of(*(x.transpose(1, 2) for x in (q, k, k)), window, "bshd")
        assert ordered == kernels.order_of(q, k, k, window, "bhsd")
        if table := ordered.wanted.sizes:
            of_table = manifest(
                program,
                name,
                table,
                f"kind={explained.order} parts={explained.parts} apart={explained.apart or 'none'}"
                " table=true",
            )
            assert explained.certificate.split()[1:] == [of_table["certificate"]], (sizes, table)
        else:
            assert (
                explained.order != "synthesized"
                and sizes[0] * sizes[1] * sizes[3] * sizes[4] >= FEWEST_OF_FORMULAS * 64 * 128
            ), sizes
        assert ordered.wanted._replace(has_sink=has_sink) in kernels.kernels()
        found.add((explained.order, explained.parts))
    assert len(found) > 5 and ("synthesized", 1) in found, found
    # Beyond four kv tiles a worker one part is taken for granted.
    assert order_for(wanted(FULL), 5, 8, 1, 64, 13600).wanted.parts == 1
    found = refused(lambda: order_for(wanted(), 65536, 1, 1, 64, 64), ArgumentError)
    assert found == "kernels serve batch from 1 to 65535, found 65536", found


def same_tiles() -> None:
    """Sizes of the same tiles have one order and one kernel; masks that meet these tiles in another
    way have not."""
    for window, sizes, alike, others in (
        (
            CAUSAL,
            (2, 32, 8, 2048, 2048),
            ((2047, 2047), (1985, 1985)),
            ((1984, 1984), (2049, 2049)),
        ),
        ((1000, 0), (2, 32, 8, 2048, 2048), ((1990, 1990),), ((1984, 2048), (2000, 2001))),
        (FULL, (28, 16, 16, 640, 640), ((577, 513), (639, 600)), ((576, 640), (640, 512))),
    ):
        first = order_for(wanted(window), *sizes)
        assert first.wanted.sizes == sizes, first
        assert all(
            order_for(wanted(window), *sizes[:3], *rows) is not None
            and order_for(wanted(window), *sizes[:3], *rows).wanted == first.wanted
            for rows in alike
        )
        assert all(
            order_for(wanted(window), *sizes[:3], *rows).wanted != first.wanted for rows in others
        )


def kept_apart() -> None:
    """Contributions that wait for no turn are chosen where that is predicted to pay; with all of
    them no workers have to be resident at once."""
    chosen = {
        sizes: order_for(wanted(window), *sizes).wanted
        for window, sizes in (
            (CAUSAL, (1, 8, 1, 2048, 2048)),
            (FULL, (1, 32, 8, 1, 4096)),
            (CAUSAL, (1, 16, 16, 8192, 8192)),
        )
    }
    assert [one.apart for one in chosen.values()] == ["parts", "all", ""], chosen
    for one in chosen.values():
        manifest, ptx, _ = texts_of(one)
        found = json.loads(manifest)
        assert found["program"].get("apart", "") == one.apart, found["program"]
        assert (found["program"]["min_workers"] == 1) == (one.apart == "all") and (
            b"ld.acquire" not in ptx
        ) == (one.apart == "all"), found["program"]
        assert any(entry["cooperative"] for entry in found["entries"]) == (one.apart != "all")
    # An order by formulas is the same, whatever is kept apart.
    formulas = wanted(CAUSAL)._replace(kind="symmetric-shift", sizes=(1, 8, 8, 2048, 2048))
    assert texts_of(formulas)[2] == texts_of(formulas._replace(apart="all"))[2]


def tensors(sizes: tuple[int, ...]) -> dict[str, Tensor]:
    batch, heads, kv_heads, q_rows, kv_rows = sizes
    found = {}
    for i, name in enumerate(("q", "k", "v", "do", "o", "lse", "dq", "dk", "dv")):
        on_kv = name in ("k", "v", "dk", "dv")
        shape: tuple[int, ...] = (batch, kv_heads if on_kv else heads, kv_rows if on_kv else q_rows)
        shape += () if name == "lse" else (64,)
        found[name] = Tensor(
            (i + 1) << 40, shape, contiguous(shape), "f32" if name == "lse" else "bf16"
        )
    return found


def kernel_for(sizes: tuple[int, ...]) -> kernels.TorchKernel:
    return kernels.kernel_of(order_for(wanted(), *sizes).wanted)


def copies() -> list[str]:
    """What was enqueued since the last time; copies go to a stream of their own, which only the
    host waits for."""
    calls = driver.calls()
    assert all(
        one[-1] == "0x5e" for one in calls if one[0] in ("copy", "synchronize", "destroy")
    ), calls
    return [
        one[1] if one[0] == "launch" else one[0]
        for one in calls
        if one[0] in ("launch", "fill", "copy", "load", "free")
    ]


def tables() -> None:
    """One program for all sizes, loaded once; a table is copied once for a device, whatever streams
    and rows there are."""
    sizes, shorter, other = (2, 32, 8, 2048, 2048), (2, 32, 8, 2000, 2000), (2, 32, 8, 3000, 3000)
    kernel = kernel_for(sizes)
    copies()
    for stream, first in ((5, ["load", "copy"]), (6, [])):
        kernel.backward(**tensors(sizes), stream=stream)
        assert copies() == [*first, *ALWAYS]
    kernel.backward(**tensors(shorter), stream=5)
    assert copies() == ALWAYS
    found = refused(
        lambda: kernel.backward(**tensors((2, 32, 8, 1984, 1984)), stream=5), ArgumentError
    )
    assert found.startswith(
        "'attention_bwd' serves q_rows = 1985 to 2048, found 1984; its order is a table for stated"
        " sizes"
    ), found
    found = refused(
        lambda: kernel.backward(**tensors((2, 32, 8, 2048, 2047)), stream=5), ArgumentError
    )
    assert (
        found == "the order serves as many rows of q as of kv, as the tiles of others are masked in"
        " another way; found kv_rows = 2047, q_rows = 2048"
    ), found
    copies()
    second = kernel_for(other)
    second.backward(**tensors(other), stream=5)
    assert copies() == ["copy", *ALWAYS] and second.certificate != kernel.certificate
    address, size = (second._tables[0].memory.address, second._tables[0].memory.bytes)
    assert (
        driver.read(address, size)[:4] == (1).to_bytes(4, "little")
        and Table.total >= size + kernel._tables[0].memory.bytes
    )
    # alternating: nothing is made anew.
    for one, expected in ((kernel, sizes), (second, other), (kernel, sizes)):
        one.backward(**tensors(expected), stream=5)
        assert copies() == ALWAYS


def captured() -> None:
    """The first call is in a capture, which the copy does not touch; a graph keeps its table."""
    sizes = (2, 32, 8, 2500, 2500)
    driver.set(capturing=7)
    kernel_for(sizes).backward(**tensors(sizes), stream=7)
    assert copies() == ["copy", *ALWAYS]
    kernel_for(sizes).backward(**tensors(sizes), stream=8)  # not captured
    driver.set(capturing=None)
    copies()
    assert len(kernels._captured) == 1


def forgotten() -> None:
    """Beyond a bound all tables go that no graph has, but the first of a program, which keeps its
    code; what comes then is the same again."""
    first, gone = (2, 32, 8, 2048, 2048), (2, 32, 8, 3000, 3000)
    certificates = [kernel_for(sizes).certificate for sizes in (first, gone)]
    kernels.MOST_TABLES, most = 1, kernels.MOST_TABLES
    kernels.launches["some"] = None
    copies()
    sizes = (2, 32, 8, 2200, 2200)
    kernel_for(sizes).backward(**tensors(sizes), stream=5)
    kernels.MOST_TABLES = most
    gc.collect()
    assert "free" in copies() and not kernels.launches
    kept = [kernels._captured[0]._table, *(kernel_for(one)._tables[0] for one in (first, sizes))]
    assert Table.total == sum(one.memory.bytes for one in kept)
    for one, certificate, expected in (
        (first, certificates[0], ALWAYS),
        (gone, certificates[1], ["copy", *ALWAYS]),
    ):
        kernel_for(one).backward(**tensors(one), stream=5)
        assert kernel_for(one).certificate == certificate and copies() == expected


def many_sizes() -> None:
    """Kernels of tables are bounded by their number, too: each has a table and a manifest in the
    host's memory."""
    kernels.MOST_SIZES, most = 3, kernels.MOST_SIZES
    for rows in range(2048, 2048 + 12 * 64, 64):
        kernel_for((1, 32, 8, rows, rows))
        assert len(kernels._kernels) <= kernels.MOST_SIZES + len(kernels._first), len(
            kernels._kernels
        )
    kernels.MOST_SIZES = most
    gc.collect()


def short_of_memory() -> None:
    """What PyTorch's cache holds back is given up for a table; in a capture it cannot be."""
    emptied: list[bool] = []

    def empty_cache() -> None:
        emptied.append(True)
        driver.set(room=None)

    kept, torch.cuda.empty_cache = torch.cuda.empty_cache, empty_cache
    try:
        sizes = (2, 32, 8, 3300, 3300)
        driver.set(room=1)
        kernel_for(sizes).backward(**tensors(sizes), stream=5)
        assert emptied == [True]
        sizes = (2, 32, 8, 3400, 3400)
        driver.set(room=1, capturing=5)
        found = refused(lambda: kernel_for(sizes).backward(**tensors(sizes), stream=5), DriverError)
        assert (
            "CUDA_ERROR_OUT_OF_MEMORY" in found and "for the order" in found and emptied == [True]
        ), found
    finally:
        torch.cuda.empty_cache = kept
        driver.set(room=None, capturing=None)


def threads() -> None:
    sizes, failed = (2, 32, 8, 2300, 2300), []
    copies()

    def run(stream: int) -> None:
        try:
            for _ in range(20):
                kernel_for(sizes).backward(**tensors(sizes), stream=stream)
        except Exception as error:
            failed.append(error)

    running = [threading.Thread(target=run, args=(stream,)) for stream in range(1, 5)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    calls = copies()
    assert not failed and calls.count("copy") == 1 and calls.count(ALWAYS[1]) == 80, (
        failed,
        calls[:9],
    )


assert len(SIZES) == 5 and not LAUNCHED
as_compiled()
same_tiles()
kept_apart()
memory = torch.empty(1 << 28, dtype=torch.uint8)
runtime.cuda_driver = lambda: driver
kernels.allocate, kernels.free = lambda *_: -(-memory.data_ptr() // 256) * 256, lambda pointer: None
for test in (tables, captured, forgotten, many_sizes, short_of_memory, threads):
    test()
