# RUN: %jax_python %s
# REQUIRES: jax, plain-libdash
"""attention() of JAX takes both passes from dash: rectangles, windows, softcaps, sinks and levels
beside float64, with gradients of the LSE, too; cuDNN's forward pass by name; every refusal."""

from __future__ import annotations

import os
import subprocess
import sys
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
from dash_attn.jax import attention, explain, foreign, operator  # noqa: E402
from dash_attn.kernel.problem import window_of  # noqa: E402
from dash_attn.reference import Mask  # noqa: E402

HEADS, KV_HEADS, ROWS = 4, 2, 12


def arrays(
    rows: int = ROWS,
    kv_rows: int = ROWS,
    batch: int = 2,
    of_v: int = 64,
    layout: str = "bhsd",
    has_sink: bool = False,
) -> list[jax.Array]:
    """q is large: a softcap changes what it gives."""
    random = np.random.default_rng(7)
    sizes = (3, HEADS, rows, 64), (1, KV_HEADS, kv_rows, 64), (1, KV_HEADS, kv_rows, of_v)
    found = [
        jnp.asarray(factor * random.standard_normal((batch, *shape), np.float32), jnp.bfloat16)
        for factor, *shape in sizes
    ]
    found = [x.swapaxes(1, 2) for x in found] if layout == "bshd" else found
    return [*found, *[jnp.linspace(-2, 3, HEADS)] * has_sink]


def upstream(x: Any, shift: float = 0.0) -> Any:
    return jnp.cos(9 * jnp.linspace(-1 + shift, 1, x.size)).reshape(x.shape).astype(x.dtype)


def computed(q: Any, k: Any, v: Any, sink: Any = None, **options: Any) -> tuple[Any, Any]:
    return attention(q, k, v, sink=sink, return_lse=True, **options)


def both(given: list[Any], **options: Any) -> list[Any]:
    """o, the LSE and gradients of both."""
    (o, lse), pull = jax.vjp(lambda *x: computed(*x, **options), *given)
    seen = jnp.where(jnp.isfinite(lse), upstream(lse, 0.5), 0)
    return [o, lse, *pull((upstream(o), seen))]


def exact(
    given: list[Any],
    causal: bool = False,
    window: tuple[int, int] | None = None,
    scale: float = 0.125,
    softcap: float | None = None,
    layout: str = "bhsd",
    **_: Any,
) -> list[Any]:
    """In float64."""
    arrays = [np.asarray(x, np.float64) for x in given]
    turned = [x.swapaxes(1, 2) if layout == "bshd" and x.ndim == 4 else x for x in arrays]
    rest = {
        "scale": scale,
        "mask": Mask(*window_of(causal, window)),
        "softcap": softcap,
        "sink": turned[3] if len(turned) > 3 else None,
    }
    o, lse = reference.forward(*turned[:3], **rest)
    as_given = o.swapaxes(1, 2) if layout == "bshd" else o
    do = np.asarray(upstream(jnp.asarray(as_given, jnp.bfloat16)), np.float64)
    do = do.swapaxes(1, 2) if layout == "bshd" else do
    dlse = np.where(np.isfinite(lse), np.asarray(upstream(jnp.asarray(lse), 0.5)), 0)
    delta = np.where(np.isfinite(lse), (o * do).sum(-1) - dlse, 0)
    found = reference.backward(*turned[:3], do, o, lse, **rest, delta=delta)
    gradients = [found[name] for name in ("dq", "dk", "dv")]
    whole = [x.swapaxes(1, 2) if layout == "bshd" else x for x in (o, *gradients)]
    of_sink = [found["dsink"].sum(0)] if "dsink" in found else []
    return [whole[0], lse, *whole[1:], *of_sink]


def demand_close(ours: Any, theirs: Any, tolerance: float = 0.02) -> None:
    assert not FAILED, FAILED
    for one, other in zip(ours, theirs, strict=True):
        one, other = (np.asarray(x, np.float64) for x in (one, other))
        assert one.shape == other.shape
        unseen = ~np.isfinite(other)
        assert (one[unseen] == other[unseen]).all()
        one, other = one[~unseen], other[~unseen]
        error = np.linalg.norm(one - other)
        assert error <= tolerance * np.linalg.norm(other), (error, np.linalg.norm(other))


def demand_equal(ours: Any, theirs: Any) -> None:
    assert not FAILED, FAILED
    for one, other in zip(ours, theirs, strict=True):
        assert one.dtype == other.dtype and (np.asarray(one) == np.asarray(other)).all()


def gradients() -> None:
    for sizes, options in (
        ({"kv_rows": 20}, {"causal": True}),
        ({"rows": 20}, {"causal": True}),  # whose first rows see nothing
        ({"rows": 20}, {"causal": True, "layout": "bshd"}),
        ({"kv_rows": 20}, {"window": (3, 0)}),
        ({}, {"window": (3, 2)}),
        ({"kv_rows": 7}, {"window": (-1, 2)}),
        ({}, {"softcap": 1.5}),
        ({"kv_rows": 20, "of_v": 32}, {"softcap": 1.5, "causal": True, "scale": 0.3}),
        ({}, {"softcap": 1.5, "level": "batch", "layout": "bshd"}),
        ({"rows": 20}, {"causal": True, "level": "machine"}),
        ({}, {"causal": True, "softcap": 2, "level": "batch", "window": (5, -1)}),
    ):
        for has_sink in (False, True):
            given = arrays(**sizes, layout=options.get("layout", "bhsd"), has_sink=has_sink)
            CALLED.clear(), AHEAD.clear()
            compute = jax.jit(lambda *x, options=options: both(list(x), **options))
            demand_close(compute(*given), exact(given, **options))
            (ahead,), (back,) = AHEAD, CALLED
            assert "level(row)" in ahead["program"] and "delta = %delta" in back["program"]
            assert f"level({options.get('level', 'run')})" in back["program"]
            assert ahead["scale"] == back["scale"] == np.float32(options.get("scale", 0.125))


def by_cudnn() -> None:
    """By name: dash has the gradients alone."""
    for sizes, options in (
        ({}, {"causal": True}),
        ({"kv_rows": 20}, {"scale": -0.3}),
        ({"of_v": 32}, {"window": (3, 0), "layout": "bshd"}),
        ({}, {"softcap": 0, "level": "run"}),
    ):
        for has_sink in (False, True):
            given = arrays(**sizes, layout=options.get("layout", "bhsd"), has_sink=has_sink)
            CALLED.clear(), AHEAD.clear()
            found = both(given, **options, forward="cudnn")
            demand_close(found, exact(given, **options | {"softcap": None}))
            assert not AHEAD and len(CALLED) == 1
            why = explain(
                *given[:3], sink=given[3] if has_sink else None, **options, forward="cudnn"
            )
            assert why.forward == foreign.operator_of_forward(has_sink)
            assert why.forward.startswith(f"cuDNN's, by XLA, JAX {jax.__version__}")
            assert len(why.certificate.split()) == 1
    foreign.by_cudnn, kept = jax_on_cpu.BY_CUDNN, foreign.by_cudnn
    for options, mask, window in (
        ({"causal": True}, "CAUSAL", 0),
        ({"layout": "bshd"}, "NO_MASK", 0),
        ({"window": (128, 0)}, "CAUSAL", 129),
    ):
        given = arrays(256, 256, layout=options.get("layout", "bhsd"))
        trace = jax.jit(lambda *x, of=options: both(list(x), **of, forward="cudnn")).trace(*given)
        text = trace.lower(lowering_platforms=("cuda",)).as_text()
        (ahead,) = [line for line in text.splitlines() if "__cudnn$fmhaSoftmax" in line]
        assert text.count(f"@{operator.TARGET}") == 1
        assert f"mask_type\\22: \\22{mask}\\22" in ahead, ahead
        assert f"sliding_window_length\\22: {window}" in ahead, ahead
    foreign.by_cudnn = kept


WITHOUT = """
import sys, jax
del jax._src.cudnn.fused_attention_stablehlo
sys.modules["jax._src.cudnn.fused_attention_stablehlo"] = None
import dash_attn.jax
try:
    dash_attn.jax.foreign._functions()
except ImportError:
    print("ok")
"""


def without_cudnn() -> None:
    """A JAX that has its functions elsewhere has dash's forward all the same."""
    path = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": path},
    )
    assert done.stdout == "ok\n", done


def transformed() -> None:
    """Softcaps, sinks and levels through vmap, scan, checkpoints and shard_map: single calls, bit
    for bit."""
    q, k, v, sink = arrays(kv_rows=20, batch=6, has_sink=True)
    options = {"causal": True, "softcap": 1.5, "level": "batch"}

    def loss(q: Any, k: Any, v: Any, sink: Any) -> Any:
        o, lse = computed(q, k, v, sink, **options)
        return (o.astype(jnp.float32) * upstream(o)).sum() + (lse * upstream(lse, 0.5)).sum()

    each = jax.grad(loss, (0, 1, 2, 3))
    split = [x.reshape(3, 2, *x.shape[1:]) for x in (q, k, v)]
    expected = [jnp.stack(x) for x in zip(*(jax.jit(each)(*x, sink) for x in zip(*split)))]
    for found in (
        jax.jit(jax.vmap(each, (0, 0, 0, None)))(*split, sink),
        jax.lax.scan(lambda _, x: (None, each(*x, sink)), None, tuple(split))[1],
        jax.lax.map(lambda x: jax.grad(jax.checkpoint(loss), (0, 1, 2, 3))(*x, sink), tuple(split)),
    ):
        demand_equal(found, expected)
    refused(
        lambda: jax.grad(lambda q: each(q, k, v, sink)[0].astype(jnp.float32).sum())(q),
        NotImplementedError,
    )
    mesh = jax.make_mesh((2,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
    whole = computed(q, k, v, sink, **options)
    for spec, of_sink, shape in (
        (PartitionSpec("x"), PartitionSpec(), (3, HEADS, ROWS, 64)),
        (PartitionSpec(None, "x"), PartitionSpec("x"), (6, HEADS // 2, ROWS, 64)),
    ):
        for check in (True, False):
            divided = jax.shard_map(
                lambda *x: computed(*x, **options),
                mesh=mesh,
                in_specs=(*(spec,) * 3, of_sink),
                out_specs=(spec, spec),
                check_vma=check,
            )
            AHEAD.clear()
            demand_equal(jax.jit(divided)(q, k, v, sink), whole)
            assert [one["shapes"][0] for one in AHEAD] == [shape] * 2, AHEAD


def levels() -> None:
    """Above run the kernel is that of any batch; rows have their level at each."""
    for level in ("batch", "machine"):
        few, many = (explain(*arrays(batch=batch), causal=True, level=level) for batch in (1, 5))
        assert few.level == level and ", level row" in few.forward
        assert few.certificate.split()[1] == many.certificate.split()[1]
    assert len({explain(*arrays(), level=level).certificate for level in ("run", "batch")}) == 2
    of_rows, strongest = (explain(*arrays(), level=level) for level in ("row", "machine"))
    assert of_rows == strongest and of_rows.level == "machine", of_rows
    capped = explain(*arrays(), softcap=30.0)
    assert not set(capped.certificate.split()) & set(explain(*arrays()).certificate.split())


def cut() -> None:
    """Pieces of keys: results are as without, the program says them, and bits have a certificate of
    their own. Decoded tokens fold heads beside it."""
    for sizes, options in (
        ({"kv_rows": 300}, {"causal": True}),
        ({"kv_rows": 300, "of_v": 32}, {"window": (200, 0), "softcap": 1.5, "layout": "bshd"}),
    ):
        given = arrays(**sizes, layout=options.get("layout", "bhsd"), has_sink=True)
        CALLED.clear(), AHEAD.clear()
        demand_close(both(given, **options, cut=128), exact(given, **options))
        (ahead,), (back,) = AHEAD, CALLED
        assert " cut(128)" in ahead["program"] and " cut(" not in back["program"]
    plain, whole = (explain(*arrays(kv_rows=300), cut=one) for one in (None, 128))
    assert (plain.cut, whole.cut) == (0, 128)
    assert "keys cut into pieces of 128 rows" in str(whole) and "cut" not in str(plain)
    pairs = zip(plain.certificate.split(), whole.certificate.split())
    assert [one == other for one, other in pairs] == [False, True]  # gradients are the same
    q, k, v = (x[0].swapaxes(0, 1) for x in arrays(6, 600))
    cu = {"cu_seqlens_q": jnp.array([0, 3, 6], jnp.int32)}
    cu["cu_seqlens_k"] = 100 * cu["cu_seqlens_q"]
    AHEAD.clear()
    cut_list = attention(q, k, v, causal=True, cut=256, **cu)
    demand_equal([cut_list], [attention(q, k, v, causal=True, **cu)])
    assert [" cut(256)" in one["program"] for one in AHEAD] == [True, False]
    assert all(" fold(2)" in one["program"] for one in AHEAD), AHEAD
    token = explain(*arrays(1, 600), cut=np.int64(256))
    assert "2 heads in a q tile, keys cut into pieces of 256 rows" in token.forward, token


def refusals() -> None:
    q, k, v = arrays()
    by_cudnn = {"forward": "cudnn"}
    for given, options, said in (
        ((q, k, v), {"forward": "torch"}, "forward: expected 'dash' or 'cudnn', found 'torch'"),
        ((q, k, v), {"forward": None}, "forward: expected 'dash' or 'cudnn', found None"),
        ((q, k, v), {"softcap": True}, "softcap: expected a number, or 0 for none, found bool"),
        ((q, k, v), {"softcap": "1"}, "softcap: expected a number, or 0 for none, found str"),
        (
            (q, k, v),
            {"softcap": -1.0},
            "softcap: expected a finite number above 0, or 0 for none, found -1.0",
        ),
        (
            (q, k, v),
            {"softcap": float("inf")},
            "softcap: expected a finite number above 0, or 0 for none, found inf",
        ),
        (
            (q, k, v),
            {"scale": 0},
            'scale: expected a number above 0, found 0; forward="cudnn" takes any',
        ),
        (
            (q, k, v),
            {"scale": np.float32(-0.5)},
            'scale: expected a number above 0, found -0.5; forward="cudnn" takes any',
        ),
        (
            (q, k, v),
            {"softcap": 30.0, **by_cudnn},
            'softcap: cuDNN has no forward pass with one; leave out forward="cudnn"',
        ),
        *(
            (
                (q, k, v),
                {"level": level, **by_cudnn},
                f"level: expected 'run', found '{level}': no forward pass of cuDNN promises it;"
                ' leave out forward="cudnn"',
            )
            for level in ("batch", "machine")
        ),
        (
            (q, k, v),
            {"cut": 0},
            "cut: expected None, or how many rows of k and v a piece has, a whole number above 0,"
            " found 0",
        ),
        (
            (q, k, v),
            {"cut": 128, **by_cudnn},
            'cut: no forward pass of cuDNN cuts keys by length alone; leave out forward="cudnn"',
        ),
        (
            arrays(kv_rows=16),
            {"causal": True, **by_cudnn},
            "causal: expected as many rows of q as of k, found 12 and 16: cuDNN's forward pass"
            " would hide other elements than the kernel (dash's causal masks are aligned at the"
            " bottom right)",
        ),
    ):
        CALLED.clear(), AHEAD.clear()
        found = refused(lambda: attention(*given, **options), ArgumentError)
        assert found == said == explain(*given, **options).refusal, found
        found = refused(lambda: jax.jit(lambda *x: attention(*x, **options))(*given), ArgumentError)
        assert found == said and not CALLED and not AHEAD
    said = explain(q, k, v, cut=100).refusal
    assert said.startswith("cut: expected a multiple of 128, the rows of a kv tile at these"), said
    assert refused(lambda: attention(q, k, v, cut=100), ArgumentError) == said
    traced = refused(
        lambda: jax.jit(lambda softcap: attention(q, k, v, softcap=softcap))(1.0), ArgumentError
    )
    assert traced.startswith("softcap: expected a number, or 0 for none, found "), traced
    for softcap in (np.float32(1.5), np.array(1.5), jnp.float32(1.5)):
        demand_equal([attention(q, k, v, softcap=softcap)], [attention(q, k, v, softcap=1.5)])


for test in (gradients, by_cudnn, without_cudnn, transformed, levels, cut, refusals):
    test()
