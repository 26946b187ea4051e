"""mbarriers, copies by engines and the descriptors that they follow."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from barriers import Barrier
from engines import Copy
from lanes import LANE, constant, flushed, u32, u64
from memory import SHARED
from ptx_text import Instruction, Wrong, operands_of
from tensor_maps import BYTES, MAP, TensorMap, replaced, swizzled

if TYPE_CHECKING:
    from warp import Group, Warp

Act = Callable[["Warp", "Group", np.ndarray], None]


def word(text: str, dtype: type = u32) -> Callable[[dict[str, np.ndarray]], np.ndarray]:
    """Reads an operand: a register or a number."""
    if re.fullmatch(r"-?\d+", text):
        value = constant(int(text), dtype)
        return lambda r: value
    return lambda r: r[text]


def address(text: str) -> Callable[[dict[str, np.ndarray], np.ndarray], np.ndarray]:
    """[register + offset], of some lanes."""
    base, _, offset = text.strip("[]").partition("+")
    base, distance = base.strip(), u64(int(offset or 0) & (1 << 64) - 1)
    return lambda r, lanes: r[base][lanes].astype(u64, copy=False) + distance


def number(text: str) -> Callable[[Warp, int], int]:
    """An operand of one lane; of an address its register and offset."""
    base, _, offset = text.strip("[] ").partition("+")
    base, distance = base.strip(), int(offset or 0)
    if re.fullmatch(r"-?\d+", base):
        return lambda warp, lane: int(base)
    return lambda warp, lane: int(warp.r[base][lane]) + distance


def barrier_of(warp: Warp, address: int) -> Barrier:
    barrier = warp.block.barriers.get(address)
    if barrier is None:
        raise Wrong(f"uses a barrier at {address:#x} that is not initialised")
    return barrier


def each(act: Callable[[Warp, int], None]) -> Act:
    """Lane by lane; others may wait for what is done."""

    def of_lanes(warp: Warp, group: Group, lanes: np.ndarray) -> None:
        for lane in LANE[lanes].tolist():
            act(warp, lane)
        warp.block.machine.happens()

    return of_lanes


def mbarrier(instruction: Instruction) -> Act | None:
    name, operands = instruction.name, instruction.operands
    if name == "mbarrier.init.shared.b64":
        at, count = number(operands[0]), number(operands[1])

        def init(warp: Warp, lane: int) -> None:
            arrivals = count(warp, lane)
            warp.block.barriers[at(warp, lane)] = Barrier(arrivals, arrivals)

        return each(init)
    at, place = number(operands[1]), address(operands[1])
    if name == "mbarrier.try_wait.parity.shared::cta.b64":
        parity = word(operands[2])

        def try_wait(warp: Warp, group: Group, lanes: np.ndarray) -> None:
            """A thread that finds its phase under way sleeps until it ends, and then asks again."""
            pairs = list(zip(place(warp.r, lanes).tolist(), parity(warp.r)[lanes].tolist()))
            asked = {pair: barrier_of(warp, pair[0]) for pair in set(pairs)}

            def is_done(pair: tuple[int, int]) -> bool:
                return asked[pair].phase & 1 != pair[1]

            if any(map(is_done, asked)):
                done = np.zeros(32, bool)
                done[lanes] = [is_done(pair) for pair in pairs]
                warp.write(group, operands[0], done, lanes)
            elif len(asked) == 1:
                ((_, under_way), barrier), *_ = asked.items()
                group.blocks(group.pc - 1, lambda: barrier.phase & 1 != under_way)
            else:
                group.blocks(group.pc - 1, lambda: any(map(is_done, asked)))

        return try_wait
    expects = name == "mbarrier.arrive.expect_tx.shared.b64"
    if not expects and name not in (
        "mbarrier.arrive.shared.b64",
        "mbarrier.arrive.shared::cta.b64",
    ):
        return None
    size = number(operands[2]) if expects else lambda warp, lane: 0
    arrive = each(lambda warp, lane: barrier_of(warp, at(warp, lane)).arrive(1, size(warp, lane)))

    def act(warp: Warp, group: Group, lanes: np.ndarray) -> None:
        arrive(warp, group, lanes)
        warp.write(group, operands[0], constant(0, u64), lanes)

    return act


def start(
    warp: Warp,
    lane: int,
    read: Callable[[], np.ndarray],
    write: Callable[[np.ndarray], None],
    grouped: bool,
) -> None:
    copy = Copy(read, write)
    warp.block.machine.append(copy)
    if grouped:
        warp.copies_of(lane).open.append(copy)


def load(
    warp: Warp, lane: int, places: np.ndarray, read: Callable[[], np.ndarray], barrier: Barrier
) -> None:
    """Into shared memory, where nothing of before is left from now on."""
    shared = warp.block.shared
    shared.arrive(places, 0xFF)

    def write(data: np.ndarray) -> None:
        shared.arrive(places, data)
        barrier.complete(places.size)

    start(warp, lane, read, write, grouped=False)


def tensor_map(warp: Warp, address: int) -> TensorMap:
    memory = warp.block.machine.memory
    return TensorMap(memory.bytes[memory.rows(np.array([address], u64), BYTES, False)[0]])


def copy(instruction: Instruction) -> Act | None:
    name, operands = instruction.name.removeprefix("cp."), instruction.operands
    if name == "async.bulk.commit_group":
        return each(lambda warp, lane: warp.copies_of(lane).commit())
    if name in ("async.bulk.wait_group", "async.bulk.wait_group.read"):
        return wait_group(int(operands[0]), Copy.READ if name.endswith("read") else Copy.WRITTEN)
    if name == "async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes":
        target, source, size, at = map(number, operands)

        def bring(warp: Warp, lane: int) -> None:
            memory, count = warp.block.machine.memory, size(warp, lane)
            places = warp.block.shared.rows(np.array([target(warp, lane)], u64), count, True)
            rows = memory.rows(np.array([source(warp, lane)], u64), count, False)
            load(warp, lane, places, lambda: memory.bytes[rows], barrier_of(warp, at(warp, lane)))

        return each(bring)
    plain = name.replace(".L2::cache_hint", "")
    if plain in (
        "async.bulk.global.shared::cta.bulk_group",
        "reduce.async.bulk.global.shared::cta.bulk_group.add.f32",
    ):
        # What L2 keeps changes no number.
        return each(take(name.startswith("reduce"), *map(number, operands[:3])))
    if name == "async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes":
        return each(tile(operands[0], operands[1], operands[2]))
    if name == "async.bulk.tensor.5d.global.shared::cta.tile.bulk_group":
        return each(tile(operands[1], operands[0], None))
    return None


def wait_group(but: int, stage: int) -> Act:
    def act(warp: Warp, group: Group, lanes: np.ndarray) -> None:
        unfinished = [
            copy
            for lane in LANE[lanes].tolist()
            for copy in warp.copies_of(lane).unfinished(but, stage)
        ]
        if unfinished:
            group.wait = lambda: all(copy.stage >= stage for copy in unfinished)

    return act


def take(
    adds: bool, target: Callable, source: Callable, size: Callable
) -> Callable[[Warp, int], None]:
    """Out of shared memory, as engines see it. Sums lose numbers too small for a full mantissa."""

    def act(warp: Warp, lane: int) -> None:
        memory, shared, count = warp.block.machine.memory, warp.block.shared, size(warp, lane)
        rows = memory.rows(np.array([target(warp, lane)], u64), count, True)[0]
        places = shared.rows(np.array([source(warp, lane)], u64), count, False)[0]

        def write(data: np.ndarray) -> None:
            if adds:
                old, new = memory.bytes[rows].view(np.float32), data.view(np.float32)
                data = flushed(flushed(old) + flushed(new)).view(np.uint8)
            memory.bytes[rows] = data

        start(warp, lane, lambda: shared.seen[places], write, grouped=True)

    return act


def tile(near: str, far: str, barrier: str | None) -> Callable[[Warp, int], None]:
    """A box of a tensor, into shared memory if there is a barrier that waits for it."""
    descriptor, coordinates = re.fullmatch(r"\[(\S+), \{(.*)\}\]", far).groups()
    place, at = number(near), number(barrier or "0")
    descriptor, numbers = number(descriptor), [number(text) for text in operands_of(coordinates)]

    def act(warp: Warp, lane: int) -> None:
        memory, shared = warp.block.machine.memory, warp.block.shared
        box = tensor_map(warp, descriptor(warp, lane))
        addresses, inside, count = box.rows(
            [(value(warp, lane) + (1 << 31)) % (1 << 32) - (1 << 31) for value in numbers]
        )
        begin = place(warp, lane)
        shared.places(np.array([begin], u64), box.bytes, barrier is not None, 128)
        places = swizzled(begin, len(inside), box.width) - SHARED
        rows = memory.rows(addresses[inside], count, barrier is None)

        def bring() -> np.ndarray:
            data = np.zeros((len(inside), box.width), np.uint8)
            data[inside, :count] = memory.bytes[rows]
            return data

        def put(data: np.ndarray) -> None:
            memory.bytes[rows] = data[inside, :count]

        if barrier is not None:
            load(warp, lane, places, bring, barrier_of(warp, at(warp, lane)))
        else:
            start(warp, lane, lambda: shared.seen[places], put, grouped=True)

    return act


def tensormap(instruction: Instruction) -> Act | None:
    name, operands = instruction.name, instruction.operands
    if (
        name
        == "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned"
    ):
        target, source = number(operands[0]), number(operands[1])

        def publish(warp: Warp, group: Group, lanes: np.ndarray) -> None:
            memory, shared = warp.block.machine.memory, warp.block.shared
            places = shared.rows(np.array([source(warp, 0)], u64), BYTES, False)
            memory.bytes[memory.rows(np.array([target(warp, 0)], u64), BYTES, True)] = shared.bytes[
                places
            ]

        return publish
    found = re.fullmatch(r"tensormap\.replace\.tile\.(\w+)\.shared::cta\.b1024\.b(32|64)", name)
    if not found or found[1] not in MAP.names:
        return None
    at, index, value = (
        number(operands[0]),
        number(operands[1] if len(operands) > 2 else "0"),
        number(operands[-1]),
    )

    def replace(warp: Warp, lane: int) -> None:
        places = warp.block.shared.rows(np.array([at(warp, lane)], u64), BYTES, True)[0]
        shared = warp.block.shared.bytes
        shared[places] = replaced(shared[places], found[1], index(warp, lane), value(warp, lane))

    return each(replace)


def fence(instruction: Instruction) -> Act | None:
    if instruction.name != "fence.proxy.async.shared::cta":
        return None
    return lambda warp, group, lanes: warp.block.shared.fence(warp.number, lanes)


MAKERS = {"mbarrier": mbarrier, "cp": copy, "tensormap": tensormap, "fence": fence}
