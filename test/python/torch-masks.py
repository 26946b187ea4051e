# RUN: %torch_python %s
# REQUIRES: torch, plain-libdash
"""attention() with unions and bitmaps: both ways beside float64, in batches and in lists, which
kernels and orders they take, compiled programs, transforms, certificates, and every refusal."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

import torch  # noqa: E402
from fixtures import refused  # noqa: E402
from on_cpu import LAUNCHED  # noqa: E402

from dash_attn import ArgumentError, attention, explain, reference  # noqa: E402
from dash_attn.kernel.masks import mask_of, rules_of  # noqa: E402
from dash_attn.kernel.orders import forward_for, order_for  # noqa: E402
from dash_attn.kernel.problem import Wanted, wanted_of  # noqa: E402
from dash_attn.reference import Blocks, Mask, Union  # noqa: E402
from dash_attn.support.records import Record  # noqa: E402
from dash_attn.torch import certificate, forward, kernels, operator  # noqa: E402

BF16 = torch.bfloat16
SINKS = Mask(right=0, union=Union(columns=4, left=7))
UNION = Mask(union=Union(columns=3, left=2, right=1))
WINDOW = Mask(30, 0, union=Union(20, -1, 0))
# of 192 x 256 rows: a bit for each three q blocks, of two kv blocks
BITS = Blocks.of([[True, False], [False, True], [True, True]], 64, 128)
BITMAP, BOTH = Mask(blocks=BITS), Mask(right=0, blocks=BITS, union=Union(4, 100))


def tensors(rows: int = 12, kv_rows: int = 20, batch: int = 2, head_dim: int = 64) -> list[Any]:
    torch.manual_seed(3)
    sizes = (4, rows), (2, kv_rows), (2, kv_rows)
    found = (torch.randn(batch, heads, length, head_dim).to(BF16) for heads, length in sizes)
    return [one.requires_grad_() for one in found]


def both(inputs: list[Any], function: Any = attention, **options: Any) -> list[torch.Tensor]:
    o = function(*inputs, **options)
    do = torch.linspace(-1, 1, o.numel()).reshape(o.shape).to(BF16)
    return [o.detach(), *torch.autograd.grad(o, inputs, do)]


def demand_exact(inputs: list[Any], mask: Mask, **options: Any) -> None:
    sink = options.get("sink")
    o, lse = attention(*inputs, mask=mask, return_lse=True, **options)
    do = torch.linspace(-1, 1, o.numel()).reshape(o.shape).to(BF16)
    rest = {"scale": 0.125, "mask": mask, "softcap": options.get("softcap"), "sink": sink}
    doubles = [one.detach().double() for one in inputs]
    exact, sums = reference.forward(*doubles, **rest)
    assert torch.allclose(lse.double(), sums, rtol=1e-6), mask
    theirs = reference.backward(*doubles, do.double(), exact, sums, **rest)
    ours = [o, *torch.autograd.grad(o, inputs, do)]
    for one, other in zip(ours, (exact, *theirs.values())):
        assert (one.double() - other).norm() <= 0.02 * other.norm(), mask


def served() -> None:
    for mask in (SINKS, UNION, WINDOW):
        demand_exact(tensors(), mask)
        demand_exact(tensors(20, 20), mask, level="batch")
        demand_exact(tensors(), mask, softcap=3.0, sink=torch.linspace(-2, 3, 4), cut=128)
    for mask in (BITMAP, BOTH):
        demand_exact(tensors(192, 256), mask)
        demand_exact(tensors(150, 140), mask, level="machine")
    inputs = tensors()
    turned = [one.transpose(1, 2) for one in inputs]
    o = attention(*turned, mask=SINKS, layout="bshd")
    assert torch.equal(o.transpose(1, 2), attention(*inputs, mask=SINKS))
    # A mask that is a band is that of a window.
    for mask, options in (
        (Mask(), {}),
        (Mask(right=0), {"causal": True}),
        (Mask(3, 1), {"window": (3, 1)}),
    ):
        assert all(map(torch.equal, both(inputs, mask=mask), both(inputs, **options)))
        assert explain(*inputs, mask=mask) == explain(*inputs, **options)


def in_lists() -> None:
    """Columns count from each sequence's start; what is used is masked alone."""
    inputs = tensors(20, 20)
    q, k, v = (one[0].transpose(0, 1).detach() for one in inputs)
    offsets = torch.tensor([0, 5, 20], dtype=torch.int32)
    for mask in (SINKS, UNION):
        o = attention(q, k, v, mask=mask, cu_seqlens_q=offsets)
        for begin, end in ((0, 5), (5, 20)):
            one = [x[begin:end].transpose(0, 1)[None] for x in (q, k, v)]
            alone = attention(*one, mask=mask)
            assert torch.equal(o[begin:end].transpose(0, 1)[None], alone)
        used = torch.tensor([15, 20], dtype=torch.int32)
        o = attention(*inputs, mask=mask, seqused_q=used, seqused_k=used)
        alone = attention(*(x[:1, :, :15] for x in inputs), mask=mask)
        assert torch.equal(o[:1, :, :15], alone) and not o[0, :, 15:].any()


def texts() -> None:
    for mask in (SINKS, UNION, WINDOW, BITMAP, BOTH, Mask(), Mask(3, 0)):
        rules = rules_of(mask)
        assert mask_of(mask.left, mask.right, rules) == mask, rules
        wanted = Wanted(64, 64, "bf16", (mask.left, mask.right), "shift", rules=rules)
        record = json.loads(json.dumps(wanted._asdict()))
        assert wanted_of(Record(record)) == wanted and wanted.mask == mask
    assert rules_of(BOTH) == "union 4 100 -1, blocks 64 128 2 3 6b", rules_of(BOTH)
    for wrong in ("union 4", "blocks 64 128 2 3 2", "union 1 2 3, union 4 5 6", "x" * 99, "union"):
        reason = refused(lambda wrong=wrong: mask_of(-1, -1, wrong), ValueError)
        assert "expected" in reason, reason


def orders() -> None:
    """Which kernels: formulas of `descending` for lists and above level run, tables for bitmaps,
    q tiles that divide blocks."""
    for mask in (SINKS, BITMAP, BOTH):
        inputs = tensors(192, 256)
        for options in ({}, {"level": "batch"}, {"level": "row"}):
            found = explain(*inputs, mask=mask, **options)
            assert found and ", level row" in found.forward, found
            word = "a bitmap of blocks of 64 x 128 mask" if mask == BITMAP else "union = "
            assert word in str(found), found
            if options:
                assert found.order == ("synthesized" if mask.blocks else "descending"), found
    for head_dim in (192, 256):
        bits = Blocks.of([[True] * 2, [False, True]], 128, 384)
        found = explain(*tensors(256, 500, head_dim=head_dim), mask=Mask(blocks=bits))
        assert found and len(found.certificate.split()) == 3, found
        assert explain(*tensors(256, 500, head_dim=head_dim), mask=SINKS)
    packed = [one[0].transpose(0, 1) for one in tensors(20, 20)]
    offsets = torch.tensor([0, 5, 20], dtype=torch.int32)
    assert explain(*packed, mask=SINKS, cu_seqlens_q=offsets).order == "descending"
    assert explain(*tensors(1, 256), mask=Mask(blocks=Blocks.of([[1, 1]], 64, 128)), cut=128)
    plain = Wanted(64, 64, "bf16", (-1, -1), is_forward=True, level="row")
    for rows, tile in ((64, 64), (128, 128), (192, 192), (384, 192), (320, 64)):
        one = plain._replace(rules=rules_of(Mask(blocks=Blocks.of([[1]], rows, 4096))))
        many = forward_for(one, 64, 64, 64, 4096, 4096)
        assert (many.q_tile, bool(many.sizes)) == (tile, True), (rows, many)
    for sizes in ((1, 1, 1, 70, 100), (8, 32, 32, 8192, 8192)):
        assert forward_for(plain._replace(rules=rules_of(UNION)), *sizes).sizes == ()
        (wanted,) = order_for(
            Wanted(64, 64, "bf16", (-1, 0), rules=rules_of(SINKS)), *sizes
        ).kernels
        assert (wanted.kind, wanted.sizes) == ("descending", ())
        one = Wanted(64, 64, "bf16", (-1, -1), rules=rules_of(BITMAP))
        assert order_for(one, *sizes).wanted.sizes == sizes


def in_pytorch() -> None:
    """Operators as PyTorch checks them, compiled programs with eager bits, transforms."""
    q, k, v = (one.detach() for one in tensors())
    rules = rules_of(SINKS)
    o, lse = attention(q, k, v, mask=SINKS, return_lse=True)
    torch.library.opcheck(
        forward.forward_operator,
        (q, k, v, -1, 0, 0.125, 0.0, None, None, None, 0, rules),
        test_utils=("test_schema", "test_faketensor"),
    )
    torch.library.opcheck(
        operator.gradients,
        (o, q, k, v, o, lse, -1, 0, 0.125, None, None, None, None, "run", 0.0, rules),
        test_utils=("test_schema", "test_faketensor"),
    )
    for dynamic in (False, True):
        for mask, rows in ((SINKS, (12, 20)), (BOTH, (192, 256))):
            torch._dynamo.reset()
            function = torch.compile(
                lambda *inputs, mask=mask: attention(*inputs, mask=mask),
                backend="aot_eager",
                fullgraph=True,
                dynamic=dynamic,
            )
            inputs = tensors(*rows)
            assert all(map(torch.equal, both(inputs, function), both(inputs, mask=mask)))
    batches = [torch.stack([one, one.flip(0)]) for one in (q, k, v)]
    found = torch.vmap(lambda *one: attention(*one, mask=SINKS))(*batches)
    for i in range(2):
        assert torch.equal(found[i], attention(*(one[i] for one in batches), mask=SINKS))

    def loss(*inputs: Any) -> Any:
        return attention(*inputs, mask=UNION).square().sum()

    leaves = [one.clone().requires_grad_() for one in (q, k, v)]
    expected = torch.autograd.grad(loss(*leaves), leaves)
    assert all(map(torch.equal, torch.func.grad(loss, (0, 1, 2))(q, k, v), expected))


def certified() -> None:
    """A run's certificate has the rules, and others of them other bits."""
    inputs = tensors(192, 256)
    masks = (SINKS, BITMAP, BOTH, SINKS._replace(union=Union(5, 7)))
    found = {explain(*inputs, mask=mask, level="batch").certificate for mask in masks}
    assert len(found) == len(masks)
    asked = [one for one in kernels.kernels() if one.rules == rules_of(BOTH)]
    described = certificate.describe(asked[0])
    assert described["rules"] == rules_of(BOTH) and "blocks" in described["mask"]
    assert wanted_of(Record(json.loads(json.dumps(described)))) == asked[0]


def refusals() -> None:
    q, k, v = tensors(192, 256)
    packed = [one[0].transpose(0, 1) for one in (q, k, v)]
    offsets = {"cu_seqlens_q": torch.tensor([0, 5, 192], dtype=torch.int32)}
    offsets["cu_seqlens_k"] = offsets["cu_seqlens_q"]
    for inputs, mask, options, message in (
        (
            (q, k, v),
            "causal",
            {},
            "mask: expected a dash_attn.reference.Mask, found str",
        ),
        (
            (q, k, v),
            SINKS,
            {"causal": True},
            "mask: expected neither causal nor window beside it, which it states itself: Mask(left,"
            " right, ...), found causal=True and window=None",
        ),
        (
            (q, k, v),
            Mask(right=0.0),
            {},
            "mask: expected whole numbers for its sides, -1 where there is no bound, found"
            " (-1, 0.0)",
        ),
        ((q, k, v), Mask(-2), {}, "window: expected whole numbers from -1 (no bound) to"),
        (
            (q, k, v),
            Mask(union=(4, 5, 6)),
            {},
            "mask: expected a union of whole numbers, Union(columns, left, right), found (4, 5, 6)",
        ),
        (
            (q, k, v),
            Mask(union=Union(0)),
            {},
            "mask: expected a union with the first 1 to 2147483647 columns, found 0",
        ),
        (
            (q, k, v),
            Mask(union=Union(4, -3)),
            {},
            "mask: expected sides of a union's window from -1 (no bound) to 2147483647, found"
            " (-3, -1)",
        ),
        (
            (q, k, v),
            Mask(blocks=[[True]]),
            {},
            "mask: expected blocks of whole numbers of rows, Blocks(q, kv, bits), found list",
        ),
        (
            (q, k, v),
            Mask(blocks=Blocks(64, 128, [[True, True, True]] * 2)),
            {},
            "mask: expected bits as a tuple for each kv block, each of one bool for each q block;"
            " Blocks.of makes them of an array",
        ),
        (
            (q, k, v),
            Mask(blocks=BITS._replace(kv=64)),
            {},
            "mask: expected blocks of a multiple of 64 rows of q and 128 of k at these head dims,"
            " found 64 x 64",
        ),
        (
            tuple(tensors(192, 256, head_dim=192)),
            BITMAP,
            {},
            "mask: expected blocks of a multiple of 128 rows of q and 384 of k at these head dims,"
            " found 64 x 128",
        ),
        (
            (q[:, :, :100], k, v),
            BITMAP,
            {},
            "mask: expected a bitmap of 2 blocks for 100 rows of q, found 3",
        ),
        (
            (q, k[:, :, :100], v[:, :, :100]),
            BITMAP,
            {},
            "mask: expected a bitmap of 1 blocks for 100 rows of k, found 2",
        ),
        (
            packed,
            BITMAP,
            offsets,
            "mask: expected no bitmap beside sequences of their own lengths, found one: kernels"
            " cover bitmaps of batches of equal sequences; call attention for each sequence by"
            " itself",
        ),
        (
            (q, k, v),
            BITMAP,
            {"seqused_q": torch.tensor([5, 6], dtype=torch.int32)},
            "mask: expected no bitmap beside sequences of their own lengths, found one",
        ),
        (
            (q, k, v),
            UNION,
            {"forward": "torch"},
            'mask: no forward pass of PyTorch has unions and bitmaps; leave out forward="torch"',
        ),
    ):
        LAUNCHED.clear()
        said = explain(*inputs, mask=mask, **options).refusal
        assert said.startswith(message), said
        reason = refused(
            lambda inputs=inputs, mask=mask, options=options: attention(
                *inputs, mask=mask, **options
            ),
            ArgumentError,
        )
        assert reason == said and not LAUNCHED, reason


for test in (served, in_lists, texts, orders, in_pytorch, certified, refusals):
    test()
