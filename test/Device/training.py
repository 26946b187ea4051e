"""The example that users copy: a Llama of transformers trained twice has the same weights."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from group import Failed, Skip, Test, demand

from dash_attn.measure.bundle import BundledKernel

HERE = Path(__file__).resolve().parent
# In a bundle examples lie beside the tests; in a source tree in python/.
EXAMPLE = next(
    (
        path
        for path in (
            HERE.parent / "examples/train_twice.py",
            HERE.parents[1] / "python/examples/train_twice.py",
        )
        if path.exists()
    ),
    None,
)


def tests(kernels: list[BundledKernel], quick: bool) -> list[Test]:
    return [Test("training train_twice", kernels[0].name, lambda: train_twice(5 if quick else 20))]


def train_twice(steps: int) -> dict[str, Any]:
    try:
        import transformers  # noqa: F401
    except ImportError as error:
        raise Skip(f"transformers is needed: {error}") from None
    begun = time.monotonic()
    done = subprocess.run(
        [sys.executable, str(EXAMPLE), f"--steps={steps}"],
        capture_output=True,
        text=True,
        check=False,
        timeout=55,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    said = dict(re.findall(r"^(\w+): (loss .*\n .*)$", done.stdout, re.MULTILINE))
    if set(said) != {"sdpa", "dash"}:
        raise Failed(
            f"the example ended with status {done.returncode}",
            output=(done.stdout + done.stderr)[-2000:],
        )
    demand(
        done.returncode == 0 and " 0 of " in said["dash"] and "both runs are equal" in said["dash"],
        "two runs have different weights",
        **said,
    )
    demand(
        " 0 of " not in said["sdpa"] and re.search("layers.*attention.*inputs match", said["sdpa"]),
        "the audit does not name SDPA",
        **said,
    )
    return said | {"seconds": round(time.monotonic() - begun)}
