# RUN: env PYTHONPATH=%dash_src/test/python/lib %python %s %dash_build %t
# REQUIRES: python, host-supports-nvptx
"""The C API launches what dash_attn launches, bit for bit: each has a driver that only writes down."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

from capi_launch import ORDER, TMP, WORKSPACE, problem, run, sizes_of, write  # noqa: E402
from fake_driver import FakeDriver, values  # noqa: E402
from fixtures import tensors  # noqa: E402

from dash_attn import Kernel  # noqa: E402
from dash_attn.read_manifest import load_manifest  # noqa: E402

PACKED = {"ptr": "<Q", "i64": "<q", "i32": "<i", "f32": "<f"}
EXAMPLE = Path(__file__).parents[2] / "dialects/dash/examples/bwd-causal.mlir"


def spelled(base: Path, given: dict[str, Any], stream: int, order: int = 0) -> list[list[str]]:
    """The launches of dash_attn, with their parameters' bytes, where its memory is that of the C program."""
    driver = FakeDriver()
    kernel = Kernel.load(base.with_suffix(".json"), driver)
    found: list[list[str]] = []

    def write_down(launch: Any) -> None:
        entry = next(entry for entry in kernel.manifest.entries if entry.name == launch.name)
        parameters, place = [], moved(kernel, stream)
        for item, (name, value) in zip(entry.parameters, values(launch, entry).items()):
            value = place.get(name, value)
            parameters.append(struct.pack(PACKED[item.type], value).hex())
        found.append([launch.name, "grid", *map(str, launch.grid), "block", *map(str, entry.block), "cluster", *map(str, entry.cluster),
                      "shared", str(entry.shared_bytes), "stream", hex(launch.stream) if launch.stream else "(nil)", "cooperative",
                      str(int(launch.is_cooperative)), *parameters])

    driver.on_launch = write_down
    kernel.backward(**given, stream=stream)
    return found


def moved(kernel: Kernel, stream: int) -> dict[str, int]:
    """Where the C API puts regions: in their order, each behind the last, in the block that they belong to."""
    sizes = kernel.workspace(0, stream)
    ends, place = {WORKSPACE: 0, ORDER: 0}, {}
    for name, region in kernel.manifest.workspace.items():
        block = ORDER if region.initial in ("entry", "file") else WORKSPACE
        start = -(-ends[block] // region.alignment) * region.alignment
        place[f"workspace.{name}"] = block + start
        ends[block] = start + (kernel.manifest.order.bytes if region.initial == "file" else sizes.layout.sizes[name])
    return place


def moved_turns(raw: Any, sizes: dict[str, int]) -> tuple[int, int]:
    """Offset and bytes of the counters."""
    end, found = 0, raw.values(sizes)
    for name, region in raw.workspace.items():
        if region.initial in ("entry", "file"):
            continue
        start = -(-end // region.alignment) * region.alignment
        end = start + region.bytes(found)
        if name == "turns":
            return start, region.bytes(found)
    raise AssertionError("no turns")


def same_launches() -> None:
    """For kernels of fixtures and for compiled ones, contiguous tensors and others, two streams."""
    compiled = []
    for name, options in (("d128", "kind=shift"), ("table", "kind=synthesized workers=4 sizes=q:256,kv:256,batch:2,heads:4,kv-heads:4")):
        subprocess.run(["dash-opt", str(EXAMPLE), f"--dash-to-ptx={options} output={TMP}/{name}", "-o", os.devnull], check=True)
        compiled.append(TMP / name)

    def clustered(raw: dict[str, Any]) -> None:
        raw["entries"][1]["cluster"] = [2, 1, 1]

    for base in (write("plain"), write("clustered", clustered), *compiled):
        turned = {name: tensor if name == "lse" else replace(tensor, strides=(131072, 128, 512, 1)) for name, tensor in tensors().items()}
        for given, stream in ((tensors(), 0), (turned, 7)):
            ran = run(base, text=problem(given, sizes_of(given), f"stream {stream}"))
            assert ran.lines[2] == "plan: DASH_SUCCESS" and ran.lines[-1] == "run: DASH_SUCCESS", ran.lines
            assert ran.launches() == spelled(base, given, stream), (ran.launches(), spelled(base, given, stream))
            raw = load_manifest(base.with_suffix(".json"))
            # Zeros before all else, the order before the runs; no call but these, and nothing left when all is given back.
            source = "launch" if raw.order.source == "entry" else "copy"
            assert ran.enqueued() == ["fill", source, "launch", "launch", "launch"]
            turns = moved_turns(raw, sizes_of(given))
            (fill,) = [call for call in ran.calls if call[0] == "fill"]
            assert fill[1:4] == [hex(WORKSPACE + turns[0]), "0", str(turns[1])], fill
            if source == "copy":
                (copy,) = [call for call in ran.calls if call[0] == "copy"]
                total = 0
                for byte in raw.read_order():
                    total = (total * 31 + byte) % 2**32
                assert copy[1:4] == [hex(ORDER), str(raw.order.bytes), f"{total:08x}"], copy
            assert [call[0] for call in ran.calls if call[0] in ("retain", "release", "load", "unload")] == \
                ["retain", "load", "unload", "release"]


def threads() -> None:
    """Four threads, two plans each: one module, and no launch has values of another's."""
    ran = run(write("threads"), "threads")
    assert ran.lines[-1] == "4 threads, 0 failed", ran.lines
    assert [call[0] for call in ran.calls].count("load") == 1
    raw = load_manifest(TMP / "threads.json")
    entries = {entry.name: [item.name for item in entry.parameters] for entry in raw.entries}
    launches: dict[str, list[dict[str, int]]] = {}
    for call in ran.launches():
        given = dict(zip(entries[call[0]], call[call.index("cooperative") + 2:]))
        launches.setdefault(call[call.index("stream") + 1], []).append(
            {name: int.from_bytes(bytes.fromhex(value), "little") for name, value in given.items()})
    assert sorted(launches) == sorted(hex(16 * thread + i + 16) for thread in range(4) for i in range(2))
    for stream, found in launches.items():
        thread, i = divmod(int(stream, 16) - 16, 16)
        assert len(found) == 200
        for one in found:
            expected = {"q_rows": 256 << i, "scale": struct.unpack("<I", struct.pack("<f", thread + 1))[0]}
            expected |= {name: (thread + 1 << 20) + (j << 40) for j, name in enumerate(tensors())}
            assert all(one[name] == value for name, value in expected.items() if name in one), (stream, one)


for test in (same_launches, threads):
    test()
