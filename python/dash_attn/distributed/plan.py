"""A proven plan of libdash: which rank computes which leaves, what travels in which phase, and in
which order sums are added."""

from __future__ import annotations

import ctypes
import functools
import weakref
from typing import Any, NamedTuple

from ..errors import ArgumentError
from ..kernel.library import StringRef, make
from .capi import WIDTHS, CFacts, CFigures, functions, lines
from .problem import COMPARED, KINDS, Leaf, Leaves, Problem

FORWARD, BACKWARD = 0, 1
PHASES = (("inputs", "relays", "outputs"), ("inputs", "relays", "sums", "gradients"))
OF_NODE = ("relays", "sums")  # phases between ranks of one node
# a message's tensors, in this order
Q, DO, LSE, DELTA, K, V, O, DQ, SUMS, DK, DV = (1 << bit for bit in range(11))
SERVER, NODE, HOME = range(3)  # stages of folds


class Run(NamedTuple):
    """Leaves [first_leaf, end_leaf) of a kv head."""

    rank: int
    document: int
    head: int
    first_leaf: int
    end_leaf: int


class Message(NamedTuple):
    """Rows [first, end) of kv heads [head, head + heads); offsets and bytes of the buffers of
    the sender and the receiver."""

    sender: int
    receiver: int
    what: int
    document: int
    head: int
    heads: int
    first: int
    end: int
    level: int
    index: int
    send_offset: int
    receive_offset: int
    bytes: int


class Fold(NamedTuple):
    """Rows [first, end) of a node of the tree become the sum of its two children."""

    stage: int
    rank: int
    document: int
    head: int
    heads: int
    level: int
    index: int
    first: int
    end: int


class Phase(NamedTuple):
    """An exchange, as one rank sees it. send, receive: bytes of its buffers; is_idle: no rank sends
    anything, in the whole world or, of a phase of nodes, in the rank's node."""

    name: str
    of_node: bool
    sent: list[Message]
    received: list[Message]
    send: int
    receive: int
    is_idle: bool


def figures_of(found: CFigures) -> dict[str, float]:
    return {name: getattr(found, name) for name, _ in CFigures._fields_}


class Plan:
    """Equal problems, kinds and seeds give equal plans, on every machine. Raises ArgumentError
    where there is none."""

    def __init__(self, problem: Problem, kind: str = "heads-first", seed: int = 0) -> None:
        if kind in COMPARED:
            raise ArgumentError(
                f"kind: expected one of {', '.join(KINDS)}, found '{kind}': it is there to be"
                " compared with, and adds sums in an order that follows from where they are, so it"
                " is not level world"
            )
        if kind not in KINDS:
            raise ArgumentError(f"kind: expected one of {', '.join(KINDS)}, found {kind!r}")
        if type(seed) is not int or not 0 <= seed < 2**64:
            raise ArgumentError(f"seed: expected a whole number from 0 to 2^64 - 1, found {seed!r}")
        self.problem, self.leaves, self.kind, self.seed = problem, Leaves(problem), kind, seed
        word = kind.encode()
        self._handle = make(
            functions().dashWorldPlan, self.leaves._handle, StringRef.of(word), seed
        )
        weakref.finalize(self, functions().dashWorldPlanDestroy, self._handle).atexit = False
        self._phases: dict[tuple[int, int, int], Phase] = {}
        self._runs: dict[int, list[Run]] = {}
        self._folds: dict[int, list[Fold]] = {}

    @property
    def facts(self) -> dict[str, Any]:
        """Counts, bytes of buffers and of what is kept, each on the fullest rank, and what is
        predicted of each pass, in seconds."""
        found = CFacts()
        functions().dashWorldPlanGetFacts(self._handle, ctypes.byref(found))
        return {
            "runs": found.num_runs,
            "folds": found.num_folds,
            "memory": found.memory,
            "kept": found.kept,
            "forward": figures_of(found.forward),
            "backward": figures_of(found.backward),
        }

    def report(self, form: str) -> str:
        """`form`: "table", "json", "svg" or "trace", as `dash-plan --world` writes them."""
        text = functions().dashWorldPlanGetReport(self._handle, StringRef.of(form.encode())).text
        if not text:
            raise ArgumentError(f"report: expected one of table, json, svg, trace, found {form!r}")
        return text

    def _lines(self, what: str, *where: int) -> list[tuple[int, ...]]:
        return lines(
            getattr(functions(), f"dashWorldPlanGet{what}"), WIDTHS[what], self._handle, *where
        )

    def runs(self, rank: int = -1) -> list[Run]:
        """rank: -1 for all."""
        if rank not in self._runs:
            self._runs[rank] = [Run(*line) for line in self._lines("Runs", rank)]
        return self._runs[rank]

    @functools.cached_property
    def kept(self) -> frozenset[tuple[int, int]]:
        """Documents and kv heads whose inputs stay with their servers from forward to backward."""
        return frozenset(
            (document, head)
            for document, first, heads in self._lines("Kept")
            for head in range(first, first + heads)
        )

    def folds(self, rank: int = -1) -> list[Fold]:
        """In the order in which they have to be done."""
        if rank not in self._folds:
            self._folds[rank] = [Fold(*line) for line in self._lines("Folds", rank)]
        return self._folds[rank]

    def messages(self, of_pass: int, phase: int, rank: int = -1) -> list[Message]:
        """Those that a rank sends or receives; of all ranks with -1."""
        return [Message(*line) for line in self._lines("Messages", of_pass, phase, rank)]

    def buffers(self, of_pass: int, phase: int) -> list[tuple[int, int]]:
        """Bytes that each rank sends, and that it receives."""
        return self._lines("Buffers", of_pass, phase, -1)  # type: ignore[return-value]

    def phase(self, of_pass: int, name: str, rank: int) -> Phase:
        number = PHASES[of_pass].index(name)
        key = (of_pass, number, rank)
        if key not in self._phases:
            every, buffers = self.messages(of_pass, number, rank), self.buffers(of_pass, number)
            of_node, node = name in OF_NODE, self.problem.node_of(rank)
            is_idle = not any(
                sent
                for other, (sent, _) in enumerate(buffers)
                if not of_node or self.problem.node_of(other) == node
            )
            self._phases[key] = Phase(
                name,
                of_node,
                [one for one in every if one.sender == rank],
                sorted(
                    (one for one in every if one.receiver == rank),
                    key=lambda one: one.receive_offset,
                ),
                *buffers[rank],
                is_idle,
            )
        return self._phases[key]

    def leaves_of(self, run: Run) -> list[Leaf]:
        return [
            self.leaves.leaf(run.document, run.head, number)
            for number in range(run.first_leaf, run.end_leaf)
        ]
