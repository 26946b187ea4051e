"""Observers of launches: none, unless asked for. `dash_attn.torch.sampling` and `dash_attn.hang`
have some."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

# Each is called in front of a launch, a `Launch`, in the thread that launches; what it returns is
# called behind, also where the launch fails.
Observer = Callable[[Any], Callable[[], None]]
observers: list[Observer] = []


class Place(NamedTuple):
    """where: for people; call: of attention, counted from 1, or 0 outside of it; since: seconds of
    the host's clock."""

    where: str
    call: int
    since: float


# What says where this process is among others: each has rank and size, and now() gives a Place.
places: weakref.WeakSet[Any] = weakref.WeakSet()


def begin(launch: Any) -> list[Callable[[], None]]:
    """What is to be called behind a launch, the last one first."""
    return [observer(launch) for observer in tuple(observers)][::-1]
