# RUN: %torch_python %s
# REQUIRES: torch, plain-libdash
"""What the stream of exchanges reads is there until the pass ends: memory that was freed before
would be given to what another micro-batch launches next on its own stream."""

from __future__ import annotations

import sys
import weakref
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))

import torch  # noqa: E402
from worlds import found_of, made, whole  # noqa: E402

from dash_attn.distributed.passes import Backward  # noqa: E402

torch.set_num_threads(1)
documents = (1100, 700)
seen: dict[int, list[weakref.ref]] = {}
receive, outputs = Backward.receive, Backward.outputs


def receive_watched(self):
    """The addresses of the sums that a rank computed, which lie in memory of the stream of its
    kernels."""
    seen[self.rank] = [
        weakref.ref(part.values) for parts in self.sums._parts.values() for part in parts
    ]
    yield from receive(self)


def outputs_watched(self):
    gone = sum(one() is None for one in seen[self.rank])
    assert gone == 0, (
        f"rank {self.rank}: {gone} of {len(seen[self.rank])} sums were freed while exchanges may"
        " still read them"
    )
    return outputs(self)


Backward.receive, Backward.outputs = receive_watched, outputs_watched
tensors = whole(documents, torch.bfloat16, 4, 2)
# Roots that one rank has whole, and sums that several have.
for kind in ("home", "heads-first", "random"):
    for ranks in (2, 4):
        found_of(made(ranks, documents, heads=4, kv_heads=2, kind=kind, seed=1), tensors)
        assert sum(map(len, seen.values())) > 4, seen
