#!/usr/bin/env python3
"""hang.py [--out DIR] [--timeout SECONDS]: launches that do not end are explained, on a GPU.

Each fault is planted into the PTX of a kernel and runs in a process of its own, which ends by exit:
a kernel that hangs cannot be stopped. A watch has to report within 5 seconds of its timeout, and to
name the worker that the fault is in. DIR gets the reports, dumps and pictures.

    stops   worker 5 comes to its first turn that is not a chain's last, and stops in front of it
    lost    worker 5 goes on without giving its first turn
    slow    worker 5 sleeps 40 milliseconds in front of each turn that it gives
    front   something else runs for long on the stream in front of the launch
    good    no fault: no report, and the same gradients; prints what a watch costs
"""

from __future__ import annotations

import argparse
import faulthandler
import hashlib
import json
import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "python")]

import torch  # noqa: E402

from dash_attn import Kernel, hang  # noqa: E402
from dash_attn.measure.peers import make_tensors, problems  # noqa: E402
from dash_attn.kernel.compiler import compile_program  # noqa: E402
from dash_attn.measure.predict import program  # noqa: E402
from dash_attn.kernel.runtime import maker_of  # noqa: E402
from dash_attn.measure.testing import OUTPUTS, poison  # noqa: E402

FAULTS = ("good", "stops", "lost", "slow", "front")
WORKER, ROWS, LATE, ROUNDS, MOST_SECONDS = 5, 4096, 5.0, 50, 60
GIVES = re.compile(r"red\.release\.gpu\.global\.add\.s32\s+(\[[^]]+\]),\s*1;")
# In front of a turn that is given, in the planted worker alone. A loop without an effect may be
# left out by ptxas, so both sleep. The `slow` worker sleeps 40 times a millisecond, the longest
# sleep.
PLANTED = {
    "stops": "again{n}: @planted{n} nanosleep.u32 1000000;\n@planted{n} bra again{n};",
    # Its first turn alone: a worker that gives none may not have begun.
    "lost": (
        "@planted{n} atom.global.exch.b32 block{n}, [dash_lost], 1;\nsetp.eq.and.u32 planted{n},"
        " block{n}, 0, planted{n};"
    ),
    "slow": (
        ".reg .u32 left{n};\n.reg .pred goes_on{n};\nselp.u32 left{n}, 40, 0, planted{n};\n"
        "again{n}: setp.ne.u32 goes_on{n}, left{n}, 0;\n@goes_on{n} nanosleep.u32 1000000;\n"
        "@goes_on{n} sub.u32 left{n}, left{n}, 1;\n@goes_on{n} bra again{n};"
    ),
    "good": "",
    "front": "",
}


def planted(ptx: str, fault: str) -> str:
    count = 0

    def edited(found: re.Match[str]) -> str:
        nonlocal count
        count += 1
        give = f"@!planted{count} {found[0]}" if fault == "lost" else found[0]
        return (
            f"{{\n.reg .pred planted{count};\n.reg .b32 block{count};\nmov.u32 block{count},"
            f" %ctaid.x;\nsetp.eq.u32 planted{count}, block{count},"
            f" {WORKER};\n{PLANTED[fault].format(n=count)}\n{give}\n}}"
        )

    if fault in ("good", "front"):
        return ptx
    text = GIVES.sub(edited, ptx).replace(
        ".address_size 64", ".address_size 64\n.global .align 4 .u32 dash_lost = 0;", 1
    )
    assert count, "expected a turn that is given in the PTX, found none"
    return text


def kernel_with(fault: str, case: Any) -> Kernel:
    text = program(
        [
            {
                "rows": ROWS,
                "batch": case.batch,
                "heads": case.heads,
                "head_dim": case.head_dim,
                "mask": "causal",
            }
        ]
    )
    workers = torch.cuda.get_device_properties(0).multi_processor_count
    (compiled,) = compile_program(text, f"kind=symmetric-shift workers={workers}")
    ptx = planted(compiled.ptx.decode(), fault).encode()
    manifest = json.loads(compiled.manifest)
    manifest["ptx"]["sha256"] = hashlib.sha256(ptx).hexdigest()
    return Kernel(maker_of((json.dumps(manifest).encode(), ptx, compiled.order)))


kept: list[Any] = []  # freed memory waits for kernels, and one that hangs never ends


def run_fault(fault: str, timeout: float, out: Path) -> dict[str, Any]:
    """In a process of its own. What it says is printed, as JSON, before it exits."""
    os.environ["DASH_CACHE"] = "off"
    case = problems([ROWS], [128], ["causal"])[0]
    kernel, tensors = (
        kernel_with(fault, case),
        {name: tensor.detach() for name, tensor in make_tensors(case, {})[0].items()},
    )
    kept.append((kernel, tensors))
    poison(tensors)
    torch.cuda.synchronize()
    if fault == "good":
        return good(kernel, tensors, case.scale)
    # What allocates waits for kernels.
    kernel.reserve(
        batch=case.batch, heads=case.heads, kv_heads=case.heads, q_rows=ROWS, kv_rows=ROWS
    )
    found: list[tuple[float, hang.Report]] = []
    watch = hang.Watch(
        timeout,
        folder=out / fault,
        report=lambda report: found.append((time.monotonic(), report)),
        rank=0,
        ranks=1,
    )
    watch.start()
    kept.append(watch)
    if fault == "front":
        torch.cuda._sleep(int(2.5e9 * (timeout + 2 * LATE)))
    begin = time.monotonic()
    kernel.backward(**tensors, scale=case.scale)
    while not found and time.monotonic() < begin + timeout + 2 * LATE:
        time.sleep(0.05)
    if not found:
        return {"error": "no report"}
    at, report = found[0]
    return {
        "seconds": at - begin,
        "launch": report.launch,
        "waits": report.waits,
        "moves": report.moves,
        "text": report.text,
        "roots": report.turns["roots"] if report.turns else [],
        "dump": str(out / fault / "hang-0.zip"),
    }


def good(kernel: Kernel, tensors: dict[str, torch.Tensor], scale: float) -> dict[str, Any]:
    def run() -> dict[str, torch.Tensor]:
        poison(tensors)
        kernel.backward(**tensors, scale=scale)
        torch.cuda.synchronize()
        return {name: tensors[name].clone() for name in OUTPUTS}

    def milliseconds() -> float:
        times = []
        for _ in range(ROUNDS):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            kernel.backward(**tensors, scale=scale)
            end.record()
            end.synchronize()
            times.append(begin.elapsed_time(end))
        return statistics.median(times)

    before, reports = run(), []
    plain = [milliseconds() for _ in range(2)]
    with hang.watch(1.0, report=reports.append):
        during, watched = run(), milliseconds()
        time.sleep(2.5)
    plain.append(milliseconds())
    same = all(
        torch.equal(before[name].view(torch.int16), during[name].view(torch.int16))
        for name in OUTPUTS
    )
    return {"same": same, "reports": len(reports), "plain": plain, "watched": watched}


def judge(fault: str, found: dict[str, Any], timeout: float) -> str:
    """Empty if it is as it must be."""
    if fault == "good":
        return (
            ""
            if found["same"] and not found["reports"]
            else f"expected the same bits and no report, found {found}"
        )
    if "error" in found:
        return found["error"]
    if not timeout <= found["seconds"] <= timeout + LATE:
        return (
            f"expected a report from {timeout} to {timeout + LATE} s, found one after"
            f" {found['seconds']:.2f} s"
        )
    text = found["text"]
    if fault == "front":
        return "" if found["waits"] else f"expected a launch that has not begun, found: {text}"
    if fault == "slow":
        return (
            ""
            if found["moves"] and "the launch goes on" in text
            else f"expected a launch that goes on, found: {text}"
        )
    if (
        found["roots"] != [WORKER]
        or f"cause: worker {WORKER} has turn" not in text
        or found["moves"]
    ):
        return f"expected worker {WORKER} as the only cause, found {found['roots']}: {text}"
    if fault == "lost" and "this turn was never given" not in text:
        return f"expected a turn that was never given, found: {text}"
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "dash_attn.hang",
            found["dump"],
            "--svg",
            found["dump"].replace(".zip", ".svg"),
        ],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path[:2])},
    )
    return (
        ""
        if done.returncode == 1 and f"worker {WORKER} has turn" in done.stdout
        else f"the dump says: {done.stdout}{done.stderr}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("hang-reports"))
    parser.add_argument("--timeout", type=float, default=5.0)
    parser.add_argument("--only", choices=FAULTS, help="in this process")
    arguments = parser.parse_args()
    if arguments.only:
        faulthandler.dump_traceback_later(MOST_SECONDS - 10)
        print(json.dumps(run_fault(arguments.only, arguments.timeout, arguments.out)), flush=True)
        os._exit(0)  # nothing is torn down: that would wait for the kernel
    print(torch.cuda.get_device_name(), flush=True)
    failed = 0
    for fault in FAULTS:
        command = [
            sys.executable,
            str(Path(__file__)),
            "--only",
            fault,
            "--timeout",
            str(arguments.timeout),
            "--out",
            str(arguments.out),
        ]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, check=False, timeout=MOST_SECONDS
            )
            lines = done.stdout.splitlines()
            found = (
                json.loads(lines[-1])
                if lines
                else {"error": f"status {done.returncode}: {done.stderr[-2000:]}"}
            )
        except subprocess.TimeoutExpired as late:
            found = {
                "error": (
                    f"the process has not ended for {MOST_SECONDS} s: {late.stdout} {late.stderr}"
                )
            }
        except json.JSONDecodeError:
            found = {"error": done.stdout[-2000:]}
        wrong = (
            judge(fault, found, arguments.timeout)
            if fault != "good" or "same" in found
            else str(found)
        )
        failed += bool(wrong)
        if fault == "good" and not wrong:
            said = (
                f"{found['plain'][0]:.3f}, {found['plain'][1]:.3f} and {found['plain'][2]:.3f} ms"
                f" without a watch, {found['watched']:.3f} with one"
            )
        else:
            said = (
                f"reported {found.get('seconds', 0.0) - arguments.timeout:.2f} s behind the timeout"
            )
        print(f"{fault}: {'FAILED: ' + wrong if wrong else said}", flush=True)
        if "text" in found:
            print("  " + found["text"].replace("\n", "\n  "), flush=True)
    print(f"{len(FAULTS) - failed} of {len(FAULTS)} as they must be")
    return int(failed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
