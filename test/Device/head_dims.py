#!/usr/bin/env python3
"""head_dims.py [--record FILE] [--filter TEXT]: gradients at every head dim that kernels have, and
attention() at some, on a GPU. --filter: only what has TEXT in its name, as `attention apart` is
attention() with a v of another head dim than q and k; no speeds then.

For each head dim and mask, and for v at other head dims than q and k: errors beside float64 as in
accuracy.py, on poisoned outputs and workspaces; bits of repeats; and memory beside each row, which
no kernel may write, and whose NaN none may read. For attention(): o and gradients beside float64,
and bits of repeats, of batches, sinks, lists of sequences, PyTorch's own attention with the
drop-in, and JAX. Then, at 96, speed beside cuDNN's, which nothing fails by. Kernels are compiled
here, by libdash, in processes beside each other.
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import os
import statistics
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parents[1] / "python")]

import torch  # noqa: E402
from accuracy import BESIDE_ROUNDING, NOISE, yardstick  # noqa: E402
from group import demand  # noqa: E402
from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402
from torch.nn.functional import scaled_dot_product_attention  # noqa: E402

import dash_attn  # noqa: E402
from dash_attn import Kernel, attention, reference  # noqa: E402
from dash_attn.reference import CAUSAL, FULL, Mask  # noqa: E402
from dash_attn.support.records import write_record  # noqa: E402
from dash_attn.measure.testing import (
    OUTPUTS,
    Case,
    differences,
    emulated_backward,
    errors,
    make_inputs,
    poison,
    poison_workspace,
    references,
    run,  # noqa: E402
    wrong_words,
)

PROGRAM = """!q = memref<?x?x?x{d}x{element}, strided<[?, ?, ?, 1], offset: ?>>
!v = memref<?x?x?x{dv}x{element}, strided<[?, ?, ?, 1], offset: ?>>
!row = memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>
func.func @bwd(%q: !q, %k: !q, %v: !v, %do: !v, %o: !v, %lse: !row, %dq: !q, %dk: !q, %dv: !v, %scale: f32) {{
  dash.attention_bwd ins(%q, %k, %v, %do, %lse, o = %o : !q, !q, !v, !v, !row, !v) outs(%dq, %dk, %dv : !q, !q, !v)
      mask(<{mask}>) level(run) scale(%scale)
  return
}}
"""
WINDOW = Mask(100, 0)
SHAPES = ((300, 300, 2, 6, 2, "padded"), (1, 200, 2, 4, 4, "bshd"), (1000, 500, 1, 4, 1, "bhsd"))
REPEATS, PROCESSES = 20, 12
PADS = {"q", "k", "v", "do", "o"}


class One(NamedTuple):
    head_dim: int
    head_dim_v: int
    mask: Mask
    element: str
    options: str

    @property
    def name(self) -> str:
        return f"{self.head_dim}/{self.head_dim_v} {self.mask.name} {self.element} {self.options}"


def problems() -> list[One]:
    every = range(8, 129, 8)
    found = [
        One(d, d, mask, "bf16", f"kind={kind}")
        for d in every
        for mask, kind in ((FULL, "shift"), (CAUSAL, "symmetric-shift"))
    ]
    found += [One(d, d, WINDOW, "f16", "kind=ascending") for d in (24, 72, 96)]
    apart = ((128, 64), (64, 128), (96, 72), (24, 80), (40, 16), (120, 8))
    found += [One(d, dv, CAUSAL, "bf16", "kind=symmetric-shift") for d, dv in apart]
    found += [
        One(d, dv, CAUSAL, "bf16", f"kind=ascending {rest}")
        for d, dv in ((96, 96), (80, 40))
        for rest in ("parts=2 sizes=heads:2,kv-heads:1", "apart=all")
    ]
    return found


def compiled(one: One) -> Kernel:
    return Kernel.compile(
        PROGRAM.format(d=one.head_dim, dv=one.head_dim_v, element=one.element, mask=one.mask.text),
        one.options,
    )


def guarded(tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The memory that each tensor is a view of, as a flat tensor."""
    return {
        name: torch.as_strided(
            tensor, (tensor.untyped_storage().nbytes() // tensor.element_size(),), (1,), 0
        )
        for name, tensor in tensors.items()
        if name in PADS | set(OUTPUTS)
    }


def surround(tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Fills what lies beside rows with NaN; the memory as it is then."""
    kept = {name: tensors[name].clone() for name in PADS | set(OUTPUTS)}
    whole = guarded(tensors)
    for flat in whole.values():
        flat.fill_(float("nan"))
    for name, values in kept.items():
        tensors[name].copy_(values)
    return whole


def check(one: One) -> dict[str, Any]:
    began = time.monotonic()
    kernel, record = compiled(one), {"name": one.name}
    for seed, (q_rows, kv_rows, batch, heads, kv_heads, memory) in enumerate(SHAPES):
        if "parts=2" in one.options and heads // kv_heads % 2:
            continue
        case = Case(
            one.head_dim,
            one.mask,
            q_rows,
            kv_rows,
            batch,
            heads,
            kv_heads,
            memory,
            seed,
            one.element,
            head_dim_v=one.head_dim_v,
        )
        tensors = make_inputs(case)
        whole = surround(tensors)
        poison_workspace(kernel, case)
        found = run(kernel, case, tensors, stream=0)
        torch.cuda.synchronize()
        demand(
            all(bool(torch.isfinite(value).all()) for value in found.values()),
            f"{case.name}: elements are not finite",
        )
        demand(
            not wrong_words(kernel),
            f"{case.name}: a counter is not at its end afterwards: {wrong_words(kernel)}",
        )
        for name in OUTPUTS:  # what is beside rows is NaN still
            beside = whole[name].clone()
            torch.as_strided(
                beside, tensors[name].shape, tensors[name].stride(), tensors[name].storage_offset()
            ).fill_(float("nan"))
            demand(
                bool(beside.isnan().all()), f"{case.name}: memory beside rows of {name} was written"
            )
        exact = references(case, tensors)
        ours = errors(found, *exact)
        peer, theirs, allowed = yardstick(case, tensors, exact)
        worse = [
            f"{name} {ours[name]:.3e} against {theirs[name]:.3e} of {peer}"
            for name in ours
            if ours[name] > max(allowed * theirs[name], NOISE)
        ]
        demand(
            not worse,
            f"{case.name}: expected at most {allowed} times the peer's error, found "
            + ", ".join(worse),
        )
        record[case.name] = {"ours": ours, "theirs": theirs, "peer": peer}
        for turn in range(REPEATS):
            poison(tensors)
            poison_workspace(kernel, case, byte=turn)
            again = run(kernel, case, tensors, stream=0)
            demand(
                not differences(again, found),
                f"{case.name}: repeat {turn}: {differences(again, found)}",
            )
    return record | {"seconds": round(time.monotonic() - began, 1)}


class Both(NamedTuple):
    """attention() both ways. way: "batch", "sink", "list", "drop-in" of PyTorch's attention by
    cuDNN, or "jax"."""

    head_dim: int
    head_dim_v: int
    mask: Mask
    way: str

    @property
    def name(self) -> str:
        apart = f"apart {self.head_dim}/{self.head_dim_v}"
        dims = apart if self.head_dim_v != self.head_dim else str(self.head_dim)
        return f"attention {dims} {self.way} {self.mask.name}"


LENGTHS = (300, 77, 128, 517)  # of a list
APART = ((128, 64), (64, 128), (96, 128), (48, 40))


def attentions() -> list[Both]:
    found = [
        Both(head_dim, head_dim, mask, "batch")
        for head_dim in (40, 72, 96, 112)
        for mask in (FULL, CAUSAL, WINDOW)
    ]
    found += [
        Both(head_dim, head_dim, mask, way)
        for head_dim in (24, 72, 96, 120)
        for mask in (CAUSAL, WINDOW)
        for way in ("sink", "list", "jax")
    ]
    found += [
        Both(*dims, mask, way)
        for dims in APART
        for mask in (FULL, CAUSAL, WINDOW)
        for way in ("batch", "sink", "list", "jax")
    ]
    return found + [Both(*dims, mask, "drop-in") for dims in APART for mask in (FULL, CAUSAL)]


def cases(one: Both) -> list[Case]:
    """The batch, or each sequence of the list."""
    sizes = [(rows, 1) for rows in LENGTHS] if one.way == "list" else [(300, 2)]
    return [
        Case(
            one.head_dim,
            one.mask,
            rows,
            rows,
            batch,
            4,
            2,
            seed=7 + number,
            has_sink=one.way == "sink",
            head_dim_v=one.head_dim_v,
        )
        for number, (rows, batch) in enumerate(sizes)
    ]


def both_ways(one: Both, inputs: list[dict[str, torch.Tensor]]) -> list[dict[str, torch.Tensor]]:
    """o and gradients of each case."""
    mask = {FULL: {}, CAUSAL: {"causal": True}}.get(
        one.mask, {"window": (one.mask.left, one.mask.right)}
    )
    if one.way == "list":
        rows = torch.tensor([0, *LENGTHS], device="cuda", dtype=torch.int32)
        offsets = rows.cumsum(0).int()
        q, k, v, do = (
            torch.cat([each[name][0].transpose(0, 1) for each in inputs])
            for name in ("q", "k", "v", "do")
        )
        leaves = [tensor.requires_grad_() for tensor in (q, k, v)]
        o = attention(*leaves, cu_seqlens_q=offsets, max_seqlen_q=max(LENGTHS), **mask)
        whole = [o.detach(), *torch.autograd.grad(o, leaves, do)]
        parts = zip(*(tensor.split(LENGTHS) for tensor in whole))
        return [
            {name: part.transpose(0, 1)[None] for name, part in zip(("o", *OUTPUTS), each)}
            for each in parts
        ]
    (given,) = inputs
    q, k, v, do = (given[name].detach() for name in ("q", "k", "v", "do"))
    if one.way == "jax":
        # Else JAX takes most of the memory, beside the other processes.
        os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
        import jax

        from dash_attn.jax import attention as of_jax

        arrays = [jax.numpy.from_dlpack(tensor.contiguous()) for tensor in (q, k, v, do)]
        o, pull = jax.vjp(lambda *given: of_jax(*given, **mask), *arrays[:3])
        made = [o, *pull(arrays[3])]
        jax.block_until_ready(made)
        return [dict(zip(("o", *OUTPUTS), map(torch.from_dlpack, made)))]
    leaves = [tensor.requires_grad_() for tensor in (q, k, v)]
    if one.way == "drop-in":
        with dash_attn.enable() as enabled, sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            served = sum(enabled.served.values())
            o = scaled_dot_product_attention(*leaves, is_causal=one.mask == CAUSAL, enable_gqa=True)
            gradients = torch.autograd.grad(o, leaves, do)
            demand(
                sum(enabled.served.values()) == served + 2,
                f"{one.name}: expected dash both ways, found {dict(enabled.left)}",
            )
    else:
        o = attention(*leaves, sink=given.get("sink"), **mask)
        gradients = torch.autograd.grad(o, leaves, do)
    return [dict(zip(("o", *OUTPUTS), (o.detach(), *gradients)))]


def check_attention(one: Both) -> dict[str, Any]:
    """Errors beside those of the roundings that every kernel does, and equal bits of all calls."""
    problems = cases(one)
    inputs = [make_inputs(case) for case in problems]
    first = both_ways(one, inputs)
    record: dict[str, Any] = {"name": one.name}
    for case, tensors, found in zip(problems, inputs, first):
        exact = [
            {name: gradients[name] for name in OUTPUTS} for gradients in references(case, tensors)
        ]
        ours = errors({name: found[name] for name in OUTPUTS}, *exact)
        emulated = emulated_backward(case, tensors)
        theirs = errors({name: emulated[name] for name in OUTPUTS}, *exact)
        o, _ = reference.forward(*(tensors[name] for name in "qkv"), **case.options(tensors))
        ours["o"], theirs["o"] = (
            reference.relative_error(value, o, o) for value in (found["o"], o.to(case.dtype))
        )
        # o of a sink is rounded twice.
        allowed = {"o": 2 * BESIDE_ROUNDING}
        worse = [
            f"{name} {ours[name]:.3e} against {theirs[name]:.3e}"
            for name in ours
            if not ours[name] <= max(allowed.get(name, BESIDE_ROUNDING) * theirs[name], NOISE)
        ]
        demand(
            not worse,
            f"{case.name}: expected at most {BESIDE_ROUNDING} times the error of rounding, found "
            + ", ".join(worse),
        )
        record[case.name] = {"ours": ours, "theirs": theirs}
    for turn in range(REPEATS):
        for again, found in zip(both_ways(one, inputs), first):
            demand(
                not differences(again, found),
                f"{one.name}: repeat {turn}: {differences(again, found)}",
            )
    return record


def outcome(one: One | Both) -> dict[str, Any]:
    try:
        return check(one) if isinstance(one, One) else check_attention(one)
    except Exception as error:
        return {"name": one.name, "failed": f"{type(error).__name__}: {str(error)[:600]}"}


def milliseconds(call: Any, rounds: int = 15) -> float:
    times = []
    for _ in range(rounds):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        call()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    return statistics.median(times)


def speed(head_dim: int, mask: Mask, rows: int) -> dict[str, Any]:
    heads = 2048 // head_dim
    case = Case(head_dim, mask, rows, rows, 16384 // rows, heads, heads)
    q, k, v, do = (
        torch.randn(case.batch, heads, rows, head_dim, device="cuda", dtype=case.dtype)
        for _ in range(4)
    )
    made = torch.ops.aten._scaled_dot_product_cudnn_attention(
        q, k, v, None, True, 0.0, mask == CAUSAL, False
    )
    o, lse = made[0], made[1].reshape(case.batch, heads, rows)
    outputs = {name: torch.empty_like(q) for name in OUTPUTS}
    operations = 10 * case.batch * heads * rows * rows * head_dim * (0.5 if mask == CAUSAL else 1)

    def theirs() -> None:
        torch.ops.aten._scaled_dot_product_cudnn_attention_backward(
            do,
            q,
            k,
            v,
            o,
            made[1],
            made[6],
            made[7],
            None,
            made[2],
            made[3],
            made[4],
            made[5],
            0.0,
            mask == CAUSAL,
        )

    row: dict[str, Any] = {"head_dim": head_dim, "mask": mask.name, "rows": rows}
    theirs()
    kernel = compiled(
        One(
            head_dim,
            head_dim,
            mask,
            "bf16",
            "kind=symmetric-shift" if mask == CAUSAL else "kind=shift",
        )
    )

    def ours() -> None:
        kernel.backward(q, k, v, do, o, lse, **outputs)

    ours()
    milliseconds(ours), milliseconds(theirs)  # warm
    return row | {
        name: round(operations / milliseconds(call) / 1e9, 1)
        for name, call in (("dash", ours), ("cudnn", theirs))
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--record", type=Path, help="JSON with each problem's errors and the speeds"
    )
    parser.add_argument("--only-speed", action="store_true")
    parser.add_argument("--filter", default="", help="only problems with this in their names")
    arguments = parser.parse_args()
    results: list[dict[str, Any]] = []
    if not arguments.only_speed:
        with ProcessPoolExecutor(
            PROCESSES, multiprocessing.get_context("spawn"), max_tasks_per_child=1
        ) as pool:
            wanted = [one for one in problems() + attentions() if arguments.filter in one.name]
            for result in pool.map(outcome, wanted):
                results.append(result)
                if "failed" in result:
                    print(f"FAILED {result['name']}: {result['failed']}", flush=True)
    sizes = [] if arguments.filter else itertools.product((CAUSAL, FULL), (1024, 4096, 16384))
    speeds = [speed(96, mask, rows) for mask, rows in sizes]
    for row in speeds:
        print(json.dumps(row), flush=True)
    failed = sum("failed" in result for result in results)
    print(f"{torch.cuda.get_device_name()}: {len(results) - failed} passed, {failed} failed")
    if arguments.record:
        write_record(
            arguments.record,
            {"device": torch.cuda.get_device_name(), "results": results, "speeds": speeds},
        )
    return failed != 0 or not (results or speeds)


if __name__ == "__main__":
    sys.exit(main())
