"""What JAX adds to the reasons why something cannot be served. Looks at types and sizes, so it
is asked while programs are traced."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from ..kernel import problem, sequences
from ..kernel.problem import (
    CUDNN,
    DASH,
    FULL,
    LAYOUTS,
    NAMES,
    PACKED,
    Window,
    coverage_of,
    plain,
    plain_options,
    refusal_of,
    refusal_of_array,
    refusal_of_cut,
    refusal_of_gpu,
    refusal_of_layout,
    refusal_of_sizes,
    refusal_of_softcap,
    window_of,
)
from ..kernel.unrounded import UNROUNDED, refusal_of_delta

CU_SEQLENS = ("cu_seqlens_q", "cu_seqlens_k")
PLATFORM = "gpu"  # as JAX calls what its arrays lie on


class Options(NamedTuple):
    """What of the arguments of `attention` is no tensor; numbers are plain, and a layout is there,
    as `of` makes them. cu_seqlens: offsets of q and of k, as they were given; used: how many rows
    of q and of k each sequence uses."""

    causal: Any
    window: Any
    scale: Any
    softcap: Any
    level: Any
    forward: Any
    layout: Any
    cu_seqlens: tuple[Any, Any]
    used: tuple[Any, Any]
    cut: Any
    delta: Any

    @classmethod
    def of(cls, causal: Any, window: Any, scale: Any, softcap: Any, *rest: Any) -> Options:
        found = cls(*plain_options(causal, window, scale), plain(softcap), *rest)
        found = found._replace(cut=plain(found.cut))
        usual = PACKED if found.is_packed else LAYOUTS[0]
        return found._replace(layout=usual) if found.layout is None else found

    @property
    def is_packed(self) -> bool:
        return any(offsets is not None for offsets in self.cu_seqlens)

    @property
    def is_used(self) -> bool:
        """Whether sequences may use some of their rows alone."""
        return any(numbers is not None for numbers in self.used)

    @property
    def offsets(self) -> tuple[Any, ...]:
        """Those of q and of k, of options that are not refused; none of a batch."""
        of_q, of_k = self.cu_seqlens
        return (of_q, of_q if of_k is None else of_k) if self.is_packed else ()

    @property
    def sides(self) -> Window:
        """The columns that rows see; of options that are not refused."""
        return window_of(self.causal, self.window)

    @property
    def is_unrounded(self) -> bool:
        """Whether gradients are of an o that is not rounded; of such options."""
        return self.delta == UNROUNDED


def refusal_of_options(options: Options) -> str | None:
    """Why they are refused; None if they are not."""
    causal, window, scale, softcap, level, forward, layout, _, _, cut, delta = options
    return (
        refusal_of_layout(layout, options.is_packed)
        or problem.refusal_of_options(causal, window, scale, level)
        or refusal_of_softcap(softcap)
        or refusal_of_cut(cut)
        or problem.refusal_of_forward(forward, CUDNN, "cuDNN", scale, softcap, level, cut=cut)
        or refusal_of_delta(delta, forward != DASH, "cuDNN", cut)
    )


def refusal_of_place(name: str, array: Any) -> str | None:
    """Why this is no array for a GPU."""
    if not isinstance(array, jax.Array):
        return f"{name}: expected an array of JAX, found {type(array).__name__}"
    # in a program that is traced, arrays are nowhere yet
    if not isinstance(array, jax.core.Tracer):
        found = next((device for device in array.devices() if device.platform != PLATFORM), None)
        if found is not None:
            return f"{name}: expected an array on a CUDA device, found one on '{found}'"
    return None


def refusal_of_arrays(
    q: Any, k: Any, v: Any, layout: str, window: Window = FULL, cu_seqlens: Sequence[Any] = ()
) -> str | None:
    """Why no kernel serves these arrays; None if one does. cu_seqlens: of packed sequences."""
    if reason := refusal_of_form(q, k, v, layout, cu_seqlens):
        return reason
    count = cu_seqlens[0].shape[0] - 1 if cu_seqlens else 0
    return refusal_of(
        coverage_of(q.shape, k.shape, v.shape, layout, window=window, sequences=count)
    )


def refusal_of_form(
    q: Any, k: Any, v: Any, layout: str, cu_seqlens: Sequence[Any] = ()
) -> str | None:
    """Why these arrays are no problem of attention."""
    for name, array in zip(NAMES, (q, k, v)):
        reason = refusal_of_place(name, array) or refusal_of_array(
            name, str(array.dtype), str(q.dtype), array.ndim, array.shape, layout, "cast it"
        )
        if reason:
            return reason
        if reason := refusal_of_symbols(name, array):
            return reason
    reason = refusal_of_sizes(q.shape, k.shape, v.shape, layout)
    return reason or _refusal_of_offsets(cu_seqlens)


def refusal_of_symbols(name: str, array: Any) -> str | None:
    if all(type(size) is int for size in array.shape):
        return None
    return f"{name}: expected sizes that are known when the program is traced, found {array.shape}"


def _refusal_of_offsets(cu_seqlens: Sequence[Any]) -> str | None:
    """Why these are no offsets of packed sequences. Their numbers are on the device."""
    if cu_seqlens and cu_seqlens[0] is None:
        return sequences.NONE_OF_Q
    for name, offsets in zip(CU_SEQLENS, cu_seqlens):
        if offsets is None:
            continue
        reason = refusal_of_place(name, offsets) or refusal_of_symbols(name, offsets)
        reason = reason or sequences.refusal_of_offsets(
            name, str(offsets.dtype), offsets.shape, cu_seqlens[0].shape, "cast it"
        )
        if reason:
            return reason
    return None


def refusal_of_numbers(q: Any, k: Any, offsets: Sequence[Any]) -> str | None:
    """Why offsets make no sense; waits for the device. In a program that is being traced they have
    no numbers yet."""
    for name, tensor, numbers in zip(NAMES, (q, k), offsets):
        if isinstance(numbers, jax.core.Tracer):
            continue
        reason = sequences.refusal_of_numbers(name, np.asarray(numbers).tolist(), tensor.shape[0])
        if reason:
            return reason
    return None


@functools.cache
def refusal_of_device() -> str | None:
    """Why kernels cannot run on this machine's GPUs."""
    try:
        device = jax.local_devices(backend="cuda")[0]
    except RuntimeError:
        return refusal_of_gpu("", None)
    major, minor = device.compute_capability.split(".")
    return refusal_of_gpu(device.device_kind, (int(major), int(minor)))
