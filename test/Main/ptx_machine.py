"""A machine of one block that runs PTX of a main kernel: a thread for each warp of the first
warpgroup and one for each other warpgroup. Only integers have values; of floats it is known where
they are.

It finds what a GPU may do wrong once in a million times, because it asks whether one access is
ordered before another, not which came first: each thread has a vector clock, barriers carry clocks
on. Products and copies use memory until they are waited for.
"""

from __future__ import annotations

import re
from collections import defaultdict
from functools import lru_cache, partial

from ptx_numbers import result_of, signed
from ptx_text import REGISTER, Instruction, Wrong, operands_of, parse
from ptx_threads import LANES, WARPS_OF_GROUP, Access, Barrier, Group, Thread

SHARED = 1 << 20  # where shared memory begins; a descriptor holds bits 4 to 17
MOST_STEPS = 200_000  # of all threads; a kernel's walks here take a tenth
NUMBER = re.compile(r"-?\d+")
# A text is run with several lists of items.
parsed = lru_cache(4)(parse)


class Machine:
    """Runs the threads in turns until none can go on."""

    def __init__(
        self, text: str, entry: str, values: dict[str, int], memory: dict[int, int], groups: int
    ):
        self.code, self.labels, self.parameters = parsed(text, entry)
        if len(values) != len(self.parameters):
            raise Wrong(f"expected {len(values)} parameters, got {len(self.parameters)}")
        self.values = dict(zip(self.parameters, values.values()))
        self.memory, self.shared = memory, {}
        self.barriers: dict[int, Barrier] = {}
        self.accesses: dict[int, list[Access]] = defaultdict(list)
        self.named: dict[int, dict] = {}
        self.steps_left = MOST_STEPS
        self.counts: dict[str, int] = defaultdict(int)
        self.special = {
            "mbarrier": self.mbarrier,
            "wgmma": self.wgmma,
            "cp": self.copy,
            "bar": self.bar,
        }
        tids = [LANES * warp for warp in range(WARPS_OF_GROUP)] + [
            LANES * WARPS_OF_GROUP * g for g in range(1, groups)
        ]
        self.threads = [
            Thread(
                i,
                tid,
                LANES if i < WARPS_OF_GROUP else LANES * WARPS_OF_GROUP,
                [int(i == j) for j in range(len(tids))],
            )
            for i, tid in enumerate(tids)
        ]

    def run(self) -> None:
        moved = True
        while moved:
            moved = False
            for thread in self.threads:
                while not thread.done and self.step(thread):
                    moved = True
        for thread in self.threads:
            if not thread.done:
                raise Wrong(f"thread {thread.tid} waits for ever at '{self.code[thread.at].text}'")
            if thread.reads_in_flight():
                raise Wrong(f"thread {thread.tid} leaves with copies or products under way")

    # ---- Memory.

    def touch(
        self, thread: Thread, begin: int, size: int, writes: bool, text: str, engine: bool = False
    ) -> Access:
        """An access now; of copies and products if `engine`."""
        access = Access(
            begin,
            begin + size,
            thread,
            thread.clock[thread.number],
            writes,
            text,
            not engine,
            thread.fences,
        )
        for other_thread in self.threads if writes else ():
            for read in other_thread.reads_in_flight():
                if read.begin < access.end and begin < read.end:
                    raise Wrong(f"'{text}' writes what '{read.text}' still reads")
        for page in range(begin >> 10, (access.end + 1023) >> 10):
            kept = []
            for old in self.accesses[page]:
                overlaps = old.begin < access.end and begin < old.end
                ordered = old.time <= thread.clock[old.thread.number]
                if overlaps and (writes or old.writes) and old.thread is not thread and not ordered:
                    raise Wrong(f"'{text}' is not ordered behind '{old.text}'")
                if (
                    overlaps
                    and engine
                    and old.writes
                    and old.plain
                    and old.thread.fences == old.fences
                ):
                    raise Wrong(f"'{text}' comes before the proxy fence of '{old.text}'")
                covered = begin <= old.begin and old.end <= access.end
                if not (covered and (writes or (old.thread is thread and not old.writes))):
                    kept.append(old)
            self.accesses[page] = [*kept, access]
        return access

    def complete(self, group: Group) -> None:
        for read in group.reads:
            self.touch(
                read.thread, read.begin, read.end - read.begin, False, read.text, engine=True
            )

    def start_read(self, thread: Thread, group: Group, begin: int, size: int, text: str) -> None:
        group.reads.append(self.touch(thread, begin, size, False, text, engine=True))

    def address(self, thread: Thread, operand: str) -> int:
        base, _, offset = operand.strip("[]").partition("+")
        return (self.value(thread, base.strip()) + int(offset or 0)) & ((1 << 64) - 1)

    # ---- Values.

    def value(self, thread: Thread, operand: str, bits: int = 64, is_signed: bool = False) -> int:
        value = thread.registers.get(operand)
        if value is not None:  # as nearly always
            return signed(value, bits) if is_signed else value & ((1 << bits) - 1)
        if operand.startswith("{"):
            low, high = operands_of(operand[1:-1])
            return self.value(thread, low, 32) | self.value(thread, high, 32) << 32
        if NUMBER.fullmatch(operand):
            value = int(operand)
        elif operand.startswith("0x") or operand.startswith("0f"):
            value = int(operand[2:], 16)
        elif operand == "%tid.x":
            value = thread.tid
        elif operand == "%laneid":
            value = thread.tid % LANES
        elif operand == "%ctaid.x":
            value = 0
        elif operand == "%nctaid.x":
            value = 1
        elif operand == "dynamic_shared_memory":
            value = SHARED
        elif operand in self.values:
            value = self.values[operand]
        else:
            raise Wrong(f"thread {thread.tid} uses {operand} before it has a value")
        return signed(value, bits) if is_signed else value & ((1 << bits) - 1)

    def step(self, thread: Thread) -> bool:
        """Runs an instruction; False if it waits."""
        self.steps_left -= 1
        if self.steps_left < 0:
            raise Wrong(f"thread {thread.tid} runs for ever at '{self.code[thread.at].text}'")
        instruction = self.code[thread.at]
        if instruction.guard:
            if bool(self.value(thread, instruction.guard, 1)) == instruction.unless:
                thread.at += 1
                return True
        for group in [thread.open_products, *thread.products]:
            if (
                group.registers
                and instruction.registers & group.registers
                and not instruction.name.startswith("wgmma")
            ):
                raise Wrong(
                    f"'{instruction.text}' uses a register of a product that is not waited for"
                )
        was = thread.at
        thread.at += 1
        if self.execute(thread, instruction) is False:
            thread.at = was
            return False
        # A warp that polls lets the others go on.
        sleeps, thread.sleeps = thread.sleeps, False
        return not sleeps

    def execute(self, thread: Thread, instruction: Instruction) -> bool | None:
        name, operands, text = instruction.name, instruction.operands, instruction.text
        root = name.split(".")[0]
        special = self.special.get(root)
        if special:
            return special(thread, name, operands, text)
        if root == "bra":
            thread.at = self.labels[operands[0]]
        elif root in ("ret", "exit"):
            thread.done = True
            return False
        elif root == "fence":
            thread.fences += "proxy.async" in name
        elif root == "nanosleep":
            thread.sleeps = True
        elif root in ("setmaxnreg", "griddepcontrol"):
            pass
        elif root == "stmatrix":
            self.touch(thread, self.address(thread, operands[0]), 16, True, text)
        elif root == "ldmatrix":
            self.touch(thread, self.address(thread, operands[1]), 16, False, text)
            thread.registers.update(dict.fromkeys(operands_of(operands[0].strip("{}")), 0))
        elif root == "atom":
            if ".inc." not in name:
                raise Wrong(f"expected an instruction that this machine knows, got '{name}'")
            at, last = self.address(thread, operands[1]), self.value(thread, operands[2], 32)
            found = thread.registers[operands[0]] = self.memory.get(at, 0)
            self.memory[at] = 0 if found >= last else found + 1
            self.counts["tickets"] += 1
        elif root in ("ld", "st", "red"):
            return self.load_or_store(thread, name, operands, text)
        else:
            thread.registers[operands[0].split("|")[0]] = result_of(
                root, name, operands, partial(self.value, thread)
            )
        return None

    def load_or_store(
        self, thread: Thread, name: str, operands: list[str], text: str
    ) -> bool | None:
        loads = name.startswith("ld")
        place, registers = (operands[1], operands[0]) if loads else (operands[0], operands[-1])
        if ".param" in name:
            thread.registers[registers] = self.values[place.strip("[]")]
            return None
        at, words = self.address(thread, place), operands_of(registers.strip("{}"))
        memory = self.memory
        if ".shared" in name:
            memory = self.shared
            self.touch(thread, at, 4 * len(words), not loads, text)
            self.counts["row loads"] += loads and len(words) == 4
        for i, word in enumerate(words):
            if loads:
                thread.registers[word] = memory.get(at + 4 * i, 0)
            elif name.startswith("red"):
                memory[at] = memory.get(at, 0) + self.value(thread, word, 32)
            else:
                memory[at + 4 * i] = self.value(thread, word, 32)
        return None

    # ---- Barriers.

    def mbarrier(self, thread: Thread, name: str, operands: list[str], text: str) -> bool | None:
        if ".init" in name:
            self.barriers[self.address(thread, operands[0])] = Barrier(
                self.value(thread, operands[1]), [0] * len(self.threads)
            )
            return None
        barrier = self.barriers[self.address(thread, operands[1])]
        if ".try_wait" in name:
            done = barrier.phases & 1 != self.value(thread, operands[2])
            if done:
                thread.registers[operands[0]] = 1
                thread.joins(barrier.clock)
            return None if done else False
        if ".expect_tx" in name:
            barrier.bytes += self.value(thread, operands[2])
        # Every warp of a warpgroup has a lane that arrives.
        barrier.pending -= WARPS_OF_GROUP if thread.stands_for > LANES else 1
        barrier.tell(thread)
        barrier.settle()
        return None

    def bar(self, thread: Thread, name: str, operands: list[str], text: str) -> bool | None:
        if ".warp" in name:
            return None
        number = self.value(thread, operands[0])
        wanted = (
            self.value(thread, operands[1])
            if len(operands) > 1
            else sum(t.stands_for for t in self.threads)
        )
        if thread.waits_for is not None:  # it has arrived before
            if not thread.waits_for["open"]:
                thread.joins(thread.waits_for["clock"])
                thread.waits_for = None
                return None
            return False
        meeting = self.named.setdefault(
            number, {"count": 0, "clock": [0] * len(self.threads), "open": True}
        )
        meeting["count"] += thread.stands_for
        meeting["clock"] = [max(a, b) for a, b in zip(meeting["clock"], thread.clock)]
        thread.clock[thread.number] += 1
        if meeting["count"] >= wanted:
            meeting["open"] = False
            del self.named[number]
        if ".arrive" in name:
            return None
        if not meeting["open"]:
            thread.joins(meeting["clock"])
            return None
        thread.waits_for = meeting
        return False

    # ---- Products and copies.

    def wgmma(self, thread: Thread, name: str, operands: list[str], text: str) -> None:
        if ".commit_group" in name:
            thread.products.append(thread.open_products)
            thread.open_products = Group()
        elif ".wait_group" in name:
            while len(thread.products) > self.value(thread, operands[0]):
                self.complete(thread.products.pop(0))
        elif ".mma_async" in name:
            self.counts["products"] += 1
            sums = set(REGISTER.findall(operands[0]))
            if any(sums & group.registers for group in thread.products):
                raise Wrong(f"'{text[:60]}…' adds to sums of a product that is not waited for")
            thread.registers |= dict.fromkeys(sums, 0)
            columns = int(re.search(r"\.m64n(\d+)", name)[1])
            in_registers = operands[1].startswith("{")
            flags = operands[6:] if not in_registers else ["0", *operands[6:]]
            group = thread.open_products
            group.registers |= sums | (
                set(REGISTER.findall(operands[1])) if in_registers else set()
            )
            if not in_registers:
                self.read_factor(thread, group, operands[1], 64, flags[0] == "1", name)
            self.read_factor(thread, group, operands[2], columns, flags[1] == "1", name)

    def read_factor(
        self, thread: Thread, group: Group, operand: str, outer: int, transposed: bool, name: str
    ) -> None:
        """What a step reads: `outer` rows of 128 bytes, or of each panel of 64 columns 16 rows.
        Rows are swizzled by eights."""
        descriptor = self.value(thread, operand)
        begin = SHARED + ((descriptor & 0x3FFF) << 4) & ~1023
        if not transposed:
            self.start_read(thread, group, begin, outer * 128, name)
            return
        for panel in range((outer + 63) // 64):
            self.start_read(
                thread, group, begin + panel * (descriptor >> 16 & 0x3FFF) * 16, 16 * 128, name
            )

    def copy(self, thread: Thread, name: str, operands: list[str], text: str) -> None:
        if ".commit_group" in name:
            thread.copies.append(thread.open_copies)
            thread.open_copies = Group()
        elif ".wait_group" in name:
            for group in thread.copies[: len(thread.copies) - self.value(thread, operands[0])]:
                self.complete(group)
                group.reads.clear()
            if ".read" not in name:
                thread.copies.clear()
        # Into shared memory.
        elif name.split(".mbarrier")[0].endswith(".global") or ".global.tile.mbarrier" in name:
            barrier = self.barriers[self.address(thread, operands[-1])]
            begin = self.address(thread, operands[0])
            size = (
                self.value(thread, operands[2])
                if ".tensor" not in name
                else self.tensor_bytes(barrier)
            )
            self.touch(thread, begin, size, True, text, engine=True)
            barrier.bytes -= size
            barrier.tell(thread)
            barrier.settle()
        else:
            tensor = ".tensor" in name
            self.counts["copies out"] += 1
            size = 64 * 128 if tensor else self.value(thread, operands[2])
            self.start_read(
                thread, thread.open_copies, self.address(thread, operands[1]), size, text
            )

    @staticmethod
    def tensor_bytes(barrier: Barrier) -> int:
        """A tile: what was announced, but for the numbers of rows, which are copied behind it and
        are few."""
        return barrier.bytes if barrier.bytes % 1024 == 0 else barrier.bytes // 1024 * 1024
