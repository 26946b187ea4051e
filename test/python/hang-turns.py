# RUN: rm -rf %t && mkdir -p %t && %python %s %t | FileCheck %s
# REQUIRES: python, plain-libdash
"""A launch that stands still, read from its counters: the worker that stops, and the turn that is
lost, is the one that is named, whatever the order and whenever it happens. All states of small
orders show that counters tell them apart, and that they would not if the last turn left a zero."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

from turns import WARPS, Order, Run, made  # noqa: E402

from dash_attn import hang  # noqa: E402

TMP = Path(sys.argv[1])
SIZES = {"batch": 1, "heads": 2, "kv_heads": 2, "q_rows": 512, "kv_rows": 512}
GROUPS = {"batch": 2, "heads": 4, "kv_heads": 1, "q_rows": 256, "kv_rows": 256}
ORDERS = [
    ("ascending", "causal", SIZES, 4, 1),
    ("descending", "causal", SIZES, 4, 1),
    ("shift", "full", SIZES, 5, 1),
    ("symmetric-shift", "causal", SIZES, 4, 1),
    ("synthesized", "window = [255, 0]", SIZES, 3, 1),
    ("shift", "full", GROUPS, 4, 2),
    ("symmetric-shift", "causal", GROUPS, 8, 4),
]


def looked_at(order: Order, given: list[int]) -> hang.Look:
    return hang.explain(order.compiled.manifest, order.sizes, order.words(given))


def place_of(order: Order, worker: int, next_: dict[str, Any]) -> int:
    """Where a task of a report stands in the worker's list."""
    found = [
        place
        for place, (counter, turn) in enumerate(order.lists[worker])
        if (order.names(counter), turn) == (next_["tile"], next_["turn"])
    ]
    assert len(found) == 1, (found, next_)
    return found[0]


def check_state(order: Order, run: Run, look: hang.Look) -> None:
    """What is said of each worker is so."""
    given = sum(run.given)
    assert (look.given, look.total) == (given, sum(order.lengths))
    for worker, (tasks, said) in enumerate(zip(order.lists, look.data["workers"])):
        done = [turn < run.given[counter] for counter, turn in tasks]
        assert (said["given"], said["total"]) == (sum(done), len(tasks)), (worker, said)
        if all(done):
            assert "root" not in said
            continue
        first = done.index(False)
        assert place_of(order, worker, said["next"]) == first and said["given_behind"] == sum(
            done[first:]
        )
        counter, _ = tasks[first]
        holder = said["holder"]
        assert order.lists[holder["worker"]][place_of(order, holder["worker"], holder)] == (
            counter,
            run.given[counter],
        )
        # The cause has a turn, and no task in front of it that is not given.
        root = look.data["workers"][said["root"]]
        assert (
            root["next"] == root["holder"]
            and root["root"] == said["root"]
            and root["distance"] == 0
        )


def faults(order: Order, rng: random.Random, count: int) -> tuple[int, int]:
    """Stops or loses a turn, somewhere, and runs until no warp moves."""
    stopped = lost = 0
    for trial in range(count):
        worker = rng.randrange(len(order.lists))
        place = rng.randrange(len(order.lists[worker]))
        loses = trial % 2 == 1
        run = Run(order, **{"loses" if loses else "stops": (worker, place)})
        run.go(rng)
        look = looked_at(order, run.given)
        check_state(order, run, look)
        assert look.data["roots"] == [worker], (worker, place, look.describe())
        assert place_of(order, worker, look.data["workers"][worker]["next"]) == place
        text = look.describe(look)
        assert (
            text.splitlines()[1] == "no turn was given between two looks"
            and f"cause: worker {worker} has turn " in text
        ), text
        behind = look.data["workers"][worker]["given_behind"]
        assert ("so this turn was never given" in text) == (behind > 4) and (
            behind <= 2 * WARPS - 2 or loses
        ), text
        stopped, lost = stopped + (not loses), lost + loses
    # Nothing wrong: it moves between two looks, and ends.
    run = Run(order)
    run.go(rng, rng.randrange(10, sum(order.lengths)))
    before = looked_at(order, run.given)
    check_state(order, run, before)
    assert "at work, or the cause: worker " in before.describe()
    run.go(rng, 40)
    now = looked_at(order, run.given)
    assert "the launch goes on: " in now.describe(before) and "cause" not in now.describe(before)
    run.go(rng)
    end = looked_at(order, run.given)
    assert (
        end.is_done
        and "no worker waits for a turn" in end.describe(before)
        and end.data["roots"] == []
    )
    return stopped, lost


def states(order: Order, **fault: Any) -> dict[tuple[Any, ...], list[int]]:
    """All that can be reached, each with the turns that are given."""
    start = Run(order, **fault)
    found, open_ = {start.state(): list(start.given)}, [start.state()]
    while open_:
        next_, holds, given = open_.pop()
        for worker, warp in list(_at(order, next_, holds, given, fault).moves()):
            run = _at(order, next_, holds, given, fault)
            run.move(worker, warp)
            if run.state() not in found:
                found[run.state()] = list(run.given)
                open_.append(run.state())
    return found


def _at(order: Order, next_: Any, holds: Any, given: Any, fault: dict[str, Any]) -> Run:
    run = Run(order, **fault)
    run.next, run.holds, run.given = (
        [list(one) for one in next_],
        [list(one) for one in holds],
        list(given),
    )
    return run


def ambiguous(order: Order) -> tuple[int, int, int, int]:
    """States of launches that stand still because a worker has stopped; how many look like one in
    which another worker, or task, has: with a zero behind the last turn, and with the mark."""
    causes: dict[int, dict[Any, set[Any]]] = {0: {}, -1: {}}
    count = 0
    for worker, tasks in enumerate(order.lists):
        for place in range(len(tasks)):
            fault = {"stops": (worker, place)}
            for state, given in states(order, **fault).items():
                run = _at(order, *state, fault)
                if next(run.moves(), None) is not None:
                    continue
                count += 1
                for last, seen in causes.items():
                    seen.setdefault(tuple(order.words(given, last).items()), set()).add(
                        (worker, place)
                    )
                assert looked_at(order, given).data["roots"] == [worker]
    whole = sum(len(tasks) for tasks in order.lists)
    return (
        whole,
        count,
        *(sum(len(one) for one in seen.values() if len(one) > 1) for seen in causes.values()),
    )


if __name__ == "__main__":
    rng = random.Random(1)
    for kind, mask, sizes, workers, parts in ORDERS:
        order = made(TMP, kind, mask, sizes, workers, parts)
        stopped, lost = faults(order, rng, 40)
        print(
            f"{kind}, {mask}, {workers} workers, {parts} part{'s' * (parts > 1)}: {stopped} stops"
            f" and {lost} lost turns are named"
        )
    # CHECK-COUNT-7: 20 stops and 20 lost turns are named
    print("order                             stops  standing still  as another's, with 0  with -1")
    total = [0, 0, 0]
    tiny = {"batch": 1, "heads": 1, "kv_heads": 1, "q_rows": 128, "kv_rows": 256}
    for kind, mask, sizes, workers, parts in (
        ("ascending", "causal", tiny | {"q_rows": 256}, 2, 1),
        ("shift", "full", tiny, 2, 1),
        ("symmetric-shift", "causal", tiny | {"heads": 2, "kv_heads": 2, "q_rows": 256}, 2, 1),
        ("shift", "full", tiny | {"heads": 2, "q_rows": 64}, 2, 2),
    ):
        row = ambiguous(made(TMP, kind, mask, sizes, workers, parts))
        print(
            f"{f'{kind}, {mask}, {parts} part' + 's' * (parts > 1):<34}"
            + "{:<7}{:<16}{:<22}{}".format(*row)
        )
        total = [one + other for one, other in zip(total, row[1:])]
    print("with a 0 {1} of {0} stops look like others, with -1 {2}".format(*total))
    # CHECK: order {{ *}}stops {{ *}}standing still {{ *}}as another's, with 0 {{ *}}with -1
    # What the page of hangs says.
    # CHECK-COUNT-4: {{part[s]? +[0-9]+ +[0-9]+ +[1-9][0-9]* +0$}}
    # CHECK-NEXT: with a 0 30 of 42 stops look like others, with -1 0
