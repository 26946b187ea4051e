"""What scripts of a grid of problems share: problems run in processes beside each other until no
time is left, each is right or wrong by its script's rule, and the record has them all."""

from __future__ import annotations

import argparse
import multiprocessing
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, Protocol

import torch

from dash_attn.measure.bundle import commit
from dash_attn.support.records import write_record

PROCESSES = 12
NAMES = ("o", "dq", "dk", "dv")
DTYPES = {"bf16": torch.bfloat16, "f16": torch.float16}
LONG = 2048  # rows, above which a process gives back the memory that it keeps


class Problem(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def lengths(self) -> tuple[int, int]: ...


# what a script says of a problem, None if it is too late to begin: the time is one of time.time()
Check = Callable[[Any, float], dict[str, Any] | None]


def larger(one: float, other: float) -> float:
    """NaN where one is."""
    return other if other != other or other > one else one


def outcome(check: Check, one: Problem, deadline: float) -> dict[str, Any] | None:
    try:
        return check(one, deadline)
    except Exception as error:
        return {"case": one.name, "failed": f"{type(error).__name__}: {str(error)[:300]}"}
    finally:
        if max(one.lengths) > LONG:
            torch.cuda.empty_cache()


def largest(found: Sequence[dict[str, Any]], what: str) -> dict[str, float]:
    """The largest number that a problem has, by name. Some problems have no such numbers."""
    every = [one[what] for one in found if what in one]
    return {name: max(one[name] for one in every) for name in NAMES} if every else {}


def parser_of(doc: str | None, count: int, seconds: float) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=0, help="decides which problems are drawn")
    parser.add_argument("--count", type=int, default=count)
    parser.add_argument("--seconds", type=float, default=seconds, help="begin none after so many")
    parser.add_argument("--json", type=Path)
    return parser


def run(
    arguments: argparse.Namespace,
    check: Check,
    drawn: Sequence[Problem],
    summed: Callable[[list[dict[str, Any]]], dict[str, Any]],
) -> int:
    """The status: 1 where a problem is wrong, or none ran. check is a function of a module, which
    other processes import; summed: what the record says of all that ran without an exception."""
    deadline = time.time() + arguments.seconds
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(PROCESSES, spawn) as pool:
        count = len(drawn)
        every = list(pool.map(outcome, [check] * count, drawn, [deadline] * count))
    results = [one for one in every if one is not None]
    wrong = [one for one in results if one.get("wrong") or "failed" in one]
    for one in wrong:
        print("wrong:", one)
    summary = {"drawn": len(drawn), "ran": len(results), "wrong": len(wrong)}
    summary |= summed([one for one in results if "failed" not in one])
    print(summary)
    if arguments.json:
        record = {
            "commit": commit(),
            "gpu": torch.cuda.get_device_name(),
            "torch": torch.__version__,
            "seed": arguments.seed,
        }
        write_record(arguments.json, record | summary | {"problems": results})
    return int(bool(wrong) or not results)
