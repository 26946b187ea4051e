# RUN: %jax_python %s
# REQUIRES: jax, plain-libdash
"""The LSE of attention() in JAX has gradients: beside those of JAX's own arithmetic, in what is
made of it (parts of k that are merged, a sink by hand), through jit, vmap, scan, checkpoints and
shard_map, and what is lowered for a GPU."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

import jax_on_cpu  # noqa: E402
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from fixtures import refused  # noqa: E402
from jax.sharding import PartitionSpec  # noqa: E402
from jax_on_cpu import CALLED, FAILED  # noqa: E402

from dash_attn.jax import attention, operator  # noqa: E402
from dash_attn.jax.delta import delta_of  # noqa: E402

HEADS, KV_HEADS, ROWS = 4, 2, 12


def arrays(
    kv_rows: int = ROWS, has_sink: bool = False, layout: str = "bhsd", batch: int = 2
) -> list[jax.Array]:
    keys = jax.random.split(jax.random.key(7), 3)
    found = [
        jax.random.normal(key, (batch, heads, rows, 64), jnp.float32).astype(jnp.bfloat16)
        for key, heads, rows in zip(keys, (HEADS, KV_HEADS, KV_HEADS), (ROWS, kv_rows, kv_rows))
    ]
    return [
        *(x.swapaxes(1, 2) if layout == "bshd" else x for x in found),
        *[jnp.linspace(-2, 3, HEADS)] * has_sink,
    ]


def ours(q: Any, k: Any, v: Any, sink: Any = None, **options: Any) -> tuple[Any, Any]:
    return attention(q, k, v, sink=sink, return_lse=True, **options)


def plain(
    q: Any,
    k: Any,
    v: Any,
    sink: Any = None,
    *,
    causal: bool = False,
    window: tuple[int, int] = (-1, -1),
    layout: str = "bhsd",
) -> tuple[Any, Any]:
    """JAX differentiates it by itself."""
    o, lse = jax_on_cpu.forward(
        operator.Call((window[0], 0 if causal else window[1]), 0.125, layout), q, k, v
    )
    if sink is None:
        return o, lse
    weights = jax.nn.sigmoid(lse - sink[:, None])[..., None]
    return o * (weights.swapaxes(1, 2) if layout == "bshd" else weights), jnp.logaddexp(
        lse, sink[:, None]
    )


def upstream(x: Any, shift: float) -> Any:
    return jnp.cos(9 * jnp.linspace(-1 + shift, 1, x.size)).reshape(x.shape).astype(x.dtype)


def of_both(compute: Callable[..., Any], given: list[Any], **options: Any) -> list[Any]:
    (o, lse), pull = jax.vjp(lambda *x: compute(*x, **options), *given)
    return list(pull((upstream(o, 0), upstream(lse, 0.5))))


def wide(given: list[Any]) -> list[Any]:
    return [x.astype(jnp.float32) for x in given]


def demand_close(found: Any, expected: Any, tolerance: float = 0.02) -> None:
    assert not FAILED, FAILED
    for one, other in zip(found, expected, strict=True):
        one, other = (np.asarray(x, np.float64) for x in (one, other))
        assert one.shape == other.shape and np.linalg.norm(
            one - other
        ) <= tolerance * np.linalg.norm(other), np.linalg.norm(one - other) / np.linalg.norm(other)


def demand_equal(found: Any, expected: Any) -> None:
    assert not FAILED, FAILED
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype and (np.asarray(one) == np.asarray(other)).all()


def gradients() -> None:
    for has_sink in (False, True):
        for kv_rows, options in (
            (ROWS, {"causal": True}),
            (20, {}),
            (ROWS, {"window": (3, 0)}),
            (ROWS, {"causal": True, "layout": "bshd"}),
        ):
            given = arrays(kv_rows, has_sink, options.get("layout", "bhsd"))
            CALLED.clear()
            found = of_both(ours, given, **options)
            demand_close(found, of_both(plain, wide(given), **options))
            demand_close(
                jax.jit(lambda *x, options=options: of_both(ours, list(x), **options))(*given),
                found,
            )
            assert len(CALLED) == 2 and all("delta = %delta" in one["program"] for one in CALLED)


def of_one() -> None:
    """For o alone the kernel takes o; for the LSE alone v has no gradient."""
    for given in (arrays(), arrays(has_sink=True)):
        CALLED.clear()
        o, pull, _ = jax.vjp(lambda *x: ours(*x, causal=True), *given, has_aux=True)
        demand_equal(
            pull(upstream(o, 0)),
            jax.vjp(lambda *x: ours(*x, causal=True)[0], *given)[1](upstream(o, 0)),
        )
        assert len(CALLED) == 2 and all("o = %o" in one["program"] for one in CALLED)
        lse, pull = jax.vjp(lambda *x: ours(*x)[1], *given)
        found, expected = (
            pull(upstream(lse, 0.5)),
            jax.vjp(lambda *x: plain(*x)[1], *wide(given))[1](upstream(lse, 0.5)),
        )
        demand_close(
            [x for i, x in enumerate(found) if i != 2],
            [x for i, x in enumerate(expected) if i != 2],
        )
        assert not found[2].any()


def merged() -> None:
    """Two halves of k by themselves, weighted by their LSE as ring attention does, are the whole;
    so is a sink by hand."""
    given = arrays(20)

    def in_parts(q: Any, k: Any, v: Any) -> Any:
        parts = [ours(q, k[:, :, rows], v[:, :, rows]) for rows in (slice(8), slice(8, 20))]
        weights = jax.nn.softmax(jnp.stack([lse for _, lse in parts]), axis=0)
        return sum(weight[..., None] * o for weight, (o, _) in zip(weights, parts))

    for one in (in_parts, jax.jit(in_parts)):
        o, pull = jax.vjp(one, *given)
        whole, pull_whole = jax.vjp(lambda *x: plain(*x)[0], *wide(given))
        demand_close([o, *pull(upstream(o, 0))], [whole, *pull_whole(upstream(whole, 0))])
    given = arrays(has_sink=True)

    def by_hand(q: Any, k: Any, v: Any, sink: Any) -> Any:
        o, lse = ours(q, k, v)
        return o * jax.nn.sigmoid(lse - sink[:, None])[..., None]

    o, pull = jax.vjp(by_hand, *given)
    whole, pull_whole = jax.vjp(lambda *x: plain(*x)[0], *wide(given))
    demand_close(pull(upstream(o, 0)), pull_whole(upstream(whole, 0)))


def delta() -> None:
    """Added as kernels add: 8 elements one after the other, then pairs of such sums, pairs of
    pairs, and so on; of head dims between powers of two zeros are added, too."""
    for head_dim in (40, 96, 128):
        o, do = (
            jax.random.normal(jax.random.key(i), (2, 3, ROWS, head_dim), jnp.float32).astype(
                jnp.bfloat16
            )
            for i in range(2)
        )
        lse, dlse = (
            jnp.zeros((2, 3, ROWS)).at[:, :, 4].set(jnp.inf),
            jax.random.normal(jax.random.key(3), (2, 3, ROWS)),
        )
        sums = (np.asarray(o, np.float32) * np.asarray(do, np.float32)).reshape(2, 3, ROWS, -1, 8)
        added = sums[..., 0]
        for j in range(1, 8):
            added = added + sums[..., j]
        lanes = 1 << (added.shape[-1] - 1).bit_length()
        added = np.pad(added, [(0, 0)] * 3 + [(0, lanes - added.shape[-1])])
        while added.shape[-1] > 1:
            added = added.reshape(2, 3, ROWS, -1, 2)
            added = added[..., 0] + added[..., 1]
        expected = np.where(np.isinf(lse), np.float32(0), added[..., 0] - np.asarray(dlse))
        of_bshd = delta_of(
            do.swapaxes(1, 2), o.swapaxes(1, 2), lse, dlse.at[:, :, 4].set(jnp.nan), "bshd"
        )
        demand_equal(
            [
                delta_of(do, o, lse, dlse, "bhsd"),
                jax.jit(delta_of, static_argnums=4)(do, o, lse, dlse, "bhsd"),
                of_bshd,
            ],
            [expected] * 3,
        )


def transformed() -> None:
    for has_sink in (False, True):
        q, k, v, *sink = arrays(has_sink=has_sink, batch=6)

        def loss(*x: Any) -> Any:
            o, lse = ours(*x, causal=True)
            return (o.astype(jnp.float32) * upstream(o, 0)).sum() + (lse * upstream(lse, 0.5)).sum()

        each = jax.grad(loss, tuple(range(3 + has_sink)))
        split = [x.reshape(3, 2, *x.shape[1:]) for x in (q, k, v)]
        expected = [jnp.stack(x) for x in zip(*(jax.jit(each)(*x, *sink) for x in zip(*split)))]
        axes = (0, 0, 0, *[None] * has_sink)
        for found in (
            jax.jit(jax.vmap(each, axes))(*split, *sink),
            jax.lax.scan(lambda _, x: (None, each(*x, *sink)), None, tuple(split))[1],
            jax.lax.map(
                lambda x: jax.grad(jax.checkpoint(loss), tuple(range(3 + has_sink)))(*x, *sink),
                tuple(split),
            ),
        ):
            demand_equal(found, expected)
        message = refused(
            lambda: jax.grad(lambda q: each(q, k, v, *sink)[1].astype(jnp.float32).sum())(q),
            NotImplementedError,
        )
        assert message.startswith("dash_attn.jax.attention has first derivatives only"), message
    mesh = jax.make_mesh((2,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
    given, spec = arrays(batch=4), PartitionSpec("x")
    divided = jax.shard_map(
        lambda *x: ours(*x, causal=True), mesh=mesh, in_specs=(spec,) * 3, out_specs=(spec, spec)
    )
    demand_equal(
        jax.jit(lambda *x: of_both(divided, list(x)))(*given),
        jax.jit(lambda *x: of_both(ours, list(x), causal=True))(*given),
    )


def lowered() -> None:
    """For a GPU: delta is an operand in the place of o."""
    given = [jax.ShapeDtypeStruct((1, 2, 16384, 64), jnp.bfloat16)] * 3
    text = (
        jax.jit(lambda *x: of_both(ours, list(x), causal=True))
        .trace(*given)
        .lower(lowering_platforms=("cuda",))
        .as_text()
    )
    _, back = [line for line in text.splitlines() if f"@{operator.TARGET}" in line]
    kernel = operator.kernel_of(
        operator.order_of(*given[:3], (-1, 0), "bhsd", takes_delta=True).wanted
    )
    assert f'certificate = "{kernel.certificate}"' in back
    q, per_row = "tensor<1x2x16384x64xbf16>", "tensor<1x2x16384xf32>"
    assert f": ({q}, {q}, {q}, {q}, {per_row}, {per_row}" in back, back


for test in (gradients, of_one, merged, delta, transformed, lowered):
    test()
