# RUN: %torch_python %s
# REQUIRES: torch, plain-libdash
"""attention(delta="unrounded"): what the backward pass is given, errors beside a rounded o, what is
refused, the operator as PyTorch checks it, and which kernels it takes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

import torch  # noqa: E402
from on_cpu import FORWARDS  # noqa: E402

from dash_attn import ArgumentError, attention, explain, reference  # noqa: E402
from dash_attn.kernel.orders import forward_for, order_for  # noqa: E402
from dash_attn.kernel.problem import Wanted, program_of, wanted_of  # noqa: E402
from dash_attn.kernel.unrounded import refusal_of_delta  # noqa: E402
from dash_attn.reference import Mask, Union  # noqa: E402
from dash_attn.support.records import Record  # noqa: E402
from dash_attn.torch import delta, function, pieces, unrounded  # noqa: E402

BF16 = torch.bfloat16
UNROUNDED = {"delta": "unrounded"}


def tensors(rows: int = 40, of_v: int = 64, seed: int = 3) -> list[torch.Tensor]:
    torch.manual_seed(seed)
    shapes = (2, 4, rows, 64), (2, 2, rows, 64), (2, 2, rows, of_v)
    return [torch.randn(shape).to(BF16).requires_grad_() for shape in shapes]


def errors(inputs: list[torch.Tensor], of_mask: Mask, **options: Any) -> list[float]:
    """Those of dq and dk, beside float64."""
    o = attention(*inputs, **options)
    do = torch.linspace(-9, 9, o.numel()).cos().reshape(o.shape).to(BF16)
    found = torch.autograd.grad(o, inputs, do)
    rest = {"scale": 0.125, "mask": of_mask, "sink": options.get("sink")}
    doubles = [one.detach().double() for one in inputs]
    exact, lse = reference.forward(*doubles, **rest)
    right = list(reference.backward(*doubles, do.double(), exact, lse, **rest).values())
    return [((x - y).norm() / y.norm()).item() for x, y in zip(found[:2], right)]


def served() -> None:
    """Rows that see one column beside a sink have most to gain; gradients of the reference do not
    round P and dS."""
    sink = torch.full((4,), -3.0)
    mask = {"window": (0, 0), "sink": sink}
    rounded = errors(tensors(), Mask(0, 0), **mask)
    FORWARDS.clear()
    found = errors(tensors(), Mask(0, 0), **mask, **UNROUNDED)
    assert FORWARDS == ["dash, unrounded"], FORWARDS
    assert all(3 * one < other for one, other in zip(found, rounded)), (found, rounded)
    assert max(found) < 3e-3, found
    union = Mask(right=0, union=Union(2, 3))
    for options, of_mask in (
        ({"causal": True}, Mask(-1, 0)),
        ({"causal": True, "level": "batch", "layout": "bhsd"}, Mask(-1, 0)),
        ({"mask": union}, union),
    ):
        assert max(errors(tensors(of_v=32), of_mask, **options, **UNROUNDED)) < 3e-3, options
    plain, other = (
        attention(*tensors(), causal=True, delta=one) for one in ("rounded", "unrounded")
    )
    assert torch.equal(plain, attention(*tensors(), causal=True)) and plain.dtype == other.dtype


def kept() -> None:
    """The backward pass is given o in float32. Where the LSE has a gradient, that goes to delta."""
    inputs, seen = tensors(), []

    def launch(*given: Any) -> Any:
        seen.append(given)
        return *map(torch.zeros_like, given[1:4]), None

    ours, function.launch_any = function.launch_any, launch
    try:
        for one in ("rounded", "unrounded"):
            torch.autograd.grad(attention(*inputs, causal=True, delta=one).sum(), inputs)
    finally:
        function.launch_any = ours
    assert [given[4].dtype for given in seen] == [BF16, torch.float32], seen
    assert [pieces.is_unrounded(given[4]) for given in seen] == [False, True]
    assert all(given[0].dtype == BF16 for given in seen) and not pieces.is_unrounded(None)
    found = []
    for one in ("rounded", "unrounded"):
        _, lse = attention(*inputs, causal=True, delta=one, return_lse=True)
        found.append(torch.autograd.grad(lse.square().sum(), inputs[:2]))
    for mine, theirs in zip(*found):
        assert (mine - theirs).norm() < 1e-2 * theirs.norm()


def deltas() -> None:
    """Products of an o in float32 are rounded, whatever a machine adds in one step."""
    torch.manual_seed(0)
    o, do, lse = torch.randn(1, 2, 5, 40), torch.randn(1, 2, 5, 40).to(BF16), torch.zeros(1, 2, 5)
    found = delta.delta_of(do, o, lse, torch.zeros(1, 2, 5))
    exact = (o.double() * do.double()).sum(-1)
    assert found.dtype == torch.float32 and torch.allclose(found.double(), exact, atol=1e-5)
    sums = (o * do)[..., ::8].clone()
    for one in range(1, 8):
        sums = sums + (o * do)[..., one::8]
    by_hand = ((sums[..., 0] + sums[..., 1]) + (sums[..., 2] + sums[..., 3])) + sums[..., 4]
    assert torch.equal(found, by_hand)
    packed = [one[0].transpose(0, 1) for one in (o, do)]
    assert torch.equal(delta.delta_of(packed[1], packed[0], lse[0], 0 * lse[0]), found[0])


def packed() -> None:
    inputs = [one.detach()[0].transpose(0, 1).requires_grad_() for one in tensors()]
    offsets = torch.tensor([0, 13, 40], dtype=torch.int32)
    rest = {"causal": True, "cu_seqlens_q": offsets}
    one, other = (
        torch.autograd.grad(attention(*inputs, **rest, delta=name).sum(), inputs)
        for name in ("rounded", "unrounded")
    )
    for mine, theirs in zip(one, other):
        assert (mine - theirs).norm() < 0.05 * theirs.norm()
    used = {"seqused_q": torch.tensor([5, 40], dtype=torch.int32)}
    used["seqused_k"] = used["seqused_q"]
    found = attention(*tensors(), causal=True, **used, **UNROUNDED)
    assert not found[0, :, 5:].any()
    found.sum().backward()


def refused() -> None:
    inputs = tensors()
    for options, reason in (
        ({"delta": "f32"}, "delta: expected 'rounded' or 'unrounded', found 'f32'"),
        ({"delta": True}, "delta: expected 'rounded' or 'unrounded', found True"),
        ({"delta": ["unrounded"]}, "delta: expected 'rounded' or 'unrounded', found ['unrounded']"),
        (
            UNROUNDED | {"cut": 128},
            "delta: expected 'rounded' beside cut, found 'unrounded': what puts pieces of keys"
            " together writes rounded numbers; leave out one of both",
        ),
        (
            UNROUNDED | {"forward": "torch"},
            "delta: expected 'rounded', found 'unrounded': no forward pass of PyTorch gives its"
            " output before it is rounded; leave out forward",
        ),
    ):
        said = explain(*inputs, **options).refusal
        assert said == reason, said
        for again in (1, 2):
            try:
                attention(*inputs, **options)
            except ArgumentError as error:
                assert str(error) == reason, (again, error)
            else:
                raise AssertionError(options)
    said = refusal_of_delta("unrounded", False, "PyTorch", None, is_sharded=True)
    assert said == (
        "delta: expected 'rounded' for a DTensor, found 'unrounded'; call attention with local"
        " tensors (DTensor.to_local())"
    ), said
    try:
        torch.func.grad(lambda q: attention(q, *inputs[1:], **UNROUNDED).sum())(inputs[0])
    except ArgumentError as error:
        assert "delta: expected 'rounded' under a transform of torch.func" in str(error), error
    else:
        raise AssertionError("expected a refusal under a transform")


def in_pytorch() -> None:
    q, k, v = (one.detach() for one in tensors(of_v=32))
    numbers = -1, 0, 0.125, 0.0, torch.zeros(4)
    torch.library.opcheck(
        unrounded.unrounded_operator,
        (q, k, v, *numbers),
        test_utils=("test_schema", "test_faketensor"),
    )
    inputs = tensors()
    eager = attention(*inputs, causal=True, **UNROUNDED)
    compiled = torch.compile(
        lambda *given: attention(*given, causal=True, **UNROUNDED),
        backend="aot_eager",
        fullgraph=True,
    )
    found = compiled(*inputs)
    assert torch.equal(found, eager)
    grads = [torch.autograd.grad(o, inputs, torch.ones_like(o)) for o in (found, eager)]
    assert all(map(torch.equal, *grads))


def kernels() -> None:
    """Programs of their own, of the same order; the certificate says so."""
    inputs = tensors()
    plain, other = (explain(*inputs, causal=True, delta=one) for one in ("rounded", "unrounded"))
    assert plain and other, other
    pairs = list(zip(plain.certificate.split(), other.certificate.split()))
    assert len(pairs) == 2 and all(one != two for one, two in pairs), pairs
    assert "o also unrounded" in str(other) and "delta of unrounded o" in str(other), other
    assert "unrounded" not in str(plain) and plain.order == other.order
    forward = Wanted(64, 64, "bf16", (-1, 0), level="row", is_forward=True, is_unrounded=True)
    wanted = forward_for(forward, 2, 4, 2, 500, 500)
    text, options, _ = program_of(wanted)
    assert " slack=0" in options and "unrounded(%unrounded : memref<?x?x?x64xf32" in text, options
    assert wanted_of(Record(wanted._asdict())) == wanted
    backward = Wanted(64, 64, "bf16", (-1, 0), is_unrounded=True)
    (found,) = order_for(backward, 2, 4, 2, 500, 500).kernels
    (same,) = order_for(backward._replace(is_unrounded=False), 2, 4, 2, 500, 500).kernels
    assert found == same._replace(is_unrounded=True)
    for one in order_for(backward._replace(head_dim=256), 2, 4, 2, 500, 500).kernels:
        text, options, _ = program_of(one)
        assert "o = %o" in text and "x64xf32" in text and "slack" not in options


for test in (served, kept, deltas, packed, refused, in_pytorch, kernels):
    test()
