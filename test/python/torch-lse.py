# RUN: %torch_python %s
# REQUIRES: torch, plain-libdash
"""The LSE of attention() has gradients: beside float64, in what is made of it (parts of k that are
merged, a sink by hand), through every part of PyTorch, and with kernels that take delta. Then
tensors that are changed in place behind attention."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

import numpy as np  # noqa: E402
import torch  # noqa: E402
from fixtures import refused  # noqa: E402
from on_cpu import LAUNCHED  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

from dash_attn import attention  # noqa: E402
from dash_attn.torch import kernels, operator  # noqa: E402
from dash_attn.torch.delta import delta_of  # noqa: E402

HEADS, KV_HEADS, ROWS = 4, 2, 12
BF16 = torch.bfloat16
CU = torch.tensor([0, 5, 5, ROWS], dtype=torch.int32)


def tensors(kv_rows: int = ROWS, has_sink: bool = False, batch: int = 2) -> list[torch.Tensor]:
    torch.manual_seed(3)
    found = [
        torch.randn(batch, heads, rows, 64, dtype=BF16)
        for heads, rows in ((HEADS, ROWS), (KV_HEADS, kv_rows), (KV_HEADS, kv_rows))
    ]
    return [x.requires_grad_() for x in (*found, *[torch.linspace(-2, 3, HEADS)] * has_sink)]


def packed(has_sink: bool = False) -> list[torch.Tensor]:
    return [
        x.detach()[0].transpose(0, 1).contiguous().requires_grad_() if x.dim() == 4 else x
        for x in tensors(has_sink=has_sink, batch=1)
    ]


def exact(
    q: Any,
    k: Any,
    v: Any,
    sink: Any = None,
    *,
    causal: bool = False,
    window: tuple[int, int] = (-1, -1),
) -> tuple[Any, Any]:
    """o and the LSE of PyTorch's own arithmetic, which autograd goes through; rows that see nothing
    have 0 and infinity."""
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
    place = (
        torch.arange(k.shape[2])[None] - torch.arange(q.shape[2])[:, None] - k.shape[2] + q.shape[2]
    )
    left, right = window[0], 0 if causal else window[1]
    hidden = (place < -left if left >= 0 else place > place.max()) | (
        place > right if right >= 0 else place > place.max()
    )
    scores = (q.shape[3] ** -0.5 * q @ k.mT).masked_fill(hidden, -torch.inf)
    if sink is not None:
        scores = torch.cat([scores, sink[:, None, None].expand(*scores.shape[:3], 1)], -1)
    empty = hidden.all(-1)
    p = scores.masked_fill(empty[:, None], 0).softmax(-1)[..., : k.shape[2]]
    return (p @ v).masked_fill(empty[:, None], 0), scores.logsumexp(-1).masked_fill(
        empty, torch.inf
    )


def exact_of_packed(q: Any, k: Any, v: Any, sink: Any = None, **options: Any) -> tuple[Any, Any]:
    parts = [
        exact(*(x[i:j].transpose(0, 1)[None] for x in (q, k, v)), sink, **options)
        for i, j in ((0, 5), (5, ROWS))
    ]
    return torch.cat([o[0].transpose(0, 1) for o, _ in parts]), torch.cat(
        [lse[0] for _, lse in parts], 1
    )


def ours(q: Any, k: Any, v: Any, sink: Any = None, **options: Any) -> tuple[Any, Any]:
    return attention(q, k, v, sink=sink, return_lse=True, **options)


def upstream(x: torch.Tensor, shift: float) -> torch.Tensor:
    return (
        torch.linspace(-1 + shift, 1, x.numel(), dtype=torch.float64)
        .mul(9)
        .cos()
        .reshape(x.shape)
        .to(x.dtype)
    )


def of_both(
    function: Callable[..., Any], inputs: list[torch.Tensor], **options: Any
) -> list[torch.Tensor]:
    o, lse = function(*inputs, **options)
    return list(torch.autograd.grad((o, lse), inputs, (upstream(o, 0), upstream(lse, 0.5))))


def wide(inputs: list[torch.Tensor]) -> list[torch.Tensor]:
    return [x.detach().double().requires_grad_() for x in inputs]


def demand_close(found: Any, expected: Any, tolerance: float = 0.02) -> None:
    for one, other in zip(found, expected, strict=True):
        assert one.shape == other.shape and one.isfinite().all()
        assert (one.double() - other).norm() <= tolerance * other.norm(), (
            one.double() - other
        ).norm() / other.norm()


def demand_same(found: Any, expected: Any) -> None:
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype and torch.equal(one, other)


def beside_float64() -> None:
    for has_sink in (False, True):
        for kv_rows, options in (
            (ROWS, {}),
            (ROWS, {"causal": True}),
            (ROWS, {"window": (3, 0)}),
            (20, {}),
            (20, {"window": (6, 2)}),
        ):
            inputs = tensors(kv_rows, has_sink)
            LAUNCHED.clear()
            demand_close(of_both(ours, inputs, **options), of_both(exact, wide(inputs), **options))
            assert [by for by, *_ in LAUNCHED] == [
                "dash, sink, of the LSE" if has_sink else "dash, of the LSE"
            ]
        inputs = packed(has_sink)
        for options in ({}, {"causal": True}, {"window": (3, 0)}):
            LAUNCHED.clear()
            demand_close(
                of_both(ours, inputs, cu_seqlens_q=CU, **options),
                of_both(exact_of_packed, wide(inputs), **options),
            )
            assert [by for by, *_ in LAUNCHED] == [
                "dash, packed, sink, of the LSE" if has_sink else "dash, packed, of the LSE"
            ]
    turned = [x.detach().transpose(1, 2).contiguous().requires_grad_() for x in tensors()]
    demand_close(
        of_both(ours, turned, layout="bshd", causal=True),
        of_both(
            lambda *x: (lambda o, lse: (o.transpose(1, 2), lse))(
                *exact(*(one.transpose(1, 2) for one in x), causal=True)
            ),
            wide(turned),
        ),
    )


def of_one() -> None:
    """For o alone the kernel is that which takes o; for the LSE alone o has no gradient; of neither
    nothing is launched."""
    for inputs, options in (
        (tensors(), {}),
        (tensors(has_sink=True), {}),
        (packed(), {"cu_seqlens_q": CU}),
        (packed(has_sink=True), {"cu_seqlens_q": CU}),
    ):
        LAUNCHED.clear()
        o, lse = ours(*inputs, **options)
        plain = torch.autograd.grad(o, inputs, upstream(o, 0))
        alone = attention(*inputs[:3], sink=inputs[3] if len(inputs) > 3 else None, **options)
        demand_same(plain, torch.autograd.grad(alone, inputs, upstream(o, 0)))
        assert not [by for by, *_ in LAUNCHED if "LSE" in by]
        o, lse = ours(*inputs, **options)
        found = torch.autograd.grad(lse, inputs, upstream(lse, 0.5), allow_unused=True)
        doubles = wide(inputs)
        of_lse = (exact_of_packed if options else exact)(*doubles)[1]
        expected = torch.autograd.grad(
            of_lse, [doubles[0], doubles[1], *doubles[3:]], upstream(of_lse, 0.5)
        )
        demand_close([found[0], found[1], *found[3:]], expected)
        assert not found[2].any()


def merged() -> None:
    """Two halves of k by themselves, weighted by their LSE as ring attention does, are the whole;
    so is a sink by hand."""
    q, k, v = tensors(20)

    def in_parts(q: Any, k: Any, v: Any) -> Any:
        parts = [ours(q, k[:, :, rows], v[:, :, rows]) for rows in (slice(8), slice(8, 20))]
        weights = torch.stack([lse for _, lse in parts]).softmax(0)
        return sum(weight[..., None] * o for weight, (o, _) in zip(weights, parts))

    doubles = wide([q, k, v])
    whole = exact(*doubles)[0]
    found = in_parts(q, k, v)
    demand_close([found], [whole])
    demand_close(
        torch.autograd.grad(found, (q, k, v), upstream(found, 0)),
        torch.autograd.grad(whole, doubles, upstream(whole, 0)),
    )

    inputs = tensors(has_sink=True)

    def by_hand(q: Any, k: Any, v: Any, sink: Any) -> Any:
        o, lse = ours(q, k, v, causal=True)
        return o * torch.sigmoid(lse - sink[:, None])[..., None]

    doubles = wide(inputs)
    whole, found = exact(*doubles, causal=True)[0], by_hand(*inputs)
    demand_close(
        torch.autograd.grad(found, inputs, upstream(whole, 0).to(found.dtype)),
        torch.autograd.grad(whole, doubles, upstream(whole, 0)),
    )


def of_empty_rows() -> None:
    """Rows that see nothing: whatever is made of their LSE, it is no part of a gradient."""
    inputs = tensors(kv_rows=5)
    o, lse = ours(*inputs, window=(20, 0))
    assert lse[:, :, : ROWS - 5].isinf().all()
    of_lse = torch.where(lse.isinf(), torch.nan, upstream(lse, 0.5))
    found = torch.autograd.grad((o, lse), inputs, (upstream(o, 0), of_lse))
    doubles = wide(inputs)
    expected = exact(*doubles, window=(20, 0))
    demand_close(
        found,
        torch.autograd.grad(
            expected, doubles, (upstream(o, 0).double(), of_lse.nan_to_num(0).double())
        ),
    )


def delta() -> None:
    """Added as kernels add: 8 elements one after the other, then pairs of such sums, pairs of
    pairs, and so on; of head dims between powers of two zeros are added, too."""
    for head_dim in (8, 24, 40, 64, 96, 120, 128):
        for dtype in (BF16, torch.float16):
            torch.manual_seed(1)
            o, do = (
                torch.randn(2, ROWS, 3, head_dim, dtype=dtype).transpose(1, 2) for _ in range(2)
            )
            lse, dlse = torch.zeros(2, 3, ROWS), torch.randn(2, 3, ROWS)
            lse[:, :, 4] = torch.inf
            products = (o.double() * do.double()).float().numpy()
            sums = products.reshape(*products.shape[:3], -1, 8)
            added = sums[..., 0]
            for j in range(1, 8):
                added = added + sums[..., j]
            lanes = 1 << (added.shape[-1] - 1).bit_length()
            added = np.pad(added, [(0, 0)] * 3 + [(0, lanes - added.shape[-1])])
            while added.shape[-1] > 1:
                added = added.reshape(*added.shape[:3], -1, 2)
                added = added[..., 0] + added[..., 1]
            expected = np.where(lse.isinf().numpy(), np.float32(0), added[..., 0] - dlse.numpy())
            found = delta_of(do, o, lse, dlse)
            assert (
                found.is_contiguous()
                and found.dtype == torch.float32
                and (found.numpy() == expected).all()
            )
            of_packed = delta_of(
                do[0].transpose(0, 1), o[0].transpose(0, 1), lse[0], dlse[0].expand(3, ROWS)
            )
            assert torch.equal(of_packed, found[0])


def through_pytorch() -> None:
    for inputs, options in (
        (tensors(), {"causal": True}),
        (tensors(has_sink=True), {"causal": True}),
        (packed(), {"cu_seqlens_q": CU}),
        (packed(has_sink=True), {"cu_seqlens_q": CU}),
    ):
        eager = of_both(ours, inputs, **options)
        for backend, dynamic in (("aot_eager", False), ("aot_eager", True), ("eager", False)):
            torch._dynamo.reset()
            demand_same(
                of_both(
                    torch.compile(ours, backend=backend, fullgraph=True, dynamic=dynamic),
                    inputs,
                    **options,
                ),
                eager,
            )
        demand_same(
            of_both(
                lambda *x, options=options: checkpoint(ours, *x, use_reentrant=False, **options),
                inputs,
            ),
            eager,
        )
        o, lse = ours(*inputs, **options)
        dq = torch.autograd.grad(
            (o, lse), inputs[0], (upstream(o, 0), upstream(lse, 0.5)), create_graph=True
        )[0]
        message = refused(
            lambda dq=dq, inputs=inputs: torch.autograd.grad(dq.sum(), inputs[1]), RuntimeError
        )
        assert message.startswith("dash_attn.attention has first derivatives only"), message
    torch._dynamo.reset()
    for inputs in (tensors(), tensors(has_sink=True)):
        given = [x.detach() for x in inputs]

        def loss(*x: Any) -> Any:
            o, lse = ours(*x, causal=True)
            return (o.float() * upstream(o, 0).float()).sum() + (lse * upstream(lse, 0.5)).sum()

        grad = torch.func.grad(loss, tuple(range(len(given))))
        leaves = [x.clone().requires_grad_() for x in given]
        LAUNCHED.clear()
        demand_same(grad(*given), torch.autograd.grad(loss(*leaves), leaves))
        assert all(by.endswith("of the LSE") for by, *_ in LAUNCHED)
        batches = [torch.stack([x, x.flip(0)]) for x in given[:3]]
        both = torch.vmap(grad, (0, 0, 0, None)[: len(given)])(*batches, *given[3:])
        demand_same([x[1] for x in both], grad(*(x[1] for x in batches), *given[3:]))
    q, k, v, sink = (x.detach() for x in tensors(has_sink=True))
    o, lse = ours(q, k, v)
    tests = ("test_schema", "test_faketensor", "test_aot_dispatch_dynamic")
    torch.library.opcheck(
        operator.gradients, (o, q, k, v, o, lse, -1, -1, 0.125, lse), test_utils=tests
    )
    torch.library.opcheck(
        operator.gradients, (o, q, k, v, o, lse, -1, -1, 0.125, lse, sink), test_utils=tests
    )
    q, k, v, sink = (x.detach() for x in packed(has_sink=True))
    o, lse = ours(q, k, v, cu_seqlens_q=CU)
    torch.library.opcheck(
        operator.gradients,
        (o, q, k, v, o, lse, -1, -1, 0.125, lse, None, CU, CU, "run"),
        test_utils=tests[:2],
    )
    torch.library.opcheck(
        operator.gradients,
        (o, q, k, v, o, lse, -1, -1, 0.125, lse, sink, CU, None, "batch"),
        test_utils=tests[:2],
    )


def by_kernels() -> None:
    """Another program, of the same order."""
    q, k, v = tensors()
    for window in ((-1, 0), (-1, -1), (4, 2)):
        for has_sink in (False, True):
            wanted = [
                kernels.order_of(
                    q, k, v, window, "bhsd", has_sink=has_sink, takes_delta=takes_delta
                ).wanted
                for takes_delta in (False, True)
            ]
            assert wanted[1] == wanted[0]._replace(takes_delta=True)
            batch = [kernels.kernel_of(one) for one in wanted]
            lists = [
                kernels.kernels_for(
                    (64, 64), BF16, window, "run", has_sink=has_sink, takes_delta=takes_delta
                )[0]
                for takes_delta in (False, True)
            ]
            for plain, of_delta in (batch, lists):
                names = [spec["name"] for spec in of_delta.manifest["tensors"]]
                assert names == [
                    spec["name"].replace("o", "delta") if spec["name"] == "o" else spec["name"]
                    for spec in plain.manifest["tensors"]
                ]
                assert (
                    of_delta.certificate != plain.certificate
                    and of_delta.manifest["program"] == plain.manifest["program"]
                )
                assert of_delta.manifest["order"] == plain.manifest["order"]


def in_place() -> None:
    """What is changed behind attention, though its gradients follow from it, is found: eagerly, and
    in programs of every backend."""
    said = (
        (
            "one of the variables needed for gradient computation has been modified by an inplace"
            " operation"
        ),
        "Attention is a view and is being modified inplace",
    )
    gate = torch.linspace(0.1, 2, ROWS)

    def of_o(*x: torch.Tensor, **options: Any) -> Any:
        o, _ = ours(*x, **options)
        o.mul_(2)
        return o.float().sum()

    def of_q(q: torch.Tensor, *x: torch.Tensor, **options: Any) -> Any:
        q = q * 1
        o, _ = ours(q, *x, **options)
        q.mul_(2)
        return o.float().sum()

    def out_of_place(*x: torch.Tensor, **options: Any) -> Any:
        o, _ = ours(*x, **options)
        return (o * 2).float().sum()

    def by_itself(*x: torch.Tensor, **options: Any) -> Any:
        o = attention(*x[:3], sink=x[3] if len(x) > 3 else None, **options)
        o.mul_(gate[0])
        return o.float().sum()

    for inputs, options in (
        (tensors(), {}),
        (tensors(has_sink=True), {}),
        (packed(), {"cu_seqlens_q": CU}),
        (packed(has_sink=True), {"cu_seqlens_q": CU}),
    ):
        for backend in (None, "eager", "aot_eager"):
            for function in (of_o, of_q, by_itself, out_of_place):
                torch._dynamo.reset()
                run = (
                    function
                    if backend is None
                    else torch.compile(function, backend=backend, fullgraph=True)
                )

                def compute(run: Any = run, inputs: Any = inputs, options: Any = options) -> Any:
                    return torch.autograd.grad(run(*inputs, **options), inputs)

                if function is out_of_place:
                    demand_same(
                        compute(), torch.autograd.grad(out_of_place(*inputs, **options), inputs)
                    )
                else:
                    message = refused(compute, Exception)
                    assert any(one in message for one in said), message


for test in (
    beside_float64,
    of_one,
    merged,
    of_empty_rows,
    delta,
    through_pytorch,
    by_kernels,
    in_place,
):
    test()
