# RUN: %torch_python %s
# REQUIRES: torch, plain-libdash
"""Level world, by virtual ranks on the CPU: the same bits for any number of ranks, plan, homes and
nodes; and errors beside float64."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any
from unittest import mock

sys.path.insert(0, str(Path(__file__).parent / "lib"))

import torch  # noqa: E402
from fixtures import refused  # noqa: E402
from worlds import (
    DOCUMENTS,
    NAMES,
    found_of,
    gathered,
    hashes,
    local,
    made,
    places,
    scattered,
    whole,
    zigzag,
)  # noqa: E402

from dash_attn import ArgumentError, audit, reference  # noqa: E402
from dash_attn.distributed import attention, passes, tree  # noqa: E402
from dash_attn.distributed.plan import SERVER  # noqa: E402
from dash_attn.torch.hashing import hash_words  # noqa: E402

torch.set_num_threads(1)


def same_bits(tensors: list[torch.Tensor], expected: list[int]) -> None:
    """Homes, nodes, what is kept and whether heads go in halves change from case to case."""
    runs = travelled = 0
    for ranks in (1, 2, 3, 4, 8):
        for kind in ("home", "rows", "heads-first", "random"):
            for seed in range(3):
                homes = (
                    None,
                    scattered(DOCUMENTS, ranks, 10 * ranks + seed),
                    zigzag(DOCUMENTS, ranks),
                )[seed]
                per_node = ranks if seed == 0 else (ranks + 1) // 2 if ranks % 2 == 0 else 1
                options = {"kept": ("none", "inputs")[(ranks + seed) % 2], "halves": seed == 2}
                world = made(
                    ranks, kind=kind, seed=seed, homes=homes, ranks_per_node=per_node, **options
                )
                found = hashes(found_of(world, tensors))
                assert found == expected, (
                    ranks,
                    kind,
                    seed,
                    options,
                    dict(zip(NAMES, map(int.__eq__, found, expected))),
                )
                runs += 1
                travelled += any(one.stage != SERVER for one in world.plan.folds())
    assert runs == 60 and travelled > 30, (runs, travelled)
    # A document has its bits whatever is beside it, and dims and element types have theirs.
    alone = [one[: DOCUMENTS[0]] for one in tensors]
    assert hashes(found_of(made(3, DOCUMENTS[:1], kind="random"), alone)) == hashes(
        [one[: DOCUMENTS[0]] for one in found_of(made(1), tensors)]
    )
    for heads, kv_heads, head_dim, dtype in (
        (3, 3, 128, torch.float16),
        (8, 1, 64, torch.bfloat16),
        (4, 2, 96, torch.bfloat16),
        (2, 2, 40, torch.float16),
        (3, 1, 8, torch.bfloat16),
    ):
        shape = {"heads": heads, "kv_heads": kv_heads, "head_dim": head_dim, "dtype": dtype}
        given = whole((700, 130), dtype, heads, kv_heads, head_dim)
        one, other = (
            hashes(
                found_of(
                    made(
                        ranks,
                        (700, 130),
                        kind="random",
                        halves=ranks > 1,
                        twice=0.5 * (ranks > 1),
                        **shape,
                    ),
                    given,
                )
            )
            for ranks in (1, 4)
        )
        assert one == other, shape


def same_hashes() -> None:
    """Hashes that are made rank by rank are that of all rows, for any number of ranks; one bit
    elsewhere, or rows that change places, are seen."""
    for shape, dtype in (
        ((4, 64), torch.bfloat16),
        ((3,), torch.float32),
        ((2, 1), torch.float16),
        ((1,), torch.int64),
    ):
        rows = torch.randint(
            -(2**15), 2**15, (sum(DOCUMENTS), *shape), generator=torch.Generator().manual_seed(1)
        ).to(dtype)
        words = rows.view(len(rows), -1)
        words = (
            words.view(torch.int32).long()
            if words.shape[1] * rows.element_size() % 8
            else words.view(torch.int64)
        )
        expected = int(hash_words(words.flatten())) % 2**64
        for ranks in (1, 3, 8):
            world = made(ranks, homes=scattered(DOCUMENTS, ranks, ranks))
            parts = [rows[places(world, rank)] for rank in range(ranks)]
            assert world.hashes(parts, parts) == [expected] * 2, (shape, ranks)
        spoiled = [one.clone() for one in parts]
        largest = max(spoiled, key=len)
        largest.view(torch.uint8).view(-1)[5] ^= 1
        assert world.hashes(spoiled) != [expected] == world.hashes(parts)
        largest[:] = max(parts, key=len).flip(0)
        assert world.hashes(spoiled) != [expected]
    message = refused(lambda: world.hashes([one[:-1] for one in parts]), ArgumentError)
    assert (
        message.startswith("rows: expected [")
        and "rank 0's rows in this world, found the shape" in message
    ), message
    assert world.hashes() == []


def layouts() -> None:
    """Rows, positions and labels of ranks are those of all rows, in other places."""
    tokens = torch.arange(sum(DOCUMENTS)) + 1000
    positions = torch.cat([torch.arange(rows) for rows in DOCUMENTS])
    labels = torch.cat(
        [torch.cat([part[1:], torch.tensor([-100])]) for part in tokens.split(DOCUMENTS)]
    )
    for ranks in (1, 3):
        world = made(ranks, homes=scattered(DOCUMENTS, ranks, ranks))
        for found, expected in (
            (world.shard(tokens), tokens),
            (world.positions(), positions),
            (world.labels(tokens), labels),
        ):
            assert isinstance(found, list) and torch.equal(gathered(world, found), expected)
    message = refused(lambda: world.shard(tokens[1:]), ArgumentError)
    assert (
        message == f"rows: expected [{len(tokens)}, …], all rows of all documents, found the shape"
        f" ({len(tokens) - 1},)"
    ), message


def right_bits(tensors: list[torch.Tensor], found: list[torch.Tensor]) -> None:
    """Each document beside float64, with gradients of the LSE elsewhere."""
    at = 0
    for rows in DOCUMENTS:
        q, k, v, do = (one[at : at + rows].double().transpose(0, 1)[None] for one in tensors)
        options = {"scale": 64**-0.5, "mask": reference.Mask(right=0)}
        o, lse = reference.forward(q, k, v, **options)
        expected = o, lse, *reference.backward(q, k, v, do, o, lse, **options).values()
        for name, one, other in zip(NAMES, found, expected, strict=True):
            other = other[0].transpose(0, 1)
            assert (one[at : at + rows].double() - other).norm() <= 0.003 * other.norm() + 1e-4, (
                rows,
                name,
            )
        at += rows


def other_bits(tensors: list[torch.Tensor], expected: list[int]) -> None:
    """What has to be seen: sums that lose bits where they travel, one bit of one leaf, another cut,
    a plan whose fold is done elsewhere."""
    received = passes.Backward.take

    def take(self, phase, receive):
        received(self, phase, receive)
        if phase.name in ("sums", "gradients"):
            for parts in self.sums._parts.values():
                parts[:] = [part._replace(values=part.values.bfloat16().float()) for part in parts]

    def differing(ranks: int, **options) -> list[str]:
        found = hashes(found_of(made(ranks, kind="random", **options), tensors))
        return [name for name, one, other in zip(NAMES, found, expected) if one != other]

    with mock.patch.object(passes.Backward, "take", take):
        assert differing(1) == [] and differing(4) == ["dk", "dv"]
    # By the tree alone: rows are computed tile by tile either way.
    assert differing(2, cut=1) == ["dk", "dv"]
    world, computed = made(4, kind="random"), passes.Forward.compute

    def compute(self):
        computed(self)
        if self.rank == 2:
            self.rows._pieces[passes.O, 0][-1].values[0, 0, 7, 3] += 0.125

    with mock.patch.object(passes.Forward, "compute", compute):
        assert "o" in [
            name
            for name, one, other in zip(NAMES, hashes(found_of(world, tensors)), expected)
            if one != other
        ]
    with (
        mock.patch.object(tree, "fold", None),
        mock.patch.object(passes.Backward, "_folds", lambda self, stage: []),
    ):
        try:
            found_of(world, tensors)
        except AssertionError:
            return
    raise AssertionError("a backward without folds was not seen")


def same_ways() -> None:
    """Without gradients, differentiated twice, in a compiled program, on slow ranks: the same bits.
    The LSE has gradients."""
    documents = (400, 90)
    inputs = whole(documents)
    world = made(2, documents, kind="random", kept="inputs", speeds=[1000, 400])
    q, k, v, do = ([*one] for one in zip(*(local(world, rank, inputs) for rank in range(2))))
    o, lse = attention(q, k, v, world=world, return_lse=True)
    first, again = (torch.autograd.grad(o, [*q, *k, *v], do, retain_graph=True) for _ in range(2))
    assert all(map(torch.equal, first, again)) and all(one.requires_grad for one in lse)
    with torch.no_grad():
        assert all(map(torch.equal, attention(q, k, v, world=world), o))

    def step(*given: torch.Tensor) -> Any:
        o = attention(given[:2], given[2:4], given[4:], world=world)
        return o[0] * 2, o[1] * 2

    for one, other in zip(torch.compile(step, backend="aot_eager")(*q, *k, *v), o, strict=True):
        assert torch.equal(one, other * 2)
    expected = found_of(made(1, documents), inputs)
    assert torch.equal(gathered(world, first[4:]), expected[4]) and torch.equal(
        gathered(world, first[:2]), expected[2]
    )
    # dLSE is the scores' probabilities: beside float64.
    dlse = [torch.linspace(-1, 1, one.numel()).reshape(one.shape) for one in lse]
    ours = gathered(world, torch.autograd.grad(lse, k, dlse))
    upstream, at = gathered(world, [one.T for one in dlse]).T, 0
    for rows in documents:
        of_q, of_k = (one[at : at + rows].double().transpose(0, 1) for one in inputs[:2])
        of_k = of_k.repeat_interleave(2, 0).requires_grad_()
        scores = (of_q @ of_k.mT / 8).masked_fill(torch.ones(rows, rows).triu(1).bool(), -torch.inf)
        (exact,) = torch.autograd.grad(
            scores.logsumexp(-1), of_k, upstream[:, at : at + rows].double()
        )
        exact = exact.unflatten(0, (2, 2)).sum(1).transpose(0, 1)
        assert (ours[at : at + rows].double() - exact).norm() <= 0.003 * exact.norm()
        at += rows
    o = attention(q, k, v, world=world)
    reason = refused(
        lambda: (
            torch.autograd.grad(o[0].float().square().sum(), q[0], create_graph=True)[0]
            .sum()
            .backward()
        ),
        RuntimeError,
    )
    assert "once_differentiable" in reason, reason


def whole_tree() -> None:
    """Nodes of every number of leaves; sums as the tree adds them, with numbers that are too small
    to be normal."""
    for leaves in range(1, 70):
        made_of: dict[tree.Node, list[int]] = {tree.Node(0, leaf): [leaf] for leaf in range(leaves)}

        def collect(node: tree.Node) -> list[int]:
            if node not in made_of:
                made_of[node] = collect(node.left) + collect(node.right(leaves))
                assert made_of[node][-1] + 1 == node.end_leaf(leaves)
            return made_of[node]

        assert collect(tree.root_of(leaves)) == list(range(leaves)), leaves
    generator = torch.Generator().manual_seed(1)
    words = torch.randint(-(2**31), 2**31, (2, 2, 4000, 2), generator=generator).int()
    words[..., ::3, :] &= ~0x7F000000  # many that are subnormal, or nearly
    words[1, :, 1::7] = words[0, :, 1::7] ^ -(2**31)  # sums of zero, of numbers and their negatives
    words[1, :, 2::7] = (words[0, :, 2::7] ^ -(2**31)) + 1  # differences that are subnormal
    left, right = words.view(torch.float32)

    def zeroed(values: torch.Tensor) -> torch.Tensor:
        small = values.abs().double() < 2.0**-126
        return torch.where(small, torch.copysign(torch.zeros(()), values), values)

    assert all((one.abs().double() < 2.0**-126).sum() > 1000 for one in (left, right))
    # One rounding: 53 bits are enough for two of 24.
    exact = zeroed((zeroed(left).double() + zeroed(right).double()).float())
    tail = torch.full((2, 5, 2), 1e-40)
    found = tree.fold(left, torch.cat([right, tail], 1))
    number = exact.isfinite() & left.isfinite() & right.isfinite()
    assert torch.equal(
        found[:, :4000].view(torch.int32)[number], exact.view(torch.int32)[number]
    ) and torch.equal(found[:, 4000:], tail)
    assert torch.equal(found[:, :4000].isnan(), exact.isnan()) and number.sum() > 12000
    sums = torch.tensor([1.00390625, -3e38, 1e-40]).expand(2, 1, 3)
    dk, dv = tree.rounded(sums, 0.125, torch.bfloat16)
    assert torch.equal(dk, (sums[0] * 0.125).bfloat16()) and torch.equal(dv, sums[1].bfloat16())


def certificates() -> None:
    """What bits follow from, and nothing else; dash_attn.audit keeps it."""
    assert "worlds" not in audit.certificate()
    one = made(1).certificate
    assert (
        one.startswith("sha256:")
        and one == made(4, (70, 9), kind="random", kept="inputs", ranks_per_node=2).certificate
    )
    kept = json.loads(json.dumps(audit.certificate()))
    assert kept["worlds"] == [one] and audit.check(kept) == []
    others = {
        made(1, **options).certificate
        for options in ({"cut": 1}, {"heads": 8}, {"head_dim": 128}, {"dtype": torch.float16})
    }
    assert len(others) == 4 and one not in others
    assert len(audit.check(kept)) >= 4 and all(
        line.startswith("worlds[") for line in audit.check(kept)
    )


certificates()
whole_tree()
layouts()
same_hashes()
inputs = whole()
first = found_of(made(1, kind="home"), inputs)
right_bits(inputs, first)
same_ways()
same_bits(inputs, hashes(first))
other_bits(inputs, hashes(first))
