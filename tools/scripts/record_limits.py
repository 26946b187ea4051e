#!/usr/bin/env python3
"""record_limits.py - what a task needs by count beside what it takes, in measurements.md.

  tools/scripts/record_limits.py [--dash-opt PATH]  writes the page
  tools/scripts/record_limits.py --check            refuses one that says something else

Counted are the kernels that the compiler makes now (count_limits.py says how); measured is the
newest test/Device/records/*-cycles.json, of test/Device/profile_main.py.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import house
from count_limits import Need, count
from device_kernels import KV_TILE, Q_TILES, DeviceKernel
from measured import DOCS, link, newest, replace

# A share of the measured cycles: a need of as many leaves next to nothing to gain elsewhere.
BINDS = 0.85


def needs(dash_opt: Path, row: dict) -> Need:
    head_dim, mask = row["head_dim"], row["mask"]
    kernel = DeviceKernel("main", head_dim, mask, f"kind={row['variant']}")
    source = house.read(house.ROOT / "dialects/dash/examples" / kernel.example)
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "program.mlir"
        program.write_text(kernel.program(source), encoding="utf-8")
        subprocess.run(
            [
                dash_opt,
                program,
                f"--dash-to-ptx={kernel.options} output={folder}/main",
                "-o",
                "/dev/null",
            ],
            check=True,
        )
        return count(
            house.read(Path(folder) / "main.ptx"),
            "attention_bwd_main",
            Q_TILES[head_dim, mask] * KV_TILE,
        )


def tasks_a_worker(record: dict, row: dict) -> float:
    """Tiles of scores that the mask leaves something of."""
    q_tile, rows = Q_TILES[row["head_dim"], row["mask"]], row["rows"]
    first = range(0, rows, KV_TILE) if row["mask"] == "causal" else [0] * (rows // KV_TILE)
    return (
        row["batch"]
        * row["heads"]
        * sum((rows - begin) // q_tile for begin in first)
        / record["workers"]
    )


def sentence(row: dict, need: Need, measured: float) -> str:
    units = sorted(
        {
            "shared memory": need.shared_cycles,
            "the tensor core": need.tensor,
            "exponentials": need.exponentials,
        }.items(),
        key=lambda unit: -unit[1],
    )
    (most, cycles), (second, next_cycles) = units[:2]
    name = f"{row['head_dim']} {row['mask']}"

    def share(needed: float) -> str:
        return f"{100 * needed / measured:.0f} %"

    if cycles > BINDS * measured:
        return (
            f"- {name}: {most} binds, needed for {share(cycles)} of the cycles measured. Next is"
            f" {second}, with {share(next_cycles)}."
        )
    return (
        f"- {name}: no unit binds. The first is {most}, needed for {share(cycles)} of the cycles"
        f" measured. Next is {second}, with {share(next_cycles)}. The other {measured - cycles:.0f}"
        " cycles a task are waits: in the chain of a step, and where items begin and end."
    )


def limits(root: Path, dash_opt: Path) -> str:
    record, name = newest(root, "cycles")
    rows = sorted(record["results"], key=lambda row: (-row["head_dim"], row["mask"] == "causal"))
    lines = [
        (
            f"Measured: {record['gpu']}, {record['date']}, commit {record['commit']},"
            f" {rows[0]['batch']} sequences of {rows[0]['rows']} rows ([record]({link(name)}))."
            " Counted: the kernels of this tree."
        ),
        "",
        (
            "| head dim, mask | tensor core | shared memory | of it products | loads | dS | dQ |"
            " rows, barriers | exponentials | fences a warp | measured | tensor core busy | shared"
            " memory busy |"
        ),
        "|---" * 13 + "|",
    ]
    sentences = []
    for row in rows:
        need, measured = needs(dash_opt, row), row["cycles"] / tasks_a_worker(record, row)
        cells = [
            need.tensor,
            need.shared_cycles,
            *need.shared.values(),
            need.exponentials,
            need.fences,
        ]
        lines.append(
            f"| {row['head_dim']} {row['mask']} | "
            + " | ".join(f"{cell:.0f}" for cell in cells)
            + f" | **{measured:.0f}** | {row['tensor_busy']:.1f} % | {row['shared_busy']:.1f} % |"
        )
        sentences.append(sentence(row, need, measured))
    return "\n" + "\n".join([*lines, "", *sentences]) + "\n\n"


def main() -> None:
    arguments = house.parse_arguments(
        __doc__,
        **{
            "check": {"action": "store_true"},
            "dash-opt": {"type": Path, "default": house.ROOT / "build/bin/dash-opt"},
        },
    )
    path = arguments.root / DOCS / "measurements.md"
    old = house.read(path)
    new = replace(old, "limits", limits(arguments.root, arguments.dash_opt))
    findings = house.Findings("limits")
    if not arguments.check:
        path.write_text(new, encoding="utf-8")
    elif new != old:
        findings.add(
            DOCS / "measurements.md",
            1,
            "expected what kernels need and what the newest record says, found something else; "
            "run: tools/scripts/record_limits.py",
        )
    findings.finish()


if __name__ == "__main__":
    main()
