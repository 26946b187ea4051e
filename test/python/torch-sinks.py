# RUN: %torch_python %s
# REQUIRES: torch, plain-libdash
"""attention() with a sink: beside a softmax with one column more, through every part of PyTorch, in
a model of gpt-oss, and refusals."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

import torch  # noqa: E402
from fixtures import refused  # noqa: E402
from on_cpu import LAUNCHED  # noqa: E402
from transformers import GptOssConfig, GptOssForCausalLM  # noqa: E402

import dash_attn.transformers  # noqa: E402
from torch._dynamo.testing import AotEagerAndRecordGraphs  # noqa: E402

from dash_attn import ArgumentError, attention, explain  # noqa: E402
from dash_attn.torch import operator  # noqa: E402
from dash_attn.torch.foreign import foreign_forward, foreign_operator  # noqa: E402
from dash_attn.torch.forward import forward_operator  # noqa: E402

HEADS, KV_HEADS, ROWS = 4, 2, 12


def tensors(
    batch: int = 2, layout: str = "bhsd", of_sink: torch.dtype = torch.bfloat16
) -> list[torch.Tensor]:
    """q, k, v and a sink, of a size at which its part is neither all nor nothing."""
    torch.manual_seed(3)
    found = [torch.randn(batch, heads, ROWS, 64) for heads in (HEADS, KV_HEADS, KV_HEADS)]
    found = [(x if layout == "bhsd" else x.transpose(1, 2).contiguous()).bfloat16() for x in found]
    return [x.requires_grad_() for x in (*found, torch.linspace(-2, 3, HEADS).to(of_sink))]


def exact(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    sink: torch.Tensor,
    causal: bool = False,
    window: tuple[int, int] = (-1, -1),
    scale: float = 0.125,
    layout: str = "bhsd",
) -> list[torch.Tensor]:
    """o, the LSE and all gradients in float64: the sink is a column of scores, left out of the
    product with v."""
    inputs = [x.detach().double().requires_grad_() for x in (q, k, v, sink)]
    of_q, of_k, of_v = (x.transpose(1, 2) if layout == "bshd" else x for x in inputs[:3])
    of_k, of_v = (x.repeat_interleave(HEADS // KV_HEADS, 1) for x in (of_k, of_v))
    place = torch.arange(ROWS)[None] - torch.arange(ROWS)[:, None]
    left, right = window[0], 0 if causal else window[1]
    hidden = (place < -left if left >= 0 else place > ROWS) | (
        place > right if right >= 0 else place > ROWS
    )
    scores = (scale * of_q @ of_k.mT).masked_fill(hidden, -torch.inf)
    scores = torch.cat([scores, inputs[3][:, None, None].expand(*scores.shape[:3], 1)], -1)
    o = scores.softmax(-1)[..., :-1] @ of_v
    o = o.transpose(1, 2) if layout == "bshd" else o
    return [o, scores.logsumexp(-1), *torch.autograd.grad(o, inputs, upstream(o))]


def upstream(o: torch.Tensor) -> torch.Tensor:
    return torch.linspace(-1, 1, o.numel(), dtype=torch.float64).cos().reshape(o.shape).to(o.dtype)


def found(function: Any, *inputs: torch.Tensor, **options: Any) -> list[torch.Tensor]:
    o, lse = function(*inputs[:3], sink=inputs[3], return_lse=True, **options)
    return [o, lse, *torch.autograd.grad(o, inputs, upstream(o))]


def demand_close(
    ours: list[torch.Tensor], theirs: list[torch.Tensor], tolerance: float = 0.02
) -> None:
    for one, other in zip(ours, theirs, strict=True):
        assert one.shape == other.shape, (one.shape, other.shape)
        assert (one.double() - other).norm() <= tolerance * other.norm(), (
            (one.double() - other).norm(),
            other.norm(),
        )


def demand_same(ours: Any, theirs: Any) -> None:
    for one, other in zip(ours, theirs, strict=True):
        assert one.dtype == other.dtype and torch.equal(one, other), (one, other)


def gradients() -> None:
    LAUNCHED.clear()
    for options in (
        {"causal": True},
        {},
        {"scale": 0.3},
        {"window": (3, 0)},
        {"causal": True, "layout": "bshd"},
        {"causal": True, "forward": "torch"},
        {"window": (3, 0), "forward": "torch"},
    ):
        for of_sink in (torch.bfloat16, torch.float32):
            inputs = tensors(layout=options.get("layout", "bhsd"), of_sink=of_sink)
            ours = found(attention, *inputs, **options)
            asked = {name: one for name, one in options.items() if name != "forward"}
            demand_close(ours, exact(*inputs, **asked))
            assert ours[-1].dtype == of_sink
    assert {(by, window) for by, window, _ in LAUNCHED} == {
        ("dash, sink", window) for window in ((-1, 0), (-1, -1), (3, 0))
    }
    q, k, v, sink = tensors()
    one = torch.autograd.grad(
        attention(q.detach(), k.detach(), v.detach(), causal=True, sink=sink).sum(), sink
    )[0]
    assert one.shape == sink.shape and one.abs().sum() > 0
    none = attention(q, k, v, causal=True, sink=torch.full_like(sink, -60))
    assert torch.equal(none, attention(q, k, v, causal=True))


def compiled(*inputs: torch.Tensor, dynamic: bool = False, **options: Any) -> list[torch.Tensor]:
    """By a graph that has one operator, dash's forward or PyTorch's with the sink's part; it has no
    sigmoid that a compiler would compute by code of its own."""
    torch._dynamo.reset()
    backend = AotEagerAndRecordGraphs()
    ours = found(
        torch.compile(attention, backend=backend, fullgraph=True, dynamic=dynamic),
        *inputs,
        **options,
    )
    called = [node.target for graph in backend.fw_graphs for node in graph.graph.nodes]
    of_both = {"torch": foreign_operator, "dash": forward_operator}
    counts = {name: called.count(one) for name, one in of_both.items()}
    assert counts.pop(options.get("forward", "dash")) == 1 and not any(counts.values()), called
    assert not any("sigmoid" in str(one) for one in called), called
    return ours


def in_operator() -> None:
    """PyTorch's forward has the same bits and strides as an operator, of batches that lie in any
    order, and of packed sequences; those of a compiler, too."""
    sink, cu = torch.linspace(-2, 3, HEADS), torch.tensor([0, 5, ROWS], dtype=torch.int32)
    q, k, v = (x.detach() for x in tensors()[:3])
    turned = [x.transpose(1, 2).contiguous().transpose(1, 2) for x in (q, k, v)]
    packed = [x[0].transpose(0, 1) for x in (q, k, v)]
    for given in (
        (q, k, v, -1, 0, 0.125, sink),
        (*turned, -1, -1, 0.3, sink),
        (*turned, 3, 0, 0.125, sink),
        (q, k, v, -1, 0, 0.125),
        (*packed, -1, 0, 0.125, sink, cu, None, 7, 7),
    ):
        ours, theirs = foreign_operator(*given), foreign_forward(*given)
        demand_same(ours, theirs)
        assert [x.stride() for x in ours] == [x.stride() for x in theirs]
        torch.library.opcheck(
            foreign_operator,
            given,
            test_utils=("test_schema", "test_faketensor", "test_aot_dispatch_dynamic"),
        )
    for options in (
        {"forward": "torch"},
        {"causal": True},
        {"causal": True, "forward": "torch"},
        {"window": (3, 0), "forward": "torch"},
        {"causal": True, "layout": "bshd"},
        {"causal": True, "layout": "bshd", "forward": "torch"},
    ):
        inputs = tensors(layout=options.get("layout", "bhsd"))
        ours, theirs = compiled(*inputs, **options), found(attention, *inputs, **options)
        demand_same(ours, theirs)
        assert [x.stride() for x in ours] == [x.stride() for x in theirs]


def through_pytorch() -> None:
    inputs = tensors()
    eager = found(attention, *inputs, causal=True)
    for dynamic in (False, True):
        demand_same(compiled(*inputs, dynamic=dynamic, causal=True), eager)
    q, k, v, sink = (x.detach() for x in inputs)
    o, lse = attention(q, k, v, sink=sink, return_lse=True)
    torch.library.opcheck(
        operator.gradients,
        (o, q, k, v, o, lse, -1, -1, 0.125, None, sink.float()),
        test_utils=("test_schema", "test_faketensor", "test_aot_dispatch_dynamic"),
    )

    def loss(q: Any, k: Any, v: Any, sink: Any) -> Any:
        return attention(q, k, v, causal=True, sink=sink).square().sum()

    def attended(q: Any, k: Any, v: Any, sink: Any) -> Any:
        return attention(q, k, v, causal=True, sink=sink)

    grad, one = torch.func.grad(loss, (0, 1, 2, 3)), (q, k, v, sink)
    leaves = [x.clone().requires_grad_() for x in one]
    demand_same(grad(*one), torch.autograd.grad(loss(*leaves), leaves))
    batches = [torch.stack([x, x.flip(0)]) for x in one[:3]]
    both = torch.vmap(grad, (0, 0, 0, None))(*batches, sink)
    demand_same([x[1] for x in both], grad(*(x[1] for x in batches), sink))
    torch._dynamo.reset()
    demand_same(
        torch.compile(torch.vmap(attended, (0, 0, 0, None)), backend="aot_eager")(*batches, sink),
        torch.vmap(attended, (0, 0, 0, None))(*batches, sink),
    )
    message = (
        "sink: expected one for all of vmap's dimension, found one for each; call attention in a"
        " loop"
    )
    assert (
        refused(lambda: torch.vmap(grad)(*batches, torch.stack([sink, sink])), RuntimeError)
        == message
    )
    wide = [x.float().requires_grad_() for x in one]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        under = found(attention, *wide, causal=True)
    assert [x.dtype for x in under] == [torch.bfloat16, *[torch.float32] * 5]
    demand_close(under, exact(*inputs, causal=True))
    message = refused(
        lambda: torch.autograd.grad(
            torch.autograd.grad(loss(*leaves), leaves[0], create_graph=True)[0].sum(), leaves[1]
        ),
        RuntimeError,
    )
    assert message.startswith("dash_attn.attention has first derivatives only"), message


def packed() -> None:
    """Each sequence as it is alone, the sink's gradient their sum; an empty one between them, and
    rows that none has."""
    lengths = [5, 0, ROWS]
    alone = [[x.detach()[:1, :, :rows] for x in tensors()[:3]] for rows in lengths]
    sink = tensors()[3]
    cu = torch.tensor([1, *lengths], dtype=torch.int32).cumsum(0).int()
    whole = []
    for i in range(3):
        rows = torch.cat([one[i][0].transpose(0, 1) for one in alone])
        whole.append(torch.cat([rows[:1], rows, rows[:2]]).clone().requires_grad_())
    inputs = [*whole, sink]
    LAUNCHED.clear()
    for options, window in (
        ({"causal": True}, (-1, 0)),
        ({"window": (3, 0)}, (3, 0)),
        ({}, (-1, -1)),
    ):
        of_all = found(attention, *inputs, cu_seqlens_q=cu, **options)
        assert LAUNCHED[-1][:2] == ("dash, packed, sink", window), LAUNCHED
        upstream_of_all, dsink = upstream(of_all[0]), torch.zeros(HEADS, dtype=torch.float64)
        for number, one in enumerate(alone):
            rows = slice(int(cu[number]), int(cu[number + 1]))
            leaves = [x.clone().requires_grad_() for x in (*one, sink.detach())]
            if lengths[number]:
                o, lse = attention(*leaves[:3], sink=leaves[3], return_lse=True, **options)
                do = upstream_of_all[rows].transpose(0, 1)[None].contiguous()
                each = [o, *torch.autograd.grad(o, leaves, do)]
                assert (of_all[1][:, rows] - lse[0]).abs().max() < 1e-5
                for mine, theirs in zip((of_all[0], *of_all[2:5]), each):
                    assert torch.equal(mine[rows].transpose(0, 1)[None], theirs)
                dsink += each[-1].double()
        assert (of_all[-1].double() - dsink).norm() <= 0.02 * dsink.norm()
        for mine in (of_all[0], *of_all[2:5]):
            assert not mine[:1].any() and not mine[int(cu[-1]) :].any()
    for offsets in ({"cu_seqlens_q": cu}, {"cu_seqlens_q": cu, "cu_seqlens_k": cu}):
        ours = compiled(*inputs, **offsets)
        demand_same(ours, of_all)
        assert [x.stride() for x in ours] == [x.stride() for x in of_all]
    o, lse = attention(
        *(x.detach() for x in inputs[:3]), sink=sink.detach(), cu_seqlens_q=cu, return_lse=True
    )
    torch.library.opcheck(
        operator.gradients,
        (
            o,
            *(x.detach() for x in inputs[:3]),
            o,
            lse,
            -1,
            -1,
            0.125,
            None,
            sink.detach().float(),
            cu,
        ),
        test_utils=("test_schema", "test_faketensor"),
    )
    said = explain(*inputs[:3], sink=sink, cu_seqlens_q=cu, causal=True)
    assert (
        said and said.certificate != explain(*inputs[:3], cu_seqlens_q=cu, causal=True).certificate
    )


def in_a_model() -> None:
    """gpt-oss, whose layers have sliding windows and full masks in turn, beside its own
    attention."""
    tokens = torch.arange(24).reshape(2, 12) * 5 % 64
    losses, gradients = {}, {}
    for implementation in ("dash", "eager"):
        torch.manual_seed(5)
        config = GptOssConfig(
            vocab_size=64,
            hidden_size=64,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=HEADS,
            num_key_value_heads=KV_HEADS,
            head_dim=64,
            num_local_experts=2,
            num_experts_per_tok=1,
            sliding_window=4,
            layer_types=["sliding_attention", "full_attention"],
            attn_implementation=implementation,
        )
        model = GptOssForCausalLM(config).bfloat16().train()
        for name, parameter in model.named_parameters():
            if name.endswith("sinks"):
                torch.nn.init.normal_(parameter)
        LAUNCHED.clear()
        loss = model(tokens, labels=tokens, use_cache=False).loss
        loss.backward()
        losses[implementation] = loss.detach()
        gradients[implementation] = {
            name: x.grad.double() for name, x in model.named_parameters() if "self_attn" in name
        }
        if implementation == "dash":
            assert sorted(window for by, window, _ in LAUNCHED if by == "dash, sink") == [
                (-1, 0),
                (3, 0),
            ], LAUNCHED
    assert abs(losses["dash"] - losses["eager"]) < 0.01 * losses["eager"], losses
    for name, one in gradients["dash"].items():
        other = gradients["eager"][name]
        assert (one - other).norm() <= 0.08 * other.norm(), (
            name,
            (one - other).norm() / other.norm(),
        )


def refusals() -> None:
    q, k, v, sink = tensors()
    cu = torch.tensor([0, ROWS], dtype=torch.int32)
    packed = [x.detach()[0].transpose(0, 1).contiguous() for x in (q, k, v)]
    for arguments, options, message in (
        ((q, k, v), {"sink": 1.0}, "sink: expected a tensor of PyTorch, found float"),
        (
            (q, k, v),
            {"sink": sink[:2]},
            (
                "sink: expected floating-point numbers, one for each of 4 heads, found bfloat16 of"
                " the shape (2,)"
            ),
        ),
        (
            (q, k, v),
            {"sink": sink.int()},
            (
                "sink: expected floating-point numbers, one for each of 4 heads, found int32 of the"
                " shape (4,)"
            ),
        ),
        (
            (q, k, v),
            {"sink": sink.to("meta")},
            "sink: expected a tensor on 'cpu' as q, found one on 'meta'",
        ),
        (
            packed,
            {"sink": sink[:3], "cu_seqlens_q": cu},
            (
                "sink: expected floating-point numbers, one for each of 4 heads, found bfloat16 of "
                "the shape (3,)"
            ),
        ),
    ):
        LAUNCHED.clear()
        reason = refused(
            lambda arguments=arguments, options=options: attention(*arguments, **options),
            ArgumentError,
        )
        assert reason == message == explain(*arguments, **options).refusal, reason
        assert not LAUNCHED
    said = explain(q, k, v, causal=True, sink=sink, forward="torch")
    assert (
        said
        and said.forward.endswith(", and the part of the sink")
        and said.certificate != explain(q, k, v, causal=True, forward="torch").certificate
    )
    own = explain(q, k, v, causal=True, sink=sink)
    assert own.forward == (
        "dash, causal mask, bf16, head dim 64, tiles 128 x 128, 2 heads in a q tile, level row"
    ), own
    assert own.certificate.endswith(said.certificate) and own.certificate != said.certificate


gradients()
in_operator()
through_pytorch()
packed()
in_a_model()
refusals()
