# RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='kind=symmetric-shift output=shared-tiles' -o /dev/null \
# RUN:   --mlir-print-ir-after=dash-plan-buffers 2> shared-tiles.mlir \
# RUN:   && %python %s shared-tiles.ptx --steps | FileCheck %s --check-prefixes=CHECK,STEPS
# RUN: sed s/x128xbf16/x64xbf16/ %dash_examples/bwd-causal.mlir \
# RUN:   | dash-opt --dash-to-ptx='kind=symmetric-shift output=shared-tiles-64' -o /dev/null \
# RUN:   --mlir-print-ir-after=dash-plan-buffers 2> shared-tiles-64.mlir
# RUN: %python %s shared-tiles-64.ptx --executions | FileCheck %s --check-prefixes=OVERLAPPING,EXECUTIONS
# RUN: sed s/x128xbf16/x64xbf16/ %dash_examples/bwd-full.mlir \
# RUN:   | dash-opt --dash-to-ptx='kind=shift q-tile=64 output=shared-tiles-full' -o /dev/null \
# RUN:   --mlir-print-ir-after=dash-plan-buffers 2> shared-tiles-full.mlir
# RUN: %python %s shared-tiles-full.ptx | FileCheck %s --check-prefix=OVERLAPPING
# RUN: dash-opt %dash_examples/bwd-causal.mlir --dash-to-ptx='kind=shift parts=2 sizes=heads:2,kv-heads:1 output=shared-tiles-parts' -o /dev/null \
# RUN:   --mlir-print-ir-after=dash-plan-buffers 2> shared-tiles-parts.mlir
# RUN: %python %s shared-tiles-parts.ptx --emitted | FileCheck %s --check-prefix=PARTS
# RUN: sed 's/scale(%%scale)/scale(%%scale) sequences(<?>)/' %dash_examples/bwd-causal.mlir \
# RUN:   | dash-opt --dash-to-ptx='kind=shift level=batch output=shared-tiles-list' -o /dev/null \
# RUN:   --mlir-print-ir-after=dash-plan-buffers 2> shared-tiles-list.mlir
# RUN: %python %s shared-tiles-list.ptx --emitted | FileCheck %s --check-prefix=LIST
# RUN: grep -v bar.warp.sync shared-tiles-64.ptx > shared-tiles-spoilt.ptx
# RUN: cp shared-tiles-64.json shared-tiles-spoilt.json
# RUN: cp shared-tiles-64.mlir shared-tiles-spoilt.mlir
# RUN: not %python %s shared-tiles-spoilt.ptx | FileCheck %s --check-prefix=SPOILT
# REQUIRES: python, z3, host-supports-nvptx
"""Tiles in shared memory against the memory model: every read of every element of every channel has
to observe what was written for it, and before what is written next. Then each kind of
synchronization is left out, wherever the kernel has it.

    shared-tiles.py KERNEL.ptx [--steps | --executions | --emitted]

KERNEL.mlir beside it is the plan, which says where channels lie.
"""

# CHECK:       12 bytes of 6 channels, {{[0-9]+}} reads; as emitted, wrong: nothing
# STEPS:         consumer: arrive at dq full dq tile{{$}}
# STEPS:         consumer: bar.warp.sync before dq full dq tile{{$}}
# STEPS:         consumer: cp.async.bulk.wait_group.read 0 ds tile{{$}}
# STEPS:         consumer: fence.proxy.async.shared::cta behind dV, dK ds tile{{$}}
# STEPS:         consumer: fence.proxy.async.shared::cta behind dq dq tile{{$}}
# STEPS:         consumer: fence.proxy.async.shared::cta behind ds q row, do row, ds tile{{$}}
# STEPS:         consumer: wait for ds full ds tile{{$}}
# STEPS:         producer: wait for q empty q tile, q row, q index{{$}}
# STEPS:         reducer: cp.async.bulk.wait_group.read 0 dq tile{{$}}
# LIST:        12 bytes of 6 channels, {{[0-9]+}} reads; as emitted, wrong: nothing
# PARTS:       12 bytes of 6 channels, {{[0-9]+}} reads; as emitted, wrong: nothing
# OVERLAPPING: 12 bytes of 5 channels, {{[0-9]+}} reads; as emitted, wrong: nothing
# EXECUTIONS:    consumer: fence.proxy.async.shared::cta behind dq{{$}}
# EXECUTIONS-NEXT: cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint of warp 1 observes of dq tile what was there before
# EXECUTIONS:    consumer: fence.proxy.async.shared::cta behind ds{{$}}
# EXECUTIONS-NEXT: ld.shared.v4.b32 of warpgroup 0, other lane observes of q_do row
# SPOILT:      as emitted, wrong: {{.*}}dq tile
# CHECK:       fenced by the reader, not by the writer
# CHECK-NEXT:    ds q row, do row; by thread: q row, do row, ds tile
# CHECK-NEXT:    dq nothing; by thread: dq tile
# CHECK-NEXT:    ds and dq q row, do row; by thread: q row, do row, ds tile, dq tile
# CHECK-NEXT:    ds and dq, and once an item behind its first rows nothing; by thread: ds tile, dq tile
# At head dim 64 rows and tiles of a step share a slot.
# OVERLAPPING:      fenced by the reader, not by the writer
# OVERLAPPING-NEXT:   ds q_do row, q_do other row; by thread: q_do row, ds tile, q_do other row
# OVERLAPPING-NEXT:   dq nothing; by thread: dq tile
# OVERLAPPING-NEXT:   ds and dq q_do row, q_do other row; by thread: q_do row, ds tile, q_do other row, dq tile
# OVERLAPPING-NEXT:   ds and dq, and once an item behind its first rows nothing; by thread: ds tile, dq tile

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent / "lib"), str(Path(__file__).parents[1] / "Main")]

from blocks import FIRST_CONSUMER, Block, channels_of  # noqa: E402
from kernels import Change, trace  # noqa: E402
from proxies import READINGS  # noqa: E402
from traces import Step  # noqa: E402

WALKS = [3, 5]  # two items, so that each slot is filled twice
FENCE = "fence.proxy.async.shared::cta;"
MEETINGS = ("bar.sync 3", "bar.sync 4")  # of the threads of each warpgroup


def role(step: Step) -> str:
    if step.thread >= FIRST_CONSUMER:
        return "consumer"
    return "reducer" if step.thread in (1, 2) else "producer"


def kinds_of(block: Block) -> dict[str, tuple[int, ...]]:
    """Synchronization by what it is for: the lines of all its copies (prologue, steady state,
    epilogue; both warpgroups)."""
    kinds: dict[str, set[int]] = {}
    for thread in sorted({step.thread for _, step in block.steps}):
        written, arrives_at = "", {}
        own = [step for step in block.tracer.steps if step.thread == thread]
        leaves = set()  # fences in front of a warpgroup's meeting: one thread copies out behind it
        for step, following in zip(own, own[1:]):
            if step.name.startswith("bar.warp") and following.name.startswith("mbarrier.arrive"):
                arrives_at[step.line] = block.channel_barrier(following)
            if step.name.startswith("fence") and following.text.startswith(MEETINGS):
                leaves.add(step.line)
        for step in own:
            written = block.stored(step) or written
            if label := label_of(
                block, step, "dV, dK" if step.line in leaves else written, arrives_at
            ):
                kinds.setdefault(f"{role(step)}: {label}", set()).add(step.line)
    return {kind: tuple(sorted(lines)) for kind, lines in kinds.items()}


def label_of(block: Block, step: Step, written: str, arrives_at: dict[int, str]) -> str:
    """What synchronization is for; nothing for what begins before all tiles (`bar.sync 0`) or is
    not about them."""
    name = step.text.split(",")[0].rstrip(";")
    if step.name.startswith("mbarrier.try_wait"):
        return f"wait for {block.channel_barrier(step)}"
    if step.name.startswith("mbarrier.arrive"):
        return f"arrive at {block.channel_barrier(step)}"
    if step.name.startswith("fence.proxy.async.shared"):
        return f"{name} behind {written}" if written else ""
    if step.name.startswith("bar.warp"):
        return f"{step.name} before {arrives_at[step.line]}" if step.line in arrives_at else ""
    if step.name.startswith(("wgmma.fence", "wgmma.commit")):
        return step.name
    if step.name.startswith(("bar", "wgmma.wait", "cp.async.bulk.wait")):
        return name if name != "bar.sync 0" else ""
    return ""


def show(found: dict[str, list[str]]) -> str:
    """What goes wrong, shortly: channels of bytes, by each reading if they differ."""
    texts = []
    for reading in READINGS:
        names = [name.removesuffix(", second") for name in found[reading]]
        texts.append(", ".join(dict.fromkeys(names)) or "nothing")
    return texts[0] if texts[0] == texts[1] else f"{texts[0]}; by {READINGS[1]}: {texts[1]}"


def by_readers(kinds: dict[str, tuple[int, ...]], channels: dict[str, str]) -> Change:
    """The fences of the writers of these tiles left out; a role that waits for a full slot fences
    instead."""
    writers = [
        line
        for channel in channels
        for line in kinds[f"consumer: {FENCE.rstrip(';')} behind {channel}"]
    ]
    waits = [
        line
        for channel, reader in channels.items()
        for line in kinds[f"{reader}: wait for {channel} full"]
    ]
    return Change(tuple(writers), behind=tuple(waits), added=FENCE)


def first_rows(block: Block) -> tuple[int, ...]:
    """Where each warpgroup loads the delta row of an item's first step: its prologue."""
    first: dict[int, int] = {}
    for _, step in block.steps:
        if step.name.startswith("ld") and not {"do row", "q_do other row"}.isdisjoint(
            block.touched(step)
        ):
            first.setdefault(step.thread, step.line)
    return tuple(first.values())


def main() -> int:
    ptx = Path(sys.argv[1])
    block = Block(
        trace(ptx, WALKS), channels_of(ptx.with_suffix(".mlir").read_text(encoding="utf-8"))
    )
    kinds, program = kinds_of(block), block.build()
    reads = {place.address: len(program.expected(place.address)) for place in block.names.values()}
    emitted = block.goes_wrong()
    print(
        f"{len(reads)} bytes of {len(block.channels)} channels, {sum(reads.values())} reads; as"
        f" emitted, wrong: {show(emitted)}"
    )
    if "--emitted" in sys.argv:
        return any(emitted.values())
    if "--steps" in sys.argv:
        print(f"{'left out':<56}goes wrong")
        harmless = []
        for kind, lines in sorted(kinds.items()):
            if any((found := block.goes_wrong(Change(lines))).values()):
                print(f"  {kind:<54}{show(found)}")
            else:
                harmless.append(kind)
        print("left out, nothing goes wrong with what is read\n  " + "\n  ".join(harmless))
    if "--executions" in sys.argv:
        for kind, lines in sorted(kinds.items()):
            if text := block.execution(Change(lines), READINGS[1]):
                print(f"  {kind}\n    {text}")
    print("fenced by the reader, not by the writer")
    readers = {"ds": "consumer", "dq": "reducer"}
    moved = by_readers(kinds, readers)
    ways = {
        "ds": by_readers(kinds, {"ds": "consumer"}),
        "dq": by_readers(kinds, {"dq": "reducer"}),
        "ds and dq": moved,
        "ds and dq, and once an item behind its first rows": replace(
            moved, behind=moved.behind + first_rows(block)
        ),
    }
    for what, change in ways.items():
        print(f"  {what:<52}{show(block.goes_wrong(change))}")
    return any(emitted.values())


if __name__ == "__main__":
    sys.exit(main())
