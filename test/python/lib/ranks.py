"""Processes of torch.distributed by gloo. They are forks: what is imported once need not be
imported by each."""

from __future__ import annotations

import json
import multiprocessing
import os
import socket
import sys
import traceback
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist

SECONDS = 60
_forks = multiprocessing.get_context("fork")


def _written(tensor: torch.Tensor) -> dict[str, Any]:
    """Not by shared memory, which goes with the process."""
    return {
        "dtype": str(tensor.dtype).removeprefix("torch."),
        "shape": tensor.shape,
        "bytes": tensor.contiguous().view(-1).view(torch.uint8).numpy().tobytes().hex(),
    }


def _read(record: dict[str, Any]) -> torch.Tensor:
    dtype, data = getattr(torch, record["dtype"]), bytearray.fromhex(record["bytes"])
    return (torch.frombuffer(data, dtype=dtype) if data else torch.empty(0, dtype=dtype)).view(
        record["shape"]
    )


def _run(
    rank: int, size: int, port: int, work: Callable[..., Any], arguments: tuple[Any, ...], out: Any
) -> None:
    status = 1
    try:
        torch.set_num_threads(1)
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), GLOO_SOCKET_IFNAME="lo")
        dist.init_process_group("gloo", rank=rank, world_size=size)
        out.send_bytes(json.dumps(work(rank, *arguments), default=_written).encode())
        status = 0
    except BaseException:  # noqa: BLE001
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        # A thread of gloo that lets go of a tensor while the interpreter ends aborts the process.
        os._exit(status)


def on_ranks(
    size: int, work: Callable[..., Any], *arguments: Any, killed: tuple[int, ...] = ()
) -> list[Any]:
    """What work(rank, *arguments) gives on each rank; None of those that have to be killed."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    pipes = [_forks.Pipe(duplex=False) for _ in range(size)]
    processes = [
        _forks.Process(target=_run, args=(rank, size, port, work, arguments, pipes[rank][1]))
        for rank in range(size)
    ]
    for process, (_, ours) in zip(processes, pipes):
        process.start()
        ours.close()
    try:
        found = []
        for rank, (out, _) in enumerate(pipes):
            if rank in killed:
                found.append(None)
                continue
            if not out.poll(SECONDS):
                raise AssertionError(f"rank {rank} says nothing for {SECONDS} seconds")
            try:
                found.append(json.loads(out.recv_bytes(), object_hook=_read))
            except EOFError:
                raise AssertionError(f"rank {rank} failed") from None
        return found
    finally:
        for process in processes:
            process.kill()
            process.join()
