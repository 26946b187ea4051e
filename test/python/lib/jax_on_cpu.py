"""dash_attn.jax without a GPU: libdash's handler becomes one that computes both passes in float64.
XLA on the CPU calls it with what it would hand to libdash's on a GPU. cuDNN's forward pass becomes
one of jax.numpy."""

from __future__ import annotations

import ctypes
import os
import re
from typing import Any

# Tests compile thousands of small programs and run each once: optimising them takes longer.
os.environ["XLA_FLAGS"] = (
    "--xla_force_host_platform_device_count=2 --xla_backend_optimization_level=0"
    " --xla_llvm_disable_expensive_passes=true"
)
os.environ["JAX_PLATFORMS"] = "cpu"

import fixtures  # noqa: E402, F401  (finds dash_attn)
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402
from jax._src.cudnn import fused_attention_stablehlo as cudnn  # noqa: E402
from xla_frame import EXECUTE, STRING, TYPES, Buffer, Extension, Frame, Scalar, Span  # noqa: E402

from dash_attn import reference  # noqa: E402
from dash_attn.jax import foreign, operator, problem, refusal  # noqa: E402
from dash_attn.reference import Mask  # noqa: E402

DTYPES = {
    TYPES["bf16"]: ml_dtypes.bfloat16,
    TYPES["f16"]: np.float16,
    TYPES["f32"]: np.float32,
    TYPES["u8"]: np.uint8,
}
# attributes of what XLA executed: gradients, and forwards
CALLED: list[dict[str, Any]] = []
AHEAD: list[dict[str, Any]] = []
FAILED: list[BaseException] = []


def forward(call: operator.Call, q: Any, k: Any, v: Any) -> tuple[Any, Any]:
    """In the place of cuDNN's."""
    turned = [x.swapaxes(1, 2) if call.layout == "bshd" else x for x in (q, k, v)]
    keys, values = (
        jnp.repeat(x.astype(jnp.float32), turned[0].shape[1] // x.shape[1], axis=1)
        for x in turned[1:]
    )
    scores = call.scale * jnp.einsum("bhqd,bhkd->bhqk", turned[0].astype(jnp.float32), keys)
    rows, columns = (jnp.arange(size) for size in scores.shape[2:])
    left, right = call.window
    place = columns[None] - rows[:, None] - scores.shape[3] + scores.shape[2]
    scores = jnp.where(
        (left < 0) | (place >= -left),
        jnp.where((right < 0) | (place <= right), scores, -jnp.inf),
        -jnp.inf,
    )
    o = jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores), values).astype(q.dtype)
    return o.swapaxes(1, 2) if call.layout == "bshd" else o, jax.nn.logsumexp(scores, axis=-1)


def _array(buffer: int) -> np.ndarray:
    found = Buffer.from_address(buffer)
    shape, dtype = tuple(found.dims[: found.rank]), np.dtype(DTYPES[found.dtype])
    size = int(np.prod(shape)) * dtype.itemsize
    return np.frombuffer((ctypes.c_char * size).from_address(found.data), dtype).reshape(shape)


def _attributes(frame: Frame) -> dict[str, Any]:
    given, found = frame.attributes, {}
    for i in range(given.size):
        name, value = given.names[i].contents.text, given.values[i]
        if given.types[i] == STRING:
            found[name] = Span.from_address(value).text
        else:
            scalar = Scalar.from_address(value)
            assert scalar.dtype == TYPES["f32"]
            found[name] = ctypes.c_float.from_address(scalar.value).value
    return found


def _compute(frame: Frame) -> None:
    attributes = _attributes(frame)
    operands = [_array(frame.operands.buffers[i]) for i in range(frame.operands.size)]
    operands = [x for x in operands if x.dtype != np.uint8]  # the last may be an order's table
    *results, memory = (_array(frame.results.buffers[i]) for i in range(frame.results.size))
    program = attributes["program"]
    is_forward = "dash.attention_fwd" in program
    given = [_turned(x, attributes["layout"]) for x in operands]
    count = 3 if is_forward else 6
    softcap = re.search(r" softcap\((.*?)\)", program)
    rest: dict[str, Any] = {
        "scale": attributes["scale"],
        "mask": Mask.parse(program.split("mask(<")[1].split(">)")[0]),
        "softcap": softcap and float(softcap[1]),
        "sink": given[count] if len(given) > count else None,
    }
    if is_forward:
        found = reference.forward(*given[:count], **rest)
    else:
        delta = given[4] if "delta = %delta" in program else None
        found = tuple(reference.backward(*given[:count], **rest, delta=delta).values())
    for result, value in zip(results, found, strict=True):
        result[...] = _turned(value, attributes["layout"])
    (AHEAD if is_forward else CALLED).append(
        attributes | {"shapes": [x.shape for x in operands], "bytes": memory.shape[0]}
    )


def _turned(array: Any, layout: str) -> Any:
    return array.swapaxes(1, 2) if layout == "bshd" and array.ndim == 4 else array


@ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
def _handler(address: int) -> None:
    try:
        frame = Frame.from_address(address)
        if frame.extension:
            said = Extension.from_address(frame.extension).metadata.contents
            said.version.major, said.version.minor, said.traits = 0, 1, 0
        elif frame.stage == EXECUTE:
            _compute(frame)
    except BaseException as error:  # C knows no exceptions: whoever called looks into FAILED
        FAILED.append(error)


jax.ffi.register_ffi_target(
    operator.TARGET, jax.ffi.pycapsule(ctypes.cast(_handler, ctypes.c_void_p).value), platform="cpu"
)
BY_CUDNN = foreign.by_cudnn  # for programs that are lowered for a GPU
problem.PLATFORM, foreign.by_cudnn = "cpu", forward
cudnn.check_cudnn_version, cudnn.check_compute_capability = lambda: 91900, lambda _: True
refusal.refusal_of_device = lambda: None
