"""A world: documents, the ranks that share them, and a plan, for all layers of a micro-batch."""

from __future__ import annotations

import contextvars
import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch

from ..errors import ArgumentError, CapacityError, LibraryError
from ..kernel.library import library
from ..kernel.problem import demand, plain
from .exchange import Exchange, Together
from .kernels import kernel_named
from .layout import local_rows, places_of, shifted
from .plan import Plan
from .problem import (
    Problem,
    kept_of,
    packed_homes,
    plain_homes,
    plain_numbers,
    refusal_of_node,
    refuse_options,
    scale_of,
)
from .proof import added, hash_of_rows
from .reserve import reserve
from .rows import format_of
from .twice import Corruption, Twice

ELEMENTS = {torch.bfloat16: "bf16", torch.float16: "f16"}
FIELDS = (
    "documents",
    "homes",
    "heads",
    "kv_heads",
    "head_dim",
    "causal",
    "ranks_per_node",
    "speeds",
    "cut",
)
MOST_PLANS = 64  # that are kept

certificates: set[str] = set()  # of worlds of this process, for dash_attn.audit
_plan = functools.lru_cache(maxsize=MOST_PLANS)(Plan)
_current: contextvars.ContextVar[World | None] = contextvars.ContextVar("world", default=None)


class World:
    """Distributes the work on documents whose rows lie on several GPUs. No bit of O, dQ, dK and dV
    depends on the distribution.

    ranks:          a number of virtual ranks in this process, or a process group or a device mesh
                    of one dimension.
    documents:      rows of each, which the host knows; the same on all ranks.
    homes:          which rows lie where: (rank, document, first row, rows) each, of a rank in the
                    order of its rows. None: all documents one behind the other in equal shares,
                    rank r from row total * r // ranks on.
    kind, seed:     of the plan; no bit follows from them.
    kept:           what came for a forward and stays with its server to the backward: "inputs",
                    all; "none", it is sent again; or a number of bytes of a rank, for each call of
                    attention. Documents with few rows come first.
    speeds:         of each rank, in thousandths of the usual: slow ones get less.
    memory:         bytes that buffers may take on a rank; 0: any.
    cut:            version of the cut into leaves; 0 is scaled down, for tests.
    halves:         whether `attention` computes kv heads in two halves, so that one travels while
                    the other is computed; None: where it can.
    ranks_per_node: None: LOCAL_WORLD_SIZE, as torchrun sets it, where the group is made of whole
    nodes, else all.
    kernel:         what computes leaves: "batches", dash's kernels, on CUDA devices; "reference",
                    plain PyTorch.
    forward:        what computes the forward of "batches": "dash", its own; "flash2", PyTorch's
                    packed FlashAttention; "flash3", FlashAttention-3's, where a package of it is
                    installed. "": dash. Another forward is another certificate.
    device:         None: the current CUDA device where the group can use it, else the CPU.
    twice:          the share of leaves that another rank computes again in each backward, such as
                    1/64; `checked` says whether all agreed.
    on_corruption:  what `checked` does where not: "raise", "log" (a warning), or a function of
    the list of `Corruption`.
    timeout:        a datetime.timedelta, of the groups that are made for these ranks; None: ten
                    minutes.
    Any option of attention that a world does not serve may be given with its neutral value.

    Raises ArgumentError where something is refused, before anything is sent; the same on all ranks,
    also where they disagree.
    """

    def __init__(
        self,
        ranks: Any,
        documents: Sequence[int],
        *,
        heads: int,
        kv_heads: int,
        head_dim: int,
        dtype: torch.dtype = torch.bfloat16,
        homes: Any = None,
        kind: str = "heads-first",
        seed: int = 0,
        scale: float | None = None,
        causal: bool = True,
        kept: str | int = "none",
        ranks_per_node: int | None = None,
        speeds: Sequence[int] = (),
        memory: int = 0,
        cut: int = 1,
        halves: bool | None = None,
        kernel: str = "",
        forward: str = "",
        device: Any = None,
        timeout: Any = None,
        twice: float = 0.0,
        on_corruption: Any = "raise",
        **options: Any,
    ) -> None:
        self.exchange: Exchange = exchange_of(ranks, device, ranks_per_node, timeout)
        refusal, fields = None, {}
        with self.exchange.guard("making a world"):
            try:
                refuse_options(options)
                demand(
                    None
                    if dtype in ELEMENTS
                    else f"dtype: expected torch.bfloat16 or torch.float16, found {dtype}"
                )
                size, lengths = self.exchange.size, plain_numbers("documents", documents)
                homes = packed_homes(lengths, size) if homes is None else plain_homes(homes)
                sizes = {
                    "heads": heads,
                    "kv_heads": kv_heads,
                    "head_dim": head_dim,
                    "ranks_per_node": self.exchange.per_node,
                    "cut": cut,
                }
                (memory,) = plain_numbers("memory", [memory])
                demand(
                    None
                    if memory >= 0
                    else f"memory: expected at least 0 bytes, or 0 for any, found {memory}"
                )
                demand(
                    None
                    if halves is None or isinstance(halves, bool)
                    else f"halves: expected True, False or None, found {halves!r}"
                )
                self.problem = Problem(
                    lengths,
                    homes,
                    size,
                    element=ELEMENTS[dtype],
                    causal=plain(causal) is True,
                    kept=kept_of(kept),
                    speeds=plain_numbers("speeds", speeds),
                    **{name: plain_numbers(name, [size])[0] for name, size in sizes.items()},
                )
                self.plan, self.dtype, self.scale = (
                    _plan(self.problem, kind, seed),
                    dtype,
                    scale_of(scale, head_dim),
                )
                self.kernel = kernel_named(
                    kernel,
                    self.scale,
                    self.problem.group,
                    head_dim,
                    dtype,
                    self.exchange.device,
                    forward,
                )
                self.form = format_of(self.problem, dtype, self.exchange.device)
                self.halves = (
                    self.exchange.overlaps if halves is None else bool(halves)
                ) and kv_heads > 1
                self.twice = Twice(twice, on_corruption, size)
                self.calls = 0  # of attention
                reserve(self.parts, self.exchange, memory)
                fields = {
                    **{name: getattr(self.problem, name) for name in FIELDS},
                    "dtype": str(dtype),
                    "scale": self.scale,
                    "kind": kind,
                    "seed": seed,
                    "memory": memory,
                    "kept": plain(kept),
                    "twice": twice,
                    "halves": self.halves,
                    "version of dash": library().dashGetVersion().text,
                    "certificate": self.certificate,
                }
            except (ArgumentError, CapacityError, LibraryError) as error:
                refusal = error
        self.exchange.agree(fields, refusal)
        certificates.add(self.certificate)
        self.number = self.exchange.worlds

    @functools.cached_property
    def certificate(self) -> str:
        """ "sha256:…" of all that fixes bits: cut, tree, heads, mask, and what computes leaves;
        not ranks, documents, homes and plan."""
        return self.plan.leaves.certificate(*self.kernel.certificates())

    @functools.cached_property
    def parts(self) -> list[Plan]:
        """Plans that one call of `attention` goes through, of kv heads one behind the other."""
        if not self.halves:
            return [self.plan]
        problem, first = self.problem, self.problem.kv_heads // 2
        return [
            _plan(
                replace(
                    problem,
                    heads=count * problem.group,
                    kv_heads=count,
                    kept=problem.kept * count // problem.kv_heads
                    if problem.kept > 0
                    else problem.kept,
                    _local={},
                ),
                self.plan.kind,
                self.plan.seed,
            )
            for count in (first, problem.kv_heads - first)
        ]

    def refusal_of(self, tensors: Sequence[Any], rank: int) -> str | None:
        """Why these are not the rank's q, k and v; None if they are."""
        rows, problem = self.problem.rows(rank), self.problem
        for name, tensor, heads in zip(
            "qkv", tensors, (problem.heads, problem.kv_heads, problem.kv_heads)
        ):
            if type(tensor) is not torch.Tensor and not isinstance(tensor, torch.nn.Parameter):
                return (
                    f"{name}: expected a plain tensor, found {type(tensor).__name__};"
                    " dash_attn.distributed takes each rank's own"
                    f" rows{': DTensor.to_local()' if type(tensor).__name__ == 'DTensor' else ''}"
                )
            shape = (rows, heads, problem.head_dim)
            if tuple(tensor.shape) != shape:
                return (
                    f"{name}: expected [rows, heads, head_dim] of {shape}, rank {rank}'s homes in"
                    f" this world, found the shape {tuple(tensor.shape)}"
                )
            if tensor.dtype != self.dtype:
                return (
                    f"{name}: expected {self.dtype}, found {tensor.dtype}; cast it, or make the"
                    f" world with dtype={tensor.dtype}"
                )
            if tensor.device != self.exchange.device:
                return (
                    f"{name}: expected a tensor on '{self.exchange.device}', found one on"
                    f" '{tensor.device}'"
                )
        return None

    def shard(self, rows: torch.Tensor) -> Any:
        """This rank's rows of a tensor of all rows, [all rows, …]; of virtual ranks a list."""
        return self._of_ranks(
            [local_rows(self.problem, rank, rows) for rank in self.exchange.ranks]
        )

    def positions(self) -> Any:
        """The positions of this rank's rows in their documents, int64, on the world's device;
        for virtual ranks, a list."""
        return self._of_ranks(
            [
                places_of(self.problem, rank)[1].to(self.exchange.device)
                for rank in self.exchange.ranks
            ]
        )

    def labels(self, tokens: torch.Tensor) -> Any:
        """This rank's rows of the tokens that come next, of tokens of all rows; -100 behind a
        document's last one. Losses over them take no further shift, and means over ranks have to
        count what is not -100."""
        return self.shard(shifted(self.problem, tokens))

    def _of_ranks(self, found: list[Any]) -> Any:
        return found if isinstance(self.exchange, Together) else found[0]

    def hashes(self, *tensors: Any) -> list[int]:
        """One number of each for all ranks: the same for any number of ranks, wherever rows lie,
        and different if one bit differs. Takes o, dq, dk, dv, the LSE as [rows, heads], or
        anything else of a rank's own rows, [rows, …]; for virtual ranks, a list with one for
        each. All ranks must call it; one small exchange on the CPU, which waits for the device."""
        ranks = self.exchange.ranks
        with self.exchange.guard("hashes of results"):
            given = [one if isinstance(one, (list, tuple)) else [one] for one in tensors]
            mine = [
                torch.stack(
                    [
                        hash_of_rows(self.problem, rank, one)
                        for rank, one in zip(ranks, of_ranks, strict=True)
                    ]
                ).sum()
                for of_ranks in given
            ]
            found = torch.stack(mine).cpu() if mine else torch.empty(0, dtype=torch.int64)
        return [
            added(of_all) for of_all in zip(*(one.tolist() for one in self.exchange.gather(found)))
        ]

    def checked(self) -> list[Corruption]:
        """Which leaves of backwards since the last time differed where they were computed twice,
        with the rank that is wrong: a third one is asked. To be called by all ranks, before
        weights are changed. Raises CorruptionError, or what `on_corruption` says; one small
        exchange on the CPU, which waits for the device."""
        with self.exchange.guard("a comparison of leaves that were computed twice"):
            found = self.twice.check(self.exchange, self.kernel, self.form)
        self.twice.act(found)
        return found

    @contextmanager
    def as_current(self) -> Iterator[World]:
        """The world of calls of `attention` without one."""
        token = _current.set(self)
        try:
            yield self
        finally:
            _current.reset(token)

    def __repr__(self) -> str:
        return (
            f"World of {len(self.problem.documents)} documents, {sum(self.problem.documents)} rows,"
            f" on {self.problem.ranks} ranks, {self.plan.kind}"
        )


def current_world() -> World | None:
    return _current.get()


def exchange_of(
    ranks: Any, device: Any, ranks_per_node: int | None, timeout: Any = None
) -> Exchange:
    where = None if device is None else torch.device(device)
    if where is not None and where.type == "cuda" and where.index is None:
        where = torch.device("cuda", torch.cuda.current_device())
    if isinstance(ranks, int) and not isinstance(ranks, bool):
        if not 1 <= ranks <= 1 << 16:
            raise ArgumentError(f"ranks: expected from 1 to 65536 virtual ranks, got {ranks}")
        demand(refusal_of_node(ranks_per_node))
        return Together(
            ranks, where or torch.device("cpu"), ranks if ranks_per_node is None else ranks_per_node
        )
    if torch.distributed.is_available() and (
        isinstance(ranks, torch.distributed.ProcessGroup) or hasattr(ranks, "get_group")
    ):
        from .groups import groups_of

        return groups_of(ranks, where, ranks_per_node, timeout)
    raise ArgumentError(
        "ranks: expected a number of virtual ranks, a process group or a device mesh, found"
        f" {type(ranks).__name__}"
    )
