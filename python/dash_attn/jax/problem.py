"""What JAX adds to the reasons why something cannot be served. Looks at types and sizes, so it
is asked while programs are traced."""

from __future__ import annotations

import functools
from typing import Any

import jax
from jax._src.cudnn import fused_attention_stablehlo as cudnn

from ..kernel import problem
from ..kernel.problem import (
    FULL,
    NAMES,
    OWN_FORWARD,
    Window,
    coverage_of,
    refusal_of,
    refusal_of_array,
    refusal_of_gpu,
    refusal_of_layout,
    refusal_of_level,
    refusal_of_rectangle,
    refusal_of_sizes,
)

PLATFORM = "gpu"  # as JAX calls what its arrays lie on
APART_SINCE = 91000  # of cuDNN: JAX takes a v of its own head dim from there on


def refusal_of_options(
    causal: Any, window: Any, scale: Any, cu_seqlens: tuple[Any, Any], level: Any, layout: Any
) -> str | None:
    """Why these options of `attention` are refused; None if they are not."""
    if any(given is not None for given in cu_seqlens):
        return (
            "cu_seqlens: expected None, found offsets of sequences: cuDNN's forward pass of JAX"
            " takes none; pad sequences, call attention for each, or take dash_attn.torch"
        )
    return (
        refusal_of_layout(layout)
        or problem.refusal_of_options(causal, window, scale, level)
        or refusal_of_level(level, OWN_FORWARD)
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


def refusal_of_forward(q: Any, k: Any, v: Any, window: Window, layout: str) -> str | None:
    """Why the forward pass does not serve what kernels would."""
    if v.shape[3] != q.shape[3] and (found := _cudnn_version()) < APART_SINCE:
        return (
            f"v: expected the head dim of q and k, {q.shape[3]}, found {v.shape[3]}: cuDNN"
            f" {_spelled(found)} has one head dim for all; cuDNN {_spelled(APART_SINCE)} has a"
            " forward pass of two, or pad the narrower ones with zeros, and pass scale"
        )
    if window == FULL:
        return None
    if window[1] != 0:
        return (
            f"window: expected a right side of 0, or neither side, found {window}: cuDNN's forward"
            " pass has no other windows; jax.nn.dot_product_attention with implementation='xla'"
            " has them"
        )
    return refusal_of_rectangle(q.shape, k.shape, layout, "cuDNN's")


def _cudnn_version() -> int:
    """As cuDNN spells it; of a machine without one, of which `refusal_of_device` says so, the one
    that is needed."""
    try:
        return cudnn.check_cudnn_version()
    except RuntimeError:
        return APART_SINCE


def _spelled(version: int) -> str:
    return f"{version // 10000}.{version // 100 % 100}.{version % 100}"


@functools.cache
def refusal_of_device() -> str | None:
    """Why kernels cannot run on this machine's GPUs."""
    try:
        device = jax.local_devices(backend="cuda")[0]
    except RuntimeError:
        return refusal_of_gpu("", None)
    major, minor = device.compute_capability.split(".")
    return refusal_of_gpu(device.device_kind, (int(major), int(minor)))
