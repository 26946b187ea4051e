# RUN: env PYTHONPATH=%dash_src/python %python %s %dash_examples
# REQUIRES: python, plain-libdash
"""A process may end whenever it wants to: while a thread compiles, plans or chooses, while it is
told diagnostics, with handles of all kinds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = Path(sys.argv[1]) / "bwd-causal.mlir"
# What was registered first is called last: the process stays a second (its status) behind
# everything that libraries have torn down.
BEGIN = f"""
import ctypes, sys, threading, time
ctypes.CDLL(None).on_exit(ctypes.CDLL(None).sleep, None)
from dash_attn.kernel.compiler import compile_program
from dash_attn.kernel.library import Choice, Handle, StringRef, fill, library, make, named

program = open({str(PROGRAM)!r}).read()
begun = threading.Event()

def compiles(i):
    compile_program(program, "kind=shift workers=132")

def is_refused(i):
    # Of diagnostics: this thread says something all the time.
    try:
        compile_program("no program" * 100)
    except ValueError:
        pass

compiled, = compile_program(program, "kind=synthesized workers=16 parts=1 sizes=q:256,kv:256,batch:1,heads:2,kv-heads:2") if "plan" in sys.argv[1] else [None]
planner = make(library().dashPlannerCreate)

def plans(i):
    given = named(dict(batch=1, heads=4, kv_heads=2, q_rows=64 * (i % 32 + 1), kv_rows=2048))
    manifest = compiled.manifest.encode()
    make(library().dashPlannerPlan, planner, StringRef.of(manifest), given, len(given))
    fill(Choice(), library().dashPlannerChoose, planner, StringRef.of(manifest), given, len(given), 0)

def forever(work):
    for i in range(10**9):
        begun.set()
        work(i)

"""
# The first compile of a process makes what all later ones share, and the end must not take that
# away.
END = """
work = globals()[sys.argv[1]]
threading.Thread(target=forever, args=(work,), daemon=True).start()
begun.wait()
time.sleep(float(sys.argv[2]))
sys.exit(1)
"""

begun = [
    (
        work,
        milliseconds,
        subprocess.Popen(
            [sys.executable, "-c", BEGIN + END, work, str(milliseconds / 1000)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ),
    )
    for work, times in (("compiles", (0, 50, 200)), ("is_refused", (0, 50)), ("plans", (0, 50)))
    for milliseconds in times
]
for work, milliseconds, process in begun:
    said, _ = process.communicate()
    assert process.returncode == 1 and not said, (
        f"{work}, {milliseconds} ms: {process.returncode}; {said[-2000:]}"
    )
