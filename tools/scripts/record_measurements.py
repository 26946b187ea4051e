#!/usr/bin/env python3
"""record_measurements.py b.json - writes what `python3 -m dash_attn.bench --json b.json` measured into docs/measurements.md."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "dialects/dash/docs/measurements.md"
BEGIN, END = "<!-- measurements -->", "<!-- end measurements -->"
KINDS = ("ascending", "descending", "shift", "symmetric-shift")
OTHERS = ("unordered (nd)", "flash (nd)", "cudnn (nd)")


def main() -> int:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    record = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN)
    after = rest.split(END)[1]
    PAGE.write_text(before + BEGIN + "\n\n" + render(record) + "\n" + END + after, encoding="utf-8")
    return 0


def render(record: dict) -> str:
    peers = json.loads((ROOT / "python/dash_attn/baselines.json").read_text(encoding="utf-8"))
    problems: dict[tuple, dict[str, dict]] = {}
    for row in record["results"]:
        problems.setdefault((row["head_dim"], row["mask"], row["rows"]), {})[row["variant"]] = row
    lines = [f"{record['gpu']}, PyTorch {record['torch']}, {record['date']}, commit {record['commit']}, medians of {record['rounds']} "
             "rounds, TFLOP/s of the whole backward. The best order is bold; ratios are of it.", "",
             "| head dim, mask | S | " + " | ".join(KINDS + OTHERS) + " | to FA3 det | to cuDNN here |",
             "|---|---|" + "---|" * (len(KINDS) + len(OTHERS) + 2)]
    ratios: dict[int, list[tuple[float, float]]] = {}
    last = None
    for (head_dim, mask, rows), variants in problems.items():
        best = max(KINDS, key=lambda kind: variants[kind]["tflops"] if kind in variants else 0)
        speed = variants[best]["tflops"]
        pair = speed / peer(peers, head_dim, mask, rows), speed / variants["cudnn (nd)"]["tflops"]
        ratios.setdefault(head_dim, []).append(pair)
        cells = [f"**{variants[name]['tflops']:.0f}**" if name == best else
                 f"{variants[name]['tflops']:.0f}" if name in variants else "–" for name in KINDS + OTHERS]
        name = f"{head_dim} {mask}"
        lines.append(f"| {name if name != last else ''} | {rows} | " + " | ".join(cells) + f" | {pair[0]:.2f} | {pair[1]:.2f} |")
        last = name
    lines.append("")
    for head_dim, pairs in ratios.items():
        fa3, cudnn = (math.exp(sum(math.log(pair[i]) for pair in pairs) / len(pairs)) for i in (0, 1))
        lines.append(f"Geometric mean over the {len(pairs)} problems of head dim {head_dim}: {fa3:.2f} of FA3 det, {cudnn:.2f} of cuDNN "
                     "(not deterministic) in the same process.")
    return "\n".join(lines) + "\n"


def peer(peers: dict, head_dim: int, mask: str, rows: int) -> float:
    """FA3's deterministic TFLOP/s."""
    return next(row["fa3_det"] for row in peers["rows"]
                if (row["head_dim"], row["mask"], row["rows"]) == (head_dim, mask, rows))


if __name__ == "__main__":
    sys.exit(main())
