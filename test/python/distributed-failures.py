# RUN: %torch_python %s
# REQUIRES: torch, plain-libdash
"""What a world refuses, and what ranks are told when they disagree, or when one of them raises,
ends or hangs."""

from __future__ import annotations

import datetime
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any
from unittest import mock

sys.path.insert(0, str(Path(__file__).parent / "lib"))

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from fixtures import refused  # noqa: E402
from ranks import on_ranks  # noqa: E402
from torch.distributed.tensor import Shard, distribute_tensor, init_device_mesh  # noqa: E402
from worlds import DOCUMENTS, local, made, whole  # noqa: E402

from dash_attn import ArgumentError, CapacityError  # noqa: E402
from dash_attn.distributed import RankError, World, attention, describe, reserve  # noqa: E402
from dash_attn.distributed.plan import BACKWARD, PHASES  # noqa: E402
from dash_attn.distributed.reference import Reference  # noqa: E402

SHORT = datetime.timedelta(seconds=4)
CALLS = ("tensor", "option")  # what is wrong with the next call of attention
NOT_SERVED = (
    "a world serves causal attention within documents, without window, bitmap, sink, softcap and"
    " dropout; dash_attn.attention has windows and sinks on one GPU"
)


def refusals() -> None:
    for change, message in (
        ({"window": (4, 0)}, f"window: expected None, found (4, 0): {NOT_SERVED}"),
        ({"softcap": 30.0}, f"softcap: expected None, found 30.0: {NOT_SERVED}"),
        ({"dropout_p": 0.1}, f"dropout_p: expected 0.0, found 0.1: {NOT_SERVED}"),
        ({"sink": torch.zeros(4)}, f"sink: expected None, found Tensor: {NOT_SERVED}"),
        ({"colour": 1}, "colour: a world has no such option"),
        (
            {"kind": "greedy"},
            (
                "kind: expected one of heads-first, home, random, rows, found 'greedy': it is there"
                " to be compared with, and adds sums in an order that follows from where they are,"
                " so it is not level world"
            ),
        ),
        ({"kind": "best"}, "kind: expected one of heads-first, home, random, rows, found 'best'"),
        ({"seed": -1}, "seed: expected a whole number from 0 to 2^64 - 1, found -1"),
        (
            {"causal": False},
            (
                "a world serves causal documents: a leaf reads all rows in front of its own, and no"
                " others"
            ),
        ),
        ({"head_dim": 100}, "worlds have head dims that are multiples of 8 up to 128, got 100"),
        ({"heads": 3}, "3 heads are not a multiple of 2 kv heads"),
        ({"heads": 4.5}, "heads: expected whole numbers, found 4.5 at 0"),
        (
            {"dtype": torch.float32},
            "dtype: expected torch.bfloat16 or torch.float16, found torch.float32",
        ),
        *(
            (
                {"kept": kept},
                f"kept: expected one of none, inputs, or a number of bytes, found {kept!r}",
            )
            for kept in ("all", -1, 1e6 + 0.5, True, None, 1 << 63, [])
        ),
        ({"kernel": "fast"}, "kernel: expected one of reference, batches, found 'fast'"),
        (
            {"kernel": "batches"},
            (
                "kernel: expected a CUDA device for 'batches', found 'cpu'; 'reference' runs on"
                " any, for tests"
            ),
        ),
        ({"scale": float("nan")}, "scale: expected a finite number that the host knows, found nan"),
        ({"cut": 2}, "expected version 0 or 1 of the cut, got 2"),
        ({"speeds": [1000]}, "expected a speed for each of 2 ranks, got 1"),
        (
            {"homes": [(0, 0, 5)]},
            "homes: expected (rank, document, first row, rows), found (0, 0, 5) at 0",
        ),
        ({"homes": [(2, 0, 0, 9)]}, "home 0: expected ranks 0 to 1, got 2"),
        ({"ranks_per_node": 0}, "ranks_per_node: expected a whole number of at least 1, found 0"),
        ({"ranks": 0}, "ranks: expected from 1 to 65536 virtual ranks, got 0"),
        (
            {"ranks": "two"},
            (
                "ranks: expected a number of virtual ranks, a process group or a device mesh,"
                " found str"
            ),
        ),
        ({"documents": 5}, "documents: expected whole numbers, found 5"),
        ({"documents": [5, 2.5]}, "documents: expected whole numbers, found 2.5 at 1"),
        ({"documents": [5, 0]}, "document 1: expected from 1 to 2097152 rows, got 0"),
    ):
        given = {"ranks": 2, "documents": [300, 20]} | change
        found = refused(lambda given=given: made(**given), ArgumentError)
        assert found == message, (change, found)
    message = refused(lambda: made(2, [300, 20], memory=1000), CapacityError)
    assert message.startswith(
        "memory: expected at most 1000 bytes of buffers on a rank, found "
    ) and message.endswith(
        " on the fullest; fewer bytes that are kept, more ranks or fewer rows take less"
    ), message
    made(2, [300, 20], memory=1 << 30)
    assert refused(lambda: describe([0, 3], 4), ArgumentError).startswith(
        "group: expected a process group or a device mesh, found virtual ranks"
    )
    world = made(2, (300, 20))  # rows 160 and 160
    q, k, v = ([torch.zeros(160, heads, 64, dtype=torch.bfloat16)] * 2 for heads in (4, 2, 2))
    attention(q, k, v, world=world)
    for arguments, options, message in (
        (
            (q[:1], k, v),
            {"world": world},
            "q: expected a list of 2 tensors, one for each virtual rank, found 1",
        ),
        (
            (q, k, [v[0], v[1][1:]]),
            {"world": world},
            (
                "v: expected [rows, heads, head_dim] of (160, 2, 64), rank 1's homes in this world,"
                " found the shape (159, 2, 64)"
            ),
        ),
        (
            (q, [k[0].half(), k[1]], v),
            {"world": world},
            (
                "k: expected torch.bfloat16, found torch.float16; cast it, or make the world with "
                "dtype=torch.float16"
            ),
        ),
        (
            (q, k, [v[0], v[1].to("meta")]),
            {"world": world},
            "v: expected a tensor on 'cpu', found one on 'meta'",
        ),
        (
            (q, k, [v[0], 5]),
            {"world": world},
            (
                "v: expected a plain tensor, found int; dash_attn.distributed takes each rank's own"
                " rows"
            ),
        ),
        (
            (q, k, v),
            {},
            "world: expected one, or a call inside of `with world.as_current():`, found None",
        ),
        (
            (q, k, v),
            {"world": world, "window": (1, 0)},
            (
                "window: expected cu_seqlens beside it, found None; options of a world are those of"
                " World(...)"
            ),
        ),
        (
            (q, k, v),
            {"world": world, "cu_seqlens": torch.tensor([0, 1])},
            "world: expected none beside cu_seqlens, found one",
        ),
    ):
        found = refused(
            lambda arguments=arguments, options=options: attention(*arguments, **options),
            ArgumentError,
        )
        assert found == message, found
    reserve.torch = type(
        "Full",
        (),
        {
            "empty": lambda *_, **__: (_ for _ in ()).throw(RuntimeError("out of memory")),
            "uint8": torch.uint8,
        },
    )
    message = refused(lambda: made(2, (300, 20), kind="random", kept="inputs"), CapacityError)
    reserve.torch = torch
    assert (
        message.startswith("rank 0: expected ")
        and "backward inputs " in message
        and "kept from the forward " in message
        and "fewer bytes that are kept" in message
    ), message


# ---- Ranks that disagree, before anything is sent ------------------------------------------------


def disagreeing(rank: int) -> list[str]:
    group, found = dist.group.WORLD, []
    mine = {"heads": 4, "kv_heads": 2, "head_dim": 64, "cut": 0}
    base = {"documents": [300, 20]} | mine
    for other in (
        {"documents": [300, 21]},
        {"documents": [300]},
        {"dtype": torch.float16},
        {"heads": 2},
        {"scale": 0.5},
        {"kept": "inputs"},
        {"kept": 4096},
        {"kind": "random"},
        {"seed": 4},
        {"homes": [(0, 0, 0, 300), (0, 1, 0, 20)]},
        {"kernel": "reference"},
        {"cut": 1},
        {"halves": True},
        {"window": (3, 0)},
        {"head_dim": 136},
        {"ranks_per_node": 1},
        {"ranks_per_node": 0},
        {"timeout": 5},
        {"memory": -1},
        {"memory": 1000},
        {"halves": "no"},
        {"homes": 5},
        {"homes": [(2, 0, 0, 300), (0, 1, 0, 20)]},
        {"softcap": 30.0},
        {"dtype": torch.float32},
        {"kernel": "batches"},
        {"scale": float("inf")},
        {"kept": -5},
    ):
        given = base | (other if rank == 1 else {})
        if "kernel" in other:  # another version of what computes leaves
            Reference.certificates = lambda _: (f"reference {1 + (rank == 1)}", [])
        kind = CapacityError if other == {"memory": 1000} else ArgumentError
        with mock.patch.object(dist, "all_to_all_single", None):  # none of them sends anything
            found.append(refused(lambda given=given: World(group, **given), kind))
    return found


def nodes(rank: int) -> list[str]:
    """Ranks that disagree on nodes would wait for groups that others do not make."""
    found = []
    for sizes in ((2, 4, 4, 4), (4, 4, 3, 4), (0, 2, 2, 2), (2, 2, 2, 2)):
        made_ = lambda sizes=sizes: made(  # noqa: E731
            dist.group.WORLD, (300, 20), ranks_per_node=sizes[rank]
        )
        found.append(refused(made_, ArgumentError) if sizes != (2, 2, 2, 2) else repr(made_()))
    return found


def disagreements() -> None:
    every = on_ranks(2, disagreeing)
    assert every[0] == every[1]
    expected = [
        "documents[1]: expected the same on all ranks, found 20 on rank 0, 21 on rank 1",
        "documents: expected the same on all ranks, found [300, 20] on rank 0, [300] on rank 1",
        (
            "dtype: expected the same on all ranks, found torch.bfloat16 on rank 0, torch.float16"
            " on rank 1"
        ),
        "heads: expected the same on all ranks, found 4 on rank 0, 2 on rank 1",
        "scale: expected the same on all ranks, found 0.125 on rank 0, 0.5 on rank 1",
        "kept: expected the same on all ranks, found none on rank 0, inputs on rank 1",
        "kept: expected the same on all ranks, found none on rank 0, 4096 on rank 1",
        "kind: expected the same on all ranks, found heads-first on rank 0, random on rank 1",
        "seed: expected the same on all ranks, found 0 on rank 0, 4 on rank 1",
        (
            "homes: expected the same on all ranks, found [[0, 0, 0, 160], [1, 0, 160, 140], [1, 1,"
            " 0, 20]] on rank 0, [[0, 0, 0, 300], [0, 1, 0, 20]] on rank 1"
        ),
        "certificate: expected the same on all ranks, found sha256:",
        "cut: expected the same on all ranks, found 0 on rank 0, 1 on rank 1",
        "halves: expected the same on all ranks, found false on rank 0, true on rank 1",
        f"rank 1: window: expected None, found (3, 0): {NOT_SERVED}",
        "rank 1: worlds have head dims that are multiples of 8 up to 128, got 136",
        "ranks_per_node: expected the same on all ranks, found 2 on rank 0, 1 on rank 1",
        "rank 1: ranks_per_node: expected a whole number of at least 1, found 0",
        "rank 1: timeout: expected None or a datetime.timedelta above 0, found 5",
        "rank 1: memory: expected at least 0 bytes, or 0 for any, found -1",
        "rank 1: memory: expected at most 1000 bytes of buffers on a rank, found ",
        "rank 1: halves: expected True, False or None, found 'no'",
        "rank 1: homes: expected (rank, document, first row, rows) of each, found 5",
        "rank 1: home 0: expected ranks 0 to 1, got 2",
        f"rank 1: softcap: expected None, found 30.0: {NOT_SERVED}",
        "rank 1: dtype: expected torch.bfloat16 or torch.float16, found torch.float32",
        "rank 1: kernel: expected a CUDA device for 'batches', found 'cpu'; ",
        "rank 1: scale: expected a finite number that the host knows, found inf",
        "rank 1: kept: expected one of none, inputs, or a number of bytes, found -5",
    ]
    for wanted, message in zip(expected, every[0], strict=True):
        is_start = wanted.endswith((":", " found ", "; "))
        assert message == wanted or is_start and message.startswith(wanted), message
    every = on_ranks(4, nodes)
    assert (
        every[0]
        == every[1]
        == every[2]
        == every[3]
        == [
            "ranks_per_node: expected the same on all ranks, found 2 on rank 0, 4 on ranks 1, 2, 3",
            "ranks_per_node: expected the same on all ranks, found 4 on ranks 0, 1, 3, 3 on rank 2",
            "rank 0: ranks_per_node: expected a whole number of at least 1, found 0",
            "World of 2 documents, 320 rows, on 4 ranks, heads-first",
        ]
    ), every


# ---- A rank that raises, ends or hangs -----------------------------------------------------------


def failing(rank: int, how: str, wrong: int) -> str:
    """Rank `wrong` fails; what the others are told."""
    world = made(dist.group.WORLD, DOCUMENTS, kind="random", timeout=SHORT)
    q, k, v, do = local(world, rank, whole())
    o = attention(q, k, v, world=world)
    if rank != wrong:
        message = refused(
            lambda: torch.autograd.grad(
                attention(q, k, v, world=world) if how in CALLS else o, (q, k, v), do
            ),
            RankError,
        )
        again = refused(lambda: attention(q, k, v, world=world), RankError)
        assert again == message, (message, again)
        time.sleep(0.5)  # the rank with the store goes last
        return message
    if how == "tensor":
        return refused(lambda: attention(q[1:], k, v, world=world), ArgumentError)
    if how == "option":
        return refused(lambda: attention(q, k, v, world=world, window=(1, 0)), ArgumentError)
    if how == "hang":
        time.sleep(60)

    def backward(*_: Any) -> Any:
        if how == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if how == "stopped":
            os.kill(os.getpid(), signal.SIGSTOP)
        raise ValueError("no such leaf")
        yield

    world.kernel.backward = backward
    return refused(lambda: torch.autograd.grad(o, (q, k, v), do), ValueError)


def failures() -> None:
    # With rank 0 the store is gone, or stands still.
    lost = "usually rank 0's, has ended or does not answer: "
    for how, starts, part, wrong in (
        ("killed", "rank ", lost, 0),
        ("stopped", "rank ", lost, 0),
        (
            "raises",
            "rank 1 raised in the leaves of a backward, while rank ",
            ": ValueError: no such leaf",
            1,
        ),
        (
            "tensor",
            "rank 1 raised in a call of attention, while rank ",
            ": ArgumentError: q: expected [rows, heads, head_dim] of ",
            1,
        ),
        (
            "option",
            "rank 1 raised in a call of attention, while rank ",
            ": ArgumentError: window: expected cu_seqlens beside it, found None",
            1,
        ),
        ("killed", "rank 1 has ended, or hangs where no other thread runs, while rank ", ": ", 1),
        (
            "stopped",
            "rank 1 has ended, or hangs where no other thread runs, while rank ",
            "nothing came for 4 seconds",
            1,
        ),
        ("hang", "rank ", "rank 1 is outside of attention", 1),
    ):
        killed = () if how in ("raises", *CALLS) else (wrong,)
        found = on_ranks(3, failing, how, wrong, killed=killed)
        for rank in {0, 1, 2} - {wrong}:
            assert found[rank].startswith(starts) and part in found[rank], (how, found[rank])
        if how == "raises":
            assert found[1] == "no such leaf"


def sharded(rank: int) -> str:
    mesh = init_device_mesh("cpu", (2,))
    world = made(mesh, (300, 20))
    q, k, v = (
        distribute_tensor(torch.zeros(320, heads, 64, dtype=torch.bfloat16), mesh, [Shard(0)])
        for heads in (4, 2, 2)
    )
    return refused(lambda: attention(q, k, v, world=world), ArgumentError)


if __name__ == "__main__":
    refusals()
    disagreements()
    failures()
    assert (
        on_ranks(2, sharded)
        == [
            "q: expected a plain tensor, found DTensor; dash_attn.distributed takes each rank's own"
            " rows: DTensor.to_local()"
        ]
        * 2
    )
    assert PHASES[BACKWARD][-1] == "gradients"
