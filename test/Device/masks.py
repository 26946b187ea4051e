#!/usr/bin/env python3
"""masks.py --json FILE: `attention` with unions and bitmaps, on this GPU.

O, the LSE and gradients are compared with float64. Equal calls must have equal bytes, beside other
work, in both layouts, compiled, and in a CUDA graph; unions packed and of rows that are used those
of each sequence alone, as level `batch` says. Times of both ways are printed beside causal masks.
`--only` takes some parts, each of which runs in less than a minute. The status is 1 where something
differs.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "python")]

import torch  # noqa: E402
from both_ways import MOST_ERROR, MOST_LSE_ERROR, are_equal, inputs  # noqa: E402
from by_parts import add_only, finish, mistakes_in, run_parts  # noqa: E402
from call_times import device_time  # noqa: E402

from dash_attn import attention, explain, reference  # noqa: E402
from dash_attn.reference import Blocks, Mask, Union  # noqa: E402

BF16, F16 = torch.bfloat16, torch.float16
Tensors = list[torch.Tensor]
STREAMING = Mask(right=0, union=Union(4, 127))
FIRST = Mask(union=Union(200, -1, 0))
WINDOW = Mask(300, 0, union=Union(100, 50))


def bitmap(q: int, kv: int, rows: int, kv_rows: int, **rest: Any) -> Mask:
    """About half of the blocks, and the diagonal."""
    of_q, of_kv = -(-rows // q), -(-kv_rows // kv)
    seen = [
        [(3 * i + 7 * j) % 5 > 2 or i * q // kv == j for j in range(of_kv)] for i in range(of_q)
    ]
    return Mask(blocks=Blocks.of(seen, q, kv), **rest)


# options of attention, mask, head dims, q rows, kv rows, batch, heads, kv heads, element, sink
CASES: list[tuple[Any, ...]] = [
    ({}, STREAMING, 128, 128, 1000, 1000, 2, 4, 2, BF16, False),
    ({"level": "row"}, STREAMING, 64, 64, 777, 900, 1, 4, 1, F16, False),
    ({"softcap": 20.0}, WINDOW, 128, 128, 900, 900, 2, 4, 2, BF16, True),
    ({}, FIRST, 64, 64, 500, 700, 1, 3, 3, BF16, False),
    ({}, STREAMING, 96, 40, 500, 500, 1, 4, 2, BF16, False),
    ({"cut": 256}, STREAMING, 128, 128, 100, 3000, 1, 8, 2, BF16, False),
    ({}, STREAMING, 192, 128, 500, 500, 1, 4, 2, BF16, False),
    ({}, WINDOW, 256, 256, 500, 500, 1, 4, 4, BF16, False),
    ({}, bitmap(128, 128, 1000, 1000), 128, 128, 1000, 1000, 2, 4, 2, BF16, False),
    ({}, bitmap(64, 128, 700, 900, right=0), 64, 64, 700, 900, 1, 4, 1, F16, True),
    ({"level": "batch"}, bitmap(192, 256, 900, 900), 64, 64, 900, 900, 3, 2, 2, BF16, False),
    ({"level": "machine"}, bitmap(64, 128, 500, 500), 128, 128, 500, 500, 2, 4, 2, BF16, False),
    ({}, bitmap(128, 384, 900, 1000), 96, 96, 900, 1000, 1, 4, 2, BF16, False),
    ({}, bitmap(128, 896, 900, 2000, right=0), 192, 128, 900, 2000, 1, 4, 2, BF16, False),
    ({}, bitmap(128, 128, 500, 500), 256, 256, 500, 500, 1, 4, 2, BF16, False),
    ({"cut": 256}, bitmap(64, 128, 64, 3000), 128, 128, 64, 3000, 1, 8, 2, BF16, False),
    (
        {},
        bitmap(128, 128, 900, 900, right=0, union=Union(4, 200)),
        128,
        128,
        900,
        900,
        1,
        4,
        2,
        BF16,
        False,
    ),
]

# Runs of CASES, which take less than a minute each: programs are compiled, too.
PARTS = (("unions", 0, 4), ("head-dims", 4, 8), ("bitmaps", 8, 12), ("wide-bitmaps", 12, 17))


def both(
    tensors: Tensors, do: torch.Tensor, sink: Any = None, function: Any = attention, **options: Any
) -> Tensors:
    given = [one.detach().requires_grad_() for one in (*tensors, *([] if sink is None else [sink]))]
    rest = {} if sink is None else {"sink": given[3]}
    o, lse = function(*given[:3], return_lse=True, **rest, **options)
    return [o.detach(), lse.detach(), *torch.autograd.grad(o, given, do)]


def check(case: tuple[Any, ...], repeats: int) -> dict[str, Any]:
    options, mask, of_qk, of_v, *sizes, dtype, has_sink = case
    tensors = inputs(of_qk, of_v, *sizes, dtype)
    sink = torch.randn(sizes[3], device="cuda") if has_sink else None
    do = torch.randn(*tensors[0].shape[:3], of_v, device="cuda").to(dtype)
    given = options | {"mask": mask}
    found = both(tensors, do, sink, **given)
    rest = {"scale": of_qk**-0.5, "mask": mask, "softcap": options.get("softcap")}
    rest["sink"] = None if sink is None else sink.double()
    doubles = [one.double() for one in tensors]
    o, lse = reference.forward(*doubles, **rest)
    exact = list(reference.backward(*doubles, do.double(), o, lse, **rest).values())
    if sink is not None:
        exact[-1] = exact[-1].sum(0)
    differs = lse != found[1]  # infinities are the same
    errors = {"lse": (lse - found[1])[differs].abs().max().item() if differs.any() else 0.0}
    errors["lse"] /= lse[lse.isfinite()].abs().max().clamp(min=1).item()
    names = ("o", "dq", "dk", "dv", "dsink")
    for name, one, other in zip(names, (found[0], *found[2:]), (o, *exact)):
        errors[name] = ((one - other).norm() / other.norm()).item()
    equal = {}
    noise, stream = torch.randn(4096, 4096, device="cuda"), torch.cuda.Stream()
    equal["repeats"] = True
    for _ in range(repeats):
        with torch.cuda.stream(stream):
            noise @ noise
        equal["repeats"] &= are_equal(both(tensors, do, sink, **given), found)
    turned = [one.transpose(1, 2) for one in (*tensors, do)]
    other = both(turned[:3], turned[3], sink, layout="bshd", **given)
    other = [one.transpose(1, 2) if one.dim() == 4 else one for one in other]
    equal["bshd"] = are_equal(other, found)
    torch._dynamo.reset()
    function = torch.compile(lambda *one, **rest: attention(*one, **rest), fullgraph=True)
    equal["compiled"] = are_equal(both(tensors, do, sink, function, **given)[:5], found[:5])
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        captured = both(tensors, do, sink, **given)
    graph.replay()
    torch.cuda.synchronize()
    equal["in a graph"] = are_equal(captured, found)
    return {
        "case": f"{options}, {mask.name}, {of_qk}/{of_v}, {sizes}, {dtype}{', sink' * has_sink}",
        "errors": errors,
        "equal": equal,
        "explained": str(explain(*tensors, sink=sink, **given)),
    }


def check_lists() -> dict[str, bool]:
    """Each sequence alone, in a list, and as the rows that a batch uses."""
    equal = {}
    lengths, room = (300, 1000, 5, 640), 1024
    ends = torch.tensor([0, *lengths], device="cuda").cumsum(0).int()
    used = torch.tensor(lengths, dtype=torch.int32, device="cuda")
    for mask in (STREAMING, FIRST, WINDOW):
        ones = [inputs(128, 128, rows, rows, 1, 4, 2, BF16) for rows in lengths]
        dos = [torch.randn_like(one[0]) for one in ones]
        rest = {"mask": mask, "level": "batch"}
        alone = [both(one, do, **rest) for one, do in zip(ones, dos)]
        parts = [
            torch.cat([one[0].transpose(0, 1) for one in of]) for of in (*zip(*ones), tuple(dos))
        ]
        packed = both(parts[:3], parts[3], cu_seqlens_q=ends, **rest)
        batch = [
            torch.full((len(lengths), one[0].shape[1], room, 128), torch.nan, device="cuda").to(
                BF16
            )
            for one in (*zip(*ones), tuple(dos))
        ]
        for i, rows in enumerate(lengths):
            for whole, one in zip(batch, (*ones[i], dos[i])):
                whole[i, :, :rows] = one[0]
        padded = both(batch[:3], batch[3], seqused_q=used, seqused_k=used, **rest)
        for i, rows in enumerate(lengths):
            own = slice(int(ends[i]), int(ends[i + 1]))
            o, lse, *gradients = packed
            in_list = [one[own].transpose(0, 1)[None] for one in (o, *gradients)]
            mine = [alone[i][0], *alone[i][2:]]
            equal[f"{mask.name}, {rows} rows packed"] = are_equal(in_list, mine) and are_equal(
                [lse[None, :, own]], alone[i][1:2]
            )
            equal[f"{mask.name}, {rows} rows used"] = are_equal(
                [one[i : i + 1, :, :rows] for one in padded], alone[i]
            )
    return equal


def times() -> dict[str, Any]:
    """Milliseconds of both ways: 2 x 8192 rows, 16 heads over 4 of 128."""
    tensors = inputs(128, 128, 8192, 8192, 2, 16, 4, BF16)
    do = torch.randn_like(tensors[0])
    masks = {
        "causal": Mask(right=0),
        "window of 1023": Mask(1023, 0),
        "4 first columns or a window of 1023": Mask(right=0, union=Union(4, 1023)),
        "a bitmap of 128 x 128, causal": bitmap(128, 128, 8192, 8192, right=0),
    }
    return device_time(
        {name: lambda mask=mask: both(tensors, do, mask=mask) for name, mask in masks.items()}
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
        name: [lambda case=case: checked(case) for case in CASES[begin:end]]
        for name, begin, end in PARTS
    }
    parts |= {"lists": [check_lists], "times": [times]}
    add_only(parser, parts)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    found = run_parts(parser, arguments.only, parts)
    record: dict[str, Any] = {"cases": [one for name, *_ in PARTS for one in found.get(name, [])]}
    if "lists" in found:
        (record["lists"],) = found["lists"]
        wrong += [name for name, is_equal in record["lists"].items() if not is_equal]
    if "times" in found:
        (record["milliseconds"],) = found["times"]
        print(record["milliseconds"])
    return finish(arguments.json, wrong, **record)


if __name__ == "__main__":
    sys.exit(main())
