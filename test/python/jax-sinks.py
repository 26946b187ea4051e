# RUN: %jax_python %s
# REQUIRES: jax, plain-libdash
"""attention() with a sink in JAX: beside a softmax with one column more in float64, through every
part of JAX, what is lowered for a GPU, and refusals."""

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
from jax_on_cpu import AHEAD, CALLED, FAILED  # noqa: E402

from dash_attn import ArgumentError, reference  # noqa: E402
from dash_attn.jax import attention, explain, foreign, operator, problem, sinks  # noqa: E402
from dash_attn.reference import Mask  # noqa: E402

HEADS, KV_HEADS, ROWS = 4, 2, 12


def arrays(
    batch: int = 2,
    layout: str = "bhsd",
    of_sink: Any = jnp.bfloat16,
    rows: int = ROWS,
    kv_heads: int = KV_HEADS,
) -> list[jax.Array]:
    """q, k, v and a sink, of a size at which its part is neither all nor nothing."""
    keys = jax.random.split(jax.random.key(7), 3)
    found = [
        jax.random.normal(key, (batch, h, rows, 64), jnp.float32).astype(jnp.bfloat16)
        for key, h in zip(keys, (HEADS, kv_heads, kv_heads))
    ]
    found = [x.swapaxes(1, 2) for x in found] if layout == "bshd" else found
    return [*found, jnp.linspace(-2, 3, HEADS).astype(of_sink)]


def upstream(o: Any) -> Any:
    return jnp.cos(jnp.arange(o.size, dtype=jnp.float32)).reshape(o.shape).astype(o.dtype)


def found(given: list[Any], compute: Callable[..., Any] = attention, **options: Any) -> list[Any]:
    """o, the LSE and all gradients."""
    o, pull, lse = jax.vjp(
        lambda *x: compute(*x[:3], sink=x[3], return_lse=True, **options), *given, has_aux=True
    )
    return [o, lse, *pull(upstream(o))]


def exact(
    given: list[jax.Array],
    causal: bool = False,
    window: tuple[int, int] = (-1, -1),
    scale: float = 0.125,
    layout: str = "bhsd",
) -> list[Any]:
    """In float64."""
    *tensors, sink = (np.asarray(x, np.float64) for x in given)
    q, k, v = (x.swapaxes(1, 2) if layout == "bshd" else x for x in tensors)
    mask = Mask(window[0], 0 if causal else window[1])
    o, lse = reference.forward(q, k, v, scale=scale, mask=mask, sink=sink)
    turned = o.swapaxes(1, 2) if layout == "bshd" else o
    do = np.asarray(upstream(jnp.asarray(turned, jnp.bfloat16)), np.float64)
    do = do.swapaxes(1, 2) if layout == "bshd" else do
    gradients = reference.backward(q, k, v, do, o, lse, scale=scale, mask=mask, sink=sink)
    whole = [o, *(gradients[name] for name in ("dq", "dk", "dv"))]
    whole = [x.swapaxes(1, 2) for x in whole] if layout == "bshd" else whole
    return [whole[0], lse, *whole[1:], gradients["dsink"].sum(0)]


def demand_close(ours: Any, theirs: Any, tolerance: float = 0.02) -> None:
    assert not FAILED, FAILED
    for one, other in zip(ours, theirs, strict=True):
        one, other = (np.asarray(x, np.float64) for x in (one, other))
        assert one.shape == other.shape and np.linalg.norm(
            one - other
        ) <= tolerance * np.linalg.norm(other), np.linalg.norm(one - other) / np.linalg.norm(other)


def demand_equal(ours: Any, theirs: Any) -> None:
    assert not FAILED, FAILED
    for one, other in zip(ours, theirs, strict=True):
        assert (
            one.dtype == other.dtype
            and one.shape == other.shape
            and (np.asarray(one) == np.asarray(other)).all()
        )


def gradients() -> None:
    for options in (
        {"causal": True},
        {},
        {"scale": 0.3},
        {"window": (3, 0)},
        {"causal": True, "layout": "bshd"},
        {"causal": True, "forward": "cudnn"},
        {"causal": True, "layout": "bshd", "forward": "cudnn"},
    ):
        of_exact = {name: value for name, value in options.items() if name != "forward"}
        for of_sink in (jnp.bfloat16, jnp.float16, jnp.float32):
            given = arrays(layout=options.get("layout", "bhsd"), of_sink=of_sink)
            CALLED.clear(), AHEAD.clear()
            ours = found(given, **options)
            demand_close(ours, exact(given, **of_exact))
            assert ours[1].dtype == jnp.float32 and ours[5].dtype == of_sink
            (called,) = CALLED
            assert (
                called["shapes"][6:] == [(HEADS,)] and " sink(%sink, %dsink : " in called["program"]
            )
            is_own = "forward" not in options
            assert [" sink(%sink : " in one["program"] for one in AHEAD] == [True] * is_own
            demand_close(
                jax.jit(lambda *x: found(list(x), **options))(*given), exact(given, **of_exact)
            )
    with jax.enable_x64(True):
        given = arrays(of_sink=jnp.float64)
        ours = found(given, causal=True)
        demand_close(ours, exact(given, causal=True))
        assert ours[5].dtype == jnp.float64
    q, k, v, sink = arrays()
    none = attention(q, k, v, causal=True, sink=jnp.full_like(sink, -60))
    demand_equal([none], [attention(q, k, v, causal=True)])
    alone = jax.grad(lambda sink: (attention(q, k, v, sink=sink).astype(jnp.float32) ** 2).sum())(
        sink
    )
    assert alone.shape == sink.shape and abs(alone).sum() > 0


def sums() -> None:
    """By halves, of any batch; none is lost."""
    assert (np.asarray(sinks.summed(jnp.ones((1, 3)))) == 1).all()
    for batch in (1, 2, 3, 5, 8, 100):
        values = jax.random.normal(jax.random.key(batch), (batch, 3))
        expected = np.asarray(values)
        while len(expected) > 1:
            half = (len(expected) + 1) // 2
            expected = np.concatenate(
                [
                    expected[: len(expected) - half] + expected[half:],
                    expected[len(expected) - half : half],
                ]
            )
        demand_equal([sinks.summed(values), jax.jit(sinks.summed)(values)], [expected[0]] * 2)
        demand_close([expected[0]], [np.asarray(values, np.float64).sum(0)], 1e-5)


def transformed() -> None:
    """Under scan, checkpoints, vmap and export gradients are those of single calls, bit for bit."""
    q, k, v, sink = arrays(batch=6)

    def loss(q: Any, k: Any, v: Any, sink: Any) -> Any:
        o = attention(q, k, v, causal=True, sink=sink)
        return (
            o.astype(jnp.float32) * jnp.cos(jnp.arange(o.size, dtype=jnp.float32)).reshape(o.shape)
        ).sum()

    each = jax.grad(loss, (0, 1, 2, 3))
    split = [x.reshape(3, 2, *x.shape[1:]) for x in (q, k, v)]
    expected = [jnp.stack(x) for x in zip(*(jax.jit(each)(*x, sink) for x in zip(*split)))]
    assert expected[3].shape == (3, HEADS)
    for several in (
        jax.vmap(each, (0, 0, 0, None))(*split, sink),
        jax.jit(jax.vmap(each, (0, 0, 0, None)))(*split, sink),
        jax.lax.scan(lambda _, x: (None, each(*x, sink)), None, tuple(split))[1],
        jax.lax.map(lambda x: jax.grad(jax.checkpoint(loss), (0, 1, 2, 3))(*x, sink), tuple(split)),
        jax.vmap(each, (1, 2, 3, None))(
            *(jnp.moveaxis(x, 0, i + 1) for i, x in enumerate(split)), sink
        ),
        [
            x[0]
            for x in jax.vmap(jax.vmap(each, (0, 0, 0, None)), (0, 0, 0, None))(
                *(x[None] for x in split), sink
            )
        ],
    ):
        demand_equal(several, expected)
    a_sink_each = jnp.stack([sink, sink + 1, sink + 2])
    demand_equal(
        [x[0] for x in jax.lax.map(lambda x: each(*x), (*split, a_sink_each))],
        [x[0] for x in expected],
    )
    message = (
        "sink: expected one for all of vmap's dimension, found one for each; call attention in a"
        " loop"
    )
    assert refused(lambda: jax.vmap(each)(*split, a_sink_each), ArgumentError) == message
    assert (
        refused(
            lambda: jax.vmap(lambda sink: attention(q, k, v, sink=sink))(a_sink_each), ArgumentError
        )
        == message
    )
    allowed = [jax.export.DisabledSafetyCheck.custom_call(operator.TARGET)]
    exported = jax.export.export(jax.jit(each), disabled_checks=allowed)(q, k, v, sink)
    demand_equal(exported.call(q, k, v, sink), jax.jit(each)(q, k, v, sink))
    twice = refused(
        lambda: jax.grad(lambda sink: each(q, k, v, sink)[3].astype(jnp.float32).sum())(sink),
        NotImplementedError,
    )
    assert twice.startswith("dash_attn.jax.attention has first derivatives only"), twice


def sharded() -> None:
    """Two devices divide the batch, or the heads with their sinks: each computes its own, and what
    a sink shares is summed over them."""
    given = arrays(batch=4)
    # Before any other is counted.
    whole = jax.block_until_ready(jax.jit(lambda *x: found(list(x), causal=True))(*given))
    mesh = jax.make_mesh((2,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
    for spec, of_sink, shapes in (
        (PartitionSpec("x"), PartitionSpec(), [(2, HEADS, ROWS, 64), (HEADS,)]),
        (PartitionSpec(None, "x"), PartitionSpec("x"), [(4, HEADS // 2, ROWS, 64), (HEADS // 2,)]),
    ):
        for check in (True, False):
            divided = jax.shard_map(
                lambda q, k, v, sink: attention(q, k, v, causal=True, sink=sink, return_lse=True),
                mesh=mesh,
                in_specs=(*(spec,) * 3, of_sink),
                out_specs=(spec, spec),
                check_vma=check,
            )
            CALLED.clear()
            ours = jax.jit(
                lambda *x: found(list(x), lambda q, k, v, sink, return_lse: divided(q, k, v, sink))
            )(*given)
            demand_equal(ours[:5], whole[:5])
            (demand_close if of_sink == PartitionSpec() else demand_equal)(ours[5:], whole[5:])
            assert [[one["shapes"][0], one["shapes"][6]] for one in CALLED] == [shapes] * 2, CALLED


def lowered() -> None:
    """For a GPU: the sink is an operand of both calls, behind v and behind the LSE, before a
    table. o of cuDNN's forward pass is scaled between barriers."""
    foreign.by_cudnn, kept = jax_on_cpu.BY_CUDNN, foreign.by_cudnn
    tables = []
    for batch, heads, kv_heads, rows in ((1, 2, 2, 16384), (2, 32, 8, 2000)):
        given = [
            jax.ShapeDtypeStruct((batch, h, rows, 64), jnp.bfloat16)
            for h in (heads, kv_heads, kv_heads)
        ]
        of_call = (*given, (-1, 0), "bhsd")
        ahead = operator.forward_of(*of_call, has_sink=True)
        back = operator.order_of(*of_call, has_sink=True).wanted
        kernels = operator.kernel_of(ahead), operator.kernel_of(back)
        given.append(jax.ShapeDtypeStruct((heads,), jnp.bfloat16))
        q, k = (f"tensor<{batch}x{h}x{rows}x64xbf16>" for h in (heads, kv_heads))
        lse, sink, dsink = (
            f"tensor<{size}xf32>"
            for size in (f"{batch}x{heads}x{rows}", f"{heads}", f"{batch}x{heads}")
        )
        calls = list(
            zip(
                kernels,
                ([q, k, k, sink], [q, k, k, q, q, lse, sink]),
                ([q, lse], [q, k, k, dsink]),
            )
        )
        for forward, barriers in (("dash", 0), ("cudnn", 2)):
            text = (
                jax.jit(lambda *x, by=forward: found(list(x), causal=True, forward=by))
                .trace(*given)
                .lower(lowering_platforms=("cuda",))
                .as_text()
            )
            assert text.count("stablehlo.optimization_barrier") == barriers
            assert text.count("__cudnn$fmhaSoftmax") == (forward == "cudnn")
            lines = [line for line in text.splitlines() if f"@{operator.TARGET}" in line]
            for line, (kernel, taken, made) in zip(
                lines, calls if forward == "dash" else calls[1:], strict=True
            ):
                assert (
                    f'certificate = "{kernel.certificate}"' in line
                    and 'options = "' + kernel.options + '"' in line
                )
                tables.append(kernel.table is not None)
                table = [f"tensor<{kernel.table.size}xui8>"] if tables[-1] else []
                size = kernel.bytes_of(given[0].shape, given[1].shape, "bhsd")
                assert line.endswith(
                    f": ({', '.join(taken + table)}) ->"
                    f" ({', '.join([*made, f'tensor<{size}xui8>'])})"
                ), line
    foreign.by_cudnn = kept
    assert tables == [True, False, False, True, True, True], tables


def refusals() -> None:
    q, k, v, sink = arrays()
    for of_sink, said in (
        (1.0, "sink: expected an array of JAX, found float"),
        (np.zeros(4), "sink: expected an array of JAX, found ndarray"),
        (
            sink[:2],
            (
                "sink: expected floating-point numbers, one for each of 4 heads, found bfloat16 of"
                " the shape (2,)"
            ),
        ),
        (
            sink[None],
            (
                "sink: expected floating-point numbers, one for each of 4 heads, found bfloat16 of"
                " the shape (1, 4)"
            ),
        ),
        (
            sink.astype(jnp.int32),
            (
                "sink: expected floating-point numbers, one for each of 4 heads, found int32 of the"
                " shape (4,)"
            ),
        ),
    ):
        CALLED.clear()
        assert (
            refused(lambda: attention(q, k, v, sink=of_sink), ArgumentError)
            == said
            == explain(q, k, v, sink=of_sink).refusal
        )
        if isinstance(of_sink, jax.Array):
            assert (
                refused(
                    lambda: jax.jit(lambda sink: attention(q, k, v, sink=sink))(of_sink),
                    ArgumentError,
                )
                == said
            )
        assert not CALLED
    for forward, part in (("dash", ""), ("cudnn", ", and the part of the sink")):
        options = {"causal": True, "forward": forward}
        why, without = explain(q, k, v, sink=sink, **options), explain(q, k, v, **options)
        assert (
            why
            and why.forward == without.forward + part
            and not set(why.certificate.split()) & set(without.certificate.split())
        )
    problem.PLATFORM = "gpu"
    assert sinks.refusal_of_sink(sink, q, q, "bhsd").startswith(
        "sink: expected an array on a CUDA device, found one on '"
    )
    problem.PLATFORM = "cpu"


for test in (gradients, sums, transformed, sharded, lowered, refusals):
    test()
