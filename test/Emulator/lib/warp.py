"""A warp: 32 lanes that may part at a branch and meet again. The ones that are furthest behind go
on, of those that can."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from engines import Copies, Copy, Products
from lanes import LANE, LANES, constant, merge, u32, u64
from memory import SHARED
from ptx_text import Wrong

if TYPE_CHECKING:
    from machine import Block

Wait = Callable[[], bool]


def never() -> bool:
    return False


class Group:
    """Lanes at one place; `wait` says whether they may go on."""

    __slots__ = ("pc", "lanes", "full", "wait")

    def __init__(self, pc: int, lanes: np.ndarray):
        self.pc, self.lanes, self.full, self.wait = pc, lanes, bool(lanes.all()), None

    def blocks(self, pc: int, wait: Wait) -> None:
        """Waits, and then goes on at `pc`."""
        self.pc, self.wait = pc, wait


class Warp:
    def __init__(self, block: Block, number: int, parameters: dict[str, np.ndarray]):
        machine = block.machine
        self.block, self.number, self.program = block, number, machine.program
        self.identity = block.number * 64 + number
        special = {
            "%tid.x": number * LANES + LANE,
            "%laneid": LANE,
            "%ctaid.x": block.number,
            "%nctaid.x": machine.blocks,
            "%ntid.x": machine.threads,
            "%smid": block.number,
        }
        self.r = {
            name: np.zeros(LANES, u32) + np.asarray(value, u32) for name, value in special.items()
        } | parameters
        self.r["dynamic_shared_memory"] = constant(SHARED, u64)
        self.groups = [Group(0, np.ones(LANES, bool))]
        self.live = LANES
        self.products = Products(self.r, block.shared, number % 4 * 16, machine.random)
        self.copies: dict[int, Copies] = {}

    def write(
        self, group: Group, name: str, value: np.ndarray, lanes: np.ndarray | None = None
    ) -> None:
        """Values are of all lanes; those of the group, or of some, get theirs."""
        if group.full and (lanes is None or lanes is group.lanes):
            self.r[name] = value
        elif name != "_":
            self.r[name] = merge(group.lanes if lanes is None else lanes, value, self.r.get(name))

    def can_go_on(self) -> bool:
        # Asked more often than all else: a loop is twice as fast as any().
        for group in self.groups:
            if group.wait is None or group.wait():
                return True
        return False

    def next_group(self) -> Group | None:
        """The first that can go on; groups at one place become one."""
        if len(self.groups) > 1:
            self.groups.sort(key=lambda group: group.pc)
            merged = self.groups[:1]
            for group in self.groups[1:]:
                if (
                    group.pc == merged[-1].pc
                    and group.wait in (None, never)
                    and merged[-1].wait in (None, never)
                ):
                    merged[-1] = Group(group.pc, merged[-1].lanes | group.lanes)
                else:
                    merged.append(group)
            self.groups = merged
        for group in self.groups:
            if group.wait is None or group.wait():
                group.wait = None
                return group
        return None

    def step(self) -> bool:
        """Runs the next instructions of a group; False if all wait, or no lane is left."""
        group = self.next_group()
        if group is None:
            return False
        at = group.pc
        unit = self.program.unit(at)
        try:
            group.pc = unit.end
            if unit.computed:
                unit.run(self.r, group)
            else:
                unit.act(self, group)
        except Wrong as wrong:
            raise Wrong(f"{self.where(at, group)} {wrong}") from None
        except KeyError as error:
            raise Wrong(
                f"{self.where(at, group)} uses {error.args[0]} before it has a value"
            ) from error
        return True

    def branch(self, group: Group, lanes: np.ndarray, target: int) -> None:
        """Some lanes of a group, or all, go elsewhere."""
        if lanes is group.lanes or np.count_nonzero(lanes) == np.count_nonzero(group.lanes):
            group.pc = target
        else:
            self.groups.remove(group)
            self.groups += [Group(target, lanes), Group(group.pc, group.lanes & ~lanes)]

    def leave(self, group: Group) -> None:
        self.groups.remove(group)
        self.live -= int(group.lanes.sum())
        copies = [self.copies[lane] for lane in LANE[group.lanes].tolist() if lane in self.copies]
        if self.products.sums or any(
            of_lane.unfinished(0, Copy.READ) or of_lane.open for of_lane in copies
        ):
            raise Wrong("leaves with copies or products under way")

    def is_whole(self, group: Group) -> bool:
        return group.full or int(group.lanes.sum()) == self.live

    def copies_of(self, lane: int) -> Copies:
        return self.copies.setdefault(lane, Copies())

    def where(self, at: int, group: Group) -> str:
        text = self.program.code[at].text
        lanes = (
            ""
            if group.full
            else f", {int(group.lanes.sum())} lanes from {int(LANE[group.lanes][0])} on,"
        )
        return (
            f"block {self.block.number}, warp {self.number}{lanes} at"
            f" '{text if len(text) < 120 else text[:120] + '…'}'"
        )
