# RUN: %torch_python %s
# REQUIRES: torch, plain-libdash
"""attention() as a part of PyTorch: gradients, layouts, autocast, vmap, compiled programs,
checkpoints, and every refusal."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

import torch  # noqa: E402
from fixtures import refused  # noqa: E402
from on_cpu import LAUNCHED  # noqa: E402
from torch.nn.functional import scaled_dot_product_attention  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

import dash_attn  # noqa: E402
from dash_attn import ArgumentError, attention  # noqa: E402
from dash_attn.kernel.problem import Wanted  # noqa: E402
from dash_attn.torch import kernels, operator, problem  # noqa: E402

BF16 = torch.bfloat16


def tensors(
    batch: int = 2,
    heads: int = 4,
    kv_heads: int = 2,
    rows: int = 12,
    kv_rows: int | None = None,
    head_dim: int = 64,
    dtype: torch.dtype = BF16,
    layout: str = "bhsd",
) -> list[torch.Tensor]:
    torch.manual_seed(7)
    sizes = [(heads, rows), *[(kv_heads, kv_rows or rows)] * 2]
    found = [
        torch.randn(
            (batch, h, s, head_dim) if layout == "bhsd" else (batch, s, h, head_dim), dtype=dtype
        )
        for h, s in sizes
    ]
    return [tensor.requires_grad_() for tensor in found]


def exact(
    q: Any,
    k: Any,
    v: Any,
    causal: bool = False,
    scale: float | None = None,
    layout: str = "bhsd",
    window: tuple[int, int] = (-1, -1),
) -> list[torch.Tensor]:
    """o and gradients of PyTorch in float64, for do = o's cosine. A row of q sees, of the columns
    of k, those of its window."""
    inputs = [tensor.detach().double().requires_grad_() for tensor in (q, k, v)]
    turned = [x.transpose(1, 2) if layout == "bshd" else x for x in inputs]
    place = (
        torch.arange(turned[1].shape[2])[None]
        - torch.arange(turned[0].shape[2])[:, None]
        - turned[1].shape[2]
        + turned[0].shape[2]
    )
    left, right = window[0], 0 if causal else window[1]
    mask = (place >= -left if left >= 0 else True) & (
        place <= right if right >= 0 else torch.tensor(True)
    )
    o = scaled_dot_product_attention(
        *turned, attn_mask=mask.expand(place.shape), scale=scale, enable_gqa=True
    )
    o = o.transpose(1, 2) if layout == "bshd" else o
    return [o, *torch.autograd.grad(o, inputs, upstream(o))]


def upstream(o: torch.Tensor) -> torch.Tensor:
    return torch.linspace(-1, 1, o.numel(), dtype=torch.float64).reshape(o.shape).to(o.dtype)


def found(function: Any, *inputs: torch.Tensor, **options: Any) -> list[torch.Tensor]:
    o = function(*inputs, **options)
    return [o, *torch.autograd.grad(o, inputs, upstream(o))]


def demand_close(
    ours: list[torch.Tensor], theirs: list[torch.Tensor], tolerance: float = 0.02
) -> None:
    for one, other in zip(ours, theirs, strict=True):
        assert one.shape == other.shape, (one.shape, other.shape)
        assert (one.double() - other).norm() <= tolerance * other.norm(), (
            (one.double() - other).norm(),
            other.norm(),
        )


def demand_same(ours: list[torch.Tensor], theirs: list[torch.Tensor]) -> None:
    for one, other in zip(ours, theirs, strict=True):
        assert (
            one.dtype == other.dtype and one.stride() == other.stride() and torch.equal(one, other)
        ), (one, other)


def gradients() -> None:
    for options in (
        {},
        {"causal": True},
        {"scale": 0.3},
        {"causal": True, "layout": "bshd"},
        {"window": (3, 0)},
        {"window": (2, 5), "layout": "bshd", "scale": 0.3},
        {"window": (-1, 4)},
        {"window": (4, -1), "causal": True},
        {"window": (-1, -1)},
        {"window": (-1, 0)},
    ):
        inputs = tensors(layout=options.get("layout", "bhsd"))
        demand_close(found(attention, *inputs, **options), exact(*inputs, **options))
    demand_close(
        found(attention, *(inputs := tensors(kv_rows=20, head_dim=128, dtype=torch.float16))),
        exact(*inputs),
    )
    demand_close(
        found(attention, *(inputs := tensors(kv_rows=20)), window=(6, 2)),
        exact(*inputs, window=(6, 2)),
    )
    assert [window for _, window, _ in LAUNCHED[:10]] == [
        (-1, -1),
        (-1, 0),
        (-1, -1),
        (-1, 0),
        (3, 0),
        (2, 5),
        (-1, 4),
        (4, 0),
        (-1, -1),
        (-1, 0),
    ], LAUNCHED
    q, k, v = tensors()
    o, lse = attention(q, k, v, return_lse=True)
    assert (
        lse.shape == q.shape[:3]
        and lse.dtype == torch.float32
        and lse.requires_grad
        and o.requires_grad
    )
    assert not attention(*(x.detach() for x in (q, k, v))).requires_grad
    # Some need gradients only; an upstream gradient without strides, as that of a sum is.
    assert torch.autograd.grad(attention(q.detach(), k, v.detach()).sum(), k)[0].shape == k.shape
    reason = refused(
        lambda: torch.autograd.grad(
            torch.autograd.grad(attention(q, k, v).sum(), q, create_graph=True)[0].sum(), k
        ),
        RuntimeError,
    )
    assert (
        reason == "dash_attn.attention has first derivatives only; for second ones take PyTorch's"
        " SDPBackend.MATH"
    ), reason


def with_autocast() -> None:
    inputs = tensors(dtype=torch.float32)
    with torch.autocast("cpu", dtype=BF16):
        ours = found(attention, *inputs)
    assert [x.dtype for x in ours] == [BF16, *[torch.float32] * 3]
    demand_close(ours, exact(*inputs))


def transformed() -> None:
    q, k, v = (tensor.detach() for tensor in tensors(batch=3))
    batches = [torch.stack([x, x.flip(0)]) for x in (q, k, v)]
    each = torch.stack([attention(*(x[i] for x in batches)) for i in range(2)])
    assert torch.equal(torch.vmap(attention)(*batches), each)
    assert torch.equal(torch.vmap(attention, (None, 0, 0))(q, *batches[1:])[0], each[0])
    assert torch.equal(
        torch.vmap(attention, (1, 0, 0), 1)(batches[0].transpose(0, 1), *batches[1:]),
        each.transpose(0, 1),
    )

    def loss(q: Any, k: Any, v: Any) -> Any:
        return attention(q, k, v, causal=True).square().sum()

    grad = torch.func.grad(loss, (0, 1, 2))
    leaves = [x.clone().requires_grad_() for x in (q, k, v)]
    demand_same(list(grad(q, k, v)), list(torch.autograd.grad(loss(*leaves), leaves)))
    assert torch.equal(torch.vmap(grad)(*batches)[0][1], grad(*(x[1] for x in batches))[0])


def operators() -> None:
    q, k, v = (tensor.detach() for tensor in tensors(layout="bshd"))
    q, k, v = (tensor.transpose(1, 2) for tensor in (q, k, v))
    o, lse = attention(q, k, v, return_lse=True)
    torch.library.opcheck(
        operator.gradients,
        (o, q, k, v, o, lse, -1, -1, 0.125),
        test_utils=("test_schema", "test_faketensor", "test_aot_dispatch_dynamic"),
    )


def compiled() -> None:
    inputs = tensors(batch=3)
    eager = found(attention, *inputs, causal=True)
    for dynamic in (False, True):
        torch._dynamo.reset()
        function = torch.compile(attention, backend="aot_eager", fullgraph=True, dynamic=dynamic)
        demand_same(found(function, *inputs, causal=True), eager)
        demand_same(
            found(function, *inputs, window=(5, 2)), found(attention, *inputs, window=(5, 2))
        )
        if dynamic:
            with torch.compiler.set_stance("fail_on_recompile"):
                other = tensors(batch=5, rows=20)
                demand_same(
                    found(function, *other, causal=True), found(attention, *other, causal=True)
                )


def checkpointed() -> None:
    inputs = tensors()
    demand_same(
        found(lambda *x: checkpoint(attention, *x, use_reentrant=False), *inputs),
        found(attention, *inputs),
    )


def refusals() -> None:
    q, k, v = tensors()
    wide = torch.randn(2, 4, 12, 128, dtype=BF16)
    for arguments, options, message in (
        ((1, k, v), {}, "q: expected a tensor of PyTorch, found int"),
        (
            (q, k.float(), v),
            {},
            "k: expected bfloat16 as q, found float32; cast it, or use torch.autocast",
        ),
        (
            (q, k.half(), v),
            {},
            "k: expected bfloat16 as q, found float16; cast it, or use torch.autocast",
        ),
        (
            (q.float(), k, v),
            {},
            (
                "q: expected elements of bf16 or f16, found f32; cast q, k and v, as torch.autocast"
                " does"
            ),
        ),
        (
            (q.int(), k, v),
            {},
            (
                "q: expected elements of bf16 or f16, found int32; cast q, k and v, as"
                " torch.autocast does"
            ),
        ),
        ((q, k, v.to("meta")), {}, "v: expected a tensor on a CUDA device, found one on 'meta'"),
        (
            (q[0], k, v),
            {},
            "q: expected 4 dimensions, [batch, heads, rows, head_dim], found the shape (4, 12, 64)",
        ),
        (
            (q[0], k, v),
            {"layout": "bshd"},
            "q: expected 4 dimensions, [batch, rows, heads, head_dim], found the shape (4, 12, 64)",
        ),
        (
            (q, k, v[:, :, :-1]),
            {},
            (
                "v: expected the shape of k, (2, 2, 12, 64), but for the head dim,"
                " found (2, 2, 11, 64)"
            ),
        ),
        ((q[:1], k, v), {}, "k: expected the batch of q, 1, found 2"),
        ((wide, k, v), {}, "k: expected the head dim of q, 128, found 64"),
        (
            tensors(head_dim=84),
            {},
            (
                "q: expected a head dim that is a multiple of 8 up to 256, found 84; pad q, k and v"
                " with zeros to 88, and pass scale=84**-0.5"
            ),
        ),
        (
            tensors(head_dim=264),
            {},
            "q: expected a head dim that is a multiple of 8 up to 256, found 264",
        ),
        (
            tensors(head_dim=192),
            {"sink": torch.zeros(4)},
            (
                "sink: expected a head dim up to 128, found 192: above it dq, dk and dv come from"
                " two programs, and neither has the sink's gradient; take a framework's attention"
                " for this model"
            ),
        ),
        (tensors(heads=3), {}, "k: expected a number of heads that divides that of q, 3, found 2"),
        (tensors(batch=0), {}, "q: expected a batch of at least 1, found 0"),
        (
            tensors(kv_rows=16),
            {"causal": True, "forward": "torch"},
            (
                "causal: expected as many rows of q as of k, found 12 and 16: PyTorch's forward"
                " pass would hide other elements than the kernel (dash's causal masks are aligned"
                " at the bottom right)"
            ),
        ),
        ((q, k, v), {"causal": 1}, "causal: expected True or False, found int"),
        ((q, k, v), {"layout": "sbhd"}, "layout: expected one of bhsd, bshd, found 'sbhd'"),
        ((q, k, v), {"level": "best"}, "level: expected one of run, batch, machine, found 'best'"),
        (
            (q, k, v),
            {"level": "batch", "forward": "torch"},
            (
                "level: expected 'run', found 'batch': no forward pass of PyTorch promises it;"
                ' leave out forward="torch"'
            ),
        ),
        (
            (q, k, v),
            {"softcap": 30.0, "forward": "torch"},
            'softcap: PyTorch has no forward pass with one; leave out forward="torch"',
        ),
        ((q, k, v), {"forward": "cudnn"}, "forward: expected 'dash' or 'torch', found 'cudnn'"),
        ((q, k, v), {"forward": None}, "forward: expected 'dash' or 'torch', found None"),
        ((q, k, v), {"softcap": None}, "softcap: expected a number, or 0 for none, found NoneType"),
        ((q, k, v), {"softcap": True}, "softcap: expected a number, or 0 for none, found bool"),
        *(
            (
                (q, k, v),
                {"softcap": cap},
                f"softcap: expected a finite number above 0, or 0 for none, found {cap}",
            )
            for cap in (-1.0, float("inf"), float("nan"))
        ),
        *(
            (
                (q, k, v),
                {"scale": scale},
                f'scale: expected a number above 0, found {scale}; forward="torch" takes any',
            )
            for scale in (0.0, -0.5)
        ),
        ((q, k, v), {"scale": "1"}, "scale: expected a number, found str"),
        ((q, k, v), {"scale": float("nan")}, "scale: expected a finite number, found nan"),
        (
            (q, k, v),
            {"window": (128,)},
            (
                "window: expected None or (left, right), whole numbers, -1 where there is no bound,"
                " found (128,)"
            ),
        ),
        (
            (q, k, v),
            {"window": (-2, 0)},
            "window: expected whole numbers from -1 (no bound) to 2147483647, found (-2, 0)",
        ),
        (
            (q, k, v),
            {"window": (0, 2**31)},
            (
                "window: expected whole numbers from -1 (no bound) to 2147483647, found (0,"
                " 2147483648)"
            ),
        ),
        (
            (q, k, v),
            {"window": [True, 0]},
            (
                "window: expected None or (left, right), whole numbers, -1 where there is no bound,"
                " found (True, 0)"
            ),
        ),
        (
            (q, k, v),
            {"window": (4, 3), "causal": True},
            "window: expected a right side of 0 or -1 beside causal, found (4, 3)",
        ),
        ((q, k, v), {"layout": "thd"}, "layout: expected cu_seqlens_q beside thd, found none"),
    ):
        LAUNCHED.clear()
        reason = refused(
            lambda arguments=arguments, options=options: attention(*arguments, **options),
            ArgumentError,
        )
        assert reason == message, reason
        assert dash_attn.explain(*arguments, **options).refusal == message and not LAUNCHED
    if not torch.cuda.is_available():
        assert (
            problem.refusal_of_device(None)
            == "expected a GPU of compute capability 9.0 (H100, H200), found none"
        )


def registry() -> None:
    """One kernel for each program, whoever asks first; explained without a GPU."""
    asked: list[Any] = []
    q, k, v = tensors(kv_heads=4)
    threads = [
        threading.Thread(
            target=lambda: asked.append(
                kernels.kernel_of(kernels.order_of(q, k, v, (-1, 0), "bhsd").wanted)
            )
        )
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(kernel) for kernel in asked}) == 1
    explained = dash_attn.explain(q, k, v, causal=True)
    both = explained.certificate.split()
    assert explained and both[1:] == [asked[0].certificate], explained
    foreign = dash_attn.explain(q, k, v, causal=True, forward="torch")
    assert foreign.certificate == asked[0].certificate and foreign.order == explained.order
    assert "aten::_scaled_dot_product_cudnn_attention" in foreign.forward, foreign
    assert explained.forward == (
        "dash, causal mask, bf16, head dim 64, tiles 128 x 128, level row"
    ), explained
    assert [line.split()[0] for line in str(explained).splitlines()] == [
        "forward",
        "backward",
        "order",
        "certificate",
    ]
    assert "ascending, level run, 132 workers, predicted 1.000 x its lower bound\n" in str(
        explained
    ) and "causal mask, bf16, head dim 64" in str(explained)
    windowed = dash_attn.explain(q, k, v, window=(4, 0), forward="torch")
    assert "window = [4, 0] mask" in windowed.backward
    assert "_flash_attention_forward" in windowed.forward, windowed
    assert str(dash_attn.explain(1, k, v)).startswith("refused ")
    of_batch = dash_attn.explain(q, k, v, causal=True, level="batch")
    assert of_batch.level == "batch" and of_batch.order == "symmetric-shift", of_batch
    assert of_batch.certificate.split()[0] == both[0], "forwards are of level row whatever is asked"
    assert (
        kernels.kernels_for((128, 128), torch.float16, (-1, -1), "batch")[0].manifest["program"][
            "kind"
        ]
        == "shift"
    )


def imports_late() -> None:
    command = (
        "import sys; sys.path.insert(0, sys.argv[1]); import dash_attn; assert 'torch' not in"
        " sys.modules; dash_attn.attention"
    )
    for tail in ("; assert 'torch' in sys.modules", "; dash_attn.nothing"):
        done = subprocess.run(
            [sys.executable, "-c", command + tail, str(Path(dash_attn.__file__).parents[1])],
            check=False,
            capture_output=True,
            text=True,
        )
        assert (done.returncode == 0) == ("nothing" not in tail), done.stderr
    assert "module 'dash_attn' has no attribute 'nothing'" in done.stderr, done.stderr


for test in (
    gradients,
    with_autocast,
    transformed,
    operators,
    compiled,
    checkpointed,
    refusals,
    registry,
    imports_late,
):
    test()
