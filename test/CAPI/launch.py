# RUN: env PYTHONPATH=%dash_src/test/python/lib %python %s %dash_build %t
# REQUIRES: python, host-supports-nvptx
"""What the C API launches, beside a model that was written from embedding.md: entries, grids, each
parameter's bytes, memory."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

from capi_launch import ORDER, TMP, WORKSPACE, problem, run, sizes_of, write  # noqa: E402
from fixtures import tensors  # noqa: E402

PACKED = {"ptr": "<Q", "i64": "<q", "i32": "<i", "f32": "<f"}
FUNCTIONS = {
    "min": min,
    "max": max,
    "ceildiv": lambda a, b: -(-a // b),
    "align": lambda a, b: -(-a // b) * b,
}
EXAMPLE = Path(__file__).parents[2] / "dialects/dash/examples/bwd-causal.mlir"


class Model:
    """A kernel for some tensors: what is known of it, and where regions lie: each behind the last,
    in the block that they belong to."""

    def __init__(self, base: Path, given: dict[str, Any]) -> None:
        self.raw = json.loads(base.with_suffix(".json").read_text(encoding="utf-8"))
        self.known: dict[str, Any] = sizes_of(given) | {
            name: self.raw["program"][name] for name in ("workers", "width")
        }
        self.known |= {name: self.number(text) for name, text in self.raw["derived"].items()}
        self.regions, ends = {}, {WORKSPACE: 0, ORDER: 0}
        for region in self.raw["workspace"]:
            block = ORDER if region["initial"] in ("entry", "file") else WORKSPACE
            start = -(-ends[block] // region["alignment"]) * region["alignment"]
            ends[block] = start + self.number(region["bytes"])
            self.regions[region["name"]] = (block + start, self.number(region["bytes"]))
        self.known |= {f"workspace.{name}": place[0] for name, place in self.regions.items()}
        for name, tensor in given.items():
            self.known |= {name: tensor.pointer} | {
                f"{name}.stride.{dimension}": stride
                for dimension, stride in zip(("batch", "head", "row"), tensor.strides[:-1])
            }
        self.known["scale"] = 128**-0.5

    def number(self, text: str) -> int:
        return eval(text, {"__builtins__": {}} | FUNCTIONS, self.known)  # noqa: S307 - of our own manifests, whose expressions are Python's

    def launches(self, stream: int) -> list[list[str]]:
        found = []
        for entry in self.raw["entries"]:
            parameters = [
                struct.pack(PACKED[item["type"]], self.known[item["name"]]).hex()
                for item in entry["parameters"]
            ]
            found.append(
                [
                    entry["name"],
                    "grid",
                    *(str(self.number(extent)) for extent in entry["grid"]),
                    "block",
                    *map(str, entry["block"]),
                    "cluster",
                    *map(str, entry["cluster"]),
                    "shared",
                    str(entry["shared_bytes"]),
                    "stream",
                    hex(stream) if stream else "(nil)",
                    "overlaps",
                    str(int(entry.get("overlaps", False))),
                    "cooperative",
                    str(int(entry["cooperative"])),
                    *parameters,
                ]
            )
        return found


def same_launches() -> None:
    """For kernels of fixtures and for compiled ones, contiguous tensors and others, two streams."""
    compiled = []
    for name, options in (
        ("d128", "kind=shift"),
        ("table", "kind=synthesized workers=4 sizes=q:256,kv:256,batch:2,heads:4,kv-heads:4"),
        ("tickets", "tickets=true kind=ascending workers=4"),
    ):
        subprocess.run(
            [
                "dash-opt",
                str(EXAMPLE),
                f"--dash-to-ptx={options} output={TMP}/{name}",
                "-o",
                os.devnull,
            ],
            check=True,
        )
        compiled.append(TMP / name)

    def clustered(raw: dict[str, Any]) -> None:
        raw["entries"][1]["cluster"] = [2, 1, 1]

    for base in (write("plain"), write("clustered", clustered), *compiled):
        turned = {
            name: tensor if name == "lse" else replace(tensor, strides=(131072, 128, 512, 1))
            for name, tensor in tensors().items()
        }
        for given, stream in ((tensors(), 0), (turned, 7)):
            ran = run(base, text=problem(given, sizes_of(given), f"stream {stream}"))
            assert ran.lines[2] == "plan: DASH_SUCCESS" and ran.lines[-1] == "run: DASH_SUCCESS", (
                ran.lines
            )
            model = Model(base, given)
            assert ran.launches() == model.launches(stream), (
                ran.launches(),
                model.launches(stream),
            )
            # Zeros before all else, the order before the runs; no call but these, and nothing left
            # when all is given back.
            order = model.raw["order"]
            source = "launch" if order["source"] == "entry" else "copy"
            zeros = [
                model.regions[region["name"]]
                for region in model.raw["workspace"]
                if region["initial"] == "zero"
            ]
            assert ran.enqueued() == ["fill"] * len(zeros) + [source, "launch", "launch", "launch"]
            fills = [call[1:4] for call in ran.calls if call[0] == "fill"]
            assert fills == [[hex(address), "0", str(size)] for address, size in zeros], fills
            if source == "copy":
                (copy,) = [call for call in ran.calls if call[0] == "copy"]
                total = 0
                for byte in base.with_suffix(".order").read_bytes():
                    total = (total * 31 + byte) % 2**32
                assert copy[1:4] == [hex(ORDER), str(order["bytes"]), f"{total:08x}"], copy
            assert [
                call[0] for call in ran.calls if call[0] in ("retain", "release", "load", "unload")
            ] == ["retain", "load", "unload", "release"]


def threads() -> None:
    """Four threads, two plans each: one module, and no launch has values of another's."""
    ran = run(write("threads"), "threads")
    assert ran.lines[-1] == "4 threads, 0 failed", ran.lines
    assert [call[0] for call in ran.calls].count("load") == 1
    raw = json.loads((TMP / "threads.json").read_text(encoding="utf-8"))
    entries = {
        entry["name"]: [item["name"] for item in entry["parameters"]] for entry in raw["entries"]
    }
    launches: dict[str, list[dict[str, int]]] = {}
    for call in ran.launches():
        given = dict(zip(entries[call[0]], call[call.index("cooperative") + 2 :]))
        launches.setdefault(call[call.index("stream") + 1], []).append(
            {name: int.from_bytes(bytes.fromhex(value), "little") for name, value in given.items()}
        )
    assert sorted(launches) == sorted(
        hex(16 * thread + i + 16) for thread in range(4) for i in range(2)
    )
    for stream, found in launches.items():
        thread, i = divmod(int(stream, 16) - 16, 16)
        assert len(found) == 200
        for one in found:
            expected = {
                "q_rows": 256 << i,
                "scale": struct.unpack("<I", struct.pack("<f", thread + 1))[0],
            }
            expected |= {name: (thread + 1 << 20) + (j << 40) for j, name in enumerate(tensors())}
            assert all(one[name] == value for name, value in expected.items() if name in one), (
                stream,
                one,
            )


def kernels() -> None:
    """Four threads, a kernel of its own each time: without and with a cache that they share, and
    with the code that another has loaded."""
    base = write("kernels")
    os.environ["DASH_PTXAS"] = str(Path(__file__).parent / "lib/stub-ptxas")
    shutil.rmtree(TMP / "cache", ignore_errors=True)
    for cache in ("off", str(TMP / "cache")):
        os.environ["DASH_CACHE"] = cache
        ran = run(base, "kernels")
        assert ran.lines[-1] == "4 threads, 0 failed", ran.lines
        loads = [call[-1] for call in ran.calls if call[0] == "load"]
        links = [call for call in ran.calls if call[0] == "assemble"]
        assert 1 <= len(loads) <= 80 and [call[0] for call in ran.calls].count("unload") == len(
            loads
        )
        assert (
            set(loads) == {"PTX" if cache == "off" else "cubin"}
            and (cache == "off") == (not links)
            and len(links) <= 4
        ), (loads, links)
    assert len(list((TMP / "cache").iterdir())) == 1


for test in (same_launches, threads, kernels):
    test()
