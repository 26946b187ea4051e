#!/usr/bin/env python3
"""How long the first call of a process takes, from PTX, from the cache of assembled code and from a
cubin, with the same bits; two processes on one cache; and what a launch costs on the host.

Each is measured in a process of its own, with the driver's cache off: first_call.py MANIFEST
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parents[1] / "python")]

import torch  # noqa: E402
from group import Failed, Skip, Test, demand  # noqa: E402

from dash_attn import Kernel, ManifestError  # noqa: E402
from dash_attn.cubin import assemble, find_ptxas  # noqa: E402
from dash_attn.measure.bundle import BundledKernel  # noqa: E402
from dash_attn.measure.testing import OUTPUTS, Case, make_inputs  # noqa: E402
from dash_attn.reference import Mask  # noqa: E402

MOST_SECONDS = 0.05  # of a first call that has nothing to assemble
LAUNCHES = 2000


def tests(kernels: list[BundledKernel], quick: bool) -> list[Test]:
    kernel = next(
        (kernel for kernel in kernels if not kernel.fixed_sizes and not kernel.debug), None
    )
    if kernel is None:
        return []
    return [
        Test(
            f"first_call {kernel.name} {test.__name__}", kernel.name, lambda test=test: test(kernel)
        )
        for test in (from_cache, from_cubin, two_processes)
    ]


def start(manifest: Path, cache: str) -> subprocess.Popen[str]:
    environment = os.environ | {"DASH_CACHE": cache, "CUDA_CACHE_DISABLE": "1"}
    if ptxas := find_ptxas():
        environment["DASH_PTXAS"] = ptxas
    return subprocess.Popen(
        [sys.executable, str(Path(__file__)), str(manifest)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def outcome(process: subprocess.Popen[str]) -> dict[str, Any]:
    out, errors = process.communicate(timeout=55)
    if process.returncode:
        raise Failed(f"the process ended with status {process.returncode}", output=errors[-2000:])
    return json.loads(out.splitlines()[-1]) | {
        "warnings": errors.count("cannot keep assembled code")
    }


def demand_alike(found: list[dict[str, Any]]) -> None:
    demand(
        len({one["hash"] for one in found}) == 1, "gradients differ in their bits", outcomes=found
    )
    demand(not any(one["warnings"] for one in found), "the cache does not serve", outcomes=found)


def plain(bundled: BundledKernel, folder: Path) -> Path:
    """A copy of the kernel without a cubin."""
    raw = json.loads(bundled.path.read_text(encoding="utf-8"))
    raw.pop("cubin", None)
    (folder / raw["ptx"]["file"]).write_bytes(
        bundled.path.with_name(raw["ptx"]["file"]).read_bytes()
    )
    path = folder / bundled.path.name
    path.write_text(json.dumps(raw), encoding="utf-8")
    return path


def from_cache(bundled: BundledKernel) -> dict[str, Any]:
    if find_ptxas() is None:
        raise Skip("what is kept is what ptxas made, and here is none")
    with tempfile.TemporaryDirectory(prefix="dash-cache-") as name:
        path = plain(bundled, Path(name))
        found = [outcome(start(path, cache)) for cache in ("off", f"{name}/cache", f"{name}/cache")]
        kept = list(Path(name, "cache").iterdir())
    demand_alike(found)
    record = dict(zip(("assembled", "kept", "found"), found))
    demand(
        len(kept) == 1,
        f"expected one file in the cache, found {kept}: does ptxas refuse the PTX",
        **record,
    )
    demand(
        found[2]["seconds"] < MOST_SECONDS,
        f"expected at most {MOST_SECONDS} s, found {found[2]['seconds']:.3f}",
        **record,
    )
    return record


def from_cubin(bundled: BundledKernel) -> dict[str, Any]:
    ptxas = find_ptxas()
    with tempfile.TemporaryDirectory(prefix="dash-cubin-") as name:
        path = plain(bundled, Path(name))
        by_ptx = outcome(start(path, "off"))
        if "cubin" in bundled.manifest:
            path = bundled.path
        elif ptxas is None:
            raise Skip(
                "the bundle has no cubins (make-device-bundle --ptxas), and here is no ptxas"
            )
        else:
            try:
                assemble(path, ptxas)
            except ManifestError as error:
                raise Skip(f"its ptxas is older: {error}") from None
        by_cubin = outcome(start(path, "off"))
    record = {"ptx": by_ptx, "cubin": by_cubin}
    demand_alike([by_ptx, by_cubin])
    demand(
        by_cubin["seconds"] < MOST_SECONDS,
        f"expected at most {MOST_SECONDS} s, found {by_cubin['seconds']:.3f}",
        **record,
    )
    return record


def two_processes(bundled: BundledKernel) -> dict[str, Any]:
    """At once, on one empty cache; then once more on what they left."""
    if find_ptxas() is None:
        raise Skip("what is kept is what ptxas made, and here is none")
    with tempfile.TemporaryDirectory(prefix="dash-cache-") as name:
        path, cache = plain(bundled, Path(name)), Path(name, "cache")
        found = [outcome(process) for process in [start(path, str(cache)) for _ in range(2)]]
        found.append(outcome(start(path, str(cache))))
        kept = [file.name for file in cache.iterdir()]
    demand_alike(found)
    demand(
        len(kept) == 1 and kept[0].endswith(".cubin"),
        f"expected one whole file in the cache, found {kept}",
    )
    return {"outcomes": found}


def measure(manifest: str) -> dict[str, Any]:
    """Seconds of the first call, from the file to gradients; microseconds of launches; a hash of
    the gradients."""
    torch.zeros(1, device="cuda")
    raw = json.loads(Path(manifest).read_text(encoding="utf-8"))["program"]
    case = Case(raw["head_dim"], Mask.parse(raw["mask"]), 512, 512, 1, 4, 4, element=raw["element"])
    tensors = make_inputs(case)
    torch.cuda.synchronize()
    begun = time.perf_counter()
    kernel = Kernel.load(manifest)
    kernel.backward(**tensors, scale=case.scale)
    torch.cuda.synchronize()
    seconds = time.perf_counter() - begun
    gradients = b"".join(
        tensors[name].contiguous().view(torch.uint8).cpu().numpy().tobytes() for name in OUTPUTS
    )
    launch, stream = (
        kernel.bind(**tensors, scale=case.scale),
        torch.cuda.current_stream().cuda_stream,
    )
    moving = [tensors, {name: tensor.clone() for name, tensor in tensors.items()}]
    calls = {
        "bound": lambda _: launch.run(),
        "backward": lambda _: kernel.backward(**tensors, scale=case.scale),
        "backward, given a stream": lambda _: kernel.backward(
            **tensors, scale=case.scale, stream=stream
        ),
        "backward, other tensors": lambda i: kernel.backward(**moving[i % 2], scale=case.scale),
    }
    return {
        "seconds": seconds,
        "hash": hashlib.sha256(gradients).hexdigest(),
        "microseconds": {name: host_time(call) for name, call in calls.items()},
    }


def host_time(call: Any) -> float:
    """Median of launches that wait for nothing: the queue is emptied now and then."""
    times = []
    for number in range(LAUNCHES):
        if number % 50 == 0:
            torch.cuda.synchronize()
        begun = time.perf_counter()
        call(number)
        times.append(time.perf_counter() - begun)
    return round(sorted(times)[len(times) // 2] * 1e6, 2)


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1])))
