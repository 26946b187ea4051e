# RUN: %torch_python %s
# REQUIRES: torch, plain-libdash
"""What is copied before a launch, and what goes in slices: the same bits as from contiguous
tensors, and as from each slice alone. Scalars of any library; and `explain`, which takes
anything."""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

import numpy as np  # noqa: E402
import torch  # noqa: E402
from fixtures import refused  # noqa: E402
from on_cpu import (
    gradients,
    gradients_of_lists,
    launch_list_with_sink,
    launch_with_sink,
)  # noqa: E402

import dash_attn  # noqa: E402
from dash_attn import ArgumentError, attention, reference  # noqa: E402
from dash_attn.torch import function, operator, pieces  # noqa: E402
from dash_attn.torch.problem import is_readable  # noqa: E402

BF16 = torch.bfloat16
LIBRARY = torch.library.Library(operator.SPACE, "IMPL")
SEEN: list[tuple[int, ...]] = []  # shapes of q, of each launch


class Forgetful(dict[Any, Any]):
    """Launches: each is made anew, so that it knows its tensors."""

    def __setitem__(self, key: Any, value: Any) -> None:
        pass


class Exact:
    """A kernel that computes in float64, of tensors that kernels can read."""

    def __init__(self, window: tuple[int, int]) -> None:
        self.window = window

    def bind(self, *tensors: torch.Tensor, layout: str, stream: int) -> Any:
        assert stream == 0
        self.tensors, self.layout = (
            dict(zip(("q", "k", "v", "do", "o", "lse", "dq", "dk", "dv"), tensors, strict=True)),
            layout,
        )
        return self

    def run_with(self, addresses: tuple[int, ...], scale: float) -> None:
        assert addresses == tuple(tensor.data_ptr() for tensor in self.tensors.values())
        self.backward(**self.tensors, layout=self.layout, scale=scale)

    def own(self, gradients: Any) -> tuple[Any, ...]:
        return tuple(gradients)

    def backward(
        self, *, layout: str, scale: float, clears_rows: bool = False, **tensors: torch.Tensor
    ) -> None:
        q, k, v, do, o, lse, delta = (
            tensors.pop(name, None) for name in ("q", "k", "v", "do", "o", "lse", "delta")
        )
        sink, cu = tensors.get("sink"), (tensors.get("cu_seqlens_q"), tensors.get("cu_seqlens_kv"))
        assert clears_rows == (cu[0] is not None)
        assert all(
            tensor is None or is_readable(tensor)
            for tensor in (q, k, v, do, o, lse, delta, *tensors.values())
        )
        SEEN.append(tuple(q.shape))
        if delta is not None:
            found = reference.backward(
                q, k, v, do, do, lse, scale=scale, mask=reference.Mask(*self.window), delta=delta
            ).values()
        elif cu[0] is None:
            found = (
                gradients("", do, q, k, v, o, lse, *self.window, scale, layout)
                if sink is None
                else launch_with_sink(do, q, k, v, o, lse, sink, *self.window, scale)
            )
        else:
            found = (
                gradients_of_lists("", do, q, k, v, o, lse, *cu, *self.window, scale)
                if sink is None
                else launch_list_with_sink(
                    do, q, k, v, o, lse, sink, *cu, *self.window, scale, "run"
                )
            )
        for name, gradient in zip(("dq", "dk", "dv", "dsink"), found):
            tensors[name].copy_(gradient)


def on_cpu() -> None:
    """Operators launch as on a GPU, but an exact kernel."""
    torch._C._cuda_getCurrentRawStream = lambda index: 0
    pieces.kernel_of = lambda wanted: Exact(wanted.window)
    operator.bind = lambda wanted, given, **rest: Exact(wanted[0].window).bind(*given, **rest)
    operator.kernels_for = lambda head_dim, dtype, window, level, **_: [Exact(window)]
    function.launch_any, operator.launches = operator.launch_any, Forgetful()
    name = operator.NAME.partition("::")[2]
    LIBRARY.impl(name, operator.launch_any, "CPU", allow_override=True)


def tensors(batch: int = 2, heads: int = 4, kv_heads: int = 4, rows: int = 6) -> list[torch.Tensor]:
    torch.manual_seed(5)
    return [torch.randn(batch, h, rows, 64, dtype=BF16) for h in (heads, kv_heads, kv_heads)]


def off_by_one(x: torch.Tensor) -> torch.Tensor:
    """The same values at an address that is no multiple of 16."""
    found = torch.empty(x.numel() + 8, dtype=x.dtype)[1 : x.numel() + 1].view(x.shape)
    assert found.data_ptr() % 16
    return found.copy_(x)


def strided(x: torch.Tensor) -> torch.Tensor:
    return torch.stack([x, x], -1).flatten(-2)[..., ::2]


def turned(x: torch.Tensor) -> torch.Tensor:
    return x.transpose(-1, -2).contiguous().transpose(-1, -2)


def narrow(x: torch.Tensor) -> torch.Tensor:
    """Rows that begin at no multiple of 8 elements."""
    return torch.nn.functional.pad(x, (0, 3))[..., : x.shape[-1]]


def expanded(x: torch.Tensor) -> torch.Tensor:
    return x[:, :1].expand(x.shape)


def found(inputs: Any, do: Any, *more: Any, **options: Any) -> list[torch.Tensor]:
    leaves = [x.detach().requires_grad_() for x in inputs]
    o = attention(*leaves, *more, **options)
    return [o, *torch.autograd.grad(o, leaves, do)]


def of_lse(inputs: Any, do: Any) -> list[torch.Tensor]:
    """With a gradient of the LSE, which is a slice of something else, too."""
    leaves = [x.detach().requires_grad_() for x in inputs]
    o, lse = attention(*leaves, return_lse=True, causal=True)
    dlse = torch.linspace(-1, 1, 2 * lse.numel()).view(*lse.shape, 2)[..., 1]
    return [o, lse, *torch.autograd.grad((o, lse), leaves, (do, dlse))]


def demand_same(ours: Any, theirs: Any, what: Any) -> None:
    for one, other in zip(ours, theirs, strict=True):
        assert one.shape == other.shape and torch.equal(one, other), what


def copied() -> None:
    """q, k, v and the gradient of o, each odd in each way, through every front end: as if all were
    contiguous."""
    cu = torch.tensor([0, 4, 12], dtype=torch.int32)
    sink = torch.linspace(-1, 1, 4)
    for odd in (off_by_one, strided, turned, narrow, expanded):
        for which in range(4) if odd is off_by_one else (1, 3):
            given = [*tensors(), tensors()[0].flip(0)]
            given[which] = odd(given[which])
            plain = [x.contiguous().clone() for x in given]
            for options in (
                {"causal": True},
                {"window": (3, 1)},
                {"sink": sink.repeat_interleave(2)[::2]},
            ):
                demand_same(
                    found(given[:3], given[3], **options),
                    found(plain[:3], plain[3], **options),
                    (odd, which, options),
                )
            demand_same(
                of_lse(given[:3], given[3]), of_lse(plain[:3], plain[3]), (odd, which, "LSE")
            )
            lists = [[x.transpose(1, 2).flatten(0, 1) for x in some] for some in (given, plain)]
            lists[0][which] = (
                odd(lists[1][which][None])[0] if odd is not expanded else lists[0][which]
            )
            for options in (
                {"sink": sink.repeat_interleave(2)[::2]},
                {"cu_seqlens_k": cu.repeat_interleave(2)[::2]},
            ):
                options = {"cu_seqlens_q": cu, "causal": True} | options
                demand_same(
                    found(lists[0][:3], lists[0][3], **options),
                    found(lists[1][:3], lists[1][3], **options),
                    (odd, which, "packed"),
                )
            bshd = [[x.transpose(1, 2) for x in some] for some in (given, plain)]
            demand_same(
                found(bshd[0][:3], bshd[0][3], layout="bshd"),
                found(bshd[1][:3], bshd[1][3], layout="bshd"),
                (odd, which, "bshd"),
            )
    # What autograd makes of an o that is a part of something else.
    q, k, v = (x.requires_grad_() for x in tensors())
    o = attention(q, k, v)
    ours = torch.autograd.grad(
        torch.cat([torch.ones(1, dtype=BF16), o.flatten()]).square().sum(), (q, k, v)
    )
    o = attention(q, k, v)
    demand_same(
        ours, torch.autograd.grad(o.square().sum(), (q, k, v)), "a gradient inside of another"
    )
    # Gradients of an expanded k are added up by who expanded it.
    one = tensors(kv_heads=1)
    leaves = [x.requires_grad_() for x in one]
    torch.autograd.grad(
        attention(leaves[0], *(x.expand(2, 4, 6, 64) for x in leaves[1:])).sum(), leaves
    )
    # A compiled program.
    function = torch.compile(attention, backend="aot_eager", fullgraph=True, dynamic=True)
    for odd in (strided, expanded):
        leaves = [odd(x).requires_grad_() for x in tensors()]
        torch._dynamo.reset()
        ours = torch.autograd.grad(function(*leaves).square().sum(), leaves)
        demand_same(
            ours, torch.autograd.grad(attention(*leaves).square().sum(), leaves), ("compiled", odd)
        )


def in_place_of_launch() -> None:
    """The operator itself, as PyTorch's own attention reaches it: the LSE and o may be odd, too,
    and gradients lie as q, k and v do."""
    q, k, v = tensors()
    o, lse = (x.detach() for x in attention(q, k, v, return_lse=True))
    exact = operator.launch(o, q, k, v, o, lse, -1, -1, 0.125)
    for odd in (off_by_one, strided, turned, narrow):
        given = [odd(x) for x in (o, q, k, v, o)]
        found = operator.launch(*given, lse.repeat_interleave(2, -1)[..., ::2], -1, -1, 0.125)
        demand_same(found, exact, odd)
        assert all(x.stride() == torch.empty_like(y).stride() for x, y in zip(found, given[1:4]))
    for x in (q, off_by_one(q)):  # the same signature, once aligned and once not
        demand_same(operator.launch(o, x, k, v, o, lse, -1, -1, 0.125), exact, "again")


def sliced() -> None:
    """More of a batch, or of heads, than one launch counts: each slice has its own bits. A launch
    counts few here."""
    real = dash_attn.kernel.problem.ask

    def few(**numbers: Any) -> Any:
        answer = real(**numbers)
        return (
            answer
            if isinstance(answer, str)
            else answer._replace(batch=min(answer.batch, 3), kv_heads=min(answer.kv_heads, 2))
        )

    dash_attn.kernel.problem.ask = few
    function._accepted.clear()
    for sizes, shapes, dim, cut in (
        ((5, 4, 2, 6), [(3, 4, 6, 64), (2, 4, 6, 64)], 0, (3, 3)),
        ((2, 6, 3, 6), [(2, 4, 6, 64), (2, 2, 6, 64)], 1, (4, 2)),
    ):
        q, k, v = tensors(*sizes)
        do = q.flip(0)
        pieces_of = list(
            zip(
                q.split(cut[0], dim),
                k.split(cut[1], dim),
                v.split(cut[1], dim),
                do.split(cut[0], dim),
            )
        )
        alone = [found(piece[:3], piece[3]) for piece in pieces_of]
        expected = [torch.cat(parts, dim) for parts in zip(*alone)]
        SEEN.clear()
        demand_same(found((q, k, v), do), expected, sizes)
        assert sorted(SEEN) == sorted(shapes), SEEN  # autograd chooses which is first
        o, lse = attention(q, k, v, return_lse=True)
        assert torch.equal(o, expected[0])
        SEEN.clear()
        demand_same(
            operator.launch(do, q, k, v, o, lse, -1, -1, 0.125), expected[1:], (sizes, "operator")
        )
        assert SEEN == shapes, SEEN
        turned = [x.transpose(1, 2) for x in (do, q, k, v, o)]
        demand_same(
            [x.transpose(1, 2) for x in operator.launch(*turned, lse, -1, -1, 0.125, "bshd")],
            expected[1:],
            (sizes, "bshd"),
        )
        demand_same(
            operator.launch_any(do, q, k, v, o, lse, -1, -1, 0.125, torch.zeros_like(lse))[:3],
            expected[1:],
            (sizes, "LSE"),
        )
        explained = dash_attn.explain(q, k, v)
        assert explained.launches == 2 and ", 2 launches, " in str(explained), explained
        sink = torch.linspace(-1, 1, q.shape[1])
        ours = found((q, k, v), do, sink=sink)
        parts = (
            [
                found(piece[:3], piece[3], sink=sink if dim == 0 else one)
                for piece, one in zip(pieces_of, sink.split(cut[0]))
            ]
            if dim
            else [found(piece[:3], piece[3], sink=sink) for piece in pieces_of]
        )
        demand_same(ours, [torch.cat(each, dim) for each in zip(*parts)], (sizes, "sink"))
    dash_attn.kernel.problem.ask = real
    q, k, v = tensors(1, 65536, 1, 1)
    assert (
        refused(lambda: attention(q, k, v), ArgumentError)
        == "k: expected at most 65535 heads of q over each of k, found 65536; repeat the heads "
        "of k and v"
    )


def too_much() -> None:
    """Refused before the forward pass, with what to do instead."""
    most = torch.empty(1, dtype=BF16)
    rows = most.expand(1, 1, 2**21 + 1, 64)
    few = torch.zeros(1, 1, 4, 64, dtype=BF16)
    cu = torch.arange(80001, dtype=torch.int32)
    one = torch.zeros(80000, 1, 64, dtype=BF16)
    for arguments, options, message in (
        (
            (rows, few, few),
            {},
            (
                "q: expected at most 2097152 rows, found 2097153; call attention for pieces of q,"
                " each with what it sees of k"
            ),
        ),
        (
            (few, rows, rows),
            {},
            (
                "k: expected at most 2097152 rows, found 2097153; call attention for pieces of k"
                " and v, and merge the results by their LSE"
            ),
        ),
        (
            (rows[0, 0, :, None], *[few[0, 0, :, None]] * 2),
            {"cu_seqlens_q": cu[:2]},
            "q: expected at most 2097152 rows, found 2097153; split the sequences among calls",
        ),
        (
            (one, one, one),
            {"cu_seqlens_q": cu},
            (
                "cu_seqlens: expected offsets of at most 65535 sequences, found those of 80000; add"
                " up the results of 2 calls with cu_seqlens[i * 40000:(i + 1) * 40000 + 1], i from"
                " 0 to 1: rows of other sequences are 0"
            ),
        ),
    ):
        assert refused(lambda: attention(*arguments, **options), ArgumentError) == message
        assert dash_attn.explain(*arguments, **options).refusal == message
    # The message is right.
    q, k, v = (torch.randn(12, 2, 64, dtype=BF16) for _ in range(3))
    cu = torch.arange(0, 13, 3, dtype=torch.int32)
    whole = attention(q, k, v, cu_seqlens_q=cu)
    assert torch.equal(
        whole, sum(attention(q, k, v, cu_seqlens_q=cu[i * 2 : (i + 1) * 2 + 1]) for i in range(2))
    )


def scalars() -> None:
    """Scalars of NumPy, or without dimensions, are the numbers of Python that they stand for."""
    q, k, v = tensors()
    for name, values in (
        (
            "scale",
            (
                0.5,
                np.float16(0.5),
                np.float32(0.5),
                np.float64(0.5),
                np.array(0.5),
                torch.tensor(0.5),
                Fraction(1, 2),
            ),
        ),
        ("scale", (1, 1.0, np.int64(1), torch.tensor(1))),
        ("causal", (True, np.True_, np.array(True), torch.tensor(True))),
        ("window", ((2, 1), [2, 1], (np.int32(2), np.uint8(1)), [torch.tensor(2), np.array(1)])),
    ):
        first = attention(q, k, v, **{name: values[0]})
        for value in values:
            assert torch.equal(attention(q, k, v, **{name: value}), first) and dash_attn.explain(
                q, k, v, **{name: value}
            ), (name, value)
    cu, packed = (
        torch.tensor([0, 12], dtype=torch.int32),
        [x[0].transpose(0, 1).contiguous() for x in tensors(rows=12)],
    )
    for bound in (12, np.int32(12), torch.tensor(12), np.array(12)):
        attention(*packed, cu_seqlens_q=cu, max_seqlen_q=bound)
    number = (
        "scale: expected a number that the host knows, found Parameter; scale q by it: attention(q"
        " * scale, k, v, scale=1), which gives it a gradient, too"
    )
    window = (
        "window: expected None or (left, right), whole numbers, -1 where there is no bound, found "
    )
    for options, message in (
        ({"scale": torch.nn.Parameter(torch.tensor(0.5))}, number),
        ({"scale": True}, "scale: expected a number, found bool"),
        ({"scale": np.array([0.5])}, number.replace("Parameter", "ndarray")),
        ({"scale": 1j}, "scale: expected a number, found complex"),
        ({"causal": 1}, "causal: expected True or False, found int"),
        ({"causal": np.int64(1)}, "causal: expected True or False, found int"),
        ({"window": (4.0, 0)}, f"{window}(4.0, 0)"),
        ({"window": np.array([4, 0])}, f"{window}array([4, 0])"),
        ({"window": (np.float32(4), 0)}, f"{window}(4.0, 0)"),
        ({"window": 4}, f"{window}4"),
    ):
        assert refused(lambda: attention(q, k, v, **options), ArgumentError) == message
    for bound, said in (
        (0, "0"),
        (12.0, "12.0"),
        (True, "True"),
        ("12", "'12'"),
        (torch.tensor([12]), "a tensor: the host has to know it, by .item()"),
    ):
        message = (
            "max_seqlen_q: expected a whole number of at least 1, or None for all rows, found"
            f" {said}"
        )
        assert (
            refused(lambda: attention(*packed, cu_seqlens_q=cu, max_seqlen_q=bound), ArgumentError)
            == message
        )


class Evil:
    """It cannot be looked at."""

    def __getattr__(self, name: str) -> Any:
        raise ValueError(f"no {name}")

    __repr__ = __hash__ = __len__ = __eq__ = __bool__ = lambda *_: 1 / 0


def anything() -> None:
    """`explain` refuses what it cannot serve, in our words, and so does `attention`."""
    q, k, v = tensors()
    things = [
        None,
        0,
        -1,
        2**70,
        0.5,
        float("nan"),
        "bhsd",
        "",
        b"q",
        [],
        (),
        {},
        {1},
        object(),
        len,
        torch,
        np.zeros((2, 4, 6, 64)),
        [q],
        (1, 2),
        (2**70, 0),
        q[0, 0, 0, 0],
        q[..., :0],
        q[:0],
        q[None],
        q.double(),
        q.int(),
        q > 0,
        q.to(torch.complex64),
        q.to("meta"),
        q[..., :32],
        q[:1],
        q[:, :3],
        q.float().to_sparse(),
        torch.nested.nested_tensor([q[0], q[1, :, :3]]),
        torch.nn.Parameter(q),
        torch.empty(0),
        torch.arange(3, dtype=torch.int32),
        torch.tensor([0, 5], dtype=torch.int32),
        torch.tensor([5, 0], dtype=torch.int64),
        np.int8(1),
        np.str_("run"),
        1j,
        Fraction(1, 3),
    ]
    names = (
        "q",
        "k",
        "v",
        "causal",
        "window",
        "scale",
        "cu_seqlens_q",
        "cu_seqlens_k",
        "max_seqlen_q",
        "max_seqlen_k",
        "sink",
        "level",
        "layout",
    )
    packed = {
        "q": q[0].transpose(0, 1),
        "k": k[0].transpose(0, 1),
        "v": v[0].transpose(0, 1),
        "cu_seqlens_q": torch.tensor([0, 6], dtype=torch.int32),
    }
    for base in ({"q": q, "k": k, "v": v}, packed):
        for name in names:
            for thing in [*things, Evil()]:
                said = dash_attn.explain(**{**base, name: thing})
                if type(thing) is Evil:
                    assert said.refusal, name
                    continue
                assert (
                    said or " expected " in f" {said.refusal}" and "looked at" not in said.refusal
                ), (name, type(thing), said.refusal)
                if (
                    not said
                    and "cu_seqlens" not in said.refusal
                    and "max_seqlen" not in said.refusal
                ):
                    assert (
                        refused(lambda: attention(**{**base, name: thing}), ArgumentError)
                        == said.refusal
                    ), (name, type(thing))


on_cpu()
for test in (scalars, anything, too_much, copied, in_place_of_launch, sliced):
    print(test.__name__, flush=True)
    test()
