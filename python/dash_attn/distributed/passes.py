"""A forward and a backward of one rank: what it sends, computes and adds, in three parts each.
`send` and `receive` are programs of exchanges."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ..torch.delta import delta_of
from .exchange import Program, Transfer
from .kept_inputs import give_back, keep
from .leaves import InRows, LeafKernel, LeafSums
from .plan import (
    BACKWARD,
    DELTA,
    DK,
    DO,
    DQ,
    DV,
    FORWARD,
    HOME,
    K,
    LSE,
    NODE,
    O,
    Q,
    SERVER,
    SUMS,
    V,
    Phase,
    Plan,
)
from .problem import Leaf
from .rows import Format, Piece, Rows
from .sums import Part, ServerFolds, Sums, add_rounded
from .twice import Call, Result, Twice, again, checks_of, hashes_of, messages_of, results_of_homes


class Pass:
    """rows: what the rank has; received: buffers of bytes of the phases that brought something."""

    def __init__(self, plan: Plan, rank: int, form: Format, kernel: LeafKernel) -> None:
        self.plan, self.rank, self.kernel = plan, rank, kernel
        self.homes, self.kv_heads = plan.problem.local(rank), plan.problem.kv_heads
        self.form, self.rows = form, Rows(form)
        self.buffers: dict[tuple[int, str], torch.Tensor] = {}

    def add_local(self, tensor: int, values: torch.Tensor) -> None:
        self.rows.add_local(tensor, values, self.homes, self.kv_heads)

    def own(self, tensor: int, like: torch.Tensor) -> torch.Tensor:
        return self.rows.write_local(
            tensor,
            torch.empty_like(like, memory_format=torch.contiguous_format),
            self.homes,
            self.kv_heads,
        )

    def pack(self, phase: Phase, buffer: torch.Tensor) -> None:
        for message in phase.sent:
            for tensor, values in self.form.views(buffer, message.send_offset, message):
                self.rows.read(
                    tensor, message.document, message.head, message.first, message.end, values
                )

    def exchange(self, of_pass: int, name: str) -> Program:
        phase = self.plan.phase(of_pass, name, self.rank)
        if phase.is_idle:
            return
        send, receive = (
            torch.empty(size, dtype=torch.uint8, device=self.form.device)
            for size in (phase.send, phase.receive)
        )
        self.pack(phase, send)
        yield Transfer(phase, send, receive)
        self.buffers[of_pass, name] = receive
        self.take(phase, receive)

    def take(self, phase: Phase, receive: torch.Tensor) -> None:
        self.rows.add_received(receive, phase.received)


class Forward(Pass):
    """q: [rows, heads, head_dim], k, v: [rows, kv_heads, head_dim]: the rank's own rows, in the
    order of its homes."""

    def __init__(
        self,
        plan: Plan,
        rank: int,
        form: Format,
        kernel: LeafKernel,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
    ) -> None:
        super().__init__(plan, rank, form, kernel)
        self.q = q
        for tensor, values in ((Q, q), (K, k), (V, v)):
            self.add_local(tensor, values)

    def send(self) -> Program:
        yield from self.exchange(FORWARD, "inputs")
        yield from self.exchange(FORWARD, "relays")

    def compute(self) -> None:
        for run, o, lse in self.kernel.forward(self.plan, self.plan.runs(self.rank), self.rows):
            leaves = self.plan.leaves_of(run)
            first, end = leaves[0].first, leaves[-1].end
            for tensor, values in ((O, o), (LSE, lse)):
                self.rows.add(tensor, run.document, Piece(run.head, 1, first, end, values[None]))

    def receive(self) -> Program:
        yield from self.exchange(FORWARD, "outputs")

    def outputs(self) -> tuple[torch.Tensor, torch.Tensor]:
        """o, [rows, heads, head_dim], and the LSE, [heads, rows] of float32."""
        lse = torch.empty(
            (self.q.shape[1], self.q.shape[0]), dtype=torch.float32, device=self.q.device
        )
        return self.own(O, self.q), self.rows.write_local(LSE, lse, self.homes, self.kv_heads)

    def kept(self) -> list[torch.Tensor]:
        """What the server keeps for the backward, as `Backward` takes it."""
        return keep(self.plan, self.rank, self.rows, self.buffers)


class Backward(Pass):
    """q, k, v: as `Forward` takes them; o, lse: as it gives them; do, dlse: their gradients.
    call: what is computed twice."""

    def __init__(
        self,
        plan: Plan,
        rank: int,
        form: Format,
        kernel: LeafKernel,
        scale: float,
        twice: Twice,
        call: Call,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        o: torch.Tensor,
        lse: torch.Tensor,
        do: torch.Tensor,
        dlse: torch.Tensor,
    ) -> None:
        super().__init__(plan, rank, form, kernel)
        self.q, self.k = q, k
        self.sums, self.twice, self.call = Sums(plan, self.rows, scale), twice, call
        self.sampled = {
            (one.run.document, one.run.head, one.number): place
            for place, one in enumerate(call.samples)
            if one.run.rank == rank
        }
        twice.results += results_of_homes(plan, call, rank, o)
        delta = delta_of(do, o, lse, dlse)
        for tensor, values in ((Q, q), (K, k), (V, v), (DO, do), (DELTA, delta), (LSE, lse)):
            self.add_local(tensor, values)

    def keep(self, kept: Sequence[torch.Tensor]) -> None:
        """What `Forward.kept` gave; nothing where all inputs are sent again."""
        if kept:
            give_back(self.plan, self.rank, self.rows, kept)

    def send(self) -> Program:
        yield from self.exchange(BACKWARD, "inputs")
        yield from self.exchange(BACKWARD, "relays")

    def compute(self) -> None:
        folds = ServerFolds(self.sums, self._folds(SERVER))
        for leaf, dq, sums, whole in self.kernel.backward(
            self.plan, self.plan.runs(self.rank), self.rows
        ):
            sums = self._hash(leaf, dq, sums, whole)
            self.rows.add(DQ, leaf.document, Piece(leaf.head, 1, leaf.first, leaf.end, dq[None]))
            if whole is not None:
                for tensor, values in zip((DK, DV), whole):
                    self.rows.add(
                        tensor, leaf.document, Piece(leaf.head, 1, 0, leaf.end, values[None, None])
                    )
            elif leaf.is_whole:
                part = Part(0, leaf.end, sums.rows())
                add_rounded(self.rows, leaf.document, leaf.head, part, self.sums.scale)
            else:
                folds.add(leaf, sums)
        folds.finish()

    def _hash(
        self,
        leaf: Leaf,
        dq: torch.Tensor,
        sums: LeafSums | None,
        whole: tuple[torch.Tensor, torch.Tensor] | None,
    ) -> LeafSums | None:
        """Hashes of a leaf that is computed twice, before folds change its sums."""
        if (place := self.sampled.get((leaf.document, leaf.head, leaf.number))) is not None:
            sums = None if sums is None else InRows(sums.rows())
            lse = self.rows.head(LSE, leaf.document, leaf.head, leaf.first, leaf.end)
            self.twice.results.append(
                Result(self.call.number, place, self.rank, hashes_of(lse, dq, sums, whole), None)
            )
        return sums

    def _send_checks(self) -> Program:
        phase = checks_of(self.plan, self.form, self.call.samples, self.rank).phase
        if not phase.is_idle:
            send, self.inputs = (
                torch.empty(size, dtype=torch.uint8, device=self.form.device)
                for size in (phase.send, phase.receive)
            )
            self.pack(phase, send)
            yield Transfer(phase, send, self.inputs)

    def _check(self) -> None:
        """Computes leaves of others again."""
        begins = checks_of(self.plan, self.form, self.call.samples, self.rank).begins
        for place, sample in enumerate(self.call.samples):
            if sample.checker == self.rank:
                size = sum(one.bytes for one in messages_of(self.plan, self.form, sample))
                inputs = self.inputs[begins[sample] : begins[sample] + size]
                found = again(self.plan, self.form, self.kernel, sample, self.rank, inputs)
                self.twice.results.append(Result(self.call.number, place, self.rank, found, inputs))

    def receive(self) -> Program:
        self.sums.hold()
        yield from self._send_checks()
        yield from self.exchange(BACKWARD, "sums")
        for one in self._folds(NODE):
            self.sums.make(one)
        self.sums.round_roots()
        yield from self.exchange(BACKWARD, "gradients")

    def outputs(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """dq, dk and dv of the rank's own rows, as q, k and v lie."""
        self._check()
        for one in self._folds(HOME):
            self.sums.make(one)
        self.sums.round_roots()
        return self.own(DQ, self.q), self.own(DK, self.k), self.own(DV, self.k)

    def pack(self, phase: Phase, buffer: torch.Tensor) -> None:
        for message in phase.sent:
            if message.what == SUMS:
                self.sums.pack(buffer, message)
        super().pack(
            phase._replace(sent=[message for message in phase.sent if message.what != SUMS]), buffer
        )

    def take(self, phase: Phase, receive: torch.Tensor) -> None:
        super().take(phase, receive)
        self.sums.add_received(receive, phase.received)

    def _folds(self, stage: int) -> list:
        return [one for one in self.plan.folds(self.rank) if one.stage == stage]
