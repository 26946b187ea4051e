# RUN: env DASH_CACHE=off %torch_python %s
# REQUIRES: torch, plain-libdash
"""v of another head dim than q and k in attention(): gradients beside float64 of batches, windows,
sinks and packed sequences; compiled programs and transforms; the kernels that it takes; what is
refused."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

import torch  # noqa: E402
from fixtures import refused  # noqa: E402
from on_cpu import LAUNCHED  # noqa: E402
from stub_driver import StubDriver  # noqa: E402

import dash_attn  # noqa: E402
import dash_attn.kernel.problem  # noqa: E402
from dash_attn import ArgumentError, Kernel, Tensor, attention, explain  # noqa: E402
from dash_attn.kernel.orders import texts_of  # noqa: E402
from dash_attn.kernel.runtime import maker_of  # noqa: E402
from dash_attn.kernel.tensors import contiguous  # noqa: E402
from dash_attn.reference import Mask, backward, forward  # noqa: E402
from dash_attn.torch import kernels, operator  # noqa: E402

DIMS = ((128, 64), (64, 128), (96, 128), (48, 40))  # of q and k, and of v
BF16, ROWS, HEADS, KV_HEADS = torch.bfloat16, 12, 4, 2
CU = torch.tensor([1, 6, 6, 11], dtype=torch.int32)  # a row in front, and one behind


def tensors(
    dims: tuple[int, int], batch: int | None = 2, has_sink: bool = False, dtype: Any = BF16
) -> list[torch.Tensor]:
    """batch: None is packed."""
    torch.manual_seed(5)
    of_qk, of_v = dims
    found = [
        torch.randn(*((ROWS, h, d) if batch is None else (batch, h, ROWS, d))).to(dtype)
        for h, d in ((HEADS, of_qk), (KV_HEADS, of_qk), (KV_HEADS, of_v))
    ]
    found += [torch.randn(HEADS)] * has_sink
    return [x.requires_grad_() for x in found]


def upstream(o: torch.Tensor) -> torch.Tensor:
    return torch.linspace(-1, 1, o.numel(), dtype=torch.float64).reshape(o.shape).to(o.dtype)


def ours(
    inputs: list[torch.Tensor], function: Any = attention, **options: Any
) -> list[torch.Tensor]:
    """o, the LSE, and the gradients of both."""
    sink = {"sink": inputs[3]} if len(inputs) > 3 else {}
    o, lse = function(*inputs[:3], return_lse=True, **sink, **options)
    of_lse = torch.where(lse.isinf(), 0, upstream(lse))
    return [o, lse, *torch.autograd.grad((o, lse), inputs, (upstream(o), of_lse))]


def exact(inputs: list[torch.Tensor], mask: Mask, scale: float) -> list[torch.Tensor]:
    """The same of a batch, in float64."""
    q, k, v, *rest = (x.detach().double() for x in inputs)
    sink = rest[0] if rest else None
    o, lse = forward(q, k, v, scale=scale, mask=mask, sink=sink)
    do = upstream(o)
    delta = (o * do).sum(-1) - upstream(lse)
    found = backward(q, k, v, do, o, lse, scale=scale, mask=mask, sink=sink, delta=delta)
    gradients = [found[name] for name in ("dq", "dk", "dv")]
    return [o, lse, *gradients, *([found["dsink"].sum(0)] if rest else [])]


def demand_close(found: list[torch.Tensor], expected: list[torch.Tensor]) -> None:
    for one, other in zip(found, expected, strict=True):
        assert one.shape == other.shape, (one.shape, other.shape)
        error = (one.double() - other).norm()
        assert error <= 0.02 * other.norm(), (error, other.norm())


def demand_same(found: Any, expected: Any) -> None:
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype and torch.equal(one, other)


def beside_float64() -> None:
    for dims in DIMS:
        for options, mask in (
            ({}, Mask()),
            ({"causal": True}, Mask(right=0)),
            ({"window": (3, 2)}, Mask(3, 2)),
            ({"window": (4, 0), "scale": 0.3}, Mask(4, 0)),
        ):
            scale = options.get("scale", dims[0] ** -0.5)
            for has_sink in (False, True):
                inputs = tensors(dims, has_sink=has_sink)
                expected = exact(inputs, mask, scale)
                found = ours(inputs, **options)
                demand_close(found, expected)
                turned = [x.detach().transpose(1, 2).contiguous() for x in inputs[:3]]
                turned = [x.requires_grad_() for x in turned]
                o = attention(
                    *turned, layout="bshd", sink=inputs[3] if has_sink else None, **options
                )
                of_o = torch.autograd.grad(o, turned, upstream(o.transpose(1, 2)).transpose(1, 2))
                assert torch.equal(o.transpose(1, 2), found[0])
                again = attention(*inputs[:3], sink=inputs[3] if has_sink else None, **options)
                alone = torch.autograd.grad(again, inputs[:3], upstream(again))
                demand_same([x.transpose(1, 2) for x in of_o], alone)
    inputs = tensors((40, 16), dtype=torch.float16)
    demand_close(ours(inputs), exact(inputs, Mask(), 40**-0.5))


def packed() -> None:
    """Each sequence has what it has alone; rows that none has are 0."""
    for dims in DIMS:
        for options, has_sink in (
            ({}, False),
            ({"causal": True, "level": "batch"}, True),
            ({"window": (2, 1), "level": "machine"}, False),
        ):
            inputs = tensors(dims, None, has_sink)
            LAUNCHED.clear()
            o, lse, *found = ours(inputs, cu_seqlens_q=CU, **options)
            assert o.is_contiguous() and o.shape == (ROWS, HEADS, dims[1])
            assert [by.split(",")[:2] for by, *_ in LAUNCHED] == [["dash", " packed"]]
            of_o, of_lse = upstream(o), upstream(lse)
            whole = [torch.zeros_like(x, dtype=torch.float64) for x in (o, *inputs)]
            window = options.get("window", (-1, 0 if "causal" in options else -1))
            for begin, end in ((1, 6), (6, 11)):
                q, k, v = (x[begin:end].transpose(0, 1)[None].double() for x in inputs[:3])
                given = {"scale": dims[0] ** -0.5, "mask": Mask(*window)}
                given |= {"sink": inputs[3].double() if has_sink else None}
                one, sums = forward(q, k, v, **given)
                do = of_o[begin:end].transpose(0, 1)[None].double()
                delta = (one * do).sum(-1) - of_lse[None, :, begin:end]
                parts = backward(q, k, v, do, one, sums, **given, delta=delta)
                for each, name in zip(whole[1:4], ("dq", "dk", "dv")):
                    each[begin:end] = parts[name][0].transpose(0, 1)
                whole[0][begin:end] = one[0].transpose(0, 1)
                if has_sink:
                    whole[4] += parts["dsink"][0]
            demand_close([o, *found], whole)
            assert not any(x[[0, -1]].any() for x in (o, *found[:3]))


def through_pytorch() -> None:
    """Operators as PyTorch checks them, one graph for all sizes, vmap, torch.func."""
    for dims in ((64, 128), (48, 40)):
        q, k, v, sink = (x.detach() for x in tensors(dims, has_sink=True))
        o, lse = attention(q, k, v, return_lse=True)
        tests = ("test_schema", "test_faketensor", "test_aot_dispatch_dynamic")
        of_batch = (o, q, k, v, o, lse, -1, -1, 0.125)
        for more in ((lse,), (None, sink.float())):
            torch.library.opcheck(operator.gradients, (*of_batch, *more), test_utils=tests)
        x, y, z = (one.detach() for one in tensors(dims, None))
        o, lse = attention(x, y, z, cu_seqlens_q=CU, return_lse=True)
        of_list = (o, x, y, z, o, lse, -1, 0, 0.125, None)
        for numbers in (None, sink.float()):
            given = (*of_list, numbers, CU, CU, "run")
            torch.library.opcheck(operator.gradients, given, test_utils=tests)
        for dynamic in (False, True):
            torch._dynamo.reset()
            function = torch.compile(
                attention, backend="aot_eager", fullgraph=True, dynamic=dynamic
            )
            for inputs, options in (
                (tensors(dims), {"causal": True}),
                (tensors(dims), {"window": (3, 2)}),
                (tensors(dims, has_sink=True), {}),
                (tensors(dims, None), {"cu_seqlens_q": CU}),
            ):
                demand_same(ours(inputs, function, **options), ours(inputs, **options))
        batches = [torch.stack([x, x.flip(0)]) for x in (q, k, v)]
        each = torch.stack([attention(*(x[i] for x in batches)) for i in range(2)])
        assert torch.equal(torch.vmap(attention)(*batches), each)

        def loss(q: Any, k: Any, v: Any) -> Any:
            return attention(q, k, v, causal=True).square().sum()

        grad = torch.func.grad(loss, (0, 1, 2))
        leaves = [x.clone().requires_grad_() for x in (q, k, v)]
        demand_same(grad(q, k, v), torch.autograd.grad(loss(*leaves), leaves))
        assert torch.equal(torch.vmap(grad)(*batches)[2][1], grad(*(x[1] for x in batches))[2])


def by_kernels() -> None:
    """The kernels of a batch and of a list have both head dims, and take such tensors and no
    others. explain says by what both passes are computed."""
    driver = StubDriver()
    for of_qk, of_v in DIMS:
        inputs = [x.detach() for x in tensors((of_qk, of_v))]
        of_batch = kernels.order_of(*inputs, (-1, 0), "bhsd").wanted
        dims = of_qk, of_v
        of_list = kernels.kernels_for(dims, BF16, (-1, 0), "run")[0].manifest["program"]
        assert (of_list["head_dim"], of_list["head_dim_v"]) == dims
        kernel = Kernel(maker_of(texts_of(of_batch)), driver)
        columns = {"q": of_qk, "k": of_qk, "v": of_v, "do": of_v, "o": of_v, "lse": 0}
        columns |= {"dq": of_qk, "dk": of_qk, "dv": of_v}

        def given(**changed: int) -> dict[str, Tensor]:
            found = {}
            for number, (name, dim) in enumerate((columns | changed).items()):
                heads = KV_HEADS if name in ("k", "v", "dk", "dv") else HEADS
                shape = (2, heads, ROWS, dim) if dim else (2, heads, ROWS)
                element = "bf16" if dim else "f32"
                found[name] = Tensor((number + 1) << 40, shape, contiguous(shape), element)
            return found

        kernel.backward(**given(), stream=7)
        for name in ("q", "v", "o", "dv"):
            wrong = {name: of_qk + of_v - columns[name]}
            assert f"{name}: expected" in refused(
                lambda: kernel.backward(**given(**wrong), stream=7), ArgumentError
            )
        said = explain(*inputs, causal=True)
        assert said.certificate.split()[1:] == [kernel.certificate], said
        assert said.forward.startswith(f"dash, causal mask, bf16, head dim {of_qk}/{of_v}, ")
        assert f"head dim {of_qk}/{of_v}, " in said.backward and "padded" not in str(said)
        padded = f"{'q and k' if of_qk < of_v else 'v'} padded to head dim {max(of_qk, of_v)}, "
        assert padded in explain(*inputs, window=(3, 0), forward="torch").forward
        packed = explain(*tensors((of_qk, of_v), None), cu_seqlens_q=CU, forward="torch")
        assert padded in packed.forward


def sliced() -> None:
    """More of a batch than one launch counts: each slice has the gradients that it has alone."""
    real = dash_attn.kernel.problem.ask

    def few(**numbers: Any) -> Any:
        answer = real(**numbers)
        return answer if isinstance(answer, str) else answer._replace(batch=min(answer.batch, 3))

    inputs = tensors((48, 40), batch=5)
    expected = [
        torch.cat(parts)
        for parts in zip(
            *(
                [attention(*part), *torch.autograd.grad(attention(*part).sum(), part)]
                for part in zip(*(x.split(3) for x in inputs))
            )
        )
    ]
    dash_attn.kernel.problem.ask = few
    o = attention(*inputs)
    demand_same([o, *torch.autograd.grad(o.sum(), inputs)], expected)
    assert explain(*inputs).launches == 2
    dash_attn.kernel.problem.ask = real


def refusals() -> None:
    q, k, v = (x.detach() for x in tensors((64, 128)))
    x, y, z = (x.detach() for x in tensors((64, 128), None))
    lists = {"cu_seqlens_q": CU}
    odd = "v: expected a head dim that is a multiple of 8 up to 256, found "
    for given, options, said in (
        ((q, k, v[..., :36]), {}, odd + "36; pad v with zeros to 40"),
        ((x, y, z[..., :36]), lists, odd + "36; pad v with zeros to 40"),
        ((q, k, torch.cat([v, v, v], -1)), {}, odd + "384"),
        ((q, k, v[..., :0]), {}, odd + "0"),
        ((q, v, v), {}, "k: expected the head dim of q, 64, found 128"),
        (
            (q, k, v[:, :1]),
            {},
            (
                "v: expected the shape of k, (2, 2, 12, 64), but for the head dim,"
                " found (2, 1, 12, 128)"
            ),
        ),
    ):
        assert refused(lambda: attention(*given, **options), ArgumentError) == said
        assert explain(*given, **options).refusal == said
        torch._dynamo.reset()
        function = torch.compile(attention, backend="aot_eager", fullgraph=True)
        compiled = refused(lambda: function(*given, **options), Exception)
        assert said.split(";")[0] in compiled, compiled


for test in (
    beside_float64,
    packed,
    through_pytorch,
    by_kernels,
    sliced,
    refusals,
):
    test()
