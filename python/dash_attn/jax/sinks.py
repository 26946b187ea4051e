"""A sink: a score of each head that takes part in the softmax and has no value, as gpt-oss has it.

Kernels of a sink have it inside the softmax. cuDNN's forward pass knows none, and need not:
exp(sink) is added to the sum of exponentials of a row, so o shrinks by what the others have of the
new sum.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from ..kernel import problem
from .problem import refusal_of_place


def refusal_of_sink(sink: Any, q: Any, v: Any, layout: str) -> str | None:
    """Why a sink is refused beside q and v that are not; None if it is not, or there is none."""
    if sink is None:
        return None
    return refusal_of_place("sink", sink) or problem.refusal_of_sink(
        jnp.issubdtype(sink.dtype, jnp.floating),
        str(sink.dtype),
        sink.shape,
        q.shape[layout.index("h")],
        q.shape[-1],
        v.shape[-1],
    )


def with_sink(o: Any, lse: Any, sink: Any, layout: str) -> tuple[Any, Any]:
    """o and the LSE, [batch, heads, rows], of a softmax that has the sink, too. Barriers keep
    XLA from computing any of it together with what stands around: o would stay unrounded for
    some of its readers, and bits would depend on the program."""
    o, lse, sink = jax.lax.optimization_barrier((o, lse, sink))
    logarithm = sink[:, None]
    weights = jax.nn.sigmoid(lse - logarithm)
    if layout == "bshd":
        weights = weights.swapaxes(1, 2)
    scaled = (o.astype(jnp.float32) * weights[..., None]).astype(o.dtype)
    return jax.lax.optimization_barrier((scaled, jnp.logaddexp(lse, logarithm)))


def summed(dsink: Any) -> Any:
    """[heads], of [batch, heads]: by halves, since the order of a sum of XLA's is its own
    choice."""
    while (count := dsink.shape[0]) > 1:
        half = (count + 1) // 2
        dsink = jnp.concatenate([dsink[: count - half] + dsink[half:], dsink[count - half : half]])
    return dsink[0]
