"""What level `world` costs on one GPU, and where: a backward of one document beside level `run`,
its kernels by what they do, sums brought into rows by either way, and leaves' kernels that leave
multiprocessors to others.

`python3 world_costs.py [--rows 65536,131072] [--record FILE]`, where DASH_LIBRARY names
libdash.so. 32 heads of 128, 8 of keys and values, bf16; the least of some rounds. It takes about
three minutes on an H200.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import torch

HEADS, KV_HEADS, HEAD_DIM, ROUNDS = 32, 8, 128, 3
GROUP = HEADS // KV_HEADS
# of leaves: rows of q over rows of k
SHAPES = ((32768, 32768), (13312, 46080), (8192, 65536), (4096, 131072))
WORKERS = (132, 128, 124, 116)
# A part of a kernel's name, and what it does; what has none of them is "others".
KINDS = (
    ("_main", "products"),
    ("_prepare", "preparation"),
    ("_convert", "conversion"),
    ("take_words", "sums into rows, added"),
    ("add_words", "sums added"),
    ("copy", "copies"),
    ("fill", "fills"),
    ("memcpy", "copies"),
    ("memset", "fills"),
)


def least(run: Callable[[], Any], rounds: int = ROUNDS) -> float:
    """Milliseconds, behind a round that is not counted."""
    taken = []
    for _ in range(rounds + 1):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        begin.record()
        run()
        end.record()
        torch.cuda.synchronize()
        taken.append(begin.elapsed_time(end))
    return round(min(taken[1:]), 3)


# ---- A backward ----------------------------------------------------------------------------------


def backward(rows: int) -> dict[str, Any]:
    from dash_attn import attention as plain
    from dash_attn.distributed import attention, tree
    from many_ranks import inputs, local, world_of

    tensors = inputs((rows,), HEAD_DIM, GROUP, KV_HEADS)
    q, k, v, do = local(world := world_of(1, (rows,), tensors, 1), 0, tensors)
    batch = [one[None].transpose(1, 2).detach().requires_grad_() for one in (q, k, v)]
    of_run, of_world = plain(*batch, causal=True), attention(q, k, v, world=world)

    def again(o: torch.Tensor, given: Any, upstream: torch.Tensor) -> Callable[[], Any]:
        return lambda: torch.autograd.grad(o, given, upstream, retain_graph=True)

    in_world = again(of_world, (q, k, v), do)
    found: dict[str, Any] = {
        "level run": least(again(of_run, batch, do[None].transpose(1, 2))),
        "level world": least(in_world),
    }
    with mock.patch.object(tree, "in_one_pass", lambda: None):
        found["level world, sums by PyTorch's operators"] = least(in_world)
        by_operators = profile(in_world)
    return found | {"kernels": profile(in_world), "kernels, by operators": by_operators}


def profile(run: Callable[[], Any]) -> dict[str, list[float]]:
    """Milliseconds and number of kernels, by what they do."""
    from torch.profiler import ProfilerActivity

    with torch.profiler.profile(activities=[ProfilerActivity.CUDA]) as found:
        run()
        torch.cuda.synchronize()
    sums: dict[str, list[float]] = {}
    for one in found.key_averages():
        if one.self_device_time_total > 0:
            does = next((kind for part, kind in KINDS if part in one.key.lower()), "others")
            of_kind = sums.setdefault(does, [0.0, 0])
            of_kind[0] += one.self_device_time_total / 1000
            of_kind[1] += one.count
    return {
        kind: [round(milliseconds, 3), count]
        for kind, (milliseconds, count) in sorted(sums.items(), key=lambda one: -one[1][0])
    }


# ---- Sums ----------------------------------------------------------------------------------------


def sums_into_rows(context: int) -> dict[str, dict[str, float]]:
    """Milliseconds, and GB/s of what has to be read and written."""
    from dash_attn.distributed import batches, tree

    size = 4 * context * HEAD_DIM
    memory = torch.randn(2 * context * HEAD_DIM, device="cuda").view(torch.uint8)
    regions = {
        name: SimpleNamespace(offset=number * size, bytes=size)
        for number, name in enumerate(("dk_sum", "dv_sum"))
    }
    of_leaf = batches.InFragments(memory, regions, context, context, HEAD_DIM, 64)
    left = torch.randn(2, context - 8192, HEAD_DIM, device="cuda")
    found = {}
    for name, ways in (("operators", lambda: None), ("one pass", tree.in_one_pass)):
        with mock.patch.object(tree, "in_one_pass", ways):
            for what, beside, passes in (("", None, 2), (", added", left, 3)):
                milliseconds = least(lambda beside=beside: of_leaf.rows(beside), 10)
                rate = passes * 2 * size / milliseconds / 1e6
                found[name + what] = {"ms": milliseconds, "GB/s": round(rate)}
    return found


# ---- Fewer workers -------------------------------------------------------------------------------


def fewer_workers(q_rows: int, context: int) -> dict[str, float]:
    """Milliseconds of a leaf, by how many multiprocessors its kernel takes."""
    from dash_attn.distributed import batches
    from dash_attn.kernel import orders
    from dash_attn.kernel.driver import cuda_driver
    from dash_attn.kernel.runtime import maker_of
    from dash_attn.torch.kernels import TorchKernel

    def tensor(heads: int, rows: int, *dims: int) -> torch.Tensor:
        dtype = torch.bfloat16 if dims else torch.float32
        return torch.randn(1, heads, rows, *dims, device="cuda").to(dtype)

    q, do = (tensor(GROUP, q_rows, HEAD_DIM) for _ in range(2))
    k, v = (tensor(1, context, HEAD_DIM) for _ in range(2))
    delta, lse = tensor(GROUP, q_rows), torch.full((1, GROUP, q_rows), 10.0, device="cuda")
    given = {"q": q, "k": k, "v": v, "do": do, "o": None, "lse": lse, "delta": delta}
    given |= {f"d{name}": torch.empty_like(given[name]) for name in "qkv"}
    program_of, found = orders.program_of, {}
    for workers in WORKERS:

        def program(wanted: Any, workers: int = workers) -> tuple[str, str, str]:
            text, options, name = program_of(wanted)
            return text, f"{options} workers={workers}", name

        orders._compiled.cache_clear()
        with mock.patch.object(orders, "program_of", program):
            wanted = batches.wanted_of_leaf(HEAD_DIM, torch.bfloat16, GROUP, q_rows, context)
            kernel = TorchKernel(maker_of(orders.texts_of(wanted)), cuda_driver())
        found[str(workers)] = least(lambda kernel=kernel: kernel.backward(**given, scale=0.088), 5)
    orders._compiled.cache_clear()
    return found


# ---- All -----------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default="65536,131072")
    parser.add_argument("--record", type=Path)
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("error: expected a machine with a GPU, found none")
    found: dict[str, Any] = {
        "date": time.strftime("%Y-%m-%d"),
        "gpu": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "rounds": ROUNDS,
        "heads": HEADS,
        "kv_heads": KV_HEADS,
        "head_dim": HEAD_DIM,
        "mask": "causal",
        "sums into rows": {},
        "leaves by workers, ms": {},
        "backward, ms": {},
    }
    for context in (46080, 131072):
        found["sums into rows"][str(context)] = one = sums_into_rows(context)
        print(f"sums of {context} rows into rows: {one}", flush=True)
    for shape in SHAPES:
        one = fewer_workers(*shape)
        found["leaves by workers, ms"][" x ".join(map(str, shape))] = one
        print(f"leaf of {shape}: {one}", flush=True)
    for rows in map(int, arguments.rows.split(",")):
        found["backward, ms"][str(rows)] = one = backward(rows)
        print(f"backward of {rows} rows: {one}", flush=True)
    if arguments.record:
        from dash_attn.support.records import write_record

        write_record(arguments.record, found)


if __name__ == "__main__":
    HERE = Path(__file__).resolve().parent
    sys.path[:0] = [str(HERE), str(HERE.parents[1] / "python")]
    main()
