#!/usr/bin/env python3
"""compare_predictions.py - what the cost model predicts beside what a GPU took, for the newest
measurements of each head dim.

  tools/scripts/compare_predictions.py [--dash-opt PATH]  prints the tables
  tools/scripts/compare_predictions.py --write            puts them into benchmarks.md
  tools/scripts/compare_predictions.py --check            refuses a page that says something else

Records are test/Device/records/*-tune.json and *-tune-HEAD_DIM.json, of dash_attn.tune. Measured is
the main kernel alone; predicted is the makespan of the same problem and kind with 132 workers and
the costs that come with dash.
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
import statistics
import sys
from pathlib import Path

import house

sys.path.insert(0, str(house.ROOT / "python"))
from dash_attn.measure.fit import WORKERS  # noqa: E402
from dash_attn.measure.predict import KINDS, predict  # noqa: E402

PAGE = "dialects/dash/docs/benchmarks.md"
NOISE = 1.02  # kinds that are nearer than this are not told apart by measuring


def newest(root: Path) -> dict[str, dict]:
    """By the names of their files, the records that are the newest of a head dim, with the results
    of these head dims."""
    records = {
        path.name: json.loads(house.read(path))
        for path in sorted((root / "test/Device/records").glob("*.json"))
        if re.search(r"-tune(-\d+)?$", path.stem)
    }
    latest: dict[int, str] = {}
    for name, record in records.items():
        for head_dim in {row["head_dim"] for row in record["results"]}:
            if head_dim not in latest or record["date"] >= records[latest[head_dim]]["date"]:
                latest[head_dim] = name
    if not latest:
        sys.exit("error: expected a record test/Device/records/*-tune.json, found none")
    return {
        name: {
            **record,
            "results": [row for row in record["results"] if latest[row["head_dim"]] == name],
        }
        for name, record in records.items()
        if name in latest.values()
    }


def ranks(values: list[float]) -> list[float]:
    """The place of each value, that of equal ones their mean."""
    ordered = sorted(values)
    return [
        statistics.mean(i for i, other in enumerate(ordered) if other == value) for value in values
    ]


def correlation(pairs: list[tuple[float, float]]) -> float:
    """Spearman's."""
    first, second = (ranks(list(column)) for column in zip(*pairs))
    return statistics.correlation(first, second)


def tables(records: dict[str, dict], dash_opt: Path) -> str:
    rows = [
        row for record in records.values() for row in record["results"] if row["variant"] in KINDS
    ]
    predicted = predict(rows, WORKERS, dash_opt=[str(dash_opt)])
    found = {
        (row["head_dim"], row["mask"], row["rows"], row["variant"]): (
            makespan / 1000,
            row["entries_ms"]["main"],
        )
        for row, (makespan, _) in zip(rows, predicted)
    }
    problems = sorted({key[:3] for key in found})
    lines = [
        "| head dim, mask | S | " + " | ".join(KINDS) + " | predicted best takes |",
        "|---" * (len(KINDS) + 3) + "|",
    ]
    right = pairs = 0
    losses = []
    for problem in problems:
        times = {kind: found[(*problem, kind)] for kind in KINDS if (*problem, kind) in found}
        for (a, b), (c, d) in itertools.combinations(times.values(), 2):
            if max(b, d) / min(b, d) > NOISE and a != c:
                pairs += 1
                right += (a < c) == (b < d)
        fastest = min(measured for _, measured in times.values())
        loss = times[min(times, key=lambda kind: times[kind][0])][1] / fastest
        losses.append((loss, problem))
        cells = [
            f"{times[kind][0]:.2f} / {times[kind][1]:.2f}" if kind in times else "-"
            for kind in KINDS
        ]
        lines.append(
            f"| {problem[0]} {problem[1]} | {problem[2]} | "
            + " | ".join(cells)
            + f" | {loss:.3f} |"
        )
    summary = []
    for head_dim in sorted({key[0] for key in found}, reverse=True):
        mine = [value for key, value in found.items() if key[0] == head_dim]
        scale = statistics.median(measured / predicted for predicted, measured in mine)
        miss, key = max(
            (max(measured / predicted / scale, predicted * scale / measured), key)
            for key, (predicted, measured) in found.items()
            if key[0] == head_dim
        )
        summary.append(
            f"- Head dim {head_dim}: the rank correlation is {correlation(mine):.3f} over"
            f" {len(mine)} orders. The median of measured over predicted is {scale:.2f}. The worst"
            f" miss beyond that is {miss:.2f} times ({key[3]}, {key[1]}, S {key[2]})."
        )
    worst = max(losses)
    summary.append(
        f"- The faster of two kinds is predicted right in {right} of {pairs} pairs that differ by"
        f" more than {100 * (NOISE - 1):.0f} %."
    )
    summary.append(
        "- The kind predicted best takes"
        f" {statistics.geometric_mean(loss for loss, _ in losses):.3f} times as long as the fastest"
        f" in geometric mean, {worst[0]:.3f} at worst (head dim {worst[1][0]}, {worst[1][1]}, S"
        f" {worst[1][2]})."
    )
    sources = "; ".join(
        f"{record['gpu']}, {record['date']}, commit {record['commit']}"
        f" ([record](../../../test/Device/records/{name}))"
        for name, record in records.items()
    )
    return (
        f"`tools/scripts/compare_predictions.py`; {sources}. Predicted / measured main kernel,"
        " ms.\n\n" + "\n".join(lines) + "\n\n" + "\n".join(summary) + "\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dash-opt", type=Path, default=house.ROOT / "build/bin/dash-opt")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    text = tables(newest(house.ROOT), args.dash_opt)
    if not args.write and not args.check:
        print(text, end="")
        return
    page = house.ROOT / PAGE
    old = house.read(page)
    new = re.sub(
        r"(<!-- predictions -->\n).*?(<!-- end predictions -->)",
        lambda match: f"{match[1]}\n{text}\n{match[2]}",
        old,
        flags=re.S,
    )
    if args.write:
        page.write_text(new, encoding="utf-8")
    elif new != old:
        sys.exit(
            f"error: {PAGE} says something else than the newest records; run:"
            " tools/scripts/compare_predictions.py --write"
        )


if __name__ == "__main__":
    main()
