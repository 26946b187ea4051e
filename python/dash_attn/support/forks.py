"""Locks that a forked child finds open: threads that held them are not there any more."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any

_locks: weakref.WeakSet[Any] = weakref.WeakSet()


def new_lock() -> Any:
    """A lock that the thread which has it may take again: what collects garbage may do so
    anywhere."""
    lock = threading.RLock()
    _locks.add(lock)
    return lock


def _open_all() -> None:
    for lock in _locks:
        lock._at_fork_reinit()  # as logging does with those of its handlers


os.register_at_fork(after_in_child=_open_all)
