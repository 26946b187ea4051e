"""dash_attn.attention of packed sequences, and the drop-in's: each sequence beside float64, rows
that none has, the same bits however PyTorch runs them, graphs that are replayed with other lengths,
no wait of the host, costs."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import torch
from accuracy import NOISE
from attention import asked, demand_repeats, poison_cache, sides
from call_times import device_time
from front_ends import MOST_LSE, demand_same
from group import Failed, Test, demand
from run_group import ONE_FOR_ALL
from sequences import random_list

import dash_attn
from dash_attn import ArgumentError, attention, reference
from dash_attn.measure.bundle import BundledKernel
from dash_attn.measure.testing import OUTPUTS
from dash_attn.reference import relative_error
from dash_attn.torch import aten_backward, aten_forward

Lengths = list[tuple[int, int]]
NAMES = ("o", "lse", *OUTPUTS)
ROUNDED = 1.5  # times FlashAttention's error
# As many rows as a graph has room for; the last have no sequence.
ROOM, LISTS = (
    2100,
    (
        [(2000, 2000)],
        [(1000, 1000)] * 2,
        [(1, 1), (1999, 1999)],
        [(700, 700), (0, 0), (1300, 1300)],
        [(640, 640)] * 3,
    ),
)
DOCUMENTS = {
    "8 documents of 2k": [2048] * 8,
    "23 documents of 16 to 2048": [
        2048,
        16,
        700,
        1300,
        90,
        1024,
        512,
        333,
        64,
        1800,
        950,
        410,
        128,
        1111,
        256,
        777,
        600,
        1500,
        30,
        845,
        900,
        470,
        520,
    ],
}


def tests(kernels: list[BundledKernel], quick: bool) -> list[Test]:
    first = kernels[0]
    which = f"packed d{first.head_dim}-{first.mask.name}"
    ways: tuple[Callable[..., Any], ...] = (accurate, repeats, drop_in)
    if first.group == ONE_FOR_ALL:
        ways += (from_graph, compiled, waits_for_nothing, refusals) + (() if quick else (times,))
    return [
        Test(f"{which} {test.__name__}", first.name, lambda test=test: test(first)) for test in ways
    ]


def offsets(lengths: Lengths, side: int, gap: int = 0) -> torch.Tensor:
    return torch.tensor([gap, *(pair[side] for pair in lengths)], device="cuda").cumsum(0).int()


def inputs(
    bundled: BundledKernel,
    lengths: Lengths,
    heads: int,
    kv_heads: int,
    *,
    gap: int = 0,
    rows: int = 0,
    seed: int = 0,
    dtype: torch.dtype = torch.bfloat16,
) -> dict[str, torch.Tensor]:
    """rows: of all tensors, if there is more room than sequences take."""
    generator, found = torch.Generator(device="cuda").manual_seed(seed), {}
    for name, side, count in (
        ("q", 0, heads),
        ("k", 1, kv_heads),
        ("v", 1, kv_heads),
        ("do", 0, heads),
    ):
        total = rows or sum(pair[side] for pair in lengths) + 2 * gap
        found[name] = torch.randn(
            total, count, bundled.head_dim, device="cuda", generator=generator
        ).to(dtype)
        if name != "do":
            found[name].requires_grad_()
    return found | {"cu_q": offsets(lengths, 0, gap), "cu_k": offsets(lengths, 1, gap)}


def computed(
    given: dict[str, torch.Tensor], options: dict[str, Any], function: Any = attention
) -> dict[str, torch.Tensor]:
    leaves = [given[name] for name in ("q", "k", "v")]
    o, lse = function(
        *leaves, cu_seqlens_q=given["cu_q"], cu_seqlens_k=given["cu_k"], return_lse=True, **options
    )
    return dict(
        zip(
            NAMES,
            (o.detach(), lse.detach(), *torch.autograd.grad(o, leaves, given["do"])),
            strict=True,
        )
    )


def by_flash(given: dict[str, torch.Tensor], bundled: BundledKernel) -> dict[str, torch.Tensor]:
    """FlashAttention's operator, which the drop-in replaces, both ways."""
    leaves, (left, right) = [given[name] for name in ("q", "k", "v")], sides(bundled)
    o, lse, *_ = torch.ops.aten._flash_attention_forward(
        *leaves,
        given["cu_q"],
        given["cu_k"],
        leaves[0].shape[0],
        leaves[1].shape[0],
        0.0,
        False,
        False,
        scale=bundled.head_dim**-0.5,
        window_size_left=left,
        window_size_right=right,
    )
    return dict(
        zip(
            NAMES,
            (o.detach(), lse.detach(), *torch.autograd.grad(o, leaves, given["do"])),
            strict=True,
        )
    )


def accurate(bundled: BundledKernel) -> dict[str, Any]:
    """Each sequence beside float64, in memory full of NaN; rows that none has are 0, and infinite
    in the LSE."""
    worst, options = {"o": 0.0, **dict.fromkeys(OUTPUTS, 0.0)}, asked(bundled)
    for seed in range(8):
        rng = random.Random(seed)
        lengths, gap = random_list(rng, 900), rng.choice([0, 3, 70])
        heads, kv_heads = rng.choice([(2, 2), (4, 2), (8, 1)])
        given = inputs(
            bundled,
            lengths,
            heads,
            kv_heads,
            gap=gap,
            seed=seed,
            dtype=(torch.bfloat16, torch.float16)[seed % 2],
        )
        theirs = by_flash(given, bundled)
        poison_cache()
        found = computed(given, options)
        when = f"seed {seed}, {lengths}, {heads} heads over {kv_heads}"
        ends = [int(given[name][-1]) for name in ("cu_q", "cu_k")]
        for name in ("o", *OUTPUTS):
            whole, end = found[name], ends[name in ("dk", "dv")]
            demand(
                bool(whole.isfinite().all())
                and not bool(whole[:gap].any())
                and not bool(whole[end:].any()),
                f"{when}: rows of {name}",
            )
        demand(
            bool(found["lse"][:, :gap].isinf().all())
            and bool(found["lse"][:, ends[0] :].isinf().all()),
            f"{when}: rows of lse",
        )
        for index, pair in enumerate(lengths[:6]):
            if min(pair) == 0:
                continue
            at = [
                slice(int(given[name][index]), int(given[name][index + 1]))
                for name in ("cu_q", "cu_k")
            ]
            q, k, v, do, o = (
                x[at[side]].transpose(0, 1)[None].detach()
                for x, side in (
                    (given["q"], 0),
                    (given["k"], 1),
                    (given["v"], 1),
                    (given["do"], 0),
                    (found["o"], 0),
                )
            )
            mask, scale = bundled.mask, bundled.head_dim**-0.5
            exact, lse = reference.forward(q, k, v, scale=scale, mask=mask)
            of_lse = found["lse"][None, :, at[0]]
            seen = lse.isfinite()
            demand(
                bool((of_lse.isfinite() == seen).all())
                and float((of_lse - lse)[seen].abs().max() if seen.any() else 0) < MOST_LSE,
                f"{when}: lse of sequence {index}",
            )
            gradients = reference.backward(
                q, k, v, do, o, torch.where(seen, of_lse, torch.inf), scale=scale, mask=mask
            )
            for name, right in (("o", exact), *gradients.items()):
                rows = at[name in ("dk", "dv")]
                if not right.any():  # of a row that sees one column, nothing depends on q and k
                    demand(
                        float(found[name][rows].abs().max()) < 0.05,
                        f"{when}: {name} of sequence {index} is not near 0",
                    )
                    continue
                ours, flash = (
                    relative_error(x[name][rows].transpose(0, 1)[None], right, right)
                    for x in (found, theirs)
                )
                worst[name] = max(worst[name], ours)
                demand(
                    ours <= max(ROUNDED * flash, NOISE),
                    f"{when}: {name} of sequence {index}: {ours}, FlashAttention's {flash}",
                )
    return {"worst": worst}


def repeats(bundled: BundledKernel) -> dict[str, Any]:
    given = inputs(bundled, [(700, 700), (0, 3), (64, 640), (1500, 1500), (1, 1)], 8, 4, gap=5)
    return demand_repeats(lambda: computed(given, asked(bundled)))


def drop_in(bundled: BundledKernel) -> dict[str, Any]:
    """The operator's o, LSE and gradients are those of attention(); with forward="torch" o and the
    LSE stay PyTorch's."""
    given = inputs(bundled, [(700, 700), (64, 64), (1236, 1236)], 8, 4)
    before, ours = by_flash(given, bundled), computed(given, asked(bundled))
    both = {aten_forward.FLASH: 11, aten_backward.FLASH: 11}
    with dash_attn.enable() as enabled:
        counts = enabled.served.copy()
        for number in range(11):
            poison_cache()
            demand_same(by_flash(given, bundled), ours, f"run {number}, beside attention()")
        demand(
            dict(enabled.served - counts) == both,
            "expected 11 calls to be served, both ways",
            served=dict(enabled.served),
        )
    after = by_flash(given, bundled)
    demand_same({name: after[name] for name in ("o", "lse")}, before, "it goes on after its end")
    with dash_attn.enable(forward="torch"):
        first = by_flash(given, bundled)
        demand_same(by_flash(given, bundled), first, "forward='torch', twice")
        demand_same({name: first[name] for name in ("o", "lse")}, before, "forward='torch'")
    demand(enabled.served[aten_forward.FLASH] == counts[aten_forward.FLASH] + 11, "counts")
    return {"served": both}


def packs(bundled: BundledKernel) -> list[dict[str, torch.Tensor]]:
    most = max(map(len, LISTS))
    return [
        inputs(bundled, one + [(0, 0)] * (most - len(one)), 4, 2, rows=ROOM, seed=seed)
        for seed, one in enumerate(LISTS)
    ]


def from_graph(bundled: BundledKernel) -> dict[str, Any]:
    """Forward and backward, captured once, replayed with other numbers and lengths of sequences."""
    lists = packs(bundled)
    expected = [computed(one, asked(bundled)) for one in lists]
    place = {
        name: tensor.detach().clone().requires_grad_(tensor.requires_grad)
        for name, tensor in lists[0].items()
    }
    stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    computed(place, asked(bundled))
    torch.cuda.synchronize()
    with torch.cuda.graph(graph, stream=stream):
        found = computed(place, asked(bundled))
    for number, one in enumerate(lists * 2):
        with torch.no_grad():
            for name, tensor in one.items():
                place[name].copy_(tensor)
        poison_cache()
        graph.replay()
        torch.cuda.synchronize()
        demand_same(found, expected[number % len(lists)], f"replay {number}")
    return {"replays": 2 * len(lists)}


def compiled(bundled: BundledKernel) -> dict[str, Any]:
    lists, modes = (
        packs(bundled),
        {
            "fullgraph": {},
            "dynamic": {"dynamic": True},
            "reduce-overhead": {"mode": "reduce-overhead"},
        },
    )
    for name, options in modes.items():
        torch._dynamo.reset()
        function = torch.compile(attention, fullgraph=True, **options)
        for number, one in enumerate(lists):
            torch.compiler.cudagraph_mark_step_begin()
            poison_cache()
            found = {
                key: tensor.clone()
                for key, tensor in computed(one, asked(bundled), function).items()
            }
            demand_same(found, computed(one, asked(bundled)), f"{name}, list {number}")
        if name == "dynamic":
            other = inputs(bundled, [(300, 300), (129, 129)], 4, 2)
            demand_same(
                computed(other, asked(bundled), function),
                computed(other, asked(bundled)),
                "another shape",
            )
    torch._dynamo.reset()
    return {"modes": list(modes)}


def waits_for_nothing(bundled: BundledKernel) -> None:
    given = packs(bundled)[0]
    computed(given, asked(bundled))
    torch.cuda.set_sync_debug_mode("error")
    try:
        computed(given, asked(bundled))
    finally:
        torch.cuda.set_sync_debug_mode("default")


def refusals(bundled: BundledKernel) -> dict[str, Any]:
    """Before anything is launched; of numbers only explain knows."""
    given = packs(bundled)[0]
    leaves, cu = [given[name] for name in ("q", "k", "v")], given["cu_q"]
    found = []
    for options, part in (
        ({"cu_seqlens_q": cu.long()}, "expected int32"),
        ({"cu_seqlens_q": cu.cpu()}, "found one on 'cpu'"),
        ({"cu_seqlens_q": cu, "max_seqlen_q": 0}, "expected a whole number of at least 1"),
        ({"max_seqlen_q": 5}, "expected offsets of sequences in q"),
    ):
        try:
            attention(*leaves, **options)
            raise Failed(f"expected an ArgumentError with '{part}', found none")
        except ArgumentError as error:
            demand(part in str(error), f"expected '{part}' in the message: {error}")
            found.append(str(error))
    reason = dash_attn.explain(*leaves, cu_seqlens_q=cu, max_seqlen_q=1000).refusal
    demand("the longest is 2000" in reason, f"explain says: {reason}")
    explained = dash_attn.explain(*leaves, cu_seqlens_q=cu, **asked(bundled))
    demand(explained, f"explain says: {explained}")
    return {"messages": [*found, reason], "explained": str(explained)}


def times(bundled: BundledKernel) -> dict[str, Any]:
    """Milliseconds of both ways, 32 heads over 8, beside FlashAttention's own backward passes."""
    record: dict[str, Any] = {}
    for name, documents in DOCUMENTS.items():
        given = inputs(bundled, [(rows, rows) for rows in documents], 32, 8)
        bounds = {"max_seqlen_q": max(documents), "max_seqlen_k": max(documents)}

        def flash(strict: bool) -> None:
            torch.use_deterministic_algorithms(strict)
            try:
                by_flash(given, bundled)
            finally:
                torch.use_deterministic_algorithms(False)

        calls = {
            "attention": lambda: computed(given, asked(bundled) | bounds),
            "FlashAttention": lambda: flash(False),
            "FlashAttention, strict": lambda: flash(True),
        }
        record[name] = device_time(calls) | {"tokens": sum(documents)}
    return {"milliseconds": record}
