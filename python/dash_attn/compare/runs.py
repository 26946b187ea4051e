"""Recorded runs: what a recording found, its file, and where two of them part. Nothing here
needs a framework."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ..support.files import read_text, write_text
from ..support.records import Record, parse

VERSIONS = (1, 3)  # of files: 3 of those that say where in their tensors
BLOCK = 64  # rows whose hash is one
MOST_DIMENSIONS = 16
MOST_BYTES = 1 << 32  # of a file: some 40 million entries
PHASES = ("input", "forward", "backward", "recomputed", "optimizer")


class Entry(NamedTuple):
    """One tensor. phase: one of PHASES; path: the module; name: an operator, or of an input
    where it goes; output: which one."""

    step: int
    phase: str
    path: str
    name: str
    output: int
    hash: int

    @property
    def place(self) -> tuple[Any, ...]:
        return self[:-1]

    def __str__(self) -> str:
        if self.phase == "input":
            return (
                f"step {self.step}, an input: {self.name}{f' in {self.path}' if self.path else ''}"
            )
        where = "the model" if not self.path else self.path
        return f"step {self.step}, {self.phase} of {where}: {self.name}, output {self.output}"


class Space(NamedTuple):
    """Hashes of an entry's blocks of BLOCK rows. shape: of its tensor; axis: the dimension of
    rows; hashes: in the order of the dimensions but rows and the last one, then of blocks; call:
    of an attention of dash what it was asked for, {"q": its shape, "k": its shape, "window": two
    numbers, "element": "bf16"}."""

    shape: tuple[int, ...]
    axis: int
    hashes: tuple[int, ...]
    call: dict[str, Any] | None = None

    @property
    def lead(self) -> tuple[int, ...]:
        """Sizes of what `hashes` is an array of, but the last one."""
        return tuple(size for i, size in enumerate(self.shape[:-1]) if i != self.axis)

    @property
    def blocks(self) -> int:
        return -(-self.shape[self.axis] // BLOCK)


@dataclass(frozen=True)
class Run:
    """What a recording found. Equal runs have equal entries. every: whether no operator was left
    out; spaces: of entries, by their numbers, if asked for."""

    entries: tuple[Entry, ...]
    every: bool = False
    spaces: dict[int, Space] = field(default_factory=dict)

    def save(self, path: str | Path) -> None:
        """As JSON: a line for each entry."""
        lines = [
            json.dumps({"dash_audit": VERSIONS[bool(self.spaces)], "every": self.every}),
            *(json.dumps([*entry[:-1], f"{entry.hash:016x}"]) for entry in self.entries),
            *(
                json.dumps(
                    {
                        "entry": number,
                        **space._asdict(),
                        "hashes": "".join(f"{one:016x}" for one in space.hashes),
                    }
                )
                for number, space in self.spaces.items()
            ),
        ]
        write_text(Path(path), "\n".join(lines) + "\n")

    @staticmethod
    def load(path: str | Path) -> Run:
        """Raises ValueError if it is no file of `save`."""
        try:
            first, *lines = read_text(path, MOST_BYTES).splitlines() or [""]
            head = Record(parse(first), "line 1")
            head.word("dash_audit", VERSIONS)
            every, count = head.flag("every"), sum(not line.startswith("{") for line in lines)
            entries = tuple(
                _entry(line, f"line {number}") for number, line in enumerate(lines[:count], 2)
            )
            return Run(
                entries,
                every,
                dict(
                    _space(line, f"line {number}", count)
                    for number, line in enumerate(lines[count:], 2 + count)
                ),
            )
        except ValueError as error:
            raise ValueError(
                f"{path}: expected a file of Run.save, of version"
                f" {' or '.join(map(str, VERSIONS))}: {error}"
            ) from None


def _space(line: str, place: str, entries: int) -> tuple[int, Space]:
    record = Record(parse(line), place)
    shape = record.numbers("shape", range(2, MOST_DIMENSIONS), 1)
    found = Space(
        shape,
        record.number("axis", 0, len(shape) - 2),
        (),
        _call(record.object("call")) if record.fields.get("call") is not None else None,
    )
    count = math.prod(found.lead) * found.blocks
    hashes = record.match("hashes", f"[0-9a-f]{{{16 * count}}}" if count < MOST_BYTES // 16 else "")
    return record.number("entry", 0, entries - 1), found._replace(
        hashes=tuple(int(hashes[i : i + 16], 16) for i in range(0, len(hashes), 16))
    )


def _call(record: Record) -> dict[str, Any]:
    """Words and numbers that become a program."""
    return {
        "q": record.numbers("q", (4,), 1),
        "k": record.numbers("k", (4,), 1),
        "v": record.numbers("v", (4,), 1),
        "window": record.numbers("window", (2,), -1),
        "element": record.word("element", ("bf16", "f16")),
    }


def _entry(line: str, place: str) -> Entry:
    fields = parse(line)
    if not isinstance(fields, list) or len(fields) != len(Entry._fields):
        raise ValueError(f"{place}: expected a list of {len(Entry._fields)}, found {line[:80]!r}")
    record = Record(dict(zip(Entry._fields, fields)), place)
    return Entry(
        record.number("step", 0),
        record.word("phase", PHASES),
        record.text("path"),
        record.text("name"),
        record.number("output", 0),
        int(record.match("hash", r"[0-9a-f]{16}"), 16),
    )


@dataclass(frozen=True)
class Divergence:
    """entry, other: what stands there in each run, None behind its end; equal: how many entries
    before are; differing: how many differ."""

    entry: Entry | None
    other: Entry | None
    equal: int
    differing: int

    @property
    def is_of_values(self) -> bool:
        """Whether both runs did the same there; else they are different programs from there on."""
        return (
            self.entry is not None
            and self.other is not None
            and self.entry.place == self.other.place
        )

    def __str__(self) -> str:
        if not self.is_of_values:
            return (
                f"the runs are different programs behind {self.equal} equal entries: found"
                f" {self.entry or 'the end'}; and {self.other or 'the end'}"
            )
        matching = "" if self.entry.phase == "input" else ", whose inputs match"
        return (
            f"{self.entry}{matching}: {self.equal} entries before it are equal, {self.differing} of"
            " all differ"
        )


def compare(one: Run, other: Run) -> Divergence | None:
    """The first entry that differs; None if the runs are equal. Raises ValueError if only one of
    them has every operator."""
    if one.every != other.every:
        raise ValueError(
            "expected two runs of every operator, or two that leave some out, found one of each"
        )
    pairs = list(zip(one.entries, other.entries))
    index = next((i for i, (first, second) in enumerate(pairs) if first != second), len(pairs))
    if index == len(pairs) and len(one.entries) == len(other.entries):
        return None
    found = [
        entries[index] if index < len(entries) else None for entries in (one.entries, other.entries)
    ]
    return Divergence(*found, index, sum(first != second for first, second in pairs[index:]))


def differences(expected: Any, found: Any, place: str = "") -> Iterator[str]:
    """What a certificate says and another does not, or says otherwise: a line for each."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for name in dict.fromkeys((*expected, *found)):
            yield from differences(
                expected.get(name), found.get(name), f"{place}.{name}" if place else name
            )
    elif isinstance(expected, list) and isinstance(found, list):
        for i in range(max(len(expected), len(found))):
            yield from differences(
                *(items[i] if i < len(items) else None for items in (expected, found)),
                f"{place}[{i}]",
            )
    elif expected != found:
        yield f"{place}: expected {expected}, found {found}"
