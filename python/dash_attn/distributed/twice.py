"""Sampled leaves are computed by a second rank, too, from the same inputs, and must have the
same bits: so a GPU that computes wrong without an error is found and named. No tolerance, so no
false alarm. A permanent fault gives the same wrong bits on the same GPU each time: hence another
one, by turns every pair. Where two differ, a third rank computes the leaf, and is believed with
whom it agrees.

What the first rank computed in the forward is compared as well. O is hashed where it came home to:
ranks hash their rows of a leaf with their places, and the sum of these hashes is that of the leaf.
"""

from __future__ import annotations

import bisect
import hashlib
import itertools
import math
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from ..errors import ArgumentError
from ..torch.hashing import as_words, hash_words
from .failures import named
from .plan import DELTA, DO, LSE, K, Message, Phase, Plan, Q, Run, V
from .proof import added
from .rows import Format, Rows, tensors_of

if TYPE_CHECKING:
    from .exchange import Exchange
    from .leaves import LeafKernel, LeafSums

INPUTS = (Q | DO | LSE | DELTA, K | V)
HASHES = 5  # of the LSE, dq, what becomes dk and dv, and o
ALIGNMENT = 128
ACTIONS = ("raise", "log")
Place = tuple[int, int]  # of a call, its sample


class CorruptionError(RuntimeError):
    """A rank computed a leaf otherwise than others did from the same inputs. found: a
    `Corruption` for each leaf."""

    def __init__(self, message: str, found: Sequence[Corruption] = ()) -> None:
        super().__init__(message)
        self.found = tuple(found)


class Corruption(NamedTuple):
    """wrong: the rank that is alone with its result; where all three differ, or there is no
    third rank, all of them."""

    call: int
    document: int
    kv_head: int
    leaf: int
    ranks: tuple[int, ...]
    wrong: tuple[int, ...]

    def __str__(self) -> str:
        others = [rank for rank in self.ranks if rank not in self.wrong]
        what = (
            f"leaf {self.leaf} of document {self.document}, kv head {self.kv_head}, of backward"
            f" {self.call}"
        )
        if not others:
            return f"{named(list(self.wrong))} computed {what} differently: one of them is wrong"
        return (
            f"{named(list(self.wrong))} computed {what} otherwise than {named(others)} from the"
            " same inputs: its GPU or memory is wrong"
        )


class Sample(NamedTuple):
    """Leaf `number` of a run, and the rank that computes it again."""

    run: Run
    number: int
    checker: int


def drawn(*numbers: int) -> int:
    """A number that follows from others, on every machine."""
    return int.from_bytes(hashlib.sha256(repr(numbers).encode()).digest()[:8], "little")


def samples_of(plan: Plan, share: float, *seed: int) -> list[Sample]:
    """The same on all ranks: a share of all leaves, by chance, each with a rank that does not
    compute it itself."""
    runs, ranks = plan.runs(), plan.problem.ranks
    ends = list(itertools.accumulate(run.end_leaf - run.first_leaf for run in runs))
    wanted = share * ends[-1]
    count = int(wanted) + (drawn(*seed, -1) < (wanted % 1) * 2**64)
    places: dict[int, None] = {}
    for i in itertools.count():
        if len(places) >= count:
            break
        places[drawn(*seed, i) % ends[-1]] = None
    found = []
    for place in places:
        run = runs[bisect.bisect_right(ends, place)]
        number = run.end_leaf - (ends[bisect.bisect_right(ends, place)] - place)
        found.append(
            Sample(run, number, (run.rank + 1 + drawn(*seed, place, -2) % (ranks - 1)) % ranks)
        )
    return found


def messages_of(plan: Plan, form: Format, sample: Sample) -> list[Message]:
    """Inputs of a sample, in a buffer of their own."""
    leaf, found, at = plan.leaves.leaf(sample.run.document, sample.run.head, sample.number), [], 0
    for what, first in zip(INPUTS, (leaf.first, 0)):
        shapes = [
            (form.dtype_of(tensor).itemsize, *form.shape(tensor, 1, leaf.end - first))
            for tensor in tensors_of(what)
        ]
        size = -(-sum(map(math.prod, shapes)) // ALIGNMENT) * ALIGNMENT
        found.append(
            Message(
                sample.run.rank,
                sample.checker,
                what,
                leaf.document,
                leaf.head,
                1,
                first,
                leaf.end,
                0,
                0,
                at,
                at,
                size,
            )
        )
        at += size
    return found


class Checks(NamedTuple):
    """An exchange of inputs, from the rank that computes leaves to the one that does it again.
    begins: of each sample that this rank does again, where its inputs begin in the buffer."""

    phase: Phase
    begins: dict[Sample, int]


def checks_of(plan: Plan, form: Format, samples: Sequence[Sample], rank: int) -> Checks:
    """As one rank sees them."""
    sent, received = ([0] * plan.problem.ranks for _ in range(2))
    messages, begins = [], {}
    for sample in sorted(samples, key=lambda one: (one.run.rank, one.checker)):
        sender, receiver = sample.run.rank, sample.checker
        if receiver == rank:
            begins[sample] = received[receiver]
        for one in messages_of(plan, form, sample):
            messages.append(
                one._replace(send_offset=sent[sender], receive_offset=received[receiver])
            )
            sent[sender] += one.bytes
            received[receiver] += one.bytes
    phase = Phase(
        "checks",
        False,
        [one for one in messages if one.sender == rank],
        [one for one in messages if one.receiver == rank],
        sent[rank],
        received[rank],
        not messages,
    )
    return Checks(phase, begins)


def hashes_of(
    lse: torch.Tensor,
    dq: torch.Tensor,
    sums: LeafSums | None,
    whole: tuple[torch.Tensor, torch.Tensor] | None,
    o: torch.Tensor | None = None,
) -> torch.Tensor:
    """o: [query heads, rows, head_dim], or None where homes hash it."""
    last = whole if sums is None else sums.rows()
    assert last is not None
    found = [hash_words(as_words(one.contiguous())) for one in (lse, dq, last[0], last[1])]
    return torch.stack(
        [*found, torch.zeros_like(found[0]) if o is None else hash_of_o(o.transpose(0, 1), 0)]
    )


def hash_of_o(o: torch.Tensor, first: int) -> torch.Tensor:
    """The part of a leaf's hash that rows [rows, query heads, head_dim] from `first` on have."""
    words = as_words(o.contiguous())
    return hash_words(words, first * (words.numel() // o.shape[0]))


def results_of_homes(plan: Plan, call: Call, rank: int, o: torch.Tensor) -> list[Result]:
    """What a rank's own rows of O, [rows, heads, head_dim], add to the hashes of samples. They
    count as those of the rank that computed the leaf."""
    found, group = [], plan.problem.group
    for place, sample in enumerate(call.samples):
        leaf = plan.leaves.leaf(sample.run.document, sample.run.head, sample.number)
        for document, first, end, at in plan.problem.local(rank):
            begin, stop = max(first, leaf.first), min(end, leaf.end)
            if document == leaf.document and begin < stop:
                part = o[
                    at + begin - first : at + stop - first,
                    leaf.head * group : (leaf.head + 1) * group,
                ]
                of_o = hash_of_o(part, begin - leaf.first)
                hashes = torch.cat([of_o.new_zeros(HASHES - 1), of_o[None]])
                found.append(Result(call.number, place, sample.run.rank, hashes, None))
    return found


def again(
    plan: Plan, form: Format, kernel: LeafKernel, sample: Sample, rank: int, buffer: torch.Tensor
) -> torch.Tensor:
    """Hashes of what a rank finds from a sample's inputs."""
    rows, run = (
        Rows(form),
        Run(rank, sample.run.document, sample.run.head, sample.number, sample.number + 1),
    )
    rows.add_received(buffer, messages_of(plan, form, sample))
    ((_, o, lse),) = kernel.forward(plan, [run], rows)
    ((_, dq, sums, whole),) = kernel.backward(plan, [run], rows)
    return hashes_of(lse, dq, sums, whole, o)


class Result(NamedTuple):
    """rank: who computed a sample of a call; hashes: on its device, which are added to others of
    the same rank; inputs: in bytes, of who did it again."""

    call: int
    sample: int
    rank: int
    hashes: torch.Tensor
    inputs: torch.Tensor | None


class Call(NamedTuple):
    """A backward: its plan, and which of its leaves are computed twice."""

    number: int
    plan: Plan
    samples: list[Sample]


class Twice:
    """A world's leaves that are computed twice. share: of leaves, from 0 to 1; action: what happens
    where results differ: "raise", "log", or a function of the list of `Corruption`."""

    def __init__(
        self, share: float, action: str | Callable[[list[Corruption]], Any], ranks: int
    ) -> None:
        if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 <= share <= 1:
            raise ArgumentError(f"twice: expected a share of leaves from 0 to 1, found {share!r}")
        if share and ranks < 2:
            raise ArgumentError(
                "twice: expected at least 2 ranks, found 1: another one computes leaves again"
            )
        if not callable(action) and action not in ACTIONS:
            raise ArgumentError(
                f"on_corruption: expected one of {', '.join(ACTIONS)}, or a function, found"
                f" {action!r}"
            )
        self.share, self.action, self.count = share, action, 0
        self.calls, self.results = dict[int, Call](), list[Result]()

    def next_call(self, plan: Plan, seed: int) -> Call:
        """The exchange of the backward that begins."""
        self.count += 1
        found = Call(
            self.count, plan, samples_of(plan, self.share, seed, self.count) if self.share else []
        )
        if found.samples:
            self.calls[self.count] = found
        return found

    def check(self, exchange: Exchange, kernel: LeafKernel, form: Format) -> list[Corruption]:
        """What differed since the last time. All ranks call it; one small exchange on the CPU,
        and others where something differs."""
        results, self.results = self.results, []
        calls, self.calls = self.calls, {}
        found: dict[Place, dict[int, tuple[int, ...]]] = {}
        self._add(
            exchange,
            [[one.call, one.sample, one.rank, *one.hashes.tolist()] for one in results],
            found,
        )
        differ = [
            place for place, by_rank in sorted(found.items()) if len(set(by_rank.values())) > 1
        ]
        inputs = {(one.call, one.sample): one.inputs for one in results if one.inputs is not None}
        # a third rank computes it: the inputs come from the rank that has them, by way of the CPU
        for place in differ:
            others = [rank for rank in range(exchange.size) if rank not in found[place]]
            third = others[drawn(*place) % len(others)] if others else -1
            words = (
                inputs[place].view(torch.int64).cpu()
                if place in inputs
                else torch.empty(0, dtype=torch.int64)
            )
            (words,) = [given for given in exchange.gather(words) if given.numel()]
            lines = []
            if third in exchange.ranks:
                call = calls[place[0]]
                buffer = words.view(torch.uint8).to(form.device)
                lines = [
                    [
                        *place,
                        third,
                        *again(
                            call.plan, form, kernel, call.samples[place[1]], third, buffer
                        ).tolist(),
                    ]
                ]
            self._add(exchange, lines, found)
        return [_verdict(calls[place[0]], place, found[place]) for place in differ]

    def _add(
        self,
        exchange: Exchange,
        lines: list[list[int]],
        found: dict[Place, dict[int, tuple[int, ...]]],
    ) -> None:
        """Lines of all ranks: call, sample, rank, hashes. Those of the same three are added."""
        for one in exchange.gather(torch.tensor(lines, dtype=torch.int64).flatten()):
            for call, sample, rank, *hashes in one.view(-1, 3 + HASHES).tolist():
                by_rank = found.setdefault((call, sample), {})
                by_rank[rank] = tuple(
                    added(pair) for pair in zip(hashes, by_rank.get(rank, [0] * HASHES))
                )

    def act(self, found: list[Corruption]) -> None:
        if not found:
            return
        if callable(self.action):
            self.action(found)
            return
        message = "; ".join(map(str, found[:8]))
        if self.action == "raise":
            raise CorruptionError(message, found)
        warnings.warn(message, RuntimeWarning, stacklevel=3)


def _verdict(call: Call, place: Place, by_rank: dict[int, tuple[int, ...]]) -> Corruption:
    results, (run, leaf, _) = list(by_rank.values()), call.samples[place[1]]
    alone = [rank for rank, hashes in by_rank.items() if results.count(hashes) == 1]
    wrong = alone if len(alone) == 1 else sorted(by_rank)
    return Corruption(
        call.number, run.document, run.head, leaf, tuple(sorted(by_rank)), tuple(wrong)
    )
