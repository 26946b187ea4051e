"""What a world's plan must be, written from dialects/dash/docs/world.md, row by row; and libdash's
C API of worlds."""

from __future__ import annotations

import ctypes
import math
import os
from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np

Q, DO, LSE, DELTA, K, V, O, DQ, SUMS, DK, DV = (1 << bit for bit in range(11))
PHASES = (("inputs", "relays", "outputs"), ("inputs", "relays", "sums", "gradients"))
CUTS = {0: (64, 1 << 18, 64), 1: (512, 1 << 32, 8192)}  # step, area, least


class StringRef(ctypes.Structure):
    _fields_ = [("data", ctypes.c_char_p), ("length", ctypes.c_size_t)]

    @classmethod
    def of(cls, text: str) -> StringRef:
        return cls(text.encode(), len(text.encode()))

    def text(self) -> str:
        return ctypes.string_at(self.data, self.length).decode()


class Handle(ctypes.Structure):
    _fields_ = [("ptr", ctypes.c_void_p)]


class Diagnostic(ctypes.Structure):
    _fields_ = [
        ("severity", ctypes.c_int),
        ("message", StringRef),
        ("file", StringRef),
        ("line", ctypes.c_uint32),
        ("column", ctypes.c_uint32),
    ]


Handler = ctypes.CFUNCTYPE(None, ctypes.POINTER(Diagnostic), ctypes.c_void_p)
Numbers = ctypes.POINTER(ctypes.c_int64)


class CProblem(ctypes.Structure):
    _fields_ = [
        ("documents", Numbers),
        ("numDocuments", ctypes.c_size_t),
        ("heads", ctypes.c_int64),
        ("kvHeads", ctypes.c_int64),
        ("headDim", ctypes.c_int64),
        ("element", StringRef),
        ("causal", ctypes.c_int32),
        ("kept", ctypes.c_int64),
        ("cut", ctypes.c_int64),
        ("ranks", ctypes.c_int64),
        ("ranksPerNode", ctypes.c_int64),
        ("homes", Numbers),
        ("numHomes", ctypes.c_size_t),
        ("speeds", Numbers),
        ("numSpeeds", ctypes.c_size_t),
        ("memory", ctypes.c_int64),
        ("nvlink", ctypes.c_double),
        ("network", ctypes.c_double),
    ]


class Figures(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_double)
        for name in ("layer", "compute", "exchange", "hidden", "balance", "even", "uncut", "bound")
    ]


class Facts(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_int64)
        for name in (
            "numRuns",
            "numFolds",
            "numForwardPhases",
            "numBackwardPhases",
            "memory",
            "kept",
        )
    ] + [("forward", Figures), ("backward", Figures)]


library = ctypes.CDLL(os.environ["DASH_LIBRARY"])
for name in (
    "WorldGetLeaves",
    *(f"WorldPlanGet{what}" for what in ("Runs", "Kept", "Messages", "Buffers", "Folds")),
):
    getattr(library, f"dash{name}").restype = ctypes.c_size_t
for name in ("dashWorldGetCertificate", "dashWorldGetPhaseName", "dashWorldPlanGetReport"):
    getattr(library, name).restype = StringRef
for name in ("dashWorldDestroy", "dashWorldPlanDestroy", "dashWorldPlanGetFacts"):
    getattr(library, name).restype = None
library.dashGetStatusName.restype = ctypes.c_char_p


@dataclass
class Problem:
    documents: list[int]
    homes: list[tuple[int, int, int, int]]  # rank, document, first row, rows
    ranks: int = 1
    ranks_per_node: int = 8
    heads: int = 2
    kv_heads: int = 1
    head_dim: int = 128
    element: str = "bf16"
    causal: bool = True
    kept: int = 0  # bytes; -1: all
    cut: int = 0
    speeds: list[int] = field(default_factory=list)
    memory: int = 0

    def as_c(self) -> CProblem:
        def numbers(values):
            return (ctypes.c_int64 * max(1, len(values)))(*values)

        flat = [number for home in self.homes for number in home]
        return CProblem(
            numbers(self.documents),
            len(self.documents),
            self.heads,
            self.kv_heads,
            self.head_dim,
            StringRef.of(self.element),
            self.causal,
            self.kept,
            self.cut,
            self.ranks,
            self.ranks_per_node,
            numbers(flat),
            len(self.homes),
            numbers(self.speeds),
            len(self.speeds),
            self.memory,
            0.0,
            0.0,
        )


def call(function, *arguments) -> tuple[str, str]:
    """The name of the status, and what was said."""
    said: list[str] = []
    handler = Handler(lambda diagnostic, _: said.append(diagnostic.contents.message.text()))
    before, after = arguments
    status = function(*before, handler, None, *after)
    return library.dashGetStatusName(status).decode(), "\n".join(said)


def lines(function, width: int, *arguments) -> np.ndarray:
    count = function(*arguments, None, ctypes.c_size_t(0))
    out = np.empty((count, width), np.int64)
    assert function(*arguments, out.ctypes.data_as(Numbers), ctypes.c_size_t(count)) == count
    return out


class Plan:
    """A plan's lines, and `check`, which raises AssertionError where one is not as it must be."""

    def __init__(self, problem: Problem, handle: Handle):
        self.problem = problem
        self.runs = lines(library.dashWorldPlanGetRuns, 5, handle, ctypes.c_int64(-1))
        self.messages = [
            [
                lines(
                    library.dashWorldPlanGetMessages,
                    13,
                    handle,
                    which,
                    ctypes.c_int64(phase),
                    ctypes.c_int64(-1),
                )
                for phase in range(len(names))
            ]
            for which, names in enumerate(PHASES)
        ]
        self.buffers = [
            [
                lines(
                    library.dashWorldPlanGetBuffers,
                    2,
                    handle,
                    which,
                    ctypes.c_int64(phase),
                    ctypes.c_int64(-1),
                )
                for phase in range(len(names))
            ]
            for which, names in enumerate(PHASES)
        ]
        self.folds = lines(library.dashWorldPlanGetFolds, 9, handle, ctypes.c_int64(-1))
        self.kept = {
            (document, head)
            for document, first, count in lines(library.dashWorldPlanGetKept, 3, handle).tolist()
            for head in range(first, first + count)
        }
        self.needs: dict[tuple[int, int], np.ndarray] = {}

    def leaf_ends(self, rows: int) -> list[int]:
        step, area, least = CUTS[self.problem.cut]
        group = self.problem.heads // self.problem.kv_heads
        fewest = max(step, -(-(-(-least // group)) // step) * step)
        ends: list[int] = []
        while True:
            end = max(
                (ends[-1] if ends else 0) + fewest,
                math.isqrt((len(ends) + 1) * area // group) // step * step,
            )
            if rows - end < fewest:
                return [*ends, rows]
            ends.append(end)

    def check(self) -> None:
        self.check_buffers()
        for document, rows in enumerate(self.problem.documents):
            self.home = np.full(rows, -1)
            for rank, of, first, count in self.problem.homes:
                if of == document:
                    self.home[first : first + count] = rank
            for head in range(self.problem.kv_heads):
                self.check_head(document, head, rows)
        self.check_kept()

    def check_kept(self) -> None:
        """As many heads as there are bytes for: one more would be too many for one of its servers.
        A head is kept before one of a longer document is."""
        budget = math.inf if self.problem.kept == -1 else self.problem.kept
        zeros = np.zeros(self.problem.ranks, np.int64)
        for place in self.kept:
            assert self.needs[place].any(), place
        by_length = sorted(self.needs, key=lambda one: (self.problem.documents[one[0]], *one))
        used = zeros.copy()
        for place in by_length:
            fits = (used + self.needs[place] <= budget)[self.needs[place] > 0].all()
            expected = self.problem.kept != 0 and self.needs[place].any() and fits
            assert (place in self.kept) == expected, (place, used, self.needs[place], budget)
            used += self.needs[place] * (place in self.kept)
        assert (used <= budget).all() and (self.kept or not used.any()), used

    def needs_of(self, document: int, head: int, computed: np.ndarray) -> np.ndarray:
        """Bytes that each rank would keep of a head, message by message."""
        group, dim = self.problem.heads // self.problem.kv_heads, self.problem.head_dim
        found = np.zeros(self.problem.ranks, np.int64)
        for name in ("inputs", "relays"):
            for tensor, width in ((Q, 2 * dim * group), (K, 4 * dim)):
                for line in self.of_head(0, name, document, head, tensor):
                    found[line[1]] += -(-width * (line[7] - line[6]) // 128) * 128
        for rank in range(self.problem.ranks):
            found[rank] += 4 * group * int(((computed == rank) & (self.home != rank)).sum())
        return found

    def check_buffers(self) -> None:
        group, dim = self.problem.heads // self.problem.kv_heads, self.problem.head_dim
        widths = {
            Q: 2 * dim * group,
            DO: 2 * dim * group,
            O: 2 * dim * group,
            DQ: 2 * dim * group,
            LSE: 4 * group,
            DELTA: 4 * group,
            K: 2 * dim,
            V: 2 * dim,
            DK: 2 * dim,
            DV: 2 * dim,
            SUMS: 8 * dim,
        }
        for which, names in enumerate(PHASES):
            for phase, name in enumerate(names):
                messages, buffers = self.messages[which][phase], self.buffers[which][phase]
                for end, mine, partner, offset in (("send", 0, 1, 10), ("receive", 1, 0, 11)):
                    for rank in range(self.problem.ranks):
                        at, last = 0, -1
                        own = messages[messages[:, mine] == rank]
                        for line in own[np.argsort(own[:, offset], kind="stable")]:
                            width = sum(
                                bytes_ for tensor, bytes_ in widths.items() if line[2] & tensor
                            )
                            assert (
                                line[12] == -(-width * line[5] * (line[7] - line[6]) // 128) * 128
                            ), (name, line)
                            assert line[offset] == at and line[partner] >= last, (name, end, line)
                            at, last = at + line[12], line[partner]
                        assert at == buffers[rank, mine], (name, end, rank)
                if name in ("relays", "sums"):
                    assert (
                        messages[:, 0] // self.problem.ranks_per_node
                        == messages[:, 1] // self.problem.ranks_per_node
                    ).all()
                assert (messages[:, 0] != messages[:, 1]).all()

    def of_head(self, which: int, name: str, document: int, head: int, tensor: int) -> np.ndarray:
        messages = self.messages[which][PHASES[which].index(name)]
        return messages[
            (messages[:, 3] == document)
            & (messages[:, 4] <= head)
            & (head < messages[:, 4] + messages[:, 5])
            & (messages[:, 2] & tensor != 0)
        ]

    def check_head(self, document: int, head: int, rows: int) -> None:
        ends = self.leaf_ends(rows)
        starts = [0, *ends[:-1]]
        servers = np.full(len(ends), -1)
        for rank, of, kv_head, first, end in self.runs:
            if (of, kv_head) == (document, head):
                assert (servers[first:end] == -1).all()
                servers[first:end] = rank
        assert (servers >= 0).all(), servers
        computed = np.repeat(servers, np.diff([0, *ends]))
        self.needs[document, head] = self.needs_of(document, head, computed)
        kept = (document, head) in self.kept
        for which, tensors in (
            (0, (Q, K, V)),
            (1, (DO, DELTA) if kept else (Q, DO, LSE, DELTA, K, V)),
        ):
            for tensor in tensors:
                has = {rank: self.home == rank for rank in range(self.problem.ranks)}
                for name in ("inputs", "relays"):
                    arrived = []
                    for line in self.of_head(which, name, document, head, tensor):
                        rows_of = slice(line[6], line[7])
                        assert (
                            (self.home[rows_of] == line[0]).all()
                            if name == "inputs"
                            else has[line[0]][rows_of].all()
                        ), line
                        arrived.append((line[1], rows_of))
                    for rank, rows_of in arrived:
                        assert not has[rank][rows_of].any(), (name, rank, rows_of)
                        has[rank][rows_of] = True
                for leaf, server in enumerate(servers):
                    first = 0 if tensor in (K, V) else starts[leaf]
                    assert has[server][first : ends[leaf]].all(), (document, head, leaf, tensor)
        for which, name, tensors in ((0, "outputs", (O, LSE)), (1, "gradients", (DQ,))):
            for tensor in tensors:
                came = computed == self.home
                for line in self.of_head(which, name, document, head, tensor):
                    rows_of = slice(line[6], line[7])
                    assert (
                        (computed[rows_of] == line[0]).all()
                        and (self.home[rows_of] == line[1]).all()
                        and not came[rows_of].any()
                    ), line
                    came[rows_of] = True
                assert came.all(), (document, head, tensor)
        self.check_sums(document, head, rows, ends, servers)

    def check_sums(
        self, document: int, head: int, rows: int, ends: list[int], servers: np.ndarray
    ) -> None:
        leaves = len(ends)

        def named(level: int, index: int) -> tuple[int, int]:
            while level and (2 * index + 1) << (level - 1) >= leaves:
                level, index = level - 1, 2 * index
            return level, index

        def rows_of(node: tuple[int, int]) -> int:
            return ends[min(leaves, (node[1] + 1) << node[0]) - 1]

        have = defaultdict(lambda: np.zeros(rows, bool))  # by rank and node
        for leaf, server in enumerate(servers):
            have[server, (0, leaf)][: ends[leaf]] = True
        root, home = named(max(leaves - 1, 0).bit_length(), 0), np.zeros(rows, bool)

        def fold(stage: int) -> None:
            for line in self.folds:
                if (
                    line[0] != stage
                    or line[2] != document
                    or not line[3] <= head < line[3] + line[4]
                ):
                    continue
                node = int(line[5]), int(line[6])
                assert node[0] > 0 and named(*node) == node, line
                for child in ((node[0] - 1, 2 * node[1]), named(node[0] - 1, 2 * node[1] + 1)):
                    part = slice(line[7], min(line[8], rows_of(child)))
                    assert have[line[1], child][part].all(), (line, child)
                    have[line[1], child][part] = False
                assert (
                    line[8] <= rows_of(node) and not have[line[1], node][line[7] : line[8]].any()
                ), line
                have[line[1], node][line[7] : line[8]] = True

        def move(name: str) -> None:
            arrived = []
            for line in self.of_head(1, name, document, head, SUMS | DK | DV):
                is_rounded, part = line[2] == DK | DV, slice(line[6], line[7])
                assert is_rounded or line[2] == SUMS, line
                node = root if is_rounded else (int(line[8]), int(line[9]))
                assert have[line[0], node][part].all(), line
                have[line[0], node][part] = False
                if is_rounded:
                    assert (self.home[part] == line[1]).all() and not home[part].any(), line
                    home[part] = True
                else:
                    arrived.append(((line[1], node), part))
            for key, part in arrived:
                assert not have[key][part].any()
                have[key][part] = True

        fold(0), move("sums"), fold(1), move("gradients"), fold(2)
        for (rank, node), left in have.items():
            assert not left.any() or (node == root and (self.home[left] == rank).all()), (
                document,
                head,
                rank,
                node,
            )
            if node == root:
                assert not home[left].any()
                home |= left
        assert home.all(), (document, head)
