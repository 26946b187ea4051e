# RUN: %python %s --dash-opt dash-opt --examples %dash_examples --tmp %t
# REQUIRES: python
"""Orders from outside: what dash-opt reports it takes back, and it refuses what is no order."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

from checks import document_differences  # noqa: E402
from cost import Cost  # noqa: E402
from dash_opt import KINDS, DashOpt, Request, Tally, serves  # noqa: E402
from problem import Blocks, Mask, Problem, Sequence, Union  # noqa: E402
from report import Json  # noqa: E402

COST = Cost(2.1, 1.6, 0.3, 2)
Spoil = Callable[[Json, Json], Any]


def problems() -> list[Problem]:
    return [
        Problem(rows, 16, 48, Mask(causal=causal), *heads)
        for causal in (False, True)
        for rows in ((Sequence(1, 1),), (Sequence(100, 250), Sequence(250, 100), Sequence(7, 160)))
        for heads in ((1, 1, 1), (2, 1, 6), (4, 2, 2))
        if heads != (2, 1, 6) or len(rows) > 1  # one row is no three runs
    ]


def masked_problems() -> list[Problem]:
    """Windows and bitmaps, some with tiles that have no task."""
    rows = (Sequence(100, 250), Sequence(250, 100), Sequence(7, 160))
    blocks = Blocks(
        32, 48, ("01101001", "10010110", "00000000", "11111111", "01010101", "00100100")
    )
    return [
        Problem(rows, 16, 48, mask, 4, 2, 2)
        for mask in (
            Mask(window=(30, 20)),
            Mask(True, (60, -1)),
            Mask(blocks=blocks),
            Mask(True, (200, 7), blocks),
            Mask(True, union=Union(5, (60, -1))),
            Mask(union=Union(50, (-1, 0))),
            # Not as dash writes them.
            Mask(True, union=Union(5, (60, 3))),
            Mask(False, (5, 1), union=Union(1, (72, 11))),
        )
    ]


def round_trip(dash: DashOpt, case: tuple[str, Problem, int]) -> list[str]:
    """A report taken as an order gives the same report, its kind and how it was searched for
    aside."""
    kind, problem, workers = case
    request = Request(problem, kind, workers, cost=COST)
    first = dash.run(request)
    if first.document is None:
        return first.differences()
    second = dash.run_order(request, first.document)
    if second.document is None:
        return second.differences()
    before, after = {**first.schedule, "kind": "file"}, second.schedule
    before.pop("search", None)
    return second.told(
        [
            f"{key} differs from the report that was read"
            for key in before
            if before[key] != after.get(key)
        ]
    )


def long_item(s: Json) -> Json:
    return next(i for i in s["items"] if len(i["visit"]) > 1)


def long_chain(s: Json) -> Json:
    return next(c for c in s["chains"] if len(c["order"]) > 1)


def on_one_list(s: Json) -> None:
    """Items on one list, kv tiles ascending, and one chain turned round: a cycle."""
    for item in s["items"]:
        item["worker"] = 0
    long_chain(s)["order"].reverse()


def crossed_ends(s: Json) -> None:
    """The first part of a kv tile after the last on one list, but before it in turn: a cycle."""
    for item in s["items"]:
        item["worker"] = 0
    s["partChains"][0]["order"].reverse()


def on_two_lists(s: Json) -> None:
    s["items"].append({**long_item(s), "worker": s["workers"] - 1})


def swapped_visits(s: Json) -> None:
    """Two items of different kv tiles walk each other's q tiles."""
    first, second = long_item(s), next(i for i in reversed(s["items"]) if i["visit"])
    first["visit"], second["visit"] = second["visit"], first["visit"]


def moved_task(s: Json) -> None:
    """A task goes to the same kv tile's item of the other part."""
    first, place = long_item(s), ("sequence", "kvHead", "kv")
    other = next(i for i in s["items"] if i != first and all(i[k] == first[k] for k in place))
    other["visit"].append(first["visit"].pop())


def hidden_task(s: Json) -> None:
    """Sequence 1 has more q than kv rows: under a causal mask its first q tile sees nothing."""
    next(i for i in s["items"] if i["sequence"] == 1)["visit"].append([0, 0])
    chain = next(c for c in s["chains"] if c["sequence"] == 1 and c["head"] == c["q"] == 0)
    assert chain["order"] == []
    chain["order"].append([0, 0])


# Each breaks one rule, given the document and its schedule.
NO_ORDERS: dict[str, Spoil] = {
    "a cycle of turns": lambda d, s: on_one_list(s),
    "a cycle over ends of items": lambda d, s: crossed_ends(s),
    "a task missing": lambda d, s: long_item(s)["visit"].pop(),
    "a task doubled": lambda d, s: long_item(s)["visit"].append(long_item(s)["visit"][0]),
    "a task in another's place": (
        lambda d, s: long_item(s)["visit"].__setitem__(0, long_item(s)["visit"][1])
    ),
    "a task of another part": lambda d, s: long_item(s)["visit"][0].__setitem__(0, 3),
    "a task with another part's item": lambda d, s: moved_task(s),
    "a task the mask hides": lambda d, s: hidden_task(s),
    "visits swapped": lambda d, s: swapped_visits(s),
    "an item missing": lambda d, s: s["items"].remove(long_item(s)),
    "an item twice on a list": lambda d, s: s["items"].append(long_item(s)),
    "an item on two lists": lambda d, s: on_two_lists(s),
    "no items": lambda d, s: s["items"].clear(),
    "a turn missing": lambda d, s: long_chain(s)["order"].pop(),
    "a turn doubled": lambda d, s: long_chain(s)["order"].append(long_chain(s)["order"][0]),
    "a turn taken twice": (
        lambda d, s: long_chain(s)["order"].__setitem__(0, long_chain(s)["order"][1])
    ),
    "a turn of another part": lambda d, s: long_chain(s)["order"][0].__setitem__(1, 1),
    "a chain missing": lambda d, s: s["chains"].remove(long_chain(s)),
    "a chain twice": lambda d, s: s["chains"].append(long_chain(s)),
    "a part chain missing": lambda d, s: s["partChains"].pop(),
    "a part chain twice": lambda d, s: s["partChains"].append(s["partChains"][0]),
    "a part missing": lambda d, s: s["partChains"][0]["order"].pop(),
    "a part doubled": lambda d, s: s["partChains"][0].update(order=[1, 1]),
    "worker out of range": lambda d, s: long_item(s).update(worker=s["workers"]),
    "sequence out of range": lambda d, s: long_item(s).update(sequence=len(s["sequences"])),
    "kv head out of range": lambda d, s: long_item(s).update(kvHead=s["kvHeads"]),
    "part out of range": lambda d, s: long_item(s).update(part=s["parts"]),
    "kv tile out of range": lambda d, s: long_item(s).update(kv=10**6),
    "q tile out of range": lambda d, s: long_item(s)["visit"][0].__setitem__(1, 2**40),
    "head out of range": lambda d, s: long_item(s)["visit"][0].__setitem__(0, s["heads"]),
    "negative index": lambda d, s: long_item(s).update(kv=-1),
    "index beyond 64 bits": lambda d, s: long_item(s).update(kv=2**80),
    "turn out of range": lambda d, s: long_chain(s)["order"][0].__setitem__(0, 99),
    "chain's head out of range": lambda d, s: long_chain(s).update(head=s["heads"]),
    "chain's q tile out of range": lambda d, s: long_chain(s).update(q=2**33),
    "a string for an index": lambda d, s: long_item(s).update(kv="0"),
    "a fraction for an index": lambda d, s: long_item(s).update(kv=0.5),
    "a truth for an index": lambda d, s: long_item(s).update(kv=True),
    "null for an index": lambda d, s: long_item(s).update(worker=None),
    "an object for a list": lambda d, s: s.update(items={}),
    "a list for an object": lambda d, s: s["items"].__setitem__(0, [0, 0, 0, 0, 0]),
    "three numbers for two": lambda d, s: long_item(s)["visit"][0].append(0),
    "one number for two": lambda d, s: long_chain(s)["order"][0].pop(),
    "an item without its worker": lambda d, s: long_item(s).pop("worker"),
    "no chains at all": lambda d, s: s.pop("chains"),
    "schedules an object": lambda d, s: d.update(schedules={}),
    "an unknown key beside the schedules": lambda d, s: d.update(more=1),
    "an unknown key in a schedule": lambda d, s: s.update(kvTiles=1),
    "an unknown key in an item": lambda d, s: long_item(s).update(turn=0),
    "an unknown key in a chain": lambda d, s: long_chain(s).update(turn=0),
    "an unknown level": lambda d, s: s.update(level="node"),
    "another version": lambda d, s: d.update(version=2),
    "no version": lambda d, s: d.pop("version"),
}

# What is no JSON, or JSON of something else.
NO_REPORTS = [
    "",
    "{",
    "[]",
    "null",
    "7",
    '{"version": 1}',
    '{"version": 1, "schedules": []}',
    '{"version": 1, "schedules": [{}]}',
    "\x00\xff",
    "[" * 9999,
]


def refused(dash: DashOpt, name: str, spoil: Spoil, request: Request, clean: Json) -> list[str]:
    spoiled = copy.deepcopy(clean)
    spoil(spoiled, spoiled["schedules"][0])
    if not document_differences(spoiled):
        return [f"{name}: the checker finds nothing wrong with it"]
    return [f"{name}: {line}" for line in dash.run_order(request, spoiled).refusal()]


def bare(dash: DashOpt, problem: Problem) -> list[str]:
    """Items and chains are all that an order needs; what is asked for, or is usual, takes the place
    of the rest."""
    request = Request(problem, "shift", 3, cost=COST)
    first = dash.run(request)
    if first.document is None:
        return first.differences()
    kept = {key: first.schedule[key] for key in ("items", "chains")}
    second = dash.run_order(request, {"version": 1, "schedules": [kept]})
    if second.document is None:
        return second.differences()
    return second.told(
        [
            f"{key} differs from the whole report's"
            for key in ("items", "chains", "partChains", "workers", "parts", "level", "makespan")
            if first.schedule[key] != second.schedule[key]
        ]
    )


def other_problems(request: Request) -> dict[str, Request]:
    """Problems that the order of `request` is not for."""
    of = request.problem
    longer = (*of.sequences[:-1], Sequence(of.sequences[-1].q + 16, of.sequences[-1].kv))
    changes: dict[str, dict[str, Any]] = {
        "a longer sequence": {"sequences": longer},
        "a row more, as many tiles": {"sequences": (Sequence(101, 250), *of.sequences[1:])},
        "a sequence more": {"sequences": (*of.sequences, Sequence(16, 16))},
        "a sequence less": {"sequences": of.sequences[:-1]},
        "other q tiles": {"tile_q": 32},
        "other kv tiles": {"tile_kv": 64},
        "the other mask": {"mask": Mask(causal=not of.mask.causal)},
        "a window": {"mask": Mask(window=(64, 0))},
        "a bitmap": {"mask": Mask(blocks=Blocks(256, 288, ("1",)))},
        "a union": {"mask": Mask(causal=of.mask.causal, union=Union(5, (60, -1)))},
        "more heads": {"heads": 8},
        "more kv heads": {"kv_heads": 4, "parts": 1},
    }
    others = {
        name: replace(request, problem=replace(of, **change)) for name, change in changes.items()
    }
    others["more workers"] = replace(request, workers=request.workers + 1)
    others["a stronger level"] = replace(request, level="batch")
    return others


def other_masks(dash: DashOpt, problem: Problem) -> list[str]:
    """An order for a mask is refused for one that differs in a bound or in a bit."""
    mask, request = problem.mask, Request(problem, "descending", 3, cost=COST)
    document = dash.run(request).document
    if document is None:
        return ["no report to take back"]
    others = [
        replace(mask, window=(31, 20)),
        replace(mask, blocks=None, window=None, union=Union(51, (-1, 0))),
    ]
    if mask.blocks is not None:
        last = mask.blocks.bits[-1].translate(str.maketrans("01", "10"))
        flipped = replace(mask.blocks, bits=(*mask.blocks.bits[:-1], last))
        others.append(replace(mask, blocks=flipped))
    return [
        line
        for other in others
        for line in dash.run_order(
            replace(request, problem=replace(problem, mask=other)), document
        ).refusal()
    ]


def unequal_twins(dash: DashOpt, level: str) -> list[str]:
    """From level batch on, equal sequences have equal orders; what is one for `run` is refused."""
    twins = (Sequence(80, 80), Sequence(48, 48), Sequence(80, 80))
    problem = Problem(twins, 16, 16, Mask(causal=True), heads=2, kv_heads=1, parts=2)
    request = Request(problem, "ascending", 3, level, 3, COST)
    spoils: list[Spoil] = [
        lambda d, s: next(i for i in s["items"] if i["sequence"] == 2)["visit"].reverse(),
        lambda d, s: next(c for c in reversed(s["chains"]) if c["q"] == 2)["order"].reverse(),
        lambda d, s: s["partChains"][-1]["order"].reverse(),
    ]
    clean = dash.run_order(request, dash.run(request).document or "")
    lines = clean.differences()
    for spoil in spoils if not lines else []:
        spoiled = copy.deepcopy(clean.document) or {}
        schedule = spoiled["schedules"][0]
        # As many workers as items: any chains are free of cycles.
        schedule.update(workers=len(schedule["items"]), forWorkers=len(schedule["items"]))
        for worker, item in enumerate(schedule["items"]):
            item["worker"] = worker
        asked = replace(request, workers=schedule["workers"], for_workers=schedule["workers"])
        lines += dash.run_order(asked, spoiled).differences()
        spoil(spoiled, schedule)
        lines += dash.run_order(asked, spoiled).refusal()
        schedule["level"] = "run"
        lines += dash.run_order(replace(asked, level="run"), spoiled).differences()
    return lines


def main() -> int:
    dash, tally = DashOpt.from_arguments(__doc__), Tally()
    tally.check_all(
        (
            case
            for case in product(KINDS, [*problems(), *masked_problems()], (1, 5))
            if serves(*case[:2])
        ),
        lambda case: round_trip(dash, case),
    )
    tally.check_all(masked_problems(), lambda problem: other_masks(dash, problem))
    tally.check_all(
        [problem for problem in (*problems(), *masked_problems()) if serves("shift", problem)],
        lambda problem: bare(dash, problem),
    )

    request = Request(problems()[-1], "ascending", 3, cost=COST)
    # The same heads, each in two runs of q tiles.
    for asked in (
        replace(request, problem=replace(request.problem, parts=4), kind="synthesized"),
        request,
    ):
        clean = dash.run(asked).document
        if clean is None:
            print("no report to spoil")
            return 1
        tally.check(dash.run_order(asked, clean).differences())
        tally.check_all(
            NO_ORDERS.items(), lambda case: refused(dash, case[0], case[1], asked, clean)
        )
    tally.check_all(NO_REPORTS, lambda text: dash.run_order(request, text).refusal())
    tally.check_all(
        other_problems(request).items(),
        lambda case: [f"{case[0]}: {line}" for line in dash.run_order(case[1], clean).refusal()],
    )
    tally.check_all(["batch", "machine"], lambda level: unequal_twins(dash, level))
    absent = replace(request, kind="file", order=dash.scratch / "absent.json")
    for wrong in (absent, replace(absent, order=dash.scratch), replace(absent, order=None)):
        tally.check(dash.run(wrong).refusal())
    return tally.exit_code()


if __name__ == "__main__":
    sys.exit(main())
