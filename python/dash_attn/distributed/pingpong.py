"""Two micro-batches in turns: one travels while the other is computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from .function import Compute, Receive, begin, given_back
from .world import World


class Layer(Protocol):
    def before(self, x: Any) -> tuple[Any, Any, Any]:
        """q, k and v, as `attention` takes them."""

    def after(self, x: Any, o: Any) -> Any:
        """What the next layer begins with."""


def pingpong(
    layers: Sequence[Layer], x0: Any, x1: Any, *, worlds: tuple[World, World]
) -> tuple[Any, Any]:
    """Runs layers over two micro-batches, each with its world, as a loop over the layers would
    run each by itself, with the same bits.

    A layer is what is in front of attention, and what is behind it. One backward over the sum of
    both losses goes through all parts in the reverse order, so that there, too, one travels
    while the other is computed.
    """
    x = [x0, x1]
    on_their_way = (
        [begin(world, *layers[0].before(one)) for world, one in zip(worlds, x)] if layers else []
    )
    for i, layer in enumerate(layers):
        computed = [Compute.apply(flight, token) for flight, token, _ in on_their_way]
        for batch, token in enumerate(computed):
            flight, _, is_list = on_their_way[batch]
            o, _ = given_back([Receive.apply(flight, token)], is_list)
            x[batch] = layer.after(x[batch], o)
            if i + 1 < len(layers):
                on_their_way[batch] = begin(worlds[batch], *layers[i + 1].before(x[batch]))
    return x[0], x[1]
