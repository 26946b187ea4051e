"""Bulk copies, bulk reductions and matrix products: events that a thread starts, and that are not
in its program order.

The memory consistency chapter leaves them to the descriptions of the instructions (8.9.1.1). The
rules here are ours, each taken from the sentence that `RULES` quotes; sections are those of PTX ISA
9.4 (older versions number section 9.7 otherwise).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import z3

from events import Place

RULES = {
    "start": (
        "8.9.1.1",
        (
            "asynchronous operations are ordered after prior instructions in the same thread"
            " (except in the case of wgmma.mma_async)"
        ),
        "what is before the instruction is before the reads and writes that it starts",
    ),
    "own": (
        "8.9.1.1",
        (
            "ordered only with respect to the memory operations performed by the same asynchronous"
            " instruction"
        ),
        (
            "a complete-tx passes on the copy's own reads and writes, and nothing of the thread"
            " that started it"
        ),
    ),
    "complete-tx": (
        "9.7.10.28.4.1",
        "the complete-tx operation on the mbarrier has .release semantics at the .cluster scope",
        "a copy's writes are before each wait for the phase that they complete",
    ),
    "wait": (
        "9.7.10.28.6.2",
        (
            "wait until completion of all the bulk async operations […] Writes being made visible"
            " to the executing thread"
        ),
        "reads and writes of a group are before a `wait_group` that covers it",
    ),
    "wait read": (
        "9.7.10.28.6.2",
        "completed […] the reading from their source locations",
        (
            "reads of a group, and no writes, are before a `wait_group.read`, and a store behind it"
            " comes later in any proxy"
        ),
    ),
    "fence": (
        "9.7.10.28.2, 9.7.17.4",
        "completion […] is followed by an implicit generic-async proxy fence",
        "a proxy fence stands between reads and writes and what waits for their completion",
    ),
    "reduce": (
        "9.7.10.28.4.2",
        "element-wise atomic at the specified scope. Source location accesses are .weak",
        (
            "an element of a bulk reduction is a relaxed read-modify-write in the async proxy;"
            " other accesses of copies are weak"
        ),
    ),
    "product": (
        "9.7.17.7.1",
        (
            "establishes an ordering between prior accesses to any warpgroup registers and"
            " subsequent accesses to the same registers by a wgmma.mma_async instruction"
        ),
        "a product reads shared memory, too, behind the last `wgmma.fence` before it",
    ),
    "product wait": (
        "9.7.17.7.3",
        "wait until […] all the prior wgmma-groups committed by the executing threads are complete",
        "reads of a product are before a `wgmma.wait_group` that covers it",
    ),
    "tensormap": (
        "9.7.10.28.5",
        "The tensorMap is accessed in tensormap proxy",
        "a tensor copy reads its descriptor in that proxy",
    ),
}


@dataclass
class Group:
    """What is waited for together: reads are numbers of events, `done` follows reads and writes."""

    reads: list[int] = field(default_factory=list)
    done: list[int] = field(default_factory=list)
    places: set[str] = field(default_factory=set)


class Asynchronous:
    """What a thread has under way."""

    def __init__(self, thread):
        self.thread = thread
        self.copies, self.products = [Group()], [Group()]  # the last one is open
        self.registers_ordered = None

    def event(self, text: str, kind: str, place, begin: int | None, **fields):
        """One access. "start": everything up to the point `begin` of the thread is before it."""
        event = self.thread.access(
            text, kind, place, is_asynchronous=True, **({"proxy": "async"} | fields)
        )
        if kind == "read":
            event.value = z3.Int(f"read{event.number}")
        if begin is not None:
            self.thread.program.started.append((begin, event.number))
        return event

    def before(self, firsts, second) -> None:
        self.thread.program.order += [(first.number, second.number) for first in firsts]

    def complete(self, text: str, accesses) -> int:
        """ "fence": an implicit proxy fence behind the accesses."""
        fence = self.thread.add(
            text + " (completes)", "proxy fence", proxy="async", is_asynchronous=True
        )
        self.before(accesses, fence)
        return fence.number

    # ---- Copies.

    def copy(self, text, parts, operands, places_of, key) -> None:
        if parts[-1] == "commit_group":
            self.copies.append(Group())
        elif "wait_group" in parts:
            self.wait(self.copies, text, int(operands[0]), "read" in parts)
        else:
            self.start_copy(text, parts, operands, places_of, key)

    def start_copy(self, text, parts, operands, places_of, key) -> None:
        begin = self.thread.add(text, "point").number
        inwards = "mbarrier::complete_tx::bytes" in text
        # A tensor on one side is a descriptor and coordinates.
        tensor = (
            next((operand for operand in operands if "{" in operand), None)
            if "tensor" in parts
            else None
        )
        data = [Place(f"tensor of {places_of(tensor)[0].address}")] if tensor else []
        sources = data if operands[1] is tensor else places_of(operands[1])
        destinations = data if operands[0] is tensor else places_of(operands[0])
        accesses = (
            [self.event(text, "read", places_of(tensor)[0], begin, proxy="tensormap")]
            if tensor
            else []
        )
        reads = [self.event(text, "read", place, begin) for place in sources]
        accesses += reads
        for i, place in enumerate(destinations):
            source = reads[min(i, len(reads) - 1)]
            if parts[1] == "reduce":  # "reduce"
                old = self.event(text, "read", place, begin, strong=True, scope="gpu")
                write = self.event(
                    text,
                    "write",
                    place,
                    begin,
                    strong=True,
                    scope="gpu",
                    value=old.value + source.value,
                )
                self.thread.program.atomic[old.number] = write.number
                accesses.append(old)
            else:
                write = self.event(text, "write", place, begin, value=source.value)
            earlier = [event for event in accesses if event.kind == "read"]
            self.before(earlier, write)
            self.thread.program.depends += [(read.number, write.number) for read in earlier]
            accesses.append(write)
        done = self.complete(text, accesses)
        # "complete-tx", "own": `started` edges are not passed on, so only this copy's accesses are
        # before the wait.
        if inwards:
            release = self.thread.add(
                text + " (complete-tx)",
                "point",
                is_asynchronous=True,
                scope="cluster",
                releases=True,
            )
            self.thread.program.order.append((done, release.number))
            self.thread.program.meet(key or (self.thread.block, operands[-1]), release, "gives")
        else:
            # What is added to is read as well, but is no source.
            self.copies[-1].reads += [
                event.number for event in accesses if event.kind == "read" and not event.strong
            ]
            self.copies[-1].done.append(done)

    def wait(self, groups: list[Group], text: str, pending: int, only_reads: bool) -> None:
        covered = groups[: len(groups) - 1 - pending]
        if only_reads:  # "wait read"
            fence = self.thread.add(text, "proxy fence", proxy="async", is_asynchronous=True)
            self.thread.program.order += [
                (read, fence.number) for group in covered for read in group.reads
            ]
            ends = [fence.number]
        else:  # "wait", "product wait"
            ends = [done for group in covered for done in group.done]
        event = self.thread.add(text, "point")
        self.thread.program.order += [(end, event.number) for end in ends]
        if not only_reads:
            del groups[: len(covered)]

    # ---- Products.

    def multiply(self, text, parts, operands, places_of, _) -> None:
        if parts[1] == "fence":
            self.registers_ordered = self.thread.add(text, "point").number
        elif parts[1] == "commit_group":
            self.products.append(Group())
        elif parts[1] == "wait_group":
            self.wait(self.products, text, int(operands[0]), only_reads=False)
        else:  # "product"
            places = [
                place
                for place in places_of("descriptors")
                if place.address not in self.products[-1].places
            ]
            if places:  # one read stands for those of a group
                reads = [
                    self.event(text, "read", place, self.registers_ordered) for place in places
                ]
                self.products[-1].places |= {place.address for place in places}
                self.products[-1].done.append(self.complete(text, reads))
