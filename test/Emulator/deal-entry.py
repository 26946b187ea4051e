"""The entry that deals items by work, on the emulator of `lib`: its lists are those that the host
deals for the same lengths, item by item, which --dash-verify-schedule proves. So ranks, runs of
prices, rounds and chunks come out like one item after the other. Lists have more items than a chunk
of prices, fewer than workers, and none with a task."""

# REQUIRES: python, host-supports-nvptx
# RUN: %python %s %t %dash_examples

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(Path(__file__).parent / "lib"), str(ROOT / "test/Main"), str(ROOT / "python")]

from lanes import u16  # noqa: E402
from launch import BITS, Kernel  # noqa: E402

ENTRIES = ("sequences", "order", "deal")
RECORD = 8  # words
Item = tuple[int, int, int]  # sequence, head, tile of the side that items own


@dataclass(frozen=True)
class Program:
    """outs: the gradients; empty for all."""

    mask: str = "causal"
    workers: int = 5
    kind: str = "shortest-first"
    outs: str = ""
    head_dim: int = 128

    def text(self, examples: Path) -> str:
        example = examples / "bwd-causal.mlir"
        if self.outs:
            script = ROOT / "tools/scripts/part_program.py"
            command = [sys.executable, script, self.outs, str(self.head_dim), example]
            text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        else:
            text = example.read_text(encoding="utf-8")
        text = text.replace("<causal>", f"<{self.mask}>")
        return text.replace("scale(%scale)", "scale(%scale) sequences(<?>)")


@dataclass(frozen=True)
class List:
    lengths: tuple[tuple[int, int], ...]  # of q and of k
    heads: int
    kv_heads: int

    def sizes(self) -> dict[str, int]:
        q_rows, kv_rows = (max(1, sum(pair[side] for pair in self.lengths)) for side in (0, 1))
        return {
            "batch": 1,
            "heads": self.heads,
            "kv_heads": self.kv_heads,
            "q_rows": q_rows,
            "kv_rows": kv_rows,
            "bounds": len(self.lengths) + 1,
        }

    def bounds(self, side: int) -> list[int]:
        return [sum(pair[side] for pair in self.lengths[:i]) for i in range(len(self.lengths) + 1)]


def dash_opt(text: str, *passes: str) -> str:
    done = subprocess.run(
        ["dash-opt", *passes, "-o", "/dev/null"],
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def of_device(kernel: Kernel, one: List) -> list[list[Item]]:
    values, inputs = kernel.values(one.sizes()), {}
    for tensor in kernel.manifest["tensors"]:
        if tensor["access"] == "read":
            shape = [kernel.number(size, values) for size in tensor["shape"]]
            inputs[tensor["name"]] = np.zeros(shape, BITS.get(tensor["element"], u16))
    for side, name in enumerate(("cu_seqlens_q", "cu_seqlens_kv")):
        inputs[name] = np.array(one.bounds(side), np.int32)
    kernel.run(inputs, one.sizes(), 1.0, len(one.lengths), roles=ENTRIES)
    words = np.frombuffer(kernel.region("order"), np.int32)
    _, workers, items, first_list, first_item = words[:5].tolist()
    assert workers == kernel.manifest["program"]["workers"]
    bounds = words[first_list : first_list + workers + 1].tolist()
    assert (bounds[0], bounds[-1]) == (0, items) and bounds == sorted(bounds), bounds
    records = words[first_item : first_item + RECORD * items].reshape(-1, RECORD)
    return [
        [tuple(record[:3]) for record in records[begin:end].tolist()]
        for begin, end in zip(bounds, bounds[1:])
    ]


def of_host(program: Program, one: List, examples: Path) -> list[list[Item]]:
    """Sequences with rows on both sides alone, numbered as in the list."""
    lists: list[list[Item]] = [[] for _ in range(program.workers)]
    kept = [index for index, pair in enumerate(one.lengths) if min(pair) > 0]
    if not kept:
        return lists
    q, kv = ("+".join(str(one.lengths[index][side]) for index in kept) for side in (0, 1))
    sizes = f"q:{q},kv:{kv},heads:{one.heads},kv-heads:{one.kv_heads}"
    text = dash_opt(
        program.text(examples),
        "--dash-choose-tiling",
        "--dash-tile",
        f"--dash-apply-schedule=kind={program.kind} workers={program.workers} sizes={sizes}",
        "--dash-deal-items",
        "--dash-verify-schedule",
        "--dash-report-schedule=format=json",
    )
    owns_q = program.outs == "dq"
    for item in json.loads(text)["schedules"][0]["items"]:
        head, tile = (item["head"], item["q"]) if owns_q else (item["kvHead"], item["kv"])
        lists[item["worker"]].append((kept[item["sequence"]], head, tile))
    return lists


def without_empty(lists: list[list[Item]], one: List) -> list[list[Item]]:
    """Sequences without queries or keys come last, so they change nothing for the others."""
    return [[item for item in items if min(one.lengths[item[0]]) > 0] for items in lists]


def check(program: Program, one: List, folder: Path, examples: Path) -> None:
    about = (program.kind, program.outs, program.mask, program.workers)
    name = folder / re.sub(r"[^a-z0-9]+", "-", "-".join(map(str, about)))
    if not name.with_suffix(".json").exists():
        options = f"kind={program.kind} workers={program.workers} output={name}"
        dash_opt(program.text(examples), f"--dash-to-ptx={options}")
    found = of_device(Kernel(name.with_suffix(".json")), one)
    items = [item for items in found for item in items]
    assert len(set(items)) == len(items), f"{program}, {one}: an item is there twice"
    expected = of_host(program, one, examples)
    ours = without_empty(found, one)
    differing = [index for index, pair in enumerate(zip(ours, expected)) if pair[0] != pair[1]]
    assert ours == expected, (
        f"{program}, {one}: worker {differing[0]} has {ours[differing[0]]}, the host gives it"
        f" {expected[differing[0]]}"
    )


def main() -> None:
    folder, examples, rng = Path(sys.argv[1]), Path(sys.argv[2]), random.Random("deal")
    folder.mkdir(parents=True, exist_ok=True)

    def lognormal(count: int, mean: float) -> tuple[tuple[int, int], ...]:
        lengths = [max(1, round(rng.lognormvariate(mean, 1.0))) for _ in range(count)]
        return tuple((length, length) for length in lengths)

    odd = ((70, 70), (0, 300), (33, 0), (200, 70), (0, 0), (1, 650), (129, 300), (200, 900))
    causal, full = Program(), Program(mask="full", workers=131)
    parts = Program(kind="longest-first", outs="dk,dv", head_dim=192, workers=40)
    for program, one in (
        (causal, List(odd, 4, 2)),
        (causal, List(lognormal(40, 5.5), 2, 2)),
        (Program(workers=300), List(lognormal(12, 5.5), 8, 8)),
        (Program(workers=1), List(odd, 2, 1)),
        (full, List(lognormal(20, 5.5), 6, 6)),
        (full, List(((1, 1),), 1, 1)),
        (full, List(((0, 300), (5, 0)), 2, 2)),
        (Program(mask="window = [300, 0]", workers=7), List(lognormal(9, 6.0), 3, 1)),
        (Program(mask="window = [300, -1]", workers=33), List(lognormal(20, 5.5), 3, 3)),
        (parts, List(lognormal(12, 5.5), 3, 3)),
        (Program(kind="longest-first", outs="dq", head_dim=192), List(odd, 4, 2)),
        # more items than a chunk of prices
        (Program(workers=24), List(lognormal(420, 3.0), 10, 10)),
    ):
        check(program, one, folder, examples)


if __name__ == "__main__":
    main()
