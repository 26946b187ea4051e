# RUN: %jax_python %s
# REQUIRES: jax, plain-libdash
"""attention() of JAX for sequences that use some of their rows (seqused_q, seqused_k): each beside
float64 and beside itself alone, NaN in all other rows, transforms, and every refusal."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

from jax_on_cpu import AHEAD, CALLED, FAILED  # noqa: E402
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from fixtures import refused  # noqa: E402
from jax.sharding import PartitionSpec  # noqa: E402

from dash_attn import ArgumentError  # noqa: E402
from dash_attn.jax import attention, explain  # noqa: E402
from dash_attn.kernel.sequences import NO_VMAP  # noqa: E402
from dash_attn.reference import Mask, backward, forward  # noqa: E402

ROWS, KV_ROWS = 12, 16
# Lengths of q and of k: some, none of q, none of k, all, more of q than of k.
USED = ([5, 0, 3, 12, 9], [8, 4, 0, 16, 4])
NAMES = ("seqused_q", "seqused_k")
CAUSAL = {"causal": True}


def numbers(*values: int) -> jax.Array:
    return jnp.array(values, jnp.int32)


def given(which: tuple[bool, bool]) -> dict[str, jax.Array]:
    return {name: numbers(*of) for name, of, here in zip(NAMES, USED, which) if here}


def lengths(which: tuple[bool, bool]) -> list[tuple[int, int]]:
    full = [ROWS] * len(USED[0]), [KV_ROWS] * len(USED[1])
    return list(zip(*(of if here else whole for of, whole, here in zip(USED, full, which))))


def arrays(which: tuple[bool, bool], layout: str = "bhsd", of_v: int = 64) -> list[jax.Array]:
    """q, k, v and do; rows that are not used are NaN."""
    random, found = np.random.default_rng(5), []
    for heads, side, columns in ((4, 0, 64), (2, 1, 64), (2, 1, of_v), (4, 0, of_v)):
        one = random.standard_normal((len(USED[0]), heads, (ROWS, KV_ROWS)[side], columns))
        for i, length in enumerate(lengths(which)):
            one[i, :, length[side] :] = np.nan
        one = jnp.asarray(one, jnp.bfloat16)
        found.append(one if layout == "bhsd" else one.swapaxes(1, 2))
    return found


def computed(given: list[jax.Array], sink: Any = None, **options: Any) -> list[np.ndarray]:
    """o, the LSE and gradients; do is the last that is given, and the LSE's gradient is 1."""
    *qkv, do = given
    leaves = [*qkv, *([] if sink is None else [sink])]
    names = {k: v for k, v in options.items() if k.startswith(("seqused", "cu_"))}
    rest = {k: v for k, v in options.items() if k not in names}

    @jax.jit
    def both(leaves: list[Any], do: Any, names: dict[str, Any]) -> Any:
        def function(*x: Any) -> Any:
            more = {"sink": x[3]} if len(x) > 3 else {}
            return attention(*x[:3], **more, **names, **rest, return_lse=True)

        (o, lse), pull = jax.vjp(function, *leaves)
        return [o, lse, *pull((do, jnp.ones_like(lse)))]

    found = [np.asarray(x, np.float64) for x in both(leaves, do, names)]
    assert not FAILED, FAILED
    return found


def exact(
    given: list[jax.Array], which: tuple[bool, bool], mask: Mask, sink: Any = None
) -> list[np.ndarray]:
    """Each sequence by itself, of arrays of the layout bhsd."""
    q, k, v, do = (np.asarray(one, np.float64) for one in given)
    of_sink = None if sink is None else np.asarray(sink, np.float64)
    found = [np.zeros_like(do), np.full(q.shape[:3], -np.inf)]
    found += [*map(np.zeros_like, (q, k, v)), np.zeros(4)]
    for i, (rows, columns) in enumerate(lengths(which)):
        if rows and columns:
            of = slice(i, i + 1)
            one = [x[of, :, :n] for x, n in ((q, rows), (k, columns), (v, columns), (do, rows))]
            rest = {"scale": 0.125, "mask": mask, "sink": of_sink}
            o, lse = forward(*one[:3], **rest)
            here = backward(*one, o, lse, **rest, delta=(o * one[3]).sum(-1) - 1)
            for whole, part in zip(found, (o, lse, *here.values())):
                if whole.ndim > 1:
                    whole[of, :, : part.shape[2]] = part
            if sink is not None:
                found[5] += here["dsink"][0]
        elif rows and sink is not None:
            found[1][i, :, :rows] = of_sink[:, None]
            found[5] += rows  # all of the LSE
    return found if sink is not None else found[:5]


def demand_close(ours: list[np.ndarray], theirs: list[np.ndarray]) -> None:
    for one, other in zip(ours, theirs, strict=True):
        assert one.shape == other.shape, (one.shape, other.shape)
        assert (np.isinf(one) == np.isinf(other)).all() and not np.isnan(one).any()
        one, other = (np.where(np.isinf(x), 0, x) for x in (one, other))
        assert np.linalg.norm(one - other) <= 0.02 * np.linalg.norm(other)
        assert not one[other == 0].any(), "what is not used is 0"


def demand_equal(ours: list[Any], theirs: list[Any]) -> None:
    for one, other in zip(ours, theirs, strict=True):
        assert (np.asarray(one) == np.asarray(other)).all()


def served() -> None:
    sink = jnp.linspace(-2, 1, 4)
    for options, mask in (
        ({}, Mask()),
        (CAUSAL, Mask(right=0)),
        ({"window": (3, 1), "level": "batch"}, Mask(3, 1)),
        ({"cut": 128, **CAUSAL}, Mask(right=0)),
        ({"delta": "unrounded", **CAUSAL}, Mask(right=0)),
    ):
        for which in ((True, True), (True, False), (False, True)):
            AHEAD.clear(), CALLED.clear()
            inputs = arrays(which)
            ours = computed(inputs, **given(which), **options)
            demand_close(ours, exact(inputs, which, mask))
            for i, (rows, _) in enumerate(lengths(which)):
                assert (ours[1][i, :, rows:] == -np.inf).all()
            (ahead,), (back,) = AHEAD, CALLED
            assert ahead["layout"] == back["layout"] == "thd" and ahead["shapes"][0] == (60, 4, 64)
            turned = arrays(which, "bshd")
            same = computed(turned, layout="bshd", **given(which), **options)
            demand_equal([x.swapaxes(1, 2) if x.ndim == 4 else x for x in same], ours)
    for which in ((True, True), (False, True)):
        inputs = arrays(which, of_v=32)
        ours = computed(inputs, sink, **given(which), **CAUSAL)
        demand_close(ours, exact(inputs, which, Mask(right=0), sink))
        assert ours[0].shape[3] == 32


def alone() -> None:
    """The bits of each sequence by itself, packed; numbers that are too large or too small count as
    all rows and as none."""
    which = True, True
    q, k, v, do = arrays(which)
    whole = computed([q, k, v, do], **given(which), **CAUSAL)
    for i, (rows, columns) in enumerate(lengths(which)):
        if rows and columns:
            one = [x[i, :, :n].swapaxes(0, 1) for x, n in ((q, rows), (k, columns), (v, columns))]
            offsets = {"cu_seqlens_q": numbers(0, rows), "cu_seqlens_k": numbers(0, columns)}
            o, lse = attention(*one, return_lse=True, **offsets, **CAUSAL)
            demand_equal([o.swapaxes(0, 1), lse], [x[i, :, :rows] for x in whole[:2]])
    full = arrays((False, False))[:3]
    found = attention(*full, seqused_q=numbers(99, -5, 12, 12, 12), **CAUSAL)
    plain = attention(*full, **CAUSAL)
    assert not np.asarray(found[1]).any()
    demand_equal([found[0], found[2:]], [plain[0], plain[2:]])


def packed() -> None:
    """Beside offsets they count from these."""
    which = True, True
    inputs = arrays(which)
    flat = [one.swapaxes(1, 2).reshape(-1, *one.shape[1::2]) for one in inputs]
    offsets = {
        "cu_seqlens_q": jnp.arange(6, dtype=jnp.int32) * ROWS,
        "cu_seqlens_k": jnp.arange(6, dtype=jnp.int32) * KV_ROWS,
    }
    for sink in (None, jnp.linspace(-2, 1, 4)):
        expected = computed(inputs, sink, **given(which), **CAUSAL)
        found = computed(flat, sink, **offsets, **given(which), **CAUSAL)
        for one, other in zip(found, expected):
            if other.ndim == 4:
                other = other.swapaxes(1, 2).reshape(one.shape)
            elif other.ndim == 3:
                other = other.swapaxes(0, 1).reshape(one.shape)
            demand_equal([one], [other])
    # One list of offsets for both.
    q, k, v = (one.swapaxes(1, 2).reshape(-1, *one.shape[1::2]) for one in arrays((False,) * 2)[:3])
    o = attention(q, k, v, cu_seqlens_q=numbers(2, 9, 14), seqused_k=numbers(4, 5))
    assert np.asarray(o[2:14]).any() and not np.asarray(o[:2]).any()
    assert not np.asarray(o[14:]).any()
    single = attention(*(x[None, 2 : 2 + n] for x, n in ((q, 7), (k, 4), (v, 4))), layout="bshd")
    demand_equal([o[2:9]], single)


def transformed() -> None:
    """One program for all numbers; scan and shard_map; vmap is refused."""
    q, k, v, do = arrays((False, False))
    traces = []

    @jax.jit
    def function(q: Any, of_q: Any, of_k: Any) -> Any:
        traces.append(1)
        return attention(q, k, v, seqused_q=of_q, seqused_k=of_k, **CAUSAL)

    pairs = [[numbers(*x) for x in USED], [numbers(1, 2, 3, 4, 5), numbers(5, 4, 3, 2, 1)]]
    expected = [attention(q, k, v, **dict(zip(NAMES, pair)), **CAUSAL) for pair in pairs]
    demand_equal([function(q, *pair) for pair in pairs], expected)
    assert len(traces) == 1
    stacked = tuple(jnp.stack(x) for x in zip(*pairs))
    _, found = jax.lax.scan(lambda _, x: (None, function(q, *x)), None, stacked)
    demand_equal(found, expected)
    mesh = jax.make_mesh((2,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
    spec = PartitionSpec("x")
    four = [x[:4] for x in (q, k, v, *pairs[0])]
    divided = jax.shard_map(
        lambda q, k, v, *used: attention(q, k, v, **dict(zip(NAMES, used)), **CAUSAL),
        mesh=mesh,
        in_specs=(spec,) * 5,
        out_specs=spec,
    )
    demand_equal([jax.jit(divided)(*four)], [expected[0][:4]])
    said = refused(lambda: jax.vmap(lambda q: function(q, *pairs[0]))(q[None]), ArgumentError)
    assert said == NO_VMAP and not FAILED, said


def refusals() -> None:
    q, k, v, _ = arrays((False, False))
    five = numbers(1, 2, 3, 4, 5)
    flat = [one.swapaxes(1, 2).reshape(-1, *one.shape[1::2]) for one in (q, k, v)]
    cu = {"cu_seqlens_q": numbers(0, 12, 24), "cu_seqlens_k": numbers(0, 16, 32)}
    for given_arrays, options, message in (
        (
            (q, k, v),
            {"seqused_q": five.astype(jnp.float32)},
            "seqused_q: expected int32 of the shape (5,), a number for each sequence, found float32"
            " of the shape (5,); cast it",
        ),
        (
            (q, k, v),
            {"seqused_k": five[:4]},
            "seqused_k: expected int32 of the shape (5,), a number for each sequence, found int32"
            " of the shape (4,); cast it",
        ),
        (flat, {**cu, "seqused_k": five}, "seqused_k: expected int32 of the shape (2,), a number"),
        ((q, k, v), {"seqused_q": [1]}, "seqused_q: expected an array of JAX, found list"),
        (
            (q, k, v),
            {"seqused_q": five, "layout": "thd"},
            "layout: expected cu_seqlens_q beside thd, found none",
        ),
        ((q, k[:4], v[:4]), {"seqused_q": five}, "k: expected the batch of q, 5, found 4"),
        (
            (q, k, v),
            {"seqused_q": five, "forward": "cudnn"},
            'seqused: expected None beside forward="cudnn", found numbers of rows: it takes all'
            ' rows; leave out forward="cudnn"',
        ),
        (
            tuple(jnp.broadcast_to(one[:1], (21846, *one.shape[1:])) for one in (q, k, v)),
            {"seqused_q": jnp.broadcast_to(numbers(1), (21846,))},
            "seqused: expected at most 21845 sequences beside it, found 21846; call attention for"
            " some of them at a time",
        ),
    ):
        AHEAD.clear()
        said = explain(*given_arrays, **options).refusal
        assert said.startswith(message), said
        assert refused(lambda: attention(*given_arrays, **options), ArgumentError) == said
        assert not AHEAD
    # Only explain looks at numbers.
    for wrong, message in (
        (
            {"seqused_q": numbers(1, 2, 13, 4, 5)},
            "seqused_q: expected from 0 to 12 rows of sequence 2, found 13",
        ),
        (
            {"seqused_k": numbers(1, 2, 3, 4, -1)},
            "seqused_k: expected from 0 to 16 rows of sequence 4, found -1",
        ),
    ):
        assert explain(q, k, v, **wrong).refusal == message
        attention(q, k, v, **wrong)
    assert explain(*flat, **cu, seqused_k=numbers(1, 17)).refusal == (
        "seqused_k: expected from 0 to 16 rows of sequence 1, found 17"
    )
    wrong = cu | {"cu_seqlens_q": numbers(0, 12, 61)}
    assert explain(*flat, **wrong, seqused_k=numbers(1, 2)).refusal.startswith("cu_seqlens_q: exp")
    for options in ({}, {"layout": "bshd"}):
        whole = arrays((False, False), options.get("layout", "bhsd"))[:3]
        found = explain(*whole, seqused_k=five, level="row", **options, **CAUSAL)
        assert found and "symmetric-shift, level machine" in str(found), found
        assert "level row" in found.forward
    traced = jax.jit(lambda used: attention(q, k, v, seqused_k=used))  # explain sees no numbers
    said: list[Any] = []
    jax.jit(lambda used: said.append(explain(q, k, v, seqused_k=used)) or used)(five)
    assert said[0] and traced(five).shape == q.shape, said


for test in (served, alone, packed, transformed, refusals):
    test()
