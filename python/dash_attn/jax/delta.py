"""The gradient of the LSE, which is of each row the scores' probabilities: dS = P * (dP - delta)
+ P * dLSE. So it is taken from delta, and a kernel that takes delta in place of o does the rest,
dsink too."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

PIECE = 8  # elements of a row that a lane of a kernel's `prepare` adds up


def delta_of(do: Any, o: Any, lse: Any, dlse: Any, layout: str) -> Any:
    """rowsum(o * do) - dlse, [batch, heads, rows] of float32, or of packed sequences
    [heads, rows], as lse and dlse; 0 in rows that see nothing, whatever their dlse is.

    Added as `prepare` adds: a dlse of zeros leaves all bits as they are. The barrier keeps XLA
    from taking do or o as they were before they were rounded: the kernel takes them rounded. An o
    of float32 is not: products of it are rounded, and another barrier keeps them so. Products of 16
    bits are exact."""
    do, o, lse, dlse = jax.lax.optimization_barrier((do, o, lse, dlse))
    one, other = (x.reshape(*x.shape[:-1], -1, PIECE).astype(jnp.float32) for x in (o, do))
    products = one * other
    if o.dtype == jnp.float32:
        products = jax.lax.optimization_barrier(products)
    sums = products[..., 0]
    for i in range(1, PIECE):
        sums = sums + products[..., i]
    while sums.shape[-1] > 1:
        if sums.shape[-1] % 2:  # lanes behind the last piece add zeros
            sums = jnp.pad(sums, [(0, 0)] * (sums.ndim - 1) + [(0, 1)])
        sums = sums[..., ::2] + sums[..., 1::2]
    of_rows = sums[..., 0] if layout == "bhsd" else sums[..., 0].swapaxes(-1, -2)
    return jnp.where(jnp.isinf(lse), 0, of_rows - dlse)
