# RUN: %torch_python %s
# REQUIRES: torch, plain-libdash
"""attention() with dash's own forward: what no forward pass of PyTorch serves, its operator as
PyTorch checks it, and which kernels it takes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

import torch  # noqa: E402
from on_cpu import LAUNCHED  # noqa: E402

from dash_attn import ArgumentError, attention, explain, reference  # noqa: E402
from dash_attn.kernel.orders import forward_for, forward_of_list  # noqa: E402
from dash_attn.kernel.problem import ANY_SIZES, CAUSAL, FULL, Wanted, for_any_sizes  # noqa: E402
from dash_attn.reference import Mask, Union  # noqa: E402
from dash_attn.torch import forward  # noqa: E402

BF16 = torch.bfloat16
OPERATOR = forward.forward_operator
UNION = "union 4 64 -1"
UNTIL_GRADIENTS = ("test_schema", "test_faketensor")


def tensors(rows: int = 12, kv_rows: int = 12, of_v: int = 64, turned: bool = False) -> list[Any]:
    """[batch, heads, rows, head_dim], which may lie as [batch, rows, heads, head_dim]."""
    torch.manual_seed(3)
    found = []
    for heads, length, columns in ((4, rows, 64), (2, kv_rows, 64), (2, kv_rows, of_v)):
        sizes = (2, length, heads, columns) if turned else (2, heads, length, columns)
        one = torch.randn(sizes).to(BF16)
        found.append((one.transpose(1, 2) if turned else one).requires_grad_())
    return found


def demand_exact(mask: Mask, *inputs: torch.Tensor, **options: Any) -> None:
    """o, the LSE and gradients beside float64."""
    sink = options.get("sink")
    o, lse = attention(*inputs, return_lse=True, **options)
    do = torch.linspace(-1, 1, o.numel(), dtype=torch.float64).cos().reshape(o.shape).to(BF16)
    gradients = torch.autograd.grad(o, inputs, do)
    program = {"scale": 0.125, "mask": mask, "softcap": options.get("softcap"), "sink": sink}
    doubles = [one.detach().double() for one in inputs]
    exact, sums = reference.forward(*doubles, **program)
    assert torch.equal(lse.isinf(), sums.isinf()) and not (lse > 1e30).any()
    assert torch.allclose(lse.double(), sums, rtol=1e-6)
    found = reference.backward(*doubles, do.double(), exact, sums, **program)
    for one, other in zip((o, *gradients), (exact, *found.values())):
        assert (one.double() - other).norm() <= 0.02 * other.norm(), options


def served() -> None:
    causal = {"causal": True}
    for rows, kv_rows in ((12, 20), (20, 12), (1, 12)):
        demand_exact(Mask(-1, 0), *tensors(rows, kv_rows), **causal)
        demand_exact(Mask(3, 0), *tensors(rows, kv_rows), window=(3, 0))
    LAUNCHED.clear()
    for cap in (2.0, 30):
        demand_exact(Mask(-1, 0), *tensors(), **causal, softcap=cap)
    assert [by for by, *_ in LAUNCHED] == ["dash"] * 2, LAUNCHED
    sink = torch.linspace(-2, 3, 4)
    demand_exact(Mask(3, 0), *tensors(of_v=32), window=(3, 0), softcap=5.0, sink=sink)
    plain = attention(*tensors(), causal=True)
    for cap in (0, 0.0, torch.tensor(0.0)):
        assert torch.equal(attention(*tensors(), causal=True, softcap=cap), plain)
    assert not torch.equal(attention(*tensors(), causal=True, softcap=1.0), plain)
    for level in ("batch", "machine"):
        demand_exact(Mask(-1, 0), *tensors(), **causal, level=level)
        assert explain(*tensors(), **causal, level=level).level == level


def of_rows() -> None:
    """Level `row` is that of o and the LSE; gradients have the strongest that there is."""
    inputs = tensors()
    demand_exact(Mask(-1, 0), *inputs, causal=True, level="row")
    packed = [one[0].transpose(0, 1).contiguous() for one in tensors(20, 20)]
    offsets = torch.tensor([0, 5, 20], dtype=torch.int32)
    for given, rest in ((inputs, {}), (packed, {"cu_seqlens_q": offsets})):
        found, strongest = (
            explain(*given, causal=True, level=level, **rest) for level in ("row", "machine")
        )
        assert found == strongest and found.level == "machine", found
        assert "level row" in found.forward and "level machine" in str(found), found
        same = [
            torch.autograd.grad(attention(*given, causal=True, level=level, **rest).sum(), given)
            for level in ("row", "machine")
        ]
        assert all(map(torch.equal, *same))
        said = explain(*given, forward="torch", level="row", **rest).refusal
        assert said == (
            "level: expected 'run', found 'row': no forward pass of PyTorch promises it; leave out"
            ' forward="torch"'
        ), said
    said = explain(*inputs, level="rows").refusal
    assert said == "level: expected one of run, batch, machine, found 'rows'", said


def cut() -> None:
    """By name only, and in explanations; gradients as ever."""
    demand_exact(Mask(-1, 0), *tensors(1, 20), causal=True, cut=1024)
    sink = torch.linspace(-2, 3, 4)
    demand_exact(Mask(3, 0), *tensors(of_v=32), window=(3, 0), softcap=5.0, sink=sink, cut=128)
    inputs = tensors(1, 3000)
    plain, whole = explain(*inputs), explain(*inputs, cut=1024)
    assert (plain.cut, whole.cut) == (0, 1024)
    assert "keys cut into pieces of 1024 rows" in str(whole) and "cut" not in str(plain)
    own, of_gradients = zip(plain.certificate.split(), whole.certificate.split())
    assert own[0] != own[1] and of_gradients[0] == of_gradients[1]
    packed = [one[0].transpose(0, 1).contiguous() for one in tensors(20, 20)]
    offsets = torch.tensor([0, 5, 20], dtype=torch.int32)
    rest = {"cu_seqlens_q": offsets, "cut": 256}
    assert explain(*packed, **rest).cut == 256
    assert torch.equal(attention(*packed, **rest), attention(*packed, cu_seqlens_q=offsets))
    for wrong, reason in (
        (
            1000,
            "cut: expected a multiple of 128, the rows of a kv tile at these head dims,"
            " found 1000; take 896 or 1024",
        ),
        (100, "found 100; take 128"),
        (1 << 22, "cut: expected at most 2097152 rows, the most of a sequence, found 4194304"),
        (
            0,
            "cut: expected None, or how many rows of k and v a piece has, a whole number above 0,"
            " found 0",
        ),
        (True, "found True"),
        (256.0, "found 256.0"),
    ):
        said = explain(*inputs, cut=wrong).refusal
        assert reason in said, said
        try:
            attention(*inputs, cut=wrong)
        except ArgumentError as error:
            assert str(error) == said, (error, said)
        else:
            raise AssertionError(wrong)
    said = explain(*inputs, cut=128, forward="torch").refusal
    assert said == (
        'cut: no forward pass of PyTorch cuts keys by length alone; leave out forward="torch"'
    ), said


def layouts() -> None:
    """o lies as q, with v's head dim."""
    for of_v in (64, 32):
        for turned in (False, True):
            q, k, v = tensors(of_v=of_v, turned=turned)
            o = attention(q, k, v)
            assert o.shape == (2, 4, 12, of_v)
            assert o.transpose(1, 2).is_contiguous() == turned, (of_v, turned, o.stride())
            if not turned:
                assert o.is_contiguous()


def in_operator() -> None:
    q, k, v = (one.detach() for one in tensors(of_v=32))
    sink, offsets = torch.linspace(-1, 1, 4), torch.tensor([1, 5, 11], dtype=torch.int32)
    packed = [one[0].transpose(0, 1).contiguous() for one in (q, k, v)]
    for arguments in (
        (q, k, v, -1, 0, 0.125),
        (q, k, v, 3, 0, 0.125, 20.0, sink),
        (*packed, -1, 0, 0.125, 0.0, sink, offsets, offsets.clone()),
        (q, k, v, -1, 0, 0.125, 0.0, sink, None, None, 256),
    ):
        torch.library.opcheck(OPERATOR, arguments, test_utils=UNTIL_GRADIENTS)
    o, lse = OPERATOR(*packed, -1, 0, 0.125, 0.0, None, offsets)
    outside = [0, 11]
    assert not o[outside].any() and (lse[:, outside] == -torch.inf).all()
    assert lse[:, 1:11].isfinite().all()
    both = torch.stack([q, q.flip(1)])
    found = torch.vmap(lambda one: OPERATOR(one, k, v, -1, 0, 0.125))(both)
    for i, one in enumerate(both):
        assert all(torch.equal(x[i], y) for x, y in zip(found, OPERATOR(one, k, v, -1, 0, 0.125)))


def compiled() -> None:
    """Eager and compiled programs have the same bits, whatever sizes and caps are fixed."""
    for dynamic in (False, True):
        for options in ({"causal": True, "softcap": 3.0}, {"level": "batch"}):
            torch._dynamo.reset()
            function = torch.compile(
                lambda *inputs, options=options: attention(*inputs, **options),
                backend="aot_eager",
                fullgraph=True,
                dynamic=dynamic,
            )
            for rows in (12, 20):
                inputs = tensors(rows, 20)
                ours, theirs = function(*inputs), attention(*inputs, **options)
                assert torch.equal(ours, theirs)
                grads = [torch.autograd.grad(o, inputs, torch.ones_like(o)) for o in (ours, theirs)]
                assert all(map(torch.equal, *grads))


def kernels() -> None:
    """Short sequences of flat heads take q tiles of 128 rows; few tiles a table, whose sizes stand
    for all with the same tiles."""
    flat, wide = (Wanted(dim, dim, "bf16", CAUSAL, is_forward=True) for dim in (64, 128))
    assert forward_for(flat, 8, 32, 32, 1024, 1024).q_tile == 128
    assert forward_for(flat, 4, 32, 32, 2048, 2048).q_tile == 0
    assert forward_for(wide, 8, 16, 16, 1024, 1024).q_tile == 0
    assert forward_of_list(flat, 16, 16384).q_tile == 128
    assert forward_of_list(flat, 8, 16384).q_tile == 0
    assert forward_for(wide, 1, 16, 16, 32896, 32896).sizes == ()
    sizes = 2, 8, 4, 500, 500
    assert forward_for(wide, *sizes).sizes == (2, 8, 4, 512, 512)
    for head_dim in (72, 96):  # kv tiles of 96 rows
        one = wide._replace(head_dim=head_dim, head_dim_v=64)
        assert forward_for(one, 1, 2, 2, 257, 257).sizes == (1, 2, 2, 257, 257)
    assert forward_for(wide, 2, 8, 4, 300, 500).sizes == (2, 8, 4, 300, 500), "a mask between tiles"
    of_full = forward_for(wide._replace(window=FULL), 2, 8, 4, 300, 500)
    assert of_full.sizes == (2, 8, 4, 320, 512) and for_any_sizes(of_full).sizes == ANY_SIZES
    one = torch.zeros(1, 2, 500, 64, dtype=BF16)
    alike = [explain(one[:, :, :rows], one[:, :, :rows], one[:, :, :rows]) for rows in (449, 500)]
    assert alike[0].certificate == alike[1].certificate and alike[0]
    few = wide._replace(cut=2048)
    token = few._replace(q_tile=64, fold=2)
    assert forward_for(few, 1, 8, 4, 1, 5000) == token, "a table of a step"
    assert forward_for(few, 1, 8, 4, 5000, 5000) == few
    packed = torch.zeros(5000, 2, 64, dtype=BF16)
    for ends, tile in (([5000], 192), ([2000, 4000, 5000], 192), ([1000, 2000, 4000, 5000], 128)):
        cu = torch.tensor([0, *ends], dtype=torch.int32)
        found = explain(packed, packed, packed, causal=True, cu_seqlens_q=cu)
        assert f"tiles {tile} x 128, level row" in found.forward, found


def folds() -> None:
    """Heads of a group share q tiles where that leaves fewer items: no more than nine in ten."""
    wide = Wanted(128, 128, "bf16", CAUSAL, is_forward=True)
    for heads, kv_heads, rows, fold in (
        (32, 8, 1, 4),
        (64, 1, 1, 64),
        (128, 1, 1, 64),
        (6, 1, 5, 2),  # the powers of two that divide a group
        (7, 1, 1, 1),
        (8, 8, 1, 1),
        (8, 2, 33, 2),  # two heads fill half a tile and a bit, four the half of two
        (8, 1, 33, 8),  # three tiles; four heads at a time would have four
        (32, 8, 100, 1),  # four tiles either way
        (32, 8, 90, 4),  # three, for four
        (32, 8, 128, 1),
        (32, 8, 1100, 1),  # 35, for 36
        (32, 8, 4096, 1),
    ):
        found = forward_for(wide, 3, heads, kv_heads, rows, 5000)
        assert found.fold == fold, (heads, kv_heads, rows, found)
        assert forward_for(wide._replace(rules=UNION), 3, heads, kv_heads, rows, 5000).fold == 1
    # Where keys are cut, rows of one warpgroup take a tile of one.
    for rows, tile, fold in ((1, 64, 8), (8, 64, 8), (9, 0, 8), (16, 0, 8), (128, 0, 1)):
        found = forward_for(wide._replace(cut=1024), 1, 8, 1, rows, 5000)
        assert (found.q_tile, found.fold, found.sizes) == (tile, fold, ()), found
    # A table serves the rows of its tiles: 32 of each head, or 16.
    assert forward_for(wide, 1, 32, 8, 1, 5000).sizes == (1, 32, 8, 1, 5000)
    full = wide._replace(window=FULL)
    assert forward_for(full, 1, 32, 8, 1, 5000).sizes == (1, 32, 8, 32, 5056)
    assert forward_for(full, 1, 64, 8, 17, 5000).sizes == (1, 64, 8, 32, 5056)
    assert forward_for(wide, 1, 64, 8, 17, 17).sizes == (1, 64, 8, 32, 32)
    packed = wide._replace(is_list=True)
    for sequences, rows, fold in ((8, 8, 4), (8, 200, 4), (8, 8 * 128, 1), (0, 5, 4)):
        assert forward_of_list(packed, sequences, rows, 4).fold == fold, (sequences, rows)
        assert forward_of_list(packed._replace(rules=UNION), sequences, rows, 4).fold == 1
    q, k = torch.zeros(1, 8, 1, 64, dtype=BF16), torch.zeros(1, 2, 500, 64, dtype=BF16)
    union = explain(q, k, k, mask=Mask(right=0, union=Union(4, 63)))
    assert union and "heads in a q tile" not in union.forward, union
    found = explain(q, k, k, causal=True)
    assert "tiles 128 x 128, 4 heads in a q tile, level row" in found.forward, found
    tokens, ends = q[0].transpose(0, 1).expand(2, 8, 64).contiguous(), [0, 1, 2]
    cu = torch.tensor(ends, dtype=torch.int32)
    keys = k[0].transpose(0, 1).contiguous()
    found = explain(tokens, keys, keys, cu_seqlens_q=cu, cu_seqlens_k=250 * cu, cut=256)
    assert "4 heads in a q tile, keys cut into pieces of 256 rows" in found.forward, found


for test in (served, of_rows, cut, layouts, in_operator, compiled, kernels, folds):
    test()
