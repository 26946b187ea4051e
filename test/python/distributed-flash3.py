# RUN: %torch_python %s
# REQUIRES: torch, plain-libdash
"""FlashAttention-3's forward in a world: which package serves, how its operator is called, and what
is refused. An operator with its schema stands in, in float64 on the CPU; test/Device/many_ranks.py
has the package itself on a GPU."""

from __future__ import annotations

import sys
import types
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any
from unittest import mock

sys.path.insert(0, str(Path(__file__).parent / "lib"))

import torch  # noqa: E402
from fixtures import refused  # noqa: E402
from worlds import DOCUMENTS, made  # noqa: E402

from dash_attn import ArgumentError  # noqa: E402
from dash_attn.distributed import batches  # noqa: E402
from dash_attn.torch import flash3  # noqa: E402

torch.set_num_threads(1)
CALLED: list[dict[str, Any]] = []
# As FlashAttention states it at commit 0251105, without what no call here gives.
SCHEMA = (
    "fwd(Tensor q, Tensor k, Tensor v, Tensor? cu_seqlens_q=None, Tensor? cu_seqlens_k=None, int?"
    " max_seqlen_q=None, int? max_seqlen_k=None, float? softmax_scale=None, bool is_causal=False,"
    " int num_splits=0, bool? pack_gqa=None) -> (Tensor, Tensor, Tensor, Tensor)"
)


def fwd(
    q: Any,
    k: Any,
    v: Any,
    cu_seqlens_q: Any,
    cu_seqlens_k: Any,
    max_seqlen_q: int,
    max_seqlen_k: int,
    softmax_scale: float,
    is_causal: bool,
    num_splits: int,
    pack_gqa: bool | None,
) -> Any:
    CALLED.append(
        {
            "causal": is_causal,
            "splits": num_splits,
            "pack_gqa": pack_gqa,
            "rows": (max_seqlen_q, max_seqlen_k),
        }
    )
    o, lse = torch.empty_like(q), torch.empty(q.shape[1], q.shape[0])
    for at, (of_q, of_k) in enumerate(
        zip(cu_seqlens_q.diff().tolist(), cu_seqlens_k.diff().tolist())
    ):
        rows, keys = (
            slice(int(cu_seqlens_q[at]), None),
            slice(int(cu_seqlens_k[at]), int(cu_seqlens_k[at]) + of_k),
        )
        rows = slice(rows.start, rows.start + of_q)
        seen = torch.arange(of_k) <= (torch.arange(of_q) + of_k - of_q)[:, None]
        scores = (
            softmax_scale * q[rows].transpose(0, 1).double() @ k[keys].transpose(0, 1).double().mT
        ).masked_fill(~seen, -torch.inf)
        lse[:, rows] = scores.logsumexp(-1).float()
        o[rows] = (
            (scores.softmax(-1) @ v[keys].transpose(0, 1).double()).transpose(0, 1).to(q.dtype)
        )
    return o, lse, torch.empty(0), torch.empty(0)


def installed_as(name: str) -> Any:
    """That package, and no other, is there."""
    stands_in = types.ModuleType("stands_in")
    packages = tuple(
        flash3.Package(
            one.distribution,
            "stands_in" if one.distribution == name else "no_such_module",
            one.space,
            one.dtypes,
        )
        for one in flash3.PACKAGES
    )
    flash3.installed.cache_clear()
    return (
        mock.patch.multiple(flash3, PACKAGES=packages),
        mock.patch.dict(sys.modules, {"stands_in": stands_in}),
        mock.patch.object(
            flash3.importlib.metadata, "version", lambda one: "1.2" if one == name else refuse(one)
        ),
    )


def refuse(name: str) -> str:
    raise PackageNotFoundError(name)


def library_of(space: str) -> torch.library.Library:
    library = torch.library.Library(space, "DEF")
    library.define(SCHEMA)
    library.impl("fwd", fwd, "CPU")
    return library


def of_package(name: str, space: str, dtypes: tuple[torch.dtype, ...]) -> None:
    library = library_of(space)  # noqa: F841 (is forgotten with the last name that it has)
    patches = installed_as(name)
    with patches[0], patches[1], patches[2]:
        for dtype in (torch.bfloat16, torch.float16):
            message = flash3.refusal_of(dtype, 128)
            assert (message is None) == (dtype in dtypes), (name, dtype, message)
            assert (
                message is None
                or message
                == f"forward: expected torch.bfloat16 for 'flash3' of {name}, found torch.float16;"
                " leave `forward` out"
            ), message
        assert (
            flash3.refusal_of(torch.bfloat16, 264)
            == "forward: expected a head dim that is a multiple of 8 up to 256 for 'flash3',"
            " found 264"
        )
        with mock.patch.object(batches, "refusal_of_device", lambda _: None):
            kernel = batches.Batches(0.1, 2, 64, torch.bfloat16, torch.device("cpu"), "flash3")
            other = batches.Batches(0.1, 2, 64, torch.bfloat16, torch.device("cpu"), "flash2")
        of_forward, of_kernels = kernel.certificates()
        assert of_forward == f"{space}::fwd, packed, one split, {name} 1.2", of_forward
        assert other.certificates()[0] != of_forward and other.certificates()[1] == of_kernels
        forward_of_two(kernel)


def forward_of_two(kernel: batches.Batches) -> None:
    """Two runs of one call, beside each row alone."""
    plan = made(1, (320, 100)).plan
    generator = torch.Generator().manual_seed(1)
    rows = {
        (tensor, document, head): (
            torch.randn(
                1, 2 if tensor == batches.Q else 1, count, 64, generator=generator
            ).bfloat16()
        )
        for tensor in (batches.Q, batches.K, batches.V)
        for document, count in enumerate((320, 100))
        for head in range(2)
    }

    class Source:
        def read(
            self, tensor: Any, document: int, head: int, first: int, end: int, out: torch.Tensor
        ) -> None:
            out[:] = rows[tensor, document, head][:, :, first:end]

    CALLED.clear()
    found = list(kernel.forward(plan, plan.runs(), Source()))
    assert CALLED == [{"causal": True, "splits": 1, "pack_gqa": False, "rows": (320, 320)}], CALLED
    assert sum(o.shape[1] for _, o, _ in found) == 2 * (320 + 100)
    for run, o, lse in found:
        q, k, v = (
            rows[tensor, run.document, run.head][0].double()
            for tensor in (batches.Q, batches.K, batches.V)
        )
        first, end = (
            plan.leaves.of(run.document)[run.first_leaf][0],
            plan.leaves.of(run.document)[run.end_leaf - 1][1],
        )
        scores = (0.1 * q[:, first:end] @ k[:, :end].mT).masked_fill(
            torch.arange(end) > torch.arange(first, end)[:, None], -torch.inf
        )
        assert torch.allclose(o.double(), scores.softmax(-1) @ v[:, :end], atol=0.02), run
        assert torch.allclose(lse.double(), scores.logsumexp(-1), atol=1e-4), run


def refusals() -> None:
    patches = installed_as("none")
    with patches[0], patches[1], patches[2]:
        message = flash3.refusal_of(torch.bfloat16, 128)
        assert (
            message
            == "forward: 'flash3' needs FlashAttention-3, and found none that loads; install"
            " fa3-fwd or flash_attn_3, or leave `forward` out"
        ), message
        with mock.patch.object(batches, "refusal_of_device", lambda _: None):
            assert (
                refused(
                    lambda: batches.Batches(
                        0.1, 2, 64, torch.bfloat16, torch.device("cpu"), "flash3"
                    ),
                    ArgumentError,
                )
                == message
            )
    flash3.installed.cache_clear()
    for options, expected in (
        ({"forward": "flash4"}, "forward: expected one of dash, flash2, flash3, found 'flash4'"),
        (
            {"forward": "flash3"},
            "forward: expected none for the kernel 'reference', which has its own, found 'flash3'",
        ),
    ):
        found = refused(lambda: made(2, DOCUMENTS, kernel="reference", **options), ArgumentError)  # noqa: B023
        assert found.startswith(expected), found


refusals()
of_package("fa3-fwd", "fa3_fwd", (torch.bfloat16,))
of_package("flash_attn_3", "flash_attn_3", (torch.bfloat16, torch.float16))
