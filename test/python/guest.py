# RUN: env PYTHONPATH=%dash_src/python %python %s %dash_examples
# REQUIRES: python, plain-libdash
"""A guest in a Python process: importing, compiling and planning leave signals, environment,
warnings, logging, paths and locale as they were."""

from __future__ import annotations

import ctypes
import gc
import locale
import logging
import os
import signal
import sys
import threading
import warnings
from pathlib import Path
from typing import Any


def ours(*_: Any) -> None:
    pass


for number in (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGALRM,
    signal.SIGUSR1,
    signal.SIGPIPE,
    signal.SIGCHLD,
):
    signal.signal(number, ours)
signal.setitimer(signal.ITIMER_REAL, 100000, 7)
os.umask(0o027)
locale.setlocale(locale.LC_ALL, "C.UTF-8")
warnings.filterwarnings("error", message="of the application")
logging.basicConfig(level=logging.ERROR)
sys.setrecursionlimit(1234)


def state() -> dict[str, Any]:
    mask = os.umask(0)
    os.umask(mask)
    return {
        "handlers": {number: signal.getsignal(number) for number in signal.valid_signals()},
        "wakeup": signal.set_wakeup_fd(-1),
        "timer": (
            signal.getitimer(signal.ITIMER_REAL)[0] > 50000,
            signal.getitimer(signal.ITIMER_REAL)[1],
        ),
        "umask": mask,
        "folder": os.getcwd(),
        "environment": dict(os.environ),
        "locale": locale.setlocale(locale.LC_ALL),
        "warnings": list(warnings.filters),
        "path": list(sys.path),
        "logging": (
            logging.root.level,
            list(logging.root.handlers),
            logging.root.manager.disable,
            logging.getLogger("dash_attn").level,
            list(logging.getLogger("dash_attn").handlers),
        ),
        "hooks": (
            sys.excepthook,
            sys.unraisablehook,
            threading.excepthook,
            sys.gettrace(),
            sys.getprofile(),
            sys.displayhook,
        ),
        "limits": (
            sys.getrecursionlimit(),
            sys.getswitchinterval(),
            gc.isenabled(),
            gc.get_threshold(),
        ),
        "threads": threading.active_count(),
        "streams": (sys.stdout, sys.stderr, sys.stdin),
    }


before = state()


def compare(what: str) -> None:
    after = state()
    assert after == before, (
        what,
        {name: (before[name], after[name]) for name in before if before[name] != after[name]},
    )


import dash_attn  # noqa: E402
from dash_attn import audit, cubin  # noqa: E402, F401
from dash_attn.kernel import orders, plan, problem, tools, workspace  # noqa: E402, F401
from dash_attn.kernel.library import HANDLER, Handle, StringRef, diagnostics, library  # noqa: E402
from dash_attn.measure import predict  # noqa: E402, F401
from dash_attn.support import files  # noqa: E402, F401

compare("importing")
library()
compare("loading")
(compiled,) = dash_attn.compile_program(
    (Path(sys.argv[1]) / "bwd-causal.mlir").read_text(), "kind=shift workers=4"
)
compare("compiling")
try:
    dash_attn.compile_program("no program")
except dash_attn.CompileError:
    compare("refusing")
order = orders.order_for(problem.Wanted(64, 64, "bf16", (-1, 0)), 1, 4, 4, 1024, 1024)
orders.texts_of(order.wanted)
compare("choosing and planning")
for work in (
    lambda: dash_attn.Kernel.load("/nowhere"),
    lambda: dash_attn.Kernel.compile("no program"),
    lambda: audit.Run.load("/nowhere"),
):
    try:
        work()
    except (ValueError, OSError):
        compare("what fails")
assert dash_attn.Kernel.compile(
    compiled.manifest and (Path(sys.argv[1]) / "bwd-causal.mlir").read_text(),
    "kind=shift workers=4",
).name
compare("a kernel")

# So much is kept of a thread that never asks what was said, and nothing of another's.
lib, program = library(), Handle()
for _ in range(300):
    assert lib.dashCompile(
        StringRef.of(b"no program"),
        StringRef.of(b"here"),
        StringRef.of(b""),
        HANDLER,
        None,
        ctypes.byref(program),
    )
assert (
    lib.dashDiagnosticGetNumKept() == 256
    and lib.dashDiagnosticGetKept(255).file.text == "here"
    and not lib.dashDiagnosticGetKept(256).message.text
)
found: list[int] = []
other = threading.Thread(target=lambda: found.append(lib.dashDiagnosticGetNumKept()))
other.start()
other.join()
assert found == [0] and len(diagnostics()) == 256 and diagnostics() == ()
