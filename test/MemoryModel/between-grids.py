# RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='kind=symmetric-shift output=between-grids' -o /dev/null \
# RUN:   && %python %s between-grids.ptx | FileCheck %s --check-prefixes=CHECK,COPIED
# RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='kind=symmetric-shift parts=2 sizes=heads:2,kv-heads:1 output=between-grids-parts' \
# RUN:   -o /dev/null && %python %s between-grids-parts.ptx | FileCheck %s --check-prefixes=CHECK,PARTS
# RUN: sed 's/scale(%%scale)/scale(%%scale) sequences(<?>)/' %dash_examples/bwd-causal.mlir \
# RUN:   | dash-opt --dash-to-ptx='kind=symmetric-shift level=batch output=between-grids-list' -o /dev/null
# RUN: %python %s between-grids-list.ptx | FileCheck %s --check-prefixes=CHECK,COPIED,LIST
# RUN: sed 's/scale(%%scale)/scale(%%scale) sequences(<?>)/' %dash_examples/bwd-causal.mlir \
# RUN:   | dash-opt --dash-to-ptx='kind=shortest-first output=between-grids-dealt' -o /dev/null
# RUN: %python %s between-grids-dealt.ptx | FileCheck %s --check-prefixes=CHECK,COPIED,LIST,DEALT
# RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='kind=symmetric-shift apart=all output=between-grids-apart' -o /dev/null \
# RUN:   && %python %s between-grids-apart.ptx | FileCheck %s --check-prefix=APART
# REQUIRES: python, z3, host-supports-nvptx
"""What one grid leaves to the next, against the memory model: descriptors and rows from `prepare`
to `main`, sums, turns and gradients from `main` to what follows. Each step comes from the emitted
PTX, and is left out or made weaker. `convert` begins when `main` has begun, so what it may read of
`main` is what it has waited for.

    between-grids.py KERNEL.ptx
"""

# CHECK:      a descriptor, from prepare to main: proven
# CHECK-NEXT:   bar.warp.sync, around the fields nothing goes wrong
# CHECK-NEXT:   the release of tensormap.cp_fenceproxy nothing as before
# CHECK-NEXT:   fence.proxy.tensormap::generic.acquire.gpu nothing goes wrong
# CHECK-NEXT:   the end of prepare nothing goes wrong
# CHECK-NEXT: a row, from prepare to main: proven
# CHECK-NEXT:   the end of prepare nothing goes wrong
# CHECK-NEXT: sums and turns, over two launches: proven
# CHECK-NEXT:   st.release.gpu.global.b32 [turn] nothing waits for ever
# CHECK-NEXT:   st.release.gpu.global.b32 [turn] relaxed goes wrong
# CHECK-NEXT:   ld.acquire.gpu.global.b32 [turn] of convert relaxed goes wrong
# CHECK-NEXT:   bar.sync 0 of convert nothing goes wrong
# CHECK-NEXT:   st.global.b32 [turn], 0 of prepare nothing waits for ever
# CHECK-NEXT:   the end of convert nothing goes wrong
# PARTS-NEXT: sums and turns of dK, over two launches: proven
# PARTS-NEXT:   st.release.gpu.global.b32 [turn] nothing waits for ever
# PARTS-NEXT:   st.global.b32 [turn], 0 of prepare nothing waits for ever
# PARTS-NEXT:   the end of convert nothing goes wrong
# PARTS-NEXT: sums and turns of dV, over two launches: proven
# PARTS-NEXT:   st.release.gpu.global.b32 [turn] nothing waits for ever
# PARTS-NEXT:   st.global.b32 [turn], 0 of prepare nothing waits for ever
# PARTS-NEXT:   the end of convert nothing goes wrong
# COPIED-NEXT: dV, from main to its reader: proven
# COPIED-NEXT:   cp.async.bulk.wait_group.read 0 nothing as before
# COPIED-NEXT:   cp.async.bulk.wait_group 0 nothing goes wrong
# COPIED-NEXT:   cp.async.bulk.wait_group 0 wait_group.read goes wrong
# COPIED-NEXT:   griddepcontrol.wait of convert nothing goes wrong
# COPIED-NEXT:   the end of convert nothing goes wrong
# LIST-NEXT: records and items of a list, up to main: proven
# LIST-NEXT:   the end of sequences nothing goes wrong
# LIST-NEXT:   the end of order nothing goes wrong
# DEALT-NEXT:  the end of deal nothing goes wrong

# APART:      a row, from prepare to main: proven
# APART:      contributions, from main to convert: proven
# APART-NEXT:   cp.async.bulk.wait_group.read 0 nothing as before
# APART-NEXT:   cp.async.bulk.wait_group 0 nothing goes wrong
# APART-NEXT:   cp.async.bulk.wait_group 0 wait_group.read goes wrong
# APART-NEXT:   st.relaxed.gpu.global.b32 [turn] nothing goes wrong
# APART-NEXT:   the end of main nothing goes wrong
# APART-NEXT: dV, from main to its reader: proven

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent / "lib"), str(Path(__file__).parents[1] / "Main")]

import ptx_paths  # noqa: E402
import z3  # noqa: E402
from blocks import FIRST_CONSUMER  # noqa: E402
from events import Place, Program  # noqa: E402
from grids import DESCRIPTOR, NAME, OVERLAP, PREPARE, WORD, end, read_in, steps_of  # noqa: E402
from kernels import Answer, Change, ask, print_table, replay, trace  # noqa: E402
from model import Model  # noqa: E402
from ptx_order import ORDER  # noqa: E402
from threads import Thread  # noqa: E402
from traces import Step, Tracer  # noqa: E402

adds = importlib.import_module("ordered-add").adds
CONVERT_ENDED = Change(old="the end of convert")
UNCLEARED, CLEAR = Change(old="the zero of a counter"), ", 0;"
CONVERT = 1 << 21  # lines of `convert` are counted from here
WAIT = "griddepcontrol.wait"


# ---- Descriptors.


def descriptor(tracer: Tracer, ptx: str, change: Change) -> Program:
    """Lanes of a warp write it in shared memory and copy it out; a producer of `main` acquires it
    and starts a copy."""
    program, names = Program(), {WORD: Place("word", "shared"), DESCRIPTOR: Place("descriptor")}
    ways = steps_of(ptx, "prepare", r"st\.shared\.b32", r"tensormap\.cp_fenceproxy")
    others, first = sorted(ways, key=lambda way: any("replace" in step.name for step in way))
    replay(Thread(program, "another lane", "block", "prepare"), others[:-1], names, tracer, change)
    replay(Thread(program, "lane 0", "block", "prepare"), first, names, tracer, change)
    end(program, "prepare", "main", change)
    acquire = next(step for step in tracer.steps if "tensormap" in step.name)
    steps = [step for step in tracer.steps if step.thread == acquire.thread]
    copy = next(i for i, step in enumerate(steps) if step.name.startswith("cp.async.bulk.tensor"))
    uses = [step for step in steps[: copy + 1] if "tensormap" in step.name or step is steps[copy]]
    at = next(value for operand, value in steps[copy].addresses.items() if "{" in operand)
    replay(
        Thread(program, "producer", "block", "main"),
        uses,
        {at: Place("descriptor")},
        tracer,
        change,
    )
    return program


def wrong_descriptor(model: Model):
    fields = max(
        event.value
        for event in model.writes
        if event.place == "word" and isinstance(event.value, int)
    )
    return read_in(model, "producer", "descriptor").value != fields


# ---- What else `prepare` leaves.


def row(tracer: Tracer, ptx: str, change: Change) -> Program:
    """A word of LSE or delta: a thread's store in `prepare`, a bulk copy in `main`."""
    program, names = Program(), {WORD: Place("row")}
    lines = ptx_paths.instructions_of(ptx, f"{NAME}_prepare")
    store = next(
        line for line in lines if line.startswith("st.global.b32") and not line.endswith(CLEAR)
    )
    thread = Thread(program, "thread", "block", "prepare")
    thread.registers[store.split(",")[1].strip(" ;")] = 7
    replay(
        thread,
        [Step(0, PREPARE, store, "st.global.b32", False, {re.search(r"\[.*\]", store)[0]: WORD})],
        names,
        tracer,
        change,
    )
    end(program, "prepare", "main", change)
    copy = next(
        step
        for step in tracer.steps
        if step.name.startswith("cp.async.bulk.shared::cluster.global")
    )
    source = list(copy.addresses.values())[1]
    replay(
        Thread(program, "producer", "block", "main"), [copy], {source: Place("row")}, tracer, change
    )
    return program


def wrong_row(model: Model):
    return read_in(model, "producer", "row").value != 7


# ---- Sums and turns.


def clears_of(ptx: str) -> list[str]:
    """Names of the counters of dQ, dK and dV."""
    lines = ptx_paths.instructions_of(ptx, f"{NAME}_prepare")
    return [line for line in lines if line.startswith("st.global.b32") and line.endswith(CLEAR)]


def rounded(ptx: str, sums: int) -> list[Step]:
    """The events of a block of `convert`: what its first thread waits for, where all meet, and a
    load of the sum."""
    lines = ptx_paths.instructions_of(ptx, f"{NAME}_convert")
    at, steps = [i for i, line in enumerate(lines) if line.startswith("ld.acquire")][sums], []
    for name, address in (("ld.acquire", WORD), ("bar.sync", 0), ("ld.global.L1", DESCRIPTOR)):
        at = next(i for i in range(at, len(lines)) if lines[i].startswith(name))
        steps.append(
            Step(
                0,
                CONVERT + at,
                lines[at],
                lines[at].split()[0],
                False,
                dict.fromkeys(re.findall(r"\[[^]]*\]", lines[at]), address),
            )
        )
    steps[0].seen, steps[1].phase = -1, 1
    return steps


def overlaps(program: Program, n: int) -> None:
    """`convert` begins behind what `main` begins behind, and before the end of `main`."""
    program.begins[f"convert {n}"] = program.begins[f"main {n}"]


def two_launches(sums: int, tracer: Tracer, ptx: str, change: Change) -> Program:
    chain = adds(tracer, sums)
    turn = next(iter(chain[0][0].addresses.values()))
    clear = clears_of(ptx)[sums]
    program = Program(
        initial={"sum": 5000, "turn": 5000}
        | {f"tile {block}{n}": n * value for n in (1, 2) for block, value in (("A", 1), ("B", 10))}
    )
    acquire, meet, load = rounded(ptx, sums)
    places = {WORD: Place("turn"), DESCRIPTOR: Place("sum")}
    for n in (1, 2):
        if change != UNCLEARED:
            Thread(program, f"prepare {n}", "block", f"prepare {n}").run(
                clear, lambda _: [Place("turn")]
            )
        end(program, f"prepare {n}", f"main {n}", change)
        for block, steps in zip("AB", chain):
            total, tile = next(step for step in steps if step.accesses).addresses.values()
            names = {
                turn: Place("turn"),
                total: Place("sum"),
                tile: Place(f"tile {block}{n}", "shared"),
            }
            replay(
                Thread(program, f"{block}{n}", f"{block}{n}", f"main {n}"),
                steps,
                names,
                tracer,
                change,
            )
        overlaps(program, n)
        replay(
            Thread(program, f"convert {n}, first", f"convert {n}", f"convert {n}"),
            [acquire, meet],
            places,
            tracer,
            change,
        )
        replay(
            Thread(program, f"convert {n}", f"convert {n}", f"convert {n}"),
            [meet, load],
            places,
            tracer,
            change,
        )
        end(program, "convert", f"prepare {n + 1}", change, f"convert {n}")
    return program


def wrong_sums(model: Model):
    return z3.Or(
        *(read_in(model, f"convert {n}", "sum").value != 11 * n for n in (1, 2)),
        model.final("turn") != -1,
    )


# ---- Contributions that are kept apart.


def is_apart(tracer: Tracer) -> bool:
    return not any(step.name.startswith("ld.acquire") for step in tracer.steps)


def kept(tracer: Tracer) -> list[Step]:
    """A reducer's last contribution to a tile: its copy, group and number, the wait until it is
    read, and the last one, for all groups."""
    number = next(step for step in tracer.steps if step.name.startswith("st.relaxed"))
    steps = [
        step
        for step in tracer.steps
        if step.thread == number.thread and step.name.startswith(("cp.", "st.relaxed"))
    ]
    at = steps.index(number)
    copy = max(
        i for i, step in enumerate(steps[:at]) if step.name.startswith("cp.async.bulk.global")
    )
    read = next(i for i, step in enumerate(steps) if i > at and "wait_group" in step.name)
    return [*steps[copy : read + 1], steps[-1]]


def contributions(tracer: Tracer, ptx: str, change: Change) -> Program:
    steps = kept(tracer)
    place, tile = steps[0].addresses.values()
    number = next(step for step in steps if step.name.startswith("st.relaxed"))
    counter = next(iter(number.addresses.values()))
    program = Program(initial={"tile": 7, "number": 5000, "place": 5000})
    Thread(program, "prepare", "block", "prepare").run(
        clears_of(ptx)[0], lambda _: [Place("number")]
    )
    end(program, "prepare", "main", change)
    thread = Thread(program, "reducer", "block", "main")
    thread.registers[number.text.split(",")[1].strip(" ;")] = 3
    replay(
        thread,
        steps,
        {place: Place("place"), tile: Place("tile", "shared"), counter: Place("number")},
        tracer,
        change,
    )
    end(program, "main", "convert", change)
    loads = [
        line
        for line in ptx_paths.instructions_of(ptx, f"{NAME}_convert")
        if line.startswith("ld.global")
    ]
    reader = Thread(program, "convert", "block", "convert")
    for line, name in (
        (next(line for line in loads if ".nc" not in line), "number"),
        (next(line for line in loads if ".nc" in line), "place"),
    ):
        reader.run(line, lambda _, name=name: [Place(name)])
    return program


def wrong_contributions(model: Model):
    return z3.Or(
        read_in(model, "convert", "place").value != 7,
        read_in(model, "convert", "number").value != 3,
    )


# ---- Gradients.


def copies_of(tracer: Tracer) -> list[Step]:
    """A consumer's first copy of dV, its group, the wait until it is read, and the last one, for
    all groups."""
    steps = [
        step
        for step in tracer.steps
        if step.thread == FIRST_CONSUMER and step.name.startswith("cp.")
    ]
    steps = steps[
        next(i for i, step in enumerate(steps) if step.name.startswith("cp.async.bulk.tensor")) :
    ]
    read = next(i for i, step in enumerate(steps) if "wait_group" in step.name)
    return [steps[0], *steps[read - 1 : read + 1], steps[-1]]


def gradient(tracer: Tracer, ptx: str, change: Change) -> Program:
    steps = copies_of(tracer)
    source = next(value for operand, value in steps[0].addresses.items() if "{" not in operand)
    at = next(value for operand, value in steps[0].addresses.items() if "{" in operand)
    program = Program(initial={"dv tile": 7})
    names = {at: Place("dv"), source: Place("dv tile", "shared")}
    replay(Thread(program, "consumer", "block", "main"), steps, names, tracer, change)
    if is_apart(tracer):
        end(program, "main", "its reader", change)
    else:
        if change != Change(old=WAIT) and WAIT + ";" in ptx_paths.instructions_of(
            ptx, f"{NAME}_convert"
        ):
            program.end_grid("main", "the last block of convert")
        Thread(program, "last", "block", "the last block of convert").run("bar.sync 0;")
        end(program, "convert", "its reader", change, "the last block of convert")
    Thread(program, "reader", "block", "its reader").run("ld.global.b32 r, [tensor of dv]")
    return program


def wrong_gradient(model: Model):
    return read_in(model, "reader", "tensor of dv").value != 7


# ---- Lists of sequences.


def read_step(tracer: Tracer, words: range) -> Step:
    """A load of `main` from these words of the order buffer."""
    return next(
        step
        for step in tracer.steps
        if step.name.startswith("ld.global")
        and any((at - ORDER) // 4 in words for at in step.addresses.values())
    )


def records(tracer: Tracer, ptx: str, change: Change) -> Program:
    """A thread of `sequences` writes a record, one of `order` reads it and writes an item, one of
    `main` reads both. Where items are dealt by work, one of `deal` copies the item in between."""
    program, names, is_dealt = Program(), {}, is_dealt_by_work(ptx)

    def run(thread: Thread, entry: str, name: str, place: str, value: int = 0) -> None:
        line = next(
            line
            for line in ptx_paths.instructions_of(ptx, f"{NAME}_{entry}")
            if line.startswith(name)
        )
        thread.registers[re.search(r"\{.*\}|$", line)[0]] = value
        thread.run(line, lambda _: [Place(place)])

    run(
        Thread(program, "sequences", "block", "sequences"), "sequences", "st.global.v4", "record", 7
    )
    end(program, "sequences", "order", change)
    thread = Thread(program, "order", "block", "order")
    run(thread, "order", "ld.global", "record")
    run(thread, "order", "st.global.v4", "issued" if is_dealt else "item", 9)
    end(program, "order", "deal" if is_dealt else "main", change)
    if is_dealt:
        thread = Thread(program, "deal", "block", "deal")
        run(thread, "deal", "ld.global.v4", "issued")
        run(thread, "deal", "st.global.v4", "item", 9)
        end(program, "deal", "main", change)
    first_list, first_item, first_visit = (tracer.memory[ORDER + 4 * word] for word in (3, 4, 5))
    steps = [
        read_step(tracer, range(8, first_list)),
        read_step(tracer, range(first_item, first_visit)),
    ]
    for step, place in zip(steps, ("record", "item")):
        names |= dict.fromkeys(step.addresses.values(), Place(place))
    replay(Thread(program, "main", "block", "main"), steps, names, tracer, change)
    return program


def is_dealt_by_work(ptx: str) -> bool:
    return f"{NAME}_deal(" in ptx


def wrong_records(model: Model):
    return z3.Or(
        read_in(model, "order", "record").value != 7,
        read_in(model, "main", "record").value != 7,
        read_in(model, "main", "item").value != 9,
    )


def wrong_dealt(model: Model):
    return z3.Or(wrong_records(model), read_in(model, "deal", "issued").value != 9)


def lines_of(steps: list[Step], name: str) -> tuple[int, ...]:
    return tuple({step.line for step in steps if step.name.startswith(name)})


def main() -> int:
    path = Path(sys.argv[1])
    tracer, ptx = trace(path, [2, 2]), path.read_text(encoding="utf-8")
    prepared = steps_of(ptx, "prepare", r"st\.shared\.b32", r"tensormap\.cp_fenceproxy")
    fields = max(prepared, key=len)
    told = Change(lines_of(tracer.steps, "st.release"))
    questions: list[tuple[str, Callable, Callable, list[tuple[str, str, Change]]]] = [
        (
            "a descriptor, from prepare to main",
            descriptor,
            wrong_descriptor,
            [
                (
                    "bar.warp.sync, around the fields",
                    "nothing",
                    Change(lines_of(fields, "bar.warp")),
                ),
                (
                    "the release of tensormap.cp_fenceproxy",
                    "nothing",
                    Change(lines_of(fields, "tensormap.cp"), ".tensormap::generic.release.gpu", ""),
                ),
                (
                    "fence.proxy.tensormap::generic.acquire.gpu",
                    "nothing",
                    Change(lines_of(tracer.steps, "fence.proxy.tensormap")),
                ),
                ("the end of prepare", "nothing", OVERLAP),
            ],
        ),
        (
            "a row, from prepare to main",
            row,
            wrong_row,
            [("the end of prepare", "nothing", OVERLAP)],
        ),
    ]
    if is_apart(tracer):
        read, complete = (Change((step.line,)) for step in kept(tracer)[-2:])
        questions.append(
            (
                "contributions, from main to convert",
                contributions,
                wrong_contributions,
                [
                    ("cp.async.bulk.wait_group.read 0", "nothing", read),
                    ("cp.async.bulk.wait_group 0", "nothing", complete),
                    (
                        "cp.async.bulk.wait_group 0",
                        "wait_group.read",
                        Change(complete.lines, "wait_group", "wait_group.read"),
                    ),
                    (
                        "st.relaxed.gpu.global.b32 [turn]",
                        "nothing",
                        Change(lines_of(tracer.steps, "st.relaxed")),
                    ),
                    ("the end of main", "nothing", OVERLAP),
                ],
            )
        )
    else:
        acquire, meet, _ = (Change((step.line,)) for step in rounded(ptx, 0))
        questions.append(
            (
                "sums and turns, over two launches",
                partial(two_launches, 0),
                wrong_sums,
                [
                    ("st.release.gpu.global.b32 [turn]", "nothing", told),
                    (
                        "st.release.gpu.global.b32 [turn]",
                        "relaxed",
                        Change(told.lines, ".release", ".relaxed"),
                    ),
                    (
                        "ld.acquire.gpu.global.b32 [turn] of convert",
                        "relaxed",
                        Change(acquire.lines, ".acquire", ".relaxed"),
                    ),
                    ("bar.sync 0 of convert", "nothing", meet),
                    ("st.global.b32 [turn], 0 of prepare", "nothing", UNCLEARED),
                    ("the end of convert", "nothing", CONVERT_ENDED),
                ],
            )
        )
    if len(clears_of(ptx)) > 1:
        questions += [
            (
                f"sums and turns of {name}, over two launches",
                partial(two_launches, sums),
                wrong_sums,
                [
                    ("st.release.gpu.global.b32 [turn]", "nothing", told),
                    ("st.global.b32 [turn], 0 of prepare", "nothing", UNCLEARED),
                    ("the end of convert", "nothing", CONVERT_ENDED),
                ],
            )
            for sums, name in ((1, "dK"), (2, "dV"))
        ]
    else:
        read, complete = (Change((step.line,)) for step in copies_of(tracer)[-2:])
        questions.append(
            (
                "dV, from main to its reader",
                gradient,
                wrong_gradient,
                [
                    ("cp.async.bulk.wait_group.read 0", "nothing", read),
                    ("cp.async.bulk.wait_group 0", "nothing", complete),
                    (
                        "cp.async.bulk.wait_group 0",
                        "wait_group.read",
                        Change(complete.lines, "wait_group", "wait_group.read"),
                    ),
                    *(
                        [("the end of main", "nothing", OVERLAP)]
                        if is_apart(tracer)
                        else [
                            (f"{WAIT} of convert", "nothing", Change(old=WAIT)),
                            ("the end of convert", "nothing", CONVERT_ENDED),
                        ]
                    ),
                ],
            )
        )
    if f"{NAME}_sequences(" in ptx:
        questions.append(
            (
                "records and items of a list, up to main",
                records,
                wrong_dealt if is_dealt_by_work(ptx) else wrong_records,
                [
                    (f"the end of {grid}", "nothing", Change(old=f"the end of {grid}"))
                    for grid in ("sequences", "order", "deal")[: 3 if is_dealt_by_work(ptx) else 2]
                ],
            )
        )
    failed = 0
    for title, build, wrong, changes in questions:
        made = partial(build, tracer, ptx)
        emitted = ask(made, wrong)
        failed += not emitted.is_proven
        rows: list[tuple[str, str, Answer]] = [
            (step, instead, ask(made, wrong, change)) for step, instead, change in changes
        ]
        print_table(f"{title}: {' and '.join(dict.fromkeys(emitted.verdicts))}", rows)
    return failed


if __name__ == "__main__":
    sys.exit(main())
