"""Runs a main kernel's PTX on `ptx_machine` and proves its order: no register of a product is used
before the wait that covers it, no shared memory is read before it is written or after its slot is
released, whatever threads do in between.

    ptx_order.py KERNEL.ptx KERNEL.json

`spoils` are texts with one place spoilt, which `test/MemoryModel/spoilt.py` has it judge: a wait or
an arrival that is dropped, a wait for products that leaves one more, a row load before its wait, a
release before the wait for products.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path

from ptx_machine import Machine, Wrong

ENTRY = "attention_bwd_main"
# Steps of the items of the one block: none, prologue and epilogue alone, a middle step, and more,
# after each other.
WALKS = [[0], [1], [2], [3], [0, 1, 1, 2, 3], [4, 0, 1, 5], [5, 6]]
ORDER = 1 << 40
ROWS = 4096
Q_TILES = ROWS // 64


def order_buffer(walks: list[int], parts: int, is_list: bool) -> dict[int, int]:
    """One worker's items, as OrderBuffer.h lays them out; item i visits q tiles 0 … steps - 1, and
    is a part of kv tile i / parts. A list has one sequence, of all rows."""
    walks = walks + [0] * (-len(walks) % parts)
    sequences = [
        ROWS,
        ROWS,
        0,
        0,
        ROWS,
        ROWS,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        Q_TILES,
        0,
        0,
        0,
        Q_TILES // 2,
        0,
        0,
        0,
        0,
        0,
    ]
    between = sequences + [0] * Q_TILES if is_list else []
    first_list = 8 + len(between)
    first_item = first_list + 8
    first_visit = first_item + 8 * len(walks)
    words = [
        1,
        1,
        len(walks),
        first_list,
        first_item,
        first_visit,
        sum(walks),
        int(is_list),
        *between,
        0,
        len(walks),
    ]
    words += [0] * (first_item - len(words))
    for i, steps in enumerate(walks):
        words += [0, 0, i // parts, 0, sum(walks[:i]), steps, 1, i % parts]
    for i, steps in enumerate(walks):
        for q in range(steps):
            turn = sum(q < other for other in walks[:i])
            words += [0, q, turn, int(all(q >= other for other in walks[i + 1 :]))]
    return {ORDER + 4 * i: word for i, word in enumerate(words)}


def check_numbers(program: dict, walks: list[int], region: str, found: dict[int, int]) -> None:
    """Chains of contributions to each q tile, or to each piece of a kv tile."""
    parts, pieces = program["parts"], program["tiles"]["kv"] // program["tiles"]["q"]
    expected = {q: sum(q < steps for steps in walks) for q in range(max(walks))}
    if region != "workspace.turns":
        expected = dict.fromkeys(range(-(-len(walks) // parts) * pieces), parts)
    if found != expected:
        raise Wrong(f"{region} has {found}, expected {expected} contributions to its tiles")


def check_told(program: dict, walks: list[int], region: str, found: dict[int, int]) -> None:
    """The sum of each q tile that has a contribution, or of each piece of a kv tile."""
    pieces = program["tiles"]["kv"] // program["tiles"]["q"]
    tiles = (
        range(max(walks))
        if region == "workspace.turns"
        else range(-(-len(walks) // program["parts"]) * pieces)
    )
    if {tile: word & 0xFFFFFFFF for tile, word in found.items()} != dict.fromkeys(
        tiles, 0xFFFFFFFF
    ):
        raise Wrong(
            f"{region} has {found}, expected that the sums of tiles {list(tiles)} are told to be"
            " complete, and no others"
        )


def run(text: str, manifest: dict, walks: list[int]) -> Machine:
    entry = next(e for e in manifest["entries"] if e["name"] == ENTRY)
    values = {p["name"]: (i + 1) << 32 for i, p in enumerate(entry["parameters"])}
    values |= {
        "workspace.order": ORDER,
        "heads": 1,
        "q_rows": ROWS,
        "kv_rows": ROWS,
        "kv_heads": 1,
        "q_tiles": Q_TILES,
        "scale": 0,
    }
    values = {p["name"]: values[p["name"]] for p in entry["parameters"]}
    memory = order_buffer(walks, manifest["program"]["parts"], "sequences" in manifest["derived"])
    machine = Machine(text, ENTRY, values, memory, entry["block"][0] // 128)
    machine.run()
    for region, turns in ((name, at) for name, at in values.items() if name.endswith("turns")):
        left = {
            (at - turns) // 4: word
            for at, word in memory.items()
            if word and 0 <= at - turns < 1 << 20
        }
        # Their number is left.
        if manifest["program"].get("apart") in (
            ("all",) if region == "workspace.turns" else ("all", "parts")
        ):
            check_numbers(manifest["program"], walks, region, left)
        else:
            check_told(manifest["program"], walks, region, left)
    if machine.counts["tickets"] != ("workspace.tickets" in values) or memory.get(
        values.get("workspace.tickets"), 0
    ):
        raise Wrong(
            "a block draws one ticket where there are any, and the last one to draw leaves none"
        )
    return machine


TRY_WAIT = re.compile(r"mbarrier\.try_wait\S+\s+(\w+|%p\d+),.*;")
WAIT_GROUP = re.compile(r"wgmma\.wait_group\.sync\.aligned\s+(\d);")
ROW_LOAD = re.compile(r"ld\.shared\.v4")
ARRIVE = re.compile(r"@%p\d+ mbarrier\.arrive")
LABEL = re.compile(r"\$L\w+:")


def spoils(text: str):
    """What is done, and the text with it."""
    begin = text.index(f".entry {ENTRY}(")
    head, lines = text[:begin], text[begin:].splitlines()

    def edited(at: int, instead: str, other: int | None = None, inserted: str = "") -> str:
        """One line replaced, one inserted behind another."""
        copy = list(lines)
        copy[at] = instead
        if other is not None:
            copy[other] += "\n" + inserted
        return head + "\n".join(copy)

    def before_label(pattern: re.Pattern, places: range) -> list[int]:
        """Lines that match, up to the next label."""
        end = next((i for i in places if LABEL.match(lines[i].strip())), places[-1])
        return [
            i for i in places if i * places.step < end * places.step and pattern.search(lines[i])
        ]

    for at, line in enumerate(lines):
        what = line.strip()
        if wait := TRY_WAIT.search(line):
            yield f"without '{what}'", edited(at, f"setp.eq.b32 {wait[1]}, 0, 0;")
            ends = [*before_label(TRY_WAIT, range(at + 1, len(lines))), len(lines)]
            loads = [i for i in before_label(ROW_LOAD, range(at + 1, len(lines))) if i < ends[0]]
            if loads:
                moved = "{\n.reg .pred done;\nagain:\n" + line + "\n@!" + wait[1] + " bra again;\n}"
                yield (
                    f"row loads before '{what}'",
                    edited(at, f"setp.eq.b32 {wait[1]}, 0, 0;", loads[-1], moved),
                )
        elif ARRIVE.search(line):
            yield f"without '{what}'", edited(at, "")
        elif wait := WAIT_GROUP.search(line):
            yield (
                f"one product more under way behind '{what}'",
                edited(at, line.replace(f"{wait[1]};", f"{int(wait[1]) + 1};")),
            )
            # The first arrival behind it says that what was multiplied may be overwritten.
            if arrivals := before_label(ARRIVE, range(at + 1, len(lines))):
                copy = list(lines)
                copy[at] = copy[arrivals[0]] + "\n" + line
                copy[arrivals[0]] = ""
                yield f"released before '{what}'", head + "\n".join(copy)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("ptx", type=Path)
    parser.add_argument("manifest", type=Path)
    arguments = parser.parse_args()
    text = arguments.ptx.read_text(encoding="utf-8")
    manifest = json.loads(arguments.manifest.read_text(encoding="utf-8"))
    for walks in WALKS:
        try:
            machine = run(text, manifest, walks)
        except Wrong as wrong:
            print(f"steps {walks}: {wrong}")
            return 1
        print(
            f"steps {walks}: "
            + ", ".join(f"{count} {what}" for what, count in sorted(machine.counts.items()))
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
