"""One GPU that runs entries: blocks whose warps and engines take turns at random, so that each seed is another interleaving."""

from __future__ import annotations

import random

import numpy as np
from barriers import Barrier, Meetings
from engines import Copy, Products
from instructions import action
from lanes import constant, u32, u64
from memory import Global, Shared
from ptx_text import Wrong, parse
from translate import Translator
from warp import Group, Warp

# How often an engine goes on before a warp does: hardly ever, sometimes, nearly always. Where all warps wait, one does anyhow.
PACES, STEPS_OF_PACE, LONGEST_TURN = (0.01, 0.2, 0.6, 0.95), 400, 40
STEPS_OF_LOOK, STEPS_OF_CLOCK = 4, 48  # between looks at who waits for others, and at who sleeps
RESIDENT = 6  # blocks of a grid whose blocks do not wait for each other
MOST_NAPS = 5000  # in a row, before nothing is expected to happen any more


class Unit:
    """Instructions from a place on: a run of those that only compute, or one of the others."""

    def __init__(self, program: Program, start: int):
        translator, code = program.translator, program.code
        self.end, self.computes = start, False
        while self.end < len(code) and code[self.end].name not in program.acting and translator.translate(code[self.end]) is not None:
            self.end += 1
            if self.end in program.targets:
                break
        if self.end > start:
            self.computes, self.code, self.translator = True, code[start:self.end], translator
            self.functions = [None, None]
        else:
            self.end = start + 1
            self.act = action(program, start)

    def run(self, registers: dict[str, np.ndarray], group: Group) -> None:
        function = self.functions[group.full]
        if function is None:
            function = self.functions[group.full] = self.translator.function(self.code, not group.full)
        function(registers, group.lanes)


class Program:
    """An entry, decoded where it is run."""

    acting = ("bra", "bra.uni")

    def __init__(self, text: str, entry: str, clock: random.Random):
        self.code, self.labels, self.parameters = parse(text, entry)
        self.targets = set(self.labels.values())
        self.translator = Translator(lambda: clock.getrandbits(32))
        self.units: dict[int, Unit] = {}

    def unit(self, at: int) -> Unit:
        unit = self.units.get(at)
        if unit is None:
            if at >= len(self.code):
                raise Wrong("runs past the end of the entry")
            unit = self.units[at] = Unit(self, at)
        return unit


class Block:
    def __init__(self, machine: Machine, number: int, parameters: dict[str, np.ndarray], shared_bytes: int):
        self.machine, self.number = machine, number
        self.shared, self.meetings = Shared(shared_bytes), Meetings()
        self.barriers: dict[int, Barrier] = {}
        self.warps = [Warp(self, i, parameters) for i in range(machine.threads // 32)]


class Machine:
    """`memory` stays from launch to launch."""

    def __init__(self, text: str, seed: int = 0):
        self.text, self.random, self.memory = text, random.Random(seed), Global()
        self.programs: dict[str, Program] = {}
        self.steps = 0

    def launch(self, entry: str, blocks: int, threads: int, shared_bytes: int, values: list[tuple[str, int]], together: bool) -> None:
        """Runs an entry to its end. values: (type, bits) of each parameter. together: all blocks are resident."""
        if entry not in self.programs:
            self.programs[entry] = Program(self.text, entry, self.random)
        self.program = self.programs[entry]
        self.blocks, self.threads, self.naps = blocks, threads, 0
        if len(values) != len(self.program.parameters):
            raise Wrong(f"{entry} expects {len(self.program.parameters)} parameters, found {len(values)}")
        parameters = {name: constant(bits, u64 if kind in ("ptr", "i64") else u32)
                      for name, (kind, bits) in zip(self.program.parameters, values)}
        self.engines: list[Copy | Products] = []
        self.ready: list[Warp] = []
        self.waiting: list[Warp] = []
        self.changed, coming, resident = False, list(range(blocks))[::-1], []
        if not together:
            self.random.shuffle(coming)
        try:
            while coming or self.ready or self.waiting or self.engines:
                while coming and (together or len(resident) < RESIDENT):
                    block = Block(self, coming.pop(), parameters, shared_bytes)
                    resident.append(block)
                    self.ready += block.warps
                self.turn()
                if not self.ready or len(resident) >= RESIDENT:
                    resident = [block for block in resident if any(warp.groups for warp in block.warps)]
        except Wrong as wrong:
            raise Wrong(f"{entry}: {wrong}") from None

    def turn(self) -> None:
        """One engine or one warp goes on for a while."""
        if self.steps % STEPS_OF_PACE == 0:
            self.pace = self.random.choice(PACES)
        self.steps += 1
        if not self.ready or self.steps % (STEPS_OF_LOOK if self.changed else STEPS_OF_CLOCK) == 0:
            self.changed, waiting = False, self.waiting
            self.waiting = []
            for warp in waiting:
                (self.ready if warp.can_go_on() else self.waiting).append(warp)
        if self.engines and (not self.ready or self.random.random() < self.pace):
            index = self.random.randrange(len(self.engines))
            if not self.engines[index].advance():
                self.engines[index] = self.engines[-1]
                self.engines.pop()
            self.happens()
        elif self.ready:
            self.go_on(self.random.randrange(len(self.ready)))
        elif self.waiting:
            self.naps += 1
        if self.naps > MOST_NAPS:
            places = [warp.where(group.pc - 1, group) for warp in self.ready + self.waiting for group in warp.groups]
            raise Wrong("nobody can go on:\n  " + "\n  ".join(places))

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
