"""Why a launch does not end: which worker has a turn and does not give it, and which workers wait
behind it.

    from dash_attn import hang
    with hang.watch(timeout=60, folder="reports"):
        train()

    python3 -m dash_attn.hang reports/hang-0.zip     # written by a watch
    python3 -m dash_attn.hang reports/hang-*.json    # reports of several ranks
    # Memory that a debugger has written:
    python3 -m dash_attn.hang WORKSPACE MANIFEST --sizes batch=1,heads=8,...

Counters of turns are read on a stream of their own, so that a kernel that never ends can be looked
at. Where something stands still, the status is 1.
"""

from __future__ import annotations

from ..kernel.commands import run
from .command import main as _main
from .looks import Dump, Look, explain, read
from .ranks import explain_ranks
from .watch import Watch, watch

__all__ = ["Dump", "Look", "Watch", "explain", "explain_ranks", "main", "read", "watch"]


def main() -> int:
    """Runs `python3 -m dash_attn.hang`, and returns its status."""
    return run("hang", _main)
