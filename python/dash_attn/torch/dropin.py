"""The drop-in: replaces PyTorch's own attention, forward and backward, and can put it back.

Each operator that computes attention or its gradients on CUDA is overridden, or calls one that is.
Calls that kernels do not serve go to the operator's own kernel. For gradients these are those of
FlashAttention and of memory-efficient attention in their deterministic forms; cuDNN's, which have
no deterministic form, only if PyTorch is not asked to be deterministic.
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

from ..errors import ArgumentError
from ..kernel.problem import DASH, TORCH
from ..support.forks import new_lock
from . import aten_backward, aten_forward
from .aten_backward import DETERMINISTIC, OVERRIDEABLE, SDPA_EFFICIENT
from .registry import foreign, is_foreign

KEY = "CUDA"
log = logging.getLogger("dash_attn")


class DropIn:
    """served, left: how often each operator was dash's, or its own kernel's, by reason; names that
    end in `_backward` are of gradients. forward: by whom forward passes are. Ends with `disable` or
    `with`."""

    def __init__(self) -> None:
        self.served: Counter[str] = Counter()
        self.left: Counter[tuple[str, str]] = Counter()
        self.forward = DASH
        self._said: set[str] = set()
        self._library: torch.library.Library | None = None
        self._old: dict[str, Any] = {}
        self._uses = 0

    def enable(self, forward: str) -> DropIn:
        if self._uses == 0:
            self.forward = forward
            self._replace(self._overrides())
        elif forward != self.forward:
            raise ArgumentError(
                f"forward: expected '{self.forward}', of an enable() that has not ended, found"
                f" '{forward}'; call disable() first"
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

    # ---- What is replaced ------------------------------------------------------------------------

    def _overrides(self) -> dict[str, Callable[..., Any]]:
        """By operator; one that this version of PyTorch does not have has none."""
        found = {
            name: partial(self._backward, name, function)
            for name, function in aten_backward.OPERATORS.items()
        }
        if self.forward == DASH:
            found |= {
                name: partial(self._forward, name, function)
                for name, function in aten_forward.OPERATORS.items()
            }
        return {name: one for name, one in found.items() if name not in _NEWER or _is_there(name)}

    def _replace(self, overrides: dict[str, Callable[..., Any]]) -> None:
        for name in unknown():
            self._say(
                f"aten::{name}: this dash_attn does not know it; gradients that it computes may"
                " differ from run to run"
            )
        self._old = {name: torch.library.get_kernel(f"aten::{name}", KEY) for name in overrides}
        self._library = torch.library.Library("aten", "IMPL")
        with warnings.catch_warnings():
            warnings.filterwarnings(
                "ignore", message="(?s).*overriding a previously registered kernel"
            )
            for name, function in overrides.items():
                self._library.impl(name, function, KEY, with_keyset=True, allow_override=True)

    # ---- Ours, or not ----------------------------------------------------------------------------

    def _forward(
        self, name: str, function: Callable[..., Any], keys: Any, *arguments: Any, **options: Any
    ) -> Any:
        """An operator that is left may call others: with them it is one call."""
        found = "" if is_foreign() else function(*arguments, **options)
        if not isinstance(found, str):
            self.served[name] += 1
            return found
        if found:
            self.left[name, found] += 1
            self._say(f"aten::{name}: {found}; {aten_forward.WHOSE[name]} own forward serves it")
        with foreign():
            return self._old[name].call_boxed(keys, *arguments, **options)

    def _backward(
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
        if do is None or is_foreign():
            return self._old[name].call_boxed(keys, do, *arguments, **options)
        found = function(do, *arguments, **options)
        if isinstance(found, str):
            return self._leave(name, found, keys, do, *arguments, **options)
        self.served[name] += 1
        return found

    def _leave(self, name: str, reason: str, keys: Any, *arguments: Any, **options: Any) -> Any:
        """Gradients by the operator's own kernel."""
        self.left[name, reason] += 1
        old = self._old[name]
        if name in DETERMINISTIC:
            self._say(
                f"aten::{name}: {reason}; {DETERMINISTIC[name]} deterministic backward serves it"
            )
            if name == aten_backward.EFFICIENT:
                # one split of keys has one block add to dq, in order; more add as they come
                return old.call_boxed(keys, *arguments, **options | {"num_splits_key": 1})
            if name == aten_backward.FLASH:  # the other one calls it
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
        with foreign():  # one of them calls the other
            return old.call_boxed(keys, *arguments, **options)

    def _say(self, message: str) -> None:
        if message not in self._said:
            self._said.add(message)
            log.warning(message)


# PyTorch 2.11 may not have them
_NEWER = (aten_backward.CUDNN, aten_forward.CUDNN, aten_forward.FLASH_IN_PLACE)


def _is_there(name: str) -> bool:
    return hasattr(torch.ops.aten, name) and torch._C._dispatch_has_kernel_for_dispatch_key(
        f"aten::{name}", KEY
    )


_lock = new_lock()
_one = DropIn()


def enable(forward: str = DASH) -> DropIn:
    """From now on, PyTorch's own attention is dash's, if kernels serve the call: gradients are the
    same bits on every run, and rows of o follow from their own query, and the keys and values that
    they see. forward: "torch" keeps PyTorch's forward passes, and so the bits of o; gradients are
    dash's.

    Other calls are logged once, by name, and counted in `left`. Ends with `disable()`, called as
    often as `enable`, or with the block of `with dash_attn.enable():`. Raises ArgumentError for
    another word, or another choice than that of an `enable()` that has not ended.
    """
    if not isinstance(forward, str) or forward not in (DASH, TORCH):
        raise ArgumentError(f"forward: expected '{DASH}' or '{TORCH}', found {forward!r}")
    with _lock:
        return _one.enable(forward)


def disable() -> None:
    """Restores what `enable` replaced."""
    with _lock:
        _one.disable()


def state() -> dict[str, Any]:
    """Whether it is enabled, and what was served, and left to others, until now, as JSON has it."""
    return {
        "is_enabled": _one._uses > 0,
        "forward": _one.forward,
        "served": {
            which: {name: count for name, count in _one.served.items() if _pass_of(name) == which}
            for which in ("forward", "backward")
        },
        "left": [
            {"operator": name, "pass": _pass_of(name), "reason": reason, "count": count}
            for (name, reason), count in _one.left.items()
        ],
    }


def _pass_of(name: str) -> str:
    return "backward" if name.endswith("_backward") else "forward"


def unknown() -> list[str]:
    """Operators of this PyTorch that compute gradients of attention on CUDA, and that nothing here
    knows."""
    known = {f"aten::{name}" for name in (*aten_backward.OPERATORS, SDPA_EFFICIENT)}
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
