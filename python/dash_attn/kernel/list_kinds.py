"""The kinds of orders that gradients of packed sequences take, whose lengths only the device knows.
Bits follow from a kind, so nothing else chooses it."""

from __future__ import annotations

# At level `run` each launch deals items by work.
DEALT = "shortest-first"
# Above it a batch has the bits of packed sequences, so both take the kind that was measured best
# for a window (docs/measurements.md).
OF_LISTS = {(-1, 0): "symmetric-shift"}
OF_OTHER_LISTS = "shift"
OF_UNIONS = "descending"  # of kinds with formulas, those for unions


def kind_of_lists(window: tuple[int, int], rules: str = "", level: str = "run") -> str:
    """rules: of the mask beside its window, as `masks.rules_of` says them."""
    if rules:
        return OF_UNIONS
    return DEALT if level == "run" else OF_LISTS.get(window, OF_OTHER_LISTS)
