"""The gradients of a scheduled problem: bit for bit from its order, and in float64 from its
definition."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from arithmetic import (
    ROUND,
    chain_sum,
    exponential,
    pairwise_sum,
    product,
    row_sums,
    tanh_of_scores,
)
from problem import Mask, Problem
from report import Json

F32 = np.float32
Key = tuple[int, ...]


@dataclass
class Arrays:
    """Inputs, decoded: [batch, heads, rows, head dim], [batch, heads, rows] and, of the sink,
    [heads]."""

    q: np.ndarray
    k: np.ndarray
    v: np.ndarray
    do: np.ndarray
    lse: np.ndarray
    delta: np.ndarray
    scale: np.float32
    softcap: np.float32 | None = None
    sink: np.ndarray | None = None


ROWS_OF_RUN = 32


def sink_gradient(sink: np.ndarray, lse: np.ndarray, delta: np.ndarray) -> np.ndarray:
    """[batch, heads], bit for bit: rows in runs of 32, added in pairs; run r in sum r mod 32, one
    after the other; these in pairs."""
    counts = np.isfinite(lse)
    weights = exponential(np.broadcast_to(sink[:, None], lse.shape), np.where(counts, lse, 0))
    terms = np.where(counts, weights * delta, F32(0))
    terms = np.pad(terms, [(0, 0), (0, 0), (0, -lse.shape[2] % ROWS_OF_RUN)])
    runs = pairwise_sum(terms.reshape(*lse.shape[:2], -1, ROWS_OF_RUN))
    sums = np.zeros((*lse.shape[:2], ROWS_OF_RUN), F32)
    for number in range(runs.shape[2]):
        sums[..., number % ROWS_OF_RUN] += runs[..., number]
    return -pairwise_sum(sums)


def sink_gradients(problem: Problem, arrays: Arrays, is_list: bool) -> np.ndarray:
    """[sequences, heads]: the above of each sequence by itself."""
    places, found = Places(problem, is_list), []
    for sequence in range(len(problem.sequences)):
        batch, rows = places.rows(sequence, False)
        found.append(
            sink_gradient(
                arrays.sink,
                arrays.lse[batch : batch + 1, :, rows],
                arrays.delta[batch : batch + 1, :, rows],
            )
        )
    return np.concatenate(found)


def delta_of(o: np.ndarray, do: np.ndarray) -> np.ndarray:
    return row_sums(o * do)


def visible(mask: Mask, q: int, kv: int) -> np.ndarray:
    """visible[i, j], from the definition of masks."""
    i, j = np.arange(q)[:, None], np.arange(kv)[None, :]
    seen = np.ones((q, kv), bool)
    if mask.union is not None:
        seen &= (j < mask.union.columns) | visible(Mask(window=mask.union.window), q, kv)
    left, right = mask.bounds()
    if left is not None:
        seen &= j - (i + kv - q) >= -left
    if right is not None:
        seen &= j - (i + kv - q) <= right
    if mask.blocks is not None:
        bits = np.array([[bit == "1" for bit in row] for row in mask.blocks.bits])
        seen &= bits[j // mask.blocks.kv, i // mask.blocks.q]
    return seen


@dataclass
class Places:
    """Where the rows of a sequence lie: a batch entry each, or one after the other in a batch of
    1."""

    problem: Problem
    is_list: bool

    def rows(self, sequence: int, is_kv: bool) -> tuple[int, slice]:
        lengths = [s.kv if is_kv else s.q for s in self.problem.sequences]
        if not self.is_list:
            return sequence, slice(0, lengths[sequence])
        first = sum(lengths[:sequence])
        return 0, slice(first, first + lengths[sequence])

    def tile(
        self, array: np.ndarray, sequence: int, head: int, tile: int, is_kv: bool
    ) -> np.ndarray:
        """A tile of a tensor; rows past the end are zero."""
        batch, rows = self.rows(sequence, is_kv)
        size = self.problem.tile_kv if is_kv else self.problem.tile_q
        found = array[batch, head, rows][tile * size : (tile + 1) * size]
        padding = [(0, size - found.shape[0])] + [(0, 0)] * (found.ndim - 1)
        return np.pad(found, padding)

    def put(
        self, array: np.ndarray, sequence: int, head: int, tile: int, is_kv: bool, value: np.ndarray
    ) -> None:
        batch, rows = self.rows(sequence, is_kv)
        size = self.problem.tile_kv if is_kv else self.problem.tile_q
        target = array[batch, head, rows][tile * size : (tile + 1) * size]
        target[...] = value[: target.shape[0]]


@dataclass
class Recomputed:
    """Contributions by the tile that makes them, and gradients that are summed from them."""

    dq: dict[Key, np.ndarray] = field(default_factory=dict)  # (sequence, head, q, kv)
    dk: dict[Key, np.ndarray] = field(default_factory=dict)  # (sequence, kv head, kv, part)
    dv: dict[Key, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True)
class Task:
    """A q tile of a head and a kv tile of a kv head, of one sequence."""

    sequence: int
    head: int
    q: int
    kv_head: int
    kv: int


def scores_of(
    places: Places, seen: np.ndarray, arrays: Arrays, task: Task, half: str
) -> tuple[np.ndarray, np.ndarray]:
    """P and dS of a task, transposed: kv rows by q rows. dS is rounded, P is not."""
    problem, rounded = places.problem, ROUND[half]
    k, v = (
        places.tile(a, task.sequence, task.kv_head, task.kv, True) for a in (arrays.k, arrays.v)
    )
    q, do, lse, delta = (
        places.tile(a, task.sequence, task.head, task.q, False)
        for a in (arrays.q, arrays.do, arrays.lse, arrays.delta)
    )
    rows = slice(task.q * problem.tile_q, (task.q + 1) * problem.tile_q)
    columns = slice(task.kv * problem.tile_kv, (task.kv + 1) * problem.tile_kv)
    live = np.zeros((problem.tile_kv, problem.tile_q), bool)
    some = seen[rows, columns].T
    live[: some.shape[0], : some.shape[1]] = some
    live &= lse[None, :] != -np.inf
    scores, slope = arrays.scale * product(k, q.T), F32(1)
    if arrays.softcap is not None:
        tanh = tanh_of_scores(scores, arrays.softcap)
        scores, slope = arrays.softcap * tanh, F32(1) - tanh * tanh
    with np.errstate(over="ignore", invalid="ignore"):
        p = np.where(
            live, exponential(np.where(live, scores, 0), np.where(live, lse[None, :], 0)), F32(0)
        )
    return p, rounded(p * slope * (product(v, do.T) - delta[None, :]))


def fold_dq(
    problem: Problem, schedule: Json, arrays: Arrays, target: np.ndarray, half: str, is_list: bool
) -> np.ndarray:
    """dQ of items that own q tiles: one sum an item, which goes through its kv tiles in visit
    order."""
    places, total = Places(problem, is_list), np.zeros(target.shape, F32)
    seen = [visible(problem.mask, s.q, s.kv) for s in problem.sequences]
    for item in schedule["items"]:
        s, head, q = item["sequence"], item["head"], item["q"]
        dq = np.zeros((problem.tile_q, target.shape[3]), F32)
        for kv_head, kv in item["visit"]:
            _, ds = scores_of(places, seen[s], arrays, Task(s, head, q, kv_head, kv), half)
            dq = product(ds.T, places.tile(arrays.k, s, kv_head, kv, True), dq)
        places.put(total, s, head, q, False, dq)
    return ROUND[half](arrays.scale * total)


def recompute(
    problem: Problem, schedule: Json, arrays: Arrays, half: str, is_list: bool
) -> Recomputed:
    """Every contribution of every item, in its visit order."""
    places, found, rounded = Places(problem, is_list), Recomputed(), ROUND[half]
    seen = [visible(problem.mask, s.q, s.kv) for s in problem.sequences]
    for item in schedule["items"]:
        s, kv_head, kv = item["sequence"], item["kvHead"], item["kv"]
        k = places.tile(arrays.k, s, kv_head, kv, True)
        v = places.tile(arrays.v, s, kv_head, kv, True)
        dk, dv = np.zeros_like(k, F32), np.zeros_like(v, F32)
        for head, q_tile in item["visit"]:
            q, do = (places.tile(a, s, head, q_tile, False) for a in (arrays.q, arrays.do))
            p, ds = scores_of(places, seen[s], arrays, Task(s, head, q_tile, kv_head, kv), half)
            dv = product(rounded(p), do, dv)
            dk = product(ds, q, dk)
            found.dq[s, head, q_tile, kv] = product(ds.T, k)
        found.dk[s, kv_head, kv, item["part"]] = dk
        found.dv[s, kv_head, kv, item["part"]] = dv
    return found


def slots_of(schedule: Json) -> tuple[list[list[Key]], list[list[Key]]]:
    """Which tile makes the contributions of each dQ chain, and of each chain over parts, in
    order."""
    dq = [
        [(c["sequence"], c["head"], c["q"], kv) for kv, _ in c["order"]] for c in schedule["chains"]
    ]
    parts = [
        [(c["sequence"], c["kvHead"], c["kv"], part) for part in c["order"]]
        for c in schedule["partChains"]
    ]
    if not parts:  # nothing is summed across items: a kv tile is its item's alone
        parts = [[(i["sequence"], i["kvHead"], i["kv"], i["part"])] for i in schedule["items"]]
    return dq, parts


def sum_up(
    problem: Problem,
    chains: list[list[Key]],
    contributions: dict[Key, np.ndarray],
    target: np.ndarray,
    is_kv: bool,
    is_list: bool,
    scale: np.float32,
    half: str,
) -> np.ndarray:
    """A gradient from its contributions: chains, then the factor, then one rounding."""
    places = Places(problem, is_list)
    total = np.zeros(target.shape, F32)
    for chain in chains:
        if chain:
            places.put(
                total, *chain[0][:3], is_kv, chain_sum([contributions[key] for key in chain])
            )
    return ROUND[half](scale * total)


@dataclass
class Gradient:
    """A gradient in float64, and the sum of its terms' magnitudes, which f32 noise is in proportion
    to."""

    value: np.ndarray
    magnitude: np.ndarray


def float64_gradients(problem: Problem, arrays: Arrays, is_list: bool) -> dict[str, Gradient]:
    """The gradients by definition, from the inputs as they are."""
    places = Places(problem, is_list)
    wide = {
        name: getattr(arrays, name).astype(np.float64)
        for name in ("q", "k", "v", "do", "lse", "delta")
    }
    scale = np.float64(arrays.scale)
    result = {
        "d" + name: Gradient(np.zeros_like(wide[name]), np.zeros_like(wide[name]))
        for name in ("q", "k", "v")
    }
    if arrays.sink is not None:
        counts = np.isfinite(wide["lse"])
        terms = (
            np.exp(arrays.sink.astype(np.float64)[:, None] - np.where(counts, wide["lse"], np.inf))
            * wide["delta"]
        )
        shares = [
            terms[batch, :, rows]
            for batch, rows in (places.rows(s, False) for s in range(len(problem.sequences)))
        ]
        result["dsink"] = Gradient(
            np.stack([-share.sum(-1) for share in shares]),
            np.stack([np.abs(share).sum(-1) for share in shares]),
        )
    for s, lengths in enumerate(problem.sequences):
        seen = visible(problem.mask, lengths.q, lengths.kv)
        (b, rows), (_, columns) = places.rows(s, False), places.rows(s, True)
        for head in range(problem.heads):
            kv_head = head // problem.group
            q, do = wide["q"][b, head, rows], wide["do"][b, head, rows]
            k, v = wide["k"][b, kv_head, columns], wide["v"][b, kv_head, columns]
            lse = np.where(seen.any(1), wide["lse"][b, head, rows], 0)
            scores, slope = scale * (q @ k.T), 1.0
            if arrays.softcap is not None:
                tanh = np.tanh(scores / np.float64(arrays.softcap))
                scores, slope = np.float64(arrays.softcap) * tanh, 1 - tanh**2
            p = np.where(seen, np.exp(np.where(seen, scores - lse[:, None], 0)), 0)
            dp, delta = do @ v.T, wide["delta"][b, head, rows][:, None]
            ds, size = p * slope * (dp - delta), p * slope * (np.abs(dp) + np.abs(delta))
            for name, at, factor, left, right in (
                ("dq", (b, head, rows), scale, (ds, size), k),
                ("dk", (b, kv_head, columns), scale, (ds.T, size.T), q),
                ("dv", (b, kv_head, columns), 1, (p.T, p.T), do),
            ):
                result[name].value[at] += factor * left[0] @ right
                result[name].magnitude[at] += factor * left[1] @ np.abs(right)
    return result
