#!/usr/bin/env python3
"""part_programs.py --json FILE [--tune]: dK and dV, and dQ, as programs of their own, on this GPU.

They are the backward of head dims above 128. Kernels are compiled here, by libdash. Gradients are
compared with float64, over memory that was NaN, beside what the tensors' type rounds away; they
must have the same bytes in many repeats, alone and beside other work, with roles that sleep at
random, and with other numbers of workers. Where a mask lets the program of dK and dV keep dS for
that of dQ, they must have the same bytes again, with NaN in all of dS that is not written. So must
those of `attention`, which are compared with
float64 too, of packed sequences at level `machine`, and of PyTorch's own attention once
`dash_attn.enable` is called. Times are medians of rounds in a random order, of both programs one
behind the other, beside cuDNN's backward, which is not deterministic. TFLOP/s count
2 B H S^2 (3 dqk + 2 dv), half of it on causal masks. --tune times other tilings, too. The status
is 1 where an error is too large or bits differ.
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
from forwards import HIDDEN, TOKENS, UNION, Tensors, are_equal, inputs  # noqa: E402
from dash_attn import CompileError, Kernel, attention, enable, reference  # noqa: E402
from dash_attn.kernel.problem import Wanted  # noqa: E402
from dash_attn.kernel.tasks import NUMBERS, tiles_of  # noqa: E402
from dash_attn.measure.bundle import commit  # noqa: E402
from dash_attn.measure.timing import Variant, measure_entries, measure_whole  # noqa: E402
from dash_attn.reference import Mask  # noqa: E402
from dash_attn.support.records import write_record  # noqa: E402

LENGTHS = (1024, 2048, 4096, 8192, 16384)
HEAD_DIMS = ((192, 192), (192, 128), (256, 256))
MOST_ERROR = 3e-3  # of `attention`, whose o is rounded
BESIDE_ROUNDING = 1.05  # errors are at most those of the roundings alone, but for noise

# mask, head dims of q and of v, q rows, kv rows, batch, heads, kv heads, element, softcap
CASES: list[tuple[Any, ...]] = [
    ("causal", 256, 256, 1000, 1000, 2, 4, 2, "bf16", None),
    ("full", 256, 256, 300, 700, 1, 4, 1, "bf16", None),
    ("causal", 192, 192, 1000, 1024, 1, 4, 2, "bf16", None),
    ("causal", 192, 128, 1024, 1024, 1, 4, 4, "bf16", None),
    ("window = [100, 20]", 256, 256, 777, 900, 1, 3, 3, "bf16", None),
    (UNION, 192, 192, 900, 1000, 2, 2, 1, "bf16", None),
    ("causal", 256, 256, 1000, 65, 1, 4, 4, "bf16", None),
    ("window = [-1, 30]", 192, 128, 333, 901, 1, 4, 2, "bf16", None),
    ("causal", 136, 200, 500, 500, 1, 4, 2, "f16", None),
    ("causal", 256, 256, 500, 500, 1, 4, 2, "bf16", 20.0),
    ("causal", 128, 128, 1000, 1000, 2, 4, 2, "bf16", None),
    ("full", 64, 64, 300, 700, 1, 4, 1, "bf16", None),
]
KIND = "longest-first"  # it keeps the order of an item's visits, whatever the number of workers
# By name: options of dK and dV, and of dQ.
OTHERS = {
    "delays": ("delays=true", "delays=true"),
    "7 workers": ("workers=7", "workers=7"),
    "fewer slots": ("slots=q:2,do:2,out:1", "slots=k:2,v:1"),
    "slots of dQ": ("", "slots=out:1"),  # at 256 columns other kv tiles, too
}


# The same, where dS is passed on.
PASSING = {
    "dS passed on": ("", ""),
    "dS passed on, roles that sleep": ("delays=true", "delays=true"),
    "dS passed on, 7 workers": ("workers=7", "workers=7"),
    "dS passed on, q tiles of 64 rows": ("", "q-tile=64"),
    "dS passed on, one slot": ("slots=ds:1", "slots=ds:1,k:1"),
}


def compiled(
    gradients: tuple[str, ...],
    mask: str,
    head_dim: int,
    head_dim_v: int,
    element: str = "bf16",
    softcap: float | None = None,
    level: str = "machine",
    options: str = "",
    passes_ds: bool = False,
) -> Kernel:
    types = {"dq": "!q", "dk": "!q", "dv": "!v"}
    arguments = "".join(f", %{name}: {types[name]}" for name in gradients)
    outs = ", ".join(f"{name} = %{name}" for name in gradients)
    outs += " : " + ", ".join(types[name] for name in gradients)
    clauses = f" softcap({softcap})" if softcap else ""
    of_ds = f"memref<?x{NUMBERS}x{element}, strided<[?, 1], offset: ?>>"
    clauses += f" ds(%ds : {of_ds})" * passes_ds
    beside = f", %ds: {of_ds}" * passes_ds
    workers = torch.cuda.get_device_properties(0).multi_processor_count
    workers = f" workers={workers}" * ("workers" not in options)
    kind = "" if "kind=" in options else f"kind={KIND}"
    return Kernel.compile(
        f"""
!q = memref<?x?x?x{head_dim}x{element}, strided<[?, ?, ?, 1], offset: ?>>
!v = memref<?x?x?x{head_dim_v}x{element}, strided<[?, ?, ?, 1], offset: ?>>
!r = memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>
func.func @attention_bwd(%q: !q, %k: !q, %v: !v, %do: !v, %o: !v, %lse: !r{arguments}, %scale: f32{beside}) {{
  dash.attention_bwd ins(%q, %k, %v, %do, %lse, o = %o : !q, !q, !v, !v, !r, !v) outs({outs})
      mask(<{mask}>) level({level}) scale(%scale){clauses}
  return
}}""",
        f"{kind}{workers} {options}",
    )


def pair_of(
    *problem: Any,
    options: tuple[str, str] = ("", ""),
    level: str = "machine",
    passes_ds: bool = False,
) -> tuple[Kernel, Kernel]:
    """The kernel of dK and dV, and that of dQ."""
    rest = {"level": level, "passes_ds": passes_ds}
    return (
        compiled(("dk", "dv"), *problem, options=options[0], **rest),
        compiled(("dq",), *problem, options=options[1], **rest),
    )


def ds_of(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor | None:
    """Memory for dS of all, of NaN; none where programs cannot pass it on."""
    wanted = Wanted(q.shape[3], v.shape[3], "bf16", (-1, -1))
    sizes = (*q.shape[:2], k.shape[1], q.shape[2], k.shape[2])
    tiles = tiles_of(wanted, *sizes)
    return q.new_full((tiles, NUMBERS), float("nan")) if tiles else None


def run(
    pair: tuple[Kernel, Kernel],
    given: Tensors,
    gradients: Tensors,
    scale: float,
    ds: torch.Tensor | None = None,
) -> None:
    dq, dk, dv = gradients
    pair[0].backward(*given, None, dk, dv, scale=scale, ds=ds)
    pair[1].backward(*given, dq, None, None, scale=scale, ds=ds)


def over_nan(
    pair: tuple[Kernel, Kernel], given: Tensors, scale: float, passes_ds: bool = False
) -> Tensors:
    gradients = tuple(torch.full_like(one, float("nan")) for one in given[:3])
    run(pair, given, gradients, scale, ds_of(*given[:3]) if passes_ds else None)
    return gradients


def with_gradient(*sizes: int, dtype: torch.dtype) -> Tensors:
    """q, k, v and do. sizes: as `forwards.inputs` takes them."""
    q, k, v = inputs(*sizes, dtype=dtype)
    return q, k, v, torch.randn(*q.shape[:3], v.shape[3], device="cuda").to(dtype)


def error_of(found: torch.Tensor, exact: torch.Tensor) -> float:
    return ((found.double() - exact).norm() / exact.norm().clamp(min=1e-30)).item()


def of_rounding(given: Tensors, mask: Mask, scale: float, softcap: float | None) -> Tensors:
    """Gradients in float64 but for P and dS, which have the tensors' type as factors."""
    q, k, v, do, o, lse = given
    dtype = q.dtype
    found = reference.backward(
        *(one.double() for one in (q, k, v, do, o, lse)),
        scale=scale,
        mask=mask,
        softcap=softcap,
        rounded=lambda x: x.to(dtype).double(),
    )
    return tuple(found[name].to(dtype) for name in ("dq", "dk", "dv"))


def check(case: tuple[Any, ...], repeats: int) -> dict[str, Any]:
    mask, head_dim, head_dim_v, *sizes, element, softcap = case
    dtype = {"bf16": torch.bfloat16, "f16": torch.float16}[element]
    q, k, v, do = with_gradient(head_dim, head_dim_v, *sizes, dtype=dtype)
    q = q * (softcap / 2) if softcap else q
    scale, parsed = head_dim**-0.5, Mask.parse(mask)
    options = {"scale": scale, "mask": parsed, "softcap": softcap}
    o, lse = reference.forward(q.double(), k.double(), v.double(), **options)
    given = (q, k, v, do, o.to(dtype), lse.float())
    problem = (mask, head_dim, head_dim_v, element, softcap)
    pair = pair_of(*problem)
    found = over_nan(pair, given, scale)
    exact = reference.backward(*(one.double() for one in given), **options)
    rounding = of_rounding(given, parsed, scale, softcap)
    names = ("dq", "dk", "dv")
    errors = {name: error_of(one, exact[name]) for name, one in zip(names, found)}
    theirs = {name: error_of(one, exact[name]) for name, one in zip(names, rounding)}
    noise, stream = torch.randn(4096, 4096, device="cuda"), torch.cuda.Stream()
    same = True
    for _ in range(repeats):
        with torch.cuda.stream(stream):
            noise @ noise
        same &= are_equal(over_nan(pair, given, scale), found)
    bits = {f"{repeats} beside other work": same}
    for name, options in OTHERS.items():
        other = pair_of(*problem, options=options)
        bits[name] = are_equal(over_nan(other, given, scale), found)
    is_right_alone = parsed.left < 0 and parsed.union is None and parsed.blocks is None
    if is_right_alone and ds_of(*given[:3]) is not None:
        for name, options in PASSING.items():
            other = pair_of(*problem, options=options, passes_ds=True)
            same = True
            for _ in range(repeats):
                with torch.cuda.stream(stream):
                    noise @ noise
                same &= are_equal(over_nan(other, given, scale, passes_ds=True), found)
            bits[f"{name}, {repeats} beside other work"] = same
    return {
        "mask": mask,
        "head_dims": [head_dim, head_dim_v],
        "sizes": sizes,
        "element": element,
        "softcap": softcap,
        "errors": errors,
        "errors_of_rounding": theirs,
        "bits": bits,
    }


def is_right(one: dict[str, Any]) -> bool:
    return all(one["bits"].values()) and all(
        error <= BESIDE_ROUNDING * one["errors_of_rounding"][name]
        for name, error in one["errors"].items()
    )


def check_attention(head_dims: tuple[int, int], repeats: int, **options: Any) -> dict[str, Any]:
    """Gradients of `attention` beside float64, and whether they are the same on every run."""
    q, k, v, do = with_gradient(*head_dims, 1000, 1000, 2, 4, 4, dtype=torch.bfloat16)
    found = gradients_of(lambda *x: attention(*x, **options), q, k, v, do)
    of = {
        "scale": head_dims[0] ** -0.5,
        "mask": Mask.parse("causal" if options.get("causal") else "full"),
        "softcap": options.get("softcap"),
    }
    exact_o, exact_lse = reference.forward(q.double(), k.double(), v.double(), **of)
    exact = reference.backward(*(one.double() for one in (q, k, v, do)), exact_o, exact_lse, **of)
    again = [gradients_of(lambda *x: attention(*x, **options), q, k, v, do) for _ in range(repeats)]
    return {
        "head_dims": list(head_dims),
        "options": options,
        "errors": {
            name: error_of(one, exact[name]) for name, one in zip(("dq", "dk", "dv"), found)
        },
        "bits": {f"{repeats} repeats": all(are_equal(one, found) for one in again)},
    }


def gradients_of(function: Callable[..., torch.Tensor], *tensors: torch.Tensor) -> Tensors:
    """tensors: q, k, v and do."""
    *given, do = (one.detach() for one in tensors)
    for one in given:
        one.requires_grad_()
    return torch.autograd.grad(function(*given), given, do)


def check_packed(head_dims: tuple[int, int]) -> dict[str, Any]:
    """At level `machine` a sequence has the same bits packed and alone."""
    bounds = (0, 300, 300, 700, 1000)
    offsets = torch.tensor(bounds, dtype=torch.int32, device="cuda")
    whole = [
        one[0].transpose(0, 1).contiguous()
        for one in with_gradient(*head_dims, 1000, 1000, 1, 4, 2, dtype=torch.bfloat16)
    ]
    options = {"causal": True, "level": "machine"}
    packed = gradients_of(
        lambda *x: attention(*x, cu_seqlens_q=offsets, max_seqlen_q=400, **options), *whole
    )
    same = True
    for first, last in zip(bounds, bounds[1:]):
        if first < last:
            alone = gradients_of(
                lambda *x: attention(*x, **options),
                *(one[first:last].transpose(0, 1)[None] for one in whole),
            )
            mine = [one[first:last].contiguous() for one in packed]
            same &= are_equal(mine, [one[0].transpose(0, 1).contiguous() for one in alone])
    return {"head_dims": list(head_dims), "bits": {"packed and alone": same}}


def check_drop_in(repeats: int) -> dict[str, Any]:
    """PyTorch's own attention at head dim 256 is dash's: gradients are the same on every run."""
    tensors = with_gradient(256, 256, 1000, 1000, 2, 4, 4, dtype=torch.bfloat16)
    own = torch.nn.functional.scaled_dot_product_attention
    with enable() as one:
        found = [gradients_of(lambda *x: own(*x, is_causal=True), *tensors) for _ in range(repeats)]
        left = dict(one.left)
    return {
        "head_dims": [256, 256],
        "bits": {
            f"{repeats} repeats of PyTorch's attention": all(
                are_equal(other, found[0]) for other in found
            ),
            "served": not left,
        },
    }


def cudnn(q: Any, k: Any, v: Any, do: Any, is_causal: bool) -> Callable[[], Any]:
    of = torch.ops.aten._scaled_dot_product_cudnn_attention
    made = of(q, k, v, None, True, 0.0, is_causal)
    o, lse, cum_q, cum_k, most_q, most_k, seed, offset = made[:8]
    return lambda: torch.ops.aten._scaled_dot_product_cudnn_attention_backward(
        do, q, k, v, o, lse, seed, offset, None, cum_q, cum_k, most_q, most_k, 0.0, is_causal
    )


# By name: the level, and options of dK and dV and of dQ.
TUNED = {
    "alternating": ("machine", "structure=alternating", "structure=alternating"),
    "overlapping": ("machine", "structure=overlapping", "structure=overlapping"),
    "ascending": ("machine", "kind=ascending", "kind=ascending"),
    "symmetric shift": ("run", "kind=symmetric-shift", ""),
    "slots of dQ": ("machine", "", "slots=out:1"),
    "96 keys": ("machine", "", "kv-tile=96"),
}


def measured(
    head_dims: tuple[int, int], mask: str, rows: int, rounds: int, rng: random.Random, tunes: bool
) -> dict[str, Any]:
    heads, batch = HIDDEN // head_dims[0], TOKENS // rows
    q, k, v, do = with_gradient(*head_dims, rows, rows, batch, heads, heads, dtype=torch.bfloat16)
    scale, is_causal = head_dims[0] ** -0.5, mask == "causal"
    o, lse = torch.randn_like(do), torch.randn(q.shape[:3], device="cuda") + 8
    given = (q, k, v, do, o, lse)
    gradients = tuple(torch.empty_like(one) for one in (q, k, v))
    dq, dk, dv = gradients
    asked = {"dash": ("machine", "", ""), "twice": ("machine", "", "")}
    variants, memory = [], ds_of(q, k, v)
    for name, (level, *options) in (asked | (TUNED if tunes else {})).items():
        ds = memory if name == "dash" else None
        try:  # what does not fit is left out
            pair = pair_of(mask, *head_dims, options=options, level=level, passes_ds=ds is not None)
        except CompileError as error:
            print(f"  {name}: {str(error).splitlines()[0]}")
            continue
        variants.append(
            Variant(name, lambda pair=pair, ds=ds: run(pair, given, gradients, scale, ds))
        )
        variants += [
            Variant(f"{name} {program}", launch.run, launch=launch)
            for program, launch in (
                ("dk dv", pair[0].bind(*given, None, dk, dv, scale=scale, ds=ds)),
                ("dq", pair[1].bind(*given, dq, None, None, scale=scale, ds=ds)),
            )
        ]
    try:
        theirs = cudnn(q, k, v, do, is_causal)
        theirs()
        variants.append(Variant("cudnn", theirs))
    except RuntimeError as error:
        print(f"  cudnn: {str(error).splitlines()[0]}")
    measure_whole(variants, rounds, None, rng)
    measure_entries(variants, max(5, rounds // 3), None, rng)
    work = 2.0 * batch * heads * rows * rows * (3 * head_dims[0] + 2 * head_dims[1])
    work *= 0.5 if is_causal else 1
    medians = {one.name: statistics.median(one.milliseconds) for one in variants}
    mains = {
        one.name.removeprefix("dash "): statistics.median(one.entries["main"])
        for one in variants
        if one.name in ("dash dk dv", "dash dq", "twice dk dv", "twice dq")
    }
    return {
        "head_dims": list(head_dims),
        "mask": mask,
        "rows": rows,
        "batch": batch,
        "heads": heads,
        "main_ms": {name: round(median, 4) for name, median in mains.items()},
        "milliseconds": {name: round(median, 4) for name, median in medians.items()},
        "tflops": {
            name: round(work / median / 1e9, 1)
            for name, median in medians.items()
            if not name.endswith((" dq", " dv"))
        },
    }


def checked_products() -> list[dict[str, Any]]:
    given = {"causal": True}, {"causal": True, "level": "machine"}, {"softcap": 30.0}
    found = [check_attention(dims, 10, **options) for dims in HEAD_DIMS for options in given]
    found += [check_packed(dims) for dims in HEAD_DIMS]
    return [*found, check_drop_in(10)]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--repeats", type=int, default=100)
    parser.add_argument("--tune", action="store_true")
    parser.add_argument("--speeds", action="store_true", help="check nothing")
    known = {",".join(map(str, dims)): dims for dims in HEAD_DIMS}
    parser.add_argument(
        "--head-dims", choices=known, help="of q and of v: time these alone, not all"
    )
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    checks, speeds = [], []
    for case in () if arguments.speeds else CASES:
        checks.append(check(case, arguments.repeats))
        print(checks[-1], flush=True)
    products = [] if arguments.speeds else checked_products()
    for one in products:
        print(one, flush=True)
    rng = random.Random(0)
    for head_dims in [known[arguments.head_dims]] if arguments.head_dims else HEAD_DIMS:
        for mask in ("causal", "full"):
            for rows in LENGTHS:
                speeds.append(
                    measured(head_dims, mask, rows, arguments.rounds, rng, arguments.tune)
                )
                print(speeds[-1], flush=True)
    if arguments.json:
        write_record(
            arguments.json,
            {
                "commit": commit(),
                "gpu": torch.cuda.get_device_name(),
                "torch": torch.__version__,
                "checks": checks,
                "attention": products,
                "speeds": speeds,
            },
        )
    wrong = [one for one in checks if not is_right(one)]
    wrong += [
        one
        for one in products
        if not all(one["bits"].values()) or max(one.get("errors", {"": 0}).values()) > MOST_ERROR
    ]
    for one in wrong:
        print("wrong:", one)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
