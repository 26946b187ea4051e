# RUN: rm -rf %t && mkdir -p %t
# RUN: %torch_python %s %t
# REQUIRES: torch, plain-libdash
"""The example that people copy, on the CPU: it says when runs are equal, when they are not and
where, and draws it."""

from __future__ import annotations

import contextlib
import io
import re
import sys
import xml.etree.ElementTree
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

import on_cpu  # noqa: E402
import torch  # noqa: E402
from fixtures import SOURCE  # noqa: E402

sys.path.insert(0, str(SOURCE / "python/examples"))
import train_twice  # noqa: E402

TMP, CALLS = Path(sys.argv[1]), []
SIZES = ["--device=cpu", "--rows=12", "--width=128", "--steps=2"]


def unsteady(by: str, *arguments: Any, **of_lse: Any) -> tuple[torch.Tensor, ...]:
    """Another dQ in the first of the runs with dash, in the second layer that goes back."""
    found = steady(by, *arguments, **of_lse)
    CALLS.append(1)
    if len(CALLS) == 2:
        found[0].mul_(2)
    return found


def run(*more: str) -> tuple[int, dict[str, str], str]:
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        status = train_twice.main([*SIZES, *more])
    return (
        status,
        dict(re.findall(r"^(\w+): (loss .*)$", said.getvalue(), re.MULTILINE)),
        said.getvalue(),
    )


def refused(device: str) -> str:
    """What is said of a device that cannot train, by a status of 2."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        assert train_twice.main([*SIZES, f"--device={device}"]) == 2
    return said.getvalue()


HINT = "; 'python3 -m dash_attn.doctor' says what this machine can run, and what is missing\n"
assert refused("meta") == f"error: q: expected a tensor on a CUDA device, found one on 'meta'{HINT}"
if not torch.cuda.is_available():
    assert (
        refused("cuda")
        == f"error: expected an H100 or H200, found no GPU that PyTorch can use{HINT}"
    )
status, lines, whole = run("--svg", str(TMP / "equal.svg"))
assert status == 0 and set(lines) == {"sdpa", "dash"} and whole.count("both runs are equal") == 2, (
    whole
)
assert all(" 0 of " in line and " 2 steps" in line for line in lines.values()), lines
names = [
    text.text
    for text in xml.etree.ElementTree.parse(TMP / "equal.svg").iter(
        "{http://www.w3.org/2000/svg}text"
    )
]
assert names[-3:] == ["sdpa", "dash", "2 steps"], names
steady, on_cpu.gradients = on_cpu.gradients, unsteady
status, lines, whole = run()
assert status == 1 and " 0 of " in lines["sdpa"] and " 0 of " not in lines["dash"], whole
assert (
    "step 0, backward of model.layers.2.self_attn: dash.attention_backward.default, output 0, whose"
    " inputs match" in whole
), whole
