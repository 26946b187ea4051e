"""A picture of a launch that stands still: how far each worker is on its list, and which turn it
waits for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..measure.svg import Picture

STYLE = """
rect.list { fill: #d1d9e0 }
rect.given { fill: #4292c6 }
rect.cause { fill: #cf222e }
rect.waits { fill: #bf8700 }
text.cause { fill: #cf222e; font-weight: bold }
"""
DARK = """
rect.list { fill: #3d444d }
text.cause { fill: #ff7b72 }
"""
LEFT, TOP, ROW, BAR, WIDTH, MARK, TEXT, BELOW, MOST = 70, 66, 20, 12, 260, 4, 570, 34, 24


def drawn(data: Mapping[str, Any], title: str) -> str:
    """An SVG. data: `Look.data`. Causes come first, then the workers that wait, the nearest first,
    then those that are done."""
    workers = list(enumerate(data["workers"]))
    order = sorted(
        workers,
        key=lambda one: (
            "root" not in one[1],
            one[1].get("distance", 0),
            -one[1].get("behind", 0),
            one[0],
        ),
    )
    shown, most = order[:MOST], max((worker["total"] for _, worker in workers), default=1) or 1
    picture = Picture(LEFT + WIDTH + TEXT, TOP + ROW * len(shown) + BELOW, title, STYLE, DARK)
    picture.text(LEFT, 24, title, "title")
    picture.text(
        LEFT,
        44,
        f"a bar is a worker's list of turns; blue ones are given: {data['given']} of"
        f" {data['total']} in all",
        "mute",
    )
    for row, (number, worker) in enumerate(shown):
        y = TOP + ROW * row
        is_cause = worker.get("root") == number
        picture.text(LEFT - 8, y + BAR - 1, f"w{number}", "cause end" if is_cause else "mute end")
        scale = WIDTH / most
        picture.rect(LEFT, y, worker["total"] * scale, BAR, "list")
        picture.rect(LEFT, y, worker["given"] * scale, BAR, "given")
        if "root" in worker:
            picture.rect(
                LEFT + worker["given"] * scale, y, MARK, BAR, "cause" if is_cause else "waits"
            )
        picture.text(
            LEFT + WIDTH + 12,
            y + BAR - 1,
            _says(number, worker, is_cause),
            "cause" if is_cause else "mute",
        )
    if len(order) > MOST:
        picture.text(
            LEFT, TOP + ROW * len(shown) + 16, f"and {len(order) - MOST} more workers", "mute"
        )
    return picture.finish()


def _says(number: int, worker: Mapping[str, Any], is_cause: bool) -> str:
    if "root" not in worker:
        return "has given all of its turns" if worker["total"] else "has no turns"
    tile, turn = worker["next"]["tile"], worker["next"]["turn"]
    if is_cause:
        return f"has turn {turn} of {tile}, and does not give it"
    return (
        f"waits for turn {turn} of {tile}: worker {worker['holder']['worker']} has turn"
        f" {worker['holder']['turn']}"
    )
