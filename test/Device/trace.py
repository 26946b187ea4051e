#!/usr/bin/env python3
"""trace.py [--out DIR]: traced kernels beside plain ones, on a GPU.

For each head dim and mask: gradients must have the same bits, records must be the order, and the time of the whole backward with a trace over that without
is printed; the goal is 1.03, and nothing fails by it. Beside it stand the largest differences from what was predicted, and what prices should be. DIR gets
a trace for Perfetto of each, what was predicted beside what was measured, a heat map of workers by steps, and a file of costs.
Kernels are compiled here, by libdash.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "python")]

import torch  # noqa: E402

from dash_attn import Kernel, heat, trace  # noqa: E402
from dash_attn.measure.peers import make_tensors, problems  # noqa: E402
from dash_attn.measure import prices as trace_prices  # noqa: E402
from dash_attn.measure.fit import file_text  # noqa: E402
from dash_attn.measure.predict import DASH_OPT, ENVIRONMENT, program  # noqa: E402
from dash_attn.measure.testing import OUTPUTS, poison  # noqa: E402

KINDS = {"causal": "symmetric-shift", "full": "shift"}
ROWS, ROUNDS, RECORDS, WORKERS = 4096, 20, 1 << 15, 4


def report(text: str, kind: str, workers: int, form: str) -> Any:
    passes = ["--dash-tile", f"--dash-apply-schedule=kind={kind} workers={workers}", f"--dash-report-schedule=format={form}", "-o", "/dev/null"]
    return json.loads(subprocess.run([*DASH_OPT, "-", *passes], input=text, env=ENVIRONMENT, capture_output=True, text=True, check=True).stdout)


def milliseconds(kernels: list[Kernel], tensors: dict[str, Any], scale: float) -> list[float]:
    """Medians of rounds in which all run."""
    times: list[list[float]] = [[] for _ in kernels]
    for turn in range(ROUNDS):
        for index in range(len(kernels))[::1 if turn % 2 else -1]:
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            kernels[index].backward(**tensors, scale=scale)
            end.record()
            end.synchronize()
            times[index].append(begin.elapsed_time(end))
    return [statistics.median(of_kernel) for of_kernel in times]


def region(kernel: Kernel) -> bytes:
    """What the last launch on this stream has left."""
    torch.cuda.synchronize()
    address, size = kernel.workspace(0, torch.cuda.current_stream().cuda_stream).region("trace")

    class Bytes:
        __cuda_array_interface__ = {"shape": (size,), "typestr": "|u1", "data": (address, False), "version": 3}

    return torch.as_tensor(Bytes(), device="cuda").cpu().numpy().tobytes()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    workers, failed = torch.cuda.get_device_properties(0).multi_processor_count, False
    prices = []
    for mask, kind in KINDS.items():
        for case in problems([ROWS], [128, 64], [mask]):
            name = f"{mask}-{case.head_dim}"
            text = program([{"rows": ROWS, "batch": case.batch, "heads": case.heads, "head_dim": case.head_dim, "mask": mask}])
            options = f"kind={kind} workers={workers}"
            kernels = [Kernel.compile(text, options), Kernel.compile(text, f"{options} trace=true trace-records={RECORDS}")]
            tensors = {key: tensor.detach() for key, tensor in make_tensors(case, {})[0].items()}
            found = []
            for kernel in kernels:
                poison(tensors)
                kernel.backward(**tensors, scale=case.scale)
                found.append({output: tensors[output].clone() for output in OUTPUTS})
            wrong = [output for output in OUTPUTS if not torch.equal(*(one[output].view(torch.int16) for one in found))]
            plain, traced = milliseconds(kernels, tensors, case.scale)
            lanes, order = trace.decode(region(kernels[1]), kernels[1].manifest), report(text, kind, workers, "json")["schedules"][0]
            try:
                trace.check(lanes, order)
                said = "records are the order"
            except ValueError as error:
                said, failed = f"FAILED: {error}", True
            failed |= bool(wrong)
            bits = f"FAILED: other bits in {', '.join(wrong)}" if wrong else "the same bits"
            print(f"{name}: {bits}, {said}; {plain:.3f} ms plain, {traced:.3f} ms traced: {traced / plain:.3f}", flush=True)
            print(trace.table(lanes), flush=True)
            predicted = report(text, kind, workers, "trace")
            print("\n".join(trace.differences(lanes, order, predicted)), flush=True)
            main = (max(lane.end for lane in lanes) - min(lane.begin for lane in lanes)) / 1e6  # times are those of all entries
            prices.append(trace_prices.find(lanes, order, main * plain / traced))
            print(prices[-1], flush=True)
            found_map = heat.of_trace(lanes, order, f"{name}, {kind}, traced")
            print(f"stragglers: {found_map.stragglers or 'none'}", flush=True)
            if arguments.out:
                arguments.out.mkdir(parents=True, exist_ok=True)
                path = arguments.out / f"trace-{name}.json"
                trace.write(path, trace.events(trace.of_workers(lanes, WORKERS), f"measured: {kind}", 1, order), predicted)
                for ending in (".svg", ".json"):
                    heat.save(arguments.out / f"heat-{name}{ending}", found_map)
                print(f"{path}: {path.stat().st_size} bytes", flush=True)
    if arguments.out:
        (arguments.out / "costs.json").write_text(file_text(torch.cuda.get_device_name(), trace_prices.whole(prices)), encoding="utf-8")
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
