"""A stretch of a trace as a picture: tracks of a few workers, one under the other, over time.
Tracks are those of the file for Perfetto, which `perfetto.write` writes."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import ArgumentError
from ..support.records import read
from .perfetto import track_for_track
from .svg import Picture, number

# Colours by what a slice is; blue and green ones are work. Those of the prediction are `compute`
# and `reduce`.
KINDS = {
    "compute": ("#77aadd", "computes"),
    "products": ("#77aadd", "waits for products, or issues them"),
    "tensor core": ("#99ddff", "waits for the tensor core"),
    "element-wise": ("#aabbcc", "element-wise"),
    "reduce": ("#bbcc33", "adds"),
    "adds": ("#bbcc33", "adds"),
    "turns": ("#ee8866", "waits for a turn"),
    "slots": ("#eedd88", "waits for a slot"),
    "copies": ("#ffaabb", "waits for copies"),
}
NAMES = {kind: "k" + re.sub("[^a-z]", "", kind) for kind in KINDS}
STYLE = (
    "".join(f".{NAMES[kind]} {{ fill: {colour} }}\n" for kind, (colour, _) in KINDS.items())
    + """
text.tile { font-size: 10px; text-anchor: middle; fill: #1f2328 }
.item { fill: none; stroke: #cf222e; stroke-width: 2 }
"""
)
DARK = "text.tile { fill: #1f2328 }\n.item { stroke: #ff7b72 }\n"
LEFT, TOP, WIDTH, RIGHT, ROW, BAR, GAP, LEGEND = 176, 72, 800, 20, 20, 15, 8, 20
LETTER = 6  # pixels of a label's letter
MOST_SLICES, MOST_TRACKS, TICKS = 4000, 200, 10
TRACK = re.compile(r"([a-z-]+)(?: \d+)?, [a-z]+")
WORKER = re.compile(r"w(\d{1,9})")


@dataclass
class Track:
    """slices: of a kind, from and to, with what stands in them. items: where one begins."""

    worker: int
    name: str
    slices: list[tuple[str, float, float, str]] = field(default_factory=list)
    items: list[float] = field(default_factory=list)

    @property
    def role(self) -> str:
        found = TRACK.fullmatch(self.name)
        return found[1] if found else self.name


def load(path: Path) -> list[dict[str, Any]]:
    """The events of a file that `perfetto.write` has written, track for track. Raises
    ArgumentError, OSError and ValueError."""
    found = read(path)
    events = found.get("traceEvents") if isinstance(found, Mapping) else None
    if not isinstance(events, list) or not all(map(_is_event, events)):
        raise ArgumentError(
            f"{path}: expected a trace that --out has written, found something else"
        )
    is_alone = any(
        re.match(r"w\d+ ", event["args"]["name"])
        for event in events
        if event["name"] == "thread_name"
    )
    return track_for_track([("measured", events)]) if is_alone else events


def _is_event(event: Any) -> bool:
    if not isinstance(event, Mapping) or not all(
        isinstance(event.get(name), kind)
        for name, kind in (("ph", str), ("name", str), ("pid", int))
    ):
        return False
    if event["ph"] == "M":
        args = event.get("args")
        return (
            isinstance(event.get("tid"), int)
            and isinstance(args, Mapping)
            and (not event["name"].endswith("_name") or isinstance(args.get("name"), str))
        )
    numbers = [event.get(name) for name in (("ts", "dur") if event["ph"] == "X" else ("ts",))]
    return (
        isinstance(event.get("tid"), int)
        and isinstance(event.get("cat"), str)
        and all(isinstance(one, (int, float)) for one in numbers)
    )


def tracks_of(events: Sequence[Mapping[str, Any]]) -> list[Track]:
    """In the order of the file."""
    workers, found = dict[int, int](), dict[tuple[int, int], Track]()
    for event in events:
        name = event["args"]["name"] if event["name"] in ("process_name", "thread_name") else ""
        if event["name"] == "process_name" and (match := WORKER.fullmatch(name)):
            workers[event["pid"]] = int(match[1])
        elif event["name"] == "thread_name" and event["pid"] in workers:
            found[event["pid"], event["tid"]] = Track(workers[event["pid"]], name)
    for event in events:
        track = found.get((event["pid"], event["tid"]))
        if track and event["ph"] == "X" and event["cat"] in KINDS:
            track.slices.append(
                (event["cat"], event["ts"], event["ts"] + event["dur"], _label(event["name"]))
            )
        elif track and event["ph"] == "i" and event["cat"] == "item":
            track.items.append(event["ts"])
    return [*found.values()]


def _label(name: str) -> str:
    """What fits into a slice: a turn, or the tile that is computed or added, by KV tile and Q
    tile."""
    found = re.match(r"wait for (turn \d+)", name) or re.search(r"\bs\d+ h\d+ (\d+,\d+)$", name)
    return found[1] if found else ""


def drawn(
    events: Sequence[Mapping[str, Any]],
    title: str,
    between: tuple[float, float] | None = None,
    workers: int = 0,
    roles: Collection[str] = (),
) -> str:
    """An SVG. between: microseconds; the whole trace without them. workers: so many, from worker 0
    on; 0: all. roles: only these. Raises ArgumentError where there is nothing to draw, or too much.
    """
    tracks = [track for track in tracks_of(events) if not workers or track.worker < workers]
    known = [*dict.fromkeys(track.role for track in tracks)]
    if unknown := [role for role in roles if role not in known]:
        raise ArgumentError(
            f"--roles: expected some of {', '.join(known) or 'none'}, found '{unknown[0]}'"
        )
    tracks = [track for track in tracks if not roles or track.role in roles]
    last = max(
        (time for track in tracks for time in (*(one[2] for one in track.slices), *track.items)),
        default=0.0,
    )
    begin, end = (0.0, last) if between is None else between
    if not 0 <= begin < end or not begin < last:
        raise ArgumentError(
            "--between: expected a beginning and a later end, in µs of a trace that takes"
            f" {last:.1f}, found {begin:g} and {end:g}"
        )
    end = min(end, last)
    shown = [replaced for track in tracks if (replaced := _cut(track, begin, end)) is not None]
    slices = sum(len(track.slices) for track in shown)
    if slices > MOST_SLICES or len(shown) > MOST_TRACKS:
        raise ArgumentError(
            f"a picture of a trace: expected at most {MOST_SLICES} slices on {MOST_TRACKS} tracks,"
            f" found {slices} on {len(shown)} from {begin:g} to {end:g} µs; draw a shorter stretch"
            " (--between), fewer --workers or fewer --roles"
        )
    if not slices:
        raise ArgumentError(
            f"a picture of a trace: expected something between {begin:g} and {end:g} µs, found"
            " none; a trace of trace=items has no slices of its own"
        )
    return _draw(shown, title, begin, end)


def _cut(track: Track, begin: float, end: float) -> Track | None:
    slices = [
        (kind, max(since, begin), min(until, end), label)
        for kind, since, until, label in track.slices
        if since < end and until > begin
    ]
    items = [at for at in track.items if begin <= at <= end]
    return Track(track.worker, track.name, slices, items) if slices or items else None


def _draw(tracks: Sequence[Track], title: str, begin: float, end: float) -> str:
    places, bottom = list[float](), float(TOP)
    for index, track in enumerate(tracks):
        bottom += GAP if index and track.worker != tracks[index - 1].worker else 0
        places.append(bottom)
        bottom += ROW
    picture = Picture(LEFT + WIDTH + RIGHT, int(bottom) + LEGEND + 34, title, STYLE, DARK)
    picture.text(LEFT, 24, title, "title")
    picture.text(
        LEFT,
        44,
        f"{number(begin)} to {number(end)} µs; in a slice: the turn, or KV tile and Q tile",
        "mute",
    )
    scale = WIDTH / (end - begin)
    step = _step((end - begin) / TICKS)
    for tick in range(-int(-begin // step), int(end / step) + 1):
        x = LEFT + (tick * step - begin) * scale
        picture.path([(x, TOP - 4), (x, bottom)], "grid")
        picture.text(x, TOP - 8, f"{tick * step:g}", "mute middle")
    for track, y in zip(tracks, places):
        picture.text(LEFT - 8, y + BAR - 3, f"w{track.worker} {track.name}", "mute end")
        for kind, since, until, label in track.slices:
            x, width = LEFT + (since - begin) * scale, (until - since) * scale
            picture.rect(x, y, width, BAR, NAMES[kind])
            if label and width > LETTER * len(label):
                picture.text(x + width / 2, y + BAR - 4, label, "tile")
        for at in track.items:
            picture.path(
                [(LEFT + (at - begin) * scale, y), (LEFT + (at - begin) * scale, y + BAR)], "item"
            )
    _legend(picture, tracks, bottom + LEGEND)
    return picture.finish()


def _step(least: float) -> float:
    """The next of 1, 2 and 5, and of their multiples by powers of ten."""
    power = 10.0 ** int(f"{least:e}".partition("e")[2])
    return next(times * power for times in (1, 2, 5, 10) if times * power >= least)


def _legend(picture: Picture, tracks: Sequence[Track], y: float) -> None:
    kinds = {one[0] for track in tracks for one in track.slices}
    x = float(LEFT)
    for words, kind in {words: kind for kind, (_, words) in KINDS.items() if kind in kinds}.items():
        picture.rect(x, y, 14, 12, NAMES[kind])
        picture.text(x + 20, y + 10, words, "mute")
        x += 40 + 6.5 * len(words)
    if any(track.items for track in tracks):
        picture.path([(x + 7, y - 1), (x + 7, y + 13)], "item")
        picture.text(x + 20, y + 10, "an item begins", "mute")
