"""Time of attention of one document on one GPU and on two, level `world`, beside one GPU at level
`run`: causal, 32 heads of 128 and 8 of keys and values. `python3 world_speed.py [--rows
65536,131072] [--record FILE]`, where DASH_LIBRARY names libdash.so, on a machine with two GPUs."""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import torch

HERE = Path(__file__).resolve().parent
HEADS, KV_HEADS, HEAD_DIM, ROUNDS = 32, 8, 128, 5


def least(step: Any) -> list[float]:
    """Milliseconds of a forward, of a backward and of both, the round in which both took least,
    behind one that is not counted."""
    taken = []
    for _ in range(ROUNDS + 1):
        taken.append(step())
    return [round(one, 2) for one in min(taken[1:], key=lambda one: one[2])]


def timed(function: Any, given: Any, upstream: Any, together: Any) -> list[float]:
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(3)]
    together()
    marks[0].record()
    o = function(*given)
    marks[1].record()
    torch.autograd.grad(o, given, upstream)
    marks[2].record()
    torch.cuda.synchronize()
    return [marks[i].elapsed_time(marks[j]) for i, j in ((0, 1), (1, 2), (0, 2))]


def of_one(rows: int) -> dict[str, list[float]]:
    from dash_attn import attention as plain
    from dash_attn.distributed import attention
    from many_ranks import inputs, local, world_of

    tensors = inputs((rows,), HEAD_DIM, HEADS // KV_HEADS, KV_HEADS)
    q, k, v, do = local(world := world_of(1, (rows,), tensors, 1), 0, tensors)
    batch = [one[None].transpose(1, 2).detach().requires_grad_() for one in (q, k, v)]
    return {"run": least(lambda: timed(lambda *one: plain(*one, causal=True), batch, do[None].transpose(1, 2), torch.cuda.synchronize)),
            "world": least(lambda: timed(lambda *one: attention(*one, world=world), (q, k, v), do, torch.cuda.synchronize))}


def of_two(rows: int, halves: bool) -> dict[str, list[float]]:
    """The time of the rank that took longest, the ranks' rows being halves of the document."""
    import torch.distributed as dist
    from dash_attn.distributed import attention
    from many_ranks import inputs, local, world_of

    tensors = inputs((rows,), HEAD_DIM, HEADS // KV_HEADS, KV_HEADS)
    world = world_of(dist.group.WORLD, (rows,), tensors, 1, ranks_per_node=2, halves=halves)
    q, k, v, do = local(world, dist.get_rank(), tensors)

    def together() -> None:
        torch.cuda.synchronize()
        dist.barrier()
        torch.cuda.synchronize()

    def step() -> list[float]:
        mine = torch.tensor(timed(lambda *one: attention(*one, world=world), (q, k, v), do, together), device="cuda")
        dist.all_reduce(mine, dist.ReduceOp.MAX)
        return mine.tolist()

    return {"halves of heads" if halves else "two GPUs": least(step)}


def of_process(rank: int, sizes: list[int]) -> None:
    import torch.distributed as dist

    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=2, device_id=torch.device("cuda", rank))
    found = {rows: {key: value for halves in (False, True) for key, value in of_two(rows, halves).items()} for rows in sizes}
    dist.barrier()
    print(json.dumps(found), flush=True)
    os._exit(0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default="65536,131072")
    parser.add_argument("--record", type=Path)
    parser.add_argument("--rank", type=int)
    arguments = parser.parse_args()
    sizes = [int(one) for one in arguments.rows.split(",")]
    if arguments.rank is not None:
        return of_process(arguments.rank, sizes)
    if torch.cuda.device_count() < 2:
        sys.exit(f"error: expected a machine with two GPUs, found {torch.cuda.device_count()}")
    found: dict[str, Any] = {str(rows): of_one(rows) for rows in sizes}
    torch.cuda.empty_cache()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    ranks = [subprocess.Popen([sys.executable, __file__, "--rank", str(rank), "--rows", arguments.rows], stdout=subprocess.PIPE, text=True,
                              env=os.environ | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}) for rank in range(2)]
    try:
        said = [rank.communicate(timeout=240)[0] for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()
    for rows, one in json.loads(said[0].splitlines()[-1]).items():
        found[rows] |= one
    print("| rows | level run, one GPU | level world, one GPU | two GPUs | halves of heads | world over run | one GPU (run) over two |")
    print("|---|---|---|---|---|---|---|")
    for rows, one in found.items():
        run, world, two, halves = (one[name] for name in ("run", "world", "two GPUs", "halves of heads"))
        cells = [" + ".join(f"{part:.1f}" for part in times[:2]) + " ms" for times in (run, world, two, halves)]
        print(f"| {rows} | {' | '.join(cells)} | {world[2] / run[2]:.3f} | {run[2] / min(two[2], halves[2]):.2f} |")
    if arguments.record:
        from dash_attn.support.records import write_record

        about = {"date": time.strftime("%Y-%m-%d"), "gpu": f"{torch.cuda.device_count()} x {torch.cuda.get_device_name()}", "torch": torch.__version__,
                 "rounds": ROUNDS, "heads": HEADS, "kv_heads": KV_HEADS, "head_dim": HEAD_DIM, "mask": "causal"}
        write_record(arguments.record, about | {"forward, backward, both, ms": found})


if __name__ == "__main__":
    sys.path[:0] = [str(HERE), str(HERE.parents[1] / "python")]
    main()
