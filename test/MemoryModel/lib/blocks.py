"""Shared memory of a block, and all that its threads do with it: each read has to observe the write
before it.

Bytes stand for the elements of channels: the first of each, and of tiles that warpgroups write the
first of the second one. A consumer warpgroup counts as two lanes of one warp. The first runs what
an elected lane runs: it arrives at barriers and starts copies. The other does the work: what it has
stored or read is passed on only if it meets the first. Which write comes before a read is said by
the run of the machine; that no run has another is proved elsewhere (test/Protocol,
verify-protocol).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from math import prod

import z3

from events import INITIAL, Event, Place, Program
from kernels import AS_EMITTED, Change, replay
from model import Model, Rules
from proxies import READINGS
from ptx_machine import SHARED
from threads import Thread
from traces import Step, Tracer

SYNCHRONIZES = (
    "fence",
    "mbarrier",
    "bar",
    "wgmma.fence",
    "wgmma.commit",
    "wgmma.wait",
    "cp.async.bulk.commit",
    "cp.async.bulk.wait",
)
FIRST_CONSUMER = 4  # machine threads before it are warps: they load, or add to dQ
BLOCK = "block"
CHANNEL = re.compile(
    r'dash\.channel "(\w+)" depth\((\d+)\)(?: held)? at\(\[([\d, ]+)\], \[([\d, ]+)\]\)'
    r" barriers\(\[([\d, ]+)\]\) : (!\w+)"
)
ALIAS = re.compile(r"^(!\w+) = !dash\.channel<(.*)>$", re.M)
TYPE = re.compile(r"tensor<([\dx]+)x([a-z]+)(\d+)[^>]*>|index")


# Where the rows of the second warpgroup begin: a row of a panel has 128 bytes.
SECOND_ROWS = 64 * 128


@dataclass
class Channel:
    """From the plan: where its first slot lies, and its barriers."""

    name: str
    depth: int
    bytes: dict[str, int]  # what they are called, and where they are
    slots: list[range]  # where its elements are
    full: int
    empty: int

    def barrier(self, at: int) -> str:
        """Which of its barriers lies there, if any."""
        for kind, first in (("full", self.full), ("empty", self.empty)):
            if at in range(SHARED + first, SHARED + first + 8 * self.depth):
                return f"{self.name} {kind}"
        return ""


def channels_of(plan: str) -> list[Channel]:
    """The ops of the IR behind `--dash-plan-buffers`."""
    found = []
    types_of = dict(ALIAS.findall(plan))
    for name, depth, places, strides, barriers, alias in CHANNEL.findall(plan):
        offsets, strides = ([int(word) for word in words.split(",")] for words in (places, strides))
        full, empty = (int(place) for place in barriers.split(","))
        channel = Channel(name, int(depth), {}, [], full, empty)
        for offset, stride, kind in zip(offsets, strides, TYPE.finditer(types_of[alias])):
            begin, size = SHARED + offset, 4
            if not kind[1]:
                channel.bytes.setdefault(f"{name} index", begin)
            else:
                sizes = [int(word) for word in kind[1].split("x")]
                size = prod(sizes) * int(kind[3]) // 8
                what = "tile" if len(sizes) > 1 else "row"
                what = (
                    f"{name} other {what}"
                    if f"{name} {what}" in channel.bytes
                    else f"{name} {what}"
                )
                channel.bytes[what] = begin
                if len(sizes) > 1:
                    channel.bytes[f"{what}, second"] = begin + (
                        size // 2 if kind[3] == "32" else SECOND_ROWS
                    )
            channel.slots += [
                range(begin + slot * stride, begin + slot * stride + size)
                for slot in range(channel.depth)
            ]
        found.append(channel)
    if not found:
        raise ValueError("expected the plan of a kernel, found no channel in it")
    return found


@dataclass
class BlockProgram(Program):
    """With the accesses of named bytes, each with its place in the run."""

    accesses: list[tuple[int, Event]] = field(default_factory=list)

    def expected(self, place: str) -> list[tuple[Event, Event]]:
        """Reads of a byte, each with the write that it has to observe."""
        writes = [
            (i, event)
            for i, event in self.accesses
            if event.kind == "write" and event.place == place
        ]
        pairs = []
        for at, read in self.accesses:
            before = [pair for pair in writes if pair[0] < at]
            if read.kind == "read" and read.place == place and before:
                pairs.append((read, max(before, key=lambda pair: pair[0])[1]))
        return pairs


class Block:
    """What the threads of one block run, as far as it synchronizes or touches a channel's bytes."""

    def __init__(self, tracer: Tracer, channels: list[Channel]):
        self.tracer, self.channels = tracer, channels
        stored = {
            begin
            for step in tracer.steps
            if step.thread >= FIRST_CONSUMER
            for begin, _, writes in step.accesses
            if writes
        }
        self.names = {
            at: Place(name, "shared")
            for channel in channels
            for name, at in channel.bytes.items()
            if not name.endswith("second") or at in stored
        }
        self.steps = [
            (i, step)
            for i, step in enumerate(tracer.steps)
            if step.name.startswith(SYNCHRONIZES) or self.touched(step)
        ]

    def touched(self, step: Step) -> list[str]:
        return [
            place.address
            for at, place in self.names.items()
            if any(begin <= at < end for begin, end, _ in step.accesses)
        ]

    def stored(self, step: Step) -> str:
        """The channel that a thread's own store fills."""
        at = next(
            (
                begin
                for begin, _, writes in step.accesses
                if writes and not step.name.startswith("cp.")
            ),
            -1,
        )
        return next(
            (
                channel.name
                for channel in self.channels
                if any(at in slot for slot in channel.slots)
            ),
            "",
        )

    def channel_barrier(self, step: Step) -> str:
        """The phase of a step at an mbarrier."""
        at = self.tracer.barrier_of(step)
        return next(name for channel in self.channels if (name := channel.barrier(at)))

    def build(self, change: Change = AS_EMITTED) -> BlockProgram:
        program = BlockProgram(has_values=False)
        for number in sorted({step.thread for _, step in self.steps}):
            own = [(i, step) for i, step in self.steps if step.thread == number]
            if number < FIRST_CONSUMER:
                self.run(program, f"warp {number}", own, change)
                continue
            copies = [(i, step) for i, step in own if step.name.startswith("cp.")]
            works = [
                (i, step)
                for i, step in own
                if self.touched(step) and not step.name.startswith("cp.")
            ]
            for lane, other in (("elected", works), ("other", copies)):
                steps = [
                    pair
                    for pair in own
                    if pair not in other and not (lane == "other" and pair[1].is_guarded)
                ]
                self.run(
                    program, f"warpgroup {number - FIRST_CONSUMER}, {lane} lane", steps, change
                )
        return program

    def run(
        self, program: BlockProgram, name: str, steps: list[tuple[int, Step]], change: Change
    ) -> None:
        thread = Thread(program, name, BLOCK)
        for i, step in steps:
            before = len(program.events)
            replay(thread, [step], self.names, self.tracer, change)
            program.accesses += [(i, event) for event in program.events[before:] if event.place]

    def goes_wrong(
        self, change: Change = AS_EMITTED, rules: Rules = Rules()
    ) -> dict[str, list[str]]:
        """For each reading of proxy fences the bytes of which a read may observe another write."""
        program = self.build(change)
        found: dict[str, list[str]] = dict.fromkeys(READINGS, [])
        # The stricter first: where it finds nothing, the other does neither.
        for reading in reversed(READINGS):
            model = Model(program, replace(rules, reading=reading))
            found[reading] = [
                place.address
                for place in self.names.values()
                if model.allows(wrong(model, place.address)) is not None
            ]
            if not found[reading]:
                break
        return found

    def execution(self, change: Change, reading: str) -> str:
        """The first read, in the order of the run, that may observe another write, and the earliest
        of these."""
        model = Model(self.build(change), Rules(reading))
        for place in (place.address for place in self.names.values()):
            writes = sorted(
                (write for write in model.writes if write.place == place),
                key=lambda write: write.thread != INITIAL,
            )
            for read, expected in model.program.expected(place):
                for write in writes:
                    if (
                        write is not expected
                        and model.allows(model.reads_from[write.number, read.number]) is not None
                    ):
                        seen = (
                            "what was there before"
                            if write.thread == INITIAL
                            else f"write {writes.index(write)}, not {writes.index(expected)}"
                        )
                        return f"{read.text.split()[0]} of {read.thread} observes of {place} {seen}"
        return ""


def wrong(model: Model, place: str):
    return z3.Or(
        [
            z3.Not(model.reads_from[write.number, read.number])
            for read, write in model.program.expected(place)
        ]
    )
