# RUN: %jax_python %s
# REQUIRES: jax, plain-libdash
"""attention(delta="unrounded") of JAX: what custom calls are given, errors beside a rounded o, in
batches, packed, under transforms; what is refused, and which kernels it takes."""

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

from dash_attn import ArgumentError, reference  # noqa: E402
from dash_attn.jax import attention, explain  # noqa: E402
from dash_attn.jax.delta import delta_of  # noqa: E402
from dash_attn.reference import Mask  # noqa: E402

UNROUNDED = {"delta": "unrounded"}


def arrays(rows: int = 40, of_v: int = 64, batch: int = 2, layout: str = "bhsd") -> list[jax.Array]:
    random = np.random.default_rng(3)
    shapes = (batch, 4, rows, 64), (batch, 2, rows, 64), (batch, 2, rows, of_v)
    found = [jnp.asarray(random.standard_normal(one, np.float32), jnp.bfloat16) for one in shapes]
    return [one.swapaxes(1, 2) for one in found] if layout == "bshd" else found


def upstream(o: Any) -> Any:
    return jnp.cos(jnp.linspace(-9, 9, o.size)).reshape(o.shape).astype(o.dtype)


def gradients(given: list[Any], **options: Any) -> list[Any]:
    o, pull = jax.vjp(lambda *x: attention(*x, **options), *given)
    return [o, *pull(upstream(o))]


def errors(given: list[Any], mask: Mask, **options: Any) -> list[float]:
    """Those of dq and dk, beside float64."""
    found = jax.jit(lambda *x: gradients(list(x), **options))(*given)
    assert not FAILED, FAILED
    is_turned = options.get("layout") == "bshd"
    turn = lambda x: np.asarray(x, np.float64).swapaxes(1, 2) if is_turned else np.asarray(x, float)  # noqa: E731
    rest: dict[str, Any] = {"scale": 0.125, "mask": mask}
    if "sink" in options:
        rest["sink"] = np.asarray(options["sink"], np.float64)
    doubles = [turn(one) for one in given]
    o, lse = reference.forward(*doubles, **rest)
    exact = reference.backward(*doubles, turn(upstream(found[0])), o, lse, **rest)
    pairs = zip(found[1:3], (exact["dq"], exact["dk"]))
    return [np.linalg.norm(turn(x) - y) / np.linalg.norm(y) for x, y in pairs]


def served() -> None:
    """Rows that see one column beside a sink have most to gain."""
    sink = jnp.full((4,), -3.0)
    options = {"window": (0, 0), "sink": sink}
    rounded = errors(arrays(), Mask(0, 0), **options)
    AHEAD.clear(), CALLED.clear()
    found = errors(arrays(), Mask(0, 0), **options, **UNROUNDED)
    assert all(3 * one < other for one, other in zip(found, rounded)), (found, rounded)
    assert max(found) < 3e-3, found
    (ahead,), (back,) = AHEAD, CALLED
    assert " unrounded(%unrounded : memref<?x?x?x64xf32" in ahead["program"]
    assert "slack=0" in ahead["options"] and "%o: memref<?x?x?x64xf32" in back["program"]
    for options in (
        {"causal": True},
        {"causal": True, "level": "batch", "layout": "bshd"},
        {"causal": True, "softcap": 0},
    ):
        given = arrays(of_v=32, layout=options.get("layout", "bhsd"))
        assert max(errors(given, Mask(-1, 0), **options, **UNROUNDED)) < 3e-3, options
    # the same program where nothing is differentiated
    AHEAD.clear()
    attention(*arrays(), causal=True, **UNROUNDED).block_until_ready()
    (ahead,) = AHEAD
    assert " unrounded(" in ahead["program"]


def of_lse() -> None:
    """Where the LSE has a gradient, that goes to delta, of the unrounded o."""

    def both(**options: Any) -> list[Any]:
        given = arrays()
        compute = lambda *x: attention(*x, causal=True, return_lse=True, **options)  # noqa: E731
        (o, lse), pull = jax.vjp(compute, *given)
        return [np.asarray(x, float) for x in pull((upstream(o), 0 * lse))]

    CALLED.clear()
    found = both(**UNROUNDED)
    (back,) = CALLED
    assert "delta = %delta" in back["program"] and "xf32, strided<[?, ?, ?" not in back["program"]
    for one, other in zip(found, gradients(arrays(), causal=True, **UNROUNDED)[1:]):
        other = np.asarray(other, float)
        assert np.linalg.norm(one - other) < 2e-3 * np.linalg.norm(other)
    only = jax.vjp(lambda *x: attention(*x, return_lse=True, **UNROUNDED)[1], *arrays())[1]
    assert all(np.isfinite(np.asarray(x, float)).all() for x in only(jnp.ones((2, 4, 40))))


def deltas() -> None:
    """Products of an o in float32 are rounded, whatever a machine adds in one step."""
    random = np.random.default_rng(0)
    o = random.standard_normal((1, 2, 5, 40), np.float32)
    do = jnp.asarray(random.standard_normal((1, 2, 5, 40), np.float32), jnp.bfloat16)
    lse = jnp.zeros((1, 2, 5))
    found = jax.jit(delta_of, static_argnums=4)(do, jnp.asarray(o), lse, 0 * lse, "bhsd")
    products = o * np.asarray(do, np.float32)
    sums = products[..., ::8].copy()
    for one in range(1, 8):
        sums += products[..., one::8]
    by_hand = ((sums[..., 0] + sums[..., 1]) + (sums[..., 2] + sums[..., 3])) + sums[..., 4]
    assert (np.asarray(found) == by_hand).all()
    text = jax.jit(delta_of, static_argnums=4).lower(do, jnp.asarray(o), lse, lse, "bhsd").as_text()
    assert text.count("optimization_barrier") == 2, text


def transformed() -> None:
    """vmap, checkpoints and shard_map give the bits of single calls; packed sequences, too."""
    given, options = arrays(batch=4), {"causal": True, **UNROUNDED}
    split = [x.reshape(2, 2, *x.shape[1:]) for x in given]
    loss = lambda *x: (attention(*x, **options).astype(jnp.float32) ** 2).sum()  # noqa: E731
    each = jax.grad(loss, (0, 1, 2))
    expected = [jnp.stack(x) for x in zip(*(each(*x) for x in zip(*split)))]
    mesh = jax.make_mesh((2,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
    spec = PartitionSpec("x")
    divided = jax.shard_map(each, mesh=mesh, in_specs=(spec,) * 3, out_specs=(spec,) * 3)
    for found in (
        jax.vmap(each)(*split),
        jax.lax.map(lambda x: jax.grad(jax.checkpoint(loss), (0, 1, 2))(*x), tuple(split)),
        [x.reshape(2, 2, *x.shape[1:]) for x in jax.jit(divided)(*given)],
    ):
        assert not FAILED, FAILED
        for one, other in zip(found, expected):
            assert (np.asarray(one) == np.asarray(other)).all()
    q, k, v = (x[0].swapaxes(0, 1) for x in given)
    cu = jnp.array([0, 13, 30], jnp.int32)
    rest = {"causal": True, "cu_seqlens_q": cu}
    CALLED.clear()
    found, rounded = (gradients([q, k, v], **rest, **one) for one in (UNROUNDED, {}))
    assert len(CALLED) == 2 and "%o: memref<?x?x?x64xf32" in CALLED[0]["program"]
    for one, other in zip(found, rounded):
        one, other = np.asarray(one, float), np.asarray(other, float)
        assert np.linalg.norm(one - other) < 0.05 * np.linalg.norm(other)
        assert not one[30:].any()


def refusals() -> None:
    given = arrays()
    for options, reason in (
        ({"delta": "f32"}, "delta: expected 'rounded' or 'unrounded', found 'f32'"),
        ({"delta": True}, "delta: expected 'rounded' or 'unrounded', found True"),
        (
            UNROUNDED | {"cut": 128},
            "delta: expected 'rounded' beside cut, found 'unrounded': what puts pieces of keys"
            " together writes rounded numbers; leave out one of both",
        ),
        (
            UNROUNDED | {"forward": "cudnn"},
            "delta: expected 'rounded', found 'unrounded': no forward pass of cuDNN gives its"
            " output before it is rounded; leave out forward",
        ),
    ):
        assert explain(*given, **options).refusal == reason, options
        assert refused(lambda: attention(*given, **options), ArgumentError) == reason, options


def kernels() -> None:
    """Programs of their own, of the same order; the certificate says so."""
    plain, other = (explain(*arrays(), causal=True, delta=one) for one in ("rounded", "unrounded"))
    assert plain and other and plain.order == other.order, other
    pairs = list(zip(plain.certificate.split(), other.certificate.split()))
    assert len(pairs) == 2 and all(one != two for one, two in pairs), pairs
    assert "o also unrounded" in str(other) and "delta of unrounded o" in str(other), other
    wide = [jnp.zeros((1, 2, 64, 256), jnp.bfloat16) for _ in "qkv"]
    both = [explain(*wide, delta=one).certificate.split() for one in ("rounded", "unrounded")]
    # The last program is that of dq. It reads dS, so it has no delta.
    assert [len(one) for one in both] == [3, 3] and both[0][2] == both[1][2], both
    assert not set(both[0][:2]) & set(both[1][:2]), both


for test in (served, of_lse, deltas, transformed, refusals, kernels):
    test()
