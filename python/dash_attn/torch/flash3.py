"""FlashAttention-3's forward pass of packed sequences, where a package of it is installed.

Two packages have the same operator: `flash_attn_3`, the whole project, and `fa3-fwd` on PyPI, its
forward for bfloat16. With one split and heads that are not packed, tiles follow from the head dim
and the mask alone, so a row's bits follow from its own query, keys and values.
"""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
from dataclasses import dataclass
from typing import Any

import torch

NAME = "flash3"
HEAD_DIMS = range(8, 257, 8)


@dataclass(frozen=True)
class Package:
    """distribution: its name on PyPI; module: what registers the operator, in PyTorch's namespace
    `space`."""

    distribution: str
    module: str
    space: str
    dtypes: tuple[torch.dtype, ...]


PACKAGES = (
    Package("flash_attn_3", "flash_attn_3._C", "flash_attn_3", (torch.bfloat16, torch.float16)),
    Package("fa3-fwd", "fa3_fwd._C", "fa3_fwd", (torch.bfloat16,)),
)


@functools.lru_cache(maxsize=1)
def installed() -> Package | None:
    """The package that serves calls; None without one. One that does not load is none: it is built
    for another PyTorch or CUDA."""
    for package in PACKAGES:
        try:
            importlib.import_module(package.module)
        except (ImportError, OSError):
            continue
        return package
    return None


def refusal_of(dtype: torch.dtype, head_dim: int) -> str | None:
    """Why it does not serve tensors of this type; None if it does."""
    package = installed()
    if package is None:
        return (
            f"forward: '{NAME}' needs FlashAttention-3, and found none that loads; install fa3-fwd"
            " or flash_attn_3, or leave `forward` out"
        )
    if dtype not in package.dtypes:
        return (
            f"forward: expected {' or '.join(map(str, package.dtypes))} for '{NAME}' of"
            f" {package.distribution}, found {dtype}; leave `forward` out"
        )
    if head_dim not in HEAD_DIMS:
        return (
            f"forward: expected a head dim that is a multiple of 8 up to {HEAD_DIMS[-1]} for"
            f" '{NAME}', found {head_dim}"
        )
    return None


def forward(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    cu_q: torch.Tensor,
    cu_k: torch.Tensor,
    max_q: int,
    max_k: int,
    is_causal: bool,
    scale: float,
) -> tuple[torch.Tensor, torch.Tensor]:
    """o, [rows, heads, head_dim], and the LSE, [heads, rows] of float32, of packed sequences, each
    aligned at the bottom right. Every row is in a sequence. The caller has asked `refusal_of`."""
    package = installed()
    assert package is not None, "refusal_of() tells"
    operator: Any = getattr(torch.ops, package.space).fwd.default
    o, lse, *_ = operator(
        q,
        k,
        v,
        cu_seqlens_q=cu_q,
        cu_seqlens_k=cu_k,
        max_seqlen_q=max_q,
        max_seqlen_k=max_k,
        softmax_scale=scale,
        is_causal=is_causal,
        num_splits=1,
        pack_gqa=False,
    )
    return o, lse


def operator_of_forward() -> str:
    """By what `forward` computes, for people and certificates."""
    package = installed()
    assert package is not None, "refusal_of() tells"
    return (
        f"{package.space}::fwd, packed, one split, {package.distribution}"
        f" {importlib.metadata.version(package.distribution)}"
    )
