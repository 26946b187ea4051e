# RUN: %torch_python %s %t
# REQUIRES: torch, plain-libdash
"""enable(): which gradients of PyTorch's own attention become ours, what computes the others, and
what is put back. Then the memory of launches in PyTorch. Forward passes: torch-drop-in-forward."""

from __future__ import annotations

import logging
import sys
import threading
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

import torch  # noqa: E402
from fixtures import refused, tensors, write  # noqa: E402
from on_cpu import LAUNCHED, LIBRARY, forward, gradients  # noqa: E402
from stub_driver import StubDriver  # noqa: E402
from torch.nn.attention import (
    activate_flash_attention_impl,
    restore_flash_attention_impl,
)  # noqa: E402

import dash_attn  # noqa: E402
from dash_attn import DriverError  # noqa: E402
from dash_attn.kernel.problem import window_of  # noqa: E402
from dash_attn.torch import kernels  # noqa: E402
from dash_attn.torch.aten_backward import (
    CUDNN,
    EFFICIENT,
    FLASH,
    SDPA_CUDNN,
    SDPA_EFFICIENT,
    SDPA_FLASH,
)  # noqa: E402
from dash_attn.torch.dropin import deterministically, unknown  # noqa: E402
from dash_attn.torch.kernels import TorchKernel  # noqa: E402

TMP = Path(sys.argv[1])
SPLITS: list[int | None] = []  # of keys, as memory-efficient attention was told
MODES: list[tuple[bool, bool]] = []  # deterministic, warn only: as PyTorch's own kernels found it
ATEN, EMPTY = torch.ops.aten, torch.empty(0)
RECTANGLE = (
    "causal: expected as many rows of q as of k, found 5 and 12: PyTorch's forward pass would hide"
    " other elements than the kernel (dash's causal masks are aligned at the bottom right)"
)


def flash(
    do: Any,
    q: Any,
    k: Any,
    v: Any,
    o: Any,
    lse: Any,
    cum_q: Any,
    cum_k: Any,
    max_q: Any,
    max_k: Any,
    dropout: Any,
    causal: Any,
    *_: Any,
    scale: float | None = None,
    **windows: Any,
) -> Any:
    MODES.append(
        (
            torch.are_deterministic_algorithms_enabled(),
            torch.is_deterministic_algorithms_warn_only_enabled(),
        )
    )
    window = tuple(
        -1 if windows.get(name) is None else windows[name]
        for name in ("window_size_left", "window_size_right")
    )
    return gradients("flash", do, q, k, v, o, lse, *window_of(causal, window), scale, "bshd")


def sdpa_flash(
    do: Any, q: Any, k: Any, v: Any, o: Any, lse: Any, *rest: Any, scale: float | None = None
) -> Any:
    turned = [x.transpose(1, 2) for x in (do, q, k, v, o)]
    return tuple(
        x.transpose(1, 2) for x in ATEN._flash_attention_backward(*turned, lse, *rest, scale=scale)
    )


def cudnn(
    do: Any,
    q: Any,
    k: Any,
    v: Any,
    o: Any,
    lse: Any,
    seed: Any,
    offset: Any,
    bias: Any,
    cum_q: Any,
    cum_k: Any,
    max_q: Any,
    max_k: Any,
    dropout: Any,
    causal: Any,
    *,
    scale: float | None = None,
) -> Any:
    return gradients("cudnn", do, q, k, v, o, lse, *window_of(causal, None), scale)


def sdpa_cudnn(*arguments: Any, **options: Any) -> Any:
    return ATEN._cudnn_attention_backward(*arguments, **options)


def efficient(
    do: Any,
    q: Any,
    k: Any,
    v: Any,
    bias: Any,
    o: Any,
    cum_q: Any,
    cum_k: Any,
    max_q: Any,
    max_k: Any,
    lse: Any,
    dropout: Any,
    seed: Any,
    offset: Any,
    mask: int,
    bias_has_gradient: bool,
    *,
    scale: float | None = None,
    num_splits_key: int | None = None,
    **_: Any,
) -> Any:
    SPLITS.append(num_splits_key)
    found = gradients(
        "efficient",
        do,
        q,
        k,
        v,
        o,
        lse[..., : q.shape[1]],
        *window_of(mask != 0, None),
        scale,
        "bshd",
    )
    return (*(x.contiguous() for x in found), torch.zeros_like(bias) if bias_has_gradient else None)


def sdpa_efficient(
    do: Any,
    q: Any,
    k: Any,
    v: Any,
    bias: Any,
    o: Any,
    lse: Any,
    seed: Any,
    offset: Any,
    dropout: Any,
    mask: Any,
    causal: bool = False,
    *,
    scale: float | None = None,
) -> Any:
    turned = [x.transpose(1, 2) for x in (do, q, k, v)]
    *found, of_bias = ATEN._efficient_attention_backward(
        *turned,
        bias,
        o.transpose(1, 2),
        None,
        None,
        q.shape[2],
        k.shape[2],
        lse,
        dropout,
        seed,
        offset,
        int(causal),
        mask[3],
        scale=scale,
    )
    return (*(x.transpose(1, 2) for x in found), of_bias)


for name, function in (
    (FLASH, flash),
    (SDPA_FLASH, sdpa_flash),
    (SDPA_CUDNN, sdpa_cudnn),
    (CUDNN, cudnn),
    (EFFICIENT, efficient),
    (SDPA_EFFICIENT, sdpa_efficient),
):
    LIBRARY.impl(name, function, "CPU")


def inputs(
    rows: int = 12, kv_rows: int = 12, head_dim: int = 64, of_v: int | None = None
) -> list[torch.Tensor]:
    torch.manual_seed(3)
    return [
        torch.randn(2, heads, s, d, dtype=torch.bfloat16)
        for heads, s, d in (
            (4, rows, head_dim),
            (2, kv_rows, head_dim),
            (2, kv_rows, of_v or head_dim),
        )
    ]


def call(
    operator: str,
    q: Any,
    k: Any,
    v: Any,
    *,
    causal: bool = False,
    dropout: float = 0.0,
    bias: Any = EMPTY,
    offsets: Any = EMPTY,
    **options: Any,
) -> list[tuple[str, tuple[int, int], float]]:
    """The backward pass of an operator, as autograd calls it; by whom it was computed."""
    o, lse, *_ = forward(q, k, v, None, True, causal=causal and q.shape[2] == k.shape[2])
    rest = (offsets, offsets, q.shape[2], k.shape[2], dropout, causal)
    LAUNCHED.clear()
    if operator == SDPA_EFFICIENT:  # the LSE of each head begins at a multiple of 32
        padded = torch.nn.functional.pad(lse[..., 0], (0, -q.shape[2] % 32), value=torch.inf)
        found = ATEN._scaled_dot_product_efficient_attention_backward(
            o,
            q,
            k,
            v,
            None if bias is EMPTY else bias,
            o,
            padded,
            EMPTY,
            EMPTY,
            dropout,
            [True, True, True, bias is not EMPTY],
            causal,
            **options,
        )
        assert (found[3] is None) == (bias is EMPTY)
        # Which compiled programs rely on.
        assert all(x.transpose(1, 2).is_contiguous() for x in found[:3])
        found = found[:3]
    elif operator in (SDPA_CUDNN, CUDNN):
        found = getattr(ATEN, operator)(o, q, k, v, o, lse, EMPTY, EMPTY, bias, *rest, **options)
    elif operator == SDPA_FLASH:
        found = ATEN._scaled_dot_product_flash_attention_backward(
            o, q, k, v, o, lse[..., 0], *rest, EMPTY, EMPTY, **options
        )
    else:
        turned = [x.transpose(1, 2) for x in (o, q, k, v, o)]
        found = ATEN._flash_attention_backward(*turned, lse[..., 0], *rest, EMPTY, EMPTY, **options)
        found = [x.transpose(1, 2) for x in found]
    window = (options.get("window_size_left", -1), options.get("window_size_right", -1))
    expected = gradients("", o, q, k, v, o, lse, *window_of(causal, window), options.get("scale"))
    assert all(torch.equal(x, y) for x, y in zip(found, expected, strict=True))
    return LAUNCHED[:-1]


def served() -> None:
    with dash_attn.enable() as drop_in:
        for operator in (FLASH, SDPA_FLASH, SDPA_CUDNN):
            assert call(operator, *inputs(), causal=True, scale=0.25) == [("dash", (-1, 0), 0.25)]
            assert call(operator, *inputs(head_dim=128)) == [("dash", (-1, -1), 128**-0.5)]
        assert (
            call(FLASH, *inputs(rows=5), causal=True, window_size_left=-1, window_size_right=-1)[0][
                0
            ]
            == "dash"
        )
        assert call(FLASH, *inputs(), window_size_left=4, window_size_right=2)[0][:2] == (
            "dash",
            (4, 2),
        )
        assert call(FLASH, *inputs(), causal=True, window_size_left=4)[0][:2] == ("dash", (4, 0))
        assert drop_in.served == {FLASH: 5, SDPA_FLASH: 2, SDPA_CUDNN: 2} and not drop_in.left
        drop_in.served.clear()
        for options in ({"causal": True, "scale": 0.25}, {}):
            assert call(SDPA_EFFICIENT, *inputs(), **options)[0][0] == "dash"
        assert drop_in.served == {EFFICIENT: 2} and not SPLITS
        for operator in (FLASH, SDPA_FLASH, SDPA_CUDNN, SDPA_EFFICIENT):
            for dims in ((64, 128), (48, 40), (192, 128), (256, 256)):
                found = call(operator, *inputs(head_dim=dims[0], of_v=dims[1]), causal=True)
                assert found == [("dash", (-1, 0), dims[0] ** -0.5)], (operator, found)
        # Autograd gets there.
        q, k, v = (x.requires_grad_() for x in inputs())
        LAUNCHED.clear()
        torch.autograd.grad(
            ATEN._scaled_dot_product_cudnn_attention(q, k, v, None, True)[0].sum(), q
        )
        assert LAUNCHED[0][0] == "dash"
        with dash_attn.enable():
            pass
        assert call(FLASH, *inputs())[0][0] == "dash"  # the outer block goes on
    for operator, by in (
        (FLASH, "flash"),
        (SDPA_FLASH, "flash"),
        (SDPA_CUDNN, "cudnn"),
        (SDPA_EFFICIENT, "efficient"),
    ):
        assert call(operator, *inputs())[0][0] == by
    activate_flash_attention_impl("dash")
    assert call(FLASH, *inputs())[0][0] == "dash"
    restore_flash_attention_impl()
    assert call(FLASH, *inputs())[0][0] == "flash"
    dash_attn.disable()  # nothing to put back
    dash_attn.enable()
    assert call(FLASH, *inputs())[0][0] == "dash"
    dash_attn.disable()
    assert call(FLASH, *inputs())[0][0] == "flash"


def left(said: list[str]) -> None:
    """To a kernel that is deterministic, and PyTorch's switch is as it was; said once."""
    offsets = torch.tensor([0, 12])
    with dash_attn.enable() as drop_in:
        drop_in.left.clear()
        for operator, given, options, reason in (
            (
                FLASH,
                inputs(),
                {"offsets": offsets},
                "q: expected 3 dimensions, [rows, heads, head_dim], found the shape (2, 12, 4, 64)",
            ),
            (SDPA_FLASH, inputs(), {"dropout": 0.5}, "expected no dropout, found 0.5"),
            (
                SDPA_FLASH,
                inputs(head_dim=36),
                {},
                (
                    "q: expected a head dim that is a multiple of 8 up to 256, found 36; pad q, k"
                    " and v with zeros to 40, and pass scale=36**-0.5"
                ),
            ),
        ):
            for _ in range(2):
                MODES.clear()
                assert call(operator, *given, **options)[0][0] == "flash" and MODES == [
                    (True, False)
                ]
            assert said == [
                f"aten::{name}: {reason}; FlashAttention's deterministic backward serves it"
                for name in dict.fromkeys((operator, FLASH))
            ], said
            assert drop_in.left[operator, reason] >= 2
            assert not torch.are_deterministic_algorithms_enabled()
            said.clear()
        bias, wide = torch.zeros(2, 4, 12, 12), [x.float() for x in inputs()]
        for given, options, reason in (
            (
                wide,
                {},
                (
                    "q: expected elements of bf16 or f16, found f32; cast q, k and v, as"
                    " torch.autocast does"
                ),
            ),
            (inputs(), {"bias": bias}, "expected no mask or bias, found one"),
            (inputs(), {"dropout": 0.5}, "expected no dropout, found 0.5"),
            (inputs(rows=5), {"causal": True}, RECTANGLE),
        ):
            SPLITS.clear()
            for mode in (False, True):
                torch.use_deterministic_algorithms(mode)
                assert call(SDPA_EFFICIENT, *given, **options)[0][0] == "efficient"
            assert SPLITS == [1, 1] and drop_in.left[EFFICIENT, reason] == 2, (SPLITS, drop_in.left)
            assert said == [
                f"aten::{EFFICIENT}: {reason}; memory-efficient attention's deterministic backward"
                " serves it"
            ], said
            torch.use_deterministic_algorithms(False)
            said.clear()
        direct = [x.transpose(1, 2) for x in inputs()]
        for options, reason in (
            ({"window_size": 4}, "expected no window, found one of 4"),
            (
                {"shared_storage_dqdkdv": True},
                "expected dq, dk and dv by themselves, found memory that they share",
            ),
        ):
            ATEN._efficient_attention_backward(
                direct[0],
                *direct,
                None,
                direct[0],
                None,
                None,
                12,
                12,
                torch.zeros(2, 4, 32),
                0.0,
                EMPTY,
                EMPTY,
                0,
                False,
                num_splits_key=4,
                **options,
            )
            assert SPLITS[-1] == 1 and drop_in.left[EFFICIENT, reason] == 1
        said.clear()
        for operator, given, options, reason in (
            (
                SDPA_CUDNN,
                inputs(),
                {"bias": torch.zeros(12, 12)},
                "expected no mask or bias, found one",
            ),
            (
                SDPA_CUDNN,
                inputs(),
                {"offsets": offsets},
                "expected sequences of one length, found offsets of unequal ones",
            ),
            (CUDNN, inputs(), {}, "expected packed sequences of FlashAttention, found cuDNN's"),
            (SDPA_CUDNN, inputs(rows=5), {"causal": True}, RECTANGLE),
        ):
            torch.use_deterministic_algorithms(True)
            found = refused(
                lambda operator=operator, given=given, options=options: call(
                    operator, *given, **options
                ),
                RuntimeError,
            )
            assert (
                found
                == f"aten::{operator}: {reason}; the backward pass that is left is cuDNN's, which"
                " is not deterministic: choose SDPBackend.FLASH_ATTENTION by"
                " torch.nn.attention.sdpa_kernel"
            ), found
            assert not LAUNCHED and not said
            for mode in ({"mode": True, "warn_only": True}, {"mode": False}):
                torch.use_deterministic_algorithms(**mode)
                assert call(operator, *given, **options)[0][0] == "cudnn"
            assert said == [
                f"aten::{operator}: {reason}; cuDNN's backward serves it, which is NOT"
                " deterministic"
            ], said
            said.clear()


class NoGradient(torch.autograd.Function):
    """None comes back through it."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, *_: Any) -> None:
        return None


def without_gradient() -> None:
    """Where none comes back to o, the operator's own kernel says what becomes of it."""
    q, k, v = (x.requires_grad_() for x in inputs())
    seen: list[Any] = []
    LIBRARY.impl(
        SDPA_CUDNN,
        lambda do, *_, **options: seen.append(do) or (None, None, None),
        "CPU",
        allow_override=True,
    )
    with dash_attn.enable() as drop_in:
        drop_in.served.clear()
        NoGradient.apply(
            ATEN._scaled_dot_product_cudnn_attention(q, k, v, None, True)[0]
        ).sum().backward()
        assert seen == [None] and not drop_in.served[SDPA_CUDNN] and q.grad is None
    LIBRARY.impl(SDPA_CUDNN, sdpa_cudnn, "CPU", allow_override=True)


def complete(said: list[str]) -> None:
    """No backward pass of attention of this PyTorch is unknown; one that is new is logged."""
    assert unknown() == [], unknown()
    said.clear()
    new = torch.library.Library("aten", "FRAGMENT")
    new.define("_sparse_attention_backward(Tensor do) -> Tensor")
    new.impl("_sparse_attention_backward", lambda do: do, "CUDA")
    assert unknown() == ["_sparse_attention_backward"]
    with dash_attn.enable():
        pass
    assert said == [
        "aten::_sparse_attention_backward: this dash_attn does not know it; gradients that it"
        " computes may differ from run to run"
    ]
    new._destroy()
    assert unknown() == []


def unseen() -> None:
    """No other thread sees the switch that is on for a call; also where the call fails it is put
    back."""
    made, multiply = (
        torch.library.get_kernel(name, "CPU") for name in ("aten::empty.memory_format", "aten::mm")
    )
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
    options = {
        "dtype": torch.float32,
        "layout": None,
        "device": torch.device("cpu"),
        "pin_memory": False,
        "memory_format": None,
    }
    # In deterministic mode new memory is full of NaN: so it was on.
    assert deterministically(made.call_boxed, keys, [4096], **options).isnan().all()
    a, seen, done = torch.randn(400, 400), [0, 0], threading.Event()

    def look() -> None:
        while not done.is_set():
            seen[torch.are_deterministic_algorithms_enabled()] += 1

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # threads take turns as often as they can
    thread = threading.Thread(target=look)
    thread.start()
    for _ in range(200):
        deterministically(multiply.call_boxed, keys, a, a)
    done.set()
    thread.join()
    sys.setswitchinterval(interval)
    assert seen[0] > 100 and not seen[1], seen
    for mode, warn_only in ((False, False), (True, True), (True, False)):
        torch.use_deterministic_algorithms(mode, warn_only=warn_only)
        refused(lambda: deterministically(multiply.call_boxed, keys, a, a[:3]), RuntimeError)
        assert (
            torch.are_deterministic_algorithms_enabled(),
            torch.is_deterministic_algorithms_warn_only_enabled(),
        ) == (mode, warn_only)
    torch.use_deterministic_algorithms(False)


def memory() -> None:
    """Each launch has memory of its own, with counters and the order made in it, and gives it back,
    also when it fails."""
    driver, held, streams = StubDriver(), [], []

    def allocate(size: int, device: int, stream: int) -> int:
        with driver.on(0):
            held.append(driver.allocate(size, "torch"))
        streams.append((device, stream))
        return held[-1]

    def delete(pointer: int) -> None:
        held.remove(pointer)
        with driver.on(0):
            driver.free(pointer)

    kernels.allocate, kernels.free = allocate, delete
    launches = [f"attention_bwd_{role}" for role in ("order", "prepare", "main", "convert")]
    kernel = TorchKernel.load(write(TMP / "memory"), driver)
    for capturing in (None, None, 5):  # a capture may allocate: PyTorch's cache has a pool for it
        driver.set(capturing=capturing)
        kernel.backward(**tensors(), stream=5)
        assert driver.names() == ["allocate", "fill", *launches, "free"] and not held
    assert set(streams) == {(0, 5)}
    for failing in ("attention_bwd_order", "attention_bwd_main"):
        driver.set(fail=f"{failing}:719", capturing=None)
        refused(lambda: kernel.backward(**tensors(), stream=5), DriverError)
        assert not held
    driver.set(fail=None)
    driver.names()
    kernel = TorchKernel.load(write(TMP / "table", table=bytes(64)), driver)
    for expected in (["allocate", "copy"], []):
        kernel.backward(**tensors(q_rows=4096, kv_rows=4096), stream=5)
        assert driver.names() == [*expected, "allocate", "fill", *launches[1:], "free"]


class Said(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


handler = Said()
logging.getLogger("dash_attn").addHandler(handler)
served()
left(handler.messages)
without_gradient()
complete(handler.messages)
unseen()
memory()
