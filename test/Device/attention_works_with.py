#!/usr/bin/env python3
"""attention_works_with.py: `attention` with both passes by dash, and what PyTorch does with it:
graphs whose first call is captured and that are replayed with other numbers and offsets, streams of
threads, compiled programs, checkpoints, autocast, vmap, tensors that are copied, slices, gradients
of the LSE, a cache of keys, and a certificate that holds. It ends with `ok`, or with what differs.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

import torch  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

from dash_attn import attention, audit  # noqa: E402

BF16 = torch.bfloat16
Tensors = list[torch.Tensor]


def inputs(rows: int = 700, head_dim: int = 128) -> Tensors:
    shapes = ((2, heads, rows, head_dim) for heads in (8, 2, 2))
    return [torch.randn(one, device="cuda", dtype=BF16, requires_grad=True) for one in shapes]


def both(given: Tensors, do: torch.Tensor, **options: Any) -> Tensors:
    found = attention(*given, return_lse=True, **options)
    return [*found, *torch.autograd.grad(found[0], given, do)]


def demand_same(ours: Any, theirs: Any, what: str) -> None:
    if not all(map(torch.equal, ours, theirs)):
        raise AssertionError(f"{what}: expected the same bits")


def graphs() -> None:
    for options in (
        {"causal": True},
        {"causal": True, "softcap": 30.0},
        {"window": (100, 0), "level": "batch"},
    ):
        for head_dim in (64, 128):
            given = inputs(head_dim=head_dim)
            do = torch.randn_like(given[0])
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):  # the first call is inside the capture
                found = both(given, do, **options)
            for run in range(3):
                graph.replay()
                demand_same(found, both(given, do, **options), f"replay {run} of {options}")
                with torch.no_grad():
                    for one in (*given, do):
                        one.copy_(torch.randn_like(one))


def packed_graphs() -> None:
    shapes = ((2000, heads, 64) for heads in (8, 2, 2))
    given = [torch.randn(one, device="cuda", dtype=BF16, requires_grad=True) for one in shapes]
    do, offsets = torch.randn_like(given[0]), torch.tensor([0, 500, 1200, 2000]).int().cuda()
    options = {"causal": True, "cu_seqlens_q": offsets}
    both(given, do, **options)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = both(given, do, **options)
    for numbers in ([0, 500, 1200, 2000], [0, 1, 2, 1999], [5, 5, 900, 1300]):
        offsets.copy_(torch.tensor(numbers))
        graph.replay()
        demand_same(found, both(given, do, **options), f"offsets {numbers}")


def threads() -> None:
    given = [one.detach() for one in inputs()]
    do, differing = torch.randn_like(given[0]), []
    expected = both([one.requires_grad_() for one in given], do, causal=True)

    def work() -> None:
        with torch.cuda.stream(torch.cuda.Stream()):
            for _ in range(30):
                own = [one.detach().requires_grad_() for one in given]
                if not all(map(torch.equal, both(own, do, causal=True), expected)):
                    differing.append(1)

    torch.cuda.synchronize()
    workers = [threading.Thread(target=work) for _ in range(4)]
    for one in workers:
        one.start()
    for one in workers:
        one.join()
    assert not differing, "a stream of a thread has other bits"


def programs() -> None:
    given = inputs()
    do = torch.randn_like(given[0])

    def scaled(q: Any, k: Any, v: Any) -> Any:
        return attention(q, k, v, causal=True, softcap=20.0) * 2

    expected = scaled(*given)
    gradients = torch.autograd.grad(expected, given, do)
    for mode in ("default", "reduce-overhead"):
        compiled = torch.compile(scaled, mode=mode, fullgraph=True)
        for _ in range(3):
            torch.compiler.cudagraph_mark_step_begin()
            found = compiled(*given)
            demand_same([found], [expected], mode)
            demand_same(torch.autograd.grad(found, given, do), gradients, mode)
    expected = both(given, do, causal=True)
    kept = checkpoint(lambda *one: attention(*one, causal=True), *given, use_reentrant=False)
    demand_same(torch.autograd.grad(kept, given, do), expected[2:], "a checkpoint")
    with torch.autocast("cuda", dtype=BF16):
        under = attention(*(one.float() for one in given), causal=True)
    demand_same([under], expected, "autocast")
    plain = [one.detach() for one in given]
    mapped = torch.vmap(lambda *one: attention(*(x[None] for x in one), causal=True)[0])(*plain)
    demand_same([mapped], expected, "vmap")


def tensors() -> None:
    q, k, v = (one.detach() for one in inputs())
    expected = attention(q, k, v, causal=True)
    odd = torch.empty(q.numel() + 1, device="cuda", dtype=BF16)[1:].view_as(q).copy_(q)
    demand_same([attention(odd, k, v, causal=True)], [expected], "an odd address")
    alike = k[:, :1].expand(-1, 2, -1, -1)
    both_ways = (attention(q, one, v, causal=True) for one in (alike, alike.contiguous()))
    demand_same([next(both_ways)], [next(both_ways)], "heads that are expanded")
    turned = (one.transpose(1, 2).contiguous().transpose(1, 2) for one in (q, k, v))
    demand_same([attention(*turned, causal=True)], [expected], "rows in front of heads")
    many = [torch.randn(1, 70000, 3, 64, device="cuda", dtype=BF16) for _ in range(3)]
    some = slice(66000, 66010)
    part = attention(*(one[:, some] for one in many), causal=True)
    demand_same([attention(*many, causal=True)[:, some]], [part], "slices of heads")


def gradients_of_the_lse() -> None:
    given = inputs()
    o, lse = attention(*given, causal=True, return_lse=True)
    found = torch.autograd.grad(lse.sum() + 0 * o.sum(), given)
    q, k = (one.detach().double().requires_grad_() for one in given[:2])
    scores = q @ k.repeat_interleave(4, 1).transpose(2, 3) * 128**-0.5
    hidden = torch.ones(700, 700, device="cuda").triu(1).bool()
    sums = scores.masked_fill(hidden, -torch.inf).logsumexp(-1).sum()
    for one, other in zip(found, torch.autograd.grad(sums, (q, k))):
        assert (one - other).norm() < 6e-3 * other.norm(), "gradients of the LSE"


def caches() -> None:
    q, k, v = (one.detach() for one in inputs(3000))
    whole = attention(q, k, v, causal=True)
    for first, last in ((0, 1000), (2500, 2999), (2999, 3000)):
        chunk = attention(q[:, :, first:last], k[:, :, :last], v[:, :, :last], causal=True)
        demand_same([chunk], [whole[:, :, first:last]], f"rows {first} to {last} beside a cache")


def main() -> int:
    torch.manual_seed(0)
    for test in (graphs, packed_graphs, threads, programs, tensors, gradients_of_the_lse, caches):
        test()
        print(test.__name__, flush=True)
    certificate = audit.certificate()
    assert {one["is_forward"] for one in certificate["kernels"]} == {False, True}
    assert audit.check(certificate) == [], "the certificate of this process"
    print("ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
