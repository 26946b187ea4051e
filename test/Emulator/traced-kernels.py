# RUN: rm -rf %t && mkdir %t && %python %s --root %dash_src --tmp %t
# REQUIRES: python, host-supports-nvptx
"""Traced kernels have the gradients of plain ones, bit for bit, and their records are the order:
each item, visit and turn once, turns one behind the other; where one item in N is traced, those of
the items i with i % N = 0. Orders that are not what ran, and regions that are cut, are found."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--root", type=Path, required=True)
parser.add_argument("--tmp", type=Path, required=True)
arguments = parser.parse_args()
sys.path[:0] = [str(arguments.root / path) for path in ("test/Emulator/lib", "test/Main", "python")]

from launch import Kernel  # noqa: E402
from problem import Inputs, Problem  # noqa: E402

from dash_attn import trace  # noqa: E402
from dash_attn.measure.spans import traced_items  # noqa: E402

PROBLEM = "q:130,kv:200,batch:1,heads:2,kv-heads:1"


def dash_opt(*words: str) -> str:
    return subprocess.run(
        ["dash-opt", *words, "-o", "/dev/null"], capture_output=True, text=True, check=True
    ).stdout


def compiled(program: Path, name: str, options: str) -> Kernel:
    dash_opt(str(program), f"--dash-to-ptx={options} output={arguments.tmp / name}")
    return Kernel(arguments.tmp / f"{name}.json")


def coarse(
    level: str, events: set[str], head_dim: int = 64, kind: str = "kind=symmetric-shift workers=2"
) -> None:
    """A level with fewer records: the same bits, these events, and the order as far as they say
    it."""
    program = arguments.tmp / f"{level}.mlir"
    text = (arguments.root / "dialects/dash/examples/bwd-causal.mlir").read_text(encoding="utf-8")
    program.write_text(text.replace("x128xbf16", f"x{head_dim}xbf16"), encoding="utf-8")
    order = json.loads(
        dash_opt(
            str(program),
            "--dash-tile",
            f"--dash-apply-schedule={kind} sizes={PROBLEM}",
            "--dash-report-schedule=format=json",
        )
    )["schedules"][0]
    kernels = [
        compiled(program, f"{level}-plain", kind),
        compiled(program, level, f"{kind} trace={level} trace-every=1 trace-records=100"),
    ]
    found = []
    for kernel in kernels:
        inputs = Inputs(kernel.manifest, Problem.parse(PROBLEM), seed=1)
        found.append(kernel.run(inputs.tensors, inputs.sizes, inputs.scale, seed=0))
    assert all((values == found[1][tensor]).all() for tensor, values in found[0].items()), level
    lanes = trace.decode(kernels[1].trace, kernels[1].manifest)
    assert kernels[1].manifest["trace"]["level"] == level and not any(lane.lost for lane in lanes)
    trace.check(lanes, order)
    assert {span.event for lane in lanes for span in lane.spans} == events, level
    items = [len(trace.Tasks(order).items.get(worker, [])) for worker in (0, 1)]
    assert all(
        sum(span.event == "item" for span in lane.spans) == items[lane.worker] for lane in lanes
    ), level


def refuses(what: str, run) -> None:
    try:
        run()
    except ValueError as error:
        assert what in str(error), f"expected '{what}', found '{error}'"
    else:
        raise AssertionError(f"expected '{what}', found no error")


def compare(head_dim: int, mask: str, kind: str) -> tuple[Kernel, dict]:
    text = (arguments.root / f"dialects/dash/examples/bwd-{mask}.mlir").read_text(encoding="utf-8")
    program = arguments.tmp / f"{mask}{head_dim}.mlir"
    program.write_text(text.replace("x128xbf16", f"x{head_dim}xbf16"), encoding="utf-8")
    order = json.loads(
        dash_opt(
            str(program),
            "--dash-tile",
            f"--dash-apply-schedule={kind} sizes={PROBLEM}",
            "--dash-report-schedule=format=json",
        )
    )["schedules"][0]
    name = f"{mask}{head_dim}"
    kernels = [
        compiled(program, name, kind),
        compiled(program, f"{name}-traced", f"{kind} trace=all trace-every=1 trace-records=600"),
    ]
    for seed in (0, 1):
        found = []
        for kernel in kernels:
            inputs = Inputs(kernel.manifest, Problem.parse(PROBLEM), seed=1)
            found.append(kernel.run(inputs.tensors, inputs.sizes, inputs.scale, seed))
        for tensor, values in found[0].items():
            assert (values == found[1][tensor]).all(), (
                f"{name}: {tensor} has other bits with a trace, seed {seed}"
            )
        lanes = trace.decode(kernels[1].trace, kernels[1].manifest)
        assert not any(lane.lost for lane in lanes)
        trace.check(lanes, order)
        assert {lane.worker for lane in trace.of_workers(lanes, 1)} == {0} and trace.of_workers(
            lanes, 0
        ) == lanes
        turns = [span for lane in lanes for span in lane.spans if span.event == "turn"]
        assert len(turns) == sum(len(item["visit"]) for item in order["items"]), len(turns)
        shares = trace.shares(lanes)
        assert set(shares) == {"load-q", "load-kv", "reduce", "compute"}, shares
        assert all(
            abs(sum(parts.values()) - 1) < 1e-6 and min(parts.values()) > -1e-6
            for parts in shares.values()
        ), shares
    return kernels[1], order


def sampled() -> None:
    """One item in N: the bits of a plain kernel, and of the items i with i % N = 0 the records that
    a kernel has which traces them all, but for those of products that are issued."""
    kind, problem = "kind=symmetric-shift workers=2", "q:70,kv:450,batch:1,heads:2,kv-heads:2"
    program = arguments.tmp / "sampled.mlir"
    text = (arguments.root / "dialects/dash/examples/bwd-causal.mlir").read_text(encoding="utf-8")
    program.write_text(text.replace("x128xbf16", "x64xbf16"), encoding="utf-8")
    order = json.loads(
        dash_opt(
            str(program),
            "--dash-tile",
            f"--dash-apply-schedule={kind} sizes={problem}",
            "--dash-report-schedule=format=json",
        )
    )["schedules"][0]
    plain = compiled(program, "sampled-plain", kind)
    inputs = Inputs(plain.manifest, Problem.parse(problem), seed=1)
    bits = plain.run(inputs.tensors, inputs.sizes, inputs.scale, seed=0)
    items = {worker: len(mine) for worker, mine in trace.Tasks(order).items.items()}
    assert min(items.values()) > 3, items
    for level, everies in (("all", (1, 2, 3, 0)), ("turns", (1, 2)), ("items", (1, 3))):
        whole = list[dict[int, list[tuple]]]()
        for every in everies:
            kernel = compiled(
                program, "sampled", f"{kind} trace={level} trace-every={every} trace-records=2000"
            )
            found = kernel.run(inputs.tensors, inputs.sizes, inputs.scale, seed=0)
            assert all((values == bits[tensor]).all() for tensor, values in found.items()), (
                f"{level}, one item in {every}: other bits"
            )
            lanes = trace.decode(kernel.trace, kernel.manifest)
            said = kernel.manifest["trace"]["every"]
            assert said == (every or 64) and not any(lane.lost for lane in lanes), said
            trace.check(lanes, order)
            by_item = [of_items(lane) for lane in lanes]
            if every == 1:
                whole = by_item
            for lane, mine, all_mine in zip(lanes, by_item, whole):
                assert [*mine] == [*traced_items(items[lane.worker], said)], (level, every, [*mine])
                for item, records in mine.items():
                    expected = [one for one in all_mine[item] if every == 1 or one[0] != "issue"]
                    assert records == expected, (level, every, lane.name)
            if every == 1:
                continue
            assert "of the items that are traced: 1, " in trace.table(lanes)
            assert all(0 < lane.traced < lane.end - lane.begin for lane in lanes)
            refuses(
                f", one in {said}, found",
                lambda lanes=lanes: trace.check(
                    [replace(lane, spans=lane.spans[1:]) for lane in lanes], order
                ),
            )


def of_items(lane: trace.Lane) -> dict[int, list[tuple]]:
    """By item what its records say, but for their times and its end. What a role does behind its
    last item is of none."""
    found: dict[int, list[tuple]] = {}
    mine: list[tuple] = []
    for span in lane.spans:
        if span.event == "item":
            mine = found[span.number] = []
        elif span.event != "item_end":
            mine.append((span.event, span.of, span.number, span.turn))
    if lane.every == 1 and mine and lane.role == "compute" and mine[-1][0] == "copies":
        mine.pop()
    return found


sampled()
coarse("items", {"item"})
coarse("turns", {"item", "turn", "given"})
kernel, order = compare(128, "causal", "kind=symmetric-shift workers=2")
compare(64, "full", "kind=ascending workers=2")
data, manifest = kernel.trace, kernel.manifest
lanes = trace.decode(data, manifest)

# Another order is not what ran.
other = json.loads(json.dumps(order))
for chain in other["chains"]:
    chain["order"].reverse()
refuses("expected turn", lambda: trace.check(lanes, other))
other["items"].pop()
refuses("expected items 0 to", lambda: trace.check(lanes, other))

# A region that is cut, or of something else.
refuses(
    f"the region 'trace' has {len(data) - 16} bytes: expected",
    lambda: trace.decode(data[:-16], manifest),
)
refuses(
    "worker 0, lane 'load-q': expected a record of its beginning, found zeros",
    lambda: trace.decode(bytes(len(data)), manifest),
)
refuses(
    "worker 0, lane 'load-q': has begun and not ended",
    lambda: trace.decode(data[:16] + bytes(16) + data[32:], manifest),
)
refuses(
    "worker 0, lane 'load-q', record 2: expected an event and a name",
    lambda: trace.decode(data[:40] + b"\xc8" + data[41:], manifest),
)
refuses(
    "workers: expected a number of workers, or 0 for all, found -1",
    lambda: trace.of_workers(lanes, -1),
)
refuses(
    "worker 0, lane 'load-q', record 3: expected an event of a trace of level 'items', found"
    " 'slot_empty'",
    lambda: trace.decode(data, {**manifest, "trace": {**manifest["trace"], "level": "items"}}),
)
refuses("expected a kernel with a trace, found none", lambda: trace.decode(data, {"name": "plain"}))

# The file has both, with the same tracks; the command prints the table.
for path, text in (
    ("order.json", json.dumps({"schedules": [order]})),
    (
        "predicted.json",
        dash_opt(
            str(arguments.tmp / "causal128.mlir"),
            "--dash-tile",
            f"--dash-apply-schedule=kind=symmetric-shift workers=2 sizes={PROBLEM}",
            "--dash-report-schedule=format=trace",
        ),
    ),
):
    (arguments.tmp / path).write_text(text, encoding="utf-8")
(arguments.tmp / "region").write_bytes(data)
done = subprocess.run(
    [
        sys.executable,
        "-m",
        "dash_attn.trace",
        "region",
        "causal128-traced.json",
        "--order",
        "order.json",
        "--predicted",
        "predicted.json",
        "--out",
        "both.json",
        "--svg",
        "tracks.svg",
        "--roles",
        "reduce",
    ],
    cwd=arguments.tmp,
    env={"PYTHONPATH": str(arguments.root / "python")},
    capture_output=True,
    text=True,
    check=False,
)
assert done.returncode == 0 and "products" in done.stdout and "compute" in done.stdout, done.stderr
both = json.loads((arguments.tmp / "both.json").read_text(encoding="utf-8"))["traceEvents"]
tracks = [(event["pid"], event["args"]["name"]) for event in both if event["name"] == "thread_name"]
assert tracks[:6] == [
    (1, f"{track}, {part}")
    for track, part in (
        ("compute", "predicted"),
        ("compute", "measured"),
        ("compute 1", "measured"),
        ("reduce", "predicted"),
        ("reduce", "measured"),
        ("reduce 1", "measured"),
    )
], tracks
drawn = (arguments.tmp / "tracks.svg").read_text(encoding="utf-8")
assert (
    "w0 reduce 1, measured" in drawn
    and "w0 reduce, predicted" in drawn
    and "w0 compute" not in drawn
), drawn
assert "1. " in done.stdout and "the largest differences:" in done.stdout, done.stdout
for extra, words in (
    (["--by=worker", "--order=order.json", "--heat=heat.svg"], "w0 compute"),
    (["--heat=heat.json"], "--heat: expected --order beside it"),
):
    done = subprocess.run(
        [sys.executable, "-m", "dash_attn.trace", "region", "causal128-traced.json", *extra],
        cwd=arguments.tmp,
        env={"PYTHONPATH": str(arguments.root / "python")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert words in done.stdout + done.stderr and (done.returncode == 0) == (
        "--order=order.json" in extra
    ), done
assert (arguments.tmp / "heat.svg").exists() and not (arguments.tmp / "heat.json").exists()
# Prices of what the emulator did, a few microseconds of its own: it says them, and that a full
# mask's are missing.
done = subprocess.run(
    [
        sys.executable,
        "-m",
        "dash_attn.tune",
        "costs.json",
        "--from-trace",
        "region",
        "causal128-traced.json",
        "order.json",
    ],
    cwd=arguments.tmp,
    env={"PYTHONPATH": str(arguments.root / "python")},
    capture_output=True,
    text=True,
    check=False,
)
assert (
    done.returncode == 2
    and done.stdout.startswith("128 masked: compute 0.")
    and "expected one trace of a full mask for head dim 128" in done.stderr
), done
done = subprocess.run(
    [sys.executable, "-m", "dash_attn.trace", "predicted.json", "causal128-traced.json"],
    cwd=arguments.tmp,
    env={"PYTHONPATH": str(arguments.root / "python")},
    capture_output=True,
    text=True,
    check=False,
)
assert done.returncode == 2 and "dash_attn.trace: error: the region 'trace' has" in done.stderr, (
    done
)

# Lanes that are full lose the last records, say how many, and write nothing outside: the emulator
# would say so.
small = compiled(
    arguments.tmp / "causal128.mlir",
    "small",
    "kind=symmetric-shift workers=2 trace=all trace-every=1 trace-records=20",
)
inputs = Inputs(small.manifest, Problem.parse(PROBLEM), seed=1)
small.run(inputs.tensors, inputs.sizes, inputs.scale, 0)
full = trace.decode(small.trace, small.manifest)
assert all(len(lane.spans) <= 18 for lane in full) and any(lane.lost for lane in full)
assert [lane.lost + len(lane.spans) for lane in full] == [len(lane.spans) for lane in lanes]
assert "records had no room" in trace.table(full)
