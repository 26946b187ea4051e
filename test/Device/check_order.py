#!/usr/bin/env python3
"""Checks a dump of an order buffer against the schedule report of the same sizes.

    check_order.py BUFFER REPORT.json

BUFFER: the workspace region `order` as it lies in memory (i32, little endian), after the entry
NAME_order has run, or the file that a manifest names. REPORT: of `dash-opt …
--dash-report-schedule='format=json output=REPORT.json'`. Every list must hold the report's items in
their order, every item its tasks, every task its turn. Exit code 1 and what differs otherwise.
Needs the Python standard library only.
"""

from __future__ import annotations

import argparse
import array
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HEADER_WORDS, ITEM_WORDS, VISIT_WORDS = 8, 8, 4

Task = tuple[int, int, int, bool]
"""(head, q tile, turn, whether the turn is the chain's last)"""


class MalformedError(Exception):
    """The words are no order buffer; says which word, and what was expected."""


@dataclass(frozen=True)
class BufferItem:
    """A record of an item, with its steps unrolled."""

    sequence: int
    kv_head: int
    kv: int
    part_turn: int
    tasks: tuple[Task, ...]


def expect(condition: bool, text: str) -> None:
    if not condition:
        raise MalformedError(text)


def unroll(words: array.array, first_visit_word: int, record: array.array) -> BufferItem:
    """The item of a record of eight words."""
    sequence, kv_head, kv, first_head, first, per_round, rounds, part_turn = record
    tasks = []
    for step in range(per_round * rounds):
        at = first_visit_word + VISIT_WORDS * (first + step % per_round)
        expect(
            at + VISIT_WORDS <= len(words), f"visit {first + step % per_round} is behind the end"
        )
        head, q, turn, is_last = words[at : at + VISIT_WORDS]
        expect(
            is_last in (0, 1),
            f"visit {first + step % per_round} has mark {is_last}, expected 0 or 1",
        )
        tasks.append((first_head + head + step // per_round, q, turn, bool(is_last)))
    return BufferItem(sequence, kv_head, kv, part_turn, tuple(tasks))


def decode(words: array.array) -> list[list[BufferItem]]:
    """The items of each worker, in the order of its list. Raises MalformedError."""
    expect(len(words) >= HEADER_WORDS, f"a header has {HEADER_WORDS} words, found {len(words)}")
    version, workers, items, lists_at, items_at, visits_at, _, reserved = words[:HEADER_WORDS]
    expect(
        (version, lists_at, reserved) == (1, HEADER_WORDS, 0),
        f"header {list(words[:HEADER_WORDS])}, expected version 1, lists at {HEADER_WORDS} and a 0"
        " behind",
    )
    expect(
        items_at % 8 == 0
        and visits_at == items_at + ITEM_WORDS * items
        and items_at > lists_at + workers,
        f"items at {items_at} and visits at {visits_at} do not follow {workers} lists and {items}"
        " items",
    )
    lists = words[lists_at : lists_at + workers + 1]
    expect(
        lists[0] == 0 and lists[-1] == items and list(lists) == sorted(lists),
        f"lists begin at {list(lists)}, expected 0 to {items}, ascending",
    )

    def item(index: int) -> BufferItem:
        at = items_at + ITEM_WORDS * index
        return unroll(words, visits_at, words[at : at + ITEM_WORDS])

    return [[item(index) for index in range(begin, end)] for begin, end in zip(lists, lists[1:])]


def expected(schedule: dict[str, Any]) -> list[list[BufferItem]]:
    """The same of a schedule in a report."""
    turns = {}
    for chain in schedule["chains"]:
        for turn, (kv, part) in enumerate(chain["order"]):
            is_last = turn + 1 == len(chain["order"])
            turns[chain["sequence"], chain["head"], chain["q"], kv, part] = (turn, is_last)
    part_turns = {
        (chain["sequence"], chain["kvHead"], chain["kv"], part): turn
        for chain in schedule["partChains"]
        for turn, part in enumerate(chain["order"])
    }
    lists: list[list[BufferItem]] = [[] for _ in range(schedule["workers"])]
    for item in schedule["items"]:
        sequence, kv_head, kv, part = item["sequence"], item["kvHead"], item["kv"], item["part"]
        tasks = tuple((head, q, *turns[sequence, head, q, kv, part]) for head, q in item["visit"])
        lists[item["worker"]].append(
            BufferItem(
                sequence, kv_head, kv, part_turns.get((sequence, kv_head, kv, part), 0), tasks
            )
        )
    return lists


def differences(words: array.array, schedule: dict[str, Any]) -> list[str]:
    """What the buffer has otherwise than the schedule, worker by worker; empty where they are
    equal."""
    try:
        found = decode(words)
    except MalformedError as error:
        return [str(error)]
    want = expected(schedule)
    if len(found) != len(want):
        return [f"{len(found)} workers, expected {len(want)}"]
    return [
        f"worker {worker}, item {index}: {str(mine)[:300]}, expected {str(theirs)[:300]}"
        for worker, (have, should) in enumerate(zip(found, want))
        for index, (mine, theirs) in enumerate(zip([*have, None], [*should, None]))
        if mine != theirs
    ][:10]


def read_words(path: Path) -> array.array:
    """The i32 words of a dump."""
    words = array.array("i")
    words.frombytes(path.read_bytes())
    if sys.byteorder == "big":
        words.byteswap()
    return words


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("buffer", type=Path, metavar="BUFFER")
    parser.add_argument("report", type=Path, metavar="REPORT")
    arguments = parser.parse_args()
    schedules = json.loads(arguments.report.read_text(encoding="utf-8"))["schedules"]
    if len(schedules) != 1:
        print(f"{arguments.report}: {len(schedules)} schedules, expected one", file=sys.stderr)
        return 1
    found = differences(read_words(arguments.buffer), schedules[0])
    print(
        "\n".join(found)
        if found
        else f"the order of {len(schedules[0]['items'])} items, as reported"
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
