"""One GPU that runs entries: blocks whose warps and engines take turns at random, so that each seed
is another interleaving."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from barriers import Barrier, Meetings
from engines import Copy, Products
from instructions import Nap, action
from lanes import constant, u32, u64
from memory import Global, Shared
from ptx_text import Wrong, parse
from translate import Translator
from warp import Group, Warp

# A while of so many turns has habits of its own. How often an engine goes on before a warp does:
# hardly ever, sometimes, nearly always; where all warps wait, one does anyhow. Which engine: any,
# the one that began last, or first. Which warp: any, or the first by a random rank.
PACES, LONGEST_WHILE, LONGEST_TURN = (0.01, 0.2, 0.6, 0.95), 800, 40
IMPATIENCE = 0.15  # how often what is slow happens while others sleep
# Between looks at warps that wait for others, and at those that sleep.
STEPS_OF_LOOK, STEPS_OF_CLOCK = 4, 48
RESIDENT = 6  # blocks of a grid whose blocks do not wait for each other
MOST_NAPS = 2000  # in a row, before nothing is expected to happen any more


class Unit:
    """Instructions from a place on: a run of those that only compute, or one of the others."""

    def __init__(self, program: Program, start: int):
        code, self.end, self.computed = program.code, start, []
        while self.end < len(code):
            values = program.translator.translate(code[self.end])
            if values is None:
                break
            self.computed.append((code[self.end], values))
            self.end += 1
            if self.end in program.targets:
                break
        self.translator, self.functions = program.translator, [None, None]
        if not self.computed:
            self.end = start + 1
            self.act = action(program, start)

    def run(self, registers: dict[str, np.ndarray], group: Group) -> None:
        function = self.functions[group.full]
        if function is None:
            function = self.functions[group.full] = self.translator.function(
                self.computed, not group.full
            )
        function(registers, group.lanes)


# Each seed is a machine of its own, but of the same text.
parsed = lru_cache(16)(parse)


class Program:
    """An entry, decoded where it is run."""

    def __init__(self, text: str, entry: str, clock: Callable[[], int]):
        self.code, self.labels, self.parameters = parsed(text, entry)
        self.targets = set(self.labels.values())
        self.translator = Translator(clock)
        self.units: dict[int, Unit] = {}

    def unit(self, at: int) -> Unit:
        unit = self.units.get(at)
        if unit is None:
            if at >= len(self.code):
                raise Wrong("runs past the end of the entry")
            unit = self.units[at] = Unit(self, at)
        return unit


class Block:
    def __init__(
        self, machine: Machine, number: int, parameters: dict[str, np.ndarray], shared_bytes: int
    ):
        self.machine, self.number = machine, number
        self.shared, self.meetings = Shared(shared_bytes), Meetings()
        self.barriers: dict[int, Barrier] = {}
        self.warps = [Warp(self, i, parameters) for i in range(machine.threads // 32)]


class Machine:
    """`memory` stays from launch to launch."""

    def __init__(self, text: str, seed: int = 0):
        self.text, self.random, self.memory = text, random.Random(seed), Global()
        self.programs: dict[str, Program] = {}
        self.steps = self.habits_end = 0
        self.time = 2**32 - self.random.randrange(2000)  # its low half is soon back at 0

    def clock(self) -> int:
        """Later each time that it is asked: of all blocks, and as nanoseconds, too."""
        self.time += 1 + self.random.randrange(3)
        return self.time

    def launch(
        self,
        entry: str,
        blocks: int,
        threads: int,
        shared_bytes: int,
        values: list[tuple[str, int]],
        together: bool,
    ) -> None:
        """Runs an entry to its end. values: (type, bits) of each parameter. together: all blocks
        are resident."""
        if entry not in self.programs:
            self.programs[entry] = Program(self.text, entry, self.clock)
        self.program = self.programs[entry]
        self.blocks, self.threads, self.naps = blocks, threads, 0
        if len(values) != len(self.program.parameters):
            raise Wrong(
                f"{entry} expects {len(self.program.parameters)} parameters, found {len(values)}"
            )
        parameters = {
            name: constant(bits, u64 if kind in ("ptr", "i64") else u32)
            for name, (kind, bits) in zip(self.program.parameters, values)
        }
        self.engines: list[Copy | Products] = []
        self.slow: list[Copy | Products] = []
        self.ready: list[Warp] = []
        self.waiting: list[Warp] = []
        self.changed, coming, resident = False, list(range(blocks))[::-1], []
        if not together:
            self.random.shuffle(coming)
        try:
            while coming or self.ready or self.waiting or self.engines or self.slow:
                while coming and (together or len(resident) < RESIDENT):
                    block = Block(self, coming.pop(), parameters, shared_bytes)
                    resident.append(block)
                    self.ready += block.warps
                self.turn()
                if not self.ready or len(resident) >= RESIDENT:
                    resident = [
                        block for block in resident if any(warp.groups for warp in block.warps)
                    ]
        except Wrong as wrong:
            raise Wrong(f"{entry}: {wrong}") from None

    def turn(self) -> None:
        """One engine or one warp goes on for a while."""
        if self.steps >= self.habits_end:
            self.habits_end = self.steps + self.random.randrange(LONGEST_WHILE)
            self.pace, self.which = (
                self.random.choice(PACES),
                self.random.choice(("any", "last", "first")),
            )
            self.rank = self.random.choice((0, self.random.getrandbits(32)))
        self.steps += 1
        if (
            self.changed
            and (not self.ready or self.steps % STEPS_OF_LOOK == 0)
            or self.steps % STEPS_OF_CLOCK == 0
        ):
            self.changed, waiting = False, self.waiting
            self.waiting = []
            for warp in waiting:
                (self.ready if warp.can_go_on() else self.waiting).append(warp)
        if self.engines and (not self.ready or self.random.random() < self.pace):
            self.advance(
                self.engines,
                {"any": self.random.randrange(len(self.engines)), "last": -1, "first": 0}[
                    self.which
                ],
            )
        elif self.ready:
            self.go_on(
                min(range(len(self.ready)), key=self.place)
                if self.rank
                else self.random.randrange(len(self.ready))
            )
        elif self.slow or self.waiting:
            self.idles()
        if self.naps > MOST_NAPS:
            places = [
                warp.where(group.pc - 1, group)
                for warp in self.ready + self.waiting
                for group in warp.groups
            ]
            raise Wrong("no warp can go on:\n  " + "\n  ".join(places))

    def idles(self) -> None:
        """A warp that sleeps wakes up, as a rule, before what is slow happens."""
        naps = [
            group.wait.until
            for warp in self.waiting
            for group in warp.groups
            if isinstance(group.wait, Nap)
        ]
        if self.slow and (not naps or self.random.random() < IMPATIENCE):
            self.advance(self.slow, self.random.randrange(len(self.slow)))
        elif naps:
            self.steps, self.changed = max(self.steps, min(naps)), True
        else:
            self.naps = MOST_NAPS
        self.naps += 1

    def append(self, engine: Copy | Products) -> None:
        """It has something to do, soon or late."""
        (self.slow if self.random.random() < engine.slow else self.engines).append(engine)

    def advance(self, engines: list[Copy | Products], index: int) -> None:
        engine = engines.pop(index)
        if engine.advance():
            (self if isinstance(engine, Copy) else engines).append(engine)
        self.happens()

    def place(self, index: int) -> int:
        """In a random order of warps."""
        return (self.ready[index].identity ^ self.rank) * 0x9E3779B1 & 0xFFFFFFFF

    def go_on(self, index: int) -> None:
        warp = self.ready[index]
        for _ in range(self.random.randrange(LONGEST_TURN) + 1):
            if not warp.step():
                self.ready[index] = self.ready[-1]
                self.ready.pop()
                if warp.groups:
                    self.waiting.append(warp)
                break

    def happens(self) -> None:
        """Something that others may wait for."""
        self.changed, self.naps = True, 0
