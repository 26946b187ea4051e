"""What device scripts of parts share: which parts run, what is wrong, the record and the status.

A part is a name and functions without arguments. `--only` names parts, so that each command ends
within the time that a machine gives it.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

Parts = Mapping[str, Sequence[Callable[[], Any]]]


def add_only(parser: argparse.ArgumentParser, parts: Parts) -> None:
    parser.add_argument(
        "--only", default=",".join(parts), help="which of " + ", ".join(parts) + ", all if not said"
    )


def run_parts(parser: argparse.ArgumentParser, only: str, parts: Parts) -> dict[str, list[Any]]:
    """What each part's functions return, of the parts that are asked for; the seconds of each part
    are printed. Ends the program where a name is unknown."""
    wanted = only.split(",")
    if unknown := sorted(set(wanted) - set(parts)):
        parser.error(
            f"--only: expected some of {', '.join(parts)}, separated by commas, found"
            f" {', '.join(map(repr, unknown))}"
        )
    found = {}
    for name in parts:
        if name not in wanted:
            continue
        begun = time.monotonic()
        found[name] = [function() for function in parts[name]]
        print(f"{name}: {time.monotonic() - begun:.0f} s", flush=True)
    return found


def mistakes_in(one: Mapping[str, Any], most: float, most_of_lse: float) -> list[str]:
    """What is wrong in a case with `errors` and `equal`, by name. The case is printed, and an error
    that is NaN is a mistake."""
    bad = [name for name, is_equal in one["equal"].items() if not is_equal]
    bad += [
        name
        for name, error in one["errors"].items()
        if not error <= (most_of_lse if name == "lse" else most)
    ]
    print(f"{one['case']}: {one['errors']}{f', WRONG: {bad}' if bad else ''}", flush=True)
    return bad


def finish(path: Path | None, wrong: Sequence[str], **found: Any) -> int:
    """Writes the record, if there is a path, and says what is wrong. Returns the status."""
    if path:
        import torch

        from dash_attn.measure.bundle import commit
        from dash_attn.support.records import write_record

        about = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__}
        write_record(path, about | {"commit": commit()} | found)
    print(f"wrong: {list(wrong)}" if wrong else "all right")
    return int(bool(wrong))
