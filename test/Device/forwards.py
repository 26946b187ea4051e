#!/usr/bin/env python3
"""forwards.py --json FILE: forwards on this GPU: their errors, their rows' bits, and their speed.

Kernels are compiled here, by libdash, with kind=longest-first, for any sizes, and
with a table where they are timed, as `attention` has one. O and the LSE are
compared with float64. At level `row` a row must have the same bytes alone, in batches, as a prefix,
in a chunk of a prefill and as one decoded token, by other q tiles and workers, and in many repeats
beside other work; another kv tile is the control. Times are medians of rounds in a random order,
beside cuDNN's and FlashAttention-2's forwards of PyTorch, and FlashAttention-3's where fa3-fwd is
installed; TFLOP/s count 2 B H S^2 (dqk + dv), half
of it on causal masks. The status is 1 where an error is too large or bits differ.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "python")]

import torch  # noqa: E402
from both_ways import flash3_of  # noqa: E402

from dash_attn import Kernel, reference  # noqa: E402
from dash_attn.measure.bundle import commit  # noqa: E402
from dash_attn.measure.timing import Variant, measure_entries, measure_whole  # noqa: E402
from dash_attn.reference import Mask  # noqa: E402
from dash_attn.support.records import write_record  # noqa: E402

TOKENS, HIDDEN = 16384, 2048
LENGTHS = (1024, 4096, 16384)
DIMS = ((96, 96), (192, 128), (192, 192), (256, 256))  # both_ways.py has the times of 64 and 128
MOST_ERROR, MOST_LSE_ERROR = 6e-3, 2e-6  # of the largest O, and of the largest LSE
UNION = "causal, union = #dash.union<columns = 20, window = [100, -1]>"
Tensors = tuple[torch.Tensor, ...]

# mask, head dims of q and of v, q rows, kv rows, batch, heads, kv heads, element, softcap, sink
CASES: list[tuple[Any, ...]] = [
    ("causal", 128, 128, 1000, 1000, 2, 4, 2, "bf16", None, False),
    ("full", 64, 64, 300, 700, 1, 4, 1, "bf16", None, False),
    ("window = [100, 20]", 128, 128, 777, 900, 1, 3, 3, "bf16", None, False),
    (UNION, 64, 64, 900, 1000, 2, 2, 1, "bf16", None, False),
    ("causal", 128, 128, 1000, 65, 1, 4, 4, "bf16", None, False),
    ("causal", 96, 96, 500, 500, 1, 4, 2, "bf16", None, False),
    ("causal", 192, 128, 500, 700, 1, 4, 2, "bf16", None, False),
    ("causal", 192, 192, 500, 500, 1, 4, 2, "bf16", None, False),
    ("full", 256, 256, 500, 500, 1, 4, 2, "bf16", None, False),
    ("causal", 40, 72, 500, 500, 1, 4, 2, "f16", None, False),
    ("causal", 128, 128, 500, 500, 1, 4, 2, "bf16", 20.0, True),
]


def compiled(
    mask: str,
    head_dim: int,
    head_dim_v: int,
    element: str = "bf16",
    softcap: float | None = None,
    has_sink: bool = False,
    options: str = "",
    cut: int | None = None,
    fold: int | None = None,
    is_list: bool = False,
) -> Kernel:
    sink = ", %sink: memref<?xf32>" if has_sink else ""
    clauses = " sequences(<?>)" if is_list else ""
    clauses += " sink(%sink : memref<?xf32>)" if has_sink else ""
    clauses += f" softcap({softcap})" if softcap else ""
    clauses += f" cut({cut})" if cut else ""
    clauses += f" fold({fold})" if fold else ""
    workers = torch.cuda.get_device_properties(0).multi_processor_count
    workers = f"workers={workers} " * ("workers" not in options)
    return Kernel.compile(
        f"""
!q = memref<?x?x?x{head_dim}x{element}, strided<[?, ?, ?, 1], offset: ?>>
!v = memref<?x?x?x{head_dim_v}x{element}, strided<[?, ?, ?, 1], offset: ?>>
!r = memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>
func.func @attention_fwd(%q: !q, %k: !q, %v: !v, %o: !v, %lse: !r, %scale: f32{sink}) {{
  dash.attention_fwd ins(%q, %k, %v : !q, !q, !v) outs(%o, %lse : !v, !r)
      mask(<{mask}>) level(row) scale(%scale){clauses}
  return
}}""",
        f"kind=longest-first {workers}{options}",
    )


def run(kernel: Kernel, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, **sink: Any) -> Tensors:
    """O and the LSE, over memory that was NaN."""
    o = torch.full((*q.shape[:3], v.shape[3]), float("nan"), dtype=q.dtype, device="cuda")
    lse = torch.full(q.shape[:3], float("nan"), device="cuda")
    kernel.forward(q, k, v, o, lse, scale=q.shape[3] ** -0.5, **sink)
    return o, lse


def inputs(
    head_dim: int,
    head_dim_v: int,
    q: int,
    kv: int,
    batch: int,
    heads: int,
    kv_heads: int,
    **of: Any,
) -> Tensors:
    return (
        torch.randn(batch, heads, q, head_dim, device="cuda").to(**of),
        torch.randn(batch, kv_heads, kv, head_dim, device="cuda").to(**of),
        torch.randn(batch, kv_heads, kv, head_dim_v, device="cuda").to(**of),
    )


def check_error(case: tuple[Any, ...], repeats: int, cut: int | None = None) -> dict[str, Any]:
    mask, head_dim, head_dim_v, *sizes, element, softcap, has_sink = case
    dtype = {"bf16": torch.bfloat16, "f16": torch.float16}[element]
    q, k, v = inputs(head_dim, head_dim_v, *sizes, dtype=dtype)
    q = q * (softcap / 2) if softcap else q
    sink = {"sink": torch.randn(q.shape[1], device="cuda")} if has_sink else {}
    kernel = compiled(mask, head_dim, head_dim_v, element, softcap, has_sink, cut=cut)
    o, lse = run(kernel, q, k, v, **sink)
    exact, exact_lse = reference.forward(
        q.double(),
        k.double(),
        v.double(),
        scale=head_dim**-0.5,
        mask=Mask.parse(mask),
        softcap=softcap,
        sink=sink["sink"].double() if sink else None,
    )
    differs = lse != exact_lse  # infinities are the same
    finite = exact_lse[torch.isfinite(exact_lse)]
    of_lse = (lse - exact_lse)[differs].abs().max() if differs.any() else torch.zeros(())
    again = [run(kernel, q, k, v, **sink) for _ in range(repeats)]
    return {
        "mask": mask,
        "head_dim": head_dim,
        "head_dim_v": head_dim_v,
        "element": element,
        "softcap": softcap,
        "sink": has_sink,
        "cut": cut,
        "error": ((o - exact).abs().max() / exact.abs().max()).item(),
        "lse_error": (of_lse / finite.abs().max().clamp(min=1)).item(),
        "repeats": repeats,
        "repeats_equal": all(are_equal(one, (o, lse)) for one in again),
    }


def are_equal(one: Tensors, other: Tensors) -> bool:
    return all(
        torch.equal(x.contiguous().view(torch.uint8), y.contiguous().view(torch.uint8))
        for x, y in zip(one, other)
    )


def check_rows(head_dim: int, mask: str, repeats: int, cut: int | None = None) -> dict[str, Any]:
    """What level `row` promises; mask: one that is as far from the last row for every length; cut:
    rows of pieces of keys."""
    of = {"dtype": torch.bfloat16}
    q, k, v = inputs(head_dim, head_dim, 1000, 1000, 1, 4, 2, **of)
    kernel = compiled(mask, head_dim, head_dim, cut=cut)
    o, lse = run(kernel, q, k, v)
    found: dict[str, Any] = {"head_dim": head_dim, "mask": mask}
    if cut:
        found["cut"] = cut

    def rows(first: int, last: int) -> Tensors:
        return o[:, :, first:last], lse[:, :, first:last]

    for batch in (2, 7):
        many = inputs(head_dim, head_dim, 1000, 1000, batch, 4, 2, **of)
        for tensor, mine in zip(many, (q, k, v)):
            tensor[batch - 1] = mine[0]
        beside = run(kernel, *many)
        found[f"batch of {batch}"] = are_equal([x[batch - 1 :] for x in beside], (o, lse))
    for first, last in ((0, 300), (300, 1000), (937, 1000)):
        chunk = run(kernel, q[:, :, first:last], k[:, :, :last], v[:, :, :last])
        found[f"rows {first} to {last}"] = are_equal(chunk, rows(first, last))
    found["decoded"] = are_equal(run(kernel, q[:, :, 999:], k, v), rows(999, 1000))
    found["a head"] = are_equal(
        run(kernel, q[:, 2:3], k[:, 1:], v[:, 1:]), (o[:, 2:3], lse[:, 2:3])
    )
    for options in (
        "q-tile=64",
        "workers=7",
        "structure=alternating",
        "kind=ascending",
        "tickets=true",
        "delays=true",
    ):
        other = compiled(mask, head_dim, head_dim, options=options, cut=cut)
        found[options] = are_equal(run(other, q, k, v), (o, lse))
    found["NaN in hidden keys"] = check_hidden(head_dim, cut)
    noise, stream = torch.randn(4096, 4096, device="cuda"), torch.cuda.Stream()
    same = True
    for _ in range(repeats):
        with torch.cuda.stream(stream):
            noise @ noise
        same &= are_equal(run(kernel, q, k, v), (o, lse))
    found[f"{repeats} beside other work"] = same
    other = compiled(mask, head_dim, head_dim, options="kv-tile=32", cut=cut)
    found["control: another kv tile differs"] = not are_equal(run(other, q, k, v), (o, lse))
    return found


def check_hidden(head_dim: int, cut: int | None = None) -> bool:
    """NaN leaves no trace in keys that the mask hides, also within a tile that is walked, and in
    values of tiles that are not."""
    q, k, v = inputs(head_dim, head_dim, 500, 1000, 1, 4, 2, dtype=torch.bfloat16)
    kernel = compiled("window = [100, 0]", head_dim, head_dim, cut=cut)
    expected = run(kernel, q, k, v)
    k[:, :, :400], v[:, :, :320] = float("nan"), float("nan")
    return are_equal(run(kernel, q, k, v), expected)


def torch_forward(backend: str, tensors: Tensors, is_causal: bool) -> Callable[[], Any]:
    if backend == "cudnn":
        arguments = (*tensors, None, True, 0.0, is_causal)
        return lambda: torch.ops.aten._scaled_dot_product_cudnn_attention(*arguments)
    return lambda: torch.ops.aten._scaled_dot_product_flash_attention(*tensors, 0.0, is_causal)


def measured(
    dims: tuple[int, int], mask: str, rows: int, rounds: int, rng: random.Random
) -> dict[str, Any]:
    head_dim, of_v = dims
    heads, batch = HIDDEN // head_dim, TOKENS // rows
    sizes = (rows, rows, batch, heads, heads)
    q, k, v = inputs(head_dim, of_v, *sizes, dtype=torch.bfloat16)
    o, lse = q.new_empty(*q.shape[:3], of_v), torch.empty(q.shape[:3], device="cuda")
    variants = []
    table = "table=true sizes=" + ",".join(
        f"{name}:{size}" for name, size in zip(("q", "kv", "batch", "heads", "kv-heads"), sizes)
    )
    for name, options in (("dash", table), ("dash alternating", f"{table} structure=alternating")):
        kernel = compiled(mask, head_dim, of_v, options=options)
        run_one = lambda kernel=kernel: kernel.forward(q, k, v, o, lse, scale=head_dim**-0.5)  # noqa: E731
        variants.append(Variant(name, run_one))
    peers = {name: torch_forward(name, (q, k, v), mask == "causal") for name in ("cudnn", "flash")}
    if of_flash := flash3_of([q, k, v], mask == "causal"):
        peers["flash3"] = of_flash
    for backend, theirs in peers.items():
        try:
            theirs()
        except RuntimeError:  # it has no kernel for this head dim
            continue
        variants.append(Variant(backend, theirs))
    measure_whole(variants, rounds, None, rng)
    work = 2.0 * batch * heads * rows * rows * sum(dims) * (0.5 if mask == "causal" else 1)
    return {
        "head_dim": head_dim,
        "head_dim_v": of_v,
        "mask": mask,
        "rows": rows,
        "tflops": {one.name: work / statistics.median(one.milliseconds) / 1e9 for one in variants},
    }


def measured_main(
    dims: tuple[int, int], mask: str, rows: int, rounds: int, rng: random.Random
) -> dict[str, Any]:
    """The time of the main kernel alone, from which a file of costs has its prices
    (tools/scripts/fit_parts.py)."""
    head_dim, of_v = dims
    heads, batch = HIDDEN // head_dim, TOKENS // rows
    q, k, v = inputs(head_dim, of_v, rows, rows, batch, heads, heads, dtype=torch.bfloat16)
    o, lse = q.new_empty(*q.shape[:3], of_v), torch.empty(q.shape[:3], device="cuda")
    kernel = compiled(mask, head_dim, of_v)
    launch = kernel.bind_forward(q, k, v, o, lse, scale=head_dim**-0.5)
    variant = Variant("dash", launch.run, launch=launch)
    measure_entries([variant], rounds, None, rng)
    return {
        "head_dims": list(dims),
        "mask": mask,
        "rows": rows,
        "batch": batch,
        "heads": heads,
        "main_ms": {"forward": round(statistics.median(variant.entries["main"]), 4)},
    }


def of_prices(rounds: int) -> list[dict[str, Any]]:
    rng, found = random.Random(0), []
    for dims in ((64, 64), (128, 128), *DIMS):
        for mask in ("causal", "full"):
            for rows in (512, 1024, 2048, 4096, 8192, 16384):
                found.append(measured_main(dims, mask, rows, rounds, rng))
                print(found[-1], flush=True)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--repeats", type=int, default=100)
    parser.add_argument("--json", type=Path)
    parser.add_argument(
        "--prices", action="store_true", help="measure main kernels alone, for a file of costs"
    )
    arguments = parser.parse_args()
    torch.manual_seed(0)
    about = {"commit": commit(), "gpu": torch.cuda.get_device_name(), "torch": torch.__version__}
    if arguments.prices:
        prices = of_prices(arguments.rounds)
        if arguments.json:
            write_record(arguments.json, {**about, "speeds": prices})
        return 0
    errors, bits, speeds = [], [], []
    for case in CASES:
        errors.append(check_error(case, arguments.repeats))
        print(errors[-1], flush=True)
    for head_dim in (64, 128, 256):
        for mask in ("causal", "window = [200, 0]"):
            bits.append(check_rows(head_dim, mask, arguments.repeats))
            print(bits[-1], flush=True)
    rng = random.Random(0)
    for dims in DIMS:
        for mask in ("causal", "full"):
            for rows in LENGTHS:
                speeds.append(measured(dims, mask, rows, arguments.rounds, rng))
                print(speeds[-1], flush=True)
    if arguments.json:
        write_record(
            arguments.json,
            {**about, "errors": errors, "rows": bits, "speeds": speeds},
        )
    wrong = [
        one
        for one in errors
        if one["error"] > MOST_ERROR
        or one["lse_error"] > MOST_LSE_ERROR
        or not one["repeats_equal"]
    ]
    wrong += [one for one in bits if not all(one.values())]
    for one in wrong:
        print("wrong:", one)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
