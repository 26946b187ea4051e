"""Measures attention by each framework's own call, or a bundle's kernels: python3 -m dash_attn.bench [BUNDLE] --json FILE --svg FILE

Without a bundle: forward and backward of dash_attn.attention, of PyTorch's attention by each backend, and of flash-attn where it is
installed, on shapes that people have; time, memory and the host's time; with --backward the backward passes alone, of few heads and short
problems, replayed out of CUDA graphs. With a bundle: its kernels beside PyTorch's backward passes.

One process, a GPU of its own. For each problem all variants run once per round, in a random order; times are medians of rounds, by
CUDA events around the whole of it (of a backward pass: preparation, main kernel, conversion; what makes an order runs when sizes change, as in
use, so before). The stream is kept busy while the host launches. L2 is not flushed unless asked for: at 16384 tokens the
tensors are larger than it. TFLOP/s count 2.5 * 4 * batch * heads * rows^2 * head_dim operations, half where causal, and
the part that is seen in a window.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from . import bench_graphs
from .bench_calls import measure_calls, shapes
from .bench_picture import draw, draw_calls
from .bench_report import print_calls, print_table, problem_of
from .bundle import Bundle, BundledKernel, commit
from .commands import parser_of, run
from .errors import DriverError, ManifestError
from .files import write_text
from .runtime import Kernel
from .records import write_record
from .reference import CAUSAL, FULL, Mask
from .testing import OUTPUTS, Case, allocate, flash_arguments, sizes_of
from .timing import Variant, measure, summary

TOKENS, HIDDEN = 16384, 2048
LENGTHS = (512, 1024, 2048, 4096, 8192, 16384)
BEST_FIXED = {"full": "shift", "causal": "symmetric-shift"}  # the fixed order that is best on a mask, on most lengths
PEERS = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION}
BASELINES = Path(__file__).with_name("baselines.json")


def problems(lengths: list[int], head_dims: list[int], masks: list[str]) -> list[Case]:
    return [Case(head_dim, Mask.named(mask), rows, rows, TOKENS // rows, HIDDEN // head_dim, HIDDEN // head_dim)
            for head_dim in head_dims for mask in masks for rows in lengths]


def kernels_of(bundle: Bundle, case: Case) -> list[BundledKernel]:
    """Those that serve the problem: one of each kind, in one part."""
    return [bundled for bundled in bundle.kernels
            if bundled.head_dim == case.head_dim and bundled.mask == case.mask and bundled.element == case.element and bundled.parts == 1 and
            bundled.serves(sizes_of(case))]


def best_fixed(bundle: Bundle, case: Case) -> BundledKernel:
    """That of the fixed order that is best on its mask. Raises ManifestError if the bundle lacks it."""
    for bundled in kernels_of(bundle, case):
        if bundled.kind == BEST_FIXED.get(case.mask.name):
            return bundled
    kinds = ", ".join(f"{mask}: {kind}" for mask, kind in BEST_FIXED.items())
    raise ManifestError(f"{bundle.path}: expected a kernel for {case.name} of the fixed kind that is best on its mask ({kinds}), found none")


def make_tensors(case: Case, backends: dict[str, SDPBackend] = PEERS,
                 ) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    """Random inputs, o and LSE of PyTorch's forward, and for each peer that serves the case its o."""
    torch.manual_seed(case.seed)
    tensors = allocate(case, ("q", "k", "v", "do", *OUTPUTS), "cuda")
    for name in ("q", "k", "v", "do"):
        tensors[name].normal_()
    q, k, v = (tensors[name].requires_grad_() for name in ("q", "k", "v"))
    # It takes no windows, and aligns causal masks at the top left.
    is_theirs = case.mask == FULL or case.mask == CAUSAL and case.q_rows == case.kv_rows
    peers = {}
    for name, backend in backends.items() if is_theirs else ():
        try:
            with sdpa_kernel(backend):
                peers[name] = F.scaled_dot_product_attention(q, k, v, is_causal=case.mask == CAUSAL, enable_gqa=case.heads != case.kv_heads)
            torch.autograd.grad(peers[name], (q, k, v), tensors["do"], retain_graph=True)
        except RuntimeError as error:
            print(f"  {name}: {str(error).splitlines()[0]}")
            peers.pop(name, None)
    inputs = [tensors[name].detach().transpose(1, 2) for name in ("q", "k", "v")]
    rest, options = flash_arguments(case)
    o, lse = torch.ops.aten._flash_attention_forward(*inputs, *rest, False, **options)[:2]
    return tensors | {"o": o.transpose(1, 2), "lse": lse.contiguous()}, peers


def make_variants(case: Case, kernels: list[tuple[BundledKernel, Kernel]]) -> list[Variant]:
    tensors, peers = make_tensors(case)
    inputs = tuple(tensors[name] for name in ("q", "k", "v"))
    detached = {name: tensor.detach() for name, tensor in tensors.items()}
    variants = []
    for bundled, kernel in kernels:
        launch = kernel.bind(**detached, scale=case.scale)
        name = bundled.kind + ("" if bundled.is_deterministic else " (nd)")
        variants.append(Variant(name, launch.run, launch=launch))
    for name, o in peers.items():
        variants.append(Variant(f"{name} (nd)", lambda o=o: torch.autograd.grad(o, inputs, detached["do"], retain_graph=True)))
    if not peers:
        variants.append(Variant("flash (nd)", flash_of(case, detached)))
    return variants


def flash_of(case: Case, tensors: dict[str, torch.Tensor]) -> Callable[[], Any]:
    """FlashAttention-2's backward by its operator, which knows windows."""
    rest, options = flash_arguments(case)
    q, k, v, do, o = (tensors[name].transpose(1, 2) for name in ("q", "k", "v", "do", "o"))
    made = torch.ops.aten._flash_attention_forward(q, k, v, *rest, False, **options)
    return partial(torch.ops.aten._flash_attention_backward, do, q, k, v, o, tensors["lse"], *rest, made[2], made[3], **options)


def geometric_means(results: list[dict[str, Any]], baselines: dict[str, Any]) -> dict[str, dict[str, float]]:
    """For each variant: mean ratio to each column of the baselines, and to cuDNN in this process, over the problems it ran."""
    cudnn = {problem_of(result): result["tflops"] for result in results if result["variant"].startswith("cudnn")}
    known = {(row["head_dim"], row["mask"], row["rows"]): row for row in baselines["rows"]}
    columns = [column for column in baselines["rows"][0] if column not in ("head_dim", "mask", "rows")]
    means: dict[str, dict[str, float]] = {}
    for variant in dict.fromkeys(result["variant"] for result in results):
        mine = [(result["tflops"], known.get((result["head_dim"], result["mask"], result["rows"])))
                for result in results if result["variant"] == variant]
        pairs = [(tflops, row) for tflops, row in mine if row]
        if pairs:
            means[variant] = {column: math.exp(statistics.fmean(math.log(tflops / row[column]) for tflops, row in pairs))
                              for column in columns} | {"problems": len(pairs)}
            here = [math.log(result["tflops"] / cudnn[problem_of(result)]) for result in results
                    if result["variant"] == variant and problem_of(result) in cudnn]
            if here:
                means[variant]["cudnn_here"] = math.exp(statistics.fmean(here))
    return means


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = parser_of("bench", __doc__)
    parser.add_argument("bundle", type=Path, nargs="?", help="of tools/make-device-bundle")
    parser.add_argument("--shapes", default="", help="without a bundle: only those with this in their name, such as 8k")
    parser.add_argument("--backward", action="store_true",
                        help="without a bundle: backward passes alone, of few heads and short problems, replayed out of CUDA graphs")
    parser.add_argument("--kinds", default="", help="only these, with commas between")
    parser.add_argument("--lengths", default=",".join(map(str, LENGTHS)))
    parser.add_argument("--head-dims", default="128,64")
    parser.add_argument("--masks", default="full,causal", help="and those such as window-512-0")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=420, help="begin no further problem after so many")
    parser.add_argument("--flush", action="store_true", help="write 256 MB before each measurement, so that L2 holds no tensor")
    parser.add_argument("--seed", type=int, default=0, help="of the order in which variants run")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--svg", type=Path)
    return parser.parse_args(arguments)


def main(argv: list[str] | None = None) -> int:
    arguments = parse(argv)
    return run("bench", lambda: bench(arguments))


def bench(arguments: argparse.Namespace) -> int:
    if not torch.cuda.is_available():
        raise DriverError("expected a GPU, found none")
    if arguments.backward and arguments.bundle:
        raise ValueError("expected --backward without a bundle, whose kernels are backward passes alone")
    return of_calls(arguments) if arguments.bundle is None else of_bundle(arguments)


def about(arguments: argparse.Namespace, left_out: list[str]) -> dict[str, Any]:
    return {"date": time.strftime("%Y-%m-%d"), "gpu": torch.cuda.get_device_name(), "torch": torch.__version__,
            "cudnn": torch.backends.cudnn.version(), "l2_flushed": arguments.flush, "rounds": arguments.rounds, "left_out": left_out}


def of_calls(arguments: argparse.Namespace) -> int:
    from tqdm import tqdm

    begun, generator = time.monotonic(), random.Random(arguments.seed)
    flush = torch.empty(256 << 20, dtype=torch.uint8, device="cuda") if arguments.flush else None
    results: list[dict[str, Any]] = []
    known = bench_graphs.shapes() if arguments.backward else shapes()
    wanted = {name: case for name, case in known.items() if arguments.shapes in name}
    if not wanted:
        raise ValueError(f"expected one of {'; '.join(known)}, found '{arguments.shapes}'")
    left_out = list(wanted)
    record = {"commit": commit(), **about(arguments, left_out), "results": results}
    for name, case in (progress := tqdm(wanted.items(), disable=None)):
        progress.set_description(name)
        if time.monotonic() - begun > arguments.seconds:
            break
        results += measure_calls(name, case, arguments.rounds, flush, generator, bench_graphs.replays_of if arguments.backward else None)
        left_out.remove(name)
        if arguments.json:  # each time: whoever ends it early has what was measured
            write_record(arguments.json, record)
        torch.cuda.empty_cache()
    print_calls(results, "the backward pass" if arguments.backward else "both ways")
    if left_out:
        print(f"no time was left for {', '.join(left_out)}")
    if arguments.svg:
        write_text(arguments.svg, draw_calls(record))
    return 0


def of_bundle(arguments: argparse.Namespace) -> int:
    bundle, begun, generator = Bundle.open(arguments.bundle), time.monotonic(), random.Random(arguments.seed)
    kinds = set(arguments.kinds.split(",")) - {""}
    loaded: dict[str, Kernel] = {}
    flush = torch.empty(256 << 20, dtype=torch.uint8, device="cuda") if arguments.flush else None
    results: list[dict[str, Any]] = []
    left_out: list[str] = []
    for case in problems([int(length) for length in arguments.lengths.split(",")],
                         [int(size) for size in arguments.head_dims.split(",")], arguments.masks.split(",")):
        if time.monotonic() - begun > arguments.seconds:
            left_out.append(case.name)
            continue
        kernels = [bundled for bundled in kernels_of(bundle, case) if not kinds or bundled.kind in kinds]
        for bundled in kernels:
            if bundled.name not in loaded:
                loaded[bundled.name] = Kernel.load(bundled.path)
        variants = make_variants(case, [(bundled, loaded[bundled.name]) for bundled in kernels])
        measure(variants, arguments.rounds, flush, generator)
        found = [summary(case, variant) for variant in variants]
        results += found
        print(f"{case.name}: " + ", ".join(f"{item['variant']} {item['tflops']:.0f}" for item in found), flush=True)
        del variants
        torch.cuda.empty_cache()
    baselines = json.loads(BASELINES.read_text(encoding="utf-8"))
    means = geometric_means(results, baselines)
    print_table(results, baselines, means)
    if left_out:
        print(f"no time was left for {', '.join(left_out)}")
    record = {"commit": bundle.commit, **about(arguments, left_out), "geometric_means": means, "results": results}
    if arguments.json:
        write_record(arguments.json, record)
    if arguments.svg:
        write_text(arguments.svg, draw(record, baselines))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
