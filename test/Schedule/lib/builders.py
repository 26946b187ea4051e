"""Reference builders for the closed forms: square problems, one sequence, as many heads as stated.

Each returns an order of n kv tiles x n q tiles a head; they are written from the paper's
description, apart from the compiler's, and are free where the paper is silent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from order import Item, Order
from problem import Mask, Problem, Sequence

TILE = 16


def square(n: int, heads: int, causal: bool) -> Problem:
    """One sequence of n x n tiles; every query head has a kv head of its own."""
    rows = Sequence(n * TILE, n * TILE)
    return Problem((rows,), TILE, TILE, Mask(causal=causal), heads=heads, kv_heads=heads)


def in_turn(item: int, workers: int) -> int:
    return item % workers


def back_and_forth(item: int, workers: int) -> int:
    place = item % (2 * workers)
    return min(place, 2 * workers - 1 - place)


def build(
    problem: Problem,
    workers: int,
    units: Iterable[tuple[int, list[int]]],
    assign: Callable[[int, int], int],
    visit: Callable[[int, list[int]], list[int]],
    chain: Callable[[int, list[int]], list[int]],
) -> Order:
    """Unit k goes to worker assign(k); visit orders an item's tiles, chain a q tile's kv tiles."""
    items: list[Item] = []
    for unit, (head, tiles) in enumerate(units):
        for kv in tiles:
            order = visit(kv, [q for _, q in problem.item_tasks((0, head, 0, kv))])
            walk = [(head, q) for q in order]
            items.append(Item(assign(unit, workers), 0, head, 0, kv, walk))
    active = problem.active(0)
    chains = {
        (0, head, q): [(kv, 0) for kv in chain(q, active[:, q].nonzero()[0].tolist())]
        for head in range(problem.heads)
        for q in range(problem.q_tiles(0))
    }
    return Order(workers, items, chains, {key: [0] for key in problem.part_chain_keys()})


def single_tiles(problem: Problem, kv_up: bool) -> list[tuple[int, list[int]]]:
    """Units of one item: head after head, the kv tiles of each up or down."""
    tiles = range(problem.kv_tiles(0))[:: 1 if kv_up else -1]
    return [(head, [kv]) for head in range(problem.heads) for kv in tiles]


def folded_tiles(problem: Problem) -> list[tuple[int, list[int]]]:
    """Units of a long item and a short one: kv tiles i and n-1-i; an odd middle one is alone."""
    n = problem.kv_tiles(0)
    return [
        (head, [low] if low == n - 1 - low else [low, n - 1 - low])
        for head in range(problem.heads)
        for low in range((n + 1) // 2)
    ]


def ascending(
    problem: Problem,
    workers: int,
    assign: Callable[[int, int], int] = in_turn,
    kv_up: bool = True,
    chain_up: bool = True,
) -> Order:
    return build(
        problem,
        workers,
        single_tiles(problem, kv_up),
        assign,
        lambda kv, tiles: tiles,
        lambda q, chain: sorted(chain, reverse=not chain_up),
    )


def descending(
    problem: Problem,
    workers: int,
    assign: Callable[[int, int], int] = back_and_forth,
    kv_up: bool = True,
    chain_up: bool = True,
) -> Order:
    return build(
        problem,
        workers,
        single_tiles(problem, kv_up),
        assign,
        lambda kv, tiles: tiles[::-1],
        lambda q, chain: sorted(chain, reverse=not chain_up),
    )


def shift(problem: Problem, workers: int) -> Order:
    """Kv tile i starts at q tile i and wraps; a q tile meets its kv tiles in order of time."""
    n = problem.q_tiles(0)
    return build(
        problem,
        workers,
        single_tiles(problem, kv_up=True),
        in_turn,
        lambda kv, tiles: sorted(tiles, key=lambda q: (q - kv) % n),
        lambda q, chain: sorted(chain, key=lambda kv: (q - kv) % n),
    )


def symmetric_shift(problem: Problem, workers: int) -> Order:
    """Lows walk the dense square below the diagonal, then the triangle; highs walk the fold.

    In time order every step of a head has at most one visitor a q tile, so no worker waits. An odd
    middle tile walks like a high.
    """
    n = problem.kv_tiles(0)
    lows = n // 2

    def step(kv: int, q: int) -> int:
        if kv >= lows:
            return (kv + 1) + (n - 1 - q)
        if q >= n - lows:
            return (q - (n - lows) - kv) % lows
        return lows + q - kv

    return build(
        problem,
        workers,
        folded_tiles(problem),
        in_turn,
        lambda kv, tiles: sorted(tiles, key=lambda q: step(kv, q)),
        lambda q, chain: sorted(chain, key=lambda kv: step(kv, q)),
    )
