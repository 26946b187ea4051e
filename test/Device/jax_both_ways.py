#!/usr/bin/env python3
"""jax_both_ways.py: `dash_attn.jax.attention` with both passes by dash on this GPU: rectangles,
windows with a right side, softcaps, sinks, a v of its own head dim, both layouts and levels.

O, the LSE and gradients are compared with float64, two runs of a program with each other, and at
levels above `run` a sequence in a batch with the sequence alone. It ends with `ok`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

from dash_attn import reference  # noqa: E402
from dash_attn.jax import attention, explain  # noqa: E402
from dash_attn.reference import Mask  # noqa: E402

HEAD_DIM = 64
MOST_ERROR, MOST_OF_DSINK = 6e-3, 2e-2  # the terms of dsink cancel
NAMES = ("o", "lse", "dq", "dk", "dv", "dsink")
# rows of q, rows of k, head dim of v, options
CASES: tuple[tuple[int, int, int, dict[str, Any]], ...] = (
    (300, 300, 64, {"causal": True}),
    (200, 333, 128, {"causal": True}),
    (333, 200, 64, {"causal": True, "level": "batch"}),
    (256, 256, 64, {"window": (64, 32), "softcap": 5.0}),
    (300, 300, 32, {"causal": True, "softcap": 5.0, "level": "machine"}),
    (4096, 4096, 64, {"causal": True}),
)


def both_ways(options: dict[str, Any]) -> Callable[..., Any]:
    """A program of o, the LSE and the gradients of q, k, v and the sink."""

    def compute(q: Any, k: Any, v: Any, do: Any, sink: Any) -> Any:
        def attended(*given: Any) -> Any:
            return attention(*given[:3], sink=given[3], return_lse=True, **options)

        (o, lse), pull = jax.vjp(attended, q, k, v, sink)
        return o, lse, *pull((do, jnp.zeros_like(lse)))

    return jax.jit(compute)


def are_equal(ones: Any, others: Any) -> bool:
    return all((np.asarray(x) == np.asarray(y)).all() for x, y in zip(ones, others, strict=True))


def check(rows: int, kv_rows: int, of_v: int, options: dict[str, Any], turned: bool) -> None:
    rng = np.random.default_rng(rows + of_v)
    sizes = ((8, rows, HEAD_DIM), (2, kv_rows, HEAD_DIM), (2, kv_rows, of_v), (8, rows, of_v))
    given = [jnp.asarray(rng.standard_normal((2, *one), np.float32), jnp.bfloat16) for one in sizes]
    if turned:
        given = [one.swapaxes(1, 2) for one in given]
    options = options | {"layout": "bshd" if turned else "bhsd"}
    sink, compute = jnp.linspace(-2, 3, 8), both_ways(options)
    found = compute(*given, sink)
    assert are_equal(found, compute(*given, sink)), "two runs differ"
    if "level" in options:
        alone = compute(*(one[:1] for one in given), sink)
        assert are_equal(alone[:5], [one[:1] for one in found[:5]]), "a batch changes bits"

    def exact(one: Any) -> Any:
        whole = np.asarray(one, np.float64)
        return whole.swapaxes(1, 2) if turned and whole.ndim == 4 else whole

    window = options.get("window", (-1, 0 if options.get("causal") else -1))
    program = {"scale": HEAD_DIM**-0.5, "mask": Mask(*window), "softcap": options.get("softcap")}
    program["sink"] = np.asarray(sink, np.float64)
    q, k, v, do = map(exact, given)
    o, lse = reference.forward(q, k, v, **program)
    gradients = reference.backward(q, k, v, do, o, lse, **program)
    expected = [o, lse, *(gradients[name] for name in NAMES[2:5]), gradients["dsink"].sum(0)]
    errors = {
        name: float(np.linalg.norm(exact(one) - other) / np.linalg.norm(other))
        for name, one, other in zip(NAMES, found, expected)
    }
    print(rows, kv_rows, of_v, options, errors, flush=True)
    for name, error in errors.items():
        assert error < (MOST_OF_DSINK if name == "dsink" else MOST_ERROR), errors
    said = explain(*given[:3], sink=sink, **options)
    assert said and said.forward.endswith(", level row"), said


def main() -> int:
    for rows, kv_rows, of_v, options in CASES:
        for turned in (False, True):
            check(rows, kv_rows, of_v, options, turned)
    print("ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
