"""Small models of all types that transformers has, by dash beside eager: served and equal, or
refused (compare_models.py)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from group import Failed, Skip, Test, demand

from dash_attn.measure.bundle import BundledKernel

SCRIPT = Path(__file__).resolve().parent / "compare_models.py"
# processes: models this small keep the host busy, not the GPU.
PARTS = max(1, min(8, (os.cpu_count() or 1) // 2))
SECONDS = 270
LEAST = 150  # models that are served, of some 200


def tests(kernels: list[BundledKernel], quick: bool) -> list[Test]:
    return [Test("models of transformers", kernels[0].name, all_models)]


def all_models() -> dict[str, Any]:
    """All rows, which tools/scripts/record_models.py takes as it takes those of the script."""
    try:
        import torch
        import transformers
    except ImportError as error:
        raise Skip(f"transformers is needed: {error}") from None
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"{part}.json" for part in range(1, PARTS + 1)]
        processes = [
            subprocess.Popen(
                [
                    sys.executable,
                    "-W",
                    "ignore",
                    str(SCRIPT),
                    f"--json={file}",
                    f"--part={file.stem}/{PARTS}",
                ],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
            )
            for file in files
        ]
        try:
            said = [
                process.communicate(timeout=max(1, SECONDS - (time.monotonic() - begun)))[1]
                for process in processes
            ]
        except subprocess.TimeoutExpired:
            raise Failed(f"models take longer than {SECONDS} s") from None
        finally:
            for process in processes:
                process.kill()
        missing = [text[-2000:] for text, file in zip(said, files) if not file.exists()]
        demand(not missing, "a process ended early", output=missing)
        rows = [
            row for file in files for row in json.loads(file.read_text(encoding="utf-8"))["rows"]
        ]
    states = Counter(state for row in rows for state, _ in row.get("cases", {}).values())
    furthest = sorted(
        (
            (float(why.split(",")[0]), row["type"], name)
            for row in rows
            for name, (state, why) in row.get("cases", {}).items()
            if state == "served"
        ),
        reverse=True,
    )[:20]
    record = {
        "transformers": transformers.__version__,
        "torch": torch.__version__,
        "states": states,
        "furthest": furthest,
        "seconds": round(time.monotonic() - begun),
        "rows": rows,
    }
    faults = [
        f"{row['type']} ({row['kind']}), {name}: {state}: {why}"
        for row in rows
        for name, (state, why) in row.get("cases", {}).items()
        if state in ("different", "failed")
    ]
    demand(not faults, "; ".join(faults)[:2000], **record)
    served = sum(row.get("cases", {}).get("plain", [""])[0] == "served" for row in rows)
    demand(served >= LEAST, f"only {served} models are served", **record)
    return record
