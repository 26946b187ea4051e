"""An order as the model of reduced workers reads it."""

from __future__ import annotations


def order_to_promela(schedule: dict, resident: int, launches: int = 2) -> str:
    """`order.pml` from a schedule of a JSON report."""
    # A tile's chain says whose turn it is by kv tile and part; heads of a group are visited by items of one kv head.
    turns, lengths = {}, []
    for tile, chain in enumerate(schedule["chains"]):
        lengths.append(len(chain["order"]))
        for turn, (kv, part) in enumerate(chain["order"]):
            turns[chain["sequence"], chain["head"], chain["q"], kv, part] = tile, turn
    lists = [[] for _ in range(schedule["workers"])]
    for item in schedule["items"]:
        for head, q in item["visit"]:
            lists[item["worker"]].append(turns[item["sequence"], head, q, item["kv"], item["part"]])

    steps = [step for one in lists for step in one]
    columns = {"first_step": [sum(map(len, lists[:worker])) for worker in range(len(lists))],
               "num_steps": [len(one) for one in lists], "tile_of": [tile for tile, _ in steps],
               "turn_of": [turn for _, turn in steps], "length_of": lengths}
    lines = [f"#define WORKERS {len(lists)}", f"#define RESIDENT {resident}", f"#define LAUNCHES {launches}",
             f"#define TILES {len(lengths)}"]
    lines += [f"hidden byte {name}[{max(1, len(values))}];" for name, values in columns.items()]
    lines += ["inline read_order() {"]
    lines += [f"  {name}[{i}] = {value};" for name, values in columns.items() for i, value in enumerate(values)]
    return "\n".join([*lines, "  skip", "}", ""])
