# RUN: %torch_python %s
# REQUIRES: torch, plain-libdash
"""What stays with servers from forward to backward, by bytes: the same bits for any budget, no rank
keeps more than it may, and what stays is not sent again."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any
from unittest import mock

sys.path.insert(0, str(Path(__file__).parent / "lib"))

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from ranks import on_ranks  # noqa: E402
from worlds import DOCUMENTS, found_of, hashes, local, made, scattered, whole  # noqa: E402

from dash_attn.distributed import World, attention, kept_inputs, passes  # noqa: E402
from dash_attn.distributed.plan import BACKWARD, Plan  # noqa: E402
from dash_attn.distributed.reserve import bytes_of  # noqa: E402

torch.set_num_threads(1)


def brought(plan: Plan) -> int:
    """Bytes of inputs of a backward."""
    return sum(come for phase in (0, 1) for _, come in plan.buffers(BACKWARD, phase))


def run(world: World, tensors: list[torch.Tensor]) -> tuple[list[int], dict[int, int]]:
    """Hashes, and the bytes that each rank kept, of all parts of a call."""
    bytes_kept: dict[int, int] = {}

    def keep(plan: Plan, rank: int, *others: Any) -> list[torch.Tensor]:
        found = kept_inputs.keep(plan, rank, *others)
        size = sum(one.numel() * one.element_size() for one in found)
        assert size == kept_inputs.kept_bytes(plan, rank)
        assert bytes_of(plan, rank).get("kept from the forward", 0) == size
        # Nothing else is held by a view of it.
        assert size == 0 or sum(one.untyped_storage().nbytes() for one in found) == size
        bytes_kept[rank] = bytes_kept.get(rank, 0) + size
        return found

    with mock.patch.object(passes, "keep", keep):
        return hashes(found_of(world, tensors)), bytes_kept


def any_budget() -> None:
    tensors = whole()
    expected = hashes(found_of(made(1), tensors))
    partly = 0
    for ranks, per_node, kind, halves in (
        (2, 2, "heads-first", False),
        (4, 2, "random", False),
        (4, 1, "rows", True),
        (8, 4, "heads-first", True),
    ):
        options = {
            "kind": kind,
            "seed": 3,
            "ranks_per_node": per_node,
            "halves": halves,
            "homes": scattered(DOCUMENTS, ranks, ranks),
        }
        most = made(ranks, kept="inputs", **options)
        full = sum(one.facts["kept"] for one in most.parts)
        all_brought, least = brought(made(ranks, **options).plan), brought(most.plan)
        assert full > 0 and least < all_brought
        for budget in (0, 1000, full // 7, full // 3, full // 2, full - 1, full, 1 << 40, "inputs"):
            world = made(ranks, kept=budget, **options)
            found, bytes_kept = run(world, tensors)
            assert found == expected, (ranks, kind, budget)
            if budget != "inputs":
                assert all(one <= budget for one in bytes_kept.values()), (budget, bytes_kept)
            assert sum(one.facts["kept"] for one in world.parts) >= max(
                bytes_kept.values(), default=0
            )
            # Each byte that stays is one that need not be brought, but for the padding of messages.
            if not halves:
                saved = all_brought - brought(world.plan)
                assert abs(saved - sum(bytes_kept.values())) < 0.005 * all_brought
            if budget in (1 << 40, "inputs"):
                assert bytes_kept and brought(world.plan) == least
            partly += least < brought(world.plan) < all_brought
    assert partly > 6, partly


def shortest_first() -> None:
    """K and V of a document that several ranks compute are held by each: it comes last."""
    options = {"kind": "random", "seed": 5}
    every = made(4, kept="inputs", **options).plan
    documents = {document for document, _ in every.kept}
    assert len(documents) >= 3, documents
    for budget in range(1 << 16, every.facts["kept"] + 1, 1 << 16):
        some = made(4, kept=budget, **options).plan.kept
        assert some <= every.kept
        left = {document for document, _ in every.kept - some}
        if len(left) == 1:
            assert left == {0}, (budget, left)  # the longest
            break
    else:
        raise AssertionError("no budget leaves out one document alone")
    # The choice follows from the problem and the plan alone.
    assert (
        made(4, kept=budget, **options).plan.kept
        == Plan(made(4, kept=budget, **options).problem, "random", 5).kept
    )


def of_rank(rank: int, budget: Any) -> list[torch.Tensor]:
    world = made(dist.group.WORLD, kind="random", kept=budget)
    q, k, v, do = local(world, rank, whole())
    o, lse = attention(q, k, v, world=world, return_lse=True)
    found = [o.detach(), lse.detach().T.contiguous(), *torch.autograd.grad(o, (q, k, v), do)]
    return [torch.tensor([one - (one >> 63 << 64) for one in world.hashes(*found)])]


if __name__ == "__main__":
    any_budget()
    shortest_first()
    (expected,) = {tuple(one[0].tolist()) for one in on_ranks(1, of_rank, "none")}
    for budget in (200000, 600000):
        found = {tuple(one[0].tolist()) for one in on_ranks(3, of_rank, budget)}
        assert found == {expected}, budget
