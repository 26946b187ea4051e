#!/usr/bin/env python3
"""rank_dies.py [--json FILE] [--out DIR] [--timeout SECONDS]: a rank that ends in the middle of a
step is named, on two GPUs.

Two processes train some layers at level world over NCCL. Rank 1 is killed, or stops, where it would
begin an exchange of the second layer. Rank 0 has to end by itself, within 15 seconds of the world's
timeout, with a `RankError` that names the rank, the phase and the layer (its call of attention). A
watch of hangs has to write the same before, and `python3 -m dash_attn.hang` has to say it. DIR gets
its reports. The status is 1 where one of this is missing.

With `--backend gloo` the processes use CPUs. A rank that is killed closes its sockets there, so
the other is told at once, and nothing is left to report.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "python")]

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402

from dash_attn import hang  # noqa: E402
from dash_attn.distributed import RankError, World, attention  # noqa: E402
from dash_attn.distributed.groups import Groups  # noqa: E402
from dash_attn.hang.ranks import load  # noqa: E402
from dash_attn.measure.bundle import commit  # noqa: E402
from dash_attn.support.records import write_record  # noqa: E402

DOCUMENTS, HEADS, KV_HEADS, HEAD_DIM, LAYERS = (1100, 200, 400, 64, 63), 4, 2, 128, 3
LAYER, DYING, LATE, MOST_SECONDS = 2, 1, 15.0, 150
SENT = 0.5  # seconds
FAULTS = {"dies": signal.SIGKILL, "stops": signal.SIGSTOP}
PLACES = (("forward", "inputs"), ("backward", "inputs"), ("backward", "gradients"))


# ---- A rank --------------------------------------------------------------------------------------


def plant(fault: str, of_pass: str, phase: str) -> None:
    """This rank gets a signal where it would begin an exchange. What it was to do before is done,
    on its device, too, and what it sent before has left it: a communicator's threads may send what
    a device has handed over."""
    transfer_of = Groups._transfer

    def transfer_or_end(self: Groups, transfer: Any, problem: Any) -> None:
        at = self.watch
        if at.call == LAYER and of_pass in at.where and transfer.phase.name == phase:
            if self.device.type == "cuda":
                torch.cuda.synchronize()
            time.sleep(SENT)
            print(json.dumps({"at": time.time(), "where": at.where}), flush=True)
            os.kill(os.getpid(), FAULTS[fault])
        transfer_of(self, transfer, problem)

    Groups._transfer = transfer_or_end


def work(rank: int, arguments: argparse.Namespace) -> dict[str, Any]:
    """What the rank that is left says, and when."""
    is_cuda = arguments.backend == "nccl"
    device = torch.device("cuda", rank) if is_cuda else torch.device("cpu")
    if is_cuda:
        torch.cuda.set_device(device)
    else:
        torch.set_num_threads(1)
    options = {"device_id": device} if is_cuda else {}
    dist.init_process_group(arguments.backend, rank=rank, world_size=2, **options)
    world = World(
        dist.group.WORLD,
        DOCUMENTS,
        heads=HEADS,
        kv_heads=KV_HEADS,
        head_dim=HEAD_DIM,
        cut=0,
        kind="random",
        device=device,
        timeout=datetime.timedelta(seconds=arguments.timeout),
    )
    rows = sum(end - first for _, first, end, _ in world.problem.local(rank))
    generator = torch.Generator(device=device).manual_seed(rank)
    q, k, v, do = (
        torch.randn(rows, heads, HEAD_DIM, device=device, generator=generator).bfloat16()
        for heads in (HEADS, KV_HEADS, KV_HEADS, HEADS)
    )
    leaves = [one.requires_grad_() for one in (q, k, v)]

    def step() -> None:
        o = q
        for _ in range(LAYERS):
            o = attention(o, k, v, world=world)
        torch.autograd.grad(o, leaves, do)
        if is_cuda:
            torch.cuda.synchronize()

    # Kernels are made and connections opened in a step that all end; its calls are the first.
    step()
    world.calls = 0
    dist.barrier()
    if rank == DYING:
        plant(arguments.fault, arguments.of_pass, arguments.phase)
    with hang.watch(arguments.timeout / 4, folder=arguments.out):
        try:
            step()
            step()  # on a device the host learns of it here
        except RankError as error:
            return {"at": time.time(), "message": str(error)}
    raise AssertionError("expected a RankError, found none")


# ---- Both ----------------------------------------------------------------------------------------


def run_fault(
    fault: str, of_pass: str, phase: str, arguments: argparse.Namespace
) -> dict[str, Any]:
    folder = arguments.out / f"{fault}-{of_pass}-{phase}"
    for old in folder.glob("hang-*"):
        old.unlink()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = {"--fault": fault, "--of-pass": of_pass, "--phase": phase, "--out": folder}
    options |= {"--backend": arguments.backend, "--timeout": arguments.timeout}
    words = [str(word) for option in options.items() for word in option]
    address = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    ranks = [
        subprocess.Popen(
            [sys.executable, str(Path(__file__)), "--rank", str(rank), *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | address,
        )
        for rank in range(2)
    ]
    try:
        out, wrong = ranks[1 - DYING].communicate(timeout=MOST_SECONDS + arguments.timeout)
    except subprocess.TimeoutExpired:
        out, wrong = "", f"has not ended {MOST_SECONDS} seconds after its timeout"
    finally:
        for rank in ranks:
            rank.kill()
    gone, why = ranks[DYING].communicate()
    found: dict[str, Any] = {"fault": fault, "pass": of_pass, "phase": phase}
    found["status"] = ranks[1 - DYING].returncode
    if not gone or not out:
        return found | {"wrong": f"rank {DYING}: {why[-1500:]}; rank {1 - DYING}: {wrong[-1500:]}"}
    died, left = json.loads(gone.splitlines()[-1]), json.loads(out.splitlines()[-1])
    found |= {"where": died["where"], "message": left["message"]}
    found["seconds"] = round(left["at"] - died["at"], 2)
    reports = sorted(folder.glob("hang-*.json"))
    found["reports"] = [load(path) | {"turns": None} for path in reports]
    done = subprocess.run(
        [sys.executable, "-m", "dash_attn.hang", *map(str, reports)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path[:2])},
    )
    found["said"] = done.stdout if reports else ""
    return found | {"wrong": judge(found, arguments)}


def judge(found: dict[str, Any], arguments: argparse.Namespace) -> str:
    """Empty if it is as it must be."""
    is_told = arguments.backend == "gloo" and found["fault"] == "dies"
    message, said = found["message"], found["said"]
    place = f"{found['where']}, call {LAYER} of attention"
    if not message.startswith(f"rank {DYING} has ended") or place not in message:
        return f"expected rank {DYING} and {place} in the message"
    if found["seconds"] > LATE + (0 if is_told else arguments.timeout):
        return f"expected an end within {LATE} s of the timeout"
    if is_told:
        return ""
    if f"cause: rank {DYING} has written no report" not in said:
        return f"expected a report that rank {DYING} has written none"
    if place not in said:
        return f"expected {place} in the report"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path)
    parser.add_argument("--out", type=Path, default=Path("rank-dies"))
    parser.add_argument("--timeout", type=float, default=12.0, help="of the world, in seconds")
    parser.add_argument("--backend", choices=("nccl", "gloo"), default="nccl")
    parser.add_argument("--rank", type=int, help="is this rank, in this process")
    parser.add_argument("--fault", choices=tuple(FAULTS))
    parser.add_argument("--of-pass", choices=("forward", "backward"))
    parser.add_argument("--phase")
    arguments = parser.parse_args()
    if arguments.rank is not None:
        print(json.dumps(work(arguments.rank, arguments)), flush=True)
        os._exit(0)  # groups that were given up are not torn down
    if arguments.backend == "nccl" and torch.cuda.device_count() < 2:
        print(f"2 GPUs are needed, found {torch.cuda.device_count()}", file=sys.stderr)
        return 2
    name = torch.cuda.get_device_name() if arguments.backend == "nccl" else "CPU"
    print(name, flush=True)
    about: dict[str, Any] = {"date": f"{datetime.date.today()}", "commit": commit()}
    about |= {"device": name, "torch": torch.__version__, "backend": arguments.backend}
    about["timeout"] = arguments.timeout
    results: list[dict[str, Any]] = []
    for fault in FAULTS:
        for of_pass, phase in PLACES:
            found = run_fault(fault, of_pass, phase, arguments)
            results.append(found)
            said = f"FAILED: {found['wrong']}" if found["wrong"] else f"{found['seconds']} s"
            print(f"rank {DYING} {fault}, {of_pass}, phase '{phase}': {said}", flush=True)
            for line in (found.get("message", ""), *found.get("said", "").splitlines()):
                print(f"  {line}", flush=True)
            if arguments.json:  # what was found is there if a time limit ends this
                write_record(arguments.json, about | {"results": results})
    failed = sum(bool(one["wrong"]) for one in results)
    print(f"{len(results) - failed} of {len(results)} as they must be")
    return int(failed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
