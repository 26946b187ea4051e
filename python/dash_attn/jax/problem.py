"""What JAX adds to the reasons why something cannot be served. Looks at types and sizes, so it
is asked while programs are traced."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import jax

from ..kernel import problem
from ..kernel.problem import (
    CUDNN,
    FULL,
    NAMES,
    Window,
    coverage_of,
    plain,
    plain_options,
    refusal_of,
    refusal_of_array,
    refusal_of_gpu,
    refusal_of_layout,
    refusal_of_sizes,
    refusal_of_softcap,
    window_of,
)

PLATFORM = "gpu"  # as JAX calls what its arrays lie on


class Options(NamedTuple):
    """What of the arguments of `attention` is no array; numbers are plain, as `of` makes them."""

    causal: Any
    window: Any
    scale: Any
    softcap: Any
    level: Any
    forward: Any
    layout: Any
    cu_seqlens: tuple[Any, Any]

    @classmethod
    def of(cls, causal: Any, window: Any, scale: Any, softcap: Any, *rest: Any) -> Options:
        return cls(*plain_options(causal, window, scale), plain(softcap), *rest)

    @property
    def sides(self) -> Window:
        """The columns that rows see; of options that are not refused."""
        return window_of(self.causal, self.window)


def refusal_of_options(options: Options) -> str | None:
    """Why they are refused; None if they are not."""
    causal, window, scale, softcap, level, forward, layout, cu_seqlens = options
    if any(given is not None for given in cu_seqlens):
        return (
            "cu_seqlens: expected None, found offsets of sequences: dash_attn.jax takes none; pad"
            " sequences, call attention for each, or take dash_attn.torch"
        )
    return (
        refusal_of_layout(layout)
        or problem.refusal_of_options(causal, window, scale, level)
        or refusal_of_softcap(softcap)
        or problem.refusal_of_forward(forward, CUDNN, "cuDNN", scale, softcap, level)
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


def refusal_of_arrays(q: Any, k: Any, v: Any, layout: str, window: Window = FULL) -> str | None:
    """Why no kernel serves these arrays; None if one does."""
    for name, array in zip(NAMES, (q, k, v)):
        reason = refusal_of_place(name, array) or refusal_of_array(
            name, str(array.dtype), str(q.dtype), array.ndim, array.shape, layout, "cast it"
        )
        if reason:
            return reason
        if not all(type(size) is int for size in array.shape):
            return (
                f"{name}: expected sizes that are known when the program is traced, found"
                f" {array.shape}"
            )
    return refusal_of_sizes(q.shape, k.shape, v.shape, layout) or refusal_of(
        coverage_of(q.shape, k.shape, v.shape, layout, window=window)
    )


@functools.cache
def refusal_of_device() -> str | None:
    """Why kernels cannot run on this machine's GPUs."""
    try:
        device = jax.local_devices(backend="cuda")[0]
    except RuntimeError:
        return refusal_of_gpu("", None)
    major, minor = device.compute_capability.split(".")
    return refusal_of_gpu(device.device_kind, (int(major), int(minor)))
