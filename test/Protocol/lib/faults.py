"""Faults of a kernel's protocol: each an edit of the IR in which waits and phases are explicit, for
any structure of warps."""

from __future__ import annotations

import re


def lines_of(ir: str, kind: str, number: int) -> range:
    """A role of a kind: producer, consumer or reducer."""
    lines = ir.splitlines()
    begin = [
        i for i, line in enumerate(lines) if re.match(rf'\s*dash\.role "[^"]*" {kind} ', line)
    ][number]
    indent = re.match(r"\s*", lines[begin])[0]
    return range(begin + 1, lines.index(indent + "}", begin))


def steady(ir: str, kind: str, number: int = 0) -> range:
    """The role's innermost loop: the steady state of a consumer."""
    lines, role = ir.splitlines(), lines_of(ir, kind, number)
    loops = [i for i in role if "scf.for" in lines[i] or "dash.walk" in lines[i]]
    begin = max(loops, key=lambda i: len(lines[i]) - len(lines[i].lstrip()))
    indent = re.match(r"\s*", lines[begin])[0]
    return range(
        begin + 1, next(i for i in role if i > begin and lines[i].startswith(indent + "}"))
    )


def pieces(ir: str, kind: str, number: int = 0) -> range:
    """Where the role has the pieces of an item's sums, behind the item's steps."""
    role = lines_of(ir, kind, number)
    return range(
        find(ir, role, r"dash\.piece" if kind == "consumer" else r"dash\.read_part"), role.stop
    )


def find(ir: str, where: range, pattern: str) -> int:
    lines = ir.splitlines()
    return next(i for i in where if re.search(pattern, lines[i]))


def edit(ir: str, at: int, *replacement: str) -> str:
    lines = ir.splitlines()
    return "\n".join([*lines[:at], *replacement, *lines[at + 1 :], ""])


def drop(kind: str, pattern: str, where=steady):
    return lambda ir: edit(ir, find(ir, where(ir, kind), pattern))


def replace(kind: str, pattern: str, new, where=steady):
    def apply(ir):
        at = find(ir, where(ir, kind), pattern)
        return edit(ir, at, re.sub(pattern, new, ir.splitlines()[at], count=1))

    return apply


def release_too_early(ir: str) -> str:
    """A loaded slot is released in front of the wait for the product that reads it, by the
    warpgroup that releases it last. By another one it would do no harm: it gives the tensor core on
    behind its wait, and only then the last can release."""
    lines, where = ir.splitlines(), steady(ir, "consumer", -1)
    loaded = set(re.findall(r"dash\.copy_in .* to (%\w+)\[", ir))
    at = next(
        i
        for i in where
        if "dash.wgmma_wait" in lines[i - 1]
        and (found := re.search(r"dash\.mbarrier_arrive (%\w+) empty\[", lines[i]))
        and found[1] in loaded
    )
    lines[at - 1], lines[at] = lines[at], lines[at - 1]
    return "\n".join([*lines, ""])


def other_parity(ir: str) -> str:
    at = find(ir, steady(ir, "consumer"), r"dash\.mbarrier_wait .* full\[")
    line = ir.splitlines()[at]
    phase = re.search(r"phase\((%\w+)\)", line)[1]
    return edit(
        ir,
        at,
        "%one_f = arith.constant 1 : index",
        f"%other_f = arith.subi %one_f, {phase} : index",
        line.replace(f"phase({phase})", "phase(%other_f)"),
    )


def fewer_slots(channel: str):
    def apply(ir):
        at = find(ir, range(len(ir.splitlines())), rf'dash\.channel "{channel}" depth\(')
        return edit(
            ir,
            at,
            re.sub(
                r"depth\((\d+)\)", lambda found: f"depth({int(found[1]) - 1})", ir.splitlines()[at]
            ),
        )

    return apply


def zero_for(pattern: str, number: str, where=steady):
    """A number of the reducer's op is always 0."""

    def apply(ir):
        at = find(ir, where(ir, "reducer"), pattern)
        return edit(
            ir,
            at,
            "%zero_f = arith.constant 0 : index",
            re.sub(number, r"\1%zero_f", ir.splitlines()[at], count=1),
        )

    return apply


WAIT = r"nvvm\.cp\.async\.bulk\.wait_group 0(?! \{read\})"

FAULTS = {
    "a release in front of the wait for its product": release_too_early,
    "an arrival left out": drop("consumer", r"dash\.mbarrier_arrive .* full\["),
    "a parity off by one": other_parity,
    "one slot of dS too few": fewer_slots("ds"),
    "one slot of dQ too few": fewer_slots("dq"),
    "the turn given after `.read`": drop("reducer", WAIT),
    "the ring's wait left out": drop("producer", r"dash\.mbarrier_wait .* empty\["),
    "a turn that is not waited for": drop("reducer", r"dash\.acquire_turn"),
    "the last turn not marked": zero_for(r"dash\.release_turn", r"(last\()%[\w#]+"),
    "an add in a chain's first turn": replace("reducer", r"arith\.cmpi eq", "arith.cmpi ne"),
    "the tensor core not given on": drop("consumer", r"dash\.give_tensor_core"),
    "a copy left out": drop("producer", r"dash\.copy_in"),
}

# Behind an item's steps, of several parts.
PART_FAULTS = {
    "a piece is put without waiting for its slot": drop(
        "consumer", r"dash\.mbarrier_wait .* empty\[", pieces
    ),
    "a piece does not arrive": drop("consumer", r"dash\.mbarrier_arrive .* full\[", pieces),
    "a piece's slot is not released": drop("reducer", r"dash\.mbarrier_arrive .* empty\[", pieces),
    "a part's turn is not waited for": drop("reducer", r"dash\.acquire_turn", pieces),
    "a part's turn given after `.read`": drop("reducer", WAIT, pieces),
    "a part's turn is not given": drop("reducer", r"dash\.release_turn", pieces),
    "a part's last turn not marked": zero_for(r"dash\.release_turn", r"(last\()%[\w#]+", pieces),
    "an add in the first part's turn": replace(
        "reducer", r"arith\.cmpi eq(?=, %turn\b)", "arith.cmpi ne", pieces
    ),
    "an item's pieces are not all counted as uses": replace(
        "reducer",
        r"arith\.constant 4 : index",
        "arith.constant 3 : index",
        lambda ir, kind: lines_of(ir, kind, 0),
    ),
}
# For a list of sequences, whose first would be taken for all.
LIST_FAULTS = {
    "the turn of another sequence's tile": zero_for(r"dash\.acquire_turn", r"(\[)%sequence\w*"),
    "an add to another sequence's tile": zero_for(r"dash\.bulk_add", r"(into %\w+\[)%sequence\w*"),
    "another sequence's turn is given": zero_for(r"dash\.release_turn", r"(\[)%sequence\w*"),
}

# The same where only the plan stands: what --dash-check-resources looks at.
PLAN_FAULTS = {
    "an arrival left out": drop("consumer", r"dash\.commit"),
    "one slot of dS too few": fewer_slots("ds"),
    "one slot of dQ too few": fewer_slots("dq"),
    "the tensor core not given on": drop("consumer", r"dash\.give_tensor_core"),
}
