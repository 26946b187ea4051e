"""Instructions of PTX as events. Litmus tests and emitted kernels come the same way; what is no
part of the model is left out."""

from __future__ import annotations

import re
from collections.abc import Callable

import z3

from asynchronous import Asynchronous
from events import Event, Place, Program
from ptx_text import LINE, Wrong, operands_of

SCOPES = ("cta", "cluster", "gpu", "sys")
PROXIES = {"tld": "texture", "suld": "surface", "sust": "surface"}


# The places of an operand: several, where a copy moves more than one that matters.
PlacesOf = Callable[[str], list[Place]]


def litmus_places(operand: str) -> list[Place]:
    return [Place(operand.strip("[]").split(",")[0].strip())]


class Thread:
    """Adds the events of one thread, instruction after instruction."""

    def __init__(self, program: Program, name: str, block: str, grid: str = "grid"):
        self.program, self.name, self.block, self.grid = program, name, block, grid
        self.last: Event | None = program.begins.get(grid)
        self.line = -1
        self.registers: dict[str, object] = {}
        self.sources: dict[str, list[int]] = {}  # reads that a register's value comes from
        self.asynchronous = Asynchronous(self)
        self.meetings: dict[str, int] = {}
        self.replaced = 0  # fields of a descriptor; what is written counts them

    def add(self, text: str, kind: str, **fields) -> Event:
        event = self.program.add(
            thread=self.name,
            block=self.block,
            grid=self.grid,
            kind=kind,
            text=text,
            line=self.line,
            **fields,
        )
        if not event.is_asynchronous:
            if self.last:
                self.program.order.append((self.last.number, event.number))
            self.last = event
        return event

    def access(self, text: str, kind: str, place: Place, **fields) -> Event:
        return self.add(
            text,
            kind,
            address=place.address,
            place=self.program.places.get(place.address, place.address),
            space=place.space,
            **fields,
        )

    def run(
        self, text: str, places_of: PlacesOf = litmus_places, line: int = -1, key: object = None
    ) -> None:
        """`key` tells which phase of a barrier it is; without one, barriers are counted."""
        match = LINE.fullmatch(text.strip().rstrip(";") + ";")
        if not match:
            raise Wrong(f"expected an instruction, got '{text}'")
        self.line = line
        name, operands = match[3], operands_of(match[4])
        parts = name.split(".")
        kinds = {
            "ld": self.load,
            "tld": self.load,
            "suld": self.load,
            "ldmatrix": self.load,
            "st": self.store,
            "sust": self.store,
            "stmatrix": self.store,
            "tensormap": self.tensormap,
            "atom": self.reduce,
            "red": self.reduce,
            "fence": self.fence,
            "bar": self.meet,
            "mbarrier": self.meet,
            "cp": self.asynchronous.copy,
            "wgmma": self.asynchronous.multiply,
        }
        if parts[0] in kinds:
            kinds[parts[0]](text.strip().rstrip(";"), parts, operands, places_of, key)

    # ---- Memory.

    @staticmethod
    def strength(parts: list[str], default: str = "weak") -> dict:
        meaning = next(
            (
                part
                for part in parts[1:]
                if part in ("weak", "relaxed", "acquire", "release", "acq_rel", "volatile", "mmio")
            ),
            default,
        )
        scope = next((part for part in parts[1:] if part in SCOPES), "gpu")
        if meaning in ("volatile", "mmio"):  # relaxed at system scope, and more (8.4.1, 8.4.2)
            scope = "sys"
        return {
            "strong": meaning != "weak",
            "scope": scope if meaning != "weak" else "",
            "acquires": meaning in ("acquire", "acq_rel"),
            "releases": meaning in ("release", "acq_rel"),
        }

    @staticmethod
    def proxy(parts: list[str]) -> str:
        return "constant" if "const" in parts else PROXIES.get(parts[0], "generic")

    def value(self, operand: str):
        return int(operand) if re.fullmatch(r"-?\d+", operand) else self.registers.get(operand, 0)

    def store(self, text, parts, operands, places_of, _) -> None:
        event = self.access(
            text,
            "write",
            places_of(operands[0])[0],
            proxy=self.proxy(parts),
            value=self.value(operands[-1]),
            **self.strength(parts),
        )
        self.program.depends += [
            (source, event.number) for source in self.sources.get(operands[-1], ())
        ]

    def load(self, text, parts, operands, places_of, _) -> None:
        event = self.access(
            text, "read", places_of(operands[1])[0], proxy=self.proxy(parts), **self.strength(parts)
        )
        event.value = z3.Int(f"read{event.number}")
        self.registers[operands[0]], self.sources[operands[0]] = event.value, [event.number]

    def reduce(self, text, parts, operands, places_of, _) -> None:
        """`atom` and `red`: a read and a write that nothing strong comes between (8.10.3)."""
        returns = parts[0] == "atom"
        place, amount = places_of(operands[returns])[0], self.value(operands[-1])
        strength = self.strength(parts, "relaxed")
        read = self.access(
            text, "read", place, only_reduces=not returns, **(strength | {"releases": False})
        )
        read.value = z3.Int(f"read{read.number}")
        if returns:
            self.registers[operands[0]], self.sources[operands[0]] = read.value, [read.number]
        added = read.value + amount if "add" in parts else amount
        if "inc" in parts:
            added = z3.If(read.value >= amount, 0, read.value + 1)
        write = self.access(text, "write", place, value=added, **(strength | {"acquires": False}))
        self.program.atomic[read.number] = write.number
        self.program.depends.append((read.number, write.number))

    def tensormap(self, text, parts, operands, places_of, _) -> None:
        """`replace` writes; `cp_fenceproxy` copies, then releases to the tensormap proxy
        (9.7.15.17)."""
        if parts[1] == "replace":
            self.replaced += 1
            self.access(text, "write", places_of(operands[0])[0], value=self.replaced)
            return
        self.access(text, "read", places_of(operands[1])[0]).value = value = z3.Int(
            f"read{len(self.program.events)}"
        )
        self.access(text, "write", places_of(operands[0])[0], value=value)
        if "release" in text:
            self.add(text, "proxy fence", proxy="tensormap", direction="release", scope="gpu")

    # ---- Synchronization.

    def fence(self, text, parts, operands, places_of, _) -> None:
        if parts[1] == "proxy":
            proxy = parts[2].split("::")[0]
            direction = next((part for part in parts if part in ("acquire", "release")), "both")
            space = (
                "global"
                if "global" in parts[2:]
                else "shared"
                if "shared" in "".join(parts[2:])
                else ""
            )
            event = self.add(text, "proxy fence", proxy=proxy, direction=direction, space=space)
            if operands:
                event.address = places_of(operands[0])[0].address
        elif parts[1] != "mbarrier_init":
            scope = next(part for part in parts if part in SCOPES)
            meaning = parts[1] if parts[1] in ("sc", "acquire", "release") else "acq_rel"
            self.add(
                text,
                "fence",
                strong=True,
                scope=scope,
                acquires=meaning != "release",
                releases=meaning != "acquire",
                is_sc=meaning == "sc",
            )

    def meet(self, text, parts, operands, places_of, key) -> None:
        """Barriers of a block, of a warp, in memory: an arrival releases, a completed wait acquires
        (8.9.4, 9.7.15.2, 9.7.15.16)."""
        if parts[1] == "init":
            return
        if parts[0] == "bar":
            name = text.split()[0] if parts[1] == "warp" else f"bar {operands[0]}"
            self.meetings[name] = count = self.meetings.get(name, 0) + 1
            key, gives, takes = key or (self.block, name, count), True, "arrive" not in parts
            scope, relaxed = "cta", False
        else:
            gives, relaxed = "arrive" in parts, "relaxed" in parts
            takes = not gives
            key = key or (
                self.block,
                next(operand for operand in operands if operand.startswith("[")),
            )
            scope = next((part for part in parts if part in SCOPES), "cta")
        for side in ["gives"] * gives + ["takes"] * takes:
            event = self.add(
                text,
                "point",
                scope=scope,
                releases=side == "gives" and not relaxed,
                acquires=side == "takes" and not relaxed,
            )
            self.program.meet(key, event, side)
