"""Records that a stranger may have written: certificates, measurements, lists of what is in a
bundle. Their fields become options of the compiler, names of files and lines on a terminal, so
each is one of the words that are known, a number within bounds, or plain text. Else ValueError
says where: "kernels[0].kind: expected one of ascending, ..., found 'best'".

Records that dash itself makes have one form, `text_of`: a case or a measurement has one line, and
a number six digits."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from .files import read_text, write_text

MOST = 2**31 - 1
COLUMNS = 400  # of a line of a record
SHOWN = 80  # characters of what was found
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
NOTHING = object()
Word = TypeVar("Word", str, int)


class Record:
    """The fields of an object, each asked for by what it has to be. place: of the object in its
    file, such as "kernels[0]"."""

    def __init__(self, value: Any, place: str = "") -> None:
        self.place = place
        if not isinstance(value, Mapping):
            raise ValueError(f"{place or 'the record'}: expected an object, found {_shown(value)}")
        self.fields = value

    def __contains__(self, name: str) -> bool:
        return name in self.fields

    def word(self, name: str, known: Collection[Word]) -> Word:
        return self._get(
            name,
            f"one of {', '.join(map(repr, known))}",
            lambda value: any(type(value) is type(one) and value == one for one in known),
        )

    def number(self, name: str, least: int, most: int = MOST) -> int:
        return self._get(
            name,
            f"a whole number from {least} to {most}",
            lambda value: type(value) is int and least <= value <= most,
        )

    def time(self, name: str) -> float:
        return self._get(name, "a number above 0", _is_time)

    def times(self, name: str) -> dict[str, float]:
        """By options of the compiler, those of the default, "", among them."""
        return self._get(
            name,
            'numbers above 0 by lines of text, "" among them',
            lambda value: (
                isinstance(value, Mapping)
                and "" in value
                and all(_is_line(key) and _is_time(one) for key, one in value.items())
            ),
        )

    def texts(self, name: str) -> dict[str, str]:
        return self._get(
            name,
            "lines of text by names",
            lambda value: (
                isinstance(value, Mapping)
                and all(_is_line(text) for pair in value.items() for text in pair)
            ),
        )

    def amount(self, name: str) -> float:
        return self._get(
            name,
            "a finite number of at least 0",
            lambda value: type(value) in (int, float) and 0 <= value < math.inf,
        )

    def flag(self, name: str) -> bool:
        return self._get(name, "true or false", lambda value: isinstance(value, bool))

    def text(self, name: str) -> str:
        return self._get(name, "one line of text", _is_line)

    def line(self, name: str, what: str, is_such: Callable[[str], bool]) -> str:
        """One line of text, which is such a one."""
        return self._get(name, what, lambda value: _is_line(value) and is_such(value))

    def name(self, name: str) -> str:
        """The name of a file in a folder that is known: no path, and no option of a tool."""
        return self._get(name, "a name", is_name)

    def match(self, name: str, pattern: str) -> str:
        return self._get(
            name,
            f"text that matches {pattern}",
            lambda value: isinstance(value, str) and re.fullmatch(pattern, value) is not None,
        )

    def numbers(
        self, name: str, lengths: Collection[int], least: int, most: int = MOST
    ) -> tuple[int, ...]:
        return tuple(
            self._get(
                name,
                f"{' or '.join(map(str, lengths))} whole numbers from {least} to {most}",
                lambda value: (
                    isinstance(value, (list, tuple))
                    and len(value) in lengths
                    and all(type(one) is int and least <= one <= most for one in value)
                ),
            )
        )

    def names(self, name: str) -> list[str]:
        return self._get(
            name,
            "a list of names",
            lambda value: isinstance(value, list) and all(map(is_name, value)),
        )

    def object(self, name: str) -> Record:
        return Record(
            self._get(name, "an object", lambda value: isinstance(value, Mapping)),
            self._place_of(name),
        )

    def objects(self, name: str) -> Iterator[Record]:
        found = self._get(name, "a list of objects", lambda value: isinstance(value, list))
        return (Record(value, f"{self._place_of(name)}[{i}]") for i, value in enumerate(found))

    def _place_of(self, name: str) -> str:
        return f"{self.place}.{name}" if self.place else name

    def _get(self, name: str, expected: str, is_right: Any) -> Any:
        value = self.fields.get(name, NOTHING)
        if value is NOTHING or not is_right(value):
            raise ValueError(
                f"{self._place_of(name)}: expected {expected}, found"
                f" {'nothing' if value is NOTHING else _shown(value)}"
            )
        return value


def _is_line(value: Any) -> bool:
    return isinstance(value, str) and value.isprintable()


def _is_time(value: Any) -> bool:
    return type(value) in (int, float) and 0 < value < math.inf


def is_name(value: Any) -> bool:
    return isinstance(value, str) and NAME.fullmatch(value) is not None


def parse(text: str) -> Any:
    """JSON. Raises ValueError, also for what nests deeper than Python's stack."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("brackets nest deeper than in any such record") from None


def read(path: str | Path) -> Any:
    """A file of JSON. Raises OSError and ValueError."""
    return parse(read_text(path))


def write_record(path: Path, record: Any) -> None:
    write_text(path, text_of(record))


def text_of(record: Any) -> str:
    """A record as text: each of its members begins a line, and so does each row of those that
    hold rows.

    A row is on one line if it fits. Clocks and errors know no more than six digits.
    """
    return "\n".join(_lines(_rounded(record), "", "")) + "\n"


def _rounded(value: Any) -> Any:
    if isinstance(value, float) and math.isfinite(value):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {str(name): _rounded(one) for name, one in value.items()}
    return [_rounded(one) for one in value] if isinstance(value, (list, tuple)) else value


def _lines(value: Any, indent: str, name: str) -> list[str]:
    whole = f"{indent}{name}{json.dumps(value, ensure_ascii=False)}"
    if not isinstance(value, (dict, list)) or not value:
        return [whole]
    is_list = isinstance(value, list)
    are_rows = len(indent) < 2 and all(
        isinstance(one, (dict, list)) for one in (value if is_list else value.values())
    )
    if indent and not are_rows and len(whole) < COLUMNS:
        return [whole]
    members = (
        [("", one) for one in value]
        if is_list
        else [(f"{json.dumps(key, ensure_ascii=False)}: ", one) for key, one in value.items()]
    )
    found: list[str] = []
    for i, (key, one) in enumerate(members):
        lines = _lines(one, indent + " ", key)
        lines[-1] += "," * (i + 1 < len(members))
        if (
            is_list
            and found
            and not isinstance(one, (dict, list))
            and len(found[-1]) + len(lines[0]) < COLUMNS
        ):
            # what is no object or list stands beside its neighbours
            found[-1] += f" {lines[0].lstrip()}"
        else:
            found += lines
    return [
        f"{indent}{name}{'[' if is_list else '{'}",
        *found,
        f"{indent}{']' if is_list else '}'}",
    ]


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
