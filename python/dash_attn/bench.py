"""Measures attention by each framework's own call, or a bundle's kernels: python3 -m
dash_attn.bench [BUNDLE] --json FILE --svg FILE

Without a bundle: forward and backward of dash_attn.attention, of PyTorch's attention by each
backend, and of flash-attn where it is installed, on shapes that people have; time, memory and
the host's time; with --backward the backward passes alone, of few heads and short problems,
replayed out of CUDA graphs. With a bundle: its kernels beside PyTorch's backward passes.

One process, a GPU of its own. For each problem all variants run once per round, in a random
order; times are medians of rounds, by CUDA events around the whole of it (of a backward pass:
preparation, main kernel, conversion; what makes an order runs when sizes change, as in use, so
before). The stream is kept busy while the host launches. L2 is not flushed unless asked for: at
16384 tokens the tensors are larger than it. TFLOP/s count 2.5 * 4 * batch * heads * rows^2 *
head_dim operations, half where causal, and the part that is seen in a window.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import random
import time
from pathlib import Path
from typing import Any

from .errors import ArgumentError, DriverError
from .kernel.commands import parser_of, run
from .kernel.runtime import Kernel
from .measure.bundle import Bundle, commit
from .measure.picture import draw, draw_calls
from .measure.report import print_calls, print_table
from .support.files import write_text
from .support.records import write_record

__all__ = ["main"]

# What measures needs PyTorch, and is imported where it is called: the command says its version and
# its arguments without.
LENGTHS = (512, 1024, 2048, 4096, 8192, 16384)


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = parser_of("bench", __doc__)
    parser.add_argument("bundle", type=Path, nargs="?", help="of tools/make-device-bundle")
    parser.add_argument(
        "--shapes",
        default="",
        help="without a bundle: only those with this in their name, such as 8k",
    )
    parser.add_argument(
        "--backward",
        action="store_true",
        help=(
            "without a bundle: backward passes alone, of few heads and short problems, replayed out"
            " of CUDA graphs"
        ),
    )
    parser.add_argument("--kinds", default="", help="only these, with commas between")
    parser.add_argument("--lengths", default=",".join(map(str, LENGTHS)))
    parser.add_argument("--head-dims", default="128,64")
    parser.add_argument("--masks", default="full,causal", help="and those such as window-512-0")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument(
        "--seconds", type=float, default=420, help="begin no further problem after so many"
    )
    parser.add_argument(
        "--flush",
        action="store_true",
        help="write 256 MB before each measurement, so that L2 holds no tensor",
    )
    parser.add_argument("--seed", type=int, default=0, help="of the order in which variants run")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--svg", type=Path)
    return parser.parse_args(arguments)


def main(argv: list[str] | None = None) -> int:
    """The command; argv without its name, that of the process if None. Returns the exit status."""
    arguments = parse(argv)
    return run("bench", lambda: bench(arguments))


def bench(arguments: argparse.Namespace) -> int:
    wanted = ("torch", "tqdm") if arguments.bundle is None else ("torch",)
    missing = [name for name in wanted if importlib.util.find_spec(name) is None]
    if missing:
        raise ArgumentError(f"measuring needs {' and '.join(missing)}: install dash-attn[bench]")
    import torch

    if not torch.cuda.is_available():
        raise DriverError("expected a GPU, found none")
    if arguments.backward and arguments.bundle:
        raise ValueError(
            "expected --backward without a bundle, whose kernels are backward passes alone"
        )
    return of_calls(arguments) if arguments.bundle is None else of_bundle(arguments)


def about(arguments: argparse.Namespace, left_out: list[str]) -> dict[str, Any]:
    import torch

    return {
        "date": time.strftime("%Y-%m-%d"),
        "gpu": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "cudnn": torch.backends.cudnn.version(),
        "l2_flushed": arguments.flush,
        "rounds": arguments.rounds,
        "left_out": left_out,
    }


def of_calls(arguments: argparse.Namespace) -> int:
    import torch
    from tqdm import tqdm

    from .measure import graphs
    from .measure.calls import measure_calls, shapes

    begun, generator = time.monotonic(), random.Random(arguments.seed)
    flush = torch.empty(256 << 20, dtype=torch.uint8, device="cuda") if arguments.flush else None
    results: list[dict[str, Any]] = []
    known = graphs.shapes() if arguments.backward else shapes()
    wanted = {name: case for name, case in known.items() if arguments.shapes in name}
    if not wanted:
        raise ValueError(f"expected one of {'; '.join(known)}, found '{arguments.shapes}'")
    left_out = list(wanted)
    record = {"commit": commit(), **about(arguments, left_out), "results": results}
    for name, case in (progress := tqdm(wanted.items(), disable=None)):
        progress.set_description(name)
        if time.monotonic() - begun > arguments.seconds:
            break
        results += measure_calls(
            name,
            case,
            arguments.rounds,
            flush,
            generator,
            graphs.replays_of if arguments.backward else None,
        )
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
    import torch

    from .measure.peers import BASELINES, geometric_means, kernels_of, make_variants, problems
    from .measure.timing import measure, summary

    bundle, begun, generator = (
        Bundle.open(arguments.bundle),
        time.monotonic(),
        random.Random(arguments.seed),
    )
    kinds = set(arguments.kinds.split(",")) - {""}
    loaded: dict[str, Kernel] = {}
    flush = torch.empty(256 << 20, dtype=torch.uint8, device="cuda") if arguments.flush else None
    results: list[dict[str, Any]] = []
    left_out: list[str] = []
    for case in problems(
        [int(length) for length in arguments.lengths.split(",")],
        [int(size) for size in arguments.head_dims.split(",")],
        arguments.masks.split(","),
    ):
        if time.monotonic() - begun > arguments.seconds:
            left_out.append(case.name)
            continue
        kernels = [
            bundled for bundled in kernels_of(bundle, case) if not kinds or bundled.kind in kinds
        ]
        for bundled in kernels:
            if bundled.name not in loaded:
                loaded[bundled.name] = Kernel.load(bundled.path)
        variants = make_variants(case, [(bundled, loaded[bundled.name]) for bundled in kernels])
        measure(variants, arguments.rounds, flush, generator)
        found = [summary(case, variant) for variant in variants]
        results += found
        print(
            f"{case.name}: "
            + ", ".join(f"{item['variant']} {item['tflops']:.0f}" for item in found),
            flush=True,
        )
        del variants
        torch.cuda.empty_cache()
    baselines = json.loads(BASELINES.read_text(encoding="utf-8"))
    means = geometric_means(results, baselines)
    print_table(results, baselines, means)
    if left_out:
        print(f"no time was left for {', '.join(left_out)}")
    record = {
        "commit": bundle.commit,
        **about(arguments, left_out),
        "geometric_means": means,
        "results": results,
    }
    if arguments.json:
        write_record(arguments.json, record)
    if arguments.svg:
        write_text(arguments.svg, draw(record, baselines))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
