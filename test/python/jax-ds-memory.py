# RUN: %jax_python %s
# REQUIRES: jax, plain-libdash
"""dS in JAX: an array between two calls, in slices where it may take less, and none where it is
computed twice."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any
from unittest import mock

sys.path.insert(0, str(Path(__file__).parent / "lib"))

import jax_on_cpu  # noqa: E402, F401  (no GPU is asked for)
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

from dash_attn.jax import attention  # noqa: E402
from dash_attn.kernel import tasks  # noqa: E402

HEADS, ROWS = 4, 256
OF_ONE = 4 * 6 + 1  # tiles of a head: 4 kv tiles, rows of 6 q tiles, and the one of zeros


def has_equations(value: Any) -> bool:
    return hasattr(value, "eqns")


def calls_of(jaxpr: Any) -> list[Any]:
    """Those of libdash, of all jaxprs in it too."""
    found = []
    for one in jaxpr.eqns:
        if one.primitive.name == "ffi_call":
            found.append(one)
        for inner in jax.tree.leaves(list(one.params.values()), is_leaf=has_equations):
            if has_equations(inner):
                found += calls_of(getattr(inner, "jaxpr", inner))
    return found


def tiles(most: int | None = None, **options: Any) -> list[list[int]]:
    """How many tiles of dS each call of the backward takes and gives."""
    given = [jax.ShapeDtypeStruct((1, HEADS, ROWS, 256), jnp.bfloat16)] * 3

    def loss(*arrays: Any) -> Any:
        return attention(*arrays, **options).astype(jnp.float32).sum()

    variables = {} if most is None else {tasks.VARIABLE: str(most)}
    with mock.patch.dict(os.environ, variables):
        made = jax.make_jaxpr(jax.grad(loss, (0, 1, 2)))(*given)
    calls = calls_of(made.jaxpr)[1:]  # the first is the forward
    return [
        [x.aval.shape[0] for x in (*one.invars, *one.outvars) if x.aval.shape[1:] == (4096,)]
        for one in calls
    ]


both = 4 * (OF_ONE - 1) + 1
assert tiles() == [[both], [both]], tiles()
assert tiles(causal=True) == [[both], [both]]
assert tiles(0) == [[], []], tiles(0)
assert tiles(window=(100, 0)) == [[], []]
assert tiles(8192 * OF_ONE) == [[], []], "slices too small to be faster"
with mock.patch.object(tasks, "FEWEST_ITEMS", 4):
    found = tiles(8192 * OF_ONE)
    assert found == [[OF_ONE], [OF_ONE]] * HEADS, found
