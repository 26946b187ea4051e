#!/usr/bin/env python3
"""Random block masks, the same for the same seed everywhere: random_blocks.py SEED KV_BLOCKS
Q_BLOCKS [DENSITY]

Prints a `blocks` attribute of #dash.mask. The generator is spelled out because Python's own may
change.
"""

import sys


def random_bits(seed, rows, columns, density=0.3):
    """Rows of 0s and 1s, of which a share of `density` is 1 (SplitMix64; Steele, Lea, Flood
    2014)."""
    state, mask = seed, (1 << 64) - 1
    result = []
    for _ in range(rows):
        row = []
        for _ in range(columns):
            state = (state + 0x9E3779B97F4A7C15) & mask
            value = state
            value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & mask
            value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & mask
            value ^= value >> 31
            row.append(int(value < density * (1 << 64)))
        result.append(row)
    return result


def blocks_attribute(seed, kv_blocks, q_blocks, density=0.3, q=64, kv=128):
    """The bitmap as text, with blocks of q x kv rows."""
    bits = random_bits(seed, kv_blocks, q_blocks, density)
    rows = ", ".join("[" + ", ".join(map(str, row)) + "]" for row in bits)
    return (
        f"blocks = #dash.blocks<q = {q}, kv = {kv}, bits = dense<[{rows}]> :"
        f" tensor<{kv_blocks}x{q_blocks}xi1>>"
    )


def main():
    if len(sys.argv) not in (4, 5):
        sys.exit(f"usage: {sys.argv[0]} SEED KV_BLOCKS Q_BLOCKS [DENSITY]")
    try:
        seed, kv_blocks, q_blocks = map(int, sys.argv[1:4])
        density = float(sys.argv[4]) if len(sys.argv) == 5 else 0.3
    except ValueError as error:
        sys.exit(f"error: expected numbers: {error}")
    print(blocks_attribute(seed, kv_blocks, q_blocks, density))


if __name__ == "__main__":
    main()
