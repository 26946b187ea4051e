# RUN: mkdir -p %t
# RUN: ln -sf %dash_build/lib/libcapi-stub-driver.so %t/libcuda.so.1
# RUN: env LD_LIBRARY_PATH=%t JAX_PLATFORMS=cpu %jax_python %s
# REQUIRES: jax, plain-libdash
"""XLA itself calls libdash's handler, as far as it can without a GPU: what it hands over is read,
mistakes come back as exceptions, and the end is where the CPU has no stream of CUDA's."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

from stub_driver import StubDriver  # noqa: E402
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
from fixtures import refused  # noqa: E402

from dash_attn.jax import operator  # noqa: E402

driver = StubDriver()
operator.register("cpu")
q, k, lse = (
    jnp.ones(shape, dtype)
    for shape, dtype in (
        ((2, 4, 256, 64), jnp.bfloat16),
        ((2, 2, 256, 64), jnp.bfloat16),
        ((2, 4, 256), jnp.float32),
    )
)


def run(*arrays: Any, layout: str = "bhsd") -> str:
    call = operator.Call((-1, 0), 0.125, layout)
    return refused(
        lambda: jax.jit(lambda *x: operator.gradients(call, *x))(*arrays),
        jax.errors.JaxRuntimeError,
    )


def changed(**attributes: Any) -> str:
    """With other attributes than those that go with the kernel."""
    kept, jax.ffi.ffi_call = (
        jax.ffi.ffi_call,
        lambda *of_call: lambda *x, **given: kept(*of_call)(*x, **given | attributes),
    )
    try:
        return run(q, k, k, q, q, lse)
    finally:
        jax.ffi.ffi_call = kept


assert run(q, k, k, q, q, lse) == "UNIMPLEMENTED: XLA FFI GPU context is not available"
assert [one[0] for one in driver.calls() if one[0] != "allow"] == ["retain", "load"]
turned = [x.swapaxes(1, 2) for x in (q, k, k, q, q)]
assert run(*turned, lse, layout="bshd") == "UNIMPLEMENTED: XLA FFI GPU context is not available"
assert (
    run(q, k, k, q, q, lse[:1])
    == "INVALID_ARGUMENT: dash: lse: expected batch = 2, found 1 in shape (1, 4, 256) of [batch,"
    " heads, q_rows]"
)
assert (
    run(q, k, k, q.astype(jnp.float16), q, lse)
    == "INVALID_ARGUMENT: dash: do: expected elements of bf16, found f16"
)
assert (
    run(q, k, k, q.astype(jnp.int32), q, lse)
    == "INVALID_ARGUMENT: dash: do: expected elements of bf16, found i32"
)
assert (
    run(q, k, k, q.astype(jnp.int8), q, lse)
    == "INVALID_ARGUMENT: dash: expected buffers of bf16, f16, f32 and i32, found one of XLA's type"
    " 2"
)
sink = jnp.ones((4,), jnp.float32)
of_sink = operator.Call((-1, 0), 0.125, "bhsd", has_sink=True)
for given, said in (
    (sink, "UNIMPLEMENTED: XLA FFI GPU context is not available"),
    (
        sink[:3],
        "INVALID_ARGUMENT: dash: sink: expected heads = 4, found 3 in shape (3,) of [heads]",
    ),
):
    found = refused(
        lambda: jax.jit(lambda *x: operator.gradients(of_sink, *x))(q, k, k, q, q, lse, given),
        jax.errors.JaxRuntimeError,
    )
    assert found == said, found
# An o that is not rounded: what a forward writes beside, and gradients read.
NO_CONTEXT = "UNIMPLEMENTED: XLA FFI GPU context is not available"
unrounded = operator.Call((-1, 0), 0.125, "bhsd", has_sink=True, is_unrounded=True)
for function, given, said in (
    (operator.outputs, (q, k, k, sink), NO_CONTEXT),
    (operator.gradients, (q, k, k, q, q.astype(jnp.float32), lse, sink), NO_CONTEXT),
    (
        operator.gradients,
        (q, k, k, q, q, lse, sink),
        "INVALID_ARGUMENT: dash: o: expected elements of f32, found bf16",
    ),
):
    found = refused(
        lambda: jax.jit(lambda *x: function(unrounded, *x))(*given), jax.errors.JaxRuntimeError
    )
    assert found == said, found
cut = operator.Call((-1, 0), 0.125, "bhsd", cut=128)
found = refused(
    lambda: jax.jit(lambda *x: operator.outputs(cut, *x))(q, k, k), jax.errors.JaxRuntimeError
)
assert found == NO_CONTEXT, found
# Packed sequences.
packed = [x[0].swapaxes(0, 1) for x in (q, k, k, q, q)]
cu = jnp.array([0, 100, 100, 250], jnp.int32)
of_list = operator.Call((-1, 0), 0.125, "thd", has_sink=True)
for lengths, said in (
    (cu, "UNIMPLEMENTED: XLA FFI GPU context is not available"),
    (
        cu.astype(jnp.float32),
        "INVALID_ARGUMENT: dash: cu_seqlens_q: expected elements of i32, found f32",
    ),
):
    found = refused(
        lambda cu=lengths: jax.jit(lambda *x: operator.gradients(of_list, *x))(
            *packed, lse[0], sink, cu, cu
        ),
        jax.errors.JaxRuntimeError,
    )
    assert found == said, found
found = refused(
    lambda: jax.jit(lambda *x: operator.outputs(of_list, *x))(*packed[:3], sink, cu, cu),
    jax.errors.JaxRuntimeError,
)
assert found == "UNIMPLEMENTED: XLA FFI GPU context is not available", found
assert (
    changed(scale="1")
    == "INVALID_ARGUMENT: dash: attributes: expected a number of f32 'scale', found none"
)
assert (
    changed(layout="bh")
    == "INVALID_ARGUMENT: dash: layout: expected 'bhsd', 'bshd' or 'thd', found 'bh'"
)
assert changed(certificate="sha256:0").startswith(
    "FAILED_PRECONDITION: dash: certificate: expected sha256:"
)
assert changed(options="kind=best").startswith(
    "INVALID_ARGUMENT: dash: unknown schedule 'best', expected one of ascending, "
)
assert not [one for one in driver.calls() if one[0] in ("fill", "launch")]
