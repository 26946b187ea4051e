#!/usr/bin/env python3
"""used_rows.py --json FILE: `attention` of sequences that use some of their rows, on this GPU.

All rows that are not used are NaN, in do too, and memory is full of NaN before each call. O, the
LSE and gradients are compared with float64, and are 0 and -inf where rows are not used. Bits must
be those of the same sequences packed without the rest, in both layouts, beside offsets, in repeats,
compiled, and in a CUDA graph that is replayed with other numbers. The host must not wait. Times of
both ways are printed beside a batch that uses all rows. `--only` takes some parts. The status is 1
where something differs.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "python")]

import torch  # noqa: E402
from both_ways import MOST_ERROR, MOST_LSE_ERROR, are_equal  # noqa: E402
from by_parts import add_only, finish, mistakes_in, run_parts  # noqa: E402
from call_times import device_time  # noqa: E402

from dash_attn import attention, explain, reference  # noqa: E402
from dash_attn.reference import Mask  # noqa: E402

BF16, F16 = torch.bfloat16, torch.float16
ROWS, KV_ROWS = 700, 900
# Lengths of q and of k: some, none of q, none of k, more of q than of k, all, one.
USED = ([300, 0, 64, 700, 700, 1], [900, 5, 0, 333, 900, 129])
HEADS, KV_HEADS = 4, 2

# options of attention, its mask, head dims, element, sink, which of seqused_q and seqused_k
CASES: list[tuple[Any, ...]] = [
    ({"causal": True}, Mask(-1, 0), 128, 128, BF16, False, (True, True)),
    ({"causal": True}, Mask(-1, 0), 64, 64, F16, True, (True, True)),
    ({}, Mask(), 64, 64, BF16, False, (False, True)),
    ({"window": (100, 20), "level": "row"}, Mask(100, 20), 128, 128, BF16, False, (True, False)),
    ({"causal": True, "softcap": 30.0}, Mask(-1, 0), 96, 40, BF16, True, (True, True)),
    ({"causal": True}, Mask(-1, 0), 192, 128, BF16, False, (True, True)),
    ({"causal": True, "cut": 256}, Mask(-1, 0), 128, 128, BF16, False, (True, True)),
]
Tensors = list[torch.Tensor]


def numbers(values: list[int]) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int32, device="cuda")


def lengths(which: tuple[bool, bool]) -> list[tuple[int, int]]:
    whole = [ROWS] * len(USED[0]), [KV_ROWS] * len(USED[0])
    return list(zip(*(of if here else rest for of, rest, here in zip(USED, whole, which))))


def asked(which: tuple[bool, bool]) -> dict[str, torch.Tensor]:
    names = "seqused_q", "seqused_k"
    return {name: numbers(of) for name, of, here in zip(names, USED, which) if here}


def inputs(case: tuple[Any, ...]) -> tuple[Tensors, torch.Tensor | None]:
    """q, k, v and do of layout bhsd, in memory of [batch, rows, heads, head_dim]."""
    _, _, of_qk, of_v, dtype, has_sink, which = case
    found = []
    for heads, side, columns in (
        (HEADS, 0, of_qk),
        (KV_HEADS, 1, of_qk),
        (KV_HEADS, 1, of_v),
        (HEADS, 0, of_v),
    ):
        rows = (ROWS, KV_ROWS)[side]
        one = torch.randn(len(USED[0]), rows, heads, columns, device="cuda").to(dtype)
        for i, pair in enumerate(lengths(which)):
            one[i, pair[side] :] = torch.nan
        found.append(one.transpose(1, 2))
    return found, torch.randn(HEADS, device="cuda") if has_sink else None


def poison() -> None:
    """What PyTorch's cache gives next is NaN."""
    blocks = [torch.full((1 << 20,), torch.nan, device="cuda") for _ in range(64)]
    del blocks


def both(tensors: Tensors, sink: Any, function: Any = attention, **options: Any) -> Tensors:
    """o, the LSE, and gradients of q, k, v and a sink."""
    *qkv, do = tensors
    leaves = [one.detach().requires_grad_() for one in (*qkv, *([] if sink is None else [sink]))]
    rest = {} if sink is None else {"sink": leaves[3]}
    o, lse = function(*leaves[:3], return_lse=True, **rest, **options)
    return [o.detach(), lse.detach(), *torch.autograd.grad(o, leaves, do)]


def exact(case: tuple[Any, ...], tensors: Tensors, sink: Any) -> Tensors:
    options, mask, of_qk, _, _, _, which = case
    q, k, v, do = tensors
    lse = torch.full(q.shape[:3], -torch.inf, dtype=torch.float64, device="cuda")
    found = [torch.zeros_like(do, dtype=torch.float64), lse]
    found += [torch.zeros_like(one, dtype=torch.float64) for one in (q, k, v)]
    found += [] if sink is None else [torch.zeros(HEADS, dtype=torch.float64, device="cuda")]
    rest = {"scale": of_qk**-0.5, "mask": mask, "softcap": options.get("softcap"), "sink": sink}
    for i, (rows, columns) in enumerate(lengths(which)):
        if rows and columns:
            of = slice(i, i + 1)
            one = [x[of, :, :n] for x, n in ((q, rows), (k, columns), (v, columns), (do, rows))]
            o, sums = reference.forward(*one[:3], **rest)
            gradients = reference.backward(*one, o, sums, **rest)
            for whole, part in zip(found, (o, sums, *gradients.values())):
                if whole.dim() > 1:
                    whole[of, :, : part.shape[2]] = part
                else:
                    whole += part[0]
        elif rows and sink is not None:
            lse[i, :, :rows] = sink[:, None]
    return found


def error_of(found: torch.Tensor, right: torch.Tensor) -> float:
    """Infinite where one of them is zero or infinite alone."""
    if not torch.equal(found.isinf(), right.isinf()) or found.isnan().any():
        return float("inf")
    found, right = (one.double().nan_to_num(neginf=0) for one in (found, right))
    return ((found - right).norm() / right.norm()).item()


def alone(case: tuple[Any, ...], tensors: Tensors, sink: Any) -> tuple[Tensors, Tensors]:
    """What is used, packed without the rest; and offsets."""
    *_, which = case
    pairs = lengths(which)
    parts = [
        torch.cat([one[i, :, : pair[side]].transpose(0, 1) for i, pair in enumerate(pairs)])
        for one, side in zip(tensors, (0, 1, 1, 0))
    ]
    ends = [numbers([0, *(pair[side] for pair in pairs)]).cumsum(0).int() for side in (0, 1)]
    offsets = {"cu_seqlens_q": ends[0], "cu_seqlens_k": ends[1]}
    return both(parts, sink, **offsets, **case[0]), parts


def used_of(found: Tensors, which: tuple[bool, bool]) -> Tensors:
    """The same of a batch: rows that are used, one behind the other."""
    pairs = lengths(which)
    o, lse, *gradients = found
    sides = (0, 0, 1, 1)
    parts = [
        torch.cat([one[i, :, : pair[side]].transpose(0, 1) for i, pair in enumerate(pairs)])
        for one, side in zip((o, *gradients[:3]), sides)
    ]
    of_lse = torch.cat([lse[i, :, : pair[0]] for i, pair in enumerate(pairs)], 1)
    return [parts[0], of_lse, *parts[1:]]


def check(case: tuple[Any, ...], repeats: int) -> dict[str, Any]:
    options, _, of_qk, of_v, dtype, has_sink, which = case
    tensors, sink = inputs(case)
    poison()
    given = asked(which)
    found = both(tensors, sink, **given, **options)
    names = ("o", "lse", "dq", "dk", "dv", "dsink")
    errors = dict(zip(names, map(error_of, found, exact(case, tensors, sink))))
    packed, _ = alone(case, tensors, sink)
    same = {"packed alone": are_equal(used_of(found, which), packed[:5])}
    q, k, v, do = tensors
    turned = [one.transpose(1, 2) for one in tensors]
    other = both(turned, sink, layout="bshd", **given, **options)
    other = [one.transpose(1, 2) if one.dim() == 4 else one for one in other]
    same["bshd"] = are_equal(other, found)
    same["bhsd"] = are_equal(
        both([one.contiguous() for one in tensors], sink, **given, **options), found
    )
    steps = torch.arange(len(USED[0]) + 1, dtype=torch.int32, device="cuda")
    offsets = {"cu_seqlens_q": steps * ROWS, "cu_seqlens_k": steps * KV_ROWS}
    flat = [one.flatten(0, 1) for one in turned]
    beside = both(flat, sink, **offsets, **given, **options)
    in_list = [
        one.transpose(0, 1).flatten(1, 2)
        if one.dim() == 3
        else one.transpose(1, 2).flatten(0, 1)
        if one.dim() == 4
        else one
        for one in found
    ]
    same["beside offsets"] = are_equal(beside, in_list)
    torch.cuda.set_sync_debug_mode("error")
    try:
        both(tensors, sink, **given, **options)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    for _ in range(repeats):
        poison()
        if not are_equal(both(tensors, sink, **given, **options), found):
            same["repeats"] = False
    torch._dynamo.reset()
    function = torch.compile(attention, fullgraph=True)
    again = both(tensors, sink, function, **given, **options)
    same["compiled"] = are_equal(again[:5], found[:5])  # PyTorch adds up dsink
    return {
        "case": f"{options}, {of_qk}/{of_v}, {dtype}{', sink' * has_sink}, {which}",
        "errors": errors,
        "equal": same | {"repeats": same.get("repeats", True)},
        "explained": str(explain(q, k, v, sink=sink, **given, **options)),
    }


def check_graph() -> dict[str, bool]:
    """Captured once, replayed with other numbers."""
    full = ({"causal": True}, Mask(-1, 0), 128, 128, BF16, False, (False, False))
    tensors, _ = inputs(full)
    place = {"seqused_q": numbers(USED[0]), "seqused_k": numbers(USED[1])}
    both(tensors, None, causal=True, **place)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = both(tensors, None, causal=True, **place)
    equal = {}
    for number in range(4):
        for name, side in (("seqused_q", 0), ("seqused_k", 1)):
            place[name].copy_(numbers(USED[side][number:] + USED[side][:number]))
        graph.replay()
        torch.cuda.synchronize()
        again = both(tensors, None, causal=True, **place)
        equal[f"replay {number}"] = are_equal(found, again)
    return equal


def times() -> dict[str, Any]:
    """Milliseconds of both ways: 8 x 2048 rows, 32 heads over 8 of 128, causal."""
    q, k, v, do = (
        torch.randn(8, 2048, heads, 128, device="cuda").to(BF16) for heads in (32, 8, 8, 32)
    )
    rest = {"layout": "bshd", "causal": True}
    whole, half = (numbers([rows] * 8) for rows in (2048, 1024))
    return device_time(
        {
            "a batch": lambda: both([q, k, v, do], None, **rest),
            "all used": lambda: both([q, k, v, do], None, **rest, seqused_q=whole, seqused_k=whole),
            "half used": lambda: both([q, k, v, do], None, **rest, seqused_q=half, seqused_k=half),
        }
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--repeats", type=int, default=20)
    wrong: list[str] = []

    def checked(case: tuple[Any, ...]) -> dict[str, Any]:
        one = check(case, arguments.repeats)
        wrong.extend(mistakes_in(one, MOST_ERROR, MOST_LSE_ERROR))
        return one

    parts: dict[str, list[Any]] = {
        "cases": [lambda case=case: checked(case) for case in CASES],
        "graph": [check_graph],
        "times": [times],
    }
    add_only(parser, parts)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    found = run_parts(parser, arguments.only, parts)
    record: dict[str, Any] = {"cases": found.get("cases", [])}
    if "graph" in found:
        (record["graph"],) = found["graph"]
        wrong += [name for name, is_equal in record["graph"].items() if not is_equal]
    if "times" in found:
        (record["milliseconds"],) = found["times"]
        print(record["milliseconds"])
    return finish(arguments.json, wrong, **record)


if __name__ == "__main__":
    sys.exit(main())
