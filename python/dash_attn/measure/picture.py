"""The picture of measurements: TFLOP/s over the sequence length, ours strong, peers grey, names
at the lines' ends."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from .report import BASELINE
from .svg import Picture

WIDTH, TOP, LEFT = 800, 44, 44
PLOT_WIDTH, PLOT_HEIGHT = 206, 200  # names stand right of a plot
LINE = 15  # from name to name
PEERS = {"cudnn (nd)": "cuDNN (nd)", "flash (nd)": "PyTorch flash (nd)"}
STYLE = """
polyline.ours { fill: none; stroke: #0969da; stroke-width: 3 }
polyline.order { fill: none; stroke: #0969da; stroke-width: 1.5 }
polyline.peer { fill: none; stroke: #818b98; stroke-width: 1.5 }
polyline.other { fill: none; stroke: #818b98; stroke-width: 1.5; stroke-dasharray: 4 3 }
polyline.lead { fill: none; stroke: #afb8c1 }
circle.ours { fill: #0969da }
text.ours { fill: #0969da; font-weight: bold; font-size: 12px }
text.order { fill: #0969da; font-size: 12px }
text.peer, text.other { fill: #59636e; font-size: 12px }
"""
DARK = """
polyline.ours, polyline.order { stroke: #4493f8 }
circle.ours, text.ours, text.order { fill: #4493f8 }
polyline.lead { stroke: #656c76 }
text.peer, text.other { fill: #9198a1 }
"""
ROW = 22
MARKS = {
    "SDPA flash": "f",
    "SDPA cuDNN": "c",
    "SDPA efficient": "e",
    "SDPA flash det": "F",
    "flash-attn": "a",
    "flash-attn det": "A",
    "FA3": "3",
    "FA3 det": "Ⅲ",
    "FA4": "4",
    "FA4 det": "Ⅳ",
}
STYLE_OF_CALLS = """
text.letter { fill: #59636e; font-size: 12px; text-anchor: middle }
"""
Line = tuple[str, str, dict[int, float]]  # style, name, TFLOP/s of each length


def draw(record: dict[str, Any], baselines: dict[str, Any]) -> str:
    """One plot for each head dim and mask, two in a row, all with the same axes."""
    results = record["results"]
    panels = list(dict.fromkeys((result["head_dim"], result["mask"]) for result in results))
    plots = {panel: lines_of(panel, results, baselines) for panel in panels}
    lengths = sorted({result["rows"] for result in results})
    most = 100 * math.ceil(
        max(
            (value for lines in plots.values() for *_, line in lines for value in line.values()),
            default=100,
        )
        / 100
    )
    row_height = PLOT_HEIGHT + 84
    rows = math.ceil(len(panels) / 2)
    title = f"Whole backward, {record['gpu']}, bf16, {record['date']}"
    picture = Picture(WIDTH, TOP + row_height * rows - 8, title, STYLE, DARK)
    picture.text(8, 22, title, "title")
    picture.text(WIDTH - 8, 22, "nd: not deterministic", "mute end")
    for i, (panel, lines) in enumerate(plots.items()):
        left, top = LEFT + i % 2 * WIDTH / 2, TOP + i // 2 * row_height + 26
        picture.text(left, top - 12, f"head dim {panel[0]}, {panel[1]} mask: TFLOP/s")
        draw_plot(picture, lines, lengths, most, left, top)
    return picture.finish()


def draw_calls(record: dict[str, Any]) -> str:
    """A row for each shape: a dot of ours and a letter of each other call, at its TFLOP/s."""
    results = [result for result in record["results"] if "ms" in result]
    names = list(dict.fromkeys(result["shape"] for result in results))
    most = 100 * math.ceil(max((result["tflops"] for result in results), default=100) / 100)
    title = f"Forward and backward, {record['gpu']}, bf16, {record['date']}: TFLOP/s"
    left, right, top = 150, WIDTH - 30, TOP + 8
    bottom = top + ROW * len(names)
    picture = Picture(
        WIDTH, bottom + 30 + LINE * (len(MARKS) // 4 + 1), title, STYLE + STYLE_OF_CALLS, DARK
    )
    picture.text(8, 22, title, "title")
    for value in range(0, most + 1, 100):
        x = left + (right - left) * value / most
        picture.path([(x, top), (x, bottom)], "grid" if value else "axis")
        picture.text(x, bottom + 16, str(value), "mute middle")
    for i, name in enumerate(names):
        y = top + ROW * (i + 0.5)
        picture.text(8, y + 4, name, "mute")
        for result in sorted(
            (one for one in results if one["shape"] == name),
            key=lambda one: one["variant"] == "dash",
        ):
            x = left + (right - left) * result["tflops"] / most
            mark(picture, x, y, result["variant"])
    for i, name in enumerate(dict.fromkeys(result["variant"] for result in results)):
        x, y = 16 + i % 4 * 195, bottom + 38 + i // 4 * LINE
        mark(picture, x, y - 4, name)
        picture.text(x + 10, y, name, "ours" if name == "dash" else "peer")
    return picture.finish()


def mark(picture: Picture, x: float, y: float, name: str) -> None:
    """A dot of ours; a letter of another."""
    if name == "dash":
        picture.dot(x, y, "ours")
    else:
        picture.text(x, y + 4, MARKS.get(name, name[:1]), "letter")


def lines_of(
    panel: tuple[int, str], results: list[dict[str, Any]], baselines: dict[str, Any]
) -> list[Line]:
    """Peers first, so that ours is drawn over them: the best deterministic order at each length,
    and `ascending`."""
    speeds: dict[str, dict[int, float]] = {}
    for result in results:
        if (result["head_dim"], result["mask"]) == panel:
            speeds.setdefault(result["variant"], {})[result["rows"]] = result["tflops"]
    lengths = {length for line in speeds.values() for length in line}
    known = {
        row["rows"]: row[BASELINE]
        for row in baselines["rows"]
        if (row["head_dim"], row["mask"]) == panel and row["rows"] in lengths
    }
    lines = [("other", "FA3 det (other day)", known)] if known else []
    lines += [
        ("peer", name, speeds[variant]) for variant, name in PEERS.items() if variant in speeds
    ]
    orders = [line for variant, line in speeds.items() if not variant.endswith("(nd)")]
    best = (
        {length: max(line.get(length, 0) for line in orders) for length in lengths}
        if orders
        else {}
    )
    if "ascending" in speeds and speeds["ascending"] != best:
        lines.append(("order", "dash, ascending", speeds["ascending"]))
    return [*lines, ("ours", "dash, best order", best)] if best else lines


def draw_plot(
    picture: Picture, lines: list[Line], lengths: list[int], most: int, left: float, top: float
) -> None:
    right, bottom = left + PLOT_WIDTH, top + PLOT_HEIGHT
    span = math.log2(lengths[-1] / lengths[0]) or 1

    def at(length: int, value: float) -> tuple[float, float]:
        return (
            left + PLOT_WIDTH * math.log2(length / lengths[0]) / span,
            bottom - PLOT_HEIGHT * value / most,
        )

    for value in range(0, most + 1, 100 if most <= 800 else 200):
        _, y = at(lengths[0], value)
        picture.path([(left, y), (right, y)], "grid" if value else "axis")
        picture.text(left - 6, y + 4, str(value), "mute end")
    for length in lengths:
        picture.text(
            at(length, 0)[0],
            bottom + 18,
            str(length) if length < 1024 else f"{length / 1024:g}k",
            "mute middle",
        )
    picture.text(left + PLOT_WIDTH / 2, bottom + 36, "sequence length", "mute middle")
    ends = {}
    for style, name, line in lines:
        points = [at(length, value) for length, value in sorted(line.items())]
        picture.path(points, style)
        if style == "ours":
            for x, y in points:
                picture.dot(x, y, style)
        ends[style, name] = points[-1]
    places = spread((y for _, y in ends.values()), top, bottom)
    for ((style, name), (x, y)), place in zip(ends.items(), places):
        picture.path([(x + 4, y), (right + 18, place)], "lead")
        picture.text(right + 22, place + 4, name, style)


def spread(places: Iterable[float], top: float, bottom: float) -> list[float]:
    """The places, in their order, moved so that names have room: none on another, all between
    top and bottom."""
    wanted = list(places)
    order = sorted(range(len(wanted)), key=wanted.__getitem__)
    found = dict(enumerate(wanted))
    floor = top
    for i in order:
        found[i] = floor = max(found[i], floor)
        floor += LINE
    ceiling = bottom
    for i in reversed(order):
        found[i] = ceiling = min(found[i], ceiling)
        ceiling -= LINE
    return [found[i] for i in range(len(wanted))]
