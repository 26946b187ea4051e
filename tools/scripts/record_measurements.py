#!/usr/bin/env python3
"""record_measurements.py - what the newest records of measurements say, in the pages: tables,
ratios and the picture.

  tools/scripts/record_measurements.py          writes README.md, pages, .svg
  tools/scripts/record_measurements.py --check  refuses those that say something else

Records are test/Device/records/*-bench.json, *-calls.json and *-few.json, of `python3 -m
dash_attn.bench --json` with a bundle, without one and with --backward, *-auto.json, of
test/Device/auto_kind.py, *-masks.json, of test/Device/mask_speed.py, and *-peers.json and
*-sustained.json (of test/Device/sustained.py): dash beside its peers in one process. *-head-dims
is of test/Device/head_dims.py, *-world-compare of test/Device/world_compare.py, *-trace-levels of
test/Device/trace.py, *-both-ways of test/Device/both_ways.py; *-packed, *-jax and *-host of
check-device. In a page, what stands between <!-- NAME --> and <!-- end NAME --> is written.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import house

sys.path.insert(0, str(house.ROOT / "python"))
from dash_attn.measure.picture import draw  # noqa: E402
from measured import DOCS, newest, replace  # noqa: E402
from measured_calls import (  # noqa: E402
    few_heads,
    front_ends,
    of_worlds,
    trace_levels,
    trace_sampled,
    trace_words,
)
from measured_forward import of_attention  # noqa: E402
from measured_speed import (  # noqa: E402
    beside_peers,
    both_ways,
    by_active_task,
    chosen_kinds,
    head_dims_beside_cudnn,
    measurements,
    summary,
    without_pause,
)


def main() -> None:
    arguments = house.parse_arguments(__doc__, check={"action": "store_true"})
    root = arguments.root
    bench, bench_name = newest(root, "bench")
    peers, peers_name = newest(root, "peers")
    baselines = json.loads(house.read(root / "python/dash_attn/measure/baselines.json"))
    page = replace(
        house.read(root / DOCS / "measurements.md"),
        "measurements",
        measurements(bench, bench_name, baselines),
    )
    page = replace(page, "auto", chosen_kinds(*newest(root, "auto")))
    page = replace(page, "sustained", without_pause(*newest(root, "sustained")))
    page = replace(page, "few", few_heads(*newest(root, "few")))
    page = replace(page, "masks", by_active_task(*newest(root, "masks")))
    page = replace(page, "calls", both_ways(*newest(root, "calls")))
    page = replace(page, "head-dims", head_dims_beside_cudnn(*newest(root, "head-dims")))
    page = replace(
        page,
        "front-ends",
        front_ends(newest(root, "packed"), newest(root, "jax"), newest(root, "host")),
    )
    seeing = replace(
        house.read(root / DOCS / "seeing.md"),
        "trace-levels",
        trace_levels(*newest(root, "trace-levels")),
    )
    seeing = replace(seeing, "trace-sampled", trace_sampled(*newest(root, "trace-sampled")))
    seeing = replace(
        seeing, "trace-words", trace_words(newest(root, "trace-levels")[0], "causal-128")
    )
    contents = {
        Path("README.md"): replace(
            house.read(root / "README.md"),
            "speed",
            summary(peers, newest(root, "sustained")[0], newest(root, "head-dims")[0]),
        ),
        DOCS / "measurements.md": replace(page, "peers", beside_peers(peers, peers_name)),
        DOCS / "forward.md": replace(
            house.read(root / DOCS / "forward.md"),
            "both ways",
            of_attention(*newest(root, "both-ways")),
        ),
        DOCS / "world.md": replace(
            house.read(root / DOCS / "world.md"),
            "measured",
            of_worlds(*newest(root, "world-compare")),
        ),
        DOCS / "seeing.md": seeing,
        DOCS / "measurements.svg": draw(bench, baselines),
    }
    findings = house.Findings("measurements")
    for path, text in contents.items():
        if not arguments.check:
            (root / path).write_text(text, encoding="utf-8")
        elif text != house.read(root / path):
            findings.add(
                path,
                1,
                "expected what the newest records say, found something else; run:"
                " tools/scripts/record_measurements.py",
            )
    findings.finish()


if __name__ == "__main__":
    main()
