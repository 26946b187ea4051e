#!/usr/bin/env python3
"""first_attention.py [--programs FOLDER] [--record FILE]: how long the first attention of a process
takes in dash's own code.

Each measurement is a process of its own, with the driver's cache off. Printed apart are what is not
dash's: CUDA's context, the first call of PyTorch's own forward and backward, and what the kernels
themselves take when they are warm. The cases, for each problem:

nothing     nothing is kept, and there is a ptxas again       what `nothing` kept, in the next
process driver      nothing is kept, and there is no ptxas: the driver assembles ahead
`python3 -m dash_attn.cubin --all` ran before, and there is a ptxas no ptxas    the same, and there
is none

FOLDER is what `python3 -m dash_attn.cubin --all --to FOLDER` made with the libdash that runs here;
without it, it is made here. The status is 1 where `ahead` or `no ptxas` takes more than 50 ms, a
case compiles or assembles where it must not, or gradients differ between cases.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parents[1] / "python")]

MOST_MS = 50.0
# Head dim, causal, batch, heads, heads of k, rows; or of packed sequences their lengths.
PROBLEMS: dict[str, tuple[int, bool, int, int, int, int, tuple[int, ...]]] = {
    "128 causal, a table": (128, True, 1, 16, 16, 4096, ()),
    "64 full, formulas": (64, False, 1, 64, 8, 4096, ()),
    "128 causal, few heads": (128, True, 2, 8, 2, 1024, ()),
    "128 causal, packed": (128, True, 1, 32, 8, 4096, (1000, 96, 3000)),
}
KEPT = ("ahead", "no ptxas")  # neither compiles nor assembles
NO_PTXAS = "/nonexistent/ptxas"


# ---- In a process of its own ---------------------------------------------------------------------


class Steps:
    """Milliseconds by step, each with all that the GPU does in it."""

    def __init__(self) -> None:
        self.ms: dict[str, float] = {}

    def take(self, name: str, step: Callable[[], Any]) -> Any:
        torch = sys.modules.get("torch")
        begun = time.perf_counter()
        found = step()
        if torch and name != "import torch":
            torch.cuda.synchronize()
        self.ms[name] = round((time.perf_counter() - begun) * 1e3, 2)
        return found


def measure(name: str) -> dict[str, Any]:
    head_dim, causal, batch, heads, kv_heads, rows, lengths = PROBLEMS[name]
    steps, waited = Steps(), []
    steps.take("import torch", lambda: __import__("torch"))
    import torch
    import torch.nn.functional as F
    from torch.nn.attention import SDPBackend, sdpa_kernel

    steps.take("CUDA's context", lambda: torch.zeros(1, device="cuda"))
    generator = torch.Generator(device="cuda").manual_seed(1)
    shapes = [(heads, 1), (kv_heads, 2), (kv_heads, 3), (heads, 4)]
    q, k, v, do = (
        torch.randn(
            (rows, count, head_dim) if lengths else (batch, count, rows, head_dim),
            device="cuda",
            generator=generator,
        ).bfloat16()
        for count, _ in shapes
    )
    leaves = [x.requires_grad_() for x in (q, k, v)]

    ends = torch.tensor(
        [sum(lengths[:i]) for i in range(len(lengths) + 1)], dtype=torch.int32, device="cuda"
    )

    def theirs() -> Any:
        """PyTorch's own, once: its operators load their code, autograd begins its threads."""
        x = torch.ones(1, device="cuda", requires_grad=True)
        # With a gradient that is given, PyTorch imports its shapes of symbols.
        torch.autograd.grad(x * x, x, torch.ones_like(x))
        given = [one.detach() for one in (q, k, v)]
        if lengths:
            right = 0 if causal else -1
            found = torch.ops.aten._flash_attention_forward(
                *given,
                ends,
                ends,
                max(lengths),
                max(lengths),
                0.0,
                False,
                False,
                window_size_left=-1,
                window_size_right=right,
            )
            at = torch.arange(rows, device="cuda")
            outside = (at < ends[0]) | (at >= ends[-1])
            return found[0].masked_fill(outside[:, None, None], 0), found[1].masked_fill(outside, 0)
        for backend in (SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION):
            with sdpa_kernel(backend):
                o = F.scaled_dot_product_attention(
                    *[one.requires_grad_() for one in given],
                    is_causal=causal,
                    enable_gqa=heads != kv_heads,
                )
        return o

    steps.take("PyTorch's attention, the first", theirs)
    steps.take("PyTorch's attention, the second", theirs)
    logging.getLogger("dash_attn").addHandler(Listener(waited))
    logging.getLogger("dash_attn").setLevel(logging.INFO)
    steps.take("import dash_attn", lambda: __import__("dash_attn.torch"))
    from dash_attn import attention
    from dash_attn.kernel.library import library

    steps.take("load libdash", library)
    options: dict[str, Any] = {"causal": causal}
    if lengths:
        options |= {"cu_seqlens_q": ends, "max_seqlen_q": max(lengths), "layout": "thd"}
    gradients = ()
    for turn in ("first", "second", "third"):
        o = steps.take(f"forward, the {turn}", lambda: attention(*leaves, **options))
        gradients = steps.take(
            f"backward, the {turn}", lambda o=o: torch.autograd.grad(o, leaves, do)
        )
    content = b"".join(
        one.contiguous().view(torch.uint8).cpu().numpy().tobytes() for one in gradients
    )
    ours = {
        way: round(steps.ms[f"{way}, the first"] - steps.ms[f"{way}, the third"], 2)
        for way in ("forward", "backward")
    }
    return {
        "ms": steps.ms,
        "ours_ms": ours,
        "waited_for": waited,
        "hash": hashlib.sha256(content).hexdigest()[:16],
    }


class Listener(logging.Handler):
    def __init__(self, said: list[str]) -> None:
        super().__init__()
        self.said = said

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())


# ---- The cases -----------------------------------------------------------------------------------


def of_process(problem: str, cache: Path, has_ptxas: bool, ptxas: str) -> dict[str, Any]:
    environment = os.environ | {
        "DASH_CACHE": str(cache),
        "CUDA_CACHE_DISABLE": "1",
        "DASH_PTXAS": ptxas if has_ptxas else NO_PTXAS,
    }
    done = subprocess.run(
        [sys.executable, __file__, "--problem", problem],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    if done.returncode:
        sys.exit(f"error: '{problem}' ended with status {done.returncode}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def with_programs(folder: Path, at: Path) -> Path:
    """A cache that has the folder's programs, and nothing else."""
    shutil.copytree(folder, at / "programs")
    return at


def cases_of(problem: str, programs: Path, ptxas: str, at: Path) -> dict[str, dict[str, Any]]:
    found = {}
    if ptxas:
        found["nothing"] = of_process(problem, at / "nothing", True, ptxas)
        found["again"] = of_process(problem, at / "nothing", True, ptxas)
    found["driver"] = of_process(problem, at / "driver", False, "")
    if ptxas:
        found["ahead"] = of_process(problem, with_programs(programs, at / "ahead"), True, ptxas)
    found["no ptxas"] = of_process(problem, with_programs(programs, at / "without"), False, "")
    return found


def complaints(problem: str, found: dict[str, dict[str, Any]]) -> list[str]:
    said = []
    if len({one["hash"] for one in found.values()}) != 1:
        said.append(
            f"{problem}: gradients differ between cases:"
            f" { ({name: one['hash'] for name, one in found.items()}) }"
        )
    for name in KEPT:
        if name not in found:
            continue
        if found[name]["waited_for"]:
            said.append(
                f"{problem}, {name}: expected nothing to wait for, found"
                f" {found[name]['waited_for']}"
            )
        for way, ms in found[name]["ours_ms"].items():
            if ms > MOST_MS:
                said.append(
                    f"{problem}, {name}: expected at most {MOST_MS:.0f} ms of the {way} in dash's"
                    f" own code, found {ms}"
                )
    return said


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--programs", type=Path)
    parser.add_argument("--record", type=Path)
    parser.add_argument("--problem", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.problem:
        print(json.dumps(measure(arguments.problem)))
        return 0
    import torch

    from dash_attn.kernel.assembler import find_assemblers, packaged_assemblers
    from dash_attn.measure.bundle import commit
    from dash_attn.support.records import write_record

    ptxas = next(iter([*find_assemblers(), *packaged_assemblers()]), "")
    record: dict[str, Any] = {
        "commit": commit(),
        "date": time.strftime("%Y-%m-%d"),
        "gpu": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "ptxas": ptxas,
    }
    said: list[str] = []
    with tempfile.TemporaryDirectory(prefix="dash-first-") as name:
        programs = arguments.programs
        if programs is None:
            programs, begun = Path(name, "made"), time.monotonic()
            subprocess.run(
                [
                    sys.executable,
                    "-m",
                    "dash_attn.cubin",
                    "--all",
                    f"--to={programs}",
                    "--head-dims=64,128",
                    "--elements=bf16",
                ],
                check=True,
                env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
            )
            record["all_seconds"] = round(time.monotonic() - begun, 1)
        record["programs"] = {
            "files": sum(1 for _ in programs.iterdir()),
            "bytes": sum(path.stat().st_size for path in programs.iterdir()),
        }
        rows = []
        for number, problem in enumerate(PROBLEMS):
            found = cases_of(problem, programs, ptxas, Path(name, str(number)))
            said += complaints(problem, found)
            rows += [{"problem": problem, "case": case, **one} for case, one in found.items()]
            for case, one in found.items():
                ours = ", ".join(f"{way} {ms:.1f} ms" for way, ms in one["ours_ms"].items())
                print(
                    f"{problem}, {case}: dash's own {ours}; {one['ms']};"
                    f" {one['waited_for'] or 'nothing waited for'}",
                    flush=True,
                )
    record |= {"complaints": said, "results": rows}
    if arguments.record:
        write_record(arguments.record, record)
    print(
        "\n".join(said) if said else f"all of {len(rows)} processes as expected, on {record['gpu']}"
    )
    return int(bool(said))


if __name__ == "__main__":
    sys.exit(main())
