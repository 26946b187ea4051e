# RUN: %python %s | FileCheck %s
# RUN: %python %s --axioms | FileCheck %s --check-prefix=AXIOMS
# RUN: %python %s --rules | FileCheck %s --check-prefix=RULES
# REQUIRES: python, z3
"""Litmus tests: what the axioms allow and forbid, against what the ISA and the papers say of them.

With --axioms each axiom is left out in turn. Two decide nothing by themselves: an order of fences
that contradicts causality only adds to it, and where morally strong writes are in a total order,
causality and coherence have what is asked of one location. With --rules the axioms are printed, and
the rules of asynchronous operations with the sentences that they come from.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent / "lib"), str(Path(__file__).parents[1] / "Main")]

import z3  # noqa: E402

from asynchronous import RULES  # noqa: E402
from events import Program  # noqa: E402
from model import AXIOMS, Model, Rules  # noqa: E402
from threads import Thread  # noqa: E402

# CHECK: {{[0-9]+}} litmus tests, 0 come out otherwise than their source says
# AXIOMS:      without coherence: 'two writes in causality order' is allowed
# AXIOMS-NEXT: without fence-sc: nothing comes out otherwise
# AXIOMS-NEXT: without atomicity: 'two increments' is allowed
# AXIOMS-NEXT: without no thin air: 'load buffering, dependent' is allowed
# AXIOMS-NEXT: without location: nothing comes out otherwise
# AXIOMS-NEXT: without causality: 'message passing' is allowed

# RULES: axioms
# RULES: coherence (8.10.1):
# RULES: rules of asynchronous operations, ours
# RULES: complete-tx (9.7.10.28.4.1):
# RULES-NEXT: "the complete-tx operation on the mbarrier

ISA, PTX19, MIXED, OURS = "ISA", "ASPLOS 2019", "ISCA 2022", "ours"


@dataclass
class Litmus:
    """Threads, named THREAD@BLOCK, and an outcome over registers and final values, such as `r0 == 1
    and x == 0`."""

    name: str
    source: str
    threads: dict[str, str]
    outcome: str
    is_allowed: bool
    initial: dict[str, int] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)

    def execution(self, rules: Rules, without: str = ""):
        program = Program(initial=self.initial, places=self.places)
        registers: dict[str, object] = {}
        for name, code in self.threads.items():
            thread = Thread(program, *name.split("@"))
            for line in code.split(";"):
                if line.strip():
                    thread.run(line)
            registers |= thread.registers
        model = Model(program, rules, without)
        finals = {
            event.place: model.final(event.place)
            for event in model.writes
            if event.place.isidentifier() and event.place in self.outcome.split()
        }
        terms = [
            registers.get(left, finals.get(left)) == int(right)
            for left, right in (term.split(" == ") for term in self.outcome.split(" and "))
        ]
        return model.allows(z3.And(terms))


MP = (
    "st.weak [data], 1; {0} st.relaxed.sys [flag], 1;",
    "ld.relaxed.sys r0, [flag]; {0} ld.weak r1, [data];",
)
STALE = "r0 == 1 and r1 == 0"


def message(
    write: str, left: str, right: str, read: str, blocks: str = "AB", scope: str = "gpu"
) -> dict[str, str]:
    """Message passing by release and acquire, with something between data and flag."""
    return {
        f"T1@{blocks[0]}": f"{write}; {left}; st.release.{scope} [flag], 1",
        f"T2@{blocks[1]}": f"ld.acquire.{scope} r0, [flag]; {right}; {read}",
    }


STORE, LOAD = "st.weak [data], 1", "ld.weak r1, [data]"
CONSTANT, SURFACE, TEXTURE = "fence.proxy.constant", "fence.proxy.surface", "fence.proxy.texture"
ASYNC, COMMIT = "fence.proxy.async", "cp.async.bulk.commit_group"
COPY_OUT = "cp.async.bulk.global.shared::cta.bulk_group [data], [one], 16; " + COMMIT
COPY_IN = "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [tile], [data], 16, [full]"
ADD = (
    "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [data], [one], 16; "
    + COMMIT
    + "; cp.async.bulk.wait_group 0"
)
TICKETS = {
    "T1@A": "atom.relaxed.gpu.global.inc.u32 r0, [x], 1",
    "T2@B": "atom.relaxed.gpu.global.inc.u32 r1, [x], 1",
}

TESTS = [
    # 8.10 and 8.11 of the ISA.
    Litmus(
        "two increments",
        ISA,
        {"T1@A": "atom.sys.add r0, [x], 1", "T2@B": "atom.sys.add r1, [x], 1"},
        "x == 1",
        False,
    ),
    Litmus(
        "two increments, a scope too small",
        ISA,
        {"T1@A": "atom.cta.add r0, [x], 1", "T2@B": "atom.gpu.add r1, [x], 1"},
        "x == 1",
        True,
    ),
    Litmus(
        "load buffering",
        ISA,
        {"T1@A": "ld.weak r0, [x]; st.weak [y], 1", "T2@B": "ld.weak r1, [y]; st.weak [x], 1"},
        "r0 == 1 and r1 == 1",
        True,
    ),
    Litmus(
        "load buffering, dependent",
        ISA,
        {"T1@A": "ld.weak r0, [x]; st.weak [y], r0", "T2@B": "ld.weak r1, [y]; st.weak [x], r1"},
        "r0 == 7 and r1 == 7",
        False,
    ),
    Litmus(
        "coherent reads",
        ISA,
        {"T1@A": "st.relaxed.sys [x], 1", "T2@B": "ld.relaxed.sys r0, [x]; ld.relaxed.sys r1, [x]"},
        STALE,
        False,
    ),
    Litmus(
        "message passing",
        ISA,
        {"T1@A": MP[0].format("fence.sys;"), "T2@B": MP[1].format("fence.sys;")},
        STALE,
        False,
    ),
    Litmus(
        "message passing, no fences",
        ISA,
        {"T1@A": MP[0].format(""), "T2@B": MP[1].format("")},
        STALE,
        True,
    ),
    Litmus(
        "aliases",
        ISA,
        {"T1@A": "st.weak [x1], 1; fence.proxy.alias; ld.weak r1, [x2]"},
        "r1 == 0",
        False,
        places={"x1": "x", "x2": "x"},
    ),
    Litmus(
        "aliases, no fence",
        ISA,
        {"T1@A": "st.weak [x1], 1; ld.weak r1, [x2]"},
        "r1 == 0",
        True,
        places={"x1": "x", "x2": "x"},
    ),
    Litmus(
        "store buffering, fence.sc",
        ISA,
        {
            "T1@A": "st.weak [x], 1; fence.sc.sys; ld.weak r0, [y]",
            "T2@B": "st.weak [y], 1; fence.sc.sys; ld.weak r1, [x]",
        },
        "r0 == 0 and r1 == 0",
        False,
    ),
    Litmus(
        "store buffering, fence.acq_rel",
        ISA,
        {
            "T1@A": "st.weak [x], 1; fence.acq_rel.sys; ld.weak r0, [y]",
            "T2@B": "st.weak [y], 1; fence.acq_rel.sys; ld.weak r1, [x]",
        },
        "r0 == 0 and r1 == 0",
        True,
    ),
    Litmus(
        "message passing, red reads the flag",
        ISA,
        {
            "T1@A": "st.weak [x], 42; st.release.gpu [flag], 1",
            "T2@B": "red.gpu.add [flag], 1; fence.acquire.gpu; ld.weak r1, [x]",
        },
        "r1 == 0 and flag == 2",
        True,
    ),
    Litmus(
        "message passing, atom reads the flag",
        ISA,
        {
            "T1@A": "st.weak [x], 42; st.release.gpu [flag], 1",
            "T2@B": "atom.gpu.add r0, [flag], 1; fence.acquire.gpu; ld.weak r1, [x]",
        },
        "r0 == 1 and r1 == 0 and flag == 2",
        False,
    ),
    # Scopes, and more than two threads.
    Litmus("release and acquire, gpu", PTX19, message(STORE, "", "", LOAD), STALE, False),
    Litmus(
        "release and acquire, cta, one block",
        PTX19,
        message(STORE, "", "", LOAD, "AA", "cta"),
        STALE,
        False,
    ),
    Litmus(
        "release and acquire, cta, two blocks",
        PTX19,
        message(STORE, "", "", LOAD, "AB", "cta"),
        STALE,
        True,
    ),
    Litmus(
        "write behind a release",
        PTX19,
        {
            "T1@A": "st.weak [y], 1; st.release.sys [x], 1; st.relaxed.sys [x], 2",
            "T2@B": "ld.relaxed.sys r0, [x]; fence.acq_rel.sys; ld.weak r1, [y]",
        },
        "r0 == 2 and r1 == 0",
        False,
    ),
    Litmus(
        "passed on by a third (ISA2)",
        PTX19,
        {
            "T1@A": "st.weak [x], 1; st.release.gpu [y], 1",
            "T2@B": "ld.acquire.gpu r0, [y]; st.release.gpu [z], 1",
            "T3@C": "ld.acquire.gpu r1, [z]; ld.weak r2, [x]",
        },
        "r0 == 1 and r1 == 1 and r2 == 0",
        False,
    ),
    Litmus(
        "release through read-modify-writes",
        PTX19,
        {
            "T1@A": "st.weak [x], 1; red.release.gpu.add [f], 1",
            "T2@B": "red.relaxed.gpu.add [f], 1",
            "T3@C": "ld.acquire.gpu r0, [f]; ld.weak r1, [x]",
        },
        "r0 == 2 and r1 == 0",
        False,
    ),
    Litmus(
        "independent reads (IRIW), acquire",
        PTX19,
        {
            "T1@A": "st.relaxed.gpu [x], 1",
            "T2@B": "st.relaxed.gpu [y], 1",
            "T3@C": "ld.acquire.gpu r0, [x]; ld.acquire.gpu r1, [y]",
            "T4@D": "ld.acquire.gpu r2, [y]; ld.acquire.gpu r3, [x]",
        },
        "r0 == 1 and r1 == 0 and r2 == 1 and r3 == 0",
        True,
    ),
    Litmus(
        "independent reads (IRIW), fence.sc",
        PTX19,
        {
            "T1@A": "st.relaxed.gpu [x], 1",
            "T2@B": "st.relaxed.gpu [y], 1",
            "T3@C": "ld.relaxed.gpu r0, [x]; fence.sc.gpu; ld.relaxed.gpu r1, [y]",
            "T4@D": "ld.relaxed.gpu r2, [y]; fence.sc.gpu; ld.relaxed.gpu r3, [x]",
        },
        "r0 == 1 and r1 == 0 and r2 == 1 and r3 == 0",
        False,
    ),
    Litmus(
        "store buffering, read-modify-writes",
        PTX19,
        {
            "T1@A": "atom.acq_rel.gpu.add r0, [x], 1; atom.acq_rel.gpu.add r1, [y], 1",
            "T2@B": "atom.acq_rel.gpu.add r2, [y], 1; atom.acq_rel.gpu.add r3, [x], 1",
        },
        "r1 == 0 and r3 == 0",
        False,
    ),
    Litmus(
        "two writes in causality order",
        PTX19,
        {
            "T1@A": "st.weak [x], 1; st.release.gpu [f], 1",
            "T2@B": "ld.acquire.gpu r0, [f]; st.weak [x], 2",
        },
        "r0 == 1 and x == 1",
        False,
    ),
    # Proxies.
    Litmus(
        "constant, one thread",
        MIXED,
        {"T1@A": f"st.weak [x], 1; {CONSTANT}; ld.const r0, [x]"},
        "r0 == 0",
        False,
    ),
    Litmus(
        "constant, one thread, no fence",
        MIXED,
        {"T1@A": "st.weak [x], 1; ld.const r0, [x]"},
        "r0 == 0",
        True,
    ),
    Litmus(
        "constant, fence by the reader",
        MIXED,
        message(STORE, "", CONSTANT, "ld.const r1, [data]"),
        STALE,
        False,
    ),
    Litmus(
        "constant, fence by the writer",
        MIXED,
        message(STORE, CONSTANT, "", "ld.const r1, [data]"),
        STALE,
        True,
    ),
    Litmus(
        "constant, fence by the writer, one block",
        MIXED,
        message(STORE, CONSTANT, "", "ld.const r1, [data]", "AA"),
        STALE,
        False,
    ),
    Litmus(
        "surface write, fence by the writer",
        MIXED,
        message("sust [data], 1", SURFACE, "", LOAD),
        STALE,
        False,
    ),
    Litmus(
        "surface write, fence by the reader",
        MIXED,
        message("sust [data], 1", "", SURFACE, LOAD),
        STALE,
        True,
    ),
    Litmus(
        "surface to surface, two blocks, no fence",
        MIXED,
        message("sust [data], 1", "", "", "suld r1, [data]"),
        STALE,
        True,
    ),
    Litmus(
        "surface to surface, one block, no fence",
        MIXED,
        message("sust [data], 1", "", "", "suld r1, [data]", "AA"),
        STALE,
        False,
    ),
    Litmus(
        "surface to texture, both fences",
        MIXED,
        message("sust [data], 1", SURFACE, TEXTURE, "tld r1, [data]"),
        STALE,
        False,
    ),
    Litmus(
        "surface to texture, fences swapped",
        MIXED,
        message("sust [data], 1", TEXTURE, SURFACE, "tld r1, [data]"),
        STALE,
        True,
    ),
    # The async proxy.
    Litmus(
        "copy out, full wait",
        OURS,
        message(f"{COPY_OUT}; cp.async.bulk.wait_group 0", "", "", LOAD),
        STALE,
        False,
        {"one": 1},
    ),
    Litmus(
        "copy out, wait for the reads",
        OURS,
        message(f"{COPY_OUT}; cp.async.bulk.wait_group.read 0", "", "", LOAD),
        STALE,
        True,
        {"one": 1},
    ),
    Litmus(
        "copy out, a group still pending",
        OURS,
        message(f"{COPY_OUT}; cp.async.bulk.wait_group 1", "", "", LOAD),
        STALE,
        True,
        {"one": 1},
    ),
    Litmus(
        "source stored to behind wait_group.read",
        OURS,
        {"T1@A": f"{COPY_OUT}; cp.async.bulk.wait_group.read 0; st.weak [one], 5"},
        "data == 5",
        False,
        {"one": 1},
    ),
    Litmus(
        "source stored to, no wait",
        OURS,
        {"T1@A": f"{COPY_OUT}; st.weak [one], 5"},
        "data == 5",
        True,
        {"one": 1},
    ),
    Litmus(
        "stored, fence, copied",
        OURS,
        {"T1@A": f"st.weak [one], 5; {ASYNC}; {COPY_OUT}"},
        "data == 0",
        False,
    ),
    Litmus("stored, copied", OURS, {"T1@A": f"st.weak [one], 5; {COPY_OUT}"}, "data == 0", True),
    Litmus(
        "stored, fence of another space, copied",
        OURS,
        {"T1@A": f"st.weak [one], 5; {ASYNC}.shared::cta; {COPY_OUT}"},
        "data == 0",
        True,
    ),
    Litmus(
        "add behind an add, two blocks",
        OURS,
        message(ADD, ASYNC, ASYNC, ADD),
        "r0 == 1 and data == 1",
        False,
        {"one": 1},
    ),
    Litmus(
        "copy in, waited for",
        OURS,
        {"T1@A": f"{COPY_IN}; mbarrier.try_wait.parity p, [full], 0; ld.weak r0, [tile]"},
        "r0 == 0",
        False,
        {"data": 1},
    ),
    Litmus(
        "copy in, not waited for",
        OURS,
        {"T1@A": f"{COPY_IN}; ld.weak r0, [tile]"},
        "r0 == 0",
        True,
        {"data": 1},
    ),
    Litmus(
        "a complete-tx passes nothing else on",
        OURS,
        {
            "T1@A": f"st.weak [y], 1; {COPY_IN}",
            "T2@A": "mbarrier.try_wait.parity p, [full], 0; ld.weak r0, [y]",
        },
        "r0 == 0",
        True,
    ),
    # Workers draw their indices: each once, and the word is as it was.
    Litmus("two tickets", OURS, TICKETS, "r0 == 1 and r1 == 0", True),
    Litmus("two tickets, both the first", OURS, TICKETS, "r0 == 0 and r1 == 0", False),
    Litmus("two tickets, both the last", OURS, TICKETS, "r0 == 1 and r1 == 1", False),
    Litmus("two tickets, and none is left", OURS, TICKETS, "x == 1", False),
    Litmus(
        "two tickets by a load and a store",
        OURS,
        {
            name: "ld.relaxed.gpu r, [x]; st.relaxed.gpu [x], 1".replace("r,", f"r{i},")
            for i, name in enumerate(TICKETS)
        },
        "r0 == 0 and r1 == 0",
        True,
    ),
    Litmus(
        "an arrival passes it on",
        OURS,
        {
            "T1@A": f"st.weak [y], 1; mbarrier.arrive.expect_tx s, [full], 16; {COPY_IN}",
            "T2@A": "mbarrier.try_wait.parity p, [full], 0; ld.weak r0, [y]",
        },
        "r0 == 0",
        False,
    ),
]


def decided_by(axiom: str) -> str:
    for test in TESTS:
        if not test.is_allowed and test.execution(Rules(), axiom) is not None:
            return f"'{test.name}' is allowed"
    return "nothing comes out otherwise"


def print_rules() -> None:
    print("axioms of the ISA")
    for axiom, (section, meaning) in AXIOMS.items():
        print(f"  {axiom} ({section}): {meaning}")
    print(
        "rules of asynchronous operations, ours, and the ISA's sentences that they are taken from"
    )
    for rule, (section, quote, meaning) in RULES.items():
        print(f'  {rule} ({section}): {meaning}\n    "{quote}"')


def main() -> int:
    if "--rules" in sys.argv:
        print_rules()
        return 0
    if "--axioms" in sys.argv:
        for axiom, (section, _) in AXIOMS.items():
            print(f"without {axiom}: {decided_by(axiom)} ({section})")
        return 0
    wrong = 0
    print(f"{'litmus test':<44}{'source':<14}outcome")
    for test in TESTS:
        allowed = test.execution(Rules()) is not None
        wrong += allowed != test.is_allowed
        verdict = "allowed" if allowed else "forbidden"
        print(
            f"{test.name:<44}{test.source:<14}{verdict:<10} {test.outcome}"
            + (", UNEXPECTED" if allowed != test.is_allowed else "")
        )
    print(f"{len(TESTS)} litmus tests, {wrong} come out otherwise than their source says")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
