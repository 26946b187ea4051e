"""Times on this machine's GPU for `dash_attn.tune`: of orders, and of kernels with other warp
structures, slots and tiles."""

from __future__ import annotations

import itertools
import random
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from ..errors import CompileError
from ..kernel.runtime import Kernel
from ..reference import Mask
from .peers import HIDDEN, TOKENS, make_tensors, problems
from .predict import KINDS, Row, program
from .testing import OUTPUTS, Case
from .timing import Variant, measure_entries, measure_whole, summary

# What is tried, all with all: the compiler refuses what does not fit, or would wait for ever.
CHOICES = {
    "q-tile": (64, 128),
    "structure": ("alternating", "overlapping"),
    "slots": tuple(
        f"q:{step},do:{step},ds:{ds},dq:{dq},k:{item},v:{item}"
        for step, ds, dq, item in itertools.product((2, 3, 4, 5, 6), (2, 3, 4), (1, 2, 3), (1, 2))
    ),
}
BEST_KIND = {"full": "shift", "causal": "symmetric-shift"}
SEARCHED_ROWS = 4096
LENGTHS = (512, 1024, 2048)  # costs are fitted to these
SCREENING, FINALISTS = 5, 3
LEAST_GAIN = 0.01  # of the default's time, and twice what the control is off


@dataclass
class Machine:
    """rounds: of a measurement; tick: is told of each step that is done."""

    rounds: int
    generator: random.Random
    tick: Callable[[str], None]

    def __post_init__(self) -> None:
        self.workers = torch.cuda.get_device_properties(0).multi_processor_count

    def compile(self, case: Case, kind: str, options: str) -> Kernel:
        source = program(
            [
                {
                    "head_dim": case.head_dim,
                    "mask": case.mask.name,
                    "rows": "?",
                    "batch": "?",
                    "heads": "?",
                    "kv_rows": "?",
                }
            ]
        )
        return Kernel.compile(source, f"kind={kind} workers={self.workers} {options}")


def candidates(generator: random.Random) -> list[str]:
    found = [
        " ".join(f"{name}={value}" for name, value in zip(CHOICES, values))
        for values in itertools.product(*CHOICES.values())
    ]
    generator.shuffle(found)
    return found


class Contest:
    """One problem, and kernels for it side by side. The default runs twice: the second is the
    control."""

    def __init__(self, machine: Machine, case: Case, kind: str) -> None:
        self.machine, self.case, self.kind = machine, case, kind
        self.tensors = {name: tensor.detach() for name, tensor in make_tensors(case, {})[0].items()}
        self.default, self.control = self.variant(""), self.variant("")
        self.reference = self.bits(self.default)

    def variant(self, options: str) -> Variant:
        """Assembled and ready to run. Raises CompileError."""
        launch = self.machine.compile(self.case, self.kind, options).bind(
            **self.tensors, scale=self.case.scale
        )
        return Variant(options, launch.run, launch=launch)

    def bits(self, variant: Variant) -> list[torch.Tensor]:
        for name in OUTPUTS:
            self.tensors[name].fill_(float("nan"))
        variant.run()
        return [self.tensors[name].view(torch.int16).clone() for name in OUTPUTS]

    def is_right(self, variant: Variant) -> bool:
        """The same order of equal tiles has the same bits; with other tiles they differ by
        rounding."""
        close = partial(torch.allclose, rtol=2**-6, atol=2**-6)
        return all(
            torch.equal(a, b)
            or (
                "q-tile=64" not in variant.name
                and close(a.view(torch.bfloat16), b.view(torch.bfloat16))
            )
            for a, b in zip(self.bits(variant), self.reference)
        )

    def times(self, variants: Iterable[Variant], rounds: int) -> dict[str, float]:
        """Medians by options; the control's is called so."""
        chosen = [self.default, self.control, *variants]
        for variant in chosen:
            variant.milliseconds.clear()
        measure_whole(chosen, rounds, None, self.machine.generator)
        medians = [statistics.median(variant.milliseconds) for variant in chosen]
        return dict(zip(["", "control", *(variant.name for variant in chosen[2:])], medians))


def search(machine: Machine, head_dim: int, mask: str, seconds: float) -> dict[str, Any]:
    """The fastest options for a head dim and mask. Candidates that are not compiled in time are
    left out, and counted."""
    deadline = time.monotonic() + seconds
    heads = HIDDEN // head_dim
    case = Case(
        head_dim,
        Mask.named(mask),
        SEARCHED_ROWS,
        SEARCHED_ROWS,
        TOKENS // SEARCHED_ROWS,
        heads,
        heads,
    )
    contest, options = Contest(machine, case, BEST_KIND[mask]), candidates(machine.generator)
    found: list[Variant] = []
    refused = late = 0

    def attempt(options: str) -> Variant | None:
        return contest.variant(options) if time.monotonic() < deadline else None

    pool = ThreadPoolExecutor()
    try:
        for future in as_completed([pool.submit(attempt, one) for one in options]):
            machine.tick(f"{head_dim} {mask}: structures, slots and tiles")
            try:
                variant = future.result()
            except CompileError:
                refused += 1
                continue
            late += variant is None
            found += [variant] if variant else []
    finally:
        pool.shutdown(cancel_futures=True)
    found = sorted(
        (variant for variant in found if contest.is_right(variant)),
        key=lambda variant: variant.name,
    )
    screened = contest.times(found, SCREENING)
    best = sorted(found, key=lambda variant: screened[variant.name])[:FINALISTS]
    times = contest.times(best, machine.rounds)
    noise = abs(times["control"] / times[""] - 1)
    chosen = min((variant.name for variant in best), key=times.__getitem__, default="")
    if chosen and times[chosen] > times[""] * (1 - max(LEAST_GAIN, 2 * noise)):
        chosen = ""
    return {
        "head_dim": head_dim,
        "mask": mask,
        "rows": SEARCHED_ROWS,
        "variant": contest.kind,
        "options": chosen,
        "ms": times,
        "screened_ms": screened,
        "refused": refused,
        "left_out": late,
    }


def measure_orders(
    machine: Machine, head_dim: int, mask: str, options: str, lengths: Sequence[int]
) -> list[Row]:
    """Rows as those of the benchmark, of every kind; the first kind a second time, as control."""
    kernels: dict[str, Kernel] = {}
    rows = []
    for case in problems(list(lengths), [head_dim], [mask]):
        if not kernels:
            with ThreadPoolExecutor() as pool:
                made = pool.map(
                    lambda kind: machine.compile(case, kind, options), (*KINDS, KINDS[0])
                )
                kernels = dict(zip((*KINDS, f"{KINDS[0]} again"), made))
        tensors = {name: tensor.detach() for name, tensor in make_tensors(case, {})[0].items()}
        with ThreadPoolExecutor() as pool:
            launches = list(
                pool.map(lambda kernel: kernel.bind(**tensors, scale=case.scale), kernels.values())
            )
        variants = [
            Variant(name, launch.run, launch=launch) for name, launch in zip(kernels, launches)
        ]
        measure_whole(variants, SCREENING, None, machine.generator)
        measure_entries(variants, machine.rounds, None, machine.generator)
        rows += [summary(case, variant) for variant in variants]
        machine.tick(f"{head_dim} {mask}: orders of {case.q_rows} rows")
    return rows


def steps(head_dims: Sequence[int], is_searched: bool) -> int:
    """How often `tick` is called."""
    return (
        len(head_dims)
        * len(BEST_KIND)
        * (len(LENGTHS) + is_searched * len(candidates(random.Random())))
    )


def measurements(machine: Machine, head_dims: Sequence[int], seconds: float) -> dict[str, Any]:
    """What a record has: rows of orders, and what was searched in at most so many seconds, and
    found."""
    results, searched, left = [], [], seconds
    groups = [(head_dim, mask) for head_dim in head_dims for mask in BEST_KIND]
    for index, (head_dim, mask) in enumerate(groups):
        if seconds:
            begun = time.monotonic()
            searched.append(search(machine, head_dim, mask, left / (len(groups) - index)))
            left -= time.monotonic() - begun
            torch.cuda.empty_cache()
        options = searched[-1]["options"] if searched else ""
        results += measure_orders(machine, head_dim, mask, options, LENGTHS)
        torch.cuda.empty_cache()
    return {
        "gpu": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "workers": machine.workers,
        "rounds": machine.rounds,
        "options": {f"{one['head_dim']} {one['mask']}": one["options"] for one in searched},
        "search": searched,
        "results": results,
    }
