#!/usr/bin/env python3
"""unrounded.py --json FILE: `attention(delta="unrounded")` beside the default, on this GPU.

Errors of o, dq, dk, dv and dsink beside float64 with both, for problems that gain and ordinary
ones. Equal calls must have equal bytes, beside other work and in a CUDA graph, and packed sequences
those that each has alone at level `batch`. The f32 o, rounded, must be o. Then times: forwards with
a slack of 8 and of 0, with the second output, and both ways. `--only` takes some parts. The status
is 1 where something differs, or an error is larger than with the default.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "python")]

import torch  # noqa: E402
from both_ways import BF16, F16, are_equal, both, inputs, packed  # noqa: E402
from by_parts import add_only, finish, run_parts  # noqa: E402
from call_times import device_time  # noqa: E402

from dash_attn import Kernel, attention, explain, reference  # noqa: E402
from dash_attn.kernel.problem import program_of  # noqa: E402
from dash_attn.reference import Mask, Union  # noqa: E402
from dash_attn.torch.kernels import forward_of  # noqa: E402
from dash_attn.torch.unrounded import launch_unrounded  # noqa: E402

MOST_LARGER = 1.03  # errors with an unrounded o, by those with a rounded one
NAMES = ("o", "dq", "dk", "dv", "dsink")

# name, options of attention, mask, head dims, rows, element, sink, a factor on q
CASES: list[tuple[Any, ...]] = [
    ("window 1, sink -3", {"window": (0, 0)}, Mask(0, 0), (64, 64), 500, BF16, -3.0, 1),
    ("window 2, sink -3", {"window": (1, 0)}, Mask(1, 0), (64, 64), 500, BF16, -3.0, 1),
    ("window 8, sink 0", {"window": (7, 0)}, Mask(7, 0), (128, 128), 500, BF16, 0.0, 1),
    ("window 2", {"window": (1, 0)}, Mask(1, 0), (128, 128), 500, BF16, None, 1),
    ("scores of 8", {}, Mask(), (128, 128), 700, BF16, None, 8),
    ("scores of 8, f16", {"causal": True}, Mask(-1, 0), (64, 64), 700, F16, None, 8),
    ("causal", {"causal": True}, Mask(-1, 0), (128, 128), 1000, BF16, None, 1),
    ("full, machine", {"level": "machine"}, Mask(), (64, 64), 777, BF16, None, 1),
    ("softcap", {"causal": True, "softcap": 20.0}, Mask(-1, 0), (96, 40), 500, BF16, None, 4),
    ("256", {"causal": True}, Mask(-1, 0), (256, 256), 500, BF16, None, 1),
    (
        "union",
        {"mask": Mask(right=0, union=Union(4, 63))},
        Mask(right=0, union=Union(4, 63)),
        (128, 128),
        500,
        BF16,
        None,
        4,
    ),
]


def check(case: tuple[Any, ...]) -> dict[str, Any]:
    name, options, mask, (of_qk, of_v), rows, dtype, of_sink, peak = case
    tensors = inputs(of_qk, of_v, rows, rows, 2, 4, 2, dtype)
    tensors[0] = tensors[0] * peak
    sink = None if of_sink is None else torch.full((4,), of_sink, device="cuda")
    do = torch.randn(*tensors[0].shape[:3], of_v, device="cuda").to(dtype)
    rest = {"scale": of_qk**-0.5, "mask": mask, "softcap": options.get("softcap"), "sink": sink}
    doubles = [one.double() for one in tensors]
    o, lse = reference.forward(*doubles, **rest)
    exact = list(reference.backward(*doubles, do.double(), o, lse, **rest).values())
    if sink is not None:
        exact[-1] = exact[-1].sum(0)
    errors, found = {}, []
    for delta in ("rounded", "unrounded"):
        found = both(tensors, do, sink, delta=delta, **options)
        pairs = zip(NAMES, (found[0], *found[2:]), (o, *exact))
        errors[delta] = {one: ((x - y).norm() / y.norm()).item() for one, x, y in pairs}
    given = options | {"delta": "unrounded"}
    noise, stream = torch.randn(4096, 4096, device="cuda"), torch.cuda.Stream()
    equal = {"repeats": True}
    for _ in range(20):
        with torch.cuda.stream(stream):
            noise @ noise
        equal["repeats"] &= are_equal(both(tensors, do, sink, **given), found)
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        captured = both(tensors, do, sink, **given)
    graph.replay()
    torch.cuda.synchronize()
    equal["in a graph"] = are_equal(captured, found)
    if "mask" not in options:
        left, right = mask.left, mask.right
        outputs = launch_unrounded(*tensors, left, right, of_qk**-0.5, rest["softcap"] or 0.0, sink)
        equal["o is the rounded one"] = are_equal([outputs[2].to(dtype)], found[:1])
    # dsink is a sum of terms that cancel
    larger = [
        one
        for one in ("o", "dq", "dk", "dv")
        if errors["unrounded"][one] > MOST_LARGER * errors["rounded"][one]
    ]
    wrong = [one for one, is_equal in equal.items() if not is_equal] + larger
    print(f"{name}: {errors}{f', WRONG: {wrong}' if wrong else ''}", flush=True)
    return {
        "case": name,
        "errors": errors,
        "equal": equal,
        "wrong": [f"{name}: {one}" for one in wrong],
        "explained": str(explain(*tensors, sink=sink, **given)),
    }


def check_lists() -> dict[str, bool]:
    """Packed beside NaN, and alone, at level `batch`."""
    equal = {}
    lengths = (300, 1000, 5, 640)
    ones = [inputs(128, 128, rows, rows, 1, 4, 2, BF16) for rows in lengths]
    dos = [torch.randn_like(one[0]) for one in ones]
    rest = {"causal": True, "level": "batch", "delta": "unrounded"}
    tensors, cu = packed(ones)
    upstream = torch.zeros_like(tensors[0])
    upstream[int(cu[0]) : int(cu[-1])] = torch.cat([one[0].transpose(0, 1) for one in dos])
    o, lse, *gradients = both(tensors, upstream, cu_seqlens_q=cu, **rest)
    for i, rows in enumerate(lengths):
        own = slice(int(cu[i]), int(cu[i + 1]))
        alone = both(ones[i], dos[i], **rest)
        mine = [one[own].transpose(0, 1)[None] for one in (o, *gradients)]
        equal[f"{rows} rows"] = are_equal(mine, [alone[0], *alone[2:]]) and are_equal(
            [lse[None, :, own]], alone[1:2]
        )
    return equal


def times() -> dict[str, Any]:
    """Milliseconds for 16384 tokens of 16 heads of 128, or 32 of 64, in sequences of 4096."""
    found = {}
    for head_dim in (64, 128):
        heads = 2048 // head_dim
        for name, window in (("causal", (-1, 0)), ("full", (-1, -1))):
            tensors = inputs(head_dim, head_dim, 4096, 4096, 4, heads, heads, BF16)
            do, causal = torch.randn_like(tensors[0]), name == "causal"
            o, lse = torch.empty_like(tensors[0]), torch.empty(tensors[0].shape[:3], device="cuda")
            unrounded = torch.empty_like(o, dtype=torch.float32)
            wanted = forward_of(*tensors, window, "bhsd")
            text, options, program = program_of(wanted._replace(sizes=()))
            tight = Kernel.compile(text, f"{options} slack=0", name=program)
            text, options, program = program_of(wanted._replace(sizes=(), is_unrounded=True))
            twice = Kernel.compile(text, options, name=program)
            variants = {
                "forward": lambda: attention(*tensors, causal=causal),
                "slack of 0": tight.bind_forward(*tensors, o, lse).run,
                "o twice": twice.bind_forward(*tensors, o, lse, unrounded=unrounded).run,
            }
            for delta in ("rounded", "unrounded"):
                variants[f"both ways, {delta}"] = lambda delta=delta: both(
                    tensors, do, causal=causal, delta=delta
                )
            found[f"{head_dim} {name}"] = device_time(variants)
            print(f"{head_dim} {name}: {found[f'{head_dim} {name}']}", flush=True)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path)
    half = len(CASES) // 2
    parts: dict[str, list[Any]] = {
        "narrow": [lambda case=case: check(case) for case in CASES[:half]],
        "wide": [lambda case=case: check(case) for case in CASES[half:]],
        "lists": [check_lists],
        "times": [times],
    }
    add_only(parser, parts)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    found = run_parts(parser, arguments.only, parts)
    cases = [*found.get("narrow", []), *found.get("wide", [])]
    wrong = [one for case in cases for one in case.pop("wrong")]
    record: dict[str, Any] = {"cases": cases}
    if "lists" in found:
        (record["lists"],) = found["lists"]
        wrong += [name for name, is_equal in record["lists"].items() if not is_equal]
    if "times" in found:
        (record["milliseconds"],) = found["times"]
    return finish(arguments.json, wrong, **record)


if __name__ == "__main__":
    sys.exit(main())
