"""The device tests' problems, as data. Every kernel of a head dim and mask is given those that its
sizes allow."""

from __future__ import annotations

from dash_attn.measure.bundle import BundledKernel
from dash_attn.measure.testing import Case

# (q rows, kv rows, batch, heads, kv heads, memory). Tiles are 64 or 128 by 128 rows: lengths on
# both sides of their edges.
SHAPES = (
    (1, 1, 1, 1, 1, "bhsd"),
    (1, 1, 3, 8, 2, "bshd"),
    (63, 63, 2, 3, 3, "bhsd"),
    (64, 64, 1, 4, 1, "packed"),
    (65, 65, 2, 2, 2, "bshd"),
    (127, 127, 1, 8, 1, "padded"),
    (128, 128, 3, 5, 5, "bhsd"),
    (129, 129, 1, 8, 2, "packed"),
    (200, 200, 2, 40, 40, "bshd"),
    (200, 200, 1, 40, 10, "padded"),
    (1000, 1000, 2, 8, 8, "bhsd"),
    (1000, 1000, 1, 16, 2, "packed"),
    (2048, 2048, 1, 12, 12, "bshd"),
    (4097, 4097, 1, 4, 1, "bhsd"),
    (65, 1000, 2, 4, 4, "bhsd"),
    (1, 200, 2, 8, 8, "bshd"),
    (128, 4097, 1, 8, 2, "padded"),
    (1000, 65, 2, 4, 4, "bhsd"),
    (200, 1, 1, 4, 4, "bshd"),
    (2048, 129, 1, 8, 1, "padded"),
)
# Enough for every kind of order to show a mistake of its own: several kv tiles, none of them whole,
# heads in groups.
FEW_SHAPES = (
    (1000, 1000, 2, 8, 2, "bshd"),
    (129, 129, 3, 5, 5, "bhsd"),
    (300, 700, 1, 6, 6, "padded"),
)
QUICK_SHAPES = (SHAPES[0], SHAPES[8], SHAPES[11], SHAPES[14], SHAPES[17])
REPEATED_SHAPE = (2048, 2048, 2, 8, 8, "bhsd")
# Kinds whose dQ chains differ wherever a q tile meets more than two kv tiles.
# (Ascending and descending have the same chains, and differ in how they visit.)
DIFFERENT_CHAINS = (("ascending", "shift"), ("descending", "symmetric-shift"))


def case(kernel: BundledKernel, shape: tuple[int, int, int, int, int, str], seed: int = 0) -> Case:
    """The shape as a problem for the kernel; sizes that its table fixes replace the shape's."""
    q_rows, kv_rows, batch, heads, kv_heads, memory = shape
    sizes = {
        "q_rows": q_rows,
        "kv_rows": kv_rows,
        "batch": batch,
        "heads": heads,
        "kv_heads": kv_heads,
    }
    sizes |= kernel.fixed_sizes
    return Case(
        kernel.head_dim,
        kernel.mask,
        memory=memory,
        seed=seed,
        element=kernel.element,
        softcap=kernel.softcap,
        has_sink=kernel.has_sink,
        **sizes,
    )


def accuracy_cases(kernel: BundledKernel, is_first: bool, quick: bool) -> list[Case]:
    """is_first: the first kernel of its head dim and mask whose sizes are open is given every
    shape."""
    if kernel.fixed_sizes:
        return [case(kernel, FEW_SHAPES[0], seed=1)]
    shapes = (
        FEW_SHAPES[:1]
        if quick and not is_first
        else FEW_SHAPES
        if not is_first
        else QUICK_SHAPES
        if quick
        else SHAPES + FEW_SHAPES
    )
    return [case(kernel, shape, seed) for seed, shape in enumerate(shapes)]
