"""The drop-in: replaces the gradients of PyTorch's own attention, and can put them back.

Each operator that computes gradients of attention on CUDA is overridden, or calls one that is.
Calls that kernels do not serve go to the operator's own kernel: FlashAttention and
memory-efficient attention in their deterministic forms; cuDNN, which has no deterministic form,
only if PyTorch is not asked to be deterministic.
"""

from __future__ import annotations

import logging
import re
import warnings
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch.nn.attention import register_flash_attention_impl

from ..errors import ArgumentError, CapacityError
from ..kernel.problem import Window, window_of
from ..support.forks import new_lock
from .operator import launch, launch_any
from .problem import (
    Lengths,
    refusal_of_device,
    refusal_of_foreign,
    refusal_of_sequences,
    refusal_of_tensors,
)

FLASH, SDPA_FLASH, SDPA_CUDNN, CUDNN, EFFICIENT = (
    "_flash_attention_backward",
    "_scaled_dot_product_flash_attention_backward",
    "_scaled_dot_product_cudnn_attention_backward",
    "_cudnn_attention_backward",
    "_efficient_attention_backward",
)
DETERMINISTIC = {
    FLASH: "FlashAttention's",
    SDPA_FLASH: "FlashAttention's",
    EFFICIENT: "memory-efficient attention's",
}
# Those that need no override: one only calls EFFICIENT, the other has no kernel on CUDA unless one
# is registered.
SDPA_EFFICIENT, OVERRIDEABLE = (
    "_scaled_dot_product_efficient_attention_backward",
    "_scaled_dot_product_fused_attention_overrideable_backward",
)
KEY = "CUDA"
log = logging.getLogger("dash_attn")


class DropIn:
    """served, left: how often each operator's gradients were dash's, or another kernel's, by
    reason. Ends with `disable` or `with`."""

    def __init__(self) -> None:
        self.served: Counter[str] = Counter()
        self.left: Counter[tuple[str, str]] = Counter()
        self._said: set[str] = set()
        self._library: torch.library.Library | None = None
        self._old: dict[str, Any] = {}
        self._uses = 0

    def enable(self) -> DropIn:
        if self._uses == 0:
            ours = {
                FLASH: self._flash,
                SDPA_FLASH: self._sdpa_flash,
                SDPA_CUDNN: self._sdpa_cudnn,
                EFFICIENT: self._efficient,
            }
            if hasattr(torch.ops.aten, CUDNN):  # of newer versions
                ours[CUDNN] = self._cudnn
            for name in unknown():
                self._say(
                    f"aten::{name}: this dash_attn does not know it; gradients that it computes may"
                    " differ from run to run"
                )
            self._old = {name: torch.library.get_kernel(f"aten::{name}", KEY) for name in ours}
            self._library = torch.library.Library("aten", "IMPL")
            with warnings.catch_warnings():
                warnings.filterwarnings(
                    "ignore", message="(?s).*overriding a previously registered kernel"
                )
                for name, function in ours.items():
                    self._library.impl(
                        name,
                        partial(self._reached, name, function),
                        KEY,
                        with_keyset=True,
                        allow_override=True,
                    )
        self._uses += 1
        return self

    def disable(self) -> None:
        if self._uses == 1:
            self._library._destroy()
            self._library, self._old = None, {}
        self._uses = max(0, self._uses - 1)

    def remove(self) -> None:
        """As PyTorch's registry of flash attentions calls it."""
        with _lock:
            self.disable()

    def __enter__(self) -> DropIn:
        return self

    def __exit__(self, *_: Any) -> None:
        self.remove()

    # ---- The operators, as PyTorch declares them -------------------------------------------------

    def _reached(
        self,
        name: str,
        function: Callable[..., Any],
        keys: Any,
        do: Any,
        *arguments: Any,
        **options: Any,
    ) -> Any:
        """A gradient that does not come back to o is no tensor; the operator's own kernel knows
        what follows from it."""
        return (self._old[name].call_boxed if do is None else function)(
            keys, do, *arguments, **options
        )

    def _flash(
        self,
        keys: Any,
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
        dropout: float,
        causal: bool,
        seed: Any,
        unused: Any,
        *,
        scale: float | None = None,
        window_size_left: int | None = None,
        window_size_right: int | None = None,
    ) -> Any:
        window = tuple(
            -1 if side is None or side < 0 else side
            for side in (window_size_left, window_size_right)
        )
        is_list = _has_offsets(cum_q)
        reason = (
            _refusal(q, k, v, dropout, lengths=Lengths(cum_q, cum_k))
            if is_list
            else _refusal(q, k, v, dropout, "bshd")
        )
        if reason is None and is_list:
            given = (do, q, k, v, o, lse, *window_of(causal, window), _number(scale, q))
            found, reason = self._attempt(FLASH, launch_list, *given, cum_q, cum_k)
        elif reason is None:
            found, reason = self._serve(
                FLASH, do, q, k, v, o, lse, window_of(causal, window), scale, "bshd"
            )
        if reason is None:
            return found
        rest = {
            "scale": scale,
            "window_size_left": window_size_left,
            "window_size_right": window_size_right,
        }
        return self._leave(
            FLASH,
            reason,
            keys,
            do,
            q,
            k,
            v,
            o,
            lse,
            cum_q,
            cum_k,
            max_q,
            max_k,
            dropout,
            causal,
            seed,
            unused,
            **rest,
        )

    def _sdpa_flash(
        self,
        keys: Any,
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
        dropout: float,
        causal: bool,
        seed: Any,
        offset: Any,
        *,
        scale: float | None = None,
    ) -> Any:
        reason = _refusal_of_offsets(cum_q) or _refusal(q, k, v, dropout)
        if reason is None:
            found, reason = self._serve(
                SDPA_FLASH, do, q, k, v, o, lse, window_of(causal, None), scale
            )
        if reason is None:
            return found
        return self._leave(
            SDPA_FLASH,
            reason,
            keys,
            do,
            q,
            k,
            v,
            o,
            lse,
            cum_q,
            cum_k,
            max_q,
            max_k,
            dropout,
            causal,
            seed,
            offset,
            scale=scale,
        )

    def _sdpa_cudnn(
        self,
        keys: Any,
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
        dropout: float,
        causal: bool,
        *,
        scale: float | None = None,
    ) -> Any:
        reason = (
            _refusal_of_offsets(cum_q)
            or _refusal_of_bias(bias)
            or _refusal(q, k, v, dropout)
            or refusal_of_foreign(q, k, window_of(causal, None))
        )
        if reason is None:
            found, reason = self._serve(
                SDPA_CUDNN, do, q, k, v, o, lse, window_of(causal, None), scale
            )
        if reason is None:
            return found
        return self._leave(
            SDPA_CUDNN,
            reason,
            keys,
            do,
            q,
            k,
            v,
            o,
            lse,
            seed,
            offset,
            bias,
            cum_q,
            cum_k,
            max_q,
            max_k,
            dropout,
            causal,
            scale=scale,
        )

    def _efficient(
        self,
        keys: Any,
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
        dropout: float,
        seed: Any,
        offset: Any,
        mask: int,
        bias_has_gradient: bool,
        *,
        scale: float | None = None,
        num_splits_key: int | None = None,
        window_size: int | None = None,
        shared_storage_dqdkdv: bool = False,
    ) -> Any:
        """One split of keys has one block add to dq, in order; more add as they come."""
        sides = window_of(mask != 0, None)
        reason = (
            _refusal_of_offsets(cum_q)
            or _refusal_of_bias(bias)
            or _refusal(q, k, v, dropout, "bshd")
            or refusal_of_foreign(q, k, sides, "bshd")
            or _refusal_of_extras(window_size, shared_storage_dqdkdv)
        )
        if reason is None:
            # more of it is padding
            found, reason = self._serve(
                EFFICIENT, do, q, k, v, o, lse[..., : q.shape[1]], sides, scale, "bshd"
            )
        if reason is None:
            return (*(x.contiguous() for x in found), None)
        return self._leave(
            EFFICIENT,
            reason,
            keys,
            do,
            q,
            k,
            v,
            bias,
            o,
            cum_q,
            cum_k,
            max_q,
            max_k,
            lse,
            dropout,
            seed,
            offset,
            mask,
            bias_has_gradient,
            scale=scale,
            num_splits_key=1,
            window_size=window_size,
            shared_storage_dqdkdv=shared_storage_dqdkdv,
        )

    def _cudnn(self, keys: Any, *arguments: Any, **options: Any) -> Any:
        return self._leave(
            CUDNN,
            "expected packed sequences of FlashAttention, found cuDNN's",
            keys,
            *arguments,
            **options,
        )

    # ---- Ours, or not ----------------------------------------------------------------------------

    def _serve(
        self,
        name: str,
        do: Any,
        q: Any,
        k: Any,
        v: Any,
        o: Any,
        lse: Any,
        window: Window,
        scale: float | None,
        layout: str = "bhsd",
    ) -> tuple[Any, str | None]:
        return self._attempt(name, launch, do, q, k, v, o, lse, *window, _number(scale, q), layout)

    def _attempt(
        self, name: str, launch: Callable[..., Any], *arguments: Any
    ) -> tuple[Any, str | None]:
        """Gradients, or why there are none after all, as of more tasks than an order can have,
        or on a part of a GPU: nothing is written then."""
        try:
            found = launch(*arguments)
        except (ArgumentError, CapacityError) as error:
            return None, str(error)
        self.served[name] += 1
        return found, None

    def _leave(self, name: str, reason: str, keys: Any, *arguments: Any, **options: Any) -> Any:
        self.left[name, reason] += 1
        old = self._old[name]
        if name in DETERMINISTIC:
            self._say(
                f"aten::{name}: {reason}; {DETERMINISTIC[name]} deterministic backward serves it"
            )
            if name == FLASH:  # the others call it, or are told by an argument
                return deterministically(old.call_boxed, keys, *arguments, **options)
            return old.call_boxed(keys, *arguments, **options)
        strict = torch.are_deterministic_algorithms_enabled()
        if strict and not torch.is_deterministic_algorithms_warn_only_enabled():
            raise RuntimeError(
                f"aten::{name}: {reason}; the backward pass that is left is cuDNN's, which is not"
                " deterministic: choose SDPBackend.FLASH_ATTENTION by"
                " torch.nn.attention.sdpa_kernel"
            )
        self._say(f"aten::{name}: {reason}; cuDNN's backward serves it, which is NOT deterministic")
        return old.call_boxed(keys, *arguments, **options)

    def _say(self, message: str) -> None:
        if message not in self._said:
            self._said.add(message)
            log.warning(message)


_lock = new_lock()
_one = DropIn()


def enable() -> DropIn:
    """From now on, PyTorch's own attention has gradients that are the same bits on every run, if
    kernels serve the call.

    Other calls are logged once, by name, and counted in `left`. Ends with `disable()`, called as
    often as `enable`, or with the block of `with dash_attn.enable():`.
    """
    with _lock:
        return _one.enable()


def disable() -> None:
    """Restores what `enable` replaced."""
    with _lock:
        _one.disable()


def state() -> dict[str, Any]:
    """Whether it is enabled, and what was served, and left to others, until now, as JSON has it."""
    return {
        "is_enabled": _one._uses > 0,
        "served": dict(_one.served),
        "left": [
            {"operator": name, "reason": reason, "count": count}
            for (name, reason), count in _one.left.items()
        ],
    }


def unknown() -> list[str]:
    """Operators of this PyTorch that compute gradients of attention on CUDA, and that nothing in
    this file knows."""
    known = {f"aten::{name}" for name in (*DETERMINISTIC, SDPA_CUDNN, CUDNN, SDPA_EFFICIENT)}
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    return [
        name.removeprefix("aten::")
        for name in torch._C._dispatch_get_all_op_names()
        if _OF_ATTENTION.match(name)
        and name not in known
        and (
            has(name, "CUDA")
            or name != f"aten::{OVERRIDEABLE}"
            and torch._C._dispatch_has_computed_kernel_for_dispatch_key(name, "CUDA")
        )
    ]


_OF_ATTENTION = re.compile("aten::.*(attention|attn|sdp|flash).*backward")


# torch.nn.attention.activate_flash_attention_impl("dash") does what enable() does, until another is
# activated.
register_flash_attention_impl("dash", register_fn=enable)


def deterministically(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Calls it with PyTorch's switch on, which FlashAttention asks which of its backward passes
    to take, and puts the switch back.

    The switch is that of the process. Python looks for other threads between bytecodes only, and
    here is one for all three calls; a kernel that PyTorch gives does not let go of Python's
    lock. So no other thread of Python sees it, only those that run without Python."""
    was = (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
    )
    switch = torch._C._set_deterministic_algorithms
    calls = (
        partial(switch, True, warn_only=False),
        partial(function, *arguments, **options),
        partial(switch, was[0], warn_only=was[1]),
    )
    try:
        return list(map(partial.__call__, calls))[1]
    except BaseException:
        switch(was[0], warn_only=was[1])
        raise


def _refusal(
    q: Any, k: Any, v: Any, dropout: float, layout: str = "bhsd", lengths: Lengths | None = None
) -> str | None:
    if dropout:
        return f"expected no dropout, found {dropout}"
    of_tensors = (
        refusal_of_tensors(q, k, v, layout)
        if lengths is None
        else refusal_of_sequences(q, k, v, lengths)
    )
    return of_tensors or refusal_of_device(q.device.index)


def launch_list(*given: Any) -> tuple[Any, ...]:
    """dq, dk and dv of packed sequences, whose offsets come last."""
    return launch_any(*given[:9], cu_q=given[9], cu_k=given[10])[:3]


def _number(scale: float | None, q: Any) -> float:
    return q.shape[-1] ** -0.5 if scale is None else scale


def _has_offsets(offsets: Any) -> bool:
    return offsets is not None and offsets.numel() > 0


def _refusal_of_offsets(offsets: Any) -> str | None:
    return (
        "expected sequences of one length, found offsets of unequal ones"
        if _has_offsets(offsets)
        else None
    )


def _refusal_of_extras(window: int | None, is_shared: bool) -> str | None:
    if window:
        return f"expected no window, found one of {window}"
    return (
        "expected dq, dk and dv by themselves, found memory that they share" if is_shared else None
    )


def _refusal_of_bias(bias: Any) -> str | None:
    return None if bias is None or bias.numel() == 0 else "expected no mask or bias, found one"
