#!/usr/bin/env python3
"""fit_parts.py RECORD: prices of programs of dk and dv, of dq, and of forwards, as a file of costs
has them.

RECORD is one of test/Device/part_programs.py, or of test/Device/forwards.py --prices. A line is
printed for each program, pair of head dims and class of masks: what predicts the times of the main
kernels best, over all lengths. What is said of each goes to standard error. dash_attn and libdash
have to be found, as in a test.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from dash_attn.measure.fit import CLASSES, WORKERS, Fit  # noqa: E402

KIND = "longest-first"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("record", type=Path)
    speeds = json.loads(parser.parse_args().record.read_text(encoding="utf-8"))["speeds"]
    groups: dict[tuple[str, int, int, str], list[dict]] = {}
    for speed in speeds:
        head_dim, head_dim_v = speed["head_dims"]
        for program, milliseconds in speed["main_ms"].items():
            groups.setdefault((program, head_dim, head_dim_v, speed["mask"]), []).append(
                {
                    "program": program,
                    "head_dim": head_dim,
                    "head_dim_v": head_dim_v,
                    **{name: speed[name] for name in ("mask", "rows", "batch", "heads")},
                    "variant": KIND,
                    "entries_ms": {"main": milliseconds},
                }
            )
    lines = []
    for (_, head_dim, head_dim_v, mask), rows in sorted(groups.items()):
        found = Fit(head_dim, CLASSES[mask], rows, WORKERS)
        print(f"{found.program['program']}, {head_dim_v} of v: {found}", file=sys.stderr)
        lines.append("    " + json.dumps(found.price))
    print(",\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
