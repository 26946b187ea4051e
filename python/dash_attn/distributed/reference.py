"""Leaves by plain PyTorch in float32, tile by tile, in fixed loops: slow, for tests and for
devices without kernels.

Each tile is computed by the same operations on the same shapes, whichever run it is in: a row of
q tiles reads the context up to its own end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from .leaves import Gradients, InRows
from .plan import DELTA, DO, LSE, K, Plan, Q, Run, V
from .rows import Rows

Q_TILE, KV_TILE = 64, 128


class Reference:
    def __init__(self, scale: float) -> None:
        self.scale = scale

    def certificates(self) -> tuple[str, list[str]]:
        name = f"reference 1, PyTorch {torch.__version__}"
        return name, [name]

    def forward(
        self, plan: Plan, runs: Sequence[Run], rows: Rows
    ) -> Iterator[tuple[Run, torch.Tensor, torch.Tensor]]:
        for run in runs:
            leaves = plan.leaves_of(run)
            first, end = leaves[0].first, leaves[-1].end
            q = rows.head(Q, run.document, run.head, first, end)
            k, v = (rows.head(tensor, run.document, run.head, 0, end) for tensor in (K, V))
            o, lse = (
                torch.empty_like(q),
                torch.empty(q.shape[:2], dtype=torch.float32, device=q.device),
            )
            for at, stop in _tiles(first, end, Q_TILE):
                part = slice(at - first, stop - first)
                o[:, part], lse[:, part] = self._forward(q[:, part].float(), k, v, at, stop)
            yield run, o, lse

    def _forward(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, first: int, end: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        most = torch.full(q.shape[:2], -torch.inf, device=q.device)
        total, sums = torch.zeros_like(most), torch.zeros_like(q)
        for at, stop in _tiles(0, end, KV_TILE):
            scores = self._scores(q, k[at:stop].float(), first, at)
            larger = torch.maximum(most, scores.amax(-1))
            p, shrink = torch.exp(scores - larger[..., None]), torch.exp(most - larger)
            most, total = larger, total * shrink + p.sum(-1)
            sums = sums * shrink[..., None] + p @ v[at:stop].float()
        return (sums / total[..., None]).to(k.dtype), most + total.log()

    def _scores(self, q: torch.Tensor, k: torch.Tensor, first: int, at: int) -> torch.Tensor:
        scores = (q @ k.T) * self.scale
        of_rows = torch.arange(first, first + q.shape[1], device=q.device)
        return scores.masked_fill(
            torch.arange(at, at + k.shape[0], device=q.device) > of_rows[:, None], -torch.inf
        )

    def backward(self, plan: Plan, runs: Sequence[Run], rows: Rows) -> Iterator[Gradients]:
        for run in runs:
            for leaf in plan.leaves_of(run):
                of_rows = leaf.document, leaf.head, leaf.first, leaf.end
                q, do, lse, delta = (rows.head(tensor, *of_rows) for tensor in (Q, DO, LSE, DELTA))
                k, v = (
                    rows.head(tensor, leaf.document, leaf.head, 0, leaf.end) for tensor in (K, V)
                )
                sums, dq = torch.zeros((2, *k.shape), device=k.device), torch.empty_like(q)
                for at, stop in _tiles(leaf.first, leaf.end, Q_TILE):
                    part = slice(at - leaf.first, stop - leaf.first)
                    found = self._backward(
                        q[:, part].float(),
                        do[:, part].float(),
                        lse[:, part],
                        delta[:, part],
                        k,
                        v,
                        at,
                        stop,
                        sums,
                    )
                    dq[:, part] = (found * self.scale).to(dq.dtype)
                yield leaf, dq, InRows(sums), None

    def _backward(
        self,
        q: torch.Tensor,
        do: torch.Tensor,
        lse: torch.Tensor,
        delta: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        first: int,
        end: int,
        sums: torch.Tensor,
    ) -> torch.Tensor:
        dq = torch.zeros_like(q)
        for at, stop in _tiles(0, end, KV_TILE):
            of_k, of_v = k[at:stop].float(), v[at:stop].float()
            p = torch.exp(self._scores(q, of_k, first, at) - lse[..., None])
            ds = p * (do @ of_v.T - delta[..., None])
            dq += ds @ of_k
            sums[0, at:stop] += ds.flatten(0, 1).T @ q.flatten(0, 1)
            sums[1, at:stop] += p.flatten(0, 1).T @ do.flatten(0, 1)
        return dq


def _tiles(first: int, end: int, size: int) -> list[tuple[int, int]]:
    """From a multiple of the size on."""
    return [(at, min(at + size, end)) for at in range(first, end, size)]
