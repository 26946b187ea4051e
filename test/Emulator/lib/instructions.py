"""Instructions that do more than compute: branches, barriers, memory, exchanges between lanes. Each
is decoded once, into a function of a warp, a group of its lanes and those of them that its guard
lets through."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import transfers
from engines import Product
from lanes import LANE, constant, i32, i64, u32, u64
from ptx_text import Instruction, Wrong, operands_of
from transfers import address, word
from translate import unknown
from warp import Group, Warp, never

if TYPE_CHECKING:
    from machine import Program

Act = Callable[[Warp, Group, np.ndarray], None]
LONGEST_NAP = 200
# Launches run one behind the other here.
IGNORED = (
    "griddepcontrol.",
    "setmaxnreg.",
    "wgmma.fence.",
    "fence.mbarrier_init.",
    "fence.proxy.async.global",
    "fence.proxy.tensormap::generic.acquire.gpu",
)


def action(program: Program, at: int) -> Callable[[Warp, Group], None]:
    instruction = program.code[at]
    act = decoded(program, instruction)
    if not instruction.guard:
        return lambda warp, group: act(warp, group, group.lanes)

    def guarded(warp: Warp, group: Group) -> None:
        lanes = group.lanes & (warp.r[instruction.guard] != instruction.unless)
        if np.count_nonzero(lanes):
            act(warp, group, lanes)

    return guarded


def decoded(program: Program, instruction: Instruction) -> Act:
    name, operands = instruction.name, instruction.operands
    root = name.split(".")[0]
    if name.startswith(IGNORED):
        return lambda warp, group, lanes: None
    if root == "bra":
        target = program.labels[operands[0]]
        return lambda warp, group, lanes: warp.branch(group, lanes, target)
    if name == "brx.idx":
        return jump(operands[0], [program.labels[label] for label in operands[1:]])
    if name in ("ret", "exit"):
        return lambda warp, group, lanes: warp.leave(group)
    if name == "nanosleep.u32":
        return sleep
    maker = MAKERS.get(root) or (transfers.MAKERS.get(root))
    act = maker(instruction) if maker else None
    if act is None:
        raise unknown(instruction)
    # What lanes do together waits for all that are left; barriers for threads know how many those
    # are.
    return (
        together(act)
        if ".sync" in name and root != "bar" or name in ("bar.warp.sync", "bar.sync", "bar.arrive")
        else act
    )


def together(act: Act) -> Act:
    def when_whole(warp: Warp, group: Group, lanes: np.ndarray) -> None:
        if warp.is_whole(group):
            act(warp, group, lanes)
        else:
            group.blocks(group.pc - 1, never)

    return when_whole


def jump(index: str, targets: list[int]) -> Act:
    def act(warp: Warp, group: Group, lanes: np.ndarray) -> None:
        numbers = warp.r[index]
        if (numbers[lanes] >= len(targets)).any():
            raise Wrong(f"jumps to the {numbers[lanes].max()}th of {len(targets)} places")
        warp.groups.remove(group)
        warp.groups += [
            Group(target, lanes & (numbers == i))
            for i, target in enumerate(targets)
            if (lanes & (numbers == i)).any()
        ]

    return act


class Nap:
    def __init__(self, warp: Warp):
        self.machine = warp.block.machine
        self.until = self.machine.steps + self.machine.random.randrange(LONGEST_NAP)

    def __call__(self) -> bool:
        return self.machine.steps >= self.until


def sleep(warp: Warp, group: Group, lanes: np.ndarray) -> None:
    warp.block.machine.naps += 1
    group.wait = Nap(warp)


# ---- Between lanes.


def shuffle(instruction: Instruction) -> Act | None:
    name, operands = instruction.name, instruction.operands
    if operands[3:] != ["31", "-1"] or name not in ("shfl.sync.idx.b32", "shfl.sync.bfly.b32"):
        return None
    target, source, by = operands[0], word(operands[1]), word(operands[2])

    def act(warp: Warp, group: Group, lanes: np.ndarray) -> None:
        count = by(warp.r).astype(i64) & 31
        warp.write(group, target, source(warp.r)[count if ".idx." in name else LANE ^ count], lanes)

    return act


def vote(instruction: Instruction) -> Act | None:
    target, source = instruction.operands[:2]
    if instruction.name != "vote.sync.ballot.b32" or instruction.operands[2] != "-1":
        return None
    return lambda warp, group, lanes: warp.write(
        group,
        target,
        constant(int(sum(1 << int(lane) for lane in LANE[lanes & warp.r[source]])), u32),
        lanes,
    )


def redux(instruction: Instruction) -> Act | None:
    target, source = instruction.operands[:2]
    if instruction.name != "redux.sync.add.s32":
        return None
    return lambda warp, group, lanes: warp.write(
        group, target, constant(int(warp.r[source][lanes].astype(i64).sum()), u32), lanes
    )


def bar(instruction: Instruction) -> Act | None:
    if instruction.name == "bar.warp.sync":
        return lambda warp, group, lanes: None
    number, wanted = (word(text) for text in [*instruction.operands, "0"][:2])

    def act(warp: Warp, group: Group, lanes: np.ndarray) -> None:
        meeting = warp.block.meetings.arrive(
            int(number(warp.r)[0]), int(wanted(warp.r)[0]) or warp.block.machine.threads, 32
        )
        warp.block.machine.happens()
        if instruction.name == "bar.sync":
            group.wait = meeting.is_over

    return act if instruction.name in ("bar.sync", "bar.arrive") else None


# ---- Memory, a thread's own accesses.


def load(instruction: Instruction) -> Act | None:
    found = re.fullmatch(
        r"ld(?:\.acquire\.gpu)?\.(global|shared)(?:\.nc)?(?:\.L1::no_allocate)?(\.v[24])?\.([bs]32)",
        instruction.name,
    )
    if not found:
        return None
    targets, place = (
        operands_of(instruction.operands[0].strip("{}")),
        address(instruction.operands[1]),
    )
    widens = found[3] == "s32"

    def act(warp: Warp, group: Group, lanes: np.ndarray) -> None:
        memory = warp.block.machine.memory if found[1] == "global" else warp.block.shared
        values = memory.load(place(warp.r, lanes), len(targets))
        for i, target in enumerate(targets):
            column = values[:, i].view(i32).astype(i64).view(u64) if widens else values[:, i]
            if len(column) < len(lanes):
                spread = np.zeros(32, column.dtype)
                spread[lanes] = column
                column = spread
            warp.write(group, target, column, lanes)

    return act


def store(instruction: Instruction) -> Act | None:
    found = re.fullmatch(
        r"st(?:\.(?:relaxed|release)\.gpu)?\.(global|shared)(?:\.v[24])?\.([bf]32|b64)",
        instruction.name,
    )
    if not found:
        return None
    dtype = u64 if found[2] == "b64" else u32
    place, values = (
        address(instruction.operands[0]),
        [word(text, dtype) for text in operands_of(instruction.operands[1].strip("{}"))],
    )

    def act(warp: Warp, group: Group, lanes: np.ndarray) -> None:
        words = np.stack([value(warp.r)[lanes] for value in values], axis=1).view(u32)
        if found[1] == "global":
            warp.block.machine.memory.store(place(warp.r, lanes), words)
            warp.block.machine.happens()
        else:
            warp.block.shared.note(
                warp.number, lanes, warp.block.shared.store(place(warp.r, lanes), words)
            )

    return act


def add(instruction: Instruction) -> Act | None:
    """Lanes one after the other."""
    counts_up = instruction.name == "atom.relaxed.gpu.global.inc.u32"
    if not counts_up and instruction.name != "red.release.gpu.global.add.s32":
        return None
    target = instruction.operands[0] if counts_up else "_"
    place, value = address(instruction.operands[-2]), word(instruction.operands[-1])

    def act(warp: Warp, group: Group, lanes: np.ndarray) -> None:
        memory, before = warp.block.machine.memory, np.zeros(32, u32)
        for lane in LANE[lanes]:
            at, operand = place(warp.r, LANE == lane), int(value(warp.r)[lane])
            before[lane] = old = int(memory.load(at, 1)[0, 0])
            new = (0 if old >= operand else old + 1) if counts_up else old + operand & 0xFFFFFFFF
            memory.store(at, np.array([[new]], u32))
        warp.write(group, target, before, lanes)
        warp.block.machine.happens()

    return act


def matrices(instruction: Instruction) -> Act | None:
    """Four matrices of 8 x 8 halfwords; lane 8m + r has the address of row r of matrix m, lane 4r +
    c holds its words 2c and 2c + 1."""
    loads = instruction.name == "ldmatrix.sync.aligned.m8n8.x4.shared.b16"
    if not loads and instruction.name != "stmatrix.sync.aligned.m8n8.x4.shared.b16":
        return None
    registers, place = (
        operands_of(instruction.operands[not loads].strip("{}")),
        address(instruction.operands[loads]),
    )

    def act(warp: Warp, group: Group, lanes: np.ndarray) -> None:
        shared, rows = warp.block.shared, place(warp.r, lanes)
        if loads:
            for register, words in zip(registers, shared.load(rows, 4).reshape(4, 32)):
                warp.write(group, register, words)
        else:
            places = shared.store(
                rows, np.concatenate([warp.r[register] for register in registers]).reshape(32, 4)
            )
            shared.note(
                warp.number, lanes, places.reshape(4, 8, 4).transpose(1, 2, 0).reshape(32, 4)
            )

    return act


def wgmma(instruction: Instruction) -> Act | None:
    name = instruction.name
    if name == "wgmma.commit_group.sync.aligned":
        return lambda warp, group, lanes: warp.products.commit()
    if name == "wgmma.wait_group.sync.aligned":
        but = int(instruction.operands[0])

        def wait(warp: Warp, group: Group, lanes: np.ndarray) -> None:
            if warp.products.is_done(but):
                warp.products.retire(but)
            else:
                group.blocks(group.pc - 1, lambda: warp.products.is_done(but))

        return wait
    product = Product(instruction)

    def issue(warp: Warp, group: Group, lanes: np.ndarray) -> None:
        if not warp.products.queue:
            warp.block.machine.append(warp.products)
        warp.products.issue(product)

    return issue


MAKERS = {
    "shfl": shuffle,
    "vote": vote,
    "redux": redux,
    "bar": bar,
    "ld": load,
    "st": store,
    "red": add,
    "atom": add,
    "ldmatrix": matrices,
    "stmatrix": matrices,
    "wgmma": wgmma,
}
