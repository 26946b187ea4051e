"""Exchanges by torch.distributed: NCCL between GPUs, gloo between CPUs, and between GPUs through
pinned memory."""

from __future__ import annotations

import contextlib
import datetime
import functools
import os
import time
from collections.abc import Iterator, Mapping
from typing import Any

import torch
import torch.distributed as dist

from ..errors import ArgumentError
from ..kernel.driver import cuda_driver
from .agreement import agree
from .exchange import Program, Transfer, splits
from .failures import Watch
from .members import Members, members_of, new_group
from .plan import Phase
from .problem import Problem, refusal_of_node
from .under_way import Recorded, UnderWay

TIMEOUT = datetime.timedelta(minutes=10)
# As much longer PyTorch's watchdog waits for NCCL before it ends the process: the rank that is late
# is named first.
SPARE = datetime.timedelta(minutes=1)
_made: dict[Any, Groups] = {}  # of this process, by ranks, device and nodes
_count: dict[tuple[int, ...], int] = {}


def groups_of(
    group: Any,
    device: torch.device | None,
    ranks_per_node: int | None,
    timeout: datetime.timedelta | None,
) -> Groups:
    """Made by all ranks of the group when it is first asked for; the same from then on."""
    if not dist.is_initialized():
        raise ArgumentError(
            "ranks: expected torch.distributed to be initialized:"
            " torch.distributed.init_process_group"
        )
    if hasattr(group, "get_group"):  # a device mesh
        if group.ndim != 1:
            raise ArgumentError(
                f"ranks: expected a device mesh of one dimension, found {group.ndim}: mesh[name]"
                " is one"
            )
        group = group.get_group()
    ranks = tuple(dist.get_process_group_ranks(group))
    if dist.get_rank() not in ranks:
        raise ArgumentError(
            f"ranks: expected a group that this rank, {dist.get_rank()}, is in, found one of"
            f" {ranks}"
        )
    has_nccl = "cuda" in str(dist.get_backend_config(group)) and "nccl" in str(
        dist.get_backend_config(group)
    )
    if device is None:
        device = (
            torch.device("cuda", torch.cuda.current_device())
            if has_nccl and torch.cuda.is_available()
            else torch.device("cpu")
        )
    for (others, *_), one in _made.items():
        if others == ranks and one.is_alive():
            one.demand_whole()
    reason = refusal_of_node(ranks_per_node) or refusal_of_timeout(timeout)
    within = TIMEOUT if reason or timeout is None else timeout
    members = members_of(ranks, within)
    per_node = local_size(ranks) if ranks_per_node is None else ranks_per_node
    kind = Groups if has_nccl or device.type != "cuda" else Staged
    fields = {"ranks_per_node": per_node, "device": device.type, "exchange": kind.__name__}
    members.agree(fields, ArgumentError(reason) if reason else None)
    key = (ranks, device, per_node)
    found = _made.get(key)
    if found is None or not found.is_alive():
        found = _made[key] = kind(members, ranks, device, per_node, within)
    return found


def refusal_of_timeout(timeout: Any) -> str | None:
    if timeout is None or isinstance(timeout, datetime.timedelta) and timeout.total_seconds() > 0:
        return None
    return f"timeout: expected None or a datetime.timedelta above 0, found {timeout!r}"


def local_size(ranks: tuple[int, ...]) -> int:
    """Ranks of a node, as who started the processes says; all, where the group is not made of
    whole nodes."""
    local = os.environ.get("LOCAL_WORLD_SIZE", "")
    size = int(local) if local.isdigit() and int(local) > 0 else len(ranks)
    is_whole = len(ranks) % size == 0 and all(
        ranks[i] % size == i % size and ranks[i] // size == ranks[i - i % size] // size
        for i in range(len(ranks))
    )
    return size if is_whole else len(ranks)


class Groups:
    """Separate groups for all ranks and for those of a node, so that no other exchanges come
    between; on CUDA devices also a separate stream."""

    @property
    def overlaps(self) -> bool:
        return self._stream is not None

    def __init__(
        self,
        members: Members,
        ranks: tuple[int, ...],
        device: torch.device,
        per_node: int,
        timeout: datetime.timedelta,
    ) -> None:
        self.members, self.device, self.timeout, self.per_node = (
            members,
            device,
            timeout,
            per_node,
        )
        self.rank, self.size = ranks.index(dist.get_rank()), len(ranks)
        self.ranks = (self.rank,)
        backend = self._backend()
        first = self.rank // per_node * per_node

        def group(some: tuple[int, ...], name: str) -> Any:
            return new_group(some, backend, name, timeout + SPARE * (backend == "nccl"))

        self._all = group(ranks, "all")
        self._node = (
            self._all if per_node >= self.size else group(ranks[first : first + per_node], "node")
        )
        number = _count[ranks] = _count.get(ranks, 0) + 1
        name = (
            f"dash world {number} of {'-'.join(map(str, ranks)) if self.size < 16 else hash(ranks)}"
        )
        self._under_way = UnderWay()
        self.watch = Watch(
            dist.PrefixStore(name, dist.distributed_c10d._get_default_store()),
            self.rank,
            self.size,
            self._abort,
            self.is_alive,
            self._under_way,
            timeout.total_seconds(),
        )
        self.worlds = 0
        self._stream = torch.cuda.Stream(device) if device.type == "cuda" else None

    def is_alive(self) -> bool:
        """Whether torch.distributed is what it was when these groups were made."""
        return self.members.is_alive()

    def _backend(self) -> str:
        return "nccl" if self.device.type == "cuda" else "gloo"

    def _abort(self) -> None:
        """Ends kernels of NCCL that wait; waits on the host end by themselves."""
        if self._backend() == "nccl":
            for group in {id(one): one for one in (self._all, self._node)}.values():
                with contextlib.suppress(Exception):
                    group._get_backend(self.device).abort()

    def guard(self, where: str, call: int = 0) -> Any:
        """Inside of it, what is raised ends the other ranks."""
        self.demand_whole()
        return self.watch.at(where, call)

    def demand_whole(self) -> None:
        if self.watch.has_failed:
            raise self.watch.explain("")

    def agree(self, fields: Mapping[str, Any], refusal: Exception | None = None) -> None:
        self.demand_whole()
        self.worlds += 1
        # an error that all ranks raise ends no rank
        with self.watch.named("an agreement on a world"):
            agree(self._gather, {"number of worlds": self.worlds, **fields}, refusal)

    def gather(self, mine: torch.Tensor) -> list[torch.Tensor]:
        """Numbers of all ranks, as many as each has."""
        with self.guard("a gathering of numbers"):
            sizes = [int(one) for one in self._gather(torch.tensor([mine.numel()]))]
            padded = torch.cat([mine, mine.new_zeros(max(sizes) - mine.numel())])
            return [one[:size] for one, size in zip(self._gather(padded), sizes)]

    def _gather(self, mine: torch.Tensor) -> list[torch.Tensor]:
        found = [torch.empty_like(mine) for _ in range(self.size)]
        self._wait(dist.all_gather(found, mine, group=self.members.control, async_op=True))
        return found

    def _wait(self, work: Any) -> None:
        """On the host, for gloo. Ends when another rank fails, and names it."""
        end, pause = time.monotonic() + self.timeout.total_seconds(), 1e-5
        while not work.is_completed():
            if self.watch.has_failed or time.monotonic() > end:
                raise self.watch.explain(
                    ""
                    if self.watch.has_failed
                    else f"nothing came for {self.timeout.total_seconds():g} seconds"
                )
            time.sleep(pause)
            pause = min(2 * pause, 2e-3)
        try:
            work.wait()
        except RuntimeError as error:
            raise self.watch.explain(str(error).split("\n")[0][:300]) from error

    # ---- Programs --------------------------------------------------------------------------------

    def start(self, programs: Mapping[int, Program], problem: Problem) -> Any:
        (program,) = programs.values()
        with self._aside() as event:
            for transfer in program:
                with self.guard(f"{self.watch.where}, phase '{transfer.phase.name}'"):
                    self._transfer(transfer, problem)
        return event

    def stream(self) -> Any:
        return contextlib.nullcontext() if self._stream is None else torch.cuda.stream(self._stream)

    @contextlib.contextmanager
    def _aside(self) -> Iterator[Any]:
        """On the stream of exchanges, behind all that was launched until now."""
        if self._stream is None:
            yield None
            return
        event = torch.cuda.Event()
        self._stream.wait_stream(torch.cuda.current_stream(self.device))
        with self.stream():
            yield event
            event.record(self._stream)

    def finish(self, started: Any) -> None:
        if started is not None:
            torch.cuda.current_stream(self.device).wait_event(started)

    def _transfer(self, transfer: Transfer, problem: Problem) -> None:
        phase, send, receive = transfer
        self._all_to_all(
            phase,
            receive.view(torch.int32),
            send.view(torch.int32),
            *splits(phase, self.rank, problem),
        )

    def _all_to_all(
        self,
        phase: Phase,
        receive: torch.Tensor,
        send: torch.Tensor,
        sent: list[int],
        received: list[int],
    ) -> None:
        group = self._node if phase.of_node else self._all
        if self._stream is not None:
            dist.all_to_all_single(receive, send, received, sent, group=group)
            if not torch.cuda.is_current_stream_capturing():
                event = torch.cuda.Event()
                event.record(self._stream)
                on_device = functools.partial(torch.cuda.device, self.device)
                recorded = Recorded(event, cuda_driver(), on_device)
                self._under_way.add(self.watch.where, self.watch.call, recorded)
        else:
            self._wait(
                dist.all_to_all_single(receive, send, received, sent, group=group, async_op=True)
            )


class Staged(Groups):
    """CUDA tensors over gloo, through pinned memory: several processes on one GPU. Exchanges
    wait on the host."""

    @property
    def overlaps(self) -> bool:
        return False

    def _backend(self) -> str:
        return "gloo"

    def _all_to_all(
        self,
        phase: Phase,
        receive: torch.Tensor,
        send: torch.Tensor,
        sent: list[int],
        received: list[int],
    ) -> None:
        there, here = (
            torch.empty(one.shape, dtype=one.dtype, pin_memory=True) for one in (send, receive)
        )
        there.copy_(send)  # waits for the device
        group = self._node if phase.of_node else self._all
        self._wait(dist.all_to_all_single(here, there, received, sent, group=group, async_op=True))
        receive.copy_(here)
