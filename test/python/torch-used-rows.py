# RUN: %torch_python %s
# REQUIRES: torch, plain-libdash
"""attention() of sequences that use some of their rows (seqused_q, seqused_k): each beside float64
and beside itself alone, NaN in all other rows, compiled programs, transforms, and every refusal."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

import torch  # noqa: E402
from fixtures import refused  # noqa: E402
from on_cpu import LAUNCHED  # noqa: E402

from dash_attn import ArgumentError, attention, explain  # noqa: E402
from dash_attn.reference import Mask, backward, forward  # noqa: E402
from dash_attn.torch import operator  # noqa: E402

BF16 = torch.bfloat16
ROWS, KV_ROWS = 12, 16
# Lengths of q and of k: some, none of q, none of k, all, more of q than of k.
USED = ([5, 0, 3, 12, 9], [8, 4, 0, 16, 4])
NAMES = ("seqused_q", "seqused_k")
CAUSAL = {"causal": True}


def numbers(*values: int) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int32)


def given(which: tuple[bool, bool]) -> dict[str, torch.Tensor]:
    return {name: numbers(*of) for name, of, here in zip(NAMES, USED, which) if here}


def lengths(which: tuple[bool, bool]) -> list[tuple[int, int]]:
    full = [ROWS] * len(USED[0]), [KV_ROWS] * len(USED[1])
    return list(zip(*(of if here else whole for of, whole, here in zip(USED, full, which))))


def tensors(which: tuple[bool, bool], layout: str = "bhsd", of_v: int = 64) -> list[torch.Tensor]:
    """q, k, v and do; rows that are not used are NaN."""
    torch.manual_seed(5)
    found = []
    for heads, side, columns in ((4, 0, 64), (2, 1, 64), (2, 1, of_v), (4, 0, of_v)):
        rows = (ROWS, KV_ROWS)[side]
        one = torch.randn(len(USED[0]), heads, rows, columns).to(BF16)
        for i, length in enumerate(lengths(which)):
            one[i, :, length[side] :] = torch.nan
        found.append(one if layout == "bhsd" else one.transpose(1, 2).contiguous())
    return found


def computed(
    inputs: list[torch.Tensor], sink: Any = None, function: Any = attention, **options: Any
) -> list[torch.Tensor]:
    """o, the LSE and gradients; do is the last of the inputs, and the LSE's gradient is 1."""
    *qkv, do = (one.detach().clone() for one in inputs)
    leaves = [one.requires_grad_() for one in (*qkv, *([] if sink is None else [sink.clone()]))]
    rest = {} if sink is None else {"sink": leaves[3]}
    o, lse = function(*leaves[:3], return_lse=True, **rest, **options)
    return [o, lse, *torch.autograd.grad((o, lse), leaves, (do, torch.ones_like(lse)))]


def exact(
    inputs: list[torch.Tensor], which: tuple[bool, bool], mask: Mask, sink: Any = None
) -> list[torch.Tensor]:
    """Each sequence by itself, of tensors of the layout bhsd."""
    q, k, v, do = (one.double() for one in inputs)
    o, lse = torch.zeros_like(do), torch.full(q.shape[:3], -torch.inf, dtype=torch.float64)
    found = [o, lse, *(torch.zeros_like(one) for one in (q, k, v)), torch.zeros(4).double()]
    for i, (rows, columns) in enumerate(lengths(which)):
        if rows and columns:
            of = slice(i, i + 1)
            one = [x[of, :, :n] for x, n in ((q, rows), (k, columns), (v, columns), (do, rows))]
            rest = {"scale": 0.125, "mask": mask, "sink": sink}
            o, lse = forward(*one[:3], **rest)
            delta = (o * one[3]).sum(-1) - 1
            found_here = backward(*one, o, lse, **rest, delta=delta)
            for whole, part in zip(found, (o, lse, *found_here.values())):
                if whole.dim() > 1:
                    whole[of, :, : part.shape[2]] = part
            if sink is not None:
                found[5] += found_here["dsink"][0]
        elif rows and sink is not None:
            found[1][i, :, :rows] = sink[:, None]
            found[5] += rows  # all of the LSE
    return found if sink is not None else found[:5]


def demand_close(ours: list[torch.Tensor], theirs: list[torch.Tensor]) -> None:
    for one, other in zip(ours, theirs, strict=True):
        assert one.shape == other.shape, (one.shape, other.shape)
        assert torch.equal(one.isinf(), other.isinf()) and not one.isnan().any()
        one, other = (x.double().nan_to_num(neginf=0, posinf=0) for x in (one, other))
        assert (one - other).norm() <= 0.02 * other.norm(), ((one - other).norm(), other.norm())
        assert not one[other == 0].any(), "what is not used is 0"


def served() -> None:
    sink = torch.linspace(-2, 1, 4)
    for options, mask in (
        ({}, Mask()),
        (CAUSAL, Mask(right=0)),
        ({"window": (3, 1), "level": "batch"}, Mask(3, 1)),
        ({"forward": "torch", **CAUSAL}, Mask(right=0)),
        ({"cut": 128, **CAUSAL}, Mask(right=0)),
    ):
        for which in ((True, True), (True, False), (False, True)):
            LAUNCHED.clear()
            inputs = tensors(which)
            ours = computed(inputs, **given(which), **options)
            demand_close(ours, exact(inputs, which, mask))
            assert "forward" in options or not ours[1].isposinf().any()
            for i, (rows, _) in enumerate(lengths(which)):
                assert (ours[1][i, :, rows:] == -torch.inf).all()
            assert [by for by, *_ in LAUNCHED] == ["dash, packed, of the LSE"], LAUNCHED
            turned = tensors(which, "bshd")
            same = computed(turned, layout="bshd", **given(which), **options)
            same = [one.transpose(1, 2) if one.dim() == 4 else one for one in same]
            assert all(map(torch.equal, same, ours))
    for which in ((True, True), (False, True)):
        inputs = tensors(which, of_v=32)
        ours = computed(inputs, sink, **given(which), **CAUSAL)
        demand_close(ours, exact(inputs, which, Mask(right=0), sink))
        assert ours[0].shape[3] == 32


def alone() -> None:
    """The bits of each sequence by itself, packed; numbers that are too large or too small count as
    all rows and as none; no copy where rows of memory follow each other."""
    which = True, True
    q, k, v, do = tensors(which)
    whole = computed([q, k, v, do], **given(which), **CAUSAL)
    for i, (rows, columns) in enumerate(lengths(which)):
        if rows and columns:
            one = [x[i, :, :n].transpose(0, 1) for x, n in zip((q, k, v), (rows, columns, columns))]
            offsets = {"cu_seqlens_q": numbers(0, rows), "cu_seqlens_k": numbers(0, columns)}
            o, lse = attention(*one, return_lse=True, **offsets, **CAUSAL)
            assert torch.equal(o.transpose(0, 1), whole[0][i, :, :rows])
            assert torch.equal(lse, whole[1][i, :, :rows])
    full = tensors((False, False))[:3]
    found = attention(*full, seqused_q=numbers(99, -5, 12, 12, 12), **CAUSAL)
    plain = attention(*full, **CAUSAL)
    assert (
        not found[1].any() and torch.equal(found[2:], plain[2:]) and torch.equal(found[0], plain[0])
    )
    turned = [one.transpose(1, 2).contiguous().transpose(1, 2) for one in full]
    lies_as = attention(*turned, seqused_k=numbers(*USED[1])).transpose(1, 2)
    assert lies_as.is_contiguous()


def packed() -> None:
    """Beside offsets they count from these."""
    which = True, True
    inputs = tensors(which)
    q, k, v, do = (one.transpose(1, 2).flatten(0, 1) for one in inputs)
    offsets = {
        "cu_seqlens_q": torch.arange(6, dtype=torch.int32) * ROWS,
        "cu_seqlens_k": torch.arange(6, dtype=torch.int32) * KV_ROWS,
    }
    for sink in (None, torch.linspace(-2, 1, 4)):
        expected = computed(inputs, sink, **given(which), **CAUSAL)
        found = computed([q, k, v, do], sink, **offsets, **given(which), **CAUSAL)
        for one, other in zip(found, expected):
            if other.dim() == 4:
                other = other.transpose(1, 2).flatten(0, 1)
            elif other.dim() == 3:
                other = other.transpose(0, 1).flatten(1, 2)
            assert torch.equal(one, other)
    # One list of offsets for both, and a bound.
    q, k, v = (one.transpose(1, 2).flatten(0, 1) for one in tensors((False, False))[:3])
    some = {"cu_seqlens_q": numbers(2, 9, 14), "max_seqlen_q": 7, "seqused_k": numbers(4, 5)}
    o = attention(q, k, v, **some)
    assert o[2:14].any() and not o[:2].any() and not o[14:].any()
    assert torch.equal(
        o[2:9].transpose(0, 1)[None],
        attention(
            *(
                x[begin:end].transpose(0, 1)[None]
                for x, begin, end in ((q, 2, 9), (k, 2, 6), (v, 2, 6))
            )
        ),
    )


def in_pytorch() -> None:
    """One graph for all numbers of rows that are used, with eager bits; gradients by torch.func;
    autocast; vmap is refused."""
    which = True, True
    sink = torch.linspace(-2, 1, 4)
    for dynamic in (False, True):
        torch._dynamo.reset()
        function = torch.compile(attention, backend="aot_eager", fullgraph=True, dynamic=dynamic)
        for rest in ({}, {"layout": "bshd"}):
            inputs = tensors(which, rest.get("layout", "bhsd"))
            for of_sink in (None, sink):
                expected = computed(inputs, of_sink, **given(which), **CAUSAL, **rest)
                found = computed(inputs, of_sink, function, **given(which), **CAUSAL, **rest)
                assert all(map(torch.equal, found, expected))
        other = {"seqused_q": numbers(1, 2, 3, 4, 5), "seqused_k": numbers(5, 4, 3, 2, 1)}
        full = tensors((False, False))
        with torch.compiler.set_stance("fail_on_recompile"):
            found = computed(full, sink, function, **other, **CAUSAL)
        assert all(map(torch.equal, found, computed(full, sink, **other, **CAUSAL)))
    q, k, v, do = tensors((False, False))

    def loss(q: Any, k: Any, v: Any) -> Any:
        return (attention(q, k, v, **given(which), **CAUSAL) * do).sum()

    leaves = [one.clone().requires_grad_() for one in (q, k, v)]
    expected = torch.autograd.grad(loss(*leaves), leaves)
    assert all(map(torch.equal, torch.func.grad(loss, (0, 1, 2))(q, k, v), expected))
    with torch.autocast("cpu", dtype=BF16):
        floats = (one.float() for one in (q, k, v))
        assert torch.equal(attention(*floats, **given(which)), attention(q, k, v, **given(which)))
    reason = refused(
        lambda: torch.vmap(lambda q: attention(q, k, v, **given(which)))(q[None]), RuntimeError
    )
    assert reason == operator.NO_VMAP, reason


def refusals() -> None:
    q, k, v, _ = tensors((False, False))
    five = numbers(1, 2, 3, 4, 5)
    flat = [one.transpose(1, 2).flatten(0, 1) for one in (q, k, v)]
    cu = {"cu_seqlens_q": numbers(0, 12, 24), "cu_seqlens_k": numbers(0, 16, 32)}
    for arguments, options, message in (
        (
            (q, k, v),
            {"seqused_q": five.long()},
            "seqused_q: expected int32 of the shape (5,), a number for each sequence, found int64"
            " of the shape (5,); cast it by .int()",
        ),
        (
            (q, k, v),
            {"seqused_k": five[:4]},
            "seqused_k: expected int32 of the shape (5,), a number for each sequence, found int32"
            " of the shape (4,); cast it by .int()",
        ),
        (flat, {**cu, "seqused_k": five}, "seqused_k: expected int32 of the shape (2,), a number"),
        ((q, k, v), {"seqused_q": [1]}, "seqused_q: expected a tensor of PyTorch, found list"),
        (
            (q, k, v),
            {"seqused_q": five.to("meta")},
            "seqused_q: expected a tensor on 'cpu' as q, found one on 'meta'",
        ),
        (
            (q, k, v),
            {"seqused_q": five, "layout": "thd"},
            "layout: expected cu_seqlens_q beside thd, found none",
        ),
        (
            (q, k, v),
            {"seqused_q": five, "max_seqlen_q": 3, "layout": "bhsd"},
            "layout: expected thd, [rows, heads, head_dim], beside cu_seqlens, found 'bhsd'",
        ),
        (
            (q, k[:4], v[:4]),
            {"seqused_q": five},
            "k: expected the batch of q, 5, found 4",
        ),
        (
            tuple(one[:1].expand(21846, -1, -1, -1) for one in (q, k, v)),
            {"seqused_q": numbers(1).expand(21846)},
            "seqused: expected at most 21845 sequences beside it, found 21846; call attention for"
            " some of them at a time",
        ),
        (
            tuple(one[:1, :, :1].expand(8192, -1, 512, -1) for one in (q, k, v)),
            {"seqused_q": numbers(1).expand(8192)},
            "q: expected at most 2097152 rows, found 4194304; split the sequences among calls",
        ),
    ):
        LAUNCHED.clear()
        said = explain(*arguments, **options).refusal
        assert said.startswith(message), said
        reason = refused(
            lambda arguments=arguments, options=options: attention(*arguments, **options),
            ArgumentError,
        )
        assert reason == said and not LAUNCHED, reason
    # Only explain looks at numbers.
    for wrong, message in (
        (
            {"seqused_q": numbers(1, 2, 13, 4, 5)},
            "seqused_q: expected from 0 to 12 rows of sequence 2, found 13",
        ),
        (
            {"seqused_k": numbers(1, 2, 3, 4, -1)},
            "seqused_k: expected from 0 to 16 rows of sequence 4, found -1",
        ),
    ):
        assert explain(q, k, v, **wrong).refusal == message
    assert explain(*flat, **cu, seqused_k=numbers(1, 17)).refusal == (
        "seqused_k: expected from 0 to 16 rows of sequence 1, found 17"
    )
    wrong = cu | {"cu_seqlens_q": numbers(0, 12, 61)}
    assert explain(*flat, **wrong, seqused_k=numbers(1, 2)).refusal.startswith("cu_seqlens_q: exp")
    for options in ({}, {"layout": "bshd"}):
        whole = tensors((False, False), options.get("layout", "bhsd"))[:3]
        found = explain(*whole, seqused_k=five, level="row", **options, **CAUSAL)
        assert found and "symmetric-shift, level machine" in str(found), found
        assert "level row" in found.forward
    theirs = explain(q, k, v, seqused_k=five, forward="torch")
    assert "packed, one split" in theirs.forward, theirs


for test in (served, alone, packed, in_pytorch, refusals):
    test()
