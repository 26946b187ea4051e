"""`tree.fold`, and what kernels of leaves leave brought into rows, each in one pass over the
memory. Needs Triton, which PyTorch brings along where there are GPUs."""

# No annotations from the future: Triton reads those of its functions.
import contextlib

import torch
import triton
import triton.language as tl

BLOCK = 4096
TILE = 128  # rows of k and v


@triton.jit
def _flushed(values):
    """Subnormal numbers, whose exponent is zero, keep their sign alone."""
    bits = values.to(tl.int32, bitcast=True)
    return tl.where((bits & 0x7F800000) == 0, bits & -2147483648, bits).to(tl.float32, bitcast=True)


@triton.jit(do_not_specialize=["count"])
def add_words(left, right, count, block: tl.constexpr):
    """right becomes left + right; a program for each block of words."""
    place = tl.program_id(0).to(tl.int64) * block + tl.arange(0, block)
    is_one = place < count
    one = _flushed(tl.load(left + place, mask=is_one, other=0.0))
    other = _flushed(tl.load(right + place, mask=is_one, other=0.0))
    tl.store(right + place, _flushed(one + other), mask=is_one)


@triton.jit(do_not_specialize=["distance", "left_rows", "left_distance", "rows"])
def take_words(
    words,
    distance,
    left,
    left_rows,
    left_distance,
    out,
    rows,
    columns: tl.constexpr,
    head_dim: tl.constexpr,
    pieces: tl.constexpr,
    has_left: tl.constexpr,
    block: tl.constexpr,
):
    """A program for the part of a piece that one warpgroup had, in the order of its words
    (docs/binary-interface.md): so they are read one behind the other, and written 32 bytes of a
    row at a time."""
    half = tl.program_id(0) % 2
    piece = tl.program_id(0) // 2 % pieces
    tile = tl.program_id(0) // (2 * pieces)
    which = tl.program_id(1).to(tl.int64)  # dK, dV
    width: tl.constexpr = columns // pieces
    place = tl.arange(0, block)
    row = half * 64 + place // 128 % 4 * 16 + place // 2 % 2 * 8 + place // 16 % 8
    column = piece * width + place // 512 * 8 + place // 4 % 4 * 2 + place % 2
    # Tiles are whole, so that four words are read at a time.
    is_word = place < 64 * width
    is_one = is_word & (column < head_dim) & (tile * 128 + row < rows)
    begin = tl.program_id(0).to(tl.int64) * (64 * width) + which * distance * 32
    found = tl.load(words + begin + place, mask=is_word, other=0.0)
    first = tile.to(tl.int64) * 128
    at = row * head_dim + column
    if has_left:
        is_both = is_one & (tile * 128 + row < left_rows)
        of_left = left + which * left_distance * 8 + first * head_dim
        one = tl.load(of_left + at, mask=is_both, other=0.0)
        found = tl.where(is_both, _flushed(_flushed(one) + _flushed(found)), found)
    tl.store(out + (which * rows + first) * head_dim + at, found, mask=is_one)


def take(words, distance, left, out, columns, pieces):
    """Fills out, [2, rows, head_dim], with two tensors of sums in fragment order, of as many
    columns, the second one so many words behind the first, a multiple of 32; left, [2, rows,
    head_dim] or None, is added as `tree.fold` does."""
    _, rows, head_dim = out.shape
    block = 512 * triton.next_power_of_2(columns // pieces // 8)
    grid = (-(-rows // TILE) * pieces * 2, 2)
    # In units of what they are multiples of, so that several words are read at a time.
    beside = (out, 0, 0) if left is None else (left, left.shape[1], left.stride(0) // 8)
    with torch.cuda.device(out.device) if out.is_cuda else contextlib.nullcontext():
        take_words[grid](
            words,
            distance // 32,
            *beside,
            out,
            rows,
            columns,
            head_dim,
            pieces,
            left is not None,
            block,
            num_warps=8,
        )


def add(left, right):
    """The sum of tensors of one shape, contiguous."""
    count = left.numel()
    if count:
        with torch.cuda.device(right.device):
            add_words[-(-count // BLOCK),](left, right, count, BLOCK, num_warps=8)
