"""BLAKE3, as its paper has it, for files that are damaged on purpose and have the right hash all
the same."""

from __future__ import annotations

import struct

CHUNK_START, CHUNK_END, PARENT, ROOT = 1, 2, 4, 8
MASK = 0xFFFFFFFF
START = (
    0x6A09E667,
    0xBB67AE85,
    0x3C6EF372,
    0xA54FF53A,
    0x510E527F,
    0x9B05688C,
    0x1F83D9AB,
    0x5BE0CD19,
)
ORDER = (2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8)
MIXED = (
    (0, 4, 8, 12),
    (1, 5, 9, 13),
    (2, 6, 10, 14),
    (3, 7, 11, 15),
    (0, 5, 10, 15),
    (1, 6, 11, 12),
    (2, 7, 8, 13),
    (3, 4, 9, 14),
)


def compress(chain: tuple[int, ...], block: bytes, counter: int, flags: int) -> tuple[int, ...]:
    words = struct.unpack("<16I", block.ljust(64, b"\0"))
    state = [*chain, *START[:4], counter & MASK, counter >> 32, len(block), flags]
    for _ in range(7):
        for i, (a, b, c, d) in enumerate(MIXED):
            for word, (first, second) in ((words[2 * i], (16, 12)), (words[2 * i + 1], (8, 7))):
                state[a] = (state[a] + state[b] + word) & MASK
                state[d] = rotate(state[d] ^ state[a], first)
                state[c] = (state[c] + state[d]) & MASK
                state[b] = rotate(state[b] ^ state[c], second)
        words = tuple(words[i] for i in ORDER)
    return tuple(state[i] ^ state[i + 8] for i in range(8))


def rotate(word: int, by: int) -> int:
    return (word >> by | word << (32 - by)) & MASK


def chunk(data: bytes, counter: int, root: int) -> tuple[int, ...]:
    blocks = [data[i : i + 64] for i in range(0, len(data), 64)] or [b""]
    chain = START
    for i, block in enumerate(blocks):
        is_last = i + 1 == len(blocks)
        chain = compress(
            chain, block, counter, (i == 0) * CHUNK_START | is_last * (CHUNK_END | root)
        )
    return chain


def tree(data: bytes, counter: int, root: int) -> tuple[int, ...]:
    if len(data) <= 1024:
        return chunk(data, counter, root)
    # The largest power of two of chunks that leaves something.
    left = 1024 << ((len(data) - 1) // 1024).bit_length() - 1
    both = tree(data[:left], counter, 0) + tree(data[left:], counter + left // 1024, 0)
    return compress(START, struct.pack("<16I", *both), 0, PARENT | root)


def blake3(data: bytes) -> str:
    return struct.pack("<8I", *tree(data, 0, ROOT)).hex()
