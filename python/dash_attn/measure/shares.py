"""Where the time of a trace went: by role, or by worker and role."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .spans import ITEM, Lane

# What a span counts as in the table; the others are work that has no record.
COLUMNS = {
    "products": "products",
    "issue": "products",
    "turn": "turns",
    "given": "adds",
    "slot_full": "slots",
    "slot_empty": "slots",
    "copies": "copies",
    "tensor_core": "tensor core",
    "elementwise": "element-wise",
}
ORDER = (
    "products",
    "tensor core",
    "element-wise",
    "slots",
    "turns",
    "adds",
    "copies",
    "boundary",
    "other",
)


def by_role(lane: Lane) -> str:
    """A key for `table` and `shares`: one line for each role."""
    return lane.role


def by_worker(lane: Lane) -> str:
    """A key for `table` and `shares`: one line for each role of each worker."""
    return f"w{lane.worker} {lane.role}"


def shares(
    lanes: Sequence[Lane], key: Callable[[Lane], str] = by_role
) -> dict[str, dict[str, float]]:
    """By role, or another key, what part of its lanes' time went where: columns as in ORDER.
    Where not all items are traced, what part of the time of those that are. boundary: of a role
    that multiplies, from where an item begins until its first slot is there."""
    found = times(lanes, key)
    for sums in found.values():
        whole = sum(sums.values()) or 1.0
        sums.update({column: time / whole for column, time in sums.items()})
    return found


def times(
    lanes: Sequence[Lane], key: Callable[[Lane], str] = by_role
) -> dict[str, dict[str, float]]:
    """The same in nanoseconds, over all lanes of a key."""
    found: dict[str, dict[str, float]] = {}
    for lane in lanes:
        sums = found.setdefault(key(lane), dict.fromkeys(ORDER, 0.0))
        before = sum(sums.values())
        item, multiplies = None, any(span.event == "products" for span in lane.spans)
        for span in lane.spans:
            if span.event in ITEM:
                item = span.begin if multiplies and span.event == "item" else None
                continue
            column, begin = COLUMNS[span.event], span.begin
            if item is not None:
                column, begin, item = "boundary", item, None
            sums[column] += span.end - begin
        sums["other"] += lane.traced - (sum(sums.values()) - before)
    return found


def table(lanes: Sequence[Lane], key: Callable[[Lane], str] = by_role) -> str:
    """`shares` in percent."""
    found = shares(lanes, key)
    wide = max((len(name) for name in found), default=0) + 1
    lines = [f"{'role':<{max(wide, 10)}}" + "".join(f"{column:>14}" for column in ORDER)]
    lines += [
        f"{name:<{max(wide, 10)}}" + "".join(f"{100 * sums[column]:>13.1f}%" for column in ORDER)
        for name, sums in found.items()
    ]
    if lanes and lanes[0].every > 1:
        lines.append(
            f"of the items that are traced: 1, {lanes[0].every + 1}, {2 * lanes[0].every + 1} and"
            " so on of each worker's list, from 0, or its only one"
        )
    if lost := sum(lane.lost for lane in lanes):
        lines.append(
            f"{lost} records had no room, the last ones of their lanes: build with a larger"
            " trace-records"
        )
    return "\n".join(lines)
