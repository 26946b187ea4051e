#!/usr/bin/env python3
"""both_ways.py --json FILE: `attention` with its own forward on this GPU: errors, bits, speed.

O, the LSE and gradients are compared with float64, beside those of PyTorch's forward where it
serves the call. An error is relative to the norm of what is exact, a sink's gradient to that of the
sizes of what it sums. Equal calls must have equal bytes, beside other work, too. A row of o and the
LSE must have the same bytes alone, in batches of 2 and 7, packed beside NaN, as a prefix, in a
chunk of a prefill and as one decoded token; gradients at levels `batch` and `machine` alone, in a
batch and packed. Times are medians of rounds in a random order, in one process beside cuDNN,
FlashAttention-2 and, where fa3-fwd is installed, FlashAttention-3. TFLOP/s count 2 B H S^2 (dqk +
dv), half of it on causal masks. The status is 1 where an error is too large or bits differ.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "python")]

import torch  # noqa: E402

from dash_attn import ArgumentError, attention, reference  # noqa: E402
from dash_attn.kernel.problem import PACKED  # noqa: E402
from dash_attn.measure.bundle import commit  # noqa: E402
from dash_attn.measure.timing import Variant, measure_whole  # noqa: E402
from dash_attn.reference import Mask  # noqa: E402
from dash_attn.support.records import write_record  # noqa: E402
from dash_attn.torch import flash3  # noqa: E402
from dash_attn.torch.kernels import forward_of, kernel_of  # noqa: E402

TOKENS, HIDDEN = 16384, 2048
LENGTHS = (512, 1024, 2048, 4096, 8192, 16384)
MOST_ERROR, MOST_LSE_ERROR = 6e-3, 2e-6
BF16, F16 = torch.bfloat16, torch.float16
CONTROL = "dash again"  # what the difference of two times of the same thing is
PARTS = ("errors", "rows", "speeds", "lists")
Tensors = list[torch.Tensor]

# options of attention, its mask, head dims, q rows, kv rows, batch, heads, kv heads, element, sink
CASES: list[tuple[Any, ...]] = [
    ({"causal": True}, Mask(-1, 0), 128, 128, 1000, 1000, 2, 4, 2, BF16, False),
    ({}, Mask(), 64, 64, 300, 700, 1, 4, 1, BF16, False),
    ({"causal": True}, Mask(-1, 0), 128, 128, 300, 700, 2, 4, 2, BF16, False),
    ({"causal": True}, Mask(-1, 0), 64, 64, 700, 300, 2, 4, 2, BF16, False),
    ({"window": (100, 20)}, Mask(100, 20), 128, 128, 777, 900, 1, 3, 3, BF16, False),
    ({"causal": True}, Mask(-1, 0), 96, 40, 500, 500, 1, 4, 2, F16, False),
    ({"causal": True}, Mask(-1, 0), 128, 128, 500, 500, 1, 4, 2, BF16, True),
    ({"window": (1, 0)}, Mask(1, 0), 64, 64, 500, 500, 1, 4, 2, BF16, True),
    ({"causal": True, "softcap": 20.0}, Mask(-1, 0), 128, 128, 500, 500, 1, 4, 2, BF16, False),
    ({"window": (200, 0), "softcap": 50.0}, Mask(200, 0), 64, 64, 500, 500, 2, 4, 2, BF16, True),
    ({"causal": True, "level": "machine"}, Mask(-1, 0), 128, 128, 999, 999, 2, 4, 2, BF16, False),
]


def inputs(
    of_qk: int, of_v: int, q: int, kv: int, batch: int, heads: int, kv_heads: int, dtype: Any
) -> Tensors:
    shapes = (batch, heads, q, of_qk), (batch, kv_heads, kv, of_qk), (batch, kv_heads, kv, of_v)
    return [torch.randn(shape, device="cuda").to(dtype) for shape in shapes]


def both(tensors: Tensors, do: torch.Tensor, sink: Any = None, **options: Any) -> Tensors:
    """o, the LSE and the gradients of all tensors."""
    given = [
        one.detach().requires_grad_() for one in (*tensors, *([sink] if sink is not None else []))
    ]
    more = {} if sink is None else {"sink": given[3]}
    o, lse = attention(*given[:3], return_lse=True, **more, **options)
    return [o.detach(), lse.detach(), *torch.autograd.grad(o, given, do)]


def are_equal(ones: Any, others: Any) -> bool:
    return all(
        torch.equal(x.contiguous().view(torch.uint8), y.contiguous().view(torch.uint8))
        for x, y in zip(ones, others, strict=True)
    )


def check_errors(case: tuple[Any, ...], repeats: int) -> dict[str, Any]:
    options, mask, of_qk, of_v, *sizes, dtype, has_sink = case
    tensors = inputs(of_qk, of_v, *sizes, dtype)
    cap = options.get("softcap")
    if cap:
        tensors[0] = tensors[0] * (cap / 4)
    sink = torch.randn(sizes[3], device="cuda") if has_sink else None
    do = torch.randn(*tensors[0].shape[:3], of_v, device="cuda").to(dtype)
    found = both(tensors, do, sink, **options)
    of_program = {"scale": of_qk**-0.5, "mask": mask, "softcap": cap}
    of_program["sink"] = None if sink is None else sink.double()
    doubles = [one.double() for one in tensors]
    o, lse = reference.forward(*doubles, **of_program)
    exact = list(reference.backward(*doubles, do.double(), o, lse, **of_program).values())
    if sink is not None:
        exact[-1] = exact[-1].sum(0)
    differs = lse != found[1]  # infinities are the same
    of_lse = (lse - found[1])[differs].abs().max().item() if differs.any() else 0.0
    finite = lse[torch.isfinite(lse)].abs().max().clamp(min=1).item()
    names = ("o", "dq", "dk", "dv", "dsink")

    sizes_of = [one.norm() for one in (o, *exact)]
    if sink is not None:  # the gradient of a sink is a sum over rows of numbers of both signs
        of_rows = (sink.double()[:, None] - lse).exp() * (do.double() * o).sum(-1)
        sizes_of[-1] = of_rows.abs().sum((0, 2)).norm()

    def errors_of(found: Tensors) -> dict[str, float]:
        pairs = zip(names, [found[0], *found[2:]], [o, *exact], sizes_of)
        return {name: ((x - y).norm() / size).item() for name, x, y, size in pairs}

    about: dict[str, Any] = {
        "case": f"{options}, {of_qk}/{of_v}, {sizes}, {dtype}{', sink' * has_sink}",
        "errors": errors_of(found),
        "lse_error": of_lse / finite,
    }
    try:
        about["by PyTorch's forward"] = errors_of(
            both(tensors, do, sink, **options, forward="torch")
        )
    except ArgumentError as error:
        about["PyTorch's forward"] = str(error).partition(":")[0]
    noise, stream = torch.randn(4096, 4096, device="cuda"), torch.cuda.Stream()
    same = True
    for _ in range(repeats):
        with torch.cuda.stream(stream):
            noise @ noise
        same &= are_equal(both(tensors, do, sink, **options), found)
    return about | {"repeats": repeats, "repeats_equal": same}


def packed(ones: list[Tensors]) -> tuple[Tensors, torch.Tensor]:
    """Sequences of a batch of 1 one behind the other, and offsets; rows of NaN around."""
    found = []
    for parts in zip(*ones):
        rows = [part[0].transpose(0, 1) for part in parts]
        edge = torch.full_like(rows[0][:3], float("nan"))
        found.append(torch.cat([edge, *rows, edge]))
    lengths = [one[0].shape[2] for one in ones]
    return found, torch.tensor([3, *lengths]).cumsum(0).int().cuda()


def check_rows(head_dim: int, options: dict[str, Any]) -> dict[str, Any]:
    """What levels promise of a sequence, wherever it stands."""
    sizes = (1000, 1000, 1, 4, 2, BF16)
    mine = inputs(head_dim, head_dim, *sizes)
    do = torch.randn_like(mine[0])
    found: dict[str, Any] = {"head_dim": head_dim, "options": str(options)}
    o, lse = attention(*mine, **options, return_lse=True)
    for first, last in ((0, 300), (300, 1000), (937, 1000), (999, 1000)):
        q, k, v = mine[0][:, :, first:last], mine[1][:, :, :last], mine[2][:, :, :last]
        chunk = attention(q, k, v, **options, return_lse=True)
        found[f"rows {first} to {last}"] = are_equal(
            chunk, (o[:, :, first:last], lse[:, :, first:last])
        )
    for level in ("run", "batch", "machine"):
        alone = both(mine, do, level=level, **options)
        for batch in (2, 7):
            many = inputs(head_dim, head_dim, 1000, 1000, batch, 4, 2, BF16)
            for all_of_it, one in zip(many, mine):
                all_of_it[batch - 1] = one[0]
            dos = torch.randn_like(many[0])
            dos[batch - 1] = do[0]
            beside = [x[batch - 1 :] for x in both(many, dos, level=level, **options)]
            found[f"{level}: o in a batch of {batch}"] = are_equal(beside[:2], alone[:2])
            if level != "run":
                found[f"{level}: gradients in a batch of {batch}"] = are_equal(beside, alone)
        others = [inputs(head_dim, head_dim, rows, rows, 1, 4, 2, BF16) for rows in (77, 300)]
        poisoned = [torch.full_like(one, float("nan")) for one in others[0]]
        for number, ones in enumerate(([others[1], mine], [mine, others[1]], [poisoned, mine])):
            tensors, cu = packed(ones)
            first = int(cu[[one is mine for one in ones].index(True)])
            upstream = torch.zeros_like(tensors[0])
            upstream[first : first + 1000] = do[0].transpose(0, 1)
            of_list = both(tensors, upstream, level=level, cu_seqlens_q=cu, **options)
            rows = slice(first, first + 1000)
            part = [x[rows].transpose(0, 1)[None] for x in (of_list[0], *of_list[2:])]
            part.insert(1, of_list[1][None, :, rows])
            found[f"{level}: o in list {number}"] = are_equal(part[:2], alone[:2])
            if level != "run":
                found[f"{level}: gradients in list {number}"] = are_equal(part, alone)
            outside = torch.ones(len(tensors[0]), dtype=torch.bool, device="cuda")
            outside[int(cu[0]) : int(cu[-1])] = False
            found[f"list {number}: zeros outside"] = not of_list[0][outside].any().item()
    theirs = both(mine, do, forward="torch", **options)
    found["control: PyTorch's forward differs"] = not are_equal(theirs[:1], [o])
    return found


def flash3_of(tensors: Tensors, is_causal: bool) -> Callable[[], Any] | None:
    package = flash3.installed()
    if package is None:
        return None
    operator: Any = getattr(torch.ops, package.space).fwd.default
    turned = [one.transpose(1, 2).contiguous() for one in tensors]
    scale = tensors[0].shape[3] ** -0.5
    options = {"softmax_scale": scale, "is_causal": is_causal, "num_splits": 1, "pack_gqa": False}
    return lambda: operator(*turned, **options)


def measured(head_dim: int, causal: bool, rows: int, rounds: int, rng: Any) -> dict[str, Any]:
    heads, batch = HIDDEN // head_dim, TOKENS // rows
    tensors = inputs(head_dim, head_dim, rows, rows, batch, heads, heads, BF16)
    leaves = [one.detach().requires_grad_() for one in tensors]
    do = torch.randn_like(tensors[0])
    window = (-1, 0 if causal else -1)
    aten, sdpa = torch.ops.aten, torch.nn.functional.scaled_dot_product_attention
    o, lse = torch.empty_like(tensors[0]), torch.empty(tensors[0].shape[:3], device="cuda")
    variants = [
        Variant(name, lambda: attention(*tensors, causal=causal)) for name in ("dash", CONTROL)
    ]
    wanted = forward_of(*tensors, window, "bhsd")
    for tile in (128, 192) if head_dim == 64 else ():
        launch = kernel_of(wanted._replace(q_tile=tile)).bind_forward(*tensors, o, lse)
        variants.append(Variant(f"dash, q tile {tile}", launch.run))
    given = (*tensors, None, True, 0.0, causal)
    variants.append(Variant("cudnn", lambda: aten._scaled_dot_product_cudnn_attention(*given)))
    if of_flash := flash3_of(tensors, causal):
        variants.append(Variant("flash3", of_flash))

    def train(**options: Any) -> Callable[[], Any]:
        return lambda: torch.autograd.grad(attention(*leaves, causal=causal, **options), leaves, do)

    def theirs() -> Any:
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.CUDNN_ATTENTION):
            return torch.autograd.grad(sdpa(*leaves, is_causal=causal), leaves, do)

    ways = [
        Variant("dash", train()),
        Variant("PyTorch's forward, dash's backward", train(forward="torch")),
        Variant("cudnn", theirs),
    ]
    measure_whole(variants, rounds, None, rng)
    measure_whole(ways, rounds, None, rng)
    work = 4.0 * batch * heads * rows * rows * head_dim * (0.5 if causal else 1)

    def speeds(variants: list[Variant], times: float) -> dict[str, float]:
        return {
            one.name: times * work / statistics.median(one.milliseconds) / 1e9 for one in variants
        }

    return {
        "head_dim": head_dim,
        "mask": "causal" if causal else "full",
        "rows": rows,
        "forward": speeds(variants, 1.0),
        "both ways": speeds(ways, 3.5),
    }


def lists(head_dim: int, rounds: int, rng: Any) -> dict[str, Any]:
    """A packed batch of documents of many lengths, causal."""
    lengths, left = [], TOKENS
    of_lengths = random.Random(3)
    while left > 0:
        lengths.append(min(left, max(1, int(of_lengths.lognormvariate(6.5, 1.0)))))
        left -= lengths[-1]
    heads = HIDDEN // head_dim
    q, k, v = (torch.randn(TOKENS, heads, head_dim, device="cuda").to(BF16) for _ in range(3))
    cu = torch.tensor([0, *lengths]).cumsum(0).int().cuda()
    options = {"causal": True, "cu_seqlens_q": cu, "max_seqlen_q": max(lengths)}
    variants = [
        Variant("dash", lambda: attention(q, k, v, **options)),
        Variant("PyTorch's forward", lambda: attention(q, k, v, **options, forward="torch")),
    ]
    if flash3.installed():
        bounds = cu, cu, max(lengths), max(lengths), True, head_dim**-0.5
        variants.append(Variant("flash3", lambda: flash3.forward(q, k, v, *bounds)))
    measure_whole(variants, rounds, None, rng)
    work = 2.0 * heads * head_dim * sum(one * one for one in lengths)
    return {
        "head_dim": head_dim,
        "sequences": len(lengths),
        "longest": max(lengths),
        "layout": PACKED,
        "forward": {one.name: work / statistics.median(one.milliseconds) / 1e9 for one in variants},
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", choices=PARTS, action="append", help="this part of the record")
    arguments = parser.parse_args()
    parts = arguments.only or PARTS
    torch.manual_seed(0)
    errors, bits, speeds, of_lists = [], [], [], []
    for case in CASES if "errors" in parts else ():
        errors.append(check_errors(case, arguments.repeats))
        print(errors[-1], flush=True)
    for head_dim in (64, 128) if "rows" in parts else ():
        for options in ({"causal": True}, {"window": (200, 0)}):
            bits.append(check_rows(head_dim, options))
            print({name: one for name, one in bits[-1].items() if one is not True}, flush=True)
    rng = random.Random(0)
    for head_dim in (64, 128):
        if "lists" in parts:
            of_lists.append(lists(head_dim, arguments.rounds, rng))
            print(of_lists[-1], flush=True)
        for causal in (True, False) if "speeds" in parts else ():
            for rows in LENGTHS:
                speeds.append(measured(head_dim, causal, rows, arguments.rounds, rng))
                print(speeds[-1], flush=True)
    if arguments.json:
        record: dict[str, Any] = {"date": f"{date.today()}", "commit": commit()}
        record["gpu"] = torch.cuda.get_device_name()
        record |= {"torch": torch.__version__, "errors": errors, "rows": bits}
        write_record(arguments.json, record | {"speeds": speeds, "lists": of_lists})
    wrong: list[Any] = [
        one
        for one in errors
        if max(one["errors"].values()) > MOST_ERROR
        or one["lse_error"] > MOST_LSE_ERROR
        or not one["repeats_equal"]
    ]
    wrong += [
        (one["head_dim"], one["options"], name)
        for one in bits
        for name, holds in one.items()
        if holds is False
    ]
    for one in wrong:
        print("wrong:", one)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
