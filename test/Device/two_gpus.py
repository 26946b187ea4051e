"""DTensor over batch and heads, and FSDP2, on two GPUs: gradients are the same bits on every run,
and those that one GPU has for a part."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
DEVICES, SECONDS, REPEATS, STEPS = 2, 55, 20, 3


def tests(kernels: list[Any], quick: bool) -> list[Any]:
    from group import Test

    return [
        Test(f"two gpus {name}", kernels[0].name, lambda name=name: both(name)) for name in WORK
    ]


def both(name: str) -> dict[str, Any]:
    """A process a GPU, each of which prints what it found."""
    import torch
    from group import Skip, demand

    if torch.cuda.device_count() < DEVICES:
        raise Skip(f"{DEVICES} GPUs are needed, found {torch.cuda.device_count()}")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    begun = time.monotonic()
    processes = [
        subprocess.Popen(
            [sys.executable, str(HERE / "two_gpus.py"), name, str(rank)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ
            | {
                "PYTHONPATH": os.pathsep.join(sys.path),
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": str(port),
            },
        )
        for rank in range(DEVICES)
    ]
    try:
        said = [
            process.communicate(timeout=SECONDS - (time.monotonic() - begun))
            for process in processes
        ]
    finally:
        for process in processes:
            process.kill()
    for rank, (process, (out, wrong)) in enumerate(zip(processes, said)):
        demand(
            process.returncode == 0,
            f"device {rank} ended with {process.returncode}: {wrong[-1500:]}",
        )
    return {
        "devices": [json.loads(out.splitlines()[-1]) for out, _ in said],
        "seconds": round(time.monotonic() - begun),
    }


def sharded(rank: int) -> dict[str, Any]:
    """Parts of the batch, or of heads: nothing is sent, and each has the bits that it has alone, on
    one GPU."""
    import torch
    from dash_attn import attention
    from torch.distributed.tensor import Shard, distribute_tensor, init_device_mesh
    from torch.distributed.tensor.debug import CommDebugMode

    mesh, found = init_device_mesh("cuda", (DEVICES,)), []
    for layout, dim, heads, kv_heads, rows in (
        ("bhsd", 0, 16, 16, 1024),
        ("bhsd", 1, 16, 16, 1024),
        ("bshd", 0, 16, 4, 1000),
        ("bshd", 2, 16, 4, 1000),
        ("bhsd", 1, 64, 16, 4096),
    ):
        generator = torch.Generator(device="cuda").manual_seed(1)
        shapes = [
            (4, count, rows, 128) if layout == "bhsd" else (4, rows, count, 128)
            for count in (heads, kv_heads, kv_heads, heads)
        ]
        *whole, do = (
            torch.randn(shape, device="cuda", generator=generator).bfloat16() for shape in shapes
        )
        options = {"causal": True, "layout": layout}
        for leaf in whole:
            leaf.requires_grad_()
        expected = torch.autograd.grad(attention(*whole, **options), whole, do)
        parts = [distribute_tensor(x.detach(), mesh, [Shard(dim)]).requires_grad_() for x in whole]
        upstream = distribute_tensor(do, mesh, [Shard(dim)])
        alone = [part.to_local().detach().requires_grad_() for part in parts]
        first = torch.autograd.grad(attention(*alone, **options), alone, upstream.to_local())
        for _ in range(REPEATS):
            with CommDebugMode() as sent:
                o = attention(*parts, **options)
                gradients = torch.autograd.grad(o, parts, upstream)
            assert not sent.get_total_counts() and o.placements == (Shard(dim),), (
                sent.get_comm_counts()
            )
            assert all(map(torch.equal, [one.to_local() for one in gradients], first)), (
                "bits are not those of the part alone"
            )
        whole_again = [one.full_tensor() for one in gradients]
        is_same = all(map(torch.equal, whole_again, expected))
        for one, other in zip(whole_again, expected):
            assert (one.double() - other.double()).norm() < 0.01 * other.double().norm()
        found.append(
            {
                "layout": layout,
                "dim": dim,
                "heads": heads,
                "kv_heads": kv_heads,
                "same_as_whole": is_same,
            }
        )
    return {"cases": found, "repeats": REPEATS}


def with_fsdp(rank: int) -> dict[str, Any]:
    """Weights after some steps: the same bits twice, and near those of the same model, whole, whose
    gradients are averaged."""
    import torch
    import torch.distributed as dist
    from dash_attn import attention
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor import init_device_mesh

    class Layer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.into, self.out = torch.nn.Linear(1024, 3 * 1024), torch.nn.Linear(1024, 1024)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            q, k, v = self.into(x).unflatten(-1, (3, 8, 128)).unbind(-3)
            return x + self.out(attention(q, k, v, causal=True, layout="bshd").flatten(-2))

    mesh, found = init_device_mesh("cuda", (DEVICES,)), []
    generator = torch.Generator(device="cuda").manual_seed(rank)
    batches = [
        torch.randn(2, 1000, 1024, device="cuda", generator=generator).bfloat16()
        for _ in range(STEPS)
    ]
    for is_sharded in (True, True, False):
        torch.manual_seed(5)
        model = torch.nn.Sequential(*(Layer() for _ in range(3))).to("cuda", torch.bfloat16)
        if is_sharded:
            for layer in model:
                fully_shard(layer, mesh=mesh)
            fully_shard(model, mesh=mesh)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for batch in batches:
            model(batch).float().square().mean().backward()
            if not is_sharded:
                for parameter in model.parameters():
                    dist.all_reduce(parameter.grad, dist.ReduceOp.AVG)
            optimizer.step()
            optimizer.zero_grad()
        found.append(
            [
                (one.full_tensor() if is_sharded else one).detach().clone()
                for one in model.parameters()
            ]
        )
    assert all(map(torch.equal, found[0], found[1])), "two runs end with other weights"
    far = max(
        float((one.double() - other.double()).norm() / other.double().norm())
        for one, other in zip(found[0], found[2])
    )
    assert far < 0.01, far
    return {
        "parameters": len(found[0]),
        "steps": STEPS,
        "beside_whole": far,
        "same_as_whole": all(map(torch.equal, found[0], found[2])),
    }


WORK = {"sharded": sharded, "fsdp": with_fsdp}

if __name__ == "__main__":
    import torch
    import torch.distributed

    name, number = sys.argv[1], int(sys.argv[2])
    torch.cuda.set_device(number)
    torch.distributed.init_process_group(
        "nccl", rank=number, world_size=DEVICES, device_id=torch.device("cuda", number)
    )
    result = WORK[name](number)
    torch.distributed.destroy_process_group()
    print(json.dumps(result))
