# RUN: %torch_python %s %t
# REQUIRES: torch, plain-libdash
"""enable(): which gradients of PyTorch's own attention become ours, who computes the others, and what is put back. Then the memory of
launches in PyTorch."""

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
from torch.nn.attention import activate_flash_attention_impl, restore_flash_attention_impl  # noqa: E402

import dash_attn  # noqa: E402
from dash_attn import DriverError  # noqa: E402
from dash_attn.torch.dropin import CUDNN, FLASH, SDPA_CUDNN, SDPA_FLASH, deterministically  # noqa: E402
from dash_attn.torch import kernels  # noqa: E402
from dash_attn.torch.kernels import TorchKernel  # noqa: E402
from dash_attn.problem import window_of  # noqa: E402

TMP = Path(sys.argv[1])
MODES: list[tuple[bool, bool]] = []  # deterministic, warn only: as PyTorch's own kernels found it
ATEN, EMPTY = torch.ops.aten, torch.empty(0)


def flash(do: Any, q: Any, k: Any, v: Any, o: Any, lse: Any, cum_q: Any, cum_k: Any, max_q: Any, max_k: Any, dropout: Any, causal: Any,
          *_: Any, scale: float | None = None, **windows: Any) -> Any:
    MODES.append((torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()))
    window = tuple(-1 if windows.get(name) is None else windows[name] for name in ("window_size_left", "window_size_right"))
    return gradients("flash", do, q, k, v, o, lse, *window_of(causal, window), scale, "bshd")


def sdpa_flash(do: Any, q: Any, k: Any, v: Any, o: Any, lse: Any, *rest: Any, scale: float | None = None) -> Any:
    turned = [x.transpose(1, 2) for x in (do, q, k, v, o)]
    return tuple(x.transpose(1, 2) for x in ATEN._flash_attention_backward(*turned, lse, *rest, scale=scale))


def sdpa_cudnn(do: Any, q: Any, k: Any, v: Any, o: Any, lse: Any, seed: Any, offset: Any, bias: Any, cum_q: Any, cum_k: Any, max_q: Any,
               max_k: Any, dropout: Any, causal: Any, *, scale: float | None = None) -> Any:
    return gradients("cudnn", do, q, k, v, o, lse, *window_of(causal, None), scale)


def cudnn(*arguments: Any, **options: Any) -> Any:
    return sdpa_cudnn(*arguments, **options)


for name, function in ((FLASH, flash), (SDPA_FLASH, sdpa_flash), (SDPA_CUDNN, sdpa_cudnn), (CUDNN, cudnn)):
    LIBRARY.impl(name, function, "CPU")


def inputs(rows: int = 12, kv_rows: int = 12, head_dim: int = 64) -> list[torch.Tensor]:
    torch.manual_seed(3)
    return [torch.randn(2, heads, s, head_dim, dtype=torch.bfloat16) for heads, s in ((4, rows), (2, kv_rows), (2, kv_rows))]


def call(operator: str, q: Any, k: Any, v: Any, *, causal: bool = False, dropout: float = 0.0, bias: Any = EMPTY, offsets: Any = EMPTY,
         **options: Any) -> list[tuple[str, tuple[int, int], float]]:
    """The backward pass of an operator, as autograd calls it; by whom it was computed."""
    o, lse, *_ = forward(q, k, v, None, True, causal=causal and q.shape[2] == k.shape[2])
    rest = (offsets, offsets, q.shape[2], k.shape[2], dropout, causal)
    LAUNCHED.clear()
    if operator in (SDPA_CUDNN, CUDNN):
        found = getattr(ATEN, operator)(o, q, k, v, o, lse, EMPTY, EMPTY, bias, *rest, **options)
    elif operator == SDPA_FLASH:
        found = ATEN._scaled_dot_product_flash_attention_backward(o, q, k, v, o, lse[..., 0], *rest, EMPTY, EMPTY, **options)
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
        assert call(FLASH, *inputs(rows=5), causal=True, window_size_left=-1, window_size_right=-1)[0][0] == "dash"
        assert call(FLASH, *inputs(), window_size_left=4, window_size_right=2)[0][:2] == ("dash", (4, 2))
        assert call(FLASH, *inputs(), causal=True, window_size_left=4)[0][:2] == ("dash", (4, 0))
        assert drop_in.served == {FLASH: 5, SDPA_FLASH: 2, SDPA_CUDNN: 2} and not drop_in.left
        # Autograd gets there.
        q, k, v = (x.requires_grad_() for x in inputs())
        LAUNCHED.clear()
        torch.autograd.grad(ATEN._scaled_dot_product_cudnn_attention(q, k, v, None, True)[0].sum(), q)
        assert LAUNCHED[0][0] == "dash"
        with dash_attn.enable():
            pass
        assert call(FLASH, *inputs())[0][0] == "dash"  # the outer block goes on
    for operator, by in ((FLASH, "flash"), (SDPA_FLASH, "flash"), (SDPA_CUDNN, "cudnn")):
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
                (FLASH, inputs(), {"offsets": offsets}, "q: expected 3 dimensions, [rows, heads, head_dim], found the shape (2, 12, 4, 64)"),
                (SDPA_FLASH, inputs(), {"dropout": 0.5}, "expected no dropout, found 0.5"),
                (SDPA_FLASH, inputs(head_dim=32), {}, "q: expected a head dim of 64 or 128, found 32; pad q, k and v with zeros to 64, and "
                 "pass scale=32**-0.5")):
            for _ in range(2):
                MODES.clear()
                assert call(operator, *given, **options)[0][0] == "flash" and MODES == [(True, False)]
            assert said == [f"aten::{name}: {reason}; FlashAttention's deterministic backward serves it"
                            for name in dict.fromkeys((operator, FLASH))], said
            assert drop_in.left[operator, reason] >= 2
            assert not torch.are_deterministic_algorithms_enabled()
            said.clear()
        for operator, given, options, reason in (
                (SDPA_CUDNN, inputs(), {"bias": torch.zeros(12, 12)}, "expected no mask or bias, found one"),
                (SDPA_CUDNN, inputs(), {"offsets": offsets}, "expected sequences of one length, found offsets of unequal ones"),
                (CUDNN, inputs(), {}, "expected packed sequences of FlashAttention, found cuDNN's"),
                (SDPA_CUDNN, inputs(rows=5), {"causal": True}, "causal: expected as many rows of q as of k, found 5 and 12: PyTorch's forward pass "
                 "would hide other elements than the kernel (dash's causal masks are aligned at the bottom right)")):
            torch.use_deterministic_algorithms(True)
            found = refused(lambda operator=operator, given=given, options=options: call(operator, *given, **options), RuntimeError)
            assert found == (f"aten::{operator}: {reason}; the backward pass that is left is cuDNN's, which is not deterministic: choose "
                             "SDPBackend.FLASH_ATTENTION by torch.nn.attention.sdpa_kernel"), found
            assert not LAUNCHED and not said
            for mode in ({"mode": True, "warn_only": True}, {"mode": False}):
                torch.use_deterministic_algorithms(**mode)
                assert call(operator, *given, **options)[0][0] == "cudnn"
            assert said == [f"aten::{operator}: {reason}; cuDNN's backward serves it, which is NOT deterministic"], said
            said.clear()


def unseen() -> None:
    """No other thread sees the switch that is on for a call; also where the call fails it is put back."""
    made, multiply = (torch.library.get_kernel(name, "CPU") for name in ("aten::empty.memory_format", "aten::mm"))
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
    options = {"dtype": torch.float32, "layout": None, "device": torch.device("cpu"), "pin_memory": False, "memory_format": None}
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
        assert (torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()) == (mode, warn_only)
    torch.use_deterministic_algorithms(False)


def memory() -> None:
    """Each launch has memory of its own, with counters and the order made in it, and gives it back, also when it fails."""
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
unseen()
memory()
