#!/usr/bin/env python3
"""trace.py [--out DIR] [--sampled]: traced kernels of each level beside plain ones, on a GPU.

For each head dim, mask and level, with the level's own N of trace-every and with all items traced
(`turns of all`, `all of all`): gradients must have the same bits, and records must be the order.
Medians of rounds in which all kernels run are printed, of the whole backward and of its main entry,
over those of a plain kernel; a second plain kernel says how far such ratios are from 1 by
themselves. The goal is 1.03 for each level, and nothing fails by it. Beside levels stand the
largest differences from what was predicted, and beside `all of all` what prices should be. DIR
gets a trace for Perfetto of each level, what was predicted beside what was measured, a heat map of
workers by steps, a file of costs and trace.json, all that is printed as numbers. --sampled: levels
with their own N alone, their times, bits and records; of files trace.json alone. Kernels are
compiled here, by libdash. It takes so many heads that a worker has 62 items, of which the level
`all` traces one.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import statistics
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
from dash_attn.measure.predict import program, report  # noqa: E402
from dash_attn.measure.testing import OUTPUTS, poison  # noqa: E402

KINDS = {"causal": "symmetric-shift", "full": "shift"}
# What is traced, of which items: N is the level's own where none is said.
LEVELS = {
    "items": "trace=items",
    "turns": "trace=turns",
    "all": "trace=all",
    "turns of all": "trace=turns trace-every=1",
    "all of all": "trace=all trace-every=1",
}
ROWS, ROUNDS, RECORDS, WORKERS = 4096, 40, 1 << 15, 4
HEADS_OF_SAMPLED = 64


def milliseconds(
    kernels: list[Kernel], tensors: dict[str, Any], scale: float
) -> list[tuple[float, float]]:
    """Medians of rounds in which all kernels run: for each the whole backward, and its main entry
    alone."""
    launches = [kernel.bind(**tensors, scale=scale) for kernel in kernels]
    main = launches[0].plan.steps.index("main")
    times: list[tuple[list[float], list[float]]] = [([], []) for _ in kernels]
    for turn in range(ROUNDS):
        for index in range(len(kernels))[:: 1 if turn % 2 else -1]:
            launch, events = (
                launches[index],
                [torch.cuda.Event(enable_timing=True) for _ in range(4)],
            )
            launch.run()  # the clock that this kernel is used to
            events[0].record()
            launch.run()
            events[1].record()
            launch.ready()
            for step in range(len(launch.plan.steps)):
                if step == main:
                    events[2].record()
                launch.run_step(step)
                if step == main:
                    events[3].record()
            torch.cuda.synchronize()
            times[index][0].append(events[0].elapsed_time(events[1]))
            times[index][1].append(events[2].elapsed_time(events[3]))
    return [(statistics.median(whole), statistics.median(alone)) for whole, alone in times]


def region(kernel: Kernel) -> bytes:
    """What the last launch on this stream has left."""
    torch.cuda.synchronize()
    address, size = kernel.workspace(0, torch.cuda.current_stream().cuda_stream).region("trace")

    class Bytes:
        __cuda_array_interface__ = {
            "shape": (size,),
            "typestr": "|u1",
            "data": (address, False),
            "version": 3,
        }

    return torch.as_tensor(Bytes(), device="cuda").cpu().numpy().tobytes()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path)
    parser.add_argument("--sampled", action="store_true")
    arguments = parser.parse_args()
    levels = {
        level: traced
        for level, traced in LEVELS.items()
        if not (arguments.sampled and "trace-every" in traced)
    }
    workers, failed = torch.cuda.get_device_properties(0).multi_processor_count, False
    prices, rows = [], []
    if arguments.out:
        arguments.out.mkdir(parents=True, exist_ok=True)
    for mask, kind in KINDS.items():
        for case in problems([ROWS], [128, 64], [mask]):
            if arguments.sampled:
                case = dataclasses.replace(case, heads=HEADS_OF_SAMPLED, kv_heads=HEADS_OF_SAMPLED)
            name = f"{mask}-{case.head_dim}"
            text = program(
                [
                    {
                        "rows": ROWS,
                        "batch": case.batch,
                        "heads": case.heads,
                        "head_dim": case.head_dim,
                        "mask": mask,
                    }
                ]
            )
            options = f"kind={kind} workers={workers}"
            named = {
                "plain": Kernel.compile(text, options),
                "plain again": Kernel.compile(text, options),
            }
            named |= {
                level: Kernel.compile(text, f"{options} {traced} trace-records={RECORDS}")
                for level, traced in levels.items()
            }
            tensors = {key: tensor.detach() for key, tensor in make_tensors(case, {})[0].items()}
            found = {}
            for key, kernel in named.items():
                poison(tensors)
                kernel.backward(**tensors, scale=case.scale)
                found[key] = {output: tensors[output].clone() for output in OUTPUTS}
            times = dict(zip(named, milliseconds(list(named.values()), tensors, case.scale)))
            order, predicted = (
                report(text, options)["schedules"][0],
                report(text, options, "trace"),
            )
            for key, kernel in named.items():
                wrong = [
                    output
                    for output in OUTPUTS
                    if not torch.equal(
                        *(found[one][output].view(torch.int16) for one in ("plain", key))
                    )
                ]
                said = f"FAILED: other bits in {', '.join(wrong)}" if wrong else "the same bits"
                lanes = []
                if key in LEVELS:
                    lanes = trace.decode(region(kernel), kernel.manifest)
                    try:
                        trace.check(lanes, order)
                        said += ", records are the order"
                    except ValueError as error:
                        said, wrong = f"FAILED: {error}", [str(error)]
                failed |= bool(wrong)
                whole, alone = (mine / plain for mine, plain in zip(times[key], times["plain"]))
                rows.append(
                    {
                        "case": name,
                        "trace": key,
                        "every": kernel.manifest.get("trace", {}).get("every"),
                        "ms": times[key][0],
                        "main_ms": times[key][1],
                        "ratio": whole,
                        "main_ratio": alone,
                        "records": sum(len(lane.spans) for lane in lanes),
                        "failed": bool(wrong),
                    }
                )
                print(
                    f"{name}, {key}: {said}; {times[key][0]:.3f} ms, {whole:.3f} of the plain"
                    f" one's; main entry {times[key][1]:.3f} ms, {alone:.3f}",
                    flush=True,
                )
                if arguments.sampled:
                    continue
                if key in LEVELS and arguments.out:
                    path = arguments.out / f"trace-{name}-{key.replace(' ', '-')}.json"
                    trace.write(
                        path,
                        trace.events(
                            trace.of_workers(lanes, WORKERS), f"measured: {kind}", 1, order
                        ),
                        predicted,
                    )
                if key == "items":
                    continue
                if key in LEVELS:
                    found_map = heat.of_trace(lanes, order, f"{name}, {kind}, trace={key}")
                    print(f"stragglers: {found_map.stragglers or 'none'}", flush=True)
                    print("\n".join(trace.differences(lanes, order, predicted)), flush=True)
                    if arguments.out:
                        for ending in (".svg", ".json"):
                            heat.save(
                                arguments.out / f"heat-{name}-{key.replace(' ', '-')}{ending}",
                                found_map,
                            )
                if key in ("all", "all of all"):
                    print(trace.table(lanes), flush=True)
                if key == "all of all":
                    prices.append(trace_prices.find(lanes, order, times["plain"][1]))
                    print(prices[-1], flush=True)
    print(f"\n{'':<12}" + "".join(f"{key:>14}" for key in ("plain again", *levels)))
    for name in dict.fromkeys(row["case"] for row in rows):
        print(
            f"{name:<12}"
            + "".join(
                f"{row['main_ratio']:>14.3f}"
                for row in rows
                if row["case"] == name and row["trace"] != "plain"
            )
        )
    if arguments.out:
        if prices:
            (arguments.out / "costs.json").write_text(
                file_text(torch.cuda.get_device_name(), trace_prices.whole(prices)),
                encoding="utf-8",
            )
        (arguments.out / "trace.json").write_text(
            json.dumps(
                {"device": torch.cuda.get_device_name(), "rounds": ROUNDS, "rows": rows}, indent=1
            ),
            encoding="utf-8",
        )
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
