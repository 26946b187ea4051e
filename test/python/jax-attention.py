# RUN: %jax_python %s
# REQUIRES: jax, plain-libdash
"""attention() as a part of JAX: gradients, layouts, jit, scan, checkpoints, vmap, shard_map, what
is lowered for a GPU, and every refusal."""

from __future__ import annotations

import re
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

import dash_attn.kernel.problem  # noqa: E402
from dash_attn import ArgumentError  # noqa: E402
from dash_attn.jax import attention, explain, operator, problem  # noqa: E402
from dash_attn.kernel.problem import window_of  # noqa: E402


def arrays(
    batch: int = 2,
    heads: int = 4,
    kv_heads: int = 2,
    rows: int = 12,
    kv_rows: int | None = None,
    head_dim: int = 64,
    of_v: int | None = None,
    dtype: Any = jnp.bfloat16,
    layout: str = "bhsd",
) -> list[jax.Array]:
    random = np.random.default_rng(7)
    of_kv = kv_heads, kv_rows or rows
    sizes = [(heads, rows, head_dim), (*of_kv, head_dim), (*of_kv, of_v or head_dim)]
    return [
        jnp.asarray(
            random.standard_normal(
                (batch, h, s, d) if layout == "bhsd" else (batch, s, h, d), np.float32
            ),
            dtype,
        )
        for h, s, d in sizes
    ]


def plain(
    q: Any,
    k: Any,
    v: Any,
    *,
    causal: bool = False,
    window: tuple[int, int] = (-1, -1),
    scale: float | None = None,
    layout: str = "bhsd",
) -> Any:
    """JAX differentiates it by itself."""
    call = operator.Call(
        (window[0], 0 if causal else window[1]),
        q.shape[3] ** -0.5 if scale is None else scale,
        layout,
    )
    return jax_on_cpu.forward(call, q, k, v)[0]


def both(compute: Callable[..., Any], given: list[jax.Array], **options: Any) -> list[jax.Array]:
    """o and the gradients, for an upstream that is different everywhere."""
    o, pull = jax.vjp(lambda *x: compute(*x, **options), *given)
    return [
        o,
        *pull(jnp.asarray(np.cos(np.arange(o.size, dtype=np.float32)).reshape(o.shape), o.dtype)),
    ]


def demand_close(ours: list[jax.Array], theirs: list[jax.Array], tolerance: float = 0.02) -> None:
    assert not FAILED, FAILED
    for one, other in zip(ours, theirs, strict=True):
        one, other = (np.asarray(x, np.float64) for x in (one, other))
        assert one.shape == other.shape and np.linalg.norm(
            one - other
        ) <= tolerance * np.linalg.norm(other), np.linalg.norm(one - other) / np.linalg.norm(other)


def demand_equal(ours: list[jax.Array], theirs: list[jax.Array]) -> None:
    assert not FAILED, FAILED
    for one, other in zip(ours, theirs, strict=True):
        assert (np.asarray(one) == np.asarray(other)).all()


def gradients() -> None:
    for sizes, options in (
        ({}, {}),
        ({"head_dim": 128, "dtype": jnp.float16}, {"causal": True}),
        ({"kv_rows": 20}, {"scale": 0.3}),
        ({"heads": 6, "kv_heads": 1}, {"window": (3, 0)}),
        ({}, {"window": (5, -1), "causal": True}),
        ({"kv_heads": 4, "layout": "bshd"}, {"causal": True, "layout": "bshd"}),
        ({"kv_rows": 20, "layout": "bshd"}, {"layout": "bshd"}),
        ({"head_dim": 128, "of_v": 64}, {"causal": True}),
        ({"of_v": 128, "kv_rows": 20}, {}),
        ({"head_dim": 96, "of_v": 128, "layout": "bshd"}, {"window": (3, 0), "layout": "bshd"}),
        ({"head_dim": 48, "of_v": 40, "dtype": jnp.float16}, {"scale": 0.3}),
    ):
        given = arrays(**sizes)
        wide = [x.astype(jnp.float32) for x in given]
        expected = both(jax.jit(lambda *x: plain(*x, **options)), wide)
        CALLED.clear()
        demand_close(both(attention, given, **options), expected)
        demand_close(both(jax.jit(lambda *x: attention(*x, **options)), given), expected)
        assert [(one["layout"], one["scale"]) for one in CALLED] == [
            (
                options.get("layout", "bhsd"),
                np.float32(options.get("scale", given[0].shape[3] ** -0.5)),
            )
        ] * 2


def lse() -> None:
    q, k, v = arrays()
    o, sums = attention(q, k, v, return_lse=True)
    scores = (
        jnp.einsum(
            "bhqd,bhkd->bhqk", q.astype(jnp.float32), jnp.repeat(k, 2, 1).astype(jnp.float32)
        )
        / 8
    )
    demand_close([o, sums], [attention(q, k, v), jax.nn.logsumexp(scores, -1)], 1e-6)
    assert sums.dtype == jnp.float32


def apart() -> None:
    """v of another head dim: the LSE and what vmap and slices give are those of single calls."""
    q, k, v = arrays(batch=6, head_dim=48, of_v=40)
    o, sums = attention(q, k, v, return_lse=True)
    assert o.shape == (6, 4, 12, 40) and sums.shape == (6, 4, 12)
    alike = attention(q, k, jnp.zeros_like(k), return_lse=True)
    assert jnp.allclose(sums, alike[1], atol=1e-6)
    each = [both(attention, [x[i : i + 2] for x in (q, k, v)]) for i in (0, 2, 4)]
    split = [x.reshape(3, 2, *x.shape[1:]) for x in (q, k, v)]

    def pulled(*given: Any) -> Any:
        return tuple(both(attention, list(given)))

    found = jax.jit(jax.vmap(pulled))(*split)
    assert [x.shape[-1] for x in found] == [40, 48, 48, 40]
    demand_close([jnp.stack(x) for x in zip(*each)], list(found), 1e-2)
    said = str(explain(q, k, v, causal=True))
    assert said.count("head dim 48/40, ") == 2, said
    jax_on_cpu.cudnn.check_cudnn_version = lambda: 90800
    assert refused(lambda: attention(q, k, v, forward="cudnn"), ArgumentError) == (
        "v: expected the head dim of q and k, 48, found 40: cuDNN 9.8.0 has one head dim for all,"
        ' cuDNN 9.10.0 has two; leave out forward="cudnn"'
    )
    assert explain(q, k, v) and explain(q, k, k, forward="cudnn")
    jax_on_cpu.cudnn.check_cudnn_version = lambda: 91900
    sizes = {"head_dim": 64, "of_v": 36}
    assert refused(lambda: attention(*arrays(**sizes)), ArgumentError) == (
        "v: expected a head dim that is a multiple of 8 up to 256, found 36; pad v with zeros to 40"
    )


def transformed() -> None:
    """Under scan, checkpoints and vmap gradients are those of single calls, bit for bit."""
    q, k, v = arrays(batch=6)
    apart = [both(attention, [x[i : i + 2] for x in (q, k, v)], causal=True)[1:] for i in (0, 2, 4)]

    def loss(q: Any, k: Any, v: Any) -> Any:
        o = attention(q, k, v, causal=True)
        return (
            o.astype(jnp.float32) * jnp.cos(jnp.arange(o.size, dtype=jnp.float32)).reshape(o.shape)
        ).sum()

    each = jax.grad(loss, (0, 1, 2))
    split = [x.reshape(3, 2, *x.shape[1:]) for x in (q, k, v)]
    for found in (
        jax.jit(jax.vmap(each))(*split),
        jax.lax.scan(lambda _, x: (None, each(*x)), None, tuple(split))[1],
        jax.lax.map(lambda x: jax.grad(jax.checkpoint(loss), (0, 1, 2))(*x), tuple(split)),
        jax.vmap(each, in_axes=(1, 2, 3))(
            *(jnp.moveaxis(x, 0, i + 1) for i, x in enumerate(split))
        ),
    ):
        demand_close([jnp.stack(x) for x in zip(*apart)], found, 1e-2)
        demand_equal(jax.jit(jax.vmap(each))(*split), found)
    shared = jax.vmap(each, in_axes=(0, None, None))(split[0], split[1][0], split[2][0])
    demand_equal([x[0] for x in shared], each(*(x[0] for x in split)))
    allowed = [jax.export.DisabledSafetyCheck.custom_call(operator.TARGET)]
    demand_equal(
        jax.export.export(jax.jit(each), disabled_checks=allowed)(q, k, v).call(q, k, v),
        jax.jit(each)(q, k, v),
    )
    refused(lambda: jax.jvp(attention, (q, k, v), (q, k, v)), TypeError)
    twice = refused(
        lambda: jax.grad(lambda q: each(q, k, v)[0].astype(jnp.float32).sum())(q),
        NotImplementedError,
    )
    assert (
        twice == "dash_attn.jax.attention has first derivatives only; for second ones take"
        " jax.nn.dot_product_attention with implementation='xla'"
    )


def sharded() -> None:
    """Two devices divide the batch, or the heads: each calls the handler for its own, and gradients
    are the same bits."""
    given = arrays(batch=4)
    whole = both(attention, given, causal=True)
    mesh = jax.make_mesh((2,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
    for spec, shape in (
        (PartitionSpec("x"), (2, 4, 12, 64)),
        (PartitionSpec(None, "x"), (4, 2, 12, 64)),
    ):
        for check in (True, False):
            divided = jax.jit(
                jax.shard_map(
                    lambda *x: attention(*x, causal=True),
                    mesh=mesh,
                    in_specs=(spec,) * 3,
                    out_specs=spec,
                    check_vma=check,
                )
            )
            CALLED.clear()
            demand_equal(both(divided, given), whole)
            assert [one["shapes"][0] for one in CALLED] == [shape] * 2, CALLED
    # One head of k for all: what devices find for it is summed over them.
    given, specs = (
        arrays(batch=4, kv_heads=1),
        (
            PartitionSpec(None, "x"),
            PartitionSpec(),
            PartitionSpec(),
        ),
    )
    for check in (True, False):
        divided = jax.shard_map(
            lambda *x: attention(*x, causal=True),
            mesh=mesh,
            in_specs=specs,
            out_specs=specs[0],
            check_vma=check,
        )
        demand_close(both(divided, given), both(attention, given, causal=True))


def demand_called(
    line: str, kernel: Any, operands: list[str], results: list[str], layout: str, scale: float
) -> list[str]:
    """What a custom call of a kernel has beside the types of its arrays: its names of operands."""
    spelled = kernel.program.replace("\n", "\\0A")
    assert (
        f'program = "{spelled}"' in line
        and f'options = "{kernel.options}"' in line
        and f'certificate = "{kernel.certificate}"' in line
    )
    given = float(re.search(r"scale = (\S+) : f32", line)[1])
    assert f'layout = "{layout}"' in line and np.float32(given) == np.float32(scale), line
    if kernel.table is not None:
        operands = [*operands, f"tensor<{kernel.table.size}xui8>"]
        assert kernel.table.nbytes == int(kernel.manifest["order"]["bytes"])
    assert f": ({', '.join(operands)}) -> ({', '.join(results)}, tensor<" in line, line
    for what, types in (("operand", operands), ("result", [*results, "tensor<1xui8>"])):
        ranks = (one.count("x", 0, one.rindex("x") + 1) for one in types)
        rows = [
            f"dense<[{', '.join(map(str, reversed(range(rank))))}]> : tensor<{rank}xindex>"
            if rank > 1
            else "dense<0> : tensor<1xindex>"
            for rank in ranks
        ]
        assert f"{what}_layouts = [{', '.join(rows)}]" in line, line
    return re.search(r"@dash_attention_backward\((.*?)\)", line)[1].split(", ")


def lowered() -> None:
    """What XLA gets for a GPU: two calls of libdash. o and the LSE of the first are operands of the
    second, and memory is the last result of each."""
    tables = []
    for sizes, options in (
        ({}, {"causal": True}),
        ({"layout": "bshd"}, {"layout": "bshd"}),
        ({"head_dim": 128}, {"window": (128, 5), "softcap": 30.0}),
        ({"rows": 32768, "heads": 1, "kv_heads": 1}, {}),
        ({"head_dim": 96, "of_v": 128, "kv_rows": 300}, {"causal": True, "level": "batch"}),
        ({"heads": 32, "kv_heads": 8, "rows": 2000}, {"causal": True}),
    ):
        given = arrays(**{"rows": 256} | sizes)
        trace = jax.jit(lambda *x: both(attention, list(x), **options)).trace(*given)
        text = trace.lower(lowering_platforms=("cuda",)).as_text()
        ahead, back = [line for line in text.splitlines() if f"@{operator.TARGET}" in line]
        layout = options.get("layout", "bhsd")
        of_call = window_of(options.get("causal", False), options.get("window")), layout
        rest = {"softcap": options.get("softcap", 0.0)}
        level = options.get("level", "run")
        kernels = [
            operator.kernel_of(one)
            for one in (
                operator.forward_of(*given, *of_call, **rest),
                operator.order_of(*given, *of_call, level=level, **rest).wanted,
            )
        ]
        assert explain(*given, **options).certificate == " ".join(x.certificate for x in kernels)
        shapes = [x.shape for x in given]
        shapes.append((*shapes[0][:3], shapes[2][3]))
        q, k, v, o = (f"tensor<{'x'.join(map(str, shape))}xbf16>" for shape in shapes)
        heads_and_rows = (str(shapes[0][layout.index(letter)]) for letter in "hs")
        sums = f"tensor<2x{'x'.join(heads_and_rows)}xf32>"
        scale = shapes[0][3] ** -0.5
        first = demand_called(ahead, kernels[0], [q, k, v], [o, sums], layout, scale)
        second = demand_called(back, kernels[1], [q, k, v, o, o, sums], [q, k, v], layout, scale)
        assert first[:3] == second[:3] == ["%arg0", "%arg1", "%arg2"]
        result = re.search(r"(%\d+):\d+ = ", ahead)[1]
        assert second[4:6] == [f"{result}#0", f"{result}#1"], second
        for line, kernel, last in zip((ahead, back), kernels, (first[-1], second[-1])):
            size = kernel.bytes_of(*shapes[:2], layout)
            assert line.endswith(f", tensor<{size}xui8>)"), line
            if kernel.table is not None:  # a constant of the program, there once
                table = f"tensor<{kernel.table.size}xui8>"
                assert re.search(rf"{last} = stablehlo.constant .*{table}", text), last
                assert text.count(table) == 2
        tables.append(kernels[1].table is not None)
    assert tables == [True, True, True, False, False, True], tables
    # In shard_map each device has the table of its own part, as do batches of vmap.
    mesh = jax.make_mesh((2,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
    whole = [jax.ShapeDtypeStruct((4, heads, 2000, 64), jnp.bfloat16) for heads in (32, 8, 8)]
    for check in (True, False):
        divided = jax.shard_map(
            lambda *x: attention(*x, causal=True),
            mesh=mesh,
            in_specs=(PartitionSpec("x"),) * 3,
            out_specs=PartitionSpec("x"),
            check_vma=check,
        )
        assert (
            table
            in jax.jit(lambda *x: both(divided, list(x)))
            .trace(*whole)
            .lower(lowering_platforms=("cuda",))
            .as_text()
        )
    split = [jax.ShapeDtypeStruct((2, 1, *one.shape[1:]), jnp.bfloat16) for one in whole]
    mapped = jax.jit(jax.vmap(lambda *x: tuple(both(attention, list(x), causal=True)))).trace(
        *split
    )
    assert table in mapped.lower(lowering_platforms=("cuda",)).as_text()


def scalars() -> None:
    q, k, v = arrays()
    for name, values in (
        ("scale", (0.5, np.float32(0.5), np.array(0.5), jnp.float32(0.5))),
        ("causal", (True, np.True_, jnp.array(True))),
        ("window", ((2, 0), [np.int32(2), jnp.int32(0)])),
    ):
        first = attention(q, k, v, **{name: values[0]})
        assert all(
            bool((attention(q, k, v, **{name: value}) == first).all()) for value in values
        ), name


def sliced() -> None:
    """More of a batch, or of heads, than one call counts: each slice has its own bits. A call
    counts few here."""
    real = dash_attn.kernel.problem.ask

    def few(**numbers: Any) -> Any:
        answer = real(**numbers)
        return (
            answer
            if isinstance(answer, str)
            else answer._replace(batch=min(answer.batch, 3), kv_heads=min(answer.kv_heads, 2))
        )

    def pulled(q: Any, k: Any, v: Any, do: Any) -> list[Any]:
        o, pull = jax.vjp(attention, q, k, v)
        return [o, *pull(do)]

    dash_attn.kernel.problem.ask = few
    for sizes, shapes, dim, cut in (
        ({"batch": 5}, [(3, 4, 12, 64), (2, 4, 12, 64)], 0, (3, 3)),
        ({"heads": 6, "kv_heads": 3}, [(2, 4, 12, 64), (2, 2, 12, 64)], 1, (4, 2)),
    ):
        q, k, v = arrays(**sizes)
        parts = list(
            zip(
                *(
                    jnp.split(x, [at], dim)
                    for x, at in zip((q, k, v, q[::-1]), (cut[0], cut[1], cut[1], cut[0]))
                )
            )
        )
        expected = [jnp.concatenate(each, dim) for each in zip(*(pulled(*part) for part in parts))]
        CALLED.clear()
        found = pulled(q, k, v, q[::-1])
        assert [call["shapes"][0] for call in CALLED] == shapes, CALLED
        assert [call["shapes"][0] for call in AHEAD[-2:]] == shapes, AHEAD
        assert all(bool((x == y).all()) for x, y in zip(found, expected, strict=True)), sizes
        assert explain(q, k, v).launches == 2
    dash_attn.kernel.problem.ask = real


def refusals() -> None:
    q, k, v = arrays()
    half = arrays(dtype=jnp.float16)[1]
    for given, options, said in (
        ((np.zeros((2, 4, 12, 64)), k, v), {}, "q: expected an array of JAX, found ndarray"),
        (
            (q.astype(jnp.float32), k, v),
            {},
            (
                "q: expected elements of bf16 or f16, found f32; cast q, k and v, as torch.autocast"
                " does"
            ),
        ),
        ((q, half, v), {}, "k: expected bfloat16 as q, found float16; cast it"),
        (
            (q[0], k, v),
            {},
            "q: expected 4 dimensions, [batch, heads, rows, head_dim], found the shape (4, 12, 64)",
        ),
        (
            (q, k, v[:, :, :8]),
            {},
            "v: expected the shape of k, (2, 2, 12, 64), but for the head dim, found (2, 2, 8, 64)",
        ),
        ((q[:1], k, v), {}, "k: expected the batch of q, 1, found 2"),
        (
            arrays(kv_heads=3),
            {},
            "k: expected a number of heads that divides that of q, 4, found 3",
        ),
        (
            arrays(head_dim=92),
            {},
            (
                "q: expected a head dim that is a multiple of 8 up to 256, found 92; pad q, k and v"
                " with zeros to 96, and pass scale=92**-0.5"
            ),
        ),
        (arrays(rows=0), {}, "q: expected rows of at least 1, found 0"),
        ((q, k, v), {"causal": 1}, "causal: expected True or False, found int"),
        ((q, k, v), {"layout": "sbhd"}, "layout: expected one of bhsd, bshd, found 'sbhd'"),
        ((q, k, v), {"scale": float("nan")}, "scale: expected a finite number, found nan"),
        (
            (q, k, v),
            {"scale": jnp.ones(1)},
            (
                "scale: expected a number that the host knows, found ArrayImpl; scale q by it:"
                " attention(q * scale, k, v, scale=1), which gives it a gradient, too"
            ),
        ),
        (
            (q, k, v),
            {"cu_seqlens_q": k},
            ("q: expected 3 dimensions, [rows, heads, head_dim], found the shape (2, 4, 12, 64)"),
        ),
        (
            (q, k, v),
            {"window": (3, 3), "forward": "cudnn"},
            (
                "window: expected a right side of 0, or neither side, found (3, 3): cuDNN's forward"
                ' pass has no other windows; leave out forward="cudnn"'
            ),
        ),
    ):
        found = refused(lambda: attention(*given, **options), ArgumentError)
        assert found == said, found
        why = explain(*given, **options)
        assert not why and str(why) == f"refused      {said}", why
        if isinstance(given[0], jax.Array):
            assert (
                refused(lambda: jax.jit(lambda *x: attention(*x, **options))(*given), ArgumentError)
                == said
            )
    why = explain(q, k, v, causal=True)
    ahead = operator.kernel_of(operator.forward_of(q, k, v, (-1, 0), "bhsd"))
    kernel = operator.kernel_of(operator.order_of(q, k, v, (-1, 0), "bhsd").wanted)
    assert (
        why
        and str(why)
        == "forward      dash, causal mask, bf16, head dim 64, tiles 128 x 128, 2 heads in a q"
        " tile, level row\nbackward     dash, causal mask, bf16, head dim 64, tiles 64 x 128\n"
        "order        ascending, level run, 132 workers, predicted 1.048 x its lower bound\n"
        "certificate "
        f" {ahead.certificate} {kernel.certificate}"
    ), why
    # As kind=auto of the compiler.
    few = explain(*arrays(batch=1, heads=8, kv_heads=1, rows=2048), causal=True)
    assert (
        few.parts == 16
        and "132 workers, heads in 16 parts, kept apart: parts, predicted 1." in str(few)
    ), few
    traced = refused(
        lambda: jax.jit(lambda scale: attention(q, k, v, scale=scale))(1.0), ArgumentError
    )
    assert traced.startswith("scale: expected a number that the host knows, found "), traced
    # The sizes of a batch that is a name are asked for by whoever exports a program for all of
    # them.
    symbolic = jax.ShapeDtypeStruct((*jax.export.symbolic_shape("b"), 4, 12, 64), jnp.bfloat16)
    found = refused(
        lambda: jax.export.export(jax.jit(lambda q: attention(q, q, q)))(symbolic), ArgumentError
    )
    assert (
        found == "q: expected sizes that are known when the program is traced, found (b, 4, 12, 64)"
    ), found
    too_many = jax.ShapeDtypeStruct((1, 1, 2**21 + 1, 64), jnp.bfloat16)
    found = refused(lambda: jax.eval_shape(lambda x: attention(x, x, x), too_many), ArgumentError)
    assert (
        found
        == "q: expected at most 2097152 rows, found 2097153; call attention for pieces of q, each"
        " with what it sees of k"
    ), found
    names = (
        "q",
        "k",
        "v",
        "causal",
        "window",
        "scale",
        "cu_seqlens_q",
        "cu_seqlens_k",
        "sink",
        "softcap",
        "level",
        "forward",
        "layout",
    )
    for name in names:
        for thing in (
            0,
            2**70,
            "x",
            b"",
            [],
            {},
            object(),
            np.zeros((2, 4)),
            q[0, 0, 0, 0],
            q[:0],
            q.astype(jnp.int32),
            (2**70, 0),
            1j,
            np.int8(1),
        ):
            said = explain(**{"q": q, "k": k, "v": v, name: thing})
            assert said or " expected " in f" {said}" and "looked at" not in said.refusal, (
                name,
                type(thing),
                said.refusal,
            )
    problem.PLATFORM = "gpu"
    assert refused(lambda: attention(q, k, v), ArgumentError).startswith(
        "q: expected an array on a CUDA device, found one on '"
    )
    problem.PLATFORM = "cpu"
    assert (
        problem.refusal_of_device()
        == "expected a GPU of compute capability 9.0 (H100, H200), found none"
    )


for test in (gradients, lse, apart, transformed, sharded, lowered, scalars, sliced, refusals):
    test()
