"""Leaves by dash's kernels, one launch a leaf and kv head: the sums of dK and dV are read where
the kernel leaves them, in its workspace.

A launch has the query heads of one kv head. Its order is a table for the leaf's shape, so its
bits follow from that alone; kv heads in one launch would be seen by a search. Documents of one
leaf are rounded by their kernel; short ones are packed, at level machine, where a sequence has
its bits whatever is beside it. The forward is dash's, whose rows have bits of their own. Where a
world asks for it, it is a packed operator of FlashAttention, whose rows of blocks follow from a
run's first row: PyTorch's own, or that of version 3.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping, Sequence

import torch

from ..kernel.compiler import compile_program
from ..kernel.driver import cuda_driver
from ..kernel.library import Region, library
from ..kernel.orders import order_for, q_tiles_of, texts_of
from ..kernel.problem import (
    CAUSAL,
    DASH,
    ROW,
    SEARCHED,
    Wanted,
    demand,
    for_any_sizes,
    program_of,
    refusal_of_scale,
)
from ..kernel.runtime import maker_of
from ..torch import flash3, foreign, pieces
from ..torch.forward import launch_forward
from ..torch.kernels import kernel_of, kernels_for
from ..torch.problem import ELEMENTS, refusal_of_device
from . import tree
from .kept import KeptKernel
from .leaves import Gradients
from .plan import DELTA, DO, LSE, K, Plan, Q, Run, V
from .problem import Leaf
from .rows import Rows

MOST_KERNELS = 256  # with a table of megabytes each
MOST_ROWS = 1 << 20  # of contexts that one forward takes, and that one list does
MOST_SEQUENCES = 1 << 14
# of the bound that FlashAttention is told: of lists of single rows it takes another way
FEWEST_ROWS = 2
KV_TILE = 128  # rows


def _own_forward(head_dim: int, dtype: torch.dtype) -> str:
    """Dash's forward, with its kernels that fold no heads: rows have the same bits by all, and by
    those that fold some, where contexts are short."""
    wanted = Wanted(head_dim, head_dim, ELEMENTS[dtype], CAUSAL, level=ROW, is_forward=True)
    tiles = q_tiles_of(wanted)
    kernels = [kernel_of(wanted._replace(is_list=True, q_tile=tile)) for tile in tiles]
    return " ".join(["dash, level row", *(one.certificate for one in kernels)])


class Batches:
    def __init__(
        self,
        scale: float,
        group: int,
        head_dim: int,
        dtype: torch.dtype,
        device: torch.device,
        forward: str = DASH,
    ) -> None:
        demand(refusal_of_device(device.index))
        self.forward_by = forward
        demand(flash3.refusal_of(dtype, head_dim) if forward == flash3.NAME else None)
        demand(refusal_of_scale(scale) if forward == DASH else None)
        self.scale, self.group, self.head_dim, self.dtype, self.device = (
            scale,
            group,
            head_dim,
            dtype,
            device,
        )

    def certificates(self) -> tuple[str, list[str]]:
        dims = self.head_dim, self.head_dim
        if self.forward_by == flash3.NAME:
            of_forward = flash3.operator_of_forward()
        elif self.forward_by == DASH:
            of_forward = _own_forward(self.head_dim, self.dtype)
        else:
            of_forward = foreign.operator_of_forward(CAUSAL, *dims, is_list=True)
        return of_forward, list(_certificates(self.head_dim, self.dtype, self.group))

    # ---- Forward ---------------------------------------------------------------------------------

    def forward(
        self, plan: Plan, runs: Sequence[Run], rows: Rows
    ) -> Iterator[tuple[Run, torch.Tensor, torch.Tensor]]:
        ends = {
            run: (
                plan.leaves.of(run.document)[run.first_leaf][0],
                plan.leaves.of(run.document)[run.end_leaf - 1][1],
            )
            for run in runs
        }
        for some in _cut(list(runs), [ends[run][1] for run in runs]):
            lengths = [ends[run][1] - ends[run][0] for run in some], [ends[run][1] for run in some]
            q = self._packed(self.group, lengths[0])
            k, v = (self._packed(1, lengths[1]) for _ in range(2))
            for run, of_q, of_k in zip(some, _parts(lengths[0]), _parts(lengths[1])):
                first, end = ends[run]
                rows.read(Q, run.document, run.head, first, end, q[of_q].transpose(0, 1)[None])
                for tensor, out in ((K, k), (V, v)):
                    rows.read(
                        tensor, run.document, run.head, 0, end, out[of_k].transpose(0, 1)[None]
                    )
            cu_q, cu_k = (_offsets(one, self.device) for one in lengths)
            bounds = [max(FEWEST_ROWS, *one) for one in lengths]
            if self.forward_by == DASH:
                o, lse = launch_forward(q, k, v, *CAUSAL, self.scale, cu_q=cu_q, cu_k=cu_k)
            elif self.forward_by == flash3.NAME:
                o, lse = flash3.forward(
                    q, k, v, cu_q, cu_k, *bounds, is_causal=True, scale=self.scale
                )
            else:
                o, lse = foreign.of_sequences(q, k, v, cu_q, cu_k, *bounds, *CAUSAL, self.scale)
            for run, of_q in zip(some, _parts(lengths[0])):
                yield run, o[of_q].transpose(0, 1), lse[:, of_q]

    def _packed(self, heads: int, lengths: Sequence[int]) -> torch.Tensor:
        return torch.empty(
            (sum(lengths), heads, self.head_dim), dtype=self.dtype, device=self.device
        )

    # ---- Backward --------------------------------------------------------------------------------

    def backward(self, plan: Plan, runs: Sequence[Run], rows: Rows) -> Iterator[Gradients]:
        leaves = [leaf for run in runs for leaf in plan.leaves_of(run)]
        packed = [leaf for leaf in leaves if leaf.is_packed]
        for some in _cut(packed, [leaf.context for leaf in packed]):
            yield from self._list(some, rows)
        for leaf in leaves:
            if not leaf.is_packed:
                yield self._whole(leaf, rows) if leaf.is_whole else self._leaf(leaf, rows)

    def _list(self, leaves: Sequence[Leaf], rows: Rows) -> Iterator[Gradients]:
        """Documents one behind the other, each kv head as a sequence."""
        lengths = [leaf.end for leaf in leaves]
        q, do, dq = (self._packed(self.group, lengths) for _ in range(3))
        k, v, dk, dv = (self._packed(1, lengths) for _ in range(4))
        lse, delta = (
            torch.empty((self.group, sum(lengths)), dtype=torch.float32, device=self.device)
            for _ in range(2)
        )
        for leaf, at in zip(leaves, _parts(lengths)):
            where = leaf.document, leaf.head, 0, leaf.end
            for tensor, out in ((Q, q), (DO, do), (K, k), (V, v)):
                rows.read(tensor, *where, out[at].transpose(0, 1)[None])
            for tensor, out in ((LSE, lse), (DELTA, delta)):
                rows.read(tensor, *where, out[None, :, at])
        kernels = kernels_for((self.head_dim,) * 2, self.dtype, CAUSAL, "machine", takes_delta=True)
        cu = _offsets(lengths, self.device)
        pieces.backward_of_sequences(
            kernels,
            self.scale,
            q=q,
            k=k,
            v=v,
            do=do,
            lse=lse,
            dq=dq,
            dk=dk,
            dv=dv,
            delta=delta,
            cu_seqlens_q=cu,
            cu_seqlens_kv=cu,
        )
        for leaf, at in zip(leaves, _parts(lengths)):
            yield leaf, dq[at].transpose(0, 1), None, (dk[at, 0], dv[at, 0])

    def _given(self, leaf: Leaf, rows: Rows) -> dict[str, torch.Tensor]:
        """What a kernel takes, [1, heads, rows, head_dim] or [1, heads, rows], filled up with rows
        that see nothing and that no row sees."""
        found = {}
        for name, tensor, of_q in (
            ("q", Q, True),
            ("do", DO, True),
            ("k", K, False),
            ("v", V, False),
            ("lse", LSE, True),
            ("delta", DELTA, True),
        ):
            first, count = (leaf.first, leaf.q_rows) if of_q else (0, leaf.context)
            shape = rows.form.shape(tensor, 1, count)
            out = torch.empty(shape, dtype=rows.form.dtype_of(tensor), device=self.device)
            rows.read(
                tensor, leaf.document, leaf.head, first, leaf.end, out[:, :, : leaf.end - first]
            )
            out[:, :, leaf.end - first :] = torch.inf if tensor == LSE else 0
            found[name] = out
        return found | {f"d{name}": torch.empty_like(found[name]) for name in "qkv"}

    def _whole(self, leaf: Leaf, rows: Rows) -> Gradients:
        """Gradients of a document of one leaf, rounded by the kernel that its size takes."""
        given = self._given(leaf, rows)
        wanted = order_for(
            Wanted(self.head_dim, self.head_dim, ELEMENTS[self.dtype], CAUSAL, takes_delta=True),
            1,
            self.group,
            1,
            leaf.q_rows,
            leaf.context,
        ).wanted
        kernel_of(wanted).backward(o=None, **given, scale=self.scale)
        dq, dk, dv = (given[name][0] for name in ("dq", "dk", "dv"))
        return leaf, dq[:, : leaf.end], None, (dk[0, : leaf.end], dv[0, : leaf.end])

    def _leaf(self, leaf: Leaf, rows: Rows) -> Gradients:
        given = self._given(leaf, rows)
        kernel = kernel_of_leaf(self.head_dim, self.dtype, self.group, leaf.q_rows, leaf.context)
        launch = kernel.bind(o=None, **given, scale=self.scale)
        sums = InFragments(
            launch.run_kept(),
            launch.plan.regions(),
            leaf.end,
            leaf.context,
            self.head_dim,
            kernel.manifest["program"]["tiles"]["q"],
        )
        return leaf, given["dq"][0, :, : leaf.end - leaf.first], sums, None


class InFragments:
    """The sums of dK and dV that a kernel left in its workspace. Their tiles have the columns of
    the kernel's, which may be more than the head dim. end: rows of them; context: as computed."""

    def __init__(
        self,
        memory: torch.Tensor,
        regions: Mapping[str, Region],
        end: int,
        context: int,
        head_dim: int,
        q_tile: int,
    ) -> None:
        self.words = [
            memory[one.offset : one.offset + one.bytes].view(torch.float32)
            for one in (regions["dk_sum"], regions["dv_sum"])
        ]
        self.distance = (regions["dv_sum"].offset - regions["dk_sum"].offset) // 4
        self.tiles, self.pieces = -(-context // KV_TILE), KV_TILE // q_tile
        self.columns = self.words[0].numel() // (self.tiles * KV_TILE)
        self.shape = 2, end, head_dim

    def rows(self, left: torch.Tensor | None = None) -> torch.Tensor:
        words, (_, end, head_dim) = self.words[0], self.shape
        kernels = tree.in_one_pass() if words.is_cuda else None
        if kernels is not None and (left is None or left[0].is_contiguous()):
            out = words.new_empty(self.shape)
            kernels.take(words, self.distance, left, out, self.columns, self.pieces)
            return out
        every = words.new_empty((2, self.tiles * KV_TILE, self.columns))
        for out, one in zip(every, self.words):
            write_rows(one, out, self.pieces)
        found = every[:, :end, :head_dim]
        return found if left is None else tree.fold(left, found)


def write_rows(words: torch.Tensor, out: torch.Tensor, count: int) -> None:
    """words: sums in fragment order, piece after piece (docs/binary-interface.md); out: the same
    as [rows, columns], whole kv tiles; count: of pieces, each of columns."""
    width = out.shape[1] // count
    # tile, piece, warpgroup, i, warp, lane / 4, lane % 4, r, e
    fragments = words.view(-1, count, 2, width // 8, 4, 8, 4, 2, 2)
    # tile, warpgroup, warp, r, lane / 4, piece, i, lane % 4, e
    rows = out.view(-1, 2, 4, 2, 8, count, width // 8, 4, 2)
    rows.permute(0, 5, 1, 6, 2, 4, 7, 3, 8).copy_(fragments)


def wanted_of_leaf(
    head_dim: int, dtype: torch.dtype, group: int, q_rows: int, context: int
) -> Wanted:
    """In parts, so that there are sums: two of the query heads; of an odd number of heads each
    by itself; of one head two runs of its q tiles."""
    parts = 2 if group % 2 == 0 or group == 1 else group
    return Wanted(
        head_dim,
        head_dim,
        ELEMENTS[dtype],
        CAUSAL,
        SEARCHED,
        parts,
        has_runs=group == 1,
        sizes=(1, group, 1, q_rows, context),
        takes_delta=True,
    )


@functools.lru_cache(maxsize=MOST_KERNELS)
def kernel_of_leaf(
    head_dim: int, dtype: torch.dtype, group: int, q_rows: int, context: int
) -> KeptKernel:
    return KeptKernel(
        maker_of(texts_of(wanted_of_leaf(head_dim, dtype, group, q_rows, context))), cuda_driver()
    )


@functools.lru_cache(maxsize=None)
def _certificates(head_dim: int, dtype: torch.dtype, group: int) -> tuple[str, ...]:
    """Certificates of the programs of leaves and of lists. Which orders are found for which shapes,
    and which program a whole document takes, is libdash's."""
    found = [f"orders of dash {library().dashGetVersion().text}"]
    for wanted in (
        for_any_sizes(wanted_of_leaf(head_dim, dtype, group, 1, 1)),
        Wanted(
            head_dim,
            head_dim,
            ELEMENTS[dtype],
            CAUSAL,
            level="machine",
            is_list=True,
            takes_delta=True,
        ),
    ):
        program, options, name = program_of(wanted)
        found.append(
            json.loads(compile_program(program, options, name=name)[0].manifest)["certificate"]
        )
    return tuple(found)


def _parts(lengths: Sequence[int]) -> list[slice]:
    found, at = [], 0
    for length in lengths:
        found.append(slice(at, at + length))
        at += length
    return found


def _offsets(lengths: Sequence[int], device: torch.device) -> torch.Tensor:
    return torch.tensor([0, *lengths]).cumsum(0).int().to(device)


def _cut(items: list, rows: Sequence[int]) -> Iterator[list]:
    """As many at a time as there are rows for."""
    some: list = []
    total = 0
    for item, count in zip(items, rows):
        if some and (total + count > MOST_ROWS or len(some) == MOST_SEQUENCES):
            yield some
            some, total = [], 0
        some.append(item)
        total += count
    if some:
        yield some
