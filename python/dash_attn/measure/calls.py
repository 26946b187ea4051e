"""Forward and backward by each framework's own call, on shapes that people have: what
dash_attn.bench measures without a bundle."""

from __future__ import annotations

import importlib
import random
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from ..reference import CAUSAL, FULL
from .testing import Case, allocate, demand_own_attention
from .timing import Variant, measure_whole, summary

Function = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]
Runs = tuple[dict[str, Callable[[], Any]], dict[str, str]]  # what runs, and why others refuse
TOKENS = 16384  # of a batch, where sequences are shorter
# name, head dim, mask, rows of q and of k, heads, kv heads, and the batch where it is not as many
# as TOKENS have.
MODELS = (
    *(
        (f"{heads}/8 heads, {rows >> 10}k", 128, CAUSAL, rows, rows, heads, 8, 0)
        for heads in (32, 40)
        for rows in (2048, 4096, 8192, 16384, 32768)
    ),
    ("12 heads of 64, 1k", 64, CAUSAL, 1024, 1024, 12, 12, 0),
    ("ViT, 577", 64, FULL, 577, 577, 16, 16, 0),
    ("1k of q, 8k of k", 128, FULL, 1024, 8192, 32, 8, 0),
    ("batch 1, 512", 128, CAUSAL, 512, 512, 32, 8, 1),
    ("batch 1, 1k", 128, CAUSAL, 1024, 1024, 32, 8, 1),
    ("one of 128k", 128, CAUSAL, 131072, 131072, 32, 8, 1),
)
BACKENDS = {
    "flash": SDPBackend.FLASH_ATTENTION,
    "cuDNN": SDPBackend.CUDNN_ATTENTION,
    "efficient": SDPBackend.EFFICIENT_ATTENTION,
}
# Other packages, if they are installed: their module, whose flash_attn_func takes [batch, rows,
# heads, head_dim].
PACKAGES = {"flash-attn": "flash_attn", "FA3": "flash_attn_interface", "FA4": "flash_attn.cute"}
BOTH_WAYS = 1.4  # operations, beside those of a backward pass
SECONDS = 1.5  # of a shape's rounds, and of the host's


def shapes() -> dict[str, Case]:
    return {
        name: Case(
            head_dim,
            mask,
            q_rows,
            kv_rows,
            batch or max(1, TOKENS // max(q_rows, kv_rows)),
            heads,
            kv_heads,
        )
        for name, head_dim, mask, q_rows, kv_rows, heads, kv_heads, batch in MODELS
    }


def functions(causal: bool) -> dict[str, Function]:
    """Everything that is installed; "det" are the deterministic ones of those that have both."""
    from .. import attention  # which needs a newer PyTorch than measuring kernels does

    demand_own_attention()
    found: dict[str, Function] = {"dash": lambda q, k, v: attention(q, k, v, causal=causal)}
    for name, backend in BACKENDS.items():
        found[f"SDPA {name}"] = lambda q, k, v, backend=backend: sdpa(q, k, v, backend, causal)
    found["SDPA flash det"] = found["SDPA flash"]
    for name, module in PACKAGES.items():
        try:
            function = importlib.import_module(module).flash_attn_func
        except (ImportError, AttributeError):
            continue
        for tail, options in (("", {}), (" det", {"deterministic": True})):
            found[name + tail] = lambda q, k, v, function=function, options=options: in_rows(
                function, q, k, v, causal=causal, **options
            )
    return found


def sdpa(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, backend: SDPBackend, causal: bool
) -> torch.Tensor:
    with sdpa_kernel(backend):
        return F.scaled_dot_product_attention(
            q, k, v, is_causal=causal, enable_gqa=q.shape[1] != k.shape[1]
        )


def in_rows(
    function: Any, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, **options: Any
) -> torch.Tensor:
    o = function(*(x.transpose(1, 2) for x in (q, k, v)), **options)
    return (o[0] if isinstance(o, tuple) else o).transpose(1, 2)


@contextmanager
def deterministic(name: str) -> Iterator[None]:
    """PyTorch's switch, where the name asks for it, without the filling of memory that comes
    with it."""
    if name != "SDPA flash det":
        yield
        return
    was, torch.utils.deterministic.fill_uninitialized_memory = (
        torch.utils.deterministic.fill_uninitialized_memory,
        False,
    )
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)
        torch.utils.deterministic.fill_uninitialized_memory = was


def inputs_of(case: Case, device: str) -> tuple[list[torch.Tensor], torch.Tensor]:
    """q, k and v, which want gradients, and do."""
    torch.manual_seed(case.seed)
    tensors = allocate(case, ("q", "k", "v", "do"), device)
    for tensor in tensors.values():
        tensor.normal_()
    *leaves, do = tensors.values()
    for leaf in leaves:
        leaf.requires_grad_()
    return leaves, do


def why(error: Exception) -> str:
    """Its first line."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def runs_of(case: Case, device: str = "cuda") -> Runs:
    """What computes o and gradients, and why others refuse; all of them were called once."""
    leaves, do = inputs_of(case, device)
    runs, refused = {}, {}
    for name, function in functions(case.mask == CAUSAL).items():

        def run(name: str = name, function: Function = function) -> Any:
            with deterministic(name):
                o = function(*leaves)
                return o, *torch.autograd.grad(o, leaves, do)

        try:
            with warnings.catch_warnings():
                # why backends refuse is said once, in the table's end
                warnings.simplefilter("ignore")
                run()
            runs[name] = run
        except (RuntimeError, ValueError, TypeError) as error:
            refused[name] = why(error)
    return runs, refused


def measure_calls(
    name: str,
    case: Case,
    rounds: int,
    flush: torch.Tensor | None,
    generator: random.Random,
    replays_of: Callable[[Case], Runs] | None = None,
) -> list[dict[str, Any]]:
    """A row for each call that there is: milliseconds, TFLOP/s, MiB beside the tensors,
    microseconds of the host. replays_of: gives the backward passes alone, which have neither of
    the last two."""
    runs, refused = runs_of(case) if replays_of is None else replays_of(case)
    variants = [Variant(call, run) for call, run in runs.items()]
    begun = time.perf_counter()
    for variant in variants:
        variant.run()
    torch.cuda.synchronize()
    few = max(3, min(rounds, int(SECONDS / (time.perf_counter() - begun))))
    measure_whole(variants, few, flush, generator, warm_up=1)
    rows = [
        summary(case, variant, BOTH_WAYS if replays_of is None else 1) | {"shape": name}
        for variant in variants
    ]
    if replays_of is None:
        rows = [
            row | {"mib": peak(variant.run), "host_us": host_time(variant.run, few)}
            for row, variant in zip(rows, variants)
        ]
    return rows + [
        {"shape": name, "variant": call, "refused": reason} for call, reason in refused.items()
    ]


def peak(run: Callable[[], Any]) -> float:
    """MiB that are in use at most while it runs, its results among them, and were not before."""
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    run()
    return round((torch.cuda.max_memory_allocated() - before) / 2**20, 1)


def host_time(run: Callable[[], Any], rounds: int) -> float:
    """Microseconds until a call returns that waits for nothing."""
    times = []
    for _ in range(rounds):
        torch.cuda.synchronize()
        begun = time.perf_counter()
        run()
        times.append(time.perf_counter() - begun)
    return round(statistics.median(times) * 1e6, 1)
