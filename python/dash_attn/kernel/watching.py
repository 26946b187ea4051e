"""Observers of launches: none, unless asked for. `dash_attn.torch.sampling` and `dash_attn.hang`
have some."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

# Each is called in front of a launch, a `Launch`, in the thread that launches; what it returns is
# called behind, also where the launch fails.
Observer = Callable[[Any], Callable[[], None]]
observers: list[Observer] = []

# What says where this process is among others, for people: each has rank, size, where, call and
# since.
places: weakref.WeakSet[Any] = weakref.WeakSet()


def begin(launch: Any) -> list[Callable[[], None]]:
    """What is to be called behind a launch, the last one first."""
    return [observer(launch) for observer in tuple(observers)][::-1]
