"""Trains a small Llama on documents that are shared out over GPUs, and prints what depends on their
number and what does not.

Two GPUs and one document of 131072 tokens:

    torchrun --nproc-per-node 2 long_context.py

One GPU; other numbers of GPUs have the same loss and hash for the same list:

    python3 long_context.py --documents 65536,9000,700

The same on a CPU, in plain PyTorch, for trying:

    python3 long_context.py --device cpu --documents 700,130 --cut 0 …

Attention has level `world`: its bits follow from the documents alone. Everything else in the
model's forward works on --chunk rows at a time, so matrix products have the same shapes, and so the
same bits, on any number of GPUs. What is not independent of it: gradients of weights, which are
sums over a GPU's rows and then over GPUs (FSDP2, NCCL). So losses and attention's gradients of a
step agree as long as the weights do: in the first step, and in all steps with --learning-rate 0.

Model FLOP utilisation is (6 N T + 12 layers heads head_dim P) / (seconds GPUs peak): N weights
without embeddings, T tokens, P pairs of a query and a key that it sees; what checkpoints compute
again does not count.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard, register_fsdp_forward_method
from torch.nn.functional import cross_entropy, rms_norm, silu
from torch.utils.checkpoint import checkpoint

from dash_attn.distributed import World, attention

THETA = 500000.0


def in_chunks(function: Callable[..., Any], rows: int, *tensors: torch.Tensor) -> Any:
    """The function over so many rows at a time, computed again in the backward pass: no product's
    shape depends on all rows."""
    parts = [
        checkpoint(function, *some, use_reentrant=False)
        for some in zip(*(one.split(rows) for one in tensors))
    ]
    if isinstance(parts[0], tuple):
        return tuple(torch.cat(some) for some in zip(*parts))
    return torch.cat(parts)


class Layer(nn.Module):
    """A layer of Llama, with attention taken out of its middle."""

    def __init__(self, sizes: argparse.Namespace) -> None:
        super().__init__()
        self.sizes, width = sizes, sizes.heads * sizes.head_dim
        linear = [
            (width, (sizes.heads + 2 * sizes.kv_heads) * sizes.head_dim),
            (width, width),
            (width, 2 * sizes.inner),
            (sizes.inner, width),
        ]
        self.qkv, self.out, self.up, self.down = (nn.Linear(*shape, bias=False) for shape in linear)
        self.norms = nn.Parameter(torch.ones(2, width))

    def before(self, x: torch.Tensor, turn: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return in_chunks(self._before, self.sizes.chunk, x, turn)

    def after(self, x: torch.Tensor, o: torch.Tensor) -> torch.Tensor:
        return in_chunks(self._after, self.sizes.chunk, x, o)

    def _before(self, x: torch.Tensor, turn: torch.Tensor) -> tuple[torch.Tensor, ...]:
        heads, kv_heads = self.sizes.heads, self.sizes.kv_heads
        found = self.qkv(rms_norm(x, x.shape[-1:], self.norms[0].to(x.dtype))).unflatten(
            -1, (-1, self.sizes.head_dim)
        )
        q, k, v = found.split((heads, kv_heads, kv_heads), 1)
        return turned(q, turn), turned(k, turn), v

    def _after(self, x: torch.Tensor, o: torch.Tensor) -> torch.Tensor:
        x = x + self.out(o.flatten(1))
        gate, up = self.up(rms_norm(x, x.shape[-1:], self.norms[1].to(x.dtype))).chunk(2, -1)
        return x + self.down(silu(gate) * up)


def turned(x: torch.Tensor, turn: torch.Tensor) -> torch.Tensor:
    """Rotary embedding. x: [rows, heads, head_dim]; turn: [rows, 2, head_dim / 2], cosines and
    sines in float32."""
    one, other = x.float().chunk(2, -1)
    cos, sin = turn[:, :1], turn[:, 1:]
    return torch.cat((one * cos - other * sin, other * cos + one * sin), -1).to(x.dtype)


class Llama(nn.Module):
    def __init__(self, sizes: argparse.Namespace) -> None:
        super().__init__()
        width = sizes.heads * sizes.head_dim
        self.sizes, self.embedding, self.head = (
            sizes,
            nn.Embedding(sizes.vocabulary, width),
            nn.Linear(width, sizes.vocabulary, bias=False),
        )
        self.layers = nn.ModuleList(Layer(sizes) for _ in range(sizes.layers))
        self.kept: list[tuple[torch.Tensor, ...]] = []

    def forward(self, tokens: torch.Tensor, labels: torch.Tensor, world: World) -> torch.Tensor:
        """The sum of losses of each chunk of this rank's rows, in float32. `kept` has q, k, v
        and o of each layer afterwards."""
        self.kept = []
        half = self.sizes.head_dim // 2
        angles = world.positions()[:, None] * THETA ** (
            -torch.arange(half, device=tokens.device, dtype=torch.float64) / half
        )
        turn = torch.stack((angles.cos(), angles.sin()), 1).float()
        x = self.embedding(tokens)
        for layer in self.layers:
            q, k, v = layer.before(x, turn)
            o = attention(q, k, v, world=world)
            for one in (q, k, v):
                one.retain_grad()
            self.kept.append((q, k, v, o))
            x = layer.after(x, o)
        return in_chunks(self._loss, self.sizes.chunk, x, labels)

    def _loss(self, x: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return cross_entropy(
            self.head(rms_norm(x, x.shape[-1:])).float(), labels, ignore_index=-100, reduction="sum"
        )[None]


def made(sizes: argparse.Namespace, device: torch.device) -> Llama:
    """The same weights on every rank, shared out by FSDP2."""
    torch.manual_seed(0)
    model = Llama(sizes).to(device)
    for weight in model.parameters():
        if weight.dim() == 2 and weight.shape[0] > 2:
            nn.init.normal_(weight, std=0.02)
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for layer in model.layers:
        fully_shard(layer, mp_policy=policy)
        for name in ("before", "after"):
            register_fsdp_forward_method(layer, name)
    return fully_shard(model, mp_policy=policy)


def train(sizes: argparse.Namespace, group: Any, device: torch.device) -> None:
    rank, ranks, rows = dist.get_rank(), dist.get_world_size(), sum(sizes.documents)
    model = made(sizes, device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=sizes.learning_rate)
    world = World(
        group,
        sizes.documents,
        heads=sizes.heads,
        kv_heads=sizes.kv_heads,
        head_dim=sizes.head_dim,
        cut=sizes.cut,
        forward=sizes.forward,
    )
    generator = torch.Generator().manual_seed(1)
    flops = model_flops(sizes, sum(one.numel() for one in model.parameters()))
    for step in range(sizes.steps):
        tokens = torch.randint(sizes.vocabulary, (rows,), generator=generator)
        mine, labels = (one.to(device) for one in (world.shard(tokens), world.labels(tokens)))
        count = rows - len(sizes.documents)  # of tokens that have a next one
        wait(device)
        begun = time.perf_counter()
        losses = model(mine, labels, world)
        (losses.sum() / count).backward()
        seconds = time.perf_counter() - begun if wait(device) is None else 0.0
        loss = sum(of_all(losses.detach(), ranks)) / count
        hashes = [
            world.hashes(o.detach(), *(one.grad for one in (q, k, v))) for q, k, v, o in model.kept
        ]
        model.kept = []
        for weight in model.parameters():
            # FSDP2 has taken the mean over ranks. A factor in the loss would reach attention's
            # gradients.
            weight.grad.mul_(ranks)
        optimizer.step()
        optimizer.zero_grad()
        if rank == 0:
            used = (
                f"{seconds:.3f} s, {100 * flops / seconds / ranks / sizes.peak:.1f} % of {ranks} x"
                f" {sizes.peak / 1e12:.0f} TFLOP/s"
                if sizes.peak
                else ""
            )
            print(
                f"step {step}: loss {loss:.6f} ({loss.hex()}); attention"
                f" {hash_of(hashes)}{'; ' if used else ''}{used}",
                flush=True,
            )


def of_all(losses: torch.Tensor, ranks: int) -> list[float]:
    """The losses of all chunks in the order of their rows, whatever rank has them: a sum of them
    has the same bits for any number of ranks."""
    found: list[Any] = [None] * ranks
    dist.all_gather_object(found, losses.double().tolist())
    return [one for some in found for one in some]


def hash_of(numbers: list[list[int]]) -> str:
    """One word of the hashes of all layers."""
    found = 0
    for layer in numbers:
        for one in layer:
            found = (found * 0x9E3779B97F4A7C15 + one) % (1 << 64)
    return f"{found:016x}"


def model_flops(sizes: argparse.Namespace, weights: int) -> float:
    weights -= sizes.vocabulary * sizes.heads * sizes.head_dim  # the embedding is looked up
    pairs = sum(rows * (rows + 1) // 2 for rows in sizes.documents)
    return (
        6.0 * weights * sum(sizes.documents)
        + 12.0 * sizes.layers * sizes.heads * sizes.head_dim * pairs
    )


def wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()
    dist.barrier()


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--documents",
        type=lambda text: [int(one) for one in text.split(",")],
        default=[131072],
        help="tokens of each",
    )
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--learning-rate", type=float, default=3e-4)
    for name, size in (
        ("layers", 8),
        ("heads", 16),
        ("kv-heads", 4),
        ("head-dim", 128),
        ("inner", 5632),
        ("vocabulary", 32000),
    ):
        parser.add_argument(f"--{name}", type=int, default=size)
    parser.add_argument("--chunk", type=int, default=8192, help="rows that matrix products have")
    parser.add_argument(
        "--cut", type=int, default=1, help="0: leaves of some hundred rows, for trying"
    )
    parser.add_argument("--forward", default="", help="of a World: dash, flash2 or flash3")
    parser.add_argument(
        "--peak", type=float, default=989e12, help="FLOP/s of a GPU; 0 prints no times"
    )
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    sizes = parser.parse_args(argv)
    for name, value in (
        ("MASTER_ADDR", "127.0.0.1"),
        ("MASTER_PORT", "29511"),
        ("RANK", "0"),
        ("WORLD_SIZE", "1"),
        ("LOCAL_RANK", "0"),
    ):
        os.environ.setdefault(name, value)
    if sizes.device == "cuda" and not torch.cuda.is_available():
        sys.exit("error: expected a GPU, found none; --device cpu tries small sizes without one")
    device = (
        torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        if sizes.device == "cuda"
        else torch.device("cpu")
    )
    if device.type == "cuda":
        torch.cuda.set_device(device)
    is_cuda = device.type == "cuda"
    # Told of its device, NCCL makes its communicators at once, on that device.
    dist.init_process_group("nccl" if is_cuda else "gloo", device_id=device if is_cuda else None)
    ranks, rows = dist.get_world_size(), sum(sizes.documents)
    if dist.get_rank() == 0 and any(rows * rank // ranks % sizes.chunk for rank in range(ranks)):
        print(
            f"note: {rows} rows over {ranks} ranks do not cut into chunks of {sizes.chunk}; losses"
            " differ from those of other numbers of ranks",
            file=sys.stderr,
        )
    try:
        train(sizes, dist.group.WORLD, device)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
