# RUN: env PYTHONPATH=%dash_src/python %torch_python %s
# REQUIRES: torch, plain-libdash
"""The search of dash_attn.tune without a GPU: what is compiled, refused, right and chosen. Launches
and clocks are stood in for."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import torch

from dash_attn.measure import search
from dash_attn.measure.testing import Case
from dash_attn.measure.timing import Variant

CHOICES = {"q-tile": (64, 128), "structure": ("overlapping",), "slots": ("q:3,do:3", "q:5,do:5")}
SLOW, FAST = (f"q-tile=64 structure=overlapping slots={slots}" for slots in CHOICES["slots"])
KINDS = ("ascending", "shift")
asked: list[tuple[str, str]] = []
ticks: list[str] = []
milliseconds: dict[str, float] = {}
wrong: set[str] = set()
compile_really = search.Machine.compile


class Launch:
    def __init__(self, name: str, tensors: dict[str, torch.Tensor]) -> None:
        self.name, self.tensors = name, tensors

    def run(self) -> None:
        for name in ("dq", "dk", "dv"):
            self.tensors[name].fill_(2.0 if self.name in wrong else 1.0)


def compile_and_stand_in(machine: search.Machine, case: Case, kind: str, options: str) -> Any:
    """The compiler decides what there is; the default and kernels of the orders are compiled
    once."""
    if (kind, options) not in asked:
        kernel = compile_really(machine, case, kind, options)
        assert (
            kernel.manifest["program"]["workers"] == 7
            and kernel.manifest["program"]["head_dim"] == case.head_dim
        ), kernel.manifest
    asked.append((kind, options))
    return SimpleNamespace(bind=lambda scale, **tensors: Launch(options or kind, tensors))


def make_tensors(
    case: Case, peers: dict[str, Any]
) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    return {
        name: torch.zeros(4, dtype=torch.bfloat16)
        for name in ("q", "k", "v", "do", "o", "lse", "dq", "dk", "dv")
    }, peers


def measure_whole(
    variants: list[Variant], rounds: int, flush: None, generator: random.Random
) -> None:
    for variant in variants:
        variant.milliseconds += [milliseconds.get(variant.name, 1.0)] * rounds


def measure_entries(
    variants: list[Variant], rounds: int, flush: None, generator: random.Random
) -> None:
    for variant in variants:
        variant.entries["main"] = [1.0] * rounds


def measured() -> dict[str, Any]:
    ticks.clear()
    return search.measurements(search.Machine(3, random.Random(0), ticks.append), [64], 60)


torch.cuda.get_device_properties = lambda _: SimpleNamespace(multi_processor_count=7)
torch.cuda.get_device_name = lambda: "none"
torch.cuda.empty_cache = lambda: None
for name, stand_in in (
    ("CHOICES", CHOICES),
    ("KINDS", KINDS),
    ("LENGTHS", (512,)),
    ("make_tensors", make_tensors),
    ("measure_whole", measure_whole),
    ("measure_entries", measure_entries),
):
    setattr(search, name, stand_in)
search.Machine.compile = compile_and_stand_in

# What is faster than noise is chosen, and the orders are timed with it; tiles of 128 rows of Q are
# refused.
milliseconds |= {FAST: 0.97, SLOW: 1.2}
record = measured()
assert [one["options"] for one in record["search"]] == [FAST, FAST] and record["options"] == {
    "64 full": FAST,
    "64 causal": FAST,
}, record
assert all(
    (one["refused"], one["left_out"], set(one["screened_ms"]))
    == (2, 0, {"", "control", FAST, SLOW})
    for one in record["search"]
)
assert len(ticks) == search.steps([64], True) == 2 * (4 + 1), ticks
assert [row["variant"] for row in record["results"]] == [*KINDS, "ascending again"] * 2, record[
    "results"
]
assert {options for kind, options in asked if kind == "ascending"} == {FAST}, asked

# What is not, is not; nor is what has other bits.
milliseconds[FAST] = 0.995
assert measured()["options"] == {"64 full": "", "64 causal": ""}
milliseconds[FAST] = 0.5
wrong.add(FAST)
record = measured()
assert record["options"] == {"64 full": "", "64 causal": ""} and all(
    FAST not in one["screened_ms"] for one in record["search"]
), record
