# RUN: env PYTHONPATH=%dash_src/python %python %s %dash_examples
# REQUIRES: python, plain-libdash
"""A process may be forked by os.fork or multiprocessing, whatever its threads do: the child works,
or is told why not, and never waits."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path

from dash_attn import CompileError, LibraryError, compile_program
from dash_attn.support.forks import new_lock

MOST_SECONDS, FORKS = 120, 8
PROGRAM = (Path(sys.argv[1]) / "bwd-causal.mlir").read_text(encoding="utf-8")
WORKS, TOLD, ELSE = 0, 7, 9
# A warning of newer versions of Python, that forking with threads may hang: this looks for it.
warnings.simplefilter("ignore", DeprecationWarning)


def in_child(work: Callable[[], object]) -> int:
    """WORKS, or TOLD where a LibraryError was raised; below 0 of a child that hung."""
    child = os.fork()
    if child == 0:
        import signal

        signal.alarm(MOST_SECONDS)
        status = ELSE
        try:
            work()
            status = WORKS
        except LibraryError as error:
            if "forked while another thread was in libdash" in str(error):
                status = TOLD
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def compiles() -> None:
    (compiled,) = compile_program(PROGRAM, "kind=shift workers=4")
    assert compiled.ptx


def refused() -> None:
    try:
        compile_program("no program")
    except CompileError as error:
        assert error.diagnostics
    else:
        raise AssertionError("expected an error")


def locks_are_open() -> None:
    held, done = threading.Event(), threading.Event()
    lock = new_lock()

    def hold() -> None:
        with lock:
            held.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()

    def take() -> None:
        with lock, lock:
            pass

    assert in_child(take) == WORKS
    done.set()
    thread.join()


def nobody_is_inside() -> None:
    assert in_child(compiles) == in_child(refused) == WORKS
    with multiprocessing.get_context("fork").Pool(1) as pool:
        pool.apply(refused)


def somebody_is_inside() -> None:
    begun, done = threading.Event(), threading.Event()

    def forever() -> None:
        while not done.is_set():
            begun.set()
            compiles()

    threads = [threading.Thread(target=forever) for _ in range(2)]
    for thread in threads:
        thread.start()
    begun.wait()
    found = [in_child(refused) for _ in range(FORKS)]
    done.set()
    for thread in threads:
        thread.join()
    assert set(found) <= {WORKS, TOLD} and TOLD in found, found
    assert in_child(compiles) == WORKS


nobody_is_inside()
locks_are_open()
somebody_is_inside()
