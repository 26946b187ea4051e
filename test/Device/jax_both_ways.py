#!/usr/bin/env python3
"""jax_both_ways.py [--only NAMES]: `dash_attn.jax.attention` with both passes by dash on this GPU:
rectangles, windows with a right side, softcaps, sinks, a v of its own head dim, both layouts,
levels, and packed sequences.

O, the LSE and gradients are compared with float64, two runs of a program with each other, and at
levels above `run` a sequence in a batch with the sequence alone. Packed ones come in lists of
lengths for one program, some empty, with NaN in rows outside of all. Each is compared with itself
alone, in a batch: o and the LSE always, and gradients at levels above `run`. Then keys that are
cut, and gradients of an unrounded o: with and without a gradient of the LSE, whose zeros change no
bit. Sequences that use some of their rows are in one program for all numbers, NaN in the others,
and have the bits that each has alone. PyTorch computes what is exact, where it is installed. --only
names some of the parts, with commas: `batches`, `options`, `used`, and head dims of packed ones, as
`192/128`. It ends with `ok`.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "python")]
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # PyTorch is here, too

try:
    import torch
except ImportError:
    torch = None

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from by_parts import add_only, run_parts  # noqa: E402

from dash_attn import reference  # noqa: E402
from dash_attn.jax import attention, explain  # noqa: E402
from dash_attn.jax.sinks import summed  # noqa: E402
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

# rows of q, rows of k, head dim, sink, options
OPTIONS: tuple[tuple[int, int, int, bool, dict[str, Any]], ...] = (
    (1, 4096, 128, False, {"cut": 1024}),
    (300, 1000, 64, True, {"causal": True, "cut": 256}),
    (500, 500, 64, True, {"window": (1, 0), "delta": "unrounded"}),
    (500, 500, 128, False, {"causal": True, "delta": "unrounded", "level": "batch"}),
    (300, 300, 256, False, {"causal": True, "delta": "unrounded"}),
)
# rows that are used, of 300 of q and of 700 of k
USED = (
    ((300, 0, 17, 128), (700, 300, 0, 129)),
    ((1, 300, 299, 64), (1, 699, 512, 64)),
    ((0, 0, 0, 0), (0, 0, 0, 0)),
)
OF_USED: tuple[dict[str, Any], ...] = (
    {"causal": True, "level": "batch"},
    {"causal": True, "delta": "unrounded"},
    {"cut": 256},
)

# Lists of lengths of q and of k, for one program; all are within as many rows.
HEADS, KV_HEADS, GAP = 8, 2, 7
LISTS = (
    ((1000, 0, 1, 333, 64, 1500), (1000, 5, 1, 500, 0, 1394)),
    ((0, 0, 2898, 0, 0, 0), (0, 0, 2900, 0, 0, 0)),
    ((483, 483, 483, 483, 483, 483), (128, 128, 128, 128, 128, 128)),
    ((0, 0, 0, 0, 0, 0), (0, 0, 0, 0, 0, 0)),
)
ROWS, KV_ROWS = 2898 + 2 * GAP, 2900 + 2 * GAP
# head dims of q and k, and of v; whether there is a sink; options
OF_LISTS: tuple[tuple[int, int, bool, dict[str, Any]], ...] = (
    (64, 64, False, {"causal": True}),
    (128, 128, True, {"causal": True, "level": "batch"}),
    (64, 32, True, {"window": (64, 32), "softcap": 5.0, "level": "batch"}),
    (96, 128, True, {"level": "machine"}),
    (192, 128, False, {"causal": True, "level": "batch"}),
    (256, 256, False, {"softcap": 5.0}),
)


def both_ways(
    options: dict[str, Any], *, of_lse: bool = True, has_gradients: bool = True
) -> Callable[..., Any]:
    """A program of o, the LSE and the gradients of q, k, v and the sink, if there is one. of_lse:
    the LSE has a gradient, of zeros; else the kernel takes o in place of delta."""

    def compute(q: Any, k: Any, v: Any, do: Any, sink: Any = None, *cu: Any) -> Any:
        of_both = dict(zip(("cu_seqlens_q", "cu_seqlens_k"), cu))

        def attended(q: Any, k: Any, v: Any, sink: Any = None) -> Any:
            return attention(q, k, v, sink=sink, return_lse=True, **of_both, **options)

        given = (q, k, v) if sink is None else (q, k, v, sink)
        if not has_gradients:
            return attended(*given)
        if not of_lse:
            o, pull, lse = jax.vjp(attended, *given, has_aux=True)
            return o, lse, *pull(do)
        (o, lse), pull = jax.vjp(attended, *given)
        return o, lse, *pull((do, jnp.zeros_like(lse)))

    return jax.jit(compute)


def are_equal(ones: Any, others: Any) -> bool:
    return all((np.asarray(x) == np.asarray(y)).all() for x, y in zip(ones, others, strict=True))


def exact(given: list[Any], sink: Any, options: dict[str, Any]) -> list[np.ndarray]:
    """o, the LSE, dq, dk, dv and, with a sink, dsink in float64: on this GPU, if PyTorch is
    there. given: q, k, v and do in the layout bhsd."""

    def double(one: Any) -> Any:
        whole = np.asarray(one, np.float64)
        on_gpu = torch is not None and torch.cuda.is_available()
        return torch.from_numpy(whole.copy()).cuda() if on_gpu else whole

    window = options.get("window", (-1, 0 if options.get("causal") else -1))
    program = {"scale": given[0].shape[3] ** -0.5, "mask": Mask(*window)}
    program["softcap"] = options.get("softcap")
    program["sink"] = None if sink is None else double(sink)
    q, k, v, do = map(double, given)
    o, lse = reference.forward(q, k, v, **program)
    gradients = reference.backward(q, k, v, do, o, lse, **program)
    found = [o, lse, *(gradients[name] for name in NAMES[2:] if name in gradients)]
    return [one if isinstance(one, np.ndarray) else one.cpu().numpy() for one in found]


def check_batches(rows: int, kv_rows: int, of_v: int, options: dict[str, Any]) -> None:
    """In both layouts."""
    rng = np.random.default_rng(rows + of_v)
    sizes = ((8, rows, HEAD_DIM), (2, kv_rows, HEAD_DIM), (2, kv_rows, of_v), (8, rows, of_v))
    given = [jnp.asarray(rng.standard_normal((2, *one), np.float32), jnp.bfloat16) for one in sizes]
    sink = jnp.linspace(-2, 3, 8)
    expected = exact(given, sink, options)
    expected[5] = expected[5].sum(0)
    check(given, sink, options | {"layout": "bhsd"}, expected)
    turned = [one.swapaxes(1, 2) for one in given]
    check(turned, sink, options | {"layout": "bshd"}, expected)


def check(given: list[Any], sink: Any, options: dict[str, Any], expected: list[Any]) -> None:
    compute, turned = both_ways(options), options["layout"] == "bshd"
    found = compute(*given, sink)
    assert are_equal(found, compute(*given, sink)), "two runs differ"
    if "level" in options:
        alone = compute(*(one[:1] for one in given), sink)
        assert are_equal(alone[:5], [one[:1] for one in found[:5]]), "a batch changes bits"

    def in_layout(one: Any) -> Any:
        whole = np.asarray(one, np.float64)
        return whole.swapaxes(1, 2) if turned and whole.ndim == 4 else whole

    errors = {
        name: float(np.linalg.norm(in_layout(one) - other) / np.linalg.norm(other))
        for name, one, other in zip(NAMES, found, expected)
    }
    print([one.shape for one in given[:3]], options, errors, flush=True)
    for name, error in errors.items():
        assert error < (MOST_OF_DSINK if name == "dsink" else MOST_ERROR), errors
    said = explain(*given[:3], sink=sink, **options)
    assert said and said.forward.endswith(", level row"), said


def check_options(
    rows: int, kv_rows: int, head_dim: int, has_sink: bool, options: dict[str, Any]
) -> None:
    rng = np.random.default_rng(rows)
    sizes = ((8, rows), (2, kv_rows), (2, kv_rows), (8, rows))
    given = [
        jnp.asarray(rng.standard_normal((2, *one, head_dim), np.float32), jnp.bfloat16)
        for one in sizes
    ]
    sink = jnp.linspace(-3, 1, 8) if has_sink else None
    expected = exact(given, sink, options)
    if has_sink:
        expected[5] = expected[5].sum(0)
    check(given, sink, options | {"layout": "bhsd"}, expected)
    found, plain = (both_ways(options, of_lse=one)(*given, sink) for one in (True, False))
    assert are_equal(found, plain), "a gradient of zeros of the LSE changes bits"


def check_used(options: dict[str, Any]) -> None:
    """All numbers by one program, in both layouts."""
    rng = np.random.default_rng(5)
    rows = {"q": 300, "k": 700}
    sides = ("q", "k", "k", "q")

    def compute(layout: str) -> Callable[..., Any]:
        def both(q: Any, k: Any, v: Any, do: Any, *used: Any) -> Any:
            named = dict(zip(("seqused_q", "seqused_k"), used))
            attend = lambda *x: attention(*x, layout=layout, **named, **options)  # noqa: E731
            o, pull = jax.vjp(attend, q, k, v)
            return o, *pull(do)

        return jax.jit(both)

    given = [
        jnp.asarray(rng.standard_normal((4, rows[side], heads, 128), np.float32), jnp.bfloat16)
        for side, heads in zip(sides, (8, 2, 2, 8))
    ]
    programs = {layout: compute(layout) for layout in ("bshd", "bhsd")}
    alone = both_ways(options | {"layout": "bshd"}, of_lse=False)
    for used in USED:
        lengths = dict(zip("qk", used))
        numbers = [jnp.asarray(one, jnp.int32) for one in used]
        spoilt = [
            jnp.where(
                np.arange(rows[side])[None, :, None, None]
                >= np.asarray(lengths[side])[:, None, None, None],
                jnp.nan,
                one,
            )
            for side, one in zip(sides, given)
        ]
        found = programs["bshd"](*spoilt, *numbers)
        assert are_equal(found, programs["bshd"](*given, *numbers)), "other rows leave a trace"
        turned = programs["bhsd"](*(one.swapaxes(1, 2) for one in spoilt), *numbers)
        assert are_equal(found, [one.swapaxes(1, 2) for one in turned]), "layouts differ"
        for number, pair in enumerate(zip(*used)):
            length = dict(zip("qk", pair))
            ours = [one[number, : length[side]] for side, one in zip(("q", "q", "k", "k"), found)]
            for side, one, mine in zip(("q", "q", "k", "k"), found, ours):
                assert not np.asarray(one[number, length[side] :]).any(), "an unused row is not 0"
            if not all(pair):
                assert not any(np.asarray(one).any() for one in ours), "rows without keys"
                continue
            part = [one[number : number + 1, : length[side]] for side, one in zip(sides, given)]
            single = alone(*part)
            assert are_equal([single[0][0]], ours[:1]), "alone o differs"
            if "level" in options:
                assert are_equal([one[0] for one in single[2:]], ours[1:]), "alone they differ"
        print(used, options, flush=True)
    assert all(one._cache_size() == 1 for one in programs.values()), "other numbers are a program"


def check_lists(head_dim: int, of_v: int, has_sink: bool, options: dict[str, Any]) -> None:
    """All lists by one program, and some of them again."""
    rng = np.random.default_rng(head_dim + of_v)
    sizes = ((ROWS, HEADS, head_dim), (KV_ROWS, KV_HEADS, head_dim), (KV_ROWS, KV_HEADS, of_v))
    sizes += ((ROWS, HEADS, of_v),)
    given = [jnp.asarray(rng.standard_normal(one, np.float32), jnp.bfloat16) for one in sizes]
    sink, compute = jnp.linspace(-2, 3, HEADS) if has_sink else None, both_ways(options)
    by_o = both_ways(options, of_lse=False)
    bounds = [[np.cumsum([GAP, *lengths]) for lengths in both] for both in LISTS]
    spoilt, found = [], []
    for cu in bounds:
        ends = [(cu[place][0], cu[place][-1]) for place in (0, 1, 1, 0)]
        spoilt.append([_with_nan(one, *end) for one, end in zip(given, ends)])
        offsets = [jnp.asarray(one, jnp.int32) for one in cu]
        found.append(jax.block_until_ready(compute(*spoilt[-1], sink, *offsets)))
        assert are_equal(found[-1], compute(*given, sink, *offsets)), "rows outside leave a trace"
        plain = by_o(*spoilt[-1], sink, *offsets)
        assert are_equal(found[-1], plain), "a gradient of zeros of the LSE changes bits"
        said = explain(*given[:3], sink=sink, **_named(offsets), **options)
        assert said and said.forward.endswith(", level row"), said
    for cu, whole, first in zip(bounds, spoilt, found):
        offsets = [jnp.asarray(one, jnp.int32) for one in cu]
        assert are_equal(compute(*whole, sink, *offsets), first), "two runs differ"
    assert compute._cache_size() == 1, "other lengths are another program"
    for cu, ours in zip(bounds, found):
        check_list(cu, given, sink, options, ours)


def _with_nan(array: Any, begin: int, end: int) -> Any:
    rows = np.arange(array.shape[0])
    return jnp.where(((rows < begin) | (rows >= end))[:, None, None], jnp.nan, array)


def _named(offsets: Any) -> dict[str, Any]:
    return dict(zip(("cu_seqlens_q", "cu_seqlens_k"), offsets))


def check_list(
    cu: list[Any], given: list[Any], sink: Any, options: dict[str, Any], found: Any
) -> None:
    """One list: each sequence beside itself alone, and all of it beside float64. In rows that see
    nothing all is 0, and the LSE that of the sink, or -inf."""
    q, has_level = given[0], options.get("level", "run") != "run"
    alone = both_ways(options | {"layout": "bshd"}, has_gradients=has_level)
    dsinks = []
    expected = [np.zeros(one.shape) for one in found]
    expected[1][...] = -np.inf
    for begin, end, kv_begin, kv_end in zip(cu[0], cu[0][1:], cu[1], cu[1][1:]):
        of_q, of_k = slice(begin, end), slice(kv_begin, kv_end)
        of_each = (of_q, of_k, of_k, of_q)
        dsinks.append(jnp.zeros(HEADS))
        if begin == end or kv_begin == kv_end:
            if sink is not None:
                expected[1][:, of_q] = np.asarray(sink, np.float64)[:, None]
            continue
        part = [x[rows][None] for x, rows in zip(given, of_each)]
        one = alone(*part, sink)
        ours = [x[rows] for x, rows in zip((found[0], *found[2:5]), (of_q, of_q, of_k, of_k))]
        assert are_equal([one[0][0], one[1][0]], [ours[0], found[1][:, of_q]]), "alone o differs"
        if has_level:
            assert are_equal([x[0] for x in one[2:5]], ours[1:]), "alone gradients differ"
            if sink is not None:
                dsinks[-1] = one[5]
        each = exact([x.swapaxes(1, 2) for x in part], sink, options)
        expected[1][:, of_q] = each[1][0]
        for place, rows in zip((0, 2, 3, 4), (of_q, *of_each)):
            expected[place][rows] = each[place][0].swapaxes(0, 1)
        if sink is not None:
            expected[5] += each[5][0]
    if sink is not None and has_level:
        assert are_equal([summed(jnp.stack(dsinks))], [found[5]]), "dsink alone differs"
    errors = _errors(found, expected)
    print(np.diff(cu[0]), np.diff(cu[1]), q.shape, options, errors, flush=True)
    for name, error in errors.items():
        assert error < (MOST_OF_DSINK if name == "dsink" else MOST_ERROR), errors


def _errors(found: Any, expected: Any) -> dict[str, float]:
    """Those of finite numbers. An o of 0, and an LSE of -inf, have none at all."""
    errors = {}
    for name, one, other in zip(NAMES, found, expected):
        one, is_exact = np.asarray(one, np.float64), np.isinf(other) | (other == 0)
        rest = np.where(is_exact, 0, other)
        if name in ("o", "lse"):
            assert (one[is_exact] == other[is_exact]).all(), name
        assert np.isfinite(one[~np.isinf(other)]).all(), name
        difference = np.linalg.norm(np.where(np.isinf(other), 0, one) - rest)
        errors[name] = float(difference / max(np.linalg.norm(rest), 1e-30))
    return errors


def main() -> int:
    parts: dict[str, list[Callable[[], None]]] = {
        "batches": [lambda one=one: check_batches(*one) for one in CASES],
        "options": [lambda one=one: check_options(*one) for one in OPTIONS],
        "used": [lambda one=one: check_used(one) for one in OF_USED],
    }
    for one in OF_LISTS:
        parts["{}/{}".format(*one)] = [lambda one=one: check_lists(*one)]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_only(parser, parts)
    run_parts(parser, parser.parse_args().only, parts)
    print("ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
