"""Recorded runs: what a recording found, its file, and where two of them part. Nothing here needs a framework."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from .files import read_text, write_text
from .records import Record, parse

VERSION = 1
MOST_BYTES = 1 << 32  # of a file: some 40 million entries
PHASES = ("input", "forward", "backward", "recomputed", "optimizer")


class Entry(NamedTuple):
    """One tensor. phase: one of PHASES; path: the module; name: an operator, or of an input where it goes; output: which one."""

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
            return f"step {self.step}, an input: {self.name}{f' in {self.path}' if self.path else ''}"
        where = "the model" if not self.path else self.path
        return f"step {self.step}, {self.phase} of {where}: {self.name}, output {self.output}"


@dataclass(frozen=True)
class Run:
    """What a recording found. Equal runs have equal entries. every: whether no operator was left out."""

    entries: tuple[Entry, ...]
    every: bool = False

    def save(self, path: str | Path) -> None:
        """As JSON: a line for each entry."""
        lines = [json.dumps({"dash_audit": VERSION, "every": self.every}), *(json.dumps([*entry[:-1], f"{entry.hash:016x}"]) for entry in self.entries)]
        write_text(Path(path), "\n".join(lines) + "\n")

    @staticmethod
    def load(path: str | Path) -> Run:
        """Raises ValueError if it is no file of `save`."""
        try:
            first, *lines = read_text(path, MOST_BYTES).splitlines() or [""]
            head = Record(parse(first), "line 1")
            head.word("dash_audit", (VERSION,))
            every = head.flag("every")
            return Run(tuple(_entry(line, f"line {number}") for number, line in enumerate(lines, 2)), every)
        except ValueError as error:
            raise ValueError(f"{path}: expected a file of Run.save, of version {VERSION}: {error}") from None


def _entry(line: str, place: str) -> Entry:
    fields = parse(line)
    if not isinstance(fields, list) or len(fields) != len(Entry._fields):
        raise ValueError(f"{place}: expected a list of {len(Entry._fields)}, found {line[:80]!r}")
    record = Record(dict(zip(Entry._fields, fields)), place)
    return Entry(record.number("step", 0), record.word("phase", PHASES), record.text("path"), record.text("name"), record.number("output", 0),
                 int(record.match("hash", r"[0-9a-f]{16}"), 16))


@dataclass(frozen=True)
class Divergence:
    """entry, other: what stands there in each run, None behind its end; equal: how many entries before are; differing: how many differ."""

    entry: Entry | None
    other: Entry | None
    equal: int
    differing: int

    @property
    def is_of_values(self) -> bool:
        """Whether both runs did the same there; else they are different programs from there on."""
        return self.entry is not None and self.other is not None and self.entry.place == self.other.place

    def __str__(self) -> str:
        if not self.is_of_values:
            return (f"the runs are different programs behind {self.equal} equal entries: found {self.entry or 'the end'}; and "
                    f"{self.other or 'the end'}")
        matching = "" if self.entry.phase == "input" else ", whose inputs match"
        return f"{self.entry}{matching}: {self.equal} entries before it are equal, {self.differing} of all differ"


def compare(one: Run, other: Run) -> Divergence | None:
    """The first entry that differs; None if the runs are equal. Raises ValueError if only one of them has every operator."""
    if one.every != other.every:
        raise ValueError("expected two runs of every operator, or two that leave some out, found one of each")
    pairs = list(zip(one.entries, other.entries))
    index = next((i for i, (first, second) in enumerate(pairs) if first != second), len(pairs))
    if index == len(pairs) and len(one.entries) == len(other.entries):
        return None
    found = [entries[index] if index < len(entries) else None for entries in (one.entries, other.entries)]
    return Divergence(*found, index, sum(first != second for first, second in pairs[index:]))


def differences(expected: Any, found: Any, place: str = "") -> Iterator[str]:
    """What a certificate says and another does not, or says otherwise: a line for each."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for name in dict.fromkeys((*expected, *found)):
            yield from differences(expected.get(name), found.get(name), f"{place}.{name}" if place else name)
    elif isinstance(expected, list) and isinstance(found, list):
        for i in range(max(len(expected), len(found))):
            yield from differences(*(items[i] if i < len(items) else None for items in (expected, found)), f"{place}[{i}]")
    elif expected != found:
        yield f"{place}: expected {expected}, found {found}"
