"""Two GPUs at level `world` beside other ways to share attention out: one causal document, packed
documents, two micro-batches, and an exchange beside kernels that leave multiprocessors free.

`python3 world_compare.py [--rows 65536,131072] [--record FILE]`, where DASH_LIBRARY names
libdash.so, on a machine with two GPUs. 32 heads of 128, 8 of keys and values, bf16; forward +
backward, least of five rounds, of two GPUs the slower. What is not installed is left out, and
named.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.nn.attention import SDPBackend, sdpa_kernel

HERE = Path(__file__).resolve().parent
HEADS, KV_HEADS, HEAD_DIM, ROUNDS, LAYERS = 32, 8, 128, 5, 3
ROTATIONS = ("alltoall", "allgather")


def forwards() -> list[str]:
    from dash_attn.torch import flash3

    return ["flash2", "dash"] + (
        ["flash3"] if flash3.refusal_of(torch.bfloat16, HEAD_DIM) is None else []
    )


def forward_of_flash3() -> str:
    from dash_attn.torch import flash3

    return flash3.operator_of_forward() if flash3.NAME in forwards() else "not installed"


def together() -> None:
    torch.cuda.synchronize()
    if dist.is_initialized():
        dist.barrier()
        torch.cuda.synchronize()


def least(
    forward: Callable[[], Any], given: Any, upstream: Any, rounds: int = ROUNDS
) -> list[float]:
    """Milliseconds of a forward, of a backward and of both: the round in which both took least,
    behind one that is not counted."""
    taken = []
    for _ in range(rounds + 1):
        marks = [torch.cuda.Event(enable_timing=True) for _ in range(3)]
        together()
        marks[0].record()
        o = forward()
        marks[1].record()
        torch.autograd.grad(o, given, upstream)
        marks[2].record()
        torch.cuda.synchronize()
        times = torch.tensor(
            [marks[i].elapsed_time(marks[j]) for i, j in ((0, 1), (1, 2), (0, 2))], device="cuda"
        )
        if dist.is_initialized():
            dist.all_reduce(times, dist.ReduceOp.MAX)
        taken.append(times.tolist())
    return [round(one, 2) for one in min(taken[1:], key=lambda one: one[2])]


def documents_of(rows: int) -> dict[str, tuple[int, ...]]:
    """Lists of so many rows: one document, and lognormal ones by a seed, the longest first cut
    off."""
    source, lengths = random.Random(1), []
    while sum(lengths) < rows:
        lengths.append(
            min(max(64, int(source.lognormvariate(8.5, 1.4))), rows // 2, rows - sum(lengths))
        )
    return {
        "one document": (rows,),
        f"{len(lengths)} documents, the longest {max(lengths)}": tuple(lengths),
    }


# ---- One GPU -------------------------------------------------------------------------------------


def one_gpu(documents: tuple[int, ...]) -> dict[str, list[float]]:
    from dash_attn import attention as plain
    from dash_attn.distributed import attention
    from many_ranks import inputs, local, world_of

    found, tensors = {}, inputs(documents, HEAD_DIM, HEADS // KV_HEADS, KV_HEADS)
    q, k, v, do = local(world_of(1, documents, tensors, 1), 0, tensors)
    if len(documents) == 1:
        batch = [one[None].transpose(1, 2).detach().requires_grad_() for one in (q, k, v)]
        found["level run"] = least(
            lambda: plain(*batch, causal=True), batch, do[None].transpose(1, 2)
        )
    else:
        cu = torch.tensor([0, *documents]).cumsum(0).int().cuda()
        found["level run, packed"] = least(
            lambda: plain(q, k, v, cu_seqlens_q=cu, max_seqlen_q=max(documents), causal=True),
            (q, k, v),
            do,
        )
    for forward in forwards():
        world = world_of(1, documents, tensors, 1, forward=forward)
        found[f"level world, {forward}"] = least(
            lambda: attention(q, k, v, world=world), (q, k, v), do
        )  # noqa: B023
    return found


# ---- Two GPUs ------------------------------------------------------------------------------------


def two_gpus(documents: tuple[int, ...]) -> dict[str, Any]:
    from dash_attn.distributed import attention
    from many_ranks import inputs, local, world_of

    tensors, found = inputs(documents, HEAD_DIM, HEADS // KV_HEADS, KV_HEADS), {}
    for forward in forwards():
        for halves in (False, True):
            world = world_of(
                dist.group.WORLD,
                documents,
                tensors,
                1,
                ranks_per_node=2,
                halves=halves,
                forward=forward,
            )
            q, k, v, do = local(world, dist.get_rank(), tensors)
            found[f"level world, {forward}{', halves' * halves}"] = least(
                lambda: attention(q, k, v, world=world), (q, k, v), do
            )  # noqa: B023
    if len(documents) == 1:
        found["heads by all-to-all, dash at level run"] = by_heads(tensors)
        found |= by_rings(tensors)
    found["hidden"] = hidden(documents, tensors)
    return found


class Exchange(torch.autograd.Function):
    """Rows of half of the sequence with all heads, for all rows with half of the heads; and back in
    the backward."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, to_heads: bool) -> torch.Tensor:
        ctx.to_heads = to_heads
        return exchanged(x, to_heads)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        return exchanged(gradient, not ctx.to_heads), None


def exchanged(x: torch.Tensor, to_heads: bool) -> torch.Tensor:
    """x: [rows, heads, head dim]."""
    ranks = dist.get_world_size()
    if to_heads:
        # [to, rows, heads / ranks, dim].
        sent = x.unflatten(1, (ranks, -1)).transpose(0, 1).contiguous()
        found = torch.empty_like(sent)
        dist.all_to_all_single(found, sent)
        return found.flatten(0, 1)
    sent = x.unflatten(0, (ranks, -1)).contiguous()  # [to, rows / ranks, heads, dim]
    found = torch.empty_like(sent)
    dist.all_to_all_single(found, sent)
    return found.transpose(0, 1).flatten(1, 2).contiguous()


def by_heads(tensors: list[torch.Tensor]) -> list[float]:
    from dash_attn import attention as plain

    rank, ranks = dist.get_rank(), dist.get_world_size()
    q, k, v, do = (
        one.chunk(ranks)[rank].detach().clone().requires_grad_(i < 3)
        for i, one in enumerate(tensors)
    )

    def forward() -> torch.Tensor:
        heads = [Exchange.apply(one, True)[None].transpose(1, 2) for one in (q, k, v)]
        return Exchange.apply(plain(*heads, causal=True)[0].transpose(0, 1), False)

    return least(forward, (q, k, v), do)


@contextlib.contextmanager
def ring(mesh: Any, rotation: str, buffers: list[torch.Tensor]) -> Iterator[None]:
    from torch.distributed.tensor.experimental import _attention, context_parallel

    _attention.set_rotate_method(rotation)
    with context_parallel(mesh, buffers=buffers, buffer_seq_dims=[2] * len(buffers)):
        yield


def by_rings(tensors: list[torch.Tensor]) -> dict[str, Any]:
    """PyTorch's context_parallel, balanced. Heads of keys and values are repeated, which its
    operators want."""
    from torch.distributed.device_mesh import init_device_mesh

    mesh, found = init_device_mesh("cuda", (dist.get_world_size(),)), {}
    for name, backend in (
        ("cuDNN", SDPBackend.CUDNN_ATTENTION),
        ("Flash", SDPBackend.FLASH_ATTENTION),
    ):
        for rotation in ROTATIONS:
            for has_groups in (True, False):
                buffers = [
                    one[None]
                    .transpose(1, 2)
                    .repeat_interleave(
                        1 if has_groups or one.shape[1] == HEADS else HEADS // KV_HEADS, 1
                    )
                    .contiguous()
                    for one in tensors
                ]
                label = (
                    f"context_parallel, {name},"
                    f" {rotation}{'' if has_groups else ', repeated heads'}"
                )
                try:
                    with ring(mesh, rotation, buffers), sdpa_kernel(backend):
                        *given, do = (
                            one.detach().clone().requires_grad_(i < 3)
                            for i, one in enumerate(buffers)
                        )
                        call = lambda: torch.nn.functional.scaled_dot_product_attention(
                            *given, is_causal=True, enable_gqa=has_groups
                        )  # noqa: B023, E731
                        found[label] = least(call, given, do)
                except Exception as error:  # noqa: BLE001 (whatever it is, others are measured)
                    found[label] = (
                        f"{type(error).__name__}:"
                        f" {str(error).splitlines()[0][:160] if str(error) else ''}"
                    )
                else:
                    break
    return found


# ---- What is hidden ------------------------------------------------------------------------------


class Nothing:
    """Leaves that take no time, so that the exchange is left."""

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel

    def forward(self, plan: Any, runs: Any, rows: Any) -> Any:
        for run in runs:
            first, end = (
                plan.leaves.of(run.document)[run.first_leaf][0],
                plan.leaves.of(run.document)[run.end_leaf - 1][1],
            )
            yield (
                run,
                self.empty(self.kernel.group, end - first),
                self.empty(self.kernel.group, end - first, is_lse=True),
            )

    def backward(self, plan: Any, runs: Any, rows: Any) -> Any:
        from dash_attn.distributed.leaves import InRows

        for run in runs:
            for leaf in plan.leaves_of(run):
                dq = self.empty(self.kernel.group, leaf.end - leaf.first)
                if leaf.is_packed or leaf.is_whole:
                    yield leaf, dq, None, (self.empty(1, leaf.end)[0], self.empty(1, leaf.end)[0])
                else:
                    sums = torch.empty((2, leaf.end, HEAD_DIM), device="cuda")
                    yield leaf, dq, InRows(sums), None

    def empty(self, heads: int, rows: int, is_lse: bool = False) -> torch.Tensor:
        return (
            torch.zeros((heads, rows), device="cuda")
            if is_lse
            else torch.zeros((heads, rows, HEAD_DIM), dtype=torch.bfloat16, device="cuda")
        )


class Layer:
    def before(self, x: Any) -> Any:
        return x

    def after(self, x: Any, o: Any) -> Any:
        return (o, *x[1:])


def hidden(documents: tuple[int, ...], tensors: list[torch.Tensor]) -> dict[str, float]:
    """Milliseconds of layers of two micro-batches: one after the other, in turns, and their
    exchange alone; and the share that is hidden. What an exchange copies and adds on the device is
    in it."""
    from dash_attn.distributed import attention, pingpong
    from many_ranks import local, world_of

    worlds = tuple(
        world_of(dist.group.WORLD, documents, tensors, 1, ranks_per_node=2, halves=False)
        for _ in range(2)
    )
    batches = [local(world, dist.get_rank(), tensors) for world in worlds]
    given, upstream = (
        [one for batch in batches for one in batch[:3]],
        [batch[3] for batch in batches],
    )

    def one_by_one() -> list[torch.Tensor]:
        found = []
        for world, (q, k, v, _) in zip(worlds, batches):
            for _ in range(LAYERS):
                q = attention(q, k, v, world=world)
            found.append(q)
        return found

    def in_turns() -> list[torch.Tensor]:
        return [
            x[0]
            for x in pingpong(
                [Layer()] * LAYERS, *(tuple(batch[:3]) for batch in batches), worlds=worlds
            )
        ]

    serial, turns = (least(way, given, upstream, rounds=2)[2] for way in (one_by_one, in_turns))
    for world in worlds:
        world.kernel = Nothing(world.kernel)
    exchange = least(one_by_one, given, upstream, rounds=2)[2]
    return {
        "one by one": serial,
        "in turns": turns,
        "exchange": exchange,
        "share hidden": round((serial - turns) / exchange, 3),
    }


# ---- An exchange beside kernels ------------------------------------------------------------------


FREE = (0, 4, 8, 16)  # multiprocessors that kernels leave free
# WORDS of 4 bytes, half of which stay.
BESIDE_ROWS, BESIDE_HEADS, LAUNCHES, WORDS = 16384, 16, 8, 1 << 26


def beside_kernels() -> dict[str, Any]:
    """Milliseconds of leaves' kernels, of exchanges, and of both at once, which need nothing of
    each other; and the share of the exchange that is hidden. Kernels leave so many multiprocessors
    free, and NCCL takes no more blocks than that, or four. The last line copies by the GPU's copy
    engine, from memory that both GPUs see, beside kernels that leave none free."""
    sent, found = torch.ones(WORDS, device="cuda"), {}
    received = torch.empty_like(sent)
    ways = {f"{free} free": functools.partial(by_nccl, free, received, sent) for free in FREE}
    for name, way in (ways | {"0 free, copy engine": lambda: (leaves_for(0), copies())}).items():
        try:
            found[name] = at_once(*way())
        except Exception as error:  # noqa: BLE001 (whatever it is, others are measured)
            found[name] = (
                f"{type(error).__name__}: {str(error).splitlines()[0][:160] if str(error) else ''}"
            )
    return found


def by_nccl(free: int, received: torch.Tensor, sent: torch.Tensor) -> tuple[Callable[[], Any], ...]:
    options = dist.ProcessGroupNCCL.Options(is_high_priority_stream=True)
    options.config.max_ctas = max(4, free)
    group = dist.new_group([0, 1], backend="nccl", pg_options=options)
    return leaves_for(free), lambda: dist.all_to_all_single(received, sent, group=group)


def leaves_for(free: int) -> Callable[[], None]:
    from dash_attn import Kernel
    from dash_attn.kernel.problem import CAUSAL, Wanted, program_of

    text, options, _ = program_of(Wanted(HEAD_DIM, HEAD_DIM, "bf16", CAUSAL, "symmetric-shift"))
    workers = torch.cuda.get_device_properties("cuda").multi_processor_count - free
    kernel, group = Kernel.compile(text, f"{options} workers={workers}"), HEADS // KV_HEADS
    q, o, do = (
        torch.randn(1, BESIDE_HEADS, BESIDE_ROWS, HEAD_DIM, dtype=torch.bfloat16, device="cuda")
        for _ in range(3)
    )
    k, v = (
        torch.randn(
            1, BESIDE_HEADS // group, BESIDE_ROWS, HEAD_DIM, dtype=torch.bfloat16, device="cuda"
        )
        for _ in range(2)
    )
    lse = torch.full((1, BESIDE_HEADS, BESIDE_ROWS), 10.0, device="cuda")
    gradients = {f"d{name}": torch.empty_like(one) for name, one in zip("qkv", (q, k, v))}
    return lambda: kernel.backward(q, k, v, do, o, lse, **gradients)


def copies() -> Callable[[], Any]:
    import torch.distributed._symmetric_memory as symmetric

    memory = symmetric.empty(
        WORDS // 2, dtype=torch.float32, device=torch.device("cuda", torch.cuda.current_device())
    )
    other = symmetric.rendezvous(memory, dist.group.WORLD.group_name).get_buffer(
        1 - dist.get_rank(), memory.shape, memory.dtype
    )
    source = torch.ones_like(memory)
    return lambda: other.copy_(source)


def at_once(leaf: Callable[[], None], exchange: Callable[[], Any]) -> dict[str, float]:
    aside, times = torch.cuda.Stream(priority=-1), {}
    for name, ways in {
        "leaves": (leaf, None),
        "exchange": (None, exchange),
        "both": (leaf, exchange),
    }.items():
        taken = []
        for _ in range(ROUNDS + 1):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            together()
            begin.record()
            aside.wait_event(begin)
            for _ in range(LAUNCHES):
                if ways[0]:
                    ways[0]()
                if ways[1]:
                    with torch.cuda.stream(aside):
                        ways[1]()
            torch.cuda.current_stream().wait_stream(aside)
            end.record()
            torch.cuda.synchronize()
            slowest = torch.tensor([begin.elapsed_time(end)], device="cuda")
            dist.all_reduce(slowest, dist.ReduceOp.MAX)
            taken.append(slowest.item())
        times[name] = round(min(taken[1:]), 3)
    return times | {
        "share hidden": round(
            (times["leaves"] + times["exchange"] - times["both"]) / times["exchange"], 3
        )
    }


# ---- All -----------------------------------------------------------------------------------------


def of_process(rank: int, sizes: list[int]) -> None:
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=2, device_id=torch.device("cuda", rank))
    found = {
        rows: {name: two_gpus(documents) for name, documents in documents_of(rows).items()}
        for rows in sizes
    }
    torch.cuda.empty_cache()
    found = {"documents": found, "beside": beside_kernels()}
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
    found: dict[str, Any] = {
        str(rows): {
            name: {"one GPU": one_gpu(documents)} for name, documents in documents_of(rows).items()
        }
        for rows in sizes
    }
    torch.cuda.empty_cache()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = os.environ | {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "TORCH_SYMM_MEM_DISABLE_MULTICAST": "1",
    }
    ranks = [
        subprocess.Popen(
            [sys.executable, __file__, "--rank", str(rank), "--rows", arguments.rows],
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for rank in range(2)
    ]
    try:
        said = [rank.communicate(timeout=420)[0] for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()
    of_two = json.loads(said[0].splitlines()[-1])
    for rows, lists in of_two["documents"].items():
        for name, one in lists.items():
            found[rows][name]["two GPUs"] = one
    if arguments.record:
        from dash_attn.support.records import write_record

        about = {
            "date": time.strftime("%Y-%m-%d"),
            "gpu": f"{torch.cuda.device_count()} x {torch.cuda.get_device_name()}",
            "torch": torch.__version__,
            "flash3": forward_of_flash3(),
            "rounds": ROUNDS,
            "heads": HEADS,
            "kv_heads": KV_HEADS,
            "head_dim": HEAD_DIM,
            "mask": "causal",
            "layers": LAYERS,
        }
        exchange = {
            "launches": LAUNCHES,
            "rows": BESIDE_ROWS,
            "heads": BESIDE_HEADS,
            "MB out of a GPU": LAUNCHES * WORDS * 2 / 1e6,
            "ms": of_two["beside"],
        }
        write_record(
            arguments.record,
            about | {"forward, backward, both, ms": found, "exchange beside kernels": exchange},
        )
    print_tables(found)
    print(f"\nexchange beside kernels: {json.dumps(of_two['beside'], indent=1)}")


def print_tables(found: dict[str, Any]) -> None:
    for rows, lists in found.items():
        for name, one in lists.items():
            run = next(
                times for label, times in one["one GPU"].items() if label.startswith("level run")
            )
            print(
                f"\n{rows} rows, {name}\n\n| GPUs | way | forward + backward | one GPU at level run"
                " over it |\n|---|---|---|---|"
            )
            for count, ways in one.items():
                for way, times in ways.items():
                    if isinstance(times, list):
                        print(
                            f"| {count} | {way} | {times[0]:.1f} + {times[1]:.1f} ms |"
                            f" {run[2] / times[2]:.2f} |"
                        )
                    elif way != "hidden":
                        print(f"| {count} | {way} | {times} | |")
            print(f"\nhidden: {one['two GPUs']['hidden']}")


if __name__ == "__main__":
    sys.path[:0] = [str(HERE), str(HERE.parents[1] / "python")]
    main()
