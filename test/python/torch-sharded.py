# RUN: %torch_python %s
# REQUIRES: torch, plain-libdash
"""DTensor and FSDP2, by two processes on the CPU: gradients of parts are parts of the gradients,
bit by bit, and nothing is gathered."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from fixtures import refused  # noqa: E402
from on_cpu import LAUNCHED  # noqa: E402
from torch.distributed.fsdp import fully_shard  # noqa: E402
from torch.distributed.tensor import (
    Partial,
    Replicate,
    Shard,
    distribute_tensor,
    init_device_mesh,
)  # noqa: E402
from torch.distributed.tensor.debug import CommDebugMode  # noqa: E402

from dash_attn import ArgumentError, attention, explain  # noqa: E402
from dash_attn.torch.foreign import foreign_operator  # noqa: E402

DEVICES = 2


def inputs(layout: str = "bhsd", kv_heads: int = 2) -> list[torch.Tensor]:
    torch.manual_seed(1)
    found = [
        torch.randn(2, heads, 12, 64, dtype=torch.bfloat16) for heads in (4, kv_heads, kv_heads, 4)
    ]
    return found if layout == "bhsd" else [x.transpose(1, 2).contiguous() for x in found]


def sharded() -> None:
    mesh = init_device_mesh("cpu", (DEVICES,))
    for layout, dim in (("bhsd", 0), ("bhsd", 1), ("bshd", 0), ("bshd", 2)):
        *whole, do = inputs(layout)
        options = {"causal": True, "layout": layout}
        for leaf in whole:
            leaf.requires_grad_()
        expected = torch.autograd.grad(attention(*whole, **options), whole, do)
        parts = [distribute_tensor(x.detach(), mesh, [Shard(dim)]).requires_grad_() for x in whole]
        upstream = distribute_tensor(do, mesh, [Shard(dim)])
        outputs = attention(*whole, **options, return_lse=True)
        of_lse = torch.linspace(-1, 1, outputs[1].numel()).reshape(outputs[1].shape)
        with_lse = torch.autograd.grad(outputs, whole, (do, of_lse))
        with CommDebugMode() as sent:
            o = attention(*parts, **options)
            found = torch.autograd.grad(o, parts, upstream)
            o, lse = attention(*parts, **options, return_lse=True)
            of_both = torch.autograd.grad(
                (o, lse),
                parts,
                (upstream, distribute_tensor(of_lse, mesh, lse.placements, src_data_rank=None)),
            )
        assert (
            not sent.get_total_counts()
            and o.placements == (Shard(dim),)
            and lse.placements == (Shard(min(dim, 1)),)
        ), sent.get_comm_counts()
        for one, other in zip((*found, *of_both), (*expected, *with_lse), strict=True):
            assert one.placements == (Shard(dim),) and torch.equal(one.full_tensor(), other)
    with_sink(mesh)
    *whole, _ = inputs(kv_heads=1)
    uneven = [
        distribute_tensor(x, mesh, [Shard(1) if x is whole[0] else Replicate()]) for x in whole
    ]
    LAUNCHED.clear()
    message = (
        f"k: expected a number of heads that {DEVICES} devices divide among them, found 1; shard"
        " the batch, or repeat heads of k and v"
    )
    assert (
        refused(lambda: attention(*uneven), ArgumentError) == message == explain(*uneven).refusal
        and not LAUNCHED
    )


def of_rows(mesh: Any) -> None:
    """Refused, where all would be gathered; and in packed sequences."""
    for layout, dim in (("bhsd", 2), ("bshd", 1)):
        *whole, _ = inputs(layout)
        parts = [distribute_tensor(x, mesh, [Shard(dim)]) for x in whole]
        LAUNCHED.clear()
        message = (
            f"q: expected shards of the batch or of heads, found Shard({dim}), of rows: every row"
            " would be gathered on every device; dash_attn.distributed computes documents whose"
            " rows lie on several GPUs, from local tensors (DTensor.to_local())"
        )
        with CommDebugMode() as sent:
            assert (
                refused(lambda: attention(*parts, causal=True, layout=layout), ArgumentError)
                == message
                == explain(*parts, layout=layout).refusal
            )  # noqa: B023
        assert not LAUNCHED and not sent.get_total_counts()
        replicated = distribute_tensor(whole[0], mesh, [Replicate()])
        message = refused(lambda: attention(replicated, *parts[1:], layout=layout), ArgumentError)  # noqa: B023
        assert message.startswith(
            f"k: expected shards of the batch or of heads, found Shard({dim})"
        ), message
    packed = [distribute_tensor(x[0].transpose(0, 1), mesh, [Shard(0)]) for x in inputs()[:3]]
    message = (
        "q: expected a plain tensor beside cu_seqlens, found a DTensor; take its local one, and"
        " where documents lie on several GPUs dash_attn.distributed"
    )
    assert (
        refused(
            lambda: attention(*packed, cu_seqlens_q=torch.tensor([0, 12], dtype=torch.int32)),
            ArgumentError,
        )
        == message
    )


def with_sink(mesh: Any) -> None:
    """With parts of the heads each device has its own; with parts of the batch its gradient is a
    sum, of what each device has rounded."""
    for dim, of_sink in ((0, Replicate()), (1, Shard(0))):
        *whole, do = [*inputs()[:3], torch.linspace(-1, 1, 4, dtype=torch.bfloat16), inputs()[3]]
        for leaf in whole:
            leaf.requires_grad_()
        expected = torch.autograd.grad(attention(*whole[:3], causal=True, sink=whole[3]), whole, do)
        ways = [Shard(dim)] * 3 + [of_sink]
        parts = [
            distribute_tensor(x.detach(), mesh, [way]).requires_grad_()
            for x, way in zip(whole, ways)
        ]
        # The operator of PyTorch's forward pass.
        operands = [*(x.detach() for x in whole[:3]), whole[3].detach().float()]
        spread = [distribute_tensor(x, mesh, [way]) for x, way in zip(operands, ways)]
        found, given = foreign_operator(*spread[:3], -1, 0, 0.125, spread[3]), operands[:3]
        for one, other in zip(found, foreign_operator(*given, -1, 0, 0.125, operands[3])):
            assert one.placements == (Shard(dim),) and torch.equal(one.full_tensor(), other)
        o, lse = attention(*parts[:3], causal=True, sink=parts[3], return_lse=True)
        of_both = torch.autograd.grad(
            (o, lse.float()),
            parts,
            (distribute_tensor(do, mesh, [Shard(dim)]), lse.detach()),
            retain_graph=True,
        )
        outputs = attention(*whole[:3], causal=True, sink=whole[3], return_lse=True)
        for one, other in zip(
            of_both[:3],
            torch.autograd.grad(outputs, whole[:3], (do, outputs[1].detach())),
            strict=True,
        ):
            assert torch.equal(one.full_tensor(), other)
        found = torch.autograd.grad(o, parts, distribute_tensor(do, mesh, [Shard(dim)]))
        assert o.placements == (Shard(dim),) and found[3].placements in (
            (Partial(),),
            (Shard(0),),
            (Replicate(),),
        ), found[3].placements
        *same, of_sinks = zip(found, expected, strict=True)
        for one, other in same:
            assert torch.equal(one.full_tensor(), other)
        one, other = of_sinks[0].full_tensor(), of_sinks[1]
        assert (
            torch.equal(one, other) or dim == 0 and (one - other).norm() <= 0.01 * other.norm()
        ), (one, other)
    message = "sink: expected a DTensor as q, found a plain tensor"
    assert refused(lambda: attention(*parts[:3], sink=whole[3]), ArgumentError) == message


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(64, 192, dtype=torch.bfloat16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return attention(*self.linear(x)[:, None].chunk(3, -1), causal=True).float().square().mean()


def with_fsdp() -> None:
    """Twice the same parameters, and those of a model that is whole."""
    torch.manual_seed(dist.get_rank())
    batch = torch.randn(2, 12, 64, dtype=torch.bfloat16)
    found = []
    for is_sharded in (True, True, False):
        torch.manual_seed(5)
        model = Model()
        if is_sharded:
            fully_shard(model, mesh=init_device_mesh("cpu", (DEVICES,)))
        model(batch).backward()
        grad = model.linear.weight.grad
        if not is_sharded:
            grad = grad.float()
            dist.all_reduce(grad)
            grad /= DEVICES
        found.append(grad.full_tensor() if is_sharded else grad)
    assert torch.equal(found[0], found[1])
    assert (found[0].float() - found[2]).norm() < 0.02 * found[2].norm()


def work(rank: int, port: int) -> None:
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=DEVICES)
    sharded()
    of_rows(init_device_mesh("cpu", (DEVICES,)))
    with_fsdp()
    dist.destroy_process_group()
    sys.stdout.flush()
    # A thread of gloo that lets go of a tensor while the interpreter ends aborts the process.
    os._exit(0)


if __name__ == "__main__":
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        number = free.getsockname()[1]
    torch.multiprocessing.spawn(work, args=(number,), nprocs=DEVICES)
