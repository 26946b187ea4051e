"""dash_attn.attention: gradients beside float64, the same bits however PyTorch runs them, nothing
kept. The drop-in: drop_in.py."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F
from front_ends import demand_accurate, demand_same
from group import Failed, Test, demand
from run_group import ONE_FOR_ALL
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.checkpoint import checkpoint

import dash_attn
from dash_attn import ArgumentError, attention
from dash_attn.kernel.orders import texts_of
from dash_attn.kernel.problem import SEARCHED, Wanted
from dash_attn.kernel.runtime import Kernel, maker_of
from dash_attn.measure.bundle import BundledKernel
from dash_attn.measure.testing import OUTPUTS, Case, allocate
from dash_attn.reference import CAUSAL, FULL
from dash_attn.torch import kernels as registry
from dash_attn.torch import operator

# (rows of q, of k, batch, heads, kv heads, memory); causal ones have as many of both.
SHAPES = (
    (1000, 1000, 2, 8, 2, "bshd"),
    (200, 200, 1, 40, 10, "padded"),
    (129, 129, 3, 5, 5, "packed"),
    (65, 1000, 2, 4, 4, "bhsd"),
)
REPEATED = (1024, 1024, 2, 8, 2, "bhsd")
UNGROUPED = (1024, 1024, 2, 8, 8, "bhsd")
# In runs of q tiles; on full masks chains of dQ may leave nothing to gain by them.
FEW_TILES = (2048, 2048, 1, 2, 2, "bhsd")
FEW_HEADS = ((2048, 2048, 1, 8, 1, "bhsd"), (8192, 8192, 1, 8, 1, "bhsd"), FEW_TILES)
# Whose orders are tables, of causal masks.
SEARCHED_FOR = ((2048, 2048, 2, 32, 8, "bhsd"), (1900, 1900, 2, 32, 8, "bshd"))
CAPTURED = (2240, 2240, 2, 32, 8, "bhsd")  # the same, that nothing else asks for
NAMES = ("o", "lse", *OUTPUTS)
REPEATS = 50


def tests(kernels: list[BundledKernel], quick: bool) -> list[Test]:
    first = kernels[0]
    which = f"attention d{first.head_dim}-{first.mask.name}"
    found = [
        Test(f"{which} {one.name}", first.name, lambda one=one: accurate(one))
        for shape in SHAPES
        for element in ("bf16", "f16")
        if (one := case(first, shape, element)) is not None
    ]
    is_one = first.group == ONE_FOR_ALL
    ways = (
        (from_graph, compiled, from_threads, from_checkpoint, keeps_nothing, refusals)
        if is_one
        else ()
    )
    found += [
        Test(f"{which} {test.__name__}", first.name, lambda test=test: test(case(first, REPEATED)))
        for test in (repeats, *ways)
    ]
    of_order = (tables, first_in_capture) if first.mask == CAUSAL else ()
    of_order += (in_parts,) if first.mask in (FULL, CAUSAL) else ()
    return found + [
        Test(f"{which} {test.__name__}", first.name, lambda test=test: test(first))
        for test in (same_as_kernel, *of_order)
    ]


def case(
    bundled: BundledKernel, shape: tuple[int, int, int, int, int, str], element: str = "bf16"
) -> Case | None:
    q_rows, kv_rows, *rest = shape
    if is_causal(bundled) and q_rows != kv_rows or shape[-1] == "packed" and q_rows != kv_rows:
        return None
    return Case(bundled.head_dim, bundled.mask, q_rows, kv_rows, *rest, element=element)


def is_causal(problem: Case | BundledKernel) -> bool:
    return problem.mask == CAUSAL


def sides(problem: Case | BundledKernel) -> tuple[int, int]:
    return problem.mask.left, problem.mask.right


def asked(problem: Case | BundledKernel) -> dict[str, Any]:
    """As users ask for the mask."""
    return (
        {"causal": is_causal(problem)}
        if problem.mask in (FULL, CAUSAL)
        else {"window": sides(problem)}
    )


def inputs(problem: Case, seed: int = 0) -> dict[str, torch.Tensor]:
    generator = torch.Generator(device="cuda").manual_seed(seed)
    tensors = {**allocate(problem, ("q", "k", "v"), "cuda"), **allocate(problem, ("do",), "cuda")}
    for name, tensor in tensors.items():
        tensor.normal_(generator=generator)
        if name != "do":
            tensor.requires_grad_()
    return tensors


Function = Callable[..., Any]


def computed(
    tensors: dict[str, torch.Tensor], options: dict[str, Any], function: Function = attention
) -> dict[str, torch.Tensor]:
    """o, lse, where the function gives one, and gradients."""
    leaves = [tensors[name] for name in ("q", "k", "v")]
    o, lse = function(*leaves, **options, return_lse=True)
    return dict(
        zip(
            NAMES,
            (
                o.detach(),
                None if lse is None else lse.detach(),
                *torch.autograd.grad(o, leaves, tensors["do"]),
            ),
            strict=True,
        )
    )


def poison_cache() -> None:
    """What PyTorch's cache gives next is full of NaN."""
    blocks = [
        torch.full((size,), float("nan"), device="cuda")
        for size in (1 << 26, 1 << 22, 1 << 18, 1 << 16, 1 << 10)
    ]
    del blocks


def accurate(problem: Case) -> dict[str, Any]:
    tensors = inputs(problem)
    poison_cache()
    found = computed(tensors, asked(problem))
    given = {name: tensor.detach() for name, tensor in tensors.items()} | {
        name: found[name] for name in ("o", "lse")
    }
    return demand_accurate(problem, given, found)


def repeats(problem: Case) -> dict[str, Any]:
    tensors = inputs(problem)
    return demand_repeats(lambda: computed(tensors, asked(problem)))


def demand_repeats(compute: Callable[[], dict[str, torch.Tensor]]) -> dict[str, Any]:
    """The same bits beside matrix products on another stream, in memory full of NaN."""
    expected, other = compute(), torch.cuda.Stream()
    a = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
    for number in range(REPEATS):
        with torch.cuda.stream(other):
            torch.matmul(a, a)
        poison_cache()
        demand_same(compute(), expected, f"run {number}")
    return {"repeats": REPEATS}


def same_as_kernel(bundled: BundledKernel) -> dict[str, Any]:
    """The kernel by itself, with memory that it keeps, gives the same bits, of an order that is
    formulas and of a table."""
    found = {}
    for shape in (UNGROUPED, SEARCHED_FOR[0]):
        problem = case(bundled, shape)
        tensors = inputs(problem)
        ours = computed(tensors, asked(problem))
        explained = dash_attn.explain(
            *(tensors[name] for name in ("q", "k", "v")), **asked(problem)
        )
        kernel = Kernel(maker_of(texts_of(wanted_of(problem, tensors))))
        _, of_gradients = explained.certificate.split()  # that of the forward comes first
        demand(of_gradients == kernel.certificate, f"the certificates differ: {explained}")
        gradients = {name: torch.empty_like(ours[name]) for name in OUTPUTS}
        kernel.backward(
            **{name: tensor.detach() for name, tensor in tensors.items()},
            o=ours["o"],
            lse=ours["lse"],
            **gradients,
            scale=problem.scale,
        )
        demand_same(gradients, ours, "Kernel.backward")
        found[problem.name] = str(explained)
    return {"explained": found}


def wanted_of(problem: Case, tensors: dict[str, torch.Tensor]) -> Wanted:
    """The kernel that attention() takes."""
    return registry.order_of(*(tensors[name] for name in "qkv"), sides(problem), "bhsd").wanted


def tables(bundled: BundledKernel) -> dict[str, Any]:
    """Orders that were searched for: no worse than the peer, and the same bits on every run, also
    where two sizes take turns."""
    found, runs = {}, []
    for shape in SEARCHED_FOR:
        problem = case(bundled, shape)
        tensors = inputs(problem)
        demand(
            wanted_of(problem, tensors).kind == SEARCHED,
            f"{problem.name}: expected a table, found {wanted_of(problem, tensors)}",
        )
        ours = computed(tensors, asked(problem))
        given = {name: tensor.detach() for name, tensor in tensors.items()} | {
            name: ours[name] for name in ("o", "lse")
        }
        found[problem.name] = demand_accurate(problem, given, ours)
        runs.append((problem, tensors, ours))
    for number in range(REPEATS):
        for problem, tensors, ours in runs:
            poison_cache()
            demand_same(computed(tensors, asked(problem)), ours, f"{problem.name}, run {number}")
    return found | {"repeats": REPEATS}


def first_in_capture(bundled: BundledKernel) -> dict[str, Any]:
    """A backward pass whose kernel is loaded, and whose table is copied, while it is captured;
    replayed while other tables come and go."""
    problem = case(bundled, CAPTURED)
    tensors, stream = inputs(problem), torch.cuda.Stream()
    given = [tensors[name].detach() for name in ("do", "q", "k", "v")]
    o, lse = attention(*given[1:], **asked(problem), return_lse=True)
    sizes = wanted_of(problem, tensors).sizes
    demand(
        not any(one.sizes == sizes and not one.is_forward for one in registry.kernels()),
        "something has asked for this table before",
    )
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        captured = operator.gradients(*given, o, lse, *sides(problem), problem.scale)
    expected = operator.gradients(*given, o, lse, *sides(problem), problem.scale)
    for number in range(5):
        poison_cache()
        registry._forget_tables()
        graph.replay()
        torch.cuda.synchronize()
        demand_same(dict(zip(OUTPUTS, captured)), dict(zip(OUTPUTS, expected)), f"replay {number}")
    return {"table": sizes}


def from_graph(problem: Case) -> None:
    """Captured once; replayed on other values, in memory that was used by others in between."""
    tensors, stream = inputs(problem), torch.cuda.Stream()
    computed(tensors, asked(problem))
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        found = computed(tensors, asked(problem))
    for seed in (1, 2, 1):
        with torch.no_grad():
            for name, tensor in inputs(problem, seed).items():
                tensors[name].copy_(tensor)
        expected = computed(tensors, asked(problem))
        poison_cache()
        graph.replay()
        torch.cuda.synchronize()
        demand_same(found, expected, f"replay on seed {seed}")


def compiled(problem: Case) -> dict[str, Any]:
    """By inductor: as one graph, with dynamic shapes, and with CUDA graphs."""
    tensors = inputs(problem)
    expected = computed(tensors, asked(problem))
    modes = {
        "fullgraph": {},
        "dynamic": {"dynamic": True},
        "reduce-overhead": {"mode": "reduce-overhead"},
    }
    for name, options in modes.items():
        torch._dynamo.reset()
        function = torch.compile(attention, fullgraph=True, **options)
        for number in range(4):
            torch.compiler.cudagraph_mark_step_begin()
            poison_cache()
            demand_same(
                {
                    name: tensor.clone()
                    for name, tensor in computed(tensors, asked(problem), function).items()
                },
                expected,
                f"{name}, call {number}",
            )
        if name == "dynamic":
            other = replace(problem, batch=3, q_rows=500, kv_rows=500)
            demand_same(
                computed(inputs(other), asked(other), function),
                computed(inputs(other), asked(other)),
                "another shape",
            )
    torch._dynamo.reset()
    return {"modes": list(modes)}


def by_sdpa(backend: SDPBackend | None) -> Function:
    def function(
        q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *, causal: bool, return_lse: bool
    ) -> Any:
        if backend is None:
            return F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=True), None
        with sdpa_kernel(backend):
            return F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=True), None

    return function


def of_sdpa(
    tensors: dict[str, torch.Tensor], causal: bool, function: Function
) -> dict[str, torch.Tensor]:
    found = computed(tensors, {"causal": causal}, function)
    return {name: found[name] for name in ("o", *OUTPUTS)}


def from_threads(problem: Case) -> None:
    """Two threads, each on a stream of its own, and two on one stream."""
    both = [inputs(problem, seed) for seed in range(2)]
    expected = [computed(tensors, asked(problem)) for tensors in both]
    torch.cuda.synchronize()
    wrong: list[str] = []

    def work(which: int, stream: torch.cuda.Stream) -> None:
        try:
            with torch.cuda.stream(stream):
                for number in range(REPEATS // 2):
                    demand_same(
                        computed(both[which], asked(problem)),
                        expected[which],
                        f"thread {which}, run {number}",
                    )
        except Exception as error:
            wrong.append(str(error))

    for streams in ([torch.cuda.Stream(), torch.cuda.Stream()], [torch.cuda.Stream()] * 2):
        threads = [
            threading.Thread(target=work, args=(which, stream))
            for which, stream in enumerate(streams)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        torch.cuda.synchronize()
    if wrong:
        raise Failed("; ".join(wrong))


def from_checkpoint(problem: Case) -> None:
    tensors = inputs(problem)

    def function(*leaves: torch.Tensor, **options: Any) -> Any:
        return checkpoint(attention, *leaves, use_reentrant=False, **options)

    demand_same(
        computed(tensors, asked(problem), function), computed(tensors, asked(problem)), "recomputed"
    )


def keeps_nothing(problem: Case) -> dict[str, Any]:
    tensors = inputs(problem)
    computed(tensors, asked(problem))
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    computed(tensors, asked(problem))
    after, peak = torch.cuda.memory_allocated(), torch.cuda.max_memory_allocated()
    demand(after == before, f"expected {before} bytes to be in use, found {after}")
    return {"peak_bytes": peak - before, "bytes_of_q": tensors["q"].numel() * 2}


def refusals(problem: Case) -> dict[str, Any]:
    """Before anything is launched."""
    q, k, v = (inputs(problem)[name] for name in ("q", "k", "v"))
    found = []
    for arguments, options, part in (
        ((q.float(), k, v), {}, "expected elements of bf16 or f16, found f32"),
        ((q, k.cpu(), v), {}, "expected a tensor on a CUDA device, found one on 'cpu'"),
        (
            (q, k[:, :, 1:], v[:, :, 1:]),
            {"causal": True, "forward": "torch"},
            "expected as many rows of q as of k",
        ),
        ((q, k, v), {"scale": float("nan")}, "expected a finite number, found nan"),
    ):
        try:
            attention(*arguments, **options)
            raise Failed(f"expected an ArgumentError with '{part}', found none")
        except ArgumentError as error:
            demand(part in str(error), f"expected '{part}' in the message: {error}")
            found.append(str(error))
    with torch.autocast("cuda", dtype=torch.bfloat16):
        demand(
            attention(q.float(), k.float(), v.float()).dtype == torch.bfloat16,
            "autocast does not cast",
        )
    return {"messages": found}


def in_parts(bundled: BundledKernel) -> dict[str, Any]:
    """Few heads are cut into parts: the same bits on every run, no worse than the peer."""
    record: dict[str, Any] = {}
    for shape in FEW_HEADS:
        problem = case(bundled, shape)
        tensors = inputs(problem)
        leaves = [tensors[name] for name in ("q", "k", "v")]
        parts = dash_attn.explain(*leaves, **asked(problem)).parts
        demand(
            parts > 1 or shape == FEW_TILES and problem.mask == FULL,
            f"{problem.name}: expected several parts, found {parts}",
        )
        found = computed(tensors, asked(problem))
        for number in range(5):
            poison_cache()
            demand_same(computed(tensors, asked(problem)), found, f"{problem.name}, run {number}")
        given = {name: tensor.detach() for name, tensor in tensors.items()} | {
            name: found[name] for name in ("o", "lse")
        }
        demand_accurate(problem, given, found)
        record[problem.name] = {"parts": parts}
    return record
