"""What the threads of a block run: `ptx_machine` runs an emitted kernel, and each instruction is
written down with its addresses."""

from __future__ import annotations

from dataclasses import dataclass, field

from ptx_machine import SHARED, Machine
from ptx_text import Instruction
from ptx_threads import Thread as MachineThread


@dataclass
class Step:
    """An instruction that a thread has run, in the order of the run."""

    thread: int
    line: int
    text: str
    name: str
    is_guarded: bool
    addresses: dict[str, int] = field(default_factory=dict)  # of operands in brackets
    accesses: list[tuple[int, int, bool]] = field(default_factory=list)  # begin, end, writes
    phase: int = -1  # of the barrier that it arrives at or has waited for
    seen: int | None = None  # what `ld.acquire` has loaded


class Tracer(Machine):
    """A machine that remembers."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.steps: list[Step] = []
        self.current: Step | None = None
        # How often a thread has been at a barrier of the block or of its warp.
        self.met: dict[tuple[int, str], int] = {}

    def step(self, thread: MachineThread) -> bool:
        instruction, at = self.code[thread.at], thread.at
        runs = (
            not instruction.guard
            or bool(self.value(thread, instruction.guard, 1)) != instruction.unless
        )
        self.current = self._begin(thread, at, instruction) if runs else None
        moved = super().step(thread)
        if self.current and (thread.at != at or thread.done):
            if instruction.name.startswith("mbarrier.try_wait"):
                self.current.phase = self.barriers[self.barrier_of(self.current)].phases - 1
            elif instruction.name.startswith("ld.acquire"):
                self.current.seen = thread.registers[instruction.operands[0]]
            elif instruction.name.startswith("bar."):
                self.current.phase = self._count(thread.number, self.current)
            self.steps.append(self.current)
        return moved

    def _begin(self, thread: MachineThread, at: int, instruction: Instruction) -> Step:
        guarded = bool(instruction.guard) and instruction.name != "bra"
        step = Step(thread.number, at, instruction.text, instruction.name, guarded)
        for operand in instruction.operands:
            if operand.startswith("[") and "param" not in instruction.name:
                step.addresses[operand] = self.address(
                    thread, "[" + operand.strip("[]").split(",")[0] + "]"
                )
        if instruction.name.startswith("mbarrier.arrive") or "complete_tx" in instruction.name:
            step.phase = self.barriers[self.barrier_of(step)].phases
        return step

    def _count(self, number: int, step: Step) -> int:
        pair = number, self.barrier_of(step)
        self.met[pair] = self.met.get(pair, 0) + 1
        return self.met[pair]

    def touch(self, thread, begin, size, writes, text, engine=False):
        if self.current:
            self.current.accesses.append((begin, begin + size, writes))
        return super().touch(thread, begin, size, writes, text, engine)

    def complete(self, group) -> None:
        """Reads of a group were written down where they began."""
        step, self.current = self.current, None
        super().complete(group)
        self.current = step

    def barrier_of(self, step: Step) -> int | str:
        """The mbarrier's address, the number of a barrier of the block, or the warp."""
        if step.name.startswith("bar.warp"):
            return f"warp of {step.thread}"
        if step.name.startswith("bar."):
            return f"bar {step.text.split()[1].rstrip(',;')}"
        return next(at for at in step.addresses.values() if at in self.barriers)


def is_shared(address: int) -> bool:
    return SHARED <= address < 2 * SHARED
