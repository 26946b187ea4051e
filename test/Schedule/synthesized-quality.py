# RUN: %python %s --dash-opt dash-opt --examples %dash_examples --tmp %t --blocks %dash_src/tools/scripts
# REQUIRES: python
"""How close synthesized orders come to the lower bound, by the cost model: limits for each mask,
level, cost and number of workers.

16 heads x 16384 tokens in all. A figure that gets worse than its limit is a regression of the
search.
"""

import argparse
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

parser = argparse.ArgumentParser()
for name in ("--dash-opt", "--examples", "--tmp", "--blocks"):
    parser.add_argument(name, required=True)
args = parser.parse_args()
sys.path.insert(0, args.blocks)
from random_blocks import blocks_attribute  # noqa: E402

FIXED = ["ascending", "descending", "shift", "symmetric-shift"]
LENGTHS = [16384, 4096, 1024]
Path(args.tmp).mkdir(parents=True, exist_ok=True)


def mask_text(mask, length):
    """A mask's text for sequences of `length`."""
    if mask == "blocks":
        return blocks_attribute(length, length // 128, length // 64)
    return {
        "full": "full",
        "causal": "causal",
        "window 512": "causal, window = [512, -1]",
        "window 2048": "causal, window = [2048, -1]",
    }[mask]


def ratio(mask, length, options):
    """Makespan over lower bound, in as many parts as the options state, or one: a number that is
    chosen would have another bound."""
    options += " parts=1" * (" parts=" not in options)
    name = f"{args.tmp}/{abs(hash((mask, length, options)))}"
    text = (Path(args.examples) / "bwd-causal.mlir").read_text()
    Path(name + ".mlir").write_text(
        text.replace("mask(<causal>)", f"mask(<{mask_text(mask, length)}>)")
    )
    subprocess.run(
        [
            args.dash_opt,
            name + ".mlir",
            "--dash-tile=q=64 kv=128",
            f"--dash-apply-schedule={options}",
            f"--dash-report-schedule=format=json output={name}.json",
            "-o",
            "/dev/null",
        ],
        check=True,
    )
    report = json.loads(Path(name + ".json").read_text())["schedules"][0]
    return report["makespan"] / report["lowerBound"]


def sizes(length, batch=None, heads=16):
    return f"sizes=q:{length},batch:{batch or 16384 // length},heads:{heads}"


def cases():
    """(mask, length, options, limit)."""
    for mask in ("full", "causal", "window 512", "window 2048", "blocks"):
        for length in LENGTHS:
            yield mask, length, f"kind=synthesized workers=132 {sizes(length)}", 1.05
    for mask in ("full", "causal", "blocks"):
        for options in (
            "workers=132 compute=1.6 reduce=2.1 boundary=0",
            "workers=132 buffers=1",
            "workers=7",
            "workers=40",
            "workers=66",
            "workers=131",
        ):
            yield mask, 2048, f"kind=synthesized {options} {sizes(2048)}", 1.10
    for parts in (1, 2, 4, 8):
        yield (
            "causal",
            8192,
            f"kind=synthesized workers=132 parts={parts} {sizes(8192, 1, 8)},kv-heads:1",
            1.10,
        )
    # Fewer q tiles than workers that would like to add to them, and problems too large for many
    # runs.
    for mask, shape in [
        ("full", "q:1024,kv:8192,batch:2,heads:32,kv-heads:8"),
        ("full", "q:1024,kv:8192,batch:4,heads:32,kv-heads:8"),
        ("causal", "q:1024,kv:8192,batch:2,heads:32"),
        ("causal", "q:512,kv:4096,batch:8,heads:32,kv-heads:8"),
        ("causal", "q:4096,kv:16384,heads:64,kv-heads:8"),
        ("full", "q:2048,kv:32768,heads:16"),
        ("full", "q:1024,kv:8192,heads:8,kv-heads:1"),
        ("causal", "q:8192,kv:1024,batch:4,heads:40,kv-heads:8"),
    ]:
        yield mask, 1024, f"kind=synthesized workers=132 parts=1 sizes={shape}", 1.05
    yield (
        "window 2048",
        1024,
        "kind=synthesized workers=132 parts=1 sizes=q:1024,kv:8192,batch:8,heads:32,kv-heads:8",
        1.05,
    )
    # A sequence of 64 items, of which 132 workers have more than one at a time.
    yield (
        "causal",
        1024,
        f"kind=synthesized workers=132 level=batch parts=8 {sizes(1024, 4, 8)},kv-heads:1",
        1.40,
    )
    yield "causal", 8192, f"kind=synthesized workers=132 level=machine {sizes(8192, 1, 6)}", 1.30
    for level in ("batch", "machine"):
        for length in LENGTHS:
            yield (
                "causal",
                length,
                f"kind=synthesized workers=132 level={level} {sizes(length)}",
                1.10,
            )
    yield "causal", 8192, f"kind=synthesized workers=132 level=machine {sizes(8192, 1, 4)}", 1.10


def check(case):
    mask, length, options, limit = case
    found = ratio(mask, length, options)
    return (
        None
        if found <= limit
        else f"{mask}, {length}, {options}: {found:.3f} of the bound, expected at most {limit}"
    )


def check_fixed(case):
    """Nowhere worse than the best of the fixed kinds."""
    mask, length, workers = case
    options = f"workers={workers} {sizes(length, 2, 6)}"
    best = min(ratio(mask, length, f"kind={kind} {options}") for kind in FIXED)
    found = ratio(mask, length, f"kind=synthesized {options}")
    return (
        None
        if found <= best * (1 + 1e-12)
        else f"{mask}, {length}, {options}: {found:.3f}, but a fixed kind has {best:.3f}"
    )


with ThreadPoolExecutor(2) as pool:
    failures = [text for text in pool.map(check, cases()) if text]
    against = [
        (mask, length, workers)
        for mask in ("full", "causal", "window 512", "blocks")
        for length in (1000, 2048)
        for workers in (5, 33, 132)
        if mask != "blocks" or length == 2048
    ]
    failures += [text for text in pool.map(check_fixed, against) if text]
print("\n".join(failures) or "all within their limits")
sys.exit(bool(failures))
