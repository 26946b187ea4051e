# RUN: rm -rf %t && mkdir -p %t && %torch_python %s %t
# REQUIRES: torch, plain-libdash
"""Ranks of a world of which one stops, one dies, or one is late: the watches of the others write
where they wait, and the reports together name the rank."""

from __future__ import annotations

import datetime
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from ranks import on_ranks  # noqa: E402
from worlds import DOCUMENTS, local, made, whole  # noqa: E402

from dash_attn import hang  # noqa: E402
from dash_attn.distributed import RankError, attention  # noqa: E402
from dash_attn.hang.ranks import load  # noqa: E402

TMP = Path(sys.argv[1])
TIMEOUT, PATIENT = 1.0, datetime.timedelta(seconds=12)


def work(rank: int, how: str) -> str:
    world = made(dist.group.WORLD, DOCUMENTS, kind="random", timeout=PATIENT)
    q, k, v, do = local(world, rank, whole())
    with hang.watch(TIMEOUT, folder=TMP / how):
        o = attention(q, k, v, world=world)
        if rank == 1:
            if how == "stops":
                os.kill(os.getpid(), signal.SIGSTOP)
            if how == "dies":
                os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(60)  # is late
        begin = time.monotonic()
        try:
            torch.autograd.grad(o, (q, k, v), do)
        except RankError as error:
            if how != "dies":
                assert time.monotonic() - begin > PATIENT.total_seconds() / 2
            time.sleep(0.5)  # the process that has the store goes last
            return str(error)
    raise AssertionError("expected an error, found none")


def lines_of(how: str) -> list[str]:
    return hang.explain_ranks([load(path) for path in sorted((TMP / how).glob("hang-*.json"))])


def main() -> None:
    for how in ("stops", "late"):
        said: list[Any] = on_ranks(3, work, how, killed=(1,))
        assert all("rank 1" in said[rank] for rank in (0, 2)), said
        lines = lines_of(how)
        assert (
            lines[0]
            == "cause: rank 1 has written no report: ended, or no thread of the watch runs there"
        ), lines
        assert (
            lines[1].startswith("ranks 0, 2 wait in ")
            and "a backward of attention, phase '" in lines[1]
            and lines[1].endswith(", call 1 of attention")
        ), lines
        reports = [load(TMP / how / f"hang-{rank}.json") for rank in (0, 2)]
        assert all(TIMEOUT <= one["seconds"] <= TIMEOUT + 5 for one in reports), reports
        assert all(
            "waits there for other ranks" in one["text"] and "flight recorder" in one["text"]
            for one in reports
        ), reports
    # Its sockets close: the others are told at once, and nothing stands still.
    said = on_ranks(3, work, "dies", killed=(1,))
    assert all(said[rank].startswith("rank 1 has ended") for rank in (0, 2)), said


if __name__ == "__main__":
    main()
