# RUN: %torch_python %s 40 1
# REQUIRES: torch, plain-libdash
"""Random documents, heads, homes, nodes, plans and options: the bits of one rank.
`distributed-random.py COUNT SEED` does more."""

from __future__ import annotations

import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))

import torch  # noqa: E402
from worlds import found_of, hashes, made, scattered, whole  # noqa: E402

from dash_attn.distributed.problem import KINDS  # noqa: E402

torch.set_num_threads(1)
count, seed = map(int, sys.argv[1:])
source = random.Random(seed)
for number in range(count):
    documents = tuple(
        source.randint(1, source.choice((30, 300, 1200))) for _ in range(source.randint(1, 5))
    )
    kv_heads, per_node = source.randint(1, 3), source.randint(1, 4)
    shape, ranks = (
        {
            "heads": kv_heads * source.choice((1, 2, 3, 4)),
            "kv_heads": kv_heads,
        },
        per_node * source.randint(1, 3),
    )
    options = {
        "kind": source.choice(KINDS),
        "seed": number,
        "ranks_per_node": per_node,
        "kept": source.choice(("none", "inputs", source.randint(0, 1 << 20))),
        "halves": source.random() < 0.4,
        "homes": scattered(documents, ranks, number),
        "twice": 0.3 if ranks > 1 and source.random() < 0.5 else 0.0,
        "speeds": (
            [source.randint(300, 1500) for _ in range(ranks)] if source.random() < 0.3 else ()
        ),
    }
    tensors = whole(documents, torch.bfloat16, shape["heads"], kv_heads)
    world = made(ranks, documents, **shape, **options)
    assert hashes(found_of(world, tensors)) == hashes(
        found_of(made(1, documents, **shape), tensors)
    ), (documents, ranks, shape, options)
    assert world.checked() == [], (documents, ranks, shape, options)
