# RUN: %jax_python %s
# REQUIRES: jax, plain-libdash
"""attention() of packed sequences in JAX: o, the LSE and gradients beside those of each sequence
alone in float64, through every part of JAX, what is lowered for a GPU, and every refusal."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

import jax_on_cpu  # noqa: E402, F401  (computes dash_attn's custom call)
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from fixtures import refused  # noqa: E402
from jax.sharding import PartitionSpec  # noqa: E402
from jax_on_cpu import AHEAD, CALLED, FAILED  # noqa: E402

from dash_attn import ArgumentError, reference  # noqa: E402
from dash_attn.jax import attention, explain, kernels, operator  # noqa: E402
from dash_attn.kernel.sequences import NO_VMAP  # noqa: E402
from dash_attn.reference import Mask  # noqa: E402

HEADS, KV_HEADS = 4, 2
# Lengths of q and of k; the fourth's first rows see nothing under a causal mask.
LENGTHS = ([5, 0, 1, 9, 4], [5, 3, 1, 7, 0])
GAP = 2  # rows in front of the first sequence and behind the last


def offsets(lengths: list[int], gap: int = GAP) -> jax.Array:
    return jnp.asarray(np.cumsum([gap, *lengths]), jnp.int32)


CU = offsets(LENGTHS[0]), offsets(LENGTHS[1])
OF_BOTH = dict(zip(("cu_seqlens_q", "cu_seqlens_k"), CU))


def arrays(
    lengths: tuple[list[int], list[int]] = LENGTHS,
    head_dim: int = 64,
    of_v: int | None = None,
    heads: tuple[int, int] = (HEADS, KV_HEADS),
    dtype: Any = jnp.bfloat16,
) -> list[jax.Array]:
    """q, k and v."""
    random = np.random.default_rng(7)
    rows = [sum(one) + 2 * GAP for one in lengths]
    sizes = ((rows[0], heads[0], head_dim), (rows[1], heads[1], head_dim))
    sizes += ((rows[1], heads[1], of_v or head_dim),)
    return [jnp.asarray(random.standard_normal(one, np.float32), dtype) for one in sizes]


def upstream(x: Any, shift: float = 0.0) -> Any:
    return jnp.cos(shift + jnp.arange(x.size, dtype=jnp.float32)).reshape(x.shape).astype(x.dtype)


def found(given: list[Any], cu: Any, *, of_lse: bool = False, **options: Any) -> list[Any]:
    """o, the LSE and all gradients. given: q, k, v and perhaps a sink."""

    def attended(*x: Any) -> Any:
        sink = x[3] if len(x) > 3 else None
        of_both = {"cu_seqlens_q": cu[0], "cu_seqlens_k": cu[1]}
        return attention(*x[:3], sink=sink, return_lse=True, **of_both, **options)

    if of_lse:
        (o, lse), pull = jax.vjp(attended, *given)
        return [o, lse, *pull((upstream(o), upstream(lse, 1)))]
    o, pull, lse = jax.vjp(attended, *given, has_aux=True)
    return [o, lse, *pull(upstream(o))]


def apart(
    given: list[Any], cu: Any, mask: Mask, scale: float, softcap: float, of_lse: bool
) -> list[Any]:
    """In float64, each sequence by itself; 0 in rows that none has, and -inf in the LSE."""
    q, k, v, *sinks = (np.asarray(x, np.float64) for x in given)
    o = np.zeros((*q.shape[:2], v.shape[2]))
    lse = np.full(q.shape[1::-1], -np.inf)
    do = np.asarray(upstream(jnp.asarray(o, given[0].dtype)), np.float64)
    dlse = np.asarray(upstream(jnp.asarray(lse, jnp.float32), 1), np.float64) * of_lse
    whole = [np.zeros_like(x) for x in (q, k, v, *sinks)]
    rest = {"scale": scale, "mask": mask, "softcap": softcap or None}
    rest["sink"] = sinks[0] if sinks else None
    for begin, end, kv_begin, kv_end in zip(cu[0], cu[0][1:], cu[1], cu[1][1:]):
        of_q, of_k = slice(begin, end), slice(kv_begin, kv_end)
        if end == begin:
            continue
        if kv_end == kv_begin:
            if sinks:
                lse[:, of_q] = sinks[0][:, None]
                whole[3] += dlse[:, of_q].sum(-1)  # the sink is all that these rows see
            continue
        one = [x[rows].swapaxes(0, 1)[None] for x, rows in ((q, of_q), (k, of_k), (v, of_k))]
        of_o, of_sums = reference.forward(*one, **rest)
        back = do[of_q].swapaxes(0, 1)[None]
        delta = (of_o * back).sum(-1) - dlse[:, of_q][None]
        delta = np.where(np.isinf(of_sums), 0, delta)
        parts = reference.backward(*one, back, None, of_sums, delta=delta, **rest)
        o[of_q], lse[:, of_q] = of_o[0].swapaxes(0, 1), of_sums[0]
        for x, rows, name in zip(whole, (of_q, of_k, of_k), ("dq", "dk", "dv")):
            x[rows] = parts[name][0].swapaxes(0, 1)
        if sinks:
            whole[3] += parts["dsink"][0]
    return [o, lse, *whole]


def demand_close(ours: list[Any], theirs: list[Any]) -> None:
    """Rows of no sequence are 0."""
    assert not FAILED, FAILED
    for place, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        one, other = (np.asarray(x, np.float64) for x in (one, other))
        assert one.shape == other.shape
        nowhere = np.isinf(other)
        assert (np.isinf(one) == nowhere).all() and (one[nowhere] == other[nowhere]).all()
        one, other = (np.where(nowhere, 0, x) for x in (one, other))
        error = np.linalg.norm(one - other)
        assert error <= 0.02 * np.linalg.norm(other), (place, error, np.linalg.norm(other))
        if one.ndim == 3:
            assert not one[~other.any((1, 2))].any()


def demand_equal(ours: Any, theirs: Any) -> None:
    assert not FAILED, FAILED
    for one, other in zip(ours, theirs, strict=True):
        assert one.dtype == other.dtype and one.shape == other.shape
        assert (np.asarray(one) == np.asarray(other)).all()


def gradients() -> None:
    sink = jnp.linspace(-2, 3, HEADS)
    for sizes, options, mask in (
        ({}, {}, Mask()),
        ({}, {"causal": True}, Mask(right=0)),
        ({"dtype": jnp.float16}, {"window": (3, 1), "scale": 0.3}, Mask(3, 1)),
        ({}, {"window": (2, -1), "causal": True, "level": "batch"}, Mask(2, 0)),
        ({}, {"layout": "thd", "level": "machine", "softcap": 5.0}, Mask()),
        ({"head_dim": 48, "of_v": 40}, {"causal": True}, Mask(right=0)),
        ({"head_dim": 192, "of_v": 128}, {"causal": True}, Mask(right=0)),
        ({"head_dim": 256}, {"softcap": 5.0}, Mask()),
    ):
        has_sinks = (False, True) if sizes.get("head_dim", 64) <= 128 else (False,)
        for has_sink in has_sinks:
            given = arrays(**sizes) + [sink] * has_sink
            scale = options.get("scale", given[0].shape[2] ** -0.5)
            for of_lse in (False, True):
                expected = apart(given, CU, mask, scale, options.get("softcap", 0), of_lse)
                CALLED.clear(), AHEAD.clear()
                ours = found(given, CU, of_lse=of_lse, **options)
                demand_close(ours, expected)
                jitted = jax.jit(lambda x, cu, o=options, y=of_lse: found(x, cu, of_lse=y, **o))
                demand_close(jitted(given, CU), expected)
                # dk and dv, and dq, are programs of their own above head dim 128
                assert len(AHEAD) == 2 and len(CALLED) == 2 + 2 * (given[0].shape[2] > 128)
                for one in (*AHEAD, *CALLED):
                    assert one["layout"] == "thd" and " sequences(<?>)" in one["program"]
                level = options.get("level", "run")
                assert all(f"level({level})" in one["program"] for one in CALLED)


def offsets_of_one() -> None:
    """For self-attention one list of offsets is enough."""
    given = arrays((LENGTHS[0], LENGTHS[0]))
    expected = found(given, (CU[0], CU[0]), causal=True)
    demand_equal(found(given, (CU[0], None), causal=True), expected)
    o, lse = expected[:2]
    assert np.isneginf(lse[:, :GAP]).all() and np.isneginf(lse[:, -GAP:]).all()
    assert np.isfinite(lse[:, GAP:-GAP]).all() and lse.shape == (HEADS, o.shape[0])
    demand_equal([attention(*given, cu_seqlens_q=CU[0], causal=True)], [o])


def outside() -> None:
    """What stands in rows outside of all sequences leaves no trace, and neither do upstream's."""
    given, sink = arrays(), jnp.linspace(-2, 3, HEADS)
    outside_q, outside_k = ((np.arange(x.shape[0]) - GAP) % x.shape[0] for x in given[:2])
    spoilt = [
        jnp.where((where >= x.shape[0] - 2 * GAP)[:, None, None], jnp.nan, x)
        for x, where in zip(given, (outside_q, outside_k, outside_k))
    ]
    assert all(np.isnan(x).any() for x in spoilt)

    def pulled(given: list[Any]) -> list[Any]:
        def attended(*x: Any) -> Any:
            return attention(*x[:3], sink=x[3], return_lse=True, causal=True, **OF_BOTH)

        (o, lse), pull = jax.vjp(attended, *given, sink)
        do = jnp.where(jnp.isnan(given[0]), jnp.nan, upstream(o))
        dlse = jnp.where(jnp.isneginf(lse), jnp.nan, upstream(lse))
        return [o, lse, *pull((do, dlse))]

    demand_equal(jax.jit(pulled)(spoilt), pulled(given))
    assert all(np.isfinite(x).all() for i, x in enumerate(pulled(spoilt)) if i != 1)


def traced() -> None:
    """Offsets are values of a program, which is traced once for all of them. Under scan and
    checkpoints gradients are those of single calls, bit for bit."""
    given, times = arrays(), []

    def loss(q: Any, k: Any, v: Any, of_q: Any, of_k: Any) -> Any:
        times.append(1)
        o = attention(q, k, v, causal=True, cu_seqlens_q=of_q, cu_seqlens_k=of_k)
        return (o.astype(jnp.float32) * upstream(o)).sum()

    each = jax.grad(loss, (0, 1, 2))
    several = [
        CU,
        (offsets([4, 4, 4, 4, 3]), offsets([4, 4, 4, 4, 0])),
        (offsets([0, 0, 19, 0, 0], 0), offsets([0, 0, 16, 0, 0], 0)),
    ]
    compute = jax.jit(each)
    expected = [compute(*given, *cu) for cu in several]
    assert len(times) == 1
    for cu, ours in zip(several, expected):
        demand_close(list(ours), apart(given, cu, Mask(right=0), 0.125, 0, False)[2:])
    stacked = tuple(jnp.stack(x) for x in zip(*several))
    for function in (each, jax.grad(jax.checkpoint(loss), (0, 1, 2))):
        many = jax.lax.scan(lambda _, cu, f=function: (None, f(*given, *cu)), None, stacked)[1]
        for i, ours in enumerate(expected):
            demand_equal([x[i] for x in many], ours)
    allowed = [jax.export.DisabledSafetyCheck.custom_call(operator.TARGET)]
    exported = jax.export.export(compute, disabled_checks=allowed)(*given, *CU)
    for cu, ours in zip(several, expected):
        demand_equal(exported.call(*given, *cu), ours)
    assert NO_VMAP.startswith("packed sequences are a batch: put those of vmap's dimension one ")
    for axes in ((0, None), (None, 0)):
        mapped = jax.vmap(
            lambda q, cu: attention(q, *given[1:], cu_seqlens_q=cu, cu_seqlens_k=CU[1]), axes
        )
        whole = [x if axis is None else x[None] for x, axis in zip((given[0], CU[0]), axes)]
        assert refused(lambda m=mapped, x=whole: m(*x), ArgumentError) == NO_VMAP
    of_each = jax.vmap(each, (0, None, None, None, None))
    assert refused(lambda: of_each(given[0][None], *given[1:], *CU), ArgumentError) == NO_VMAP
    twice = refused(
        lambda: jax.grad(lambda q: each(q, *given[1:], *CU)[0].astype(jnp.float32).sum())(given[0]),
        NotImplementedError,
    )
    assert twice.startswith("dash_attn.jax.attention has first derivatives only"), twice


def sharded() -> None:
    """Two devices divide the heads, with offsets for all; or sequences, with offsets of each."""
    given = [*arrays(), jnp.linspace(-2, 3, HEADS)]
    # before any other is counted
    whole = jax.block_until_ready(jax.jit(lambda x: found(x, CU, causal=True))(given))
    mesh = jax.make_mesh((2,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
    heads, none = PartitionSpec(None, "x"), PartitionSpec()
    for check in (True, False):
        divided = jax.shard_map(
            lambda q, k, v, sink, *cu: attention(
                q, k, v, sink=sink, causal=True, cu_seqlens_q=cu[0], cu_seqlens_k=cu[1]
            ),
            mesh=mesh,
            in_specs=(heads, heads, heads, PartitionSpec("x"), none, none),
            out_specs=heads,
            check_vma=check,
        )
        CALLED.clear()
        o, pull = jax.jit(lambda f, x: jax.vjp(lambda *y: f(*y, *CU), *x), static_argnums=0)(
            divided, given
        )
        demand_equal([o, *pull(upstream(o))], [whole[0], *whole[2:]])
        assert [one["shapes"][0] for one in CALLED] == [(23, HEADS // 2, 64)] * 2, CALLED
        rows, halves = PartitionSpec("x"), [[5, 0, 6], [0, 11, 0]]
        q, k, v = arrays(([11 + 2 * GAP, 11], [11 + 2 * GAP, 11]))
        cu = jnp.concatenate([offsets(one) for one in halves])
        by_rows = jax.shard_map(
            lambda *x: attention(*x[:3], cu_seqlens_q=x[3], causal=True),
            mesh=mesh,
            in_specs=(rows,) * 4,
            out_specs=rows,
            check_vma=check,
        )
        o, pull = jax.vjp(lambda *x: by_rows(*x, cu), q, k, v)
        found_apart = [o, *pull(upstream(o))]
        parts = []
        for i, lengths in enumerate(halves):
            half = slice(15 * i, 15 * i + 15)
            one, back = jax.vjp(
                lambda *x, n=lengths: attention(*x, cu_seqlens_q=offsets(n), causal=True),
                *(x[half] for x in (q, k, v)),
            )
            parts.append([one, *back(upstream(o)[half])])
        demand_equal(found_apart, [jnp.concatenate(x) for x in zip(*parts)])


def lowered() -> None:
    """For a GPU: offsets are the last operands, nothing is filled before the call, and the program
    has no table."""
    for dims, has_sink, options in (
        ((64, 64), False, {"causal": True}),
        ((64, 64), True, {"window": (128, 5), "level": "batch"}),
        ((192, 128), False, {"causal": True, "softcap": 30.0}),
    ):
        shapes = [(4000, 8, dims[0]), (5000, 2, dims[0]), (5000, 2, dims[1])]
        given = [jax.ShapeDtypeStruct(one, jnp.bfloat16) for one in shapes]
        given += [jax.ShapeDtypeStruct((8,), jnp.float32)] * has_sink
        cu = [jax.ShapeDtypeStruct((7,), jnp.int32)] * 2
        trace = jax.jit(lambda x, cu, o=options: found(x, cu, **o)).trace(given, cu)
        text = trace.lower(lowering_platforms=("cuda",)).as_text()
        lines = [line for line in text.splitlines() if f"@{operator.TARGET}" in line]
        q, k, v = (f"tensor<{'x'.join(map(str, shape))}xbf16>" for shape in shapes)
        o = f"tensor<4000x8x{dims[1]}xbf16>"
        lse, sink, dsink, of_each = (
            f"tensor<{one}>" for one in ("8x4000xf32", "8xf32", "6x8xf32", "7xi32")
        )
        beside = [sink] * has_sink + [of_each] * 2
        read = [q, k, v, o, o, lse, *beside]
        calls = [([q, k, v, *beside], [o, lse])]
        if dims[0] > 128:
            calls += [(read, [k, v]), (read, [q])]
        else:
            calls.append((read, [q, k, v, *[dsink] * has_sink]))
        arrays_of = {"sink": jnp.zeros(8) if has_sink else None}
        arrays_of |= {"cu_seqlens_q": jnp.arange(7, dtype=jnp.int32)}
        why = explain(*(jnp.zeros(one, jnp.bfloat16) for one in shapes), **arrays_of, **options)
        certificates = [re.search(r'certificate = "(.*?)"', line)[1] for line in lines]
        assert why.certificate.split() == certificates and len(certificates) == len(calls), why
        for line, (operands, results) in zip(lines, calls, strict=True):
            taken, made = (", ".join(one) for one in (operands, results))
            assert f": ({taken}) -> ({made}, tensor<" in line, line
            assert 'layout = "thd"' in line
            assert "operand_index" not in line, line
        assert "0xff800000" not in text.lower(), "-inf is written in front of a call"


def refusals() -> None:
    q, k, v = arrays()
    given = OF_BOTH
    for tensors, options, said in (
        (
            (q[None], k, v),
            given,
            "q: expected 3 dimensions, [rows, heads, head_dim], found the shape (1, 23, 4, 64)",
        ),
        (
            (q, k, v[1:]),
            given,
            "v: expected the shape of k, (20, 2, 64), but for the head dim, found (19, 2, 64)",
        ),
        (
            (q, k, v),
            given | {"layout": "bshd"},
            "layout: expected thd, [rows, heads, head_dim], beside cu_seqlens, found 'bshd'",
        ),
        ((q, k, v), {"layout": "thd"}, "layout: expected cu_seqlens_q beside thd, found none"),
        (
            (q, k, v),
            {"cu_seqlens_k": CU[1]},
            "cu_seqlens_q: expected offsets of sequences in q, found None beside others",
        ),
        (
            (q, k, v),
            given | {"cu_seqlens_q": np.array([0, 4], np.int32)},
            "cu_seqlens_q: expected an array of JAX, found ndarray",
        ),
        (
            (q, k, v),
            given | {"cu_seqlens_k": CU[1].astype(jnp.uint32)},
            (
                "cu_seqlens_k: expected int32 of one dimension, found uint32 of the shape (6,);"
                " cast it"
            ),
        ),
        (
            (q, k, v),
            given | {"cu_seqlens_q": CU[0][:1]},
            "cu_seqlens_q: expected offsets of at least 1 sequence, one more than these, found 1",
        ),
        (
            (q, k, v),
            given | {"cu_seqlens_k": CU[1][:3]},
            "cu_seqlens_k: expected as many offsets as of q, 6, found 3",
        ),
        (
            (q, k, v),
            given | {"forward": "cudnn"},
            (
                'cu_seqlens: expected None beside forward="cudnn", found offsets of sequences: it'
                ' takes batches alone; leave out forward="cudnn"'
            ),
        ),
        (
            (q, k, v),
            given | {"sink": jnp.zeros(3)},
            (
                "sink: expected floating-point numbers, one for each of 4 heads, found float32 of"
                " the shape (3,)"
            ),
        ),
    ):
        CALLED.clear()
        found_here = refused(lambda x=tensors, o=options: attention(*x, **o), ArgumentError)
        assert found_here == said, found_here
        assert explain(*tensors, **options).refusal == said and not CALLED
    # Only explain looks at numbers.
    for numbers, which, said in (
        ([0, 9, 5, 7, 7, 7], "cu_seqlens_q", "from 0 to 23 at most, found [0, 9, 5, 7, 7, 7]"),
        ([0, 9, 9, 9, 9, 24], "cu_seqlens_q", "from 0 to 23 at most, found [0, 9, 9, 9, 9, 24]"),
        ([0, 9, 9, 9, 9, 21], "cu_seqlens_k", "from 0 to 20 at most, found [0, 9, 9, 9, 9, 21]"),
    ):
        wrong = given | {which: jnp.array(numbers, jnp.int32)}
        expected = f"{which}: expected numbers that ascend {said}"
        assert explain(q, k, v, **wrong).refusal == expected, explain(q, k, v, **wrong)
    alone = explain(q, k, v, cu_seqlens_q=CU[0])
    assert alone.refusal.startswith("cu_seqlens_k: expected numbers that ascend from 0 to 20")
    explained = explain(q, k, v, causal=True, level="batch", **given)
    assert explained and "symmetric-shift, level batch" in str(explained), explained
    assert explained.forward.endswith(", level row"), explained
    seen = []
    jax.jit(lambda cu: seen.append(explain(q, k, v, cu_seqlens_q=cu, cu_seqlens_k=cu)))(CU[0])
    assert seen[0], seen  # in a program that is being traced offsets have no numbers
    many = jax.ShapeDtypeStruct((65537,), jnp.int32)
    reason = refused(
        lambda: jax.eval_shape(lambda cu: attention(q, k, v, cu_seqlens_q=cu), many), ArgumentError
    )
    assert reason.startswith("cu_seqlens: expected offsets of at most 65535 sequences"), reason
    symbolic = jax.ShapeDtypeStruct(jax.export.symbolic_shape("n"), jnp.int32)
    reason = refused(
        lambda: jax.export.export(jax.jit(lambda cu: attention(q, k, v, cu_seqlens_q=cu)))(
            symbolic
        ),
        ArgumentError,
    )
    assert reason == (
        "cu_seqlens_q: expected sizes that are known when the program is traced, found (n,)"
    ), reason


def by_names() -> None:
    """The kernels are those of PyTorch: the same programs."""
    q, k, v = arrays()
    wanted = kernels.order_of(q, k, v, (-1, 0), "thd", level="batch").wanted
    assert wanted.is_list and not wanted.sizes and wanted.level == "batch"
    ahead = kernels.forward_of(q, k, v, (-1, 0), "thd", 5)
    assert ahead.is_list and ahead.is_forward and ahead.q_tile == 128
    assert kernels.forward_of(q, k, v, (-1, 0), "thd", 0).q_tile == 0


for test in (
    gradients,
    offsets_of_one,
    outside,
    traced,
    sharded,
    lowered,
    refusals,
    by_names,
):
    test()
