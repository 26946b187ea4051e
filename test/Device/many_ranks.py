"""Level world on GPUs: one hash of each result for any number of ranks, plan and exchange; sums of
leaves beside what their kernels round; folds beside the CPU's. `python3 many_ranks.py` runs all
tests without a bundle, where DASH_LIBRARY names libdash.so."""

from __future__ import annotations

import json
import os
import random
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from unittest import mock

import torch

HERE = Path(__file__).resolve().parent
NAMES = ("o", "lse", "dq", "dk", "dv")
KINDS = ("home", "rows", "heads-first", "random")
RANKS = (1, 2, 4, 8)
# Documents of cut 0 (leaves of some hundred rows), and of cut 1: of three leaves, whole, and two
# that are packed.
SMALL, LARGE = (1100, 200, 400, 64, 63, 30, 1), (50000, 9000, 700, 40)
REPEATS, SECONDS = 10, 150


def tests(kernels: list[Any], quick: bool) -> list[Any]:
    from group import Test

    name = kernels[0].name if kernels else ""
    shapes = (
        (128, 4, 2048, 6144, "bfloat16"),
        (64, 2, 512, 1024, "float16"),
        (128, 1, 512, 2048, "bfloat16"),
        (128, 3, 512, 1536, "bfloat16"),
        (96, 4, 2048, 6144, "bfloat16"),
        (72, 2, 512, 1024, "float16"),
        (8, 1, 512, 1536, "bfloat16"),
    )
    return [
        Test(f"many ranks {label}", name, run)
        for label, run in (
            *((f"sums {shape}", lambda shape=shape: sums_of_a_leaf(*shape)) for shape in shapes),
            ("folds", folds),
            ("accurate", accurate),
            ("small leaves, head dim 64", lambda: one_hash(SMALL, 0, 64, 2)),
            ("small leaves, head dim 96", lambda: one_hash(SMALL, 0, 96, 4)),
            ("small leaves, head dim 120", lambda: one_hash(SMALL, 0, 120, 1)),
            ("large leaves, head dim 40", lambda: one_hash(LARGE, 1, 40, 4)),
            ("small leaves", lambda: one_hash(SMALL, 0, 128, 4)),
            ("large leaves", lambda: one_hash(LARGE, 1, 128, 4)),
            ("small leaves, flash3", lambda: one_hash(SMALL, 0, 128, 4, "flash3")),
            ("large leaves, flash3", lambda: one_hash(LARGE, 1, 128, 4, "flash3")),
            ("accurate, flash3", lambda: accurate("flash3")),
            ("small leaves, head dim 64, dash", lambda: one_hash(SMALL, 0, 64, 2, "dash")),
            ("small leaves, dash", lambda: one_hash(SMALL, 0, 128, 4, "dash")),
            ("large leaves, dash", lambda: one_hash(LARGE, 1, 128, 4, "dash")),
            ("accurate, dash", lambda: accurate("dash")),
            ("under load", under_load),
            ("controls", controls),
            ("twice", computed_twice),
            ("two processes on one GPU", lambda: processes("gloo")),
            ("two GPUs", lambda: processes("nccl")),
            *((("times", times),) if not quick else ()),
        )
    ]


def inputs(
    documents: tuple[int, ...], head_dim: int, group: int, kv_heads: int = 2
) -> list[torch.Tensor]:
    """q, k, v and dO of all rows."""
    generator = torch.Generator(device="cuda").manual_seed(1)
    heads = (group * kv_heads, kv_heads, kv_heads, group * kv_heads)
    return [
        torch.randn(sum(documents), count, head_dim, device="cuda", generator=generator).bfloat16()
        for count in heads
    ]


def scattered(documents: tuple[int, ...], ranks: int, seed: int) -> list[tuple[int, ...]]:
    """Pieces of any size on any rank; some ranks may have none."""
    source, homes = random.Random(seed), []
    for document, rows in enumerate(documents):
        first = 0
        while first < rows:
            count = min(rows - first, source.randint(1, max(2, sum(documents) // 4)))
            homes.append((source.randrange(ranks), document, first, count))
            first += count
    source.shuffle(homes)
    return homes


def world_of(
    ranks: Any, documents: tuple[int, ...], tensors: list[torch.Tensor], cut: int, **options: Any
) -> Any:
    from dash_attn.distributed import World

    q, k = tensors[:2]
    return World(
        ranks,
        documents,
        heads=q.shape[1],
        kv_heads=k.shape[1],
        head_dim=q.shape[2],
        cut=cut,
        **{"device": "cuda"} | options,
    )


def local(world: Any, rank: int, tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    begins = torch.tensor([0, *world.problem.documents]).cumsum(0)
    places = [
        torch.arange(begins[document] + first, begins[document] + end)
        for document, first, end, _ in world.problem.local(rank)
    ]
    rows = torch.cat([torch.empty(0, dtype=torch.int64), *places]).cuda()
    return [tensor[rows].requires_grad_(i < 3) for i, tensor in enumerate(tensors)]


def hashes(world: Any, tensors: list[torch.Tensor]) -> list[int]:
    """Hashes of O, LSE, dQ, dK and dV, of all ranks that run here or elsewhere."""
    from dash_attn.distributed import attention

    ranks = list(world.exchange.ranks)
    q, k, v, do = (list(one) for one in zip(*(local(world, rank, tensors) for rank in ranks)))
    o, lse = attention(q, k, v, world=world, return_lse=True)
    gradients = torch.autograd.grad(o, [*q, *k, *v], do)
    n = len(ranks)
    return world.hashes(
        [one.detach() for one in o],
        [one.detach().T.contiguous() for one in lse],
        *(list(gradients[i * n : (i + 1) * n]) for i in range(3)),
    )


# ---- A leaf --------------------------------------------------------------------------------------


def sums_of_a_leaf(
    head_dim: int, group: int, q_rows: int, context: int, dtype: str
) -> dict[str, Any]:
    """What the workspace has, rounded, is dK and dV of the kernel, bit by bit; and beside float64.
    Twice, in other memory."""
    from group import demand

    from dash_attn.distributed import batches
    from dash_attn.distributed.tree import rounded
    from dash_attn.torch import foreign

    type_, scale = getattr(torch, dtype), head_dim**-0.5
    generator = torch.Generator(device="cuda").manual_seed(2)
    q, do = (
        torch.randn(1, group, q_rows, head_dim, device="cuda", generator=generator).to(type_)
        for _ in range(2)
    )
    k, v = (
        torch.randn(1, 1, context, head_dim, device="cuda", generator=generator).to(type_)
        for _ in range(2)
    )
    cu = [torch.tensor([0, rows], dtype=torch.int32, device="cuda") for rows in (q_rows, context)]
    o, lse = foreign.of_sequences(
        q[0].transpose(0, 1),
        k[0].transpose(0, 1),
        v[0].transpose(0, 1),
        *cu,
        q_rows,
        context,
        -1,
        0,
        scale,
    )
    delta = (o.transpose(0, 1).double() * do[0].double()).sum(-1).float()[None].contiguous()
    kernel, found = batches.kernel_of_leaf(head_dim, type_, group, q_rows, context), []
    for byte in (255, 0):
        poison = torch.full((1 << 28,), byte, dtype=torch.uint8, device="cuda")
        del poison
        out = {
            f"d{name}": torch.full_like(one, torch.nan)
            for name, one in (("q", q), ("k", k), ("v", v))
        }
        launch = kernel.bind(
            q=q,
            k=k,
            v=v,
            do=do,
            o=None,
            lse=lse[None].contiguous(),
            delta=delta,
            **out,
            scale=scale,
        )
        memory = launch.run_kept()
        of_leaf = batches.InFragments(
            memory,
            launch.plan.regions(),
            context,
            context,
            head_dim,
            kernel.manifest["program"]["tiles"]["q"],
        )
        sums = of_leaf.rows()
        left = torch.randn(2, context - 77, head_dim, device="cuda", generator=generator)
        both = of_leaf.rows(left)
        with mock.patch.object(tree, "in_one_pass", lambda: None):
            for name, one, other in (
                ("", sums, of_leaf.rows()),
                (" and a left sibling", both, of_leaf.rows(left)),
            ):
                demand(
                    torch.equal(one.view(torch.int32), other.contiguous().view(torch.int32)),
                    f"sums{name} have other bits in one pass",
                )
        for name, one in zip(("dk", "dv"), rounded(sums, scale, type_)):
            demand(
                torch.equal(one, out[name][0, 0]),
                f"{name}: rounded sums differ from the kernel's in"
                f" {int((one != out[name][0, 0]).sum())} elements",
            )
        found.append(sums)
    demand(
        torch.equal(*(one.view(torch.int32) for one in found)),
        "sums have other bits in other memory",
    )
    p = torch.where(
        torch.arange(context, device="cuda")
        <= torch.arange(q_rows, device="cuda")[:, None] + context - q_rows,
        (scale * q[0].double() @ k[0].double().mT - lse.double()[..., None]).exp(),
        0.0,
    )
    ds = p * (do[0].double() @ v[0].double().mT - delta[0].double()[..., None])
    errors = {}
    for name, one, exact in (
        ("dk", sums[0], (ds.mT @ q[0].double()).sum(0)),
        ("dv", sums[1], (p.mT @ do[0].double()).sum(0)),
        ("dq", out["dq"][0], scale * ds @ k[0].double()),
    ):
        errors[name] = float((one.double() - exact).norm() / exact.norm())
        demand(errors[name] < 0.01, f"{name}: {errors[name]} of its norm beside float64")
    return {"parts": kernel.manifest["program"]["parts"], "errors": errors}


def folds() -> dict[str, Any]:
    """The tree's addition and rounding have one set of bits on a CPU and on a GPU, with subnormal
    numbers, too."""
    from group import demand

    from dash_attn.distributed import tree
    from dash_attn.distributed.tree import fold, rounded

    words = torch.randint(
        -(2**31), 2**31, (2, 2, 100000, 8), generator=torch.Generator().manual_seed(1)
    ).int()
    words[..., ::3, :] &= ~0x7F000000
    words[1, :, 2::7] = (words[0, :, 2::7] ^ -(2**31)) + 1
    # No part promises a NaN's bits.
    left, right = words.view(torch.float32).nan_to_num(1.0, 2.0, -2.0)
    here, there = fold(left, right.clone()), fold(left.cuda(), right.cuda())
    with mock.patch.object(tree, "in_one_pass", lambda: None):
        by_operators = fold(left.cuda(), right.cuda())
    for name, one in (("one pass", there), ("PyTorch's operators", by_operators)):
        demand(
            torch.equal(here.view(torch.int32), one.cpu().view(torch.int32)),
            f"the addition differs by {name}",
        )
    for dtype in (torch.bfloat16, torch.float16):
        for one, other in zip(rounded(here, 0.088, dtype), rounded(there, 0.088, dtype)):
            demand(
                torch.equal(one.view(torch.int16), other.cpu().view(torch.int16)),
                f"rounding to {dtype} differs",
            )
    return {"elements": here.numel(), "has_kernel": tree.in_one_pass() is not None}


# ---- Worlds --------------------------------------------------------------------------------------


def skip_without(forward: str) -> None:
    from group import Skip

    from dash_attn.torch import flash3

    if forward == flash3.NAME and (message := flash3.refusal_of(torch.bfloat16, 128)):
        raise Skip(message)


def accurate(forward: str = "") -> dict[str, Any]:
    """Each document beside float64."""
    from group import demand

    skip_without(forward)

    from dash_attn import reference
    from dash_attn.distributed import attention

    tensors = inputs(SMALL, 128, 4)
    q, k, v, do = local(world := world_of(1, SMALL, tensors, 0, forward=forward), 0, tensors)
    o, lse = attention(q, k, v, world=world, return_lse=True)
    found = [o.detach(), lse.detach().T, *torch.autograd.grad(o, (q, k, v), do)]
    at, worst = 0, dict.fromkeys(NAMES, 0.0)
    for rows in SMALL:
        given = [one[at : at + rows].double().transpose(0, 1)[None] for one in tensors]
        options = {"scale": 128**-0.5, "mask": reference.Mask(right=0)}
        exact = reference.forward(*given[:3], **options)
        exact = *exact, *reference.backward(*given, *exact, **options).values()
        for name, one, other in zip(NAMES, found, exact, strict=True):
            other = other[0].transpose(0, 1)
            demand(bool(one.isfinite().all()), f"{name} has numbers that are not finite")
            if rows > 1:  # of one row gradients of q and k are nothing but rounding
                worst[name] = max(
                    worst[name], float((one[at : at + rows].double() - other).norm() / other.norm())
                )
        at += rows
    demand(max(worst.values()) < 0.01, f"beside float64: {worst}")
    return {"worst": worst, "certificate": world.certificate}


def one_hash(
    documents: tuple[int, ...], cut: int, head_dim: int, group: int, forward: str = ""
) -> dict[str, Any]:
    from group import demand

    skip_without(forward)
    tensors = inputs(documents, head_dim, group)
    expected, cases = (
        hashes(world_of(1, documents, tensors, cut, kind="home", forward=forward), tensors),
        0,
    )
    for ranks in RANKS:
        for number, kind in enumerate(KINDS):
            options = {
                "forward": forward,
                "kind": kind,
                "seed": ranks,
                "homes": scattered(documents, ranks, ranks + number) if number % 2 else None,
                "halves": number == 2,
                "ranks_per_node": max(1, ranks // 2) if number == 3 else ranks,
                "kept": ("none", 1 << 22, "inputs", 1 << 20)[number],
            }
            found = hashes(world_of(ranks, documents, tensors, cut, **options), tensors)
            differ = [name for name, one, other in zip(NAMES, found, expected) if one != other]
            demand(not differ, f"{ranks} ranks, {options}: other bits in {', '.join(differ)}")
            cases += 1
    return {"cases": cases, "hashes": dict(zip(NAMES, (f"{one:016x}" for one in expected)))}


def under_load() -> dict[str, Any]:
    """Beside matrix products on another stream."""
    from group import demand

    tensors, other = inputs(SMALL, 128, 4), torch.cuda.Stream()
    expected = hashes(world_of(1, SMALL, tensors, 0), tensors)
    a = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
    for number in range(REPEATS):
        with torch.cuda.stream(other):
            for _ in range(50 * (1 + number % 3)):
                torch.matmul(a, a)
        found = hashes(
            world_of(RANKS[number % 4], SMALL, tensors, 0, kind="random", seed=number), tensors
        )
        demand(found == expected, f"repeat {number} has other bits")
    torch.cuda.synchronize()
    return {"repeats": REPEATS}


def controls() -> dict[str, Any]:
    """What has to be seen: another cut, sums that lose bits where they travel, one bit of one
    leaf."""
    from group import demand

    from dash_attn.distributed import batches, passes

    tensors = inputs(SMALL, 128, 4)
    expected = hashes(world_of(1, SMALL, tensors, 0), tensors)

    def differing(ranks: int, cut: int = 0) -> list[str]:
        found = hashes(world_of(ranks, SMALL, tensors, cut, kind="random"), tensors)
        return [name for name, one, other in zip(NAMES, found, expected) if one != other]

    take, leaf, flipped = passes.Backward.take, batches.Batches._leaf, []

    def lossy(self: Any, phase: Any, receive: Any) -> None:
        take(self, phase, receive)
        if phase.name in ("sums", "gradients"):
            for parts in self.sums._parts.values():
                parts[:] = [part._replace(values=part.values.bfloat16().float()) for part in parts]

    def flip(self: Any, *given: Any) -> Any:
        found = leaf(self, *given)
        if not flipped:
            flipped.append(given)
            found[1].view(torch.int16)[0, 1, 2] ^= 1
        return found

    demand(differing(4) == [], "bits differ without a reason")
    demand("dk" in differing(1, cut=1), "another cut has the same bits")
    with mock.patch.object(passes.Backward, "take", lossy):
        demand(
            differing(1) == [] and differing(4) == ["dk", "dv"],
            f"rounded sums are not seen: {differing(4)}",
        )
    with mock.patch.object(batches.Batches, "_leaf", flip):
        demand(differing(4) == ["dq"], "a flipped bit is not seen")
    return {"controls": 3}


def computed_twice() -> dict[str, Any]:
    """Leaves that another rank computes again have the same bits; one that flips a bit is named."""
    from group import demand

    tensors = inputs(SMALL, 128, 4)
    world = world_of(
        4, SMALL, tensors, 0, kind="random", twice=0.5, on_corruption=lambda found: None
    )
    for number in range(3):
        hashes(world, tensors)
        demand((found := world.checked()) == [], f"step {number}: {found}")
    kernel, compared = world.kernel, 0

    class Faulty:
        """That of rank 2."""

        forward = kernel.forward

        def backward(self, plan: Any, runs: Any, rows: Any) -> Any:
            for leaf, dq, sums, whole in kernel.backward(plan, runs, rows):
                if runs[0].rank == 2:
                    dq.view(torch.int16)[0, 0, 1] ^= 1
                yield leaf, dq, sums, whole

    world.kernel = Faulty()
    hashes(world, tensors)
    found = world.checked()
    compared += len(found)
    demand(
        bool(found) and {one.wrong for one in found} == {(2,)},
        f"a flipped bit of rank 2 is not found, or another is named: {found}",
    )
    return {"found": compared}


def times() -> dict[str, Any]:
    """Milliseconds of a forward and of a backward of one document, on one GPU: level run, and level
    world. For reading; nothing is held to them."""
    from dash_attn import attention as plain
    from dash_attn.distributed import attention

    found = {}
    for rows in (32768, 65536, 131072):
        tensors = inputs((rows,), 128, 4)
        q, k, v, do = local(world := world_of(1, (rows,), tensors, 1), 0, tensors)
        batch = [one[None].transpose(1, 2).detach().requires_grad_() for one in (q, k, v)]
        for name, function, given, upstream in (
            ("run", lambda *one: plain(*one, causal=True), batch, do[None].transpose(1, 2)),
            ("world", lambda *one: attention(*one, world=world), (q, k, v), do),
        ):  # noqa: B023
            taken = []
            for _ in range(5):
                marks = [torch.cuda.Event(enable_timing=True) for _ in range(3)]
                marks[0].record()
                o = function(*given)
                marks[1].record()
                torch.autograd.grad(o, given, upstream)
                marks[2].record()
                torch.cuda.synchronize()
                taken.append([marks[i].elapsed_time(marks[i + 1]) for i in range(2)])
            found[f"{rows} {name}"] = [round(min(one), 2) for one in zip(*taken)]
    return {"forward and backward, ms": found}


# ---- Processes -----------------------------------------------------------------------------------


def processes(backend: str) -> dict[str, Any]:
    """Two processes have the hashes of virtual ranks: on one GPU by gloo through pinned memory, on
    two by NCCL."""
    from group import Skip, demand

    if backend == "nccl" and torch.cuda.device_count() < 2:
        raise Skip(f"2 GPUs are needed, found {torch.cuda.device_count()}")
    tensors = inputs(SMALL, 128, 4)
    expected = hashes(world_of(1, SMALL, tensors, 0), tensors)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    begun = time.monotonic()
    ranks = [
        subprocess.Popen(
            [sys.executable, str(HERE / "many_ranks.py"), backend, str(rank)],
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
        for rank in range(2)
    ]
    try:
        said = [rank.communicate(timeout=SECONDS - (time.monotonic() - begun)) for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()
    for number, (rank, (out, wrong)) in enumerate(zip(ranks, said)):
        demand(rank.returncode == 0, f"rank {number} ended with {rank.returncode}: {wrong[-1500:]}")
        for case, found in json.loads(out.splitlines()[-1]).items():
            demand(found == expected, f"rank {number}, {case}: other bits")
    return {"seconds": round(time.monotonic() - begun)}


def of_process(backend: str, rank: int) -> dict[str, list[int]]:
    import torch.distributed as dist

    torch.cuda.set_device(rank if backend == "nccl" else 0)
    options = {"device_id": torch.device("cuda", rank)} if backend == "nccl" else {}
    dist.init_process_group(backend, rank=rank, world_size=2, **options)
    tensors, found = inputs(SMALL, 128, 4), {}
    for kind in KINDS:
        for homes in (None, scattered(SMALL, 2, 3)):
            for halves in (False, True):
                world = world_of(
                    dist.group.WORLD,
                    SMALL,
                    tensors,
                    0,
                    kind=kind,
                    homes=homes,
                    halves=halves,
                    kept=("none", "inputs")[halves],
                    ranks_per_node=1 if homes else 2,
                )
                found[f"{kind}, {'packed' if homes is None else 'scattered'}, halves {halves}"] = (
                    hashes(world, tensors)
                )
    in_turns(rank, tensors)
    dist.barrier()
    return found


def in_turns(rank: int, tensors: list[torch.Tensor]) -> None:
    """Two micro-batches have the bits that each has by itself."""
    import torch.distributed as dist

    from dash_attn.distributed import attention, pingpong

    class Layer:
        """Linear parts are left out: their bits follow from a rank's rows."""

        def before(self, x: Any) -> Any:
            return x

        def after(self, x: Any, o: Any) -> Any:
            return (o, *x[1:])

    worlds = [
        world_of(dist.group.WORLD, SMALL, tensors, 0, kind=kind)
        for kind in ("random", "heads-first")
    ]
    found = []
    for is_in_turns in (False, True):
        batches_ = [tuple(one for one in local(world, rank, tensors)[:3]) for world in worlds]
        if is_in_turns:
            outputs = [x[0] for x in pingpong([Layer()] * 3, *batches_, worlds=tuple(worlds))]
        else:
            outputs = []
            for world, (q, k, v) in zip(worlds, batches_):
                for _ in range(3):
                    q = attention(q, k, v, world=world)
                outputs.append(q)
        sum(o.float().square().sum() for o in outputs).backward()
        found.append([*(o.detach() for o in outputs), *(one.grad for x in batches_ for one in x)])
    assert all(map(torch.equal, *found)), "two micro-batches in turns have other bits"


if __name__ == "__main__":
    sys.path[:0] = [str(HERE), str(HERE.parents[1] / "python")]
    if len(sys.argv) == 3:
        print(json.dumps(of_process(sys.argv[1], int(sys.argv[2]))), flush=True)
        os._exit(0)
    from group import run_tests

    run_tests(tests([], "--quick" in sys.argv), 0, set())
