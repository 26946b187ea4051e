# RUN: %torch_python %s
# REQUIRES: torch, plain-libdash
"""attention() of packed sequences: gradients beside those of each alone, compiled programs,
transforms, the drop-in, and every refusal."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

import torch  # noqa: E402
from fixtures import refused  # noqa: E402
from on_cpu import LAUNCHED, LIBRARY, gradients_of_lists  # noqa: E402

import dash_attn  # noqa: E402
from dash_attn import ArgumentError, attention  # noqa: E402
from dash_attn.reference import Mask, backward, forward  # noqa: E402
from dash_attn.torch import operator, problem  # noqa: E402
from dash_attn.torch.aten_backward import CUDNN, EFFICIENT, FLASH, SDPA_CUDNN, SDPA_FLASH  # noqa: E402

BF16, EMPTY = torch.bfloat16, torch.empty(0)
# Lengths of q and of k; the fourth's first rows see nothing under a causal mask.
LENGTHS = ([5, 0, 1, 9, 4], [5, 3, 1, 7, 0])
GAP = 2  # rows in front of the first sequence and behind the last


def offsets(lengths: list[int], gap: int = GAP) -> torch.Tensor:
    return torch.tensor([gap, *lengths], dtype=torch.int32).cumsum(0).int()


def tensors(
    lengths: tuple[list[int], list[int]] = LENGTHS,
    heads: int = 4,
    kv_heads: int = 2,
    head_dim: int = 64,
    gap: int = GAP,
    dtype: torch.dtype = BF16,
) -> list[torch.Tensor]:
    torch.manual_seed(7)
    rows = [sum(lengths[0]), *[sum(lengths[1])] * 2]
    return [
        torch.randn(n + 2 * gap, h, head_dim, dtype=dtype).requires_grad_()
        for n, h in zip(rows, (heads, kv_heads, kv_heads))
    ]


def upstream(o: torch.Tensor) -> torch.Tensor:
    return torch.linspace(-1, 1, o.numel()).reshape(o.shape).to(o.dtype)


def found(
    inputs: list[torch.Tensor], cu: tuple[Any, Any], function: Any = attention, **options: Any
) -> list[torch.Tensor]:
    o = function(*inputs, cu_seqlens_q=cu[0], cu_seqlens_k=cu[1], **options)
    return [o.detach(), *torch.autograd.grad(o, inputs, upstream(o))]


def apart(
    inputs: list[torch.Tensor], cu: tuple[Any, Any], mask: Mask, scale: float
) -> list[torch.Tensor]:
    """In float64, each sequence by itself; 0 in rows that none has."""
    q, k, v = (x.detach().double() for x in inputs)
    whole = [torch.zeros_like(x) for x in (q, q, k, v)]
    for i in range(cu[0].numel() - 1):
        of_q, of_k = (slice(int(one[i]), int(one[i + 1])) for one in cu)
        one, two = (
            [x[rows].transpose(0, 1)[None] for x in of]
            for rows, of in ((of_q, (q, upstream(q))), (of_k, (k, v)))
        )
        if min(of_q.stop - of_q.start, of_k.stop - of_k.start) == 0:
            continue
        o, lse = forward(one[0], *two, scale=scale, mask=mask)
        parts = backward(one[0], *two, one[1], o, lse, scale=scale, mask=mask)
        for x, rows, part in zip(whole, (of_q, of_q, of_k, of_k), (o, *parts.values())):
            x[rows] = part[0].transpose(0, 1)
    return whole


def demand_close(ours: list[torch.Tensor], theirs: list[torch.Tensor]) -> None:
    for one, other in zip(ours, theirs, strict=True):
        assert one.shape == other.shape and one.isfinite().all()
        assert (one.double() - other).norm() <= 0.02 * other.norm(), (
            (one.double() - other).norm(),
            other.norm(),
        )
        assert not one[:GAP].any() and not one[-GAP:].any()


def gradients() -> None:
    cu = offsets(LENGTHS[0]), offsets(LENGTHS[1])
    for options, mask in (
        ({}, Mask()),
        ({"causal": True}, Mask(right=0)),
        ({"window": (3, 1), "scale": 0.3}, Mask(3, 1)),
        ({"window": (2, -1), "causal": True, "level": "batch"}, Mask(2, 0)),
        ({"max_seqlen_q": 9, "max_seqlen_k": 7, "layout": "thd", "level": "machine"}, Mask()),
    ):
        LAUNCHED.clear()
        inputs = tensors()
        demand_close(
            found(inputs, cu, **options), apart(inputs, cu, mask, options.get("scale", 0.125))
        )
        assert [by for by, *_ in LAUNCHED] == ["dash, packed"] and LAUNCHED[0][1] == (
            mask.left,
            mask.right,
        )
    # For self-attention one list of offsets, and one bound, is enough; slices of one projection are
    # taken as they are.
    same = (LENGTHS[0], LENGTHS[0])
    inputs = tensors(same, 2, 2, 128, dtype=torch.float16)
    expected = found(inputs, (cu[0], cu[0]), causal=True)
    demand_close(expected, apart(inputs, (cu[0], cu[0]), Mask(right=0), 128**-0.5))
    assert all(
        map(torch.equal, found(inputs, (cu[0], None), causal=True, max_seqlen_q=9), expected)
    )
    packed = torch.stack([x.detach() for x in inputs], 1).requires_grad_()
    (of_all,) = torch.autograd.grad(
        attention(*packed.unbind(1), cu_seqlens_q=cu[0], causal=True), packed, upstream(expected[0])
    )
    assert torch.equal(of_all, torch.stack(expected[1:], 1))
    o, lse = attention(*inputs, cu_seqlens_q=cu[0], return_lse=True)
    assert (
        lse.shape == (2, o.shape[0])
        and lse.requires_grad
        and lse[:, :GAP].isinf().all()
        and lse[:, GAP:-GAP].isfinite().all()
    )
    with torch.autocast("cpu", dtype=BF16):
        assert attention(*tensors(same, dtype=torch.float32), cu_seqlens_q=cu[0]).dtype == BF16
    reason = refused(
        lambda: torch.autograd.grad(
            torch.autograd.grad(
                attention(*inputs, cu_seqlens_q=cu[0]).sum(), inputs[0], create_graph=True
            )[0].sum(),
            inputs[1],
        ),
        RuntimeError,
    )
    assert (
        reason == "dash_attn.attention has first derivatives only; for second ones take PyTorch's"
        " SDPBackend.MATH"
    ), reason


def in_pytorch() -> None:
    """The operator as PyTorch checks it; one graph for all numbers of sequences and of rows;
    gradients by torch.func; vmap is refused."""
    cu = offsets(LENGTHS[0]), offsets(LENGTHS[1])
    q, k, v = (x.detach() for x in tensors())
    o, lse = attention(q, k, v, cu_seqlens_q=cu[0], cu_seqlens_k=cu[1], return_lse=True)
    torch.library.opcheck(
        operator.gradients,
        (o, q, k, v, o, lse, -1, 0, 0.125, None, None, *cu),
        test_utils=("test_schema", "test_faketensor", "test_aot_dispatch_dynamic"),
    )
    for dynamic in (False, True):
        torch._dynamo.reset()
        function = torch.compile(attention, backend="aot_eager", fullgraph=True, dynamic=dynamic)
        inputs = tensors()
        for options in ({"causal": True}, {"causal": True, "max_seqlen_q": 9, "max_seqlen_k": 8}):
            expected = found(inputs, cu, **options)
            assert all(map(torch.equal, found(inputs, cu, function, **options), expected))
        if dynamic:
            with torch.compiler.set_stance("fail_on_recompile"):
                other = [3, 8, 2, 2, 7, 6, 4]
                inputs, cu_other = tensors((other, other)), (offsets(other), offsets(other))
                options = {"causal": True, "max_seqlen_q": 11, "max_seqlen_k": 10}
                assert all(
                    map(
                        torch.equal,
                        found(inputs, cu_other, function, **options),
                        found(inputs, cu_other, **options),
                    )
                )

    def loss(q: Any, k: Any, v: Any) -> Any:
        return (
            attention(q, k, v, cu_seqlens_q=cu[0], cu_seqlens_k=cu[1], causal=True) * upstream(q)
        ).sum()

    for one, other in zip(
        torch.func.grad(loss, (0, 1, 2))(q, k, v),
        found(tensors(), cu, causal=True)[1:],
        strict=True,
    ):
        assert torch.equal(one, other)
    reason = refused(
        lambda: torch.vmap(lambda q: attention(q, k, v, cu_seqlens_q=cu[0], cu_seqlens_k=cu[1]))(
            q[None]
        ),
        RuntimeError,
    )
    assert reason == operator.NO_VMAP, reason


def by_pytorch() -> None:
    """varlen_attn of PyTorch, by FlashAttention, has our gradients while the drop-in is enabled."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.attention.varlen import varlen_attn

    def backward(do, q, k, v, o, lse, cum_q, cum_k, *_, scale=None, **sides):
        window = (sides.get("window_size_left"), sides.get("window_size_right"))
        return gradients_of_lists(
            "flash", do, q, k, v, o, lse, cum_q, cum_k, *window, scale or 0.125
        )

    LIBRARY.impl(FLASH, backward, "CPU")
    for name in (SDPA_FLASH, SDPA_CUDNN, CUDNN, EFFICIENT):
        LIBRARY.impl(name, lambda *_: None, "CPU")
    LIBRARY.impl("_flash_attention_forward", forward_of_varlen, "CPU", allow_override=True)
    cu = offsets(LENGTHS[0], 0)
    q, k, v = tensors((LENGTHS[0], LENGTHS[0]), gap=0)

    def function(window: tuple[int, int]) -> list[torch.Tensor]:
        LAUNCHED.clear()
        with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
            o = varlen_attn(q, k, v, cu, cu, 9, 9, window_size=window, enable_gqa=True)
        return [*torch.autograd.grad(o, (q, k, v), upstream(o)), LAUNCHED[0][:2]]

    for window in ((-1, -1), (-1, 0), (3, 0)):
        *theirs, by = function(window)
        assert by == ("flash", window), by
        with dash_attn.enable() as enabled:
            before = enabled.served[FLASH]
            *ours, by = function(window)
            assert (
                by == ("dash, packed", window)
                and enabled.served[FLASH] == before + 1
                and not enabled.left
            )
        assert all(map(torch.equal, ours, theirs))


def forward_of_varlen(*arguments: Any, num_splits: int | None = None, **options: Any) -> Any:
    """PyTorch states neither splits nor that a mask is a window's."""
    from on_cpu import flash_forward

    *given, is_causal, debug = arguments
    return flash_forward(
        *given, False, debug, num_splits=1, **options | {"scale": options.get("scale") or 0.125}
    )


def refusals() -> None:
    q, k, v = tensors()
    cu = offsets(LENGTHS[0])
    given = {"cu_seqlens_q": cu, "cu_seqlens_k": offsets(LENGTHS[1])}
    for arguments, options, message in (
        (
            (q[None], k, v),
            given,
            "q: expected 3 dimensions, [rows, heads, head_dim], found the shape (1, 23, 4, 64)",
        ),
        (
            (q, k, v[1:]),
            given,
            "v: expected the shape of k, (20, 2, 64), but for the head dim, found (19, 2, 64)",
        ),
        (
            (q, k, v),
            given | {"layout": "bshd"},
            "layout: expected thd, [rows, heads, head_dim], beside cu_seqlens, found 'bshd'",
        ),
        (
            (q, k, v),
            {"max_seqlen_q": 3},
            "cu_seqlens_q: expected offsets of sequences in q, found None beside others",
        ),
        (
            (q, k, v),
            given | {"max_seqlen_q": 0},
            "max_seqlen_q: expected a whole number of at least 1, or None for all rows, found 0",
        ),
        (
            (q, k, v),
            given | {"max_seqlen_k": torch.tensor(4, device="meta")},
            (
                "max_seqlen_k: expected a whole number of at least 1, or None "
                "for all rows, found a tensor: the host has to know it, by .item()"
            ),
        ),
        (
            (q, k, v),
            given | {"cu_seqlens_q": [0, 4]},
            "cu_seqlens_q: expected a tensor of PyTorch, found list",
        ),
        (
            (q, k, v),
            given | {"cu_seqlens_k": cu.long()},
            (
                "cu_seqlens_k: expected int32 of one dimension, found int64 of the "
                "shape (6,); cast it by .int()"
            ),
        ),
        (
            (q, k, v),
            given | {"cu_seqlens_q": cu.to("meta")},
            "cu_seqlens_q: expected a tensor on 'cpu' as q, found one on 'meta'",
        ),
        (
            (q, k, v),
            given | {"cu_seqlens_q": cu[:1]},
            "cu_seqlens_q: expected offsets of at least 1 sequence, one more than these, found 1",
        ),
        (
            (q, k, v),
            given | {"cu_seqlens_k": cu[:3]},
            "cu_seqlens_k: expected as many offsets as of q, 6, found 3",
        ),
        ((q, k, v), given | {"scale": float("inf")}, "scale: expected a finite number, found inf"),
    ):
        LAUNCHED.clear()
        reason = refused(
            lambda arguments=arguments, options=options: attention(*arguments, **options),
            ArgumentError,
        )
        assert reason == message, reason
        assert dash_attn.explain(*arguments, **options).refusal == message and not LAUNCHED
    # Only explain looks at numbers.
    for numbers, bound, message in (
        (
            [0, 9, 5, 7, 7, 7],
            None,
            (
                "cu_seqlens_q: expected numbers that ascend from 0 to 23 at most, found "
                "[0, 9, 5, 7, 7, 7]"
            ),
        ),
        (
            [0, 9, 10, 11, 12, 24],
            None,
            (
                "cu_seqlens_q: expected numbers that ascend from 0 to 23 at most, found "
                "[0, 9, 10, 11, 12, 24]"
            ),
        ),
        (
            [0, 9, 10, 11, 12, 13],
            8,
            "max_seqlen_q: expected a bound of all lengths, the longest is 9, found 8",
        ),
    ):
        wrong = given | {
            "cu_seqlens_q": torch.tensor(numbers, dtype=torch.int32),
            "max_seqlen_q": bound,
        }
        assert dash_attn.explain(q, k, v, **wrong).refusal == message
    alone = dash_attn.explain(q, k, v, cu_seqlens_q=cu).refusal
    assert alone.startswith("cu_seqlens_k: expected numbers that ascend from 0 to 20 at most"), (
        alone
    )
    explained = dash_attn.explain(q, k, v, causal=True, level="batch", **given)
    assert explained and "symmetric-shift, level batch" in str(explained), explained
    assert explained.forward.endswith(", level row"), explained
    theirs = dash_attn.explain(q, k, v, causal=True, level="batch", forward="torch", **given)
    assert theirs and "packed, one split" in theirs.forward, theirs
    problem.HAS_SPLITS = False
    reason = refused(
        lambda: attention(q, k, v, level="batch", forward="torch", **given), ArgumentError
    )
    assert reason == (
        "level: expected 'run', found 'batch': no forward pass of PyTorch promises it; leave out"
        ' forward="torch"'
    ), reason
    assert dash_attn.explain(q, k, v, causal=True, level="batch", **given)
    problem.HAS_SPLITS = True


for test in (gradients, in_pytorch, refusals, by_pytorch):
    test()
