# RUN: rm -rf %t && mkdir -p %t && %python %s %t
# REQUIRES: python, plain-libdash
"""Heat maps of made-up traces: even ones, slow workers, which are named, ranks, and small pictures
of many steps."""

from __future__ import annotations

import json
import random
import re
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

from fixtures import refused  # noqa: E402
from made_up_traces import WORKERS, made_up, report  # noqa: E402

from dash_attn import ArgumentError, heat  # noqa: E402
from dash_attn.measure.tasks import Tasks  # noqa: E402

TMP = Path(sys.argv[1])


def heat_maps(order: dict[str, Any], predicted: dict[str, Any]) -> None:
    lanes = made_up(order, predicted)
    even = heat.of_trace(lanes, order, "even")
    assert (
        even.rows == tuple(f"w{worker} sm{worker}" for worker in range(WORKERS))
        and not even.stragglers
    ), even.stragglers
    assert [len(cells) for cells in even.cells] == [
        sum(len(item["visit"]) for item in Tasks(order).items[worker]) for worker in range(WORKERS)
    ]
    # Steps follow each other.
    assert abs(sum(even.cells[0]) - max(span.end for span in lanes[1].spans) / 1000) < 0.1
    slow = [
        (
            replace(
                lane,
                spans=[
                    replace(span, begin=2 * span.begin, end=2 * span.end) for span in lane.spans
                ],
            )
            if lane.worker == 2
            else lane
        )
        for lane in lanes
    ]
    found = heat.of_trace(slow, order, "a <slow> one")
    assert list(found.stragglers) == ["w2 sm2"] and 1.5 < found.stragglers["w2 sm2"] < 2.5, (
        found.stragglers
    )
    heat.save(TMP / "heat.svg", found)
    heat.save(TMP / "heat.json", found)
    picture = ET.parse(TMP / "heat.svg").getroot()
    cells = grid(picture)
    assert [sum(row == at for row, _ in cells) for at in range(WORKERS)] == [
        *map(len, found.cells)
    ] and set(cells.values()) > {0, 8}, cells
    texts = [one.text for one in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert texts[0] == "a <slow> one" and texts[-1].startswith(
        "slower than the median of all: w2 sm2 "
    ), texts
    about = json.loads((TMP / "heat.json").read_text(encoding="utf-8"))
    assert (
        about["rows"] == list(found.rows)
        and about["of"] == "worker"
        and about["steps"] == [list(cells) for cells in found.cells]
        and "w2 sm2" in about["stragglers"]
    )
    assert (
        refused(lambda: heat.save(TMP / "heat.png", found), ArgumentError)
        == f"{TMP / 'heat.png'}: expected a file that ends with .svg or .json, found '.png'"
    )
    assert "expected a step at least, found none" in refused(
        lambda: heat.Heat("", (), ()).as_svg(), ArgumentError
    )
    ranks = heat.of_ranks([[10.0, None, 10.0], [10.0, 10.0], [15.0, 16.0, 14.0]], "ranks")
    assert (
        ranks.rows == ("rank 0", "rank 1", "rank 2")
        and ranks.stragglers == {"rank 2": 1.5}
        and ranks.as_json()["of"] == "rank"
    ), ranks
    assert (
        "a row is a rank, a column a step<" in ranks.as_svg()
        and "s median step takes 1.1 times as long as that of all<"
        in heat.of_ranks([[1.0]], "").as_svg()
    )


def grid(picture: ET.Element) -> dict[tuple[int, int], int]:
    """Shades by row and column, out of strokes: each goes right from where the one before it
    ended."""
    found: dict[tuple[int, int], int] = {}
    for path in picture.iter("{http://www.w3.org/2000/svg}path"):
        x = y = 0
        for right, down, length in re.findall(r"m(-?\d+) (\d+)h(\d+)", path.get("d", "")):
            x, y = x + int(right), y + int(down)
            for column in range(x, x + int(length)):
                assert (y, column) not in found
                found[y, column] = int(path.get("class", "").removeprefix("heat"))
            x += int(length)
    return found


def small_pictures() -> None:
    """Many workers and steps: cells are means, and a picture stays small, noise or not."""
    noise = random.Random(1)
    wide = heat.Heat(
        "noise",
        tuple(map(str, range(132))),
        tuple(tuple(noise.gauss(2, 0.3) for _ in range(528)) for _ in range(132)),
    )
    text = wide.as_svg()
    cells = grid(ET.fromstring(text))
    assert (
        len(text) <= 150_000
        and "a row is a worker, a column 3 steps, and a cell their mean<" in text
    ), len(text)
    assert (
        {row for row, _ in cells} == set(range(132))
        and {column for _, column in cells} == set(range(176))
        and len(cells) == 132 * 176
    )
    for columns, count in ((200, 176), (132, 132), (100, 88), (1, 1)):
        assert len(grid(ET.fromstring(wide.as_svg(columns)))) == 132 * count, columns
    high = heat.Heat("high", tuple(map(str, range(450))), ((1.0, 3.0, 2.0),) * 450)
    assert (
        "a row is 3 workers, a column a step, and a cell their mean<" in high.as_svg()
        and len(grid(ET.fromstring(high.as_svg()))) == 3 * 150
    )
    # A mean leaves out what is not known; a stall among steps that are no longer than others shows.
    ragged = heat.Heat(
        "ragged", ("a", "b"), ((2.0, None, 1.0, 3.0, None, None, 2.0), (2.0, 2.0, 2.0, 200.0))
    )
    assert grid(ET.fromstring(ragged.as_svg(4))) == {
        (0, 0): 0,
        (0, 1): 0,
        (0, 3): 0,
        (1, 0): 0,
        (1, 1): 8,
    }
    heat.save(TMP / "few.svg", wide, 10)
    assert (TMP / "few.svg").read_text(encoding="utf-8") == wide.as_svg(10)
    for wrong in (0, -1, 201, True, 2.5):
        assert (
            refused(lambda wrong=wrong: wide.as_svg(wrong), ArgumentError)
            == f"a heat map: expected from 1 to 200 columns, found {wrong!r}"
        )


for mask, kind in (("causal", "symmetric-shift"), ("full", "descending")):
    heat_maps(report(mask, kind, "json")["schedules"][0], report(mask, kind, "trace"))
small_pictures()
