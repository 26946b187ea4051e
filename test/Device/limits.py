"""What forward takes, backward takes: tensors at odd addresses, of odd strides, expanded, have the
bits of contiguous ones; more of a batch, or of heads, than one launch counts has the bits of its
slices; and what no kernel counts is refused before the forward pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from attention import poison_cache
from front_ends import demand_same
from group import Failed, Test, demand
from torch.nn.attention import SDPBackend, sdpa_kernel

import dash_attn
from dash_attn import ArgumentError, attention
from dash_attn.measure.bundle import BundledKernel
from dash_attn.measure.testing import OUTPUTS
from dash_attn.torch import operator

NAMES = ("o", "lse", *OUTPUTS)
Odd = Callable[[torch.Tensor], torch.Tensor]


def tests(kernels: list[BundledKernel], quick: bool) -> list[Test]:
    first = kernels[0]
    ways: tuple[Callable[[], Any], ...] = (
        copied,
        packed,
        dropped_in,
        of_part,
        batch,
        heads,
        refusals,
    )
    return [Test(f"limits {test.__name__}", first.name, test) for test in ways]


def tensors(
    batch: int = 2, heads: int = 4, kv_heads: int = 4, rows: int = 300, head_dim: int = 128
) -> dict[str, torch.Tensor]:
    generator = torch.Generator(device="cuda").manual_seed(3)
    return {
        name: torch.randn(
            batch, count, rows, head_dim, device="cuda", generator=generator, dtype=torch.bfloat16
        )
        for name, count in (("q", heads), ("k", kv_heads), ("v", kv_heads), ("do", heads))
    }


def off_by_one(x: torch.Tensor) -> torch.Tensor:
    """The same values at an address that is no multiple of 16."""
    found = torch.empty(x.numel() + 8, dtype=x.dtype, device=x.device)[1 : x.numel() + 1].view(
        x.shape
    )
    demand(found.data_ptr() % 16 != 0, "the address is even")
    return found.copy_(x)


def strided(x: torch.Tensor) -> torch.Tensor:
    return torch.stack([x, x], -1).flatten(-2)[..., ::2]


def turned(x: torch.Tensor) -> torch.Tensor:
    return x.transpose(-1, -2).contiguous().transpose(-1, -2)


def narrow(x: torch.Tensor) -> torch.Tensor:
    """Rows that begin at no multiple of 8 elements."""
    return F.pad(x, (0, 3))[..., : x.shape[-1]]


def expanded(x: torch.Tensor) -> torch.Tensor:
    return x[:, :1].expand(x.shape)


ODD: tuple[Odd, ...] = (off_by_one, strided, turned, narrow, expanded)


def computed(given: dict[str, torch.Tensor], **options: Any) -> dict[str, torch.Tensor]:
    leaves = [given[name].detach().requires_grad_() for name in ("q", "k", "v")]
    poison_cache()
    o, lse = attention(*leaves, return_lse=True, **options)
    return dict(
        zip(
            NAMES,
            (o.detach(), lse.detach(), *torch.autograd.grad(o, leaves, given["do"])),
            strict=True,
        )
    )


def demand_like_contiguous(given: dict[str, torch.Tensor], when: str, **options: Any) -> None:
    plain = {
        name: tensor.clone(memory_format=torch.contiguous_format) for name, tensor in given.items()
    }
    demand_same(computed(given, **options), computed(plain, **options), when)


def copied() -> dict[str, Any]:
    """q, k, v and the gradient of o, one after the other; by cuDNN's forward pass, by
    FlashAttention's, and with a sink that is odd, too."""
    count, sink = 0, torch.linspace(-1, 1, 8, device="cuda")
    for odd in ODD:
        for name in ("q", "k", "v", "do"):
            given = tensors()
            given[name] = odd(given[name])
            for options in (
                {"causal": True},
                {"window": (100, 0)},
                {"causal": True, "sink": sink[::2]},
            ):
                demand_like_contiguous(given, f"{odd.__name__} {name}, {list(options)}", **options)
                count += 1
    given = tensors()
    plain, strided_sink = (computed(given, sink=one) for one in (sink[::2].contiguous(), sink[::2]))
    demand_same(strided_sink, plain, "a strided sink")
    return {"compared": count}


def packed() -> dict[str, Any]:
    cu = torch.tensor([0, 100, 100, 300], dtype=torch.int32, device="cuda")
    for odd in ODD[:-1]:
        for name in ("q", "k", "v", "do"):
            given = {
                key: tensor[0].transpose(0, 1).contiguous() for key, tensor in tensors().items()
            }
            given[name] = odd(given[name])
            demand_like_contiguous(given, f"{odd.__name__} {name}", causal=True, cu_seqlens_q=cu)
    given = {key: tensor[0].transpose(0, 1).contiguous() for key, tensor in tensors().items()}
    demand_same(
        computed(given, cu_seqlens_q=cu.repeat_interleave(2)[::2]),
        computed(given, cu_seqlens_q=cu),
        "strided offsets",
    )
    # As the message says how more sequences than a launch counts are split.
    parts = [computed(given, cu_seqlens_q=cu[:2]), computed(given, cu_seqlens_q=cu[1:])]
    whole = computed(given, cu_seqlens_q=cu)
    demand(
        torch.equal(whole["o"], parts[0]["o"] + parts[1]["o"]), "the sum of two calls is another o"
    )
    demand(
        all(torch.equal(whole[name], parts[0][name] + parts[1][name]) for name in OUTPUTS),
        "the sum of two calls has other gradients",
    )
    return {}


def dropped_in() -> dict[str, Any]:
    """PyTorch's own attention: what it takes has o and gradients of ours, and nothing raises."""

    def by_sdpa(given: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        leaves = [given[name].detach().requires_grad_() for name in ("q", "k", "v")]
        with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
            o = F.scaled_dot_product_attention(*leaves, is_causal=True)
        return dict(
            zip(
                ("o", *OUTPUTS),
                (o.detach(), *torch.autograd.grad(o, leaves, given["do"])),
                strict=True,
            )
        )

    with dash_attn.enable() as enabled:
        before, left = sum(enabled.served.values()), dict(enabled.left)
        for odd, name in (
            (off_by_one, "do"),
            (strided, "do"),
            (turned, "do"),
            (narrow, "do"),
            (expanded, "do"),
            (expanded, "k"),
            (expanded, "v"),
        ):
            given = tensors()
            given[name] = odd(given[name])
            plain = {
                key: tensor.clone(memory_format=torch.contiguous_format)
                for key, tensor in given.items()
            }
            demand_same(by_sdpa(given), by_sdpa(plain), f"{odd.__name__} {name}")
        demand(
            sum(enabled.served.values()) - before == 28 and dict(enabled.left) == left,
            "something was left to PyTorch",
            left=str(enabled.left),
        )
    return {}


def of_part() -> dict[str, Any]:
    """The gradient of an o that was flattened behind something else begins at an odd address."""
    given, found = tensors(), []
    for is_odd in (True, False):
        leaves = [given[name].detach().requires_grad_() for name in ("q", "k", "v")]
        o = attention(*leaves, causal=True).flatten()
        bias = torch.ones(1, device="cuda", dtype=torch.bfloat16)
        loss = (torch.cat([bias, o]) if is_odd else o).float().square().sum()
        found.append(dict(zip(OUTPUTS, torch.autograd.grad(loss, leaves))))
    demand_same(found[0], found[1], "behind a bias")
    return {}


def demand_slices(
    given: dict[str, torch.Tensor], dim: int, at: tuple[int, int], **options: Any
) -> dict[str, Any]:
    """The first slice has so many of q, and of k. Attention as a whole, its operator, and each
    slice alone."""
    whole = computed(given, **options)
    ends = {"q": at[0], "do": at[0], "k": at[1], "v": at[1]}
    for first in (True, False):

        def part(tensor: torch.Tensor, end: int) -> torch.Tensor:
            return (
                tensor.narrow(dim, 0, end)
                if first
                else tensor.narrow(dim, end, tensor.shape[dim] - end)
            )

        alone = computed(
            {name: part(tensor, ends[name]).contiguous() for name, tensor in given.items()},
            **options,
        )
        expected = {name: part(whole[name], at[name in ("dk", "dv")]) for name in NAMES}
        demand_same(expected, alone, f"slice {2 - first} along {dim}")
    window = options.get("window", (-1, 0 if options.get("causal") else -1))
    found = operator.launch(
        given["do"],
        given["q"],
        given["k"],
        given["v"],
        whole["o"],
        whole["lse"],
        *window,
        given["q"].shape[3] ** -0.5,
    )
    demand_same(dict(zip(OUTPUTS, found)), whole, f"the operator, along {dim}")
    explained = dash_attn.explain(given["q"], given["k"], given["v"], **options)
    demand(explained.launches == 2, f"expected two launches, found {explained}")
    return {"explained": str(explained)}


def batch() -> dict[str, Any]:
    given = tensors(65537, 2, 1, 16, 64)
    return demand_slices(given, 0, (32769, 32769), causal=True) | demand_slices(
        given, 0, (32769, 32769), window=(8, 0)
    )


def heads() -> dict[str, Any]:
    return demand_slices(tensors(1, 65538, 32769, 16, 64), 1, (32770, 16385), causal=True)


def refusals() -> None:
    one = torch.empty(1, device="cuda", dtype=torch.bfloat16)
    rows = one.expand(1, 1, 2**21 + 1, 64)
    cu = torch.arange(80001, device="cuda", dtype=torch.int32)
    many = torch.empty(80000, 1, 64, device="cuda", dtype=torch.bfloat16)
    for given, options, said in (
        ((rows, rows, rows), {}, "q: expected at most 2097152 rows, found 2097153"),
        (
            (many, many, many),
            {"cu_seqlens_q": cu},
            "cu_seqlens: expected offsets of at most 65535 sequences",
        ),
    ):
        memory = torch.cuda.memory_allocated()
        try:
            attention(*given, **options)
        except ArgumentError as error:
            demand(str(error).startswith(said), f"expected '{said}…', found '{error}'")
            demand(torch.cuda.memory_allocated() == memory, "something was computed")
            demand(
                dash_attn.explain(*given, **options).refusal == str(error),
                "explain says something else",
            )
        else:
            raise Failed(f"expected a refusal: {said}")
