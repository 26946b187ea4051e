# RUN: %torch_python %s
# REQUIRES: torch, plain-libdash
"""enable(): which forward passes of PyTorch's own attention become ours, as its meta functions have
them; what is left to its own kernels, and what `forward="torch"` keeps. What asks for PyTorch's
forward has it, also while the drop-in is enabled."""

from __future__ import annotations

import logging
import math
import sys
import threading
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

import aten_on_cpu  # noqa: E402, F401  (PyTorch's own kernels)
import torch  # noqa: E402
from fixtures import refused  # noqa: E402
from on_cpu import FORWARDS, LAUNCHED  # noqa: E402
from torch.nn.attention import (
    activate_flash_attention_impl,
    restore_flash_attention_impl,
)  # noqa: E402

import dash_attn  # noqa: E402
from dash_attn import ArgumentError, attention  # noqa: E402
from dash_attn.torch import aten_backward, foreign  # noqa: E402
from dash_attn.torch.aten_forward import (
    CUDNN,
    EFFICIENT,
    FLASH,
    FLASH_IN_PLACE,
    SDPA_CUDNN,
    SDPA_FLASH,
)  # noqa: E402
from dash_attn.torch.dropin import state  # noqa: E402
from dash_attn.torch.problem import HAS_SPLITS  # noqa: E402
from dash_attn.torch.registry import foreign as by_pytorch  # noqa: E402
from dash_attn.torch.registry import is_foreign  # noqa: E402

ATEN = torch.ops.aten
IN_ROWS = (FLASH, EFFICIENT)  # [batch, rows, heads, head_dim]
ALL = (FLASH, SDPA_FLASH, SDPA_CUDNN, EFFICIENT)


def inputs(
    rows: int = 12,
    kv_rows: int | None = None,
    dims: tuple[int, int] = (64, 64),
    order: tuple[int, ...] = (0, 1, 2, 3),
    heads: tuple[int, int] = (4, 2),
) -> list[torch.Tensor]:
    """q, k and v, [batch, heads, rows, head_dim], that lie in this order of dimensions."""
    torch.manual_seed(3)
    back = [order.index(dim) for dim in range(4)]
    found = []
    for count, s, d in zip(
        (heads[0], heads[1], heads[1]), (rows, *[kv_rows or rows] * 2), (dims[0], *dims)
    ):
        sizes = (2, count, s, d)
        found.append(torch.randn([sizes[dim] for dim in order], dtype=torch.bfloat16).permute(back))
    return found


def call(operator: str, q: Any, k: Any, v: Any, causal: bool = False, **options: Any) -> Any:
    """What an operator gives for a batch; bias, dropout, debug: by place."""
    bias, dropout, debug = (options.pop(name, None) for name in ("bias", "dropout", "debug"))
    last = (dropout or 0.0, causal, bool(debug))
    if operator == FLASH:
        turned = (x.transpose(1, 2) for x in (q, k, v))
        rest = (None, None, q.shape[2], k.shape[2], *last)
        return ATEN._flash_attention_forward(*turned, *rest, **options)
    if operator == SDPA_FLASH:
        return ATEN._scaled_dot_product_flash_attention(q, k, v, *last, **options)
    with_lse = options.pop("with_lse", True)
    if operator == SDPA_CUDNN:
        function = ATEN._scaled_dot_product_cudnn_attention
        return function(q, k, v, bias, with_lse, *last, **options)
    turned = (x.transpose(1, 2) for x in (q, k, v))
    rest = (bias, None, None, None, None, last[0], int(causal), with_lse)
    return ATEN._efficient_attention_forward(*turned, *rest, **options)


def as_ours(operator: str, found: Any, rows: int) -> tuple[torch.Tensor, torch.Tensor]:
    """o and the LSE as attention() has them."""
    o, lse = found[:2]
    lse = lse[..., 0] if lse.dim() == 4 else lse[..., :rows]
    return (o.transpose(1, 2) if operator in IN_ROWS else o), lse


def demand_like_meta(operator: str, found: Any, *tensors: Any, **options: Any) -> None:
    """As PyTorch's meta function says, on which compiled programs rely."""
    said = call(operator, *(x.to("meta") for x in tensors), **options)
    assert len(found) == len(said)
    for i, (one, other) in enumerate(zip(found, said)):
        if not isinstance(one, torch.Tensor) or not isinstance(other, torch.Tensor):
            assert one == other, (operator, i, one, other)
            continue
        assert (one.shape, one.dtype) == (other.shape, other.dtype), (operator, i, one, other)
        steps = [
            (step, wanted)
            for size, step, wanted in zip(one.shape, one.stride(), other.stride())
            if size > 1
        ]
        assert all(step == wanted for step, wanted in steps), (operator, i, steps)


def served() -> None:
    """The bits of attention(), in PyTorch's form: in training, without gradients, in inference."""
    orders = ((0, 1, 2, 3), (0, 2, 1, 3), (2, 0, 1, 3))
    with dash_attn.enable() as drop_in:
        for operator in ALL:
            drop_in.served.clear()
            count = 0
            for order in orders:
                for dims in ((64, 64), (192, 128), (48, 40)):
                    for rows, options in ((12, {"causal": True}), (12, {}), (33, {"scale": 0.3})):
                        given = inputs(rows, dims=dims, order=order)
                        FORWARDS.clear()
                        found = call(operator, *given, **options)
                        assert FORWARDS == ["dash"], (operator, FORWARDS)
                        count += 1
                        demand_like_meta(operator, found, *given, **options)
                        expected = attention(*given, return_lse=True, **options)
                        for one, other in zip(as_ours(operator, found, rows), expected):
                            assert torch.equal(one, other), (operator, dims, order)
            assert dict(drop_in.served) == {operator: count}, drop_in.served
            given = inputs(order=(0, 2, 1, 3))
            first = call(operator, *given)[0]
            for mode in (torch.no_grad, torch.inference_mode):
                with mode():
                    assert torch.equal(call(operator, *given)[0], first)
        # what is padding in an LSE is infinite; one that is not asked for is empty, or cuDNN's
        lse = call(EFFICIENT, *inputs(33))[1]
        assert lse.shape == (2, 4, 64) and lse[..., 33:].isposinf().all()
        found = call(EFFICIENT, *inputs(), with_lse=False)
        assert found[1].shape == (2, 4, 0)
        demand_like_meta(EFFICIENT, found, *inputs(), with_lse=False)
        demand_like_meta(SDPA_CUDNN, call(SDPA_CUDNN, *inputs(), with_lse=False), *inputs())
        # rows that are parts of something larger, as of one product for q, k and v
        q, k, v = torch.randn(2, 12, 3, 4, 64, dtype=torch.bfloat16).transpose(1, 3).unbind(2)
        for operator in ALL:
            demand_like_meta(operator, call(operator, q, k, v), q, k, v)
        assert not drop_in.left


def windows() -> None:
    """FlashAttention's, at the bottom right. Rows that see nothing are 0, infinite in the LSE."""
    with dash_attn.enable():
        for rows, kv_rows in ((12, 12), (12, 7), (5, 12)):
            given = inputs(rows, kv_rows)
            for options, asked in (
                ({"window_size_left": 3, "window_size_right": 2}, {"window": (3, 2)}),
                ({"window_size_left": 3, "causal": True}, {"window": (3, 0)}),
                ({"window_size_left": -1, "window_size_right": 1}, {"window": (-1, 1)}),
                ({"causal": True}, {"causal": True}),
                ({"num_splits": 3} if HAS_SPLITS else {}, {}),
            ):
                found = call(FLASH, *given, **options)
                o, lse = attention(*given, return_lse=True, **asked)
                assert torch.equal(found[0].transpose(1, 2), o)
                assert torch.equal(found[1], lse.masked_fill(lse.isneginf(), math.inf))
                assert rows <= kv_rows or "window" not in asked or lse.isneginf().any()
        sdpa = call(SDPA_FLASH, *inputs(12, 7), causal=True)
        o, lse = attention(*inputs(12, 7), causal=True, return_lse=True)
        assert torch.equal(sdpa[0], o) and (lse.isneginf() == sdpa[1].isposinf()).all()


def packed(
    lengths: list[tuple[int, int]], gap: int = 3
) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """q, k and v with rows that no sequence has in front and behind, and both offsets."""
    torch.manual_seed(4)
    cu = [
        torch.tensor(
            [gap] + [gap + sum(one[side] for one in lengths[: i + 1]) for i in range(len(lengths))]
        )
        for side in (0, 1)
    ]
    rows = [int(one[-1]) + gap for one in cu]
    sizes = ((rows[0], 4), (rows[1], 2), (rows[1], 2))
    return [torch.randn(*size, 64, dtype=torch.bfloat16) for size in sizes], [
        one.int() for one in cu
    ]


def lists() -> None:
    lengths = [(5, 5), (4, 0), (0, 3), (9, 4), (1, 1)]
    given, cu = packed(lengths)
    gaps = torch.ones(given[0].shape[0], dtype=torch.bool)
    gaps[3:-3] = False
    options = {"window_size_left": -1, "window_size_right": 0, "scale": 0.3}
    rest = (*cu, 9, 5, 0.0, False, False)
    expected, lse = attention(
        *given, cu_seqlens_q=cu[0], cu_seqlens_k=cu[1], causal=True, scale=0.3, return_lse=True
    )
    with dash_attn.enable() as drop_in:
        drop_in.served.clear()
        found = ATEN._flash_attention_forward(*given, *rest, **options)
        assert drop_in.served == {FLASH: 1}
        said = ATEN._flash_attention_forward(
            *(x.to("meta") for x in (*given, *cu)), *rest[2:], **options
        )
        assert [(x.shape, x.stride(), x.dtype) for x in found] == [
            (x.shape, x.stride(), x.dtype) for x in said
        ]
        assert torch.equal(found[0], expected) and not found[0][gaps].any()
        assert torch.equal(found[1], lse.masked_fill(lse.isneginf(), math.inf))
        assert found[1][:, gaps].isposinf().all() and not found[1].isneginf().any()
        # rows that lie in another order
        turned = [x.transpose(0, 1).contiguous().transpose(0, 1) for x in given]
        found = ATEN._flash_attention_forward(*turned, *rest, **options)
        assert found[0].stride() == turned[0].stride() and torch.equal(found[0], expected)
        if hasattr(ATEN, FLASH_IN_PLACE):
            function = ATEN._flash_attention_forward_no_dropout_inplace
            out = torch.full_like(given[0], 7)
            lse = function(out, *given, *rest, **options)
            assert torch.equal(lse, found[1]) and torch.equal(out[~gaps], expected[~gaps])
            assert (out[gaps] == 7).all() and drop_in.served[FLASH_IN_PLACE] == 1
            FORWARDS.clear()
            wide = torch.empty(*given[0].shape[:2], 128, dtype=torch.bfloat16)
            refused(lambda: function(wide, *given, *rest, **options), RuntimeError)
            assert (
                FORWARDS == ["flash"]
                and drop_in.left[
                    FLASH_IN_PLACE,
                    "expected out as q with the head dim of v,"
                    " found torch.bfloat16 of (25, 4, 128)",
                ]
            )


def trained() -> None:
    """Gradients are those of attention(), and right where the drop-in ends before the backward."""
    for operator in (FLASH, SDPA_FLASH, SDPA_CUDNN, EFFICIENT):
        for causal in (False, True):
            leaves = [x.requires_grad_() for x in inputs(order=(0, 2, 1, 3))]
            o = attention(*leaves, causal=causal)
            expected = torch.autograd.grad(o, leaves, o.detach().cos())
            with dash_attn.enable() as drop_in:
                drop_in.served.clear()
                found = call(operator, *leaves, causal=causal)[0]
                found = found.transpose(1, 2) if operator in IN_ROWS else found
                LAUNCHED.clear()
                ours = torch.autograd.grad(found, leaves, o.detach().cos(), retain_graph=True)
                assert all(map(torch.equal, ours, expected)) and LAUNCHED[0][0] == "dash"
                assert set(state()["served"]) == {"forward", "backward"}
                assert list(drop_in.served) == [operator, *state()["served"]["backward"]]
            if operator != EFFICIENT:
                theirs = torch.autograd.grad(found, leaves, o.detach().cos())
                assert all(map(torch.equal, theirs, expected)) and LAUNCHED[-1][0] != "dash"
    # rows that see nothing, by FlashAttention's own backward
    leaves = [x.requires_grad_() for x in inputs(12, 7)]
    options = {"window_size_left": 3, "window_size_right": 0}
    o = attention(*leaves, window=(3, 0))
    expected = torch.autograd.grad(o, leaves, o.detach().cos())
    with dash_attn.enable():
        found = call(FLASH, *leaves, **options)[0]
    theirs = torch.autograd.grad(found.transpose(1, 2), leaves, o.detach().cos())
    assert all(map(torch.equal, theirs, expected)) and LAUNCHED[-1][0] == "rows"


def left(said: list[str]) -> None:
    """To the operator's own kernel, said once and counted once, whatever that calls."""
    cu, wide = torch.tensor([0, 12], dtype=torch.int32), [x.float() for x in inputs()]
    bias, one = torch.zeros(2, 4, 12, 12), torch.ones(2, dtype=torch.int32)
    debug = "expected no mask of a dropout to be returned, found return_debug_mask"
    no_bias = "expected no mask or bias, found one"
    of_float = (
        "q: expected elements of bf16 or f16, found f32; cast q, k and v, as torch.autocast does"
    )
    of_rows = (
        "causal: expected as many rows of q as of k, found 5 and 12: PyTorch's forward pass would"
        " hide other elements than the kernel (dash's causal masks are aligned at the bottom right)"
    )
    scale = "scale: expected a number above 0, found -0.5"
    with dash_attn.enable() as drop_in:
        for operator, given, options, reason in (
            *((name, inputs(), {"dropout": 0.5}, "expected no dropout, found 0.5") for name in ALL),
            *((name, wide, {}, of_float) for name in ALL),
            *((name, inputs(), {"scale": -0.5}, scale) for name in ALL),
            *((name, inputs(), {"debug": True}, debug) for name in ALL[:3]),
            *((name, inputs(), {"bias": bias}, no_bias) for name in ALL[2:]),
            *((name, inputs(5, 12), {"causal": True}, of_rows) for name in ALL[2:]),
            (FLASH, inputs(), {"scale": math.inf}, "scale: expected a finite number, found inf"),
            (FLASH, inputs(), {"seqused_k": one}, "expected no seqused_k, found one"),
            (
                FLASH,
                inputs(),
                {"alibi_slopes": torch.ones(4)},
                "expected no alibi_slopes, found one",
            ),
            *(
                [(FLASH, inputs(), {"block_table": one}, "expected no block_table, found one")]
                if HAS_SPLITS
                else []
            ),
            (EFFICIENT, inputs(), {"seqlen_k": one}, "expected no seqlen_k, found one"),
            (EFFICIENT, inputs(), {"window_size": 4}, "expected no window, found one of 4"),
        ):
            said.clear()
            drop_in.left.clear()
            drop_in.served.clear()
            by = {SDPA_CUDNN: "cudnn", EFFICIENT: "efficient"}.get(operator, "flash")
            for _ in range(2):
                FORWARDS.clear()
                found = call(operator, *given, **options)
                assert FORWARDS == [by], (operator, options, FORWARDS)
            with by_pytorch():
                expected = call(operator, *given, **options)
            assert torch.equal(found[0].nan_to_num(), expected[0].nan_to_num())
            assert dict(drop_in.left) == {(operator, reason): 2}, (drop_in.left, reason)
            whose = {"cudnn": "cuDNN's", "flash": "FlashAttention's"}
            whose = whose.get(by, "memory-efficient attention's")
            assert said == [f"aten::{operator}: {reason}; {whose} own forward serves it"], said
            assert not drop_in.served
        in_rows = [x.transpose(1, 2) for x in inputs()]
        lone = [x[0] for x in in_rows]
        drop_in.left.clear()
        refused(
            lambda: ATEN._flash_attention_forward(*lone, cu, None, 12, 12, 0.0, False, False),
            Exception,
        )
        one = [x[:1] for x in in_rows]
        ATEN._efficient_attention_forward(*one, None, cu, cu, 12, 12, 0.0, 0, True)
        ATEN._cudnn_attention_forward(*lone, None, cu, cu, 12, 12, True)
        assert dict(drop_in.left) == {
            (FLASH, "expected offsets of q and of k, or none, found those of one"): 1,
            (EFFICIENT, "expected sequences of one length, found offsets of unequal ones"): 1,
            (CUDNN, "expected packed sequences of FlashAttention, found cuDNN's"): 1,
        }, drop_in.left
        assert {"operator": CUDNN, "pass": "forward", "count": 1} == {
            name: value for name, value in state()["left"][-1].items() if name != "reason"
        }


def chosen() -> None:
    """forward="torch" keeps PyTorch's forward; a choice is one, until its end."""
    given = inputs()
    FORWARDS.clear()
    with dash_attn.enable(forward="torch") as drop_in:
        drop_in.served.clear()
        leaves = [x.requires_grad_() for x in given]
        o = call(SDPA_CUDNN, *leaves)[0]
        assert FORWARDS == ["cudnn"] and not drop_in.served and state()["forward"] == "torch"
        LAUNCHED.clear()
        torch.autograd.grad(o.sum(), leaves)
        assert LAUNCHED[0][0] == "dash" and drop_in.served == {aten_backward.SDPA_CUDNN: 1}
        for call_it in (dash_attn.enable, lambda: activate_flash_attention_impl("dash")):
            assert refused(call_it, ArgumentError) == (
                "forward: expected 'torch', of an enable() that has not ended, found 'dash'; call"
                " disable() first"
            )
        with dash_attn.enable(forward="torch"):
            pass
        call(SDPA_CUDNN, *given)
        assert FORWARDS == ["cudnn"] * 2
    assert not state()["is_enabled"]
    for forward in ("cudnn", None, 1):
        assert refused(
            lambda forward=forward: dash_attn.enable(forward=forward), ArgumentError
        ) == (f"forward: expected 'dash' or 'torch', found {forward!r}")
    assert not state()["is_enabled"]
    with dash_attn.enable():
        reason = refused(lambda: dash_attn.enable(forward="torch"), ArgumentError)
        assert reason.startswith("forward: expected 'dash', of an enable()"), reason
    FORWARDS.clear()
    call(FLASH, *given)
    activate_flash_attention_impl("dash")
    call(FLASH, *given)
    call(SDPA_FLASH, *given)
    restore_flash_attention_impl()
    call(FLASH, *given)
    assert FORWARDS == ["flash", "dash", "dash", "flash"], FORWARDS


def compiled() -> None:
    """Programs that PyTorch compiled have it while it is enabled, and not behind its end."""

    def attended(q: Any, k: Any, v: Any) -> Any:
        return ATEN._scaled_dot_product_cudnn_attention(q, k, v, None, True, 0.0, True)[0] * 2

    leaves = [x.requires_grad_() for x in inputs()]
    by_aot = torch.compile(attended, backend="aot_eager", fullgraph=True)
    FORWARDS.clear()
    by_aot(*leaves)
    assert FORWARDS == ["cudnn"]
    with dash_attn.enable():
        FORWARDS.clear()
        o = by_aot(*leaves)
        assert FORWARDS == ["dash"] and torch.equal(o, 2 * attention(*leaves, causal=True))
        eager = torch.autograd.grad(attended(*leaves).sum(), leaves)
        assert all(map(torch.equal, torch.autograd.grad(o.sum(), leaves), eager))
    FORWARDS.clear()
    by_aot(*leaves)
    assert FORWARDS == ["cudnn"]
    torch._dynamo.reset()


def of_pytorch() -> None:
    """attention(forward="torch"), and a world's packed forward, are PyTorch's whatever is enabled,
    in compiled programs too; other threads have the drop-in."""
    leaves = [x.requires_grad_() for x in inputs()]
    lone, cu = packed([(5, 5), (7, 7)], gap=0)

    def both(function: Any, **options: Any) -> list[torch.Tensor]:
        o = function(*leaves, forward="torch", **options)
        return [o, *torch.autograd.grad(o, leaves, o.detach().cos())]

    by_aot = torch.compile(attention, backend="aot_eager", fullgraph=True)
    for options, by in (({"causal": True}, "cudnn"), ({"window": (3, 0)}, "flash")):
        expected = both(attention, **options)
        with dash_attn.enable() as drop_in:
            before = drop_in.served.copy()
            for function in (attention, by_aot):
                FORWARDS.clear()
                found = both(function, **options)
                assert FORWARDS == [by] and all(map(torch.equal, found, expected))
            assert drop_in.served == before
            why = dash_attn.explain(*leaves, forward="torch", **options)
            assert why.forward.startswith("aten::"), why
    torch._dynamo.reset()
    with dash_attn.enable():
        FORWARDS.clear()
        foreign.of_sequences(*lone, *cu, 7, 7, -1, 0, 0.125)
        assert FORWARDS == ["flash"]
        seen: list[bool] = []
        with by_pytorch():
            with by_pytorch():
                pass
            thread = threading.Thread(target=lambda: seen.append(is_foreign()))
            thread.start()
            thread.join()
            assert is_foreign() and seen == [False]
            q, k, v = inputs()
            o, lse, *_ = call(SDPA_FLASH, q, k, v)
            LAUNCHED.clear()
            ATEN._scaled_dot_product_flash_attention_backward(
                o, q, k, v, o, lse, None, None, 12, 12, 0.0, False, lse, lse
            )
            assert LAUNCHED[0][0] == "flash"  # gradients, too
        assert not is_foreign()


class Said(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


handler = Said()
logging.getLogger("dash_attn").addHandler(handler)
served()
windows()
lists()
trained()
left(handler.messages)
chosen()
compiled()
of_pytorch()
