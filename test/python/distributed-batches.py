# RUN: %torch_python %s
# REQUIRES: torch, plain-libdash
"""What surrounds kernels in a world: rows that fill leaves up, lists, sums in fragment order,
workspaces that stay. Kernels and FlashAttention themselves are stood in for, in float64 on the CPU;
test/Device/many_ranks.py has them on a GPU."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

sys.path.insert(0, str(Path(__file__).parent / "lib"))

os.environ["TRITON_INTERPRET"] = "1"  # its kernels run on the CPU, too

import torch  # noqa: E402
from fixtures import refused  # noqa: E402
from worlds import DOCUMENTS, NAMES, found_of, hashes, made, scattered, whole  # noqa: E402

from dash_attn import ArgumentError  # noqa: E402
from dash_attn.distributed import batches, fold_kernel, kernels, tree  # noqa: E402
from dash_attn.kernel.orders import texts_of  # noqa: E402

torch.set_num_threads(1)
CALLED: list[Any] = []


def gradients(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    do: torch.Tensor,
    lse: torch.Tensor,
    delta: torch.Tensor,
    scale: float,
) -> Any:
    """Gradients of one kv head, q: [heads, rows, dim], k: [rows, dim]; dq, and the sums of dK,
    without the factor, and of dV."""
    q, k, v, do = (one.double() for one in (q, k, v, do))
    assert all(one.isfinite().all() for one in (q, k, v, do, delta)), (
        "a kernel would read what was never written"
    )
    seen = torch.arange(k.shape[0]) <= (torch.arange(q.shape[1]) + k.shape[0] - q.shape[1])[:, None]
    p = (scale * q @ k.T - lse[..., None]).exp().masked_fill(~seen, 0)
    ds = p * (do @ v.T - delta[..., None])
    return scale * ds @ k, (ds.mT @ q).sum(0), (p.mT @ do).sum(0)


def in_fragments(rows: torch.Tensor, pieces: int = 2) -> torch.Tensor:
    """As docs/binary-interface.md says, word by word: of tiles of 64 rows of q, two pieces of a kv
    tile, each of half of the columns."""
    tiles, width = -(-rows.shape[0] // 128), rows.shape[1] // pieces
    padded = torch.cat(
        [rows, rows.new_full((tiles * 128 - rows.shape[0], rows.shape[1]), torch.nan)]
    )
    tile, piece, w, i, t, r, e = torch.meshgrid(
        *map(torch.arange, (tiles, pieces, 2, width // 8, 128, 2, 2)), indexing="ij"
    )
    place = (tile * pieces + piece) * 128 * width + w * 64 * width + i * 512 + t * 4 + r * 2 + e
    row, column = (
        tile * 128 + 64 * w + 16 * (t // 32) + (t % 32) // 4 + 8 * r,
        piece * width + 8 * i + 2 * (t % 4) + e,
    )
    words = torch.full((padded.numel(),), -torch.inf)
    words[place.flatten()] = padded[row.flatten(), column.flatten()]
    return words


class Leaf:
    """In place of a KeptKernel."""

    manifest = {"program": {"tiles": {"q": 64}}}

    def __init__(self, *shape: Any) -> None:
        self.shape = shape

    def bind(
        self,
        *,
        q: Any,
        k: Any,
        v: Any,
        do: Any,
        o: None,
        lse: Any,
        delta: Any,
        dq: Any,
        dk: Any,
        dv: Any,
        scale: float,
    ) -> Any:
        assert (
            o is None
            and (q.shape[2], k.shape[2]) == self.shape[3:]
            and q.shape[2] % 64 == 0
            and k.shape[2] % 64 == 0
        )
        CALLED.append(("leaf", q.shape[2], k.shape[2]))
        found, *sums = gradients(q[0], k[0, 0], v[0, 0], do[0], lse[0], delta[0], scale)
        dq[0] = found
        dk.fill_(torch.nan), dv.fill_(torch.nan)
        regions, parts, at = {}, [torch.full((64,), 255, dtype=torch.uint8)], 64
        for name, one in zip(("dk_sum", "dv_sum"), sums):
            parts.append(in_fragments(one.float()).view(torch.uint8))
            regions[name] = SimpleNamespace(offset=at, bytes=parts[-1].numel())
            at += parts[-1].numel()
        return SimpleNamespace(
            plan=SimpleNamespace(regions=lambda: regions), run_kept=lambda: torch.cat(parts)
        )


class Whole:
    """In place of a kernel of attention."""

    def __init__(self, wanted: Any) -> None:
        assert wanted.takes_delta and wanted.sizes[:3] in ((), (1, 2, 1))

    def backward(
        self,
        *,
        q: Any,
        k: Any,
        v: Any,
        do: Any,
        o: None,
        lse: Any,
        delta: Any,
        dq: Any,
        dk: Any,
        dv: Any,
        scale: float,
    ) -> None:
        CALLED.append(("whole", q.shape[2]))
        dq[0], sum_of_k, dv[0, 0] = gradients(
            q[0], k[0, 0], v[0, 0], do[0], lse[0], delta[0], scale
        )
        dk[0, 0] = scale * sum_of_k


def of_list(
    kernel: Any, scale: float, *, cu_seqlens_q: Any, cu_seqlens_kv: Any, **given: Any
) -> None:
    assert torch.equal(cu_seqlens_q, cu_seqlens_kv) and cu_seqlens_q.dtype == torch.int32
    CALLED.append(("list", len(cu_seqlens_q) - 1))
    for first, end in zip(cu_seqlens_q.tolist(), cu_seqlens_q.tolist()[1:]):
        part = {
            name: one[:, first:end] if name in ("lse", "delta") else one[first:end].transpose(0, 1)
            for name, one in given.items()
        }
        found = gradients(
            part["q"], part["k"][0], part["v"][0], part["do"], part["lse"], part["delta"], scale
        )
        part["dq"][:], part["dk"][0], part["dv"][0] = found[0], scale * found[1], found[2]


def flash(
    q: Any,
    k: Any,
    v: Any,
    cu_q: Any,
    cu_k: Any,
    most_q: int,
    most_k: int,
    left: int,
    right: int,
    scale: float,
) -> Any:
    assert (
        (left, right) == (-1, 0)
        and most_q >= max(2, *cu_q.diff().tolist())
        and most_k >= max(cu_k.diff().tolist())
    )
    o, lse = torch.empty_like(q), torch.empty(q.shape[1], q.shape[0])
    for of_q, of_k in zip(
        zip(cu_q.tolist(), cu_q.tolist()[1:]), zip(cu_k.tolist(), cu_k.tolist()[1:])
    ):
        one, of, values = (
            x[slice(*part)].transpose(0, 1).double()
            for x, part in ((q, of_q), (k, of_k), (v, of_k))
        )
        # Each by itself: its bits do not depend on the others, nor on keys that it does not see.
        for row in range(one.shape[1]):
            seen = row + of.shape[1] - one.shape[1] + 1
            scores = scale * (one[:, row, None] * of[:, :seen]).sum(-1)
            lse[:, of_q[0] + row] = scores.logsumexp(-1)
            o[of_q[0] + row] = (scores.softmax(-1)[..., None] * values[:, :seen]).sum(1)
    return o, lse


def own_forward(
    q: Any,
    k: Any,
    v: Any,
    left: int,
    right: int,
    scale: float,
    *,
    cu_q: Any,
    cu_k: Any,
) -> Any:
    """dash's own: it is told no bounds of lengths."""
    bounds = q.shape[0] + 2, k.shape[0]
    return flash(q, k, v, cu_q, cu_k, *bounds, left, right, scale)


def by_batches(make: Callable[..., Any]) -> Callable[[float], Any]:
    """In place of the reference's leaves."""
    return lambda scale: make(scale, 2, 64, torch.bfloat16, torch.device("cpu"))


def by_stand_ins() -> None:
    documents = (700, 130, 63, 1, 20)
    inputs = whole(documents)
    reference = found_of(made(1, documents), inputs)
    with (
        mock.patch.multiple(
            batches,
            refusal_of_device=lambda _: None,
            kernel_of_leaf=Leaf,
            kernel_of=Whole,
            kernels_for=lambda *_, **__: [],
        ),
        mock.patch.object(batches.pieces, "backward_of_sequences", of_list),
        mock.patch.object(batches.foreign, "of_sequences", flash),
        mock.patch.object(
            kernels,
            "Reference",
            by_batches(partial(batches.Batches, forward="flash2")),
        ),
    ):
        expected = found_of(made(1, documents), inputs)
        assert [one for one in dict.fromkeys(CALLED)] == [
            ("list", 6),
            ("leaf", 320, 320),
            ("leaf", 192, 512),
            ("leaf", 64, 576),
            ("leaf", 192, 768),
            ("whole", 192),
        ], CALLED
        for name, one, other in zip(NAMES, expected, reference, strict=True):
            assert (one.double() - other.double()).norm() <= 0.004 * other.double().norm(), name
        for ranks, kind in ((2, "rows"), (3, "random"), (4, "heads-first")):
            found = found_of(
                made(
                    ranks,
                    documents,
                    kind=kind,
                    homes=scattered(documents, ranks, ranks),
                    kept="inputs",
                ),
                inputs,
            )
            assert hashes(found) == hashes(expected), (ranks, kind)
        with (
            mock.patch.object(kernels, "Reference", by_batches(batches.Batches)),
            mock.patch.object(batches, "launch_forward", own_forward),
            mock.patch.object(batches, "_own_forward", lambda *_: "dash"),
        ):
            assert hashes(found_of(made(1, documents), inputs)) == hashes(expected)
            assert hashes(found_of(made(3, documents, kind="random"), inputs)) == hashes(expected)
        for most in ({"MOST_ROWS": 70}, {"MOST_SEQUENCES": 2}):
            CALLED.clear()
            with mock.patch.multiple(batches, **most):
                assert hashes(found_of(made(1, documents), inputs)) == hashes(expected)
            assert sum(one[0] == "list" for one in CALLED) > 1, CALLED


def one_pass() -> None:
    """The kernel that adds sums has the bits of PyTorch's operators, and writes nothing behind its
    words."""
    words = torch.randint(
        -(2**31), 2**31, (2, 9001), generator=torch.Generator().manual_seed(1)
    ).int()
    words[:, ::3] &= ~0x7F000000
    words[1, 2::7] = (words[0, 2::7] ^ -(2**31)) + 1
    left, right = words.view(torch.float32).nan_to_num(1.0, 2.0, -2.0)
    expected = tree.fold(left[:9000].view(2, -1, 1), right[:9000].clone().view(2, -1, 1))
    fold_kernel.add_words[3,](left, right, 9000, fold_kernel.BLOCK)
    assert torch.equal(right[:9000].view(torch.int32), expected.view(-1).view(torch.int32)), (
        "the addition differs"
    )
    assert (right.view(torch.int32)[:9000] & 0x7F800000 == 0).sum() > 1000 and right[
        9000
    ] == words.view(torch.float32)[1].nan_to_num(1.0, 2.0, -2.0)[9000]


def into_rows() -> None:
    """Sums that lie in fragments are brought into rows, and added to a left sibling's, with the
    bits of PyTorch's operators; tiles may have more columns than the head dim, and rows of the last
    tile are left out. Nothing behind the sums is written."""
    generator = torch.Generator().manual_seed(2)
    for columns, head_dim, pieces, end, before in (
        (64, 64, 2, 128, 0),
        (128, 128, 2, 300, 256),
        (128, 120, 1, 257, 128),
        (96, 96, 2, 130, 1),
        (96, 72, 1, 77, 77),
        (64, 8, 2, 640, 512),
    ):
        words = torch.randint(-(2**31), 2**31, (3, end, columns), generator=generator).int()
        words[..., ::3] &= ~0x7F000000
        words[1, :, 2::7] = (words[0, :, 2::7] ^ -(2**31)) + 1
        sums = words.view(torch.float32).nan_to_num(1.0, 2.0, -2.0)
        left = sums[[2, 0], :before, :head_dim].contiguous()
        expected = sums[:2, :, :head_dim].clone()
        parts = [torch.full((128,), 7, dtype=torch.uint8)]
        regions, at = {}, 128
        for name, one in (("dk_sum", sums[0]), ("dv_sum", sums[1])):
            parts += [in_fragments(one, pieces).view(torch.uint8), parts[0]]
            regions[name] = SimpleNamespace(offset=at, bytes=parts[-2].numel())
            at += parts[-2].numel() + 128
        memory = torch.cat(parts)
        of_leaf = batches.InFragments(memory, regions, end, end, head_dim, 128 // pieces)
        assert of_leaf.columns == columns
        for other in (None, left) if before else (None,):
            if other is not None:
                expected = tree.fold(other, expected)
            by_operators = of_leaf.rows(other)
            out = torch.full((2 * end * head_dim + 1,), 7.0)
            given = out[:-1].view(2, end, head_dim)
            fold_kernel.take(of_leaf.words[0], of_leaf.distance, other, given, columns, pieces)
            for one in (by_operators, given):
                assert torch.equal(
                    one.contiguous().view(torch.int32), expected.contiguous().view(torch.int32)
                ), (columns, head_dim, pieces, other is None)
            assert out[-1] == 7
        assert before < 100 or (expected.view(torch.int32) & 0x7F800000 == 0).sum() > 100


def certificates() -> None:
    """One of dash's own forward names each of its kernels."""
    with mock.patch.object(batches, "refusal_of_device", lambda _: None):
        for head_dim, count in ((64, 2), (96, 2), (120, 1), (128, 1)):
            device = torch.device("cpu")
            given = 0.1, 2, head_dim, torch.bfloat16, device
            own = batches.Batches(*given)
            said, of_kernels = own.certificates()
            assert said.startswith("dash, level row sha256:") and said.count("sha256:") == count
            theirs = batches.Batches(*given, forward="flash2").certificates()
            assert theirs[0] != said and theirs[1] == of_kernels


def programs() -> None:
    """There is a kernel for any number of query heads that leaves sums, and of all leaf shapes it
    is the same program."""
    for group in (1, 2, 3, 4, 5, 6, 7, 8, 16):
        wanted = batches.wanted_of_leaf(64, torch.float16, group, 256, 512)
        manifest = texts_of(wanted)[0].decode()
        assert (
            '"dk_sum"' in manifest
            and '"dv_sum"' in manifest
            and '"apart"' not in manifest
            and '"delta"' in manifest
        ), group
    for head_dim, columns in ((8, 64), (72, 96), (96, 96), (120, 128)):
        # Tiles of sums are as wide as a kernel's, whatever the head dim is.
        manifest = json.loads(
            texts_of(batches.wanted_of_leaf(head_dim, torch.float16, 2, 64, 64))[0]
        )
        sizes = {one["name"]: one["bytes"] for one in manifest["workspace"]}
        assert sizes["dk_sum"] == f"batch*kv_heads*kv_tiles*{4 * 128 * columns}", sizes
        assert sizes["dv_sum"] == sizes["dk_sum"]
    one, other = (batches._certificates(128, dtype, 4) for dtype in (torch.bfloat16, torch.float16))
    assert len({*one, *other}) == 5 and all(
        line.startswith(("sha256:", "orders of dash ")) for line in one
    ), (one, other)
    message = refused(
        lambda: made(
            1, DOCUMENTS, device="cuda:0" if torch.cuda.is_available() else "cpu", kernel="batches"
        ),
        ArgumentError,
    )
    assert message.startswith("kernel: expected a CUDA device for 'batches', found 'cpu'"), message


one_pass()
into_rows()
by_stand_ins()
certificates()
programs()
