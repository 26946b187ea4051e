"""Orders of workers that are reduced to takes and gives of turns: for SPIN, and for a
simulation."""

from __future__ import annotations

import random


def lists_of(schedule: dict, pieces: int) -> tuple[list, list]:
    """From a schedule of a JSON report: each worker's steps as (tile, turn), and how long each
    tile's chain is. With several parts, an item's steps are followed by so many pieces of its sums,
    each a tile with a chain over the parts."""
    # A tile's chain says whose turn it is by kv tile and part; heads of a group are visited by
    # items of one kv head.
    turns, lengths = {}, []
    for tile, chain in enumerate(schedule["chains"]):
        lengths.append(len(chain["order"]))
        for turn, (kv, part) in enumerate(chain["order"]):
            turns[chain["sequence"], chain["head"], chain["q"], kv, part] = tile, turn
    parts = {}
    for chain in schedule["partChains"] if schedule["parts"] > 1 else ():
        tiles = range(len(lengths), len(lengths) + pieces)
        lengths += [len(chain["order"])] * pieces
        for turn, part in enumerate(chain["order"]):
            parts[chain["sequence"], chain["kvHead"], chain["kv"], part] = [
                (tile, turn) for tile in tiles
            ]
    lists = [[] for _ in range(schedule["workers"])]
    for item in schedule["items"]:
        steps = lists[item["worker"]]
        steps += [
            turns[item["sequence"], head, q, item["kv"], item["part"]] for head, q in item["visit"]
        ]
        steps += parts.get((item["sequence"], item["kvHead"], item["kv"], item["part"]), [])
    return lists, lengths


def order_to_promela(schedule: dict, pieces: int, resident: int, launches: int = 2) -> str:
    """`order.pml` of a model."""
    lists, lengths = lists_of(schedule, pieces)
    steps = [step for one in lists for step in one]
    columns = {
        "first_step": [sum(map(len, lists[:worker])) for worker in range(len(lists))],
        "num_steps": [len(one) for one in lists],
        "tile_of": [tile for tile, _ in steps],
        "turn_of": [turn for _, turn in steps],
        "length_of": lengths,
    }
    lines = [
        f"#define WORKERS {len(lists)}",
        f"#define RESIDENT {resident}",
        f"#define LAUNCHES {launches}",
        f"#define TILES {len(lengths)}",
    ]
    lines += [f"hidden byte {name}[{max(1, len(values))}];" for name, values in columns.items()]
    lines += ["inline read_order() {"]
    lines += [
        f"  {name}[{i}] = {value};"
        for name, values in columns.items()
        for i, value in enumerate(values)
    ]
    return "\n".join([*lines, "  skip", "}", ""])


def finishes(
    schedule: dict,
    pieces: int,
    resident: int,
    warps: int,
    ahead: int,
    rng: random.Random,
    tickets: bool = True,
) -> bool:
    """Whether workers come to their end, moving in a random order. They start in the order of their
    indices, which tickets are for, or in a random one. Warp w has every `warps`-th step of a list;
    it takes a step's turn when it has given its last, and gives it when the turns of all steps that
    are `ahead` or more before it are taken."""
    lists, lengths = lists_of(schedule, pieces)
    owners = {step: worker for worker, one in enumerate(lists) for step in one}
    nexts, holds = [list(range(warps)) for _ in lists], [[False] * warps for _ in lists]
    starts = list(range(len(lists))) if tickets else rng.sample(range(len(lists)), len(lists))
    counters, started, ended = [0] * len(lengths), set(starts[:resident]), set()
    ready = list(started)
    while ready:
        at = rng.randrange(len(ready))
        ready[at], ready[-1] = ready[-1], ready[at]
        worker = ready.pop()
        steps, mine, held = lists[worker], nexts[worker], holds[worker]
        moved = worker not in ended
        while moved:
            moved = False
            for warp in rng.sample(range(warps), warps):
                if mine[warp] >= len(steps):
                    continue
                tile, turn = steps[mine[warp]]
                if not held[warp] and counters[tile] == turn:
                    held[warp] = moved = True
                untaken = min(step + warps * has for step, has in zip(mine, held))
                if held[warp] and untaken + ahead > mine[warp]:
                    counters[tile] += 1
                    mine[warp] += warps
                    held[warp], moved = False, True
                    if owners.get((tile, turn + 1)) in started:
                        ready.append(owners[tile, turn + 1])
        if min(mine) >= len(steps) and worker not in ended:
            ended.add(worker)
            if len(started) < len(lists):
                ready.append(starts[len(started)])
                started.add(ready[-1])
    return len(ended) == len(lists)
