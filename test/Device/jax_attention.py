"""dash_attn.jax.attention: gradients beside float64 and beside the kernel of the bundle, the same
bits however often and in whatever XLA runs them, replays of command buffers, costs."""

from __future__ import annotations

import ctypes
import itertools
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # PyTorch is here, too

import torch  # noqa: E402
from front_ends import demand_accurate, demand_same  # noqa: E402
from group import Skip, Test, demand  # noqa: E402

from dash_attn import reference  # noqa: E402
from dash_attn.kernel.orders import texts_of  # noqa: E402
from dash_attn.kernel.problem import CAUSAL, FULL, SEARCHED  # noqa: E402
from dash_attn.kernel.runtime import Kernel, maker_of  # noqa: E402
from dash_attn.measure.bundle import BundledKernel  # noqa: E402
from dash_attn.measure.testing import OUTPUTS, Case  # noqa: E402

# (rows of q, of k, batch, heads, kv heads, layout, element); causal ones have as many of both.
SHAPES = (
    (1000, 1000, 2, 8, 2, "bshd", "bf16"),
    (200, 200, 1, 40, 10, "bhsd", "f16"),
    (65, 1000, 2, 4, 4, "bhsd", "bf16"),
)
REPEATED = (1024, 1024, 2, 8, 2, "bhsd", "bf16")
UNGROUPED = (1024, 1024, 2, 8, 8, "bhsd", "bf16")  # heads that are not cut into parts
TABLE = (2048, 2048, 2, 32, 8, "bhsd", "bf16")  # which causal masks have a table for
LARGE, SMALL = (4096, 4096, 4, 16, 16, "bhsd", "bf16"), (128, 128, 1, 2, 2, "bhsd", "bf16")
REPEATS = 50
MOST_OF_LSE = 5e-3  # of the error of gradients, rounded to 16 bits in factors and results
TYPES = {"bf16": torch.bfloat16, "f16": torch.float16}
# XLA captures what follows each other of these kinds, from so many on.
CAPTURED = {
    "xla_gpu_enable_command_buffer": "FUSION,CUDNN,CUSTOM_CALL",
    "xla_gpu_graph_min_graph_size": 1,
}
NOT_CAPTURED = {"xla_gpu_graph_min_graph_size": 1 << 20}
COUNTED = "dash_attention_backward_counted"
ENTERED: list[int] = []  # the stages of all calls of the handler that counts


def tests(kernels: list[BundledKernel], quick: bool) -> list[Test]:
    first = kernels[0]
    window = (first.mask.left, first.mask.right)
    if window != FULL and window[1] != 0:
        return []
    which = f"jax d{first.head_dim}-{first.mask.name}"
    found = [
        Test(
            f"{which} {'-'.join(map(str, shape))}",
            first.name,
            lambda shape=shape: accurate(case(first, shape), shape[5]),
        )
        for shape in SHAPES
        if window == FULL or shape[0] == shape[1]
    ]
    found += [
        Test(
            f"{which} of the LSE{' with a sink' * has_sink}",
            first.name,
            lambda has_sink=has_sink: of_lse(
                case(first, SHAPES[0], has_sink=has_sink), SHAPES[0][5]
            ),
        )
        for has_sink in (False, True)
    ]
    found.append(
        Test(
            f"{which} accurate with a sink",
            first.name,
            lambda: accurate(case(first, SHAPES[0], has_sink=True), SHAPES[0][5]),
        )
    )
    is_one = (first.head_dim, window) == (128, CAUSAL)
    found += [
        Test(f"{which} {test.__name__}", first.name, lambda test=test: test(case(first, REPEATED)))
        for test in (repeats, *((captured, from_vmap) if is_one else ()))
    ]
    found += [
        Test(
            f"{which} {test.__name__} of a table",
            first.name,
            lambda test=test: test(case(first, TABLE)),
        )
        for test in ((repeats, captured) if is_one else ())
    ]
    found += [
        Test(
            f"{which} {test.__name__} with a sink",
            first.name,
            lambda test=test: test(case(first, REPEATED, has_sink=True)),
        )
        for test in ((repeats, captured, from_vmap) if is_one else (repeats,))
    ]
    return found + [
        Test(f"{which} {test.__name__}", first.name, lambda test=test: test(first))
        for test in (same_as_kernel, *((times,) if is_one and not quick else ()))
    ]


def case(
    bundled: BundledKernel, shape: tuple[int, int, int, int, int, str, str], has_sink: bool = False
) -> Case:
    *sizes, _, element = shape
    return Case(bundled.head_dim, bundled.mask, *sizes, element=element, has_sink=has_sink)


def jax_here() -> Any:
    try:
        import jax
    except ImportError as error:
        raise Skip(f"there is no JAX: {error}") from None
    return jax


def inputs(problem: Case, layout: str = "bhsd", seed: int = 0) -> dict[str, torch.Tensor]:
    """Contiguous, as JAX has them."""
    generator = torch.Generator(device="cuda").manual_seed(seed)
    found = {}
    for name in ("q", "k", "v", "do"):
        heads, rows = (
            (problem.kv_heads, problem.kv_rows)
            if name in ("k", "v")
            else (problem.heads, problem.q_rows)
        )
        shape = (heads, rows) if layout == "bhsd" else (rows, heads)
        found[name] = torch.randn(
            problem.batch, *shape, problem.head_dim, device="cuda", generator=generator
        ).to(TYPES[problem.element])
    if problem.has_sink:
        found["sink"] = torch.randn(problem.heads, device="cuda", generator=generator)
    torch.cuda.synchronize()
    return found


def both_ways(
    problem: Case, layout: str = "bhsd", of_lse: float | None = None
) -> Callable[..., Any]:
    """o, lse and gradients of arrays, which may have a sink behind them. of_lse: the gradient of
    the LSE, all over; None if it has none."""
    jax = jax_here()
    from dash_attn.jax import attention

    window = (problem.mask.left, problem.mask.right)
    options = {"layout": layout} | (
        {"causal": window == CAUSAL} if window in (FULL, CAUSAL) else {"window": window}
    )

    def compute(q: Any, k: Any, v: Any, do: Any, sink: Any = None) -> Any:
        given = (q, k, v) if sink is None else (q, k, v, sink)

        def function(q: Any, k: Any, v: Any, sink: Any = None) -> Any:
            return attention(q, k, v, sink=sink, **options, return_lse=True)

        if of_lse is not None:
            (o, lse), pull = jax.vjp(function, *given)
            return o, lse, *pull((do, jax.numpy.full_like(lse, of_lse)))
        o, pull, lse = jax.vjp(function, *given, has_aux=True)
        return o, lse, *pull(do)

    return compute


def to_jax(tensors: dict[str, torch.Tensor]) -> list[Any]:
    return [
        jax_here().numpy.from_dlpack(tensors[name])
        for name in ("q", "k", "v", "do", "sink")
        if name in tensors
    ]


def to_torch(arrays: Any, layout: str = "bhsd") -> dict[str, torch.Tensor]:
    """As views [batch, heads, rows, head_dim]."""
    jax_here().block_until_ready(arrays)
    names = ("o", "lse", *OUTPUTS, "dsink")[: len(arrays)]
    found = dict(zip(names, map(torch.from_dlpack, arrays), strict=True))
    return {name: as_bhsd(x, layout) for name, x in found.items()}


def as_bhsd(tensor: torch.Tensor, layout: str) -> torch.Tensor:
    return tensor.transpose(1, 2) if layout == "bshd" and tensor.dim() == 4 else tensor


def accurate(problem: Case, layout: str) -> dict[str, Any]:
    jax, tensors = jax_here(), inputs(problem, layout)
    found = to_torch(jax.jit(both_ways(problem, layout))(*to_jax(tensors)), layout)
    given = {name: as_bhsd(x, layout) for name, x in tensors.items()} | {
        name: found[name] for name in ("o", "lse")
    }
    return demand_accurate(problem, given, found)


def of_lse(problem: Case, layout: str) -> dict[str, Any]:
    """A gradient of the LSE that is 0 gives the bits that there are without one; of 1 gradients are
    those of float64, twice the same."""
    jax, tensors = jax_here(), inputs(problem, layout)
    given = to_jax(tensors)
    plain, zeros, ones, again = (
        to_torch(jax.jit(both_ways(problem, layout, value))(*given), layout)
        for value in (None, 0, 1, 1)
    )
    demand_same(zeros, plain, "a gradient of zeros")
    demand_same(again, ones, "again")
    q, k, v, do = (as_bhsd(tensors[name], layout) for name in ("q", "k", "v", "do"))
    sink = {"sink": tensors["sink"]} if problem.has_sink else {}
    exact = reference.backward(
        q,
        k,
        v,
        do,
        None,
        ones["lse"],
        scale=problem.scale,
        mask=problem.mask,
        **sink,
        delta=(ones["o"].double() * do.double()).sum(-1) - 1,
    )
    exact |= {"dsink": exact["dsink"].sum(0)} if problem.has_sink else {}
    worst = max(reference.relative_error(ones[name], x, x) for name, x in exact.items())
    demand(worst < MOST_OF_LSE, "gradients are far from float64", worst=worst)
    return {"worst": worst}


def repeats(problem: Case) -> dict[str, Any]:
    """One after the other, beside matrix products of PyTorch's on another stream, in memory that
    others used in between."""
    jax, given = jax_here(), to_jax(inputs(problem))
    compute = jax.jit(both_ways(problem))
    expected, a = (
        to_torch(compute(*given)),
        torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16),
    )
    for number in range(REPEATS):
        torch.matmul(a, a)
        jax.numpy.full((1 << 24,), float("nan"))
        demand_same(to_torch(compute(*given)), expected, f"run {number}")
    return {"repeats": REPEATS}


def captured(problem: Case) -> dict[str, Any]:
    """The same bits where XLA captures the program and replays it, on other values, too; replays do
    not enter the handler."""
    jax = jax_here()
    from dash_attn.jax import operator
    from dash_attn.kernel.library import library

    theirs = library().dashXlaAttentionBackward
    theirs.restype, theirs.argtypes = ctypes.c_void_p, (ctypes.c_void_p,)

    def count(frame: int) -> int | None:
        ENTERED.append(
            ctypes.c_int.from_address(frame + 32).value
            if not ctypes.c_void_p.from_address(frame + 8).value
            else -1
        )
        return theirs(frame)

    handler = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(count)
    captured.handler = handler  # type: ignore[attr-defined]  # XLA calls it to the end of the process
    capsule = jax.ffi.pycapsule(ctypes.cast(handler, ctypes.c_void_p).value)
    counted = f"{COUNTED}_{problem.q_rows}{'_sink' * problem.has_sink}"
    jax.ffi.register_ffi_target(counted, dict.fromkeys(operator.STAGES, capsule), platform="CUDA")
    given = [to_jax(inputs(problem, seed=seed)) for seed in (0, 1)]
    expected = [to_torch(jax.jit(both_ways(problem))(*values)) for values in given]
    record: dict[str, Any] = {}
    operator.TARGET, kept = counted, operator.TARGET
    try:
        for name, options in (("captured", CAPTURED), ("not captured", NOT_CAPTURED)):
            compute = jax.jit(both_ways(problem)).lower(*given[0]).compile(compiler_options=options)
            ENTERED.clear()
            for number in range(REPEATS):
                demand_same(
                    to_torch(compute(*given[number % 2])),
                    expected[number % 2],
                    f"{name}, run {number}",
                )
            record[name] = {"runs": REPEATS, "executed by the handler": ENTERED.count(3)}
    finally:
        operator.TARGET = kept
    demand(
        record["not captured"]["executed by the handler"] == 2 * REPEATS,  # both passes
        "without command buffers each run enters the handler",
        **record,
    )
    demand(
        record["captured"]["executed by the handler"] < REPEATS, "nothing was captured", **record
    )
    return record


def from_vmap(problem: Case) -> None:
    """A sink is that of all, and has a gradient from each."""
    jax, given = jax_here(), to_jax(inputs(problem))
    from dash_attn.jax.sinks import summed

    expected = to_torch(jax.jit(both_ways(problem))(*given))
    *tensors, last = given if problem.has_sink else (*given, None)
    split = [x.reshape(problem.batch, 1, *x.shape[1:]) for x in tensors]
    found = jax.jit(jax.vmap(both_ways(problem), (0,) * 4 + (None,)))(*split, last)
    demand_same(
        to_torch([summed(x) if x.ndim == 2 else x.reshape(-1, *x.shape[2:]) for x in found]),
        expected,
        "vmap",
    )


def same_as_kernel(bundled: BundledKernel) -> dict[str, Any]:
    """The kernel of these sizes, launched by Python with PyTorch's tensors, gives the same bits, of
    formulas and of a table."""
    jax, kinds = jax_here(), []
    from dash_attn.jax import operator

    for shape, has_sink in itertools.product((UNGROUPED, TABLE), (False, True)):
        problem = case(bundled, shape, has_sink)
        tensors = inputs(problem)
        found = to_torch(jax.jit(both_ways(problem))(*to_jax(tensors)))
        gradients = {name: torch.empty_like(found[name]) for name in OUTPUTS}
        if has_sink:
            gradients["dsink"] = torch.empty(problem.batch, problem.heads, device="cuda")
        wanted = operator.order_of(
            *to_jax(tensors)[:3], (problem.mask.left, problem.mask.right), "bhsd", has_sink=has_sink
        ).wanted
        Kernel(maker_of(texts_of(wanted))).backward(
            **tensors, o=found["o"], lse=found["lse"], **gradients, scale=problem.scale
        )
        torch.cuda.synchronize()
        if has_sink:
            gradients["dsink"] = gradients["dsink"][0] + gradients["dsink"][1]  # of two batches
        demand_same(gradients, found, f"Kernel.backward, {wanted.kind}")
        kinds.append(wanted.kind)
    demand(
        problem.mask.right != 0 or problem.mask.left >= 0 or SEARCHED in kinds,
        f"expected a table of a causal mask, found {kinds}",
    )
    return {"jax": jax.__version__, "kinds": kinds}


def times(bundled: BundledKernel) -> dict[str, Any]:
    """Milliseconds of both ways beside cuDNN's own in JAX, of many in a row; and microseconds of
    the host for a small problem."""
    jax = jax_here()
    record: dict[str, Any] = {}
    for shape, calls in ((LARGE, 20), (SMALL, 200)):
        problem = case(bundled, shape)
        given = to_jax(inputs(problem))

        def peer(q: Any, k: Any, v: Any, do: Any) -> Any:
            return jax.vjp(
                lambda *x: jax.nn.dot_product_attention(*x, is_causal=True, implementation="cudnn"),
                q,
                k,
                v,
            )[1](do)

        turned = [x.swapaxes(1, 2) for x in given]
        for name, function, values in (
            ("dash", both_ways(problem), given),
            ("dash, bshd", both_ways(problem, "bshd"), turned),
            ("cuDNN, bshd", peer, turned),
        ):
            compute = jax.jit(function)
            several = []
            for number in range(8):
                jax.block_until_ready(compute(*values))
                begun = time.perf_counter()
                for _ in range(calls):
                    last = compute(*values)
                jax.block_until_ready(last)
                several.append((time.perf_counter() - begun) / calls)
            record.setdefault(problem.name, {})[name] = round(
                statistics.median(several[2:]) * 1e3, 4
            )
    return {"milliseconds": record}
