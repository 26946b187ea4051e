"""Lengths of packed documents, for measurements and predictions."""

from __future__ import annotations

import random
from collections.abc import Callable


def filled(tokens: int, draw: Callable[[], float]) -> list[int]:
    """Lengths that `draw` makes, rounded, until they add up to the tokens."""
    lengths: list[int] = []
    while (left := tokens - sum(lengths)) > 0:
        lengths.append(min(max(1, round(draw())), left))
    return lengths


def lognormal(rng: random.Random, tokens: int, mean: float, deviation: float) -> list[int]:
    """mean, deviation: of the logarithm of a length."""
    return filled(tokens, lambda: rng.lognormvariate(mean, deviation))
