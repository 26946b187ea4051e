# RUN: %python %s
# REQUIRES: python
"""The references in float64, beside loops over single elements and differences of the loss."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

import fixtures  # noqa: E402, F401  (finds dash_attn)
import numpy as np  # noqa: E402

from dash_attn import reference  # noqa: E402
from dash_attn.reference import Blocks, Mask, Union  # noqa: E402

# batch, heads, kv heads, q rows, kv rows.
PROBLEMS = ((1, 2, 2, 5, 5), (2, 4, 2, 3, 6), (1, 3, 1, 6, 3), (1, 1, 1, 1, 1))
MASKS = (
    Mask(),
    Mask(right=0),
    Mask(2, 0),
    Mask(1, 1),
    Mask(left=1),
    Mask(right=2),
    Mask(0, 0),
    Mask(right=0, blocks=Blocks(2, 3, ((True, False, True), (False, False, True)))),
    Mask(blocks=Blocks(4, 8, ((False, True),))),
    Mask(union=Union(2, -1, 0)),
    Mask(right=0, union=Union(1, 2, -1)),
    Mask(3, 1, Blocks(4, 4, ((True,) * 3,) * 3), Union(3, 1, 0)),
)
SCALE, DIM = 0.4, 4


def inputs(
    batch: int, heads: int, kv_heads: int, q_rows: int, kv_rows: int
) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(11)
    on_q, on_kv = (batch, heads, q_rows, DIM), (batch, kv_heads, kv_rows, DIM)
    return {
        name: rng.standard_normal(on_kv if name in "kv" else on_q).astype(np.float32)
        for name in ("q", "k", "v", "do")
    }


def sees(mask: Mask, i: int, j: int, shift: int) -> bool:
    visible = mask.blocks is None or mask.blocks.bits[j // mask.blocks.kv][i // mask.blocks.q]
    if mask.union is not None:
        visible = visible and (
            j < mask.union.columns or sees(Mask(mask.union.left, mask.union.right), i, j, shift)
        )
    return (
        visible
        and (mask.left < 0 or i + shift - mask.left <= j)
        and (mask.right < 0 or j <= i + shift + mask.right)
    )


def brute_force(given: dict[str, np.ndarray], mask: Mask) -> dict[str, np.ndarray]:
    """o, lse and gradients, one element after the other, by the textbook's formula with softmax of
    each row."""
    q, k, v, do = (given[name].astype(np.float64) for name in ("q", "k", "v", "do"))
    group, shift = q.shape[1] // k.shape[1], k.shape[2] - q.shape[2]
    found = {
        "o": np.zeros_like(q),
        "lse": np.full(q.shape[:3], -np.inf),
        "dq": np.zeros_like(q),
        "dk": np.zeros_like(k),
        "dv": np.zeros_like(v),
    }
    for b, h, i in itertools.product(*map(range, q.shape[:3])):
        g = h // group
        columns = [j for j in range(k.shape[2]) if sees(mask, i, j, shift)]
        if not columns:
            continue
        scores = [SCALE * sum(q[b, h, i, c] * k[b, g, j, c] for c in range(DIM)) for j in columns]
        total = sum(np.exp(score) for score in scores)
        p = [np.exp(score) / total for score in scores]
        found["lse"][b, h, i] = np.log(total)
        found["o"][b, h, i] = sum(p[n] * v[b, g, j] for n, j in enumerate(columns))
        dp = [float(do[b, h, i] @ v[b, g, j]) for j in columns]
        mean = sum(x * y for x, y in zip(p, dp))
        for n, j in enumerate(columns):
            ds = p[n] * (dp[n] - mean)
            found["dq"][b, h, i] += SCALE * ds * k[b, g, j]
            found["dk"][b, g, j] += SCALE * ds * q[b, h, i]
            found["dv"][b, g, j] += p[n] * do[b, h, i]
    return found


def close(found: Any, expected: Any) -> bool:
    return np.allclose(found, expected, rtol=1e-12, atol=1e-12)


def main() -> None:
    for sizes, mask, empty in itertools.product(PROBLEMS, MASKS, (-np.inf, np.inf)):
        given = inputs(*sizes)
        expected = brute_force(given, mask)
        o, lse = reference.forward(given["q"], given["k"], given["v"], scale=SCALE, mask=mask)
        assert close(o, expected["o"]) and np.array_equal(
            np.isfinite(lse), np.isfinite(expected["lse"])
        )
        assert close(lse[np.isfinite(lse)], expected["lse"][np.isfinite(lse)])
        lse = np.where(np.isfinite(lse), lse, empty)
        found = reference.backward(**given, o=o, lse=lse, scale=SCALE, mask=mask)
        assert all(close(found[name], expected[name]) for name in reference.GRADIENTS), (
            sizes,
            mask,
        )
        pairs = sum(
            1
            for i, j in itertools.product(range(sizes[3]), range(sizes[4]))
            if sees(mask, i, j, sizes[4] - sizes[3])
        )
        assert reference.visible(sizes[3], sizes[4], mask) == pairs
        assert mask == Mask.parse(mask.text) and (mask.blocks or mask == Mask.named(mask.name)), (
            mask
        )

    # Without the correction dS = P dP; one column cancels to 0, and only that other size tells how
    # large an error is.
    given = inputs(1, 1, 1, 1, 1)
    o, lse = reference.forward(given["q"], given["k"], given["v"], scale=SCALE, mask=Mask())
    with_, without = (
        reference.backward(**given, o=o, lse=lse, scale=SCALE, mask=Mask(), corrected=corrected)
        for corrected in (True, False)
    )
    assert close(with_["dq"], 0) and not close(without["dq"], 0)
    noise = without["dq"] * 1e-6
    assert np.isclose(reference.relative_error(noise, with_["dq"], without["dq"]), 1e-3)
    assert reference.relative_error(with_["dv"] * 1.5, with_["dv"], without["dv"]) == 0.5
    assert reference.relative_error(np.zeros(2), np.zeros(2), np.zeros(2)) == 0

    rounded = reference.backward(
        **given, o=o, lse=lse, scale=SCALE, mask=Mask(), rounded=lambda x: np.round(x, 1)
    )
    assert close(rounded["dv"], given["do"].astype(np.float64))  # P is 1


main()
