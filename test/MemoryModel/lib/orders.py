"""Orders of events: what holds in every execution, and what holds only if another event was
observed."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import z3

# A condition is True, False, or a formula over what reads observe.
Condition = "bool | z3.BoolRef"


def joined(make: Callable, terms: list[z3.BoolRef]) -> z3.BoolRef:
    """z3.And and z3.Or look at each term's sort and context first, which takes longer than the
    proofs themselves. Here all terms are formulas of one context."""
    context = terms[0].ctx
    array = (z3.Ast * len(terms))(*(term.ast for term in terms))
    return z3.BoolRef(make(context.ref(), len(terms), array), context)


def either(terms: Iterable[Condition]) -> Condition:
    kept = []
    for term in terms:
        if term is True:
            return True
        if term is not False:
            kept.append(term)
    return False if not kept else kept[0] if len(kept) == 1 else joined(z3.Z3_mk_or, kept)


def both(*terms: Condition) -> Condition:
    if any(term is False for term in terms):
        return False
    kept = [term for term in terms if term is not True]
    return True if not kept else kept[0] if len(kept) == 1 else joined(z3.Z3_mk_and, kept)


def negated(term: Condition) -> Condition:
    if isinstance(term, bool):
        return not term
    return z3.BoolRef(z3.Z3_mk_not(term.ctx_ref(), term.ast), term.ctx)


def implies(left: Condition, right: Condition) -> Condition:
    return either([negated(left), right])


def sorted_by(behind: list[list[int]]) -> list[int]:
    """Events so that what is behind comes later."""
    left = [0] * len(behind)
    for events in behind:
        for event in events:
            left[event] += 1
    ready, result = [event for event, count in enumerate(left) if not count], []
    while ready:
        result.append(ready.pop())
        for event in behind[result[-1]]:
            left[event] -= 1
            if not left[event]:
                ready.append(event)
    if len(result) < len(behind):
        raise ValueError("expected an order, found a cycle: a barrier's phases are mixed up")
    return result


class Order:
    """The transitive closure of edges, of which a few have a condition.

    Rows of bits hold what is always there. Ways over conditional edges are looked for only on
    demand.
    """

    def __init__(
        self,
        size: int,
        edges: Iterable[tuple[int, int]],
        conditional: Iterable[tuple[int, int, Condition]] = (),
    ):
        behind: list[list[int]] = [[] for _ in range(size)]
        for first, second in edges:
            behind[first].append(second)
        self.rows = [0] * size
        for event in reversed(sorted_by(behind)):
            for second in behind[event]:
                self.rows[event] |= 1 << second | self.rows[second]
        self.conditional = [edge for edge in conditional if edge[2] is not False]
        self.ways = self._ways()

    def always(self, first: int, second: int) -> bool:
        return bool(self.rows[first] >> second & 1)

    def _ways(self) -> list[list[Condition]]:
        """For each pair of conditional edges whether a way begins with one and ends with the
        other."""
        edges = self.conditional
        ways = [
            [
                (
                    both(edges[i][2], edges[j][2])
                    if self._same_or_before(edges[i][1], edges[j][0])
                    else False
                )
                for j in range(len(edges))
            ]
            for i in range(len(edges))
        ]
        for i, edge in enumerate(edges):
            ways[i][i] = edge[2]
        for middle in range(len(edges)):
            for i in range(len(edges)):
                if i == middle or ways[i][middle] is False:
                    continue
                for j in range(len(edges)):
                    if j not in (i, middle) and ways[middle][j] is not False:
                        ways[i][j] = either([ways[i][j], both(ways[i][middle], ways[middle][j])])
        return ways

    def _same_or_before(self, first: int, second: int) -> bool:
        return first == second or self.always(first, second)

    def before(self, first: int, second: int) -> Condition:
        if self.always(first, second):
            return True
        begins = [
            i for i, edge in enumerate(self.conditional) if self._same_or_before(first, edge[0])
        ]
        ends = [
            j for j, edge in enumerate(self.conditional) if self._same_or_before(edge[1], second)
        ]
        return either(self.ways[i][j] for i in begins for j in ends)
