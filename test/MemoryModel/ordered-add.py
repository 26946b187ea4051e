# RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='kind=symmetric-shift output=ordered-add' -o /dev/null \
# RUN:   && %python %s ordered-add.ptx | FileCheck %s --check-prefixes=CHECK,STEPS
# RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='kind=symmetric-shift output=ordered-add' -o /dev/null \
# RUN:   && %python %s ordered-add.ptx --executions | FileCheck %s --check-prefix=EXECUTIONS
# RUN: sed s/x128xbf16/x64xbf16/ %dash_examples/bwd-causal.mlir \
# RUN:   | dash-opt --dash-to-ptx='kind=symmetric-shift output=ordered-add-64' -o /dev/null
# RUN: %python %s ordered-add-64.ptx | FileCheck %s --check-prefixes=CHECK,STEPS
# RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='kind=symmetric-shift parts=3 sizes=heads:3,kv-heads:1 output=ordered-add-parts' \
# RUN:   -o /dev/null
# RUN: %python %s ordered-add-parts.ptx --sums 1 | FileCheck %s --check-prefixes=PARTS,STEPS
# RUN: %python %s ordered-add-parts.ptx --sums 2 | FileCheck %s --check-prefixes=PARTS,STEPS
# RUN: sed 's/scale(%%scale)/scale(%%scale) sequences(<?>)/' %dash_examples/bwd-causal.mlir \
# RUN:   | dash-opt --dash-to-ptx='kind=symmetric-shift level=batch output=ordered-add-list' -o /dev/null
# RUN: %python %s ordered-add-list.ptx | FileCheck %s --check-prefixes=CHECK,STEPS
# RUN: sed s/red.release/red.relaxed/ ordered-add-64.ptx > ordered-add-spoilt.ptx
# RUN: cp ordered-add-64.json ordered-add-spoilt.json
# RUN: not %python %s ordered-add-spoilt.ptx | FileCheck %s --check-prefix=SPOILT
# REQUIRES: python, z3, host-supports-nvptx
"""The ordered add against the memory model: the first, a middle and the last add of a chain, each
in a block of its own, as the emitted PTX has them. Every execution has to end with the sum in the
order of turns. Then each instruction is left out or made weaker.

    ordered-add.py KERNEL.ptx [--sums N] [--executions]

In a kernel of several parts, sums 0 are those of dQ, 1 those of dK, and 2 those of dV.
"""

# CHECK:      five adds to one tile, as emitted: proven in the order of their turns
# CHECK-NEXT: three adds to one tile, as emitted: proven in the order of their turns
# PARTS:      three adds to one tile, as emitted: proven in the order of their turns
# STEPS:        ld.acquire.gpu.global.b32 [turn] nothing goes wrong
# STEPS-NEXT:   ld.acquire.gpu.global.b32 [turn] relaxed goes wrong
# STEPS-NEXT:   ld.acquire.gpu.global.b32 [turn] cta goes wrong
# STEPS-NEXT:   fence.proxy.async.global before the add nothing goes wrong
# STEPS-NEXT:   cp.async.bulk.commit_group behind the add nothing goes wrong
# STEPS-NEXT:   cp.async.bulk.wait_group.read 0 nothing as before
# STEPS-NEXT:   cp.async.bulk.wait_group 0 nothing goes wrong
# STEPS-NEXT:   cp.async.bulk.wait_group 0 wait_group.read goes wrong
# STEPS-NEXT:   red.release.gpu.global.add.s32 [turn] nothing waits for ever
# STEPS-NEXT:   red.release.gpu.global.add.s32 [turn] relaxed goes wrong
# STEPS-NEXT:   red.release.gpu.global.add.s32 [turn] cta goes wrong
# STEPS-NEXT:   st.release.gpu.global.b32 [turn] nothing as before
# STEPS-NEXT:   the proxy fence that completion brings nothing goes wrong

# SPOILT: three adds to one tile, as emitted: wrong in the order of their turns

# EXECUTIONS:      A stores 1, B adds 10 to 5000, C adds 100 to 1; the sum is 101, not 111, with
# EXECUTIONS:        fence.proxy.async.global before the add, nothing instead
# EXECUTIONS:        cp.async.bulk.wait_group 0, wait_group.read instead

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent / "lib"), str(Path(__file__).parents[1] / "Main")]

from events import Place, Program  # noqa: E402
from kernels import Answer, Change, ask, print_table, replay, trace, value_of  # noqa: E402
from model import Model, Rules  # noqa: E402
from threads import Thread  # noqa: E402
from traces import Step, Tracer  # noqa: E402

TILES = {"A": 1, "B": 10, "C": 100}  # what each block adds
LONGER = TILES | {"D": 1000, "E": 10000}
BEFORE = 5000  # what the tile of sums holds before
# What may stand in the place of an instruction, beside nothing.
WEAKER = {
    "ld.acquire": [(".acquire", ".relaxed"), (".gpu", ".cta")],
    "red.release": [(".release", ".relaxed"), (".gpu", ".cta")],
    "cp.async.bulk.wait_group": [("wait_group", "wait_group.read")],
}
# Not what says that the tile of the block is full or free: shared-tiles.py.
ASKED = ("ld.acquire", "fence", "cp", "red", "st")


def adds(tracer: Tracer, sums: int = 0) -> list[list[Step]]:
    """What runs from the wait for a turn of a sum's first tile to its end, for each add of its
    chain."""
    acquires = [
        (i, step) for i, step in enumerate(tracer.steps) if step.name.startswith("ld.acquire")
    ]
    turns = {next(iter(step.addresses.values())) for _, step in acquires}
    region = sorted({turn >> 32 for turn in turns})[sums]
    turn = min(turn for turn in turns if turn >> 32 == region)
    found = []
    for i, first in sorted(
        (pair for pair in acquires if turn in pair[1].addresses.values()),
        key=lambda pair: pair[1].seen,
    ):
        steps = [step for step in tracer.steps[i:] if step.thread == first.thread]
        last = next(
            j for j, step in enumerate(steps) if step.name.startswith(("red.", "st.release"))
        )
        found.append(steps[: last + 1])
    return found


def build(tracer: Tracer, chain: list[list[Step]], change: Change) -> Program:
    turn = next(iter(chain[0][0].addresses.values()))
    program = Program(
        initial={"sum": BEFORE, "turn": 0}
        | {f"tile {block}": value for block, value in LONGER.items()}
    )
    for block, steps in zip(LONGER, chain):
        copy = next(step for step in steps if step.accesses)
        total, tile = copy.addresses.values()
        names = {turn: Place("turn"), total: Place("sum"), tile: Place(f"tile {block}", "shared")}
        replay(Thread(program, block, block), steps, names, tracer, change)
    return program


def wrong(model: Model):
    return model.final("sum") != sum(TILES.values())


def describe(model: Model) -> str:
    """Which block adds to what."""
    execution = model.first_execution("sum", wrong(model))
    reads = [
        f"{event.thread} adds {TILES[event.thread]} to {value_of(execution, event)}"
        for event in model.reads
        if event.place == "sum"
    ]
    return (
        f"A stores 1, {', '.join(reads)}; the sum is {execution.eval(model.final('sum'))}, not"
        f" {sum(TILES.values())}"
    )


def asked_of(chain: list[list[Step]]) -> dict[str, tuple[int, ...]]:
    """Steps by what they are called, in the order in which they run, with their lines."""
    turn = next(iter(chain[0][0].addresses.values()))
    kinds: dict[str, list[int]] = {}
    for steps in chain:
        place = "before the add"
        for step in steps:
            place = "behind the add" if step.accesses else place
            if step.name.startswith(ASKED) and not step.accesses:
                operand = (
                    " [turn]"
                    if turn in step.addresses.values()
                    else f" {step.text.split()[-1].rstrip(';')}"
                )
                label = step.name + (operand if " " in step.text else f" {place}")
                kinds.setdefault(label, []).append(step.line)
    return {label: tuple(sorted(set(lines))) for label, lines in kinds.items()}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("ptx", type=Path)
    parser.add_argument("--sums", type=int, default=0)
    parser.add_argument("--executions", action="store_true")
    arguments = parser.parse_args()
    tracer = trace(arguments.ptx, [2] * len(TILES))
    chain = adds(tracer, arguments.sums)

    def made(change: Change) -> Program:
        return build(tracer, chain, change)

    emitted = ask(made, wrong)
    are_proven = emitted.is_proven
    if not arguments.sums:  # a chain over parts has as many adds as there are parts
        longer = adds(trace(arguments.ptx, [2] * len(LONGER)))
        found = ask(
            partial(build, tracer, longer), lambda model: model.final("sum") != sum(LONGER.values())
        )
        are_proven &= found.is_proven
        print(
            f"five adds to one tile, as emitted: {' and '.join(dict.fromkeys(found.verdicts))} in"
            " the order of their turns"
        )
    print(
        f"three adds to one tile, as emitted: {' and '.join(dict.fromkeys(emitted.verdicts))} in"
        " the order of their turns"
    )
    rows: list[tuple[str, str, Answer]] = []
    executions: dict[str, list[str]] = {}
    for label, lines in asked_of(chain).items():
        instead = [
            ("", ""),
            *next((pairs for name, pairs in WEAKER.items() if label.startswith(name)), []),
        ]
        for old, new in instead if ".read" not in label else instead[:1]:
            answer = ask(made, wrong, Change(lines, old, new), describe)
            rows.append((label, new.strip(".") or "nothing", answer))
            if answer.execution:
                executions.setdefault(answer.execution, []).append(
                    f"    {label}, {new.strip('.') or 'nothing'} instead"
                )
    rows.append(
        (
            "the proxy fence that completion brings",
            "nothing",
            ask(made, wrong, rules=Rules(completes_with_fence=False)),
        )
    )
    if arguments.executions:
        for execution, steps in executions.items():
            print("\n".join([f"  {execution}, with", *steps]))
    else:
        print_table("step", rows)
    return not are_proven


if __name__ == "__main__":
    sys.exit(main())
