"""Orders with their counters: workers that are reduced to takes and gives of turns, which stop or
lose a turn where a test says so.

A worker adds by some warps, each of which has every n-th task of its list. A warp takes its next
task's turn when it has given its last, and gives it when the turns of all tasks that stand WARPS or
more before it are taken.
"""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fixtures import SOURCE  # noqa: F401

from dash_attn.kernel.compiler import Compiled, compile_program
from dash_attn.measure.predict import program, report

WARPS, COMPLETE = 2, -1
Task = tuple[int, int]  # a counter, and a turn


@dataclass
class Order:
    """lists: of each worker its tasks. lengths: of each counter its turns, 0 where a tile has none.
    regions: (name, words) of the counters, in their order; a counter is numbered through all."""

    compiled: Compiled
    sizes: dict[str, int]
    regions: list[tuple[str, int]]
    lists: list[list[Task]]
    lengths: list[int] = field(default_factory=list)

    def names(self, counter: int) -> str:
        """As reports call its tile."""
        for name, words in self.regions:
            if counter < words:
                break
            counter -= words
        if name == "turns":
            tile, head = counter % self.tiles("q"), counter // self.tiles("q")
            heads = self.sizes["heads"]
            return f"q tile {tile} of dq (sequence {head // heads}, head {head % heads})"
        piece, tile = counter % 2, counter // 2
        head, tile = tile // self.tiles("kv"), tile % self.tiles("kv")
        heads = self.sizes["kv_heads"]
        return (
            f"piece {piece} of kv tile {tile} of {name[:2]} (sequence {head // heads}, kv head"
            f" {head % heads})"
        )

    def tiles(self, side: str) -> int:
        return -(-self.sizes[f"{side}_rows"] // (64 if side == "q" else 128))

    def words(self, given: list[int], last: int = COMPLETE) -> dict[str, bytes]:
        """Counters of so many turns; `last`: what the last turn of a chain leaves."""
        words = [
            last if length and count == length else count
            for count, length in zip(given, self.lengths)
        ]
        found, at = {}, 0
        for name, size in self.regions:
            found[name] = struct.pack(f"<{size}i", *words[at : at + size])
            at += size
        return found | {"order": self.compiled.order}


def made(
    folder: Path, kind: str, mask: str, sizes: dict[str, int], workers: int, parts: int = 1
) -> Order:
    """An order of the kind, as a table."""
    row = {
        "rows": sizes["q_rows"],
        "kv_rows": sizes["kv_rows"],
        "batch": sizes["batch"],
        "heads": sizes["heads"],
        "kv_heads": sizes["kv_heads"],
        "head_dim": 128,
        "mask": mask,
    }
    text = program([row])
    options = f"workers={workers} parts={parts}"
    found = report(text, f"kind={kind} {options}")
    path = folder / f"{kind}-{mask}-{parts}.json"
    path.write_text(json.dumps(found), encoding="utf-8")
    (compiled,) = compile_program(text, f"kind=file {options}", order=path)
    (schedule,) = found["schedules"]
    order = Order(compiled, sizes, [], [[] for _ in range(workers)])
    tiles = sizes["batch"] * sizes["heads"] * order.tiles("q")
    pieces = 2 * sizes["batch"] * sizes["kv_heads"] * order.tiles("kv")
    order.regions = [("turns", tiles)] + [
        (name, pieces) for name in ("dk_turns", "dv_turns") if parts > 1
    ]
    order.lengths = [0] * sum(words for _, words in order.regions)
    turns: dict[tuple[int, ...], Task] = {}
    for chain in schedule["chains"]:
        counter = (chain["sequence"] * sizes["heads"] + chain["head"]) * order.tiles("q") + chain[
            "q"
        ]
        order.lengths[counter] = len(chain["order"])
        turns |= {
            (chain["sequence"], chain["head"], chain["q"], kv, part): (counter, turn)
            for turn, (kv, part) in enumerate(chain["order"])
        }
    items: dict[tuple[int, ...], list[Task]] = {}
    for chain in schedule["partChains"] if parts > 1 else ():
        first = 2 * (
            (chain["sequence"] * sizes["kv_heads"] + chain["kvHead"]) * order.tiles("kv")
            + chain["kv"]
        )
        counters = [
            tiles + region * pieces + first + piece for region in (0, 1) for piece in (0, 1)
        ]
        for counter in counters:
            order.lengths[counter] = len(chain["order"])
        for turn, part in enumerate(chain["order"]):
            items[chain["sequence"], chain["kvHead"], chain["kv"], part] = [
                (counter, turn) for counter in counters
            ]
    for item in schedule["items"]:
        mine = order.lists[item["worker"]]
        mine += [
            turns[item["sequence"], head, q, item["kv"], item["part"]] for head, q in item["visit"]
        ]
        mine += items.get((item["sequence"], item["kvHead"], item["kv"], item["part"]), [])
    return order


class Run:
    """A launch on its way. stops: (worker, place): it does not give the turn of the task there, and
    its warp goes no further. loses: it does not give it, and goes on."""

    def __init__(
        self,
        order: Order,
        stops: tuple[int, int] | None = None,
        loses: tuple[int, int] | None = None,
    ) -> None:
        self.order, self.stops, self.loses = order, stops, loses
        self.given = [0] * len(order.lengths)
        self.next = [list(range(WARPS)) for _ in order.lists]
        self.holds = [[False] * WARPS for _ in order.lists]

    def moves(self) -> Iterator[tuple[int, int]]:
        """Warps that can take or give a turn: (worker, warp)."""
        for worker, tasks in enumerate(self.order.lists):
            for warp in range(WARPS):
                at = self.next[worker][warp]
                if at >= len(tasks) or self.stops == (worker, at) and self.holds[worker][warp]:
                    continue
                counter, turn = tasks[at]
                if self.holds[worker][warp]:
                    untaken = min(
                        place + WARPS * has
                        for place, has in zip(self.next[worker], self.holds[worker])
                    )
                    if untaken + WARPS > at:
                        yield worker, warp
                elif self.given[counter] == turn:
                    yield worker, warp

    def move(self, worker: int, warp: int) -> None:
        if not self.holds[worker][warp]:
            self.holds[worker][warp] = True
            return
        at = self.next[worker][warp]
        self.holds[worker][warp] = False
        self.next[worker][warp] += WARPS
        if self.loses != (worker, at):
            self.given[self.order.lists[worker][at][0]] += 1

    def go(self, rng: random.Random, most: int = 1 << 30) -> None:
        """Up to where no warp can move, or so many moves."""
        while most and (moves := list(self.moves())):
            self.move(*rng.choice(moves))
            most -= 1

    def state(self) -> tuple[Any, ...]:
        return tuple(map(tuple, self.next)), tuple(map(tuple, self.holds)), tuple(self.given)
