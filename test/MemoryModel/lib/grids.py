"""Entries of a kernel as grids that follow each other: steps of one that is read as text, and the
end of one in front of the next."""

from __future__ import annotations

import re

import ptx_paths
from events import Event, Program
from kernels import Change
from model import Model
from ptx_text import LINE
from traces import Step

NAME = "attention_bwd"
OVERLAP = Change(old="the end of a grid")  # the next one starts with it
DESCRIPTOR, WORD = 1, 2  # where things of `prepare` are, which is read as text
PREPARE = 1 << 20  # lines of `prepare` are counted from here


def steps_of(ptx: str, entry: str, start: str, end: str, thread: int = 0) -> list[list[Step]]:
    """Ways through an entry as steps; what is in brackets there is a descriptor's word, or the
    descriptor."""
    lines = ptx_paths.instructions_of(ptx, f"{NAME}_{entry}")
    begin = next(
        i
        for i, line in enumerate(lines)
        if re.match(start, line) and lines[i + 1].startswith("bar.warp")
    )
    found = []
    for way, _ in ptx_paths.paths(lines, begin, re.compile(end)):
        steps = [
            Step(thread, PREPARE + i, lines[i], lines[i].split()[0], False)
            for i in way
            if LINE.fullmatch(lines[i])
        ]
        for step in steps:
            step.addresses = dict.fromkeys(re.findall(r"\[[^]]*\]", step.text), WORD)
            if step.name.startswith("tensormap.cp"):
                step.addresses[next(iter(step.addresses))] = DESCRIPTOR
        for phase, step in enumerate(step for step in steps if step.name.startswith("bar.warp")):
            step.phase = phase
        found.append(steps)
    return found


def end(program: Program, grid: str, following: str, change: Change, launch: str = "") -> None:
    """`launch`: of the grid, where there are several."""
    if change not in (OVERLAP, Change(old=f"the end of {grid}")):
        program.end_grid(launch or grid, following)


def read_in(model: Model, thread: str, place: str) -> Event:
    return next(event for event in model.reads if event.thread == thread and event.place == place)
