# RUN: %torch_python %s
# REQUIRES: torch, plain-libdash
"""What test/Device/sustained.py computes from runs, clocks and watts, without a GPU, and what it
says where there is none."""

from __future__ import annotations

import contextlib
import io
import sys
import time
import types
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent / "lib"), str(Path(__file__).parents[1] / "Device")]

import fixtures  # noqa: E402, F401  (finds dash_attn)
import sustained  # noqa: E402
import torch  # noqa: E402

from dash_attn.measure.peers import problems  # noqa: E402
from dash_attn.measure.timing import Variant, operations  # noqa: E402

(CASE,) = problems([512], [128], ["causal"])


def rows() -> None:
    """A run takes 2 ms or more; samples lie in all turns, those of SETTLE among them, which must
    not count."""
    ran: list[str] = []

    def variant(name: str) -> Variant:
        return Variant(name, lambda: (ran.append(name), time.sleep(0.002)))

    sensors = sustained.Sensors()
    sensors.samples = []
    between, asked = sensors.between, []

    def sampled(begin: float, end: float) -> tuple[list[float], list[float]]:
        asked.append((begin, end))
        sensors.samples += [
            (begin - 1e-3, 1.0, 1.0),
            (begin, 1600.0, 690.0),
            (end, 1700.0, 710.0),
            (end + 1e-3, 1.0, 1.0),
        ]
        return between(begin, end)

    sensors.between = sampled
    ours, theirs = sustained.measure(CASE, [variant("shift"), variant("other")], 0.05, sensors)
    assert (ours["variant"], theirs["variant"], ours["clock_mhz"], ours["power_w"]) == (
        "shift",
        "other",
        1650,
        700,
    ), ours
    assert (
        2 <= ours["ms"] < 20
        and len(ours["turns_ms"]) == 2
        and ours["tflops"] == operations(CASE) / ours["ms"] / 1e9
    )
    assert [name for i, name in enumerate(ran) if i == 0 or ran[i - 1] != name] == [
        "shift",
        "other",
        "shift",
    ], "the second turns are in the opposite order"
    assert all(end - begin >= 0.05 for begin, end in asked) and len(asked) == 4
    sensors.between = lambda begin, end: ([], [])
    assert sustained.measure(CASE, [variant("shift")], 0.01, sensors)[0]["clock_mhz"] is None


def refused() -> None:
    with contextlib.redirect_stderr(io.StringIO()) as said:
        assert sustained.main(["bundle"]) == 1
        torch.cuda.is_available = lambda: True
        sustained.shutil.which = lambda name: None
        assert sustained.main(["bundle"]) == 1
        sustained.shutil.which = lambda name: name
        assert sustained.main(["/no/bundle"]) == 1
        try:
            sustained.main(["bundle", "--seconds=0"])
        except SystemExit as exited:
            assert exited.code == 2
    text, _, rest = said.getvalue().partition(
        "sustained.py: /no/bundle: expected a bundle of tools/make-device-bundle"
    )
    assert "error: argument --seconds: expected more than 0, found 0" in rest, rest
    assert text == "".join(
        f"sustained.py: expected a GPU and nvidia-smi, found no {what}\n"
        for what in ("GPU", "nvidia-smi")
    ), text


torch.cuda.is_available, torch.cuda.synchronize = lambda: False, lambda: None
torch.cuda.Event = lambda: types.SimpleNamespace(record=lambda: None, synchronize=lambda: None)
sustained.SETTLE = 0.01
rows()
refused()
