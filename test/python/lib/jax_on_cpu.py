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
    TYPES["i32"]: np.int32,
}
ON_KV = ("k", "v", "dk", "dv")
PER_ROW = (*ON_KV, "q", "do", "o", "delta", "lse", "dq", "unrounded")
OFFSETS = ("cu_seqlens_q", "cu_seqlens_kv")
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
    read, written = (_names(program, word) for word in ("ins", "outs"))
    read += ("sink",) * (" sink(%sink" in program)
    written += ("unrounded",) * (" unrounded(%unrounded" in program)
    written += ("dsink",) * (" sink(%sink, %dsink" in program)
    is_packed, count = " sequences(<?>)" in program, len(read)
    given = dict(zip(read, operands))
    if is_packed:
        given |= zip(OFFSETS, operands[count : count + 2])
    assert len(operands) == count + 2 * is_packed, program
    softcap = re.search(r" softcap\((.*?)\)", program)
    rest: dict[str, Any] = {
        "scale": attributes["scale"],
        "mask": Mask.parse(program.split("mask(<")[1].split(">)")[0]),
        "softcap": softcap and float(softcap[1]),
    }
    compute = _compute_packed if is_packed else _compute_batch
    compute(given, dict(zip(written, results, strict=True)), rest, attributes["layout"])
    is_forward = "dash.attention_fwd" in program
    (AHEAD if is_forward else CALLED).append(
        attributes | {"shapes": [x.shape for x in given.values()], "bytes": memory.shape[0]}
    )


def _names(program: str, word: str) -> tuple[str, ...]:
    """Those of operands or results, in their order."""
    found = re.findall(r"%(\w+)", re.search(rf" {word}\((.*?) :", program)[1])
    # in the order of the function, not of the op
    return tuple(sorted(found, key=lambda name: program.index(f"%{name}:")))


def _attention(given: dict[str, Any], rest: dict[str, Any]) -> dict[str, Any]:
    """Both passes, of a batch [batch, heads, rows, head_dim]."""
    of = {name: given[name] for name in ("q", "k", "v")}
    rest = rest | {"sink": given.get("sink")}
    if "do" not in given:
        o, lse = reference.forward(**of, **rest)
        return {"o": o, "lse": lse, "unrounded": o}
    of |= {name: given.get(name) for name in ("do", "o", "lse", "delta")}
    return reference.backward(**of, **rest)


def _compute_batch(
    given: dict[str, Any], results: dict[str, Any], rest: dict[str, Any], layout: str
) -> None:
    found = _attention({name: _turned(x, layout) for name, x in given.items()}, rest)
    for name, result in results.items():
        result[...] = _turned(found[name], layout)


def _compute_packed(
    given: dict[str, Any], results: dict[str, Any], rest: dict[str, Any], layout: str
) -> None:
    """Rows outside of all sequences are 0, and -inf in the LSE."""
    assert layout == "thd"
    for name, result in results.items():
        result[...] = -np.inf if name == "lse" else 0
    of_q, of_k = (given.pop(name) for name in OFFSETS)
    for i, bounds in enumerate(zip(of_q, of_q[1:], of_k, of_k[1:])):
        rows = {name: slice(*bounds[2:] if name in ON_KV else bounds[:2]) for name in PER_ROW}

        def part(name: str, x: Any, rows: dict[str, slice] = rows) -> Any:
            if name in ("sink", "dsink"):
                return x
            return x[:, rows[name]] if x.ndim == 2 else x[rows[name]].swapaxes(0, 1)

        one = {name: part(name, x) for name, x in given.items()}
        in_batch = {name: x if name == "sink" else x[None] for name, x in one.items()}
        is_empty = one["q"].shape[1] == 0 or one["k"].shape[1] == 0
        found = {} if is_empty else _attention(in_batch, rest)
        for name, result in results.items():
            if name == "dsink" and not found and "delta" in one:  # rows that see the sink alone
                share = np.exp(given["sink"][:, None] - one["lse"])
                result[i] = -(share * one["delta"]).sum(-1)
            elif name == "dsink":
                result[i] = found[name][0] if found else 0
            elif found:
                part(name, result)[...] = found[name][0]
            else:
                sees_nothing = given["sink"][:, None] if "sink" in given else -np.inf
                part(name, result)[...] = sees_nothing if name == "lse" else 0


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
