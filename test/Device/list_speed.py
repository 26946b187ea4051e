#!/usr/bin/env python3
"""list_speed.py BUNDLE --json FILE: lists of sequences beside batches of equal ones, and beside
PyTorch's FlashAttention.

Tokens are 16384, heads times head dim 2048, masks causal. Each list runs with each kernel of lists
that reads its lengths on the device; the plain kernels run on the same tokens as one sequence and
as 16 of 1024 rows. Times are medians of rounds in a random order, of all entries and of the main
kernel alone, and these by active task: times workers, over the tasks that the mask leaves.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "python")]

import torch  # noqa: E402

from dash_attn import Kernel  # noqa: E402
from dash_attn.measure.bundle import Bundle, BundledKernel  # noqa: E402
from dash_attn.measure.documents import filled, lognormal  # noqa: E402
from dash_attn.measure.testing import OUTPUTS  # noqa: E402
from dash_attn.measure.timing import Variant, measure  # noqa: E402
from dash_attn.support.records import write_record  # noqa: E402

TOKENS, HIDDEN, TILE_Q, TILE_KV = 16384, 2048, 64, 128


def lists(seed: int) -> dict[str, list[int]]:
    """Lengths that add up to the tokens."""
    rng = random.Random(seed)
    return {
        "one": [TOKENS],
        "16 of 1024": [1024] * 16,
        "1024 ± 512": filled(TOKENS, lambda: rng.uniform(512, 1536)),
        "lognormal": lognormal(rng, TOKENS, 6.5, 1.0),
    }


def tasks_of(lengths: list[int], heads: int) -> tuple[int, int]:
    """Active tasks of a causal mask, and items."""
    tasks = items = 0
    for rows in lengths:
        q_tiles, kv_tiles = -(-rows // TILE_Q), -(-rows // TILE_KV)
        items += kv_tiles
        tasks += sum(q_tiles - kv * TILE_KV // TILE_Q for kv in range(kv_tiles))
    return tasks * heads, items * heads


def tensors_of(
    lengths: list[int], heads: int, head_dim: int, bounds: torch.Tensor
) -> tuple[dict[str, torch.Tensor], tuple[Any, ...]]:
    """Packed inputs with PyTorch's forward pass, and what its backward pass takes behind them."""
    torch.manual_seed(1)
    tensors = {
        name: torch.randn(TOKENS, heads, head_dim, device="cuda", dtype=torch.bfloat16)
        for name in ("q", "k", "v", "do")
    }
    tensors |= {name: torch.empty_like(tensors["q"]) for name in OUTPUTS}
    rest = (bounds, bounds, max(lengths), max(lengths), 0.0, True)
    o, lse, *states = torch.ops.aten._flash_attention_forward(
        *(tensors[name] for name in "qkv"), *rest, False
    )
    tensors |= {"o": o, "lse": lse.contiguous()}
    return tensors, (*rest, *states[:2])


def measure_list(
    name: str, lengths: list[int], kernels: list[BundledKernel], rounds: int, rng: random.Random
) -> list[dict[str, Any]]:
    head_dim = kernels[0].head_dim
    heads = HIDDEN // head_dim
    numbers = [sum(lengths[:i]) for i in range(len(lengths) + 1)]
    bounds = torch.tensor(numbers, dtype=torch.int32, device="cuda")
    tensors, rest = tensors_of(lengths, heads, head_dim, bounds)
    scale = head_dim**-0.5
    variants, worst = [], {}

    def theirs() -> Any:
        return torch.ops.aten._flash_attention_backward(
            *(tensors[key] for key in ("do", "q", "k", "v", "o", "lse")), *rest
        )

    expected = dict(zip(OUTPUTS, theirs()))
    for kernel in kernels:
        if kernel.is_list:
            launch = Kernel.load(kernel.path).bind(
                **tensors, cu_seqlens_q=bounds, cu_seqlens_kv=bounds, scale=scale, layout="thd"
            )
        elif len(set(lengths)) == 1:
            launch = Kernel.load(kernel.path).bind(**in_batch(tensors, len(lengths)), scale=scale)
        else:
            continue
        launch.run()
        worst[kernel.name] = max(
            float(
                (tensors[key].float() - expected[key].float()).norm() / expected[key].float().norm()
            )
            for key in OUTPUTS
        )
        variants.append(Variant(kernel.name, launch.run, launch=launch))
    variants.append(Variant("flash", theirs))
    measure(variants, rounds, None, rng)
    tasks, items = tasks_of(lengths, heads)
    workers = torch.cuda.get_device_properties(0).multi_processor_count
    found = []
    for variant in variants:
        ms = statistics.median(variant.milliseconds)
        entries = {role: statistics.median(times) for role, times in variant.entries.items()}
        found.append(
            {
                "head_dim": head_dim,
                "list": name,
                "sequences": len(lengths),
                "tasks": tasks,
                "tasks_of_item": tasks / items,
                "variant": variant.name,
                "ms": ms,
                "entries_ms": entries,
                "ns_of_task": ms * 1e6 * workers / tasks,
                "ns_of_task_in_main": entries.get("main", float("nan")) * 1e6 * workers / tasks,
                "beside_flash": worst.get(variant.name, 0.0),
            }
        )
    return found


def in_batch(tensors: dict[str, torch.Tensor], batch: int) -> dict[str, torch.Tensor]:
    """Views of the packed tensors, [batch, heads, rows, head dim]; lse is copied."""
    found = {
        name: tensor.unflatten(0, (batch, -1)).transpose(1, 2)
        for name, tensor in tensors.items()
        if name != "lse"
    }
    return found | {"lse": tensors["lse"].unflatten(1, (batch, -1)).transpose(0, 1).contiguous()}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument(
        "--seed", type=int, default=0, help="of lengths, and of the order in which variants run"
    )
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    bundle, results = Bundle.open(arguments.bundle), []
    for head_dim in (128, 64):
        kernels = [
            kernel
            for kernel in bundle.kernels + bundle.lists
            if (kernel.head_dim, kernel.mask.name, kernel.element) == (head_dim, "causal", "bf16")
            and kernel.manifest["order"]["source"] == "entry"
            and not kernel.softcap
            and not kernel.has_sink
            and not kernel.debug
            and kernel.parts == 1
        ]
        for name, lengths in lists(arguments.seed).items() if kernels else ():
            found = measure_list(
                name, lengths, kernels, arguments.rounds, random.Random(arguments.seed)
            )
            for row in found:
                print(
                    "{head_dim} {list:12s} {sequences:3d} {tasks_of_item:6.1f} {variant:36s}"
                    " {ms:.3f} ms, {ns_of_task:6.0f} ns a task, {ns_of_task_in_main:6.0f} in main,"
                    " {beside_flash:.1e} beside flash".format(**row),
                    flush=True,
                )
            results += found
    if arguments.json:
        about = {
            "commit": bundle.commit,
            "date": time.strftime("%Y-%m-%d"),
            "gpu": torch.cuda.get_device_name(),
            "torch": torch.__version__,
            "rounds": arguments.rounds,
            "lists": lists(arguments.seed),
            "results": results,
        }
        write_record(arguments.json, about)
    return 0


if __name__ == "__main__":
    sys.exit(main())
