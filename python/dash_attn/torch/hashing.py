"""The hash of a tensor, made on its device: every bit counts, and where it is.

A tensor's memory is a row of words; word i is mixed with i, by the finalizer of SplitMix64
without its last shift, which gives different words of one place different numbers; and the hash
is the sum of them all, modulo 2^64. Integers: the order of additions does not matter.
"""

from __future__ import annotations

import torch

GOLDEN, FIRST, SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
WORDS = {8: torch.int64, 4: torch.int32, 2: torch.int16, 1: torch.uint8}
AT_ONCE = 1 << 22  # words, where PyTorch's own operators compute: they need memory for each step
BLOCK = 4096


def as_words(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor's memory as one row of the widest words that it is made of."""
    tensor = tensor.detach()
    if tensor.is_conj() or tensor.is_neg():
        tensor = tensor.resolve_conj().resolve_neg()
    if not tensor.is_contiguous():
        order = sorted(range(tensor.dim()), key=lambda i: -tensor.stride(i))
        tensor = tensor.permute(order).contiguous()  # a view where rows merely changed places
    row = tensor.reshape(-1)
    size = row.numel() * row.element_size()
    # which values have, wherever they are
    width = next(width for width in WORDS if size % width == 0)
    if row.data_ptr() % width:
        row = row.clone()
    return (
        row.view(torch.uint8).view(WORDS[width])
        if row.numel()
        else row.new_empty(0, dtype=torch.int64)
    )


def hash_words(words: torch.Tensor, base: int = 0) -> torch.Tensor:
    """By PyTorch's operators, on any device. base: the place of the first word; hashes of pieces
    with their places add up to that of the whole."""
    total = torch.zeros((), dtype=torch.int64, device=words.device)
    for begin in range(0, words.numel(), AT_ONCE):
        piece = words[begin : begin + AT_ONCE].to(torch.int64)
        place = torch.arange(
            base + begin + 1,
            base + begin + 1 + piece.numel(),
            dtype=torch.int64,
            device=words.device,
        )
        total += _mixed(piece, place).sum()
    return total


def hash_blocks(tensor: torch.Tensor, axis: int, rows: int) -> torch.Tensor:
    """A hash of each block of so many rows: int64, of the tensor's dimensions but rows, which
    are `axis`, and the last one, then of blocks. Elements count by their places in a block. A
    tensor of two dimensions at least, that is not empty."""
    tensor = tensor.detach()
    if tensor.is_conj() or tensor.is_neg():
        tensor = tensor.resolve_conj().resolve_neg()
    lined = tensor.movedim(axis, -2).contiguous()
    words = lined.view(WORDS[min(lined.element_size(), 8)])
    found = []
    for begin in range(0, words.shape[-2], rows):
        piece = words[..., begin : begin + rows, :].flatten(-2).to(torch.int64)
        place = torch.arange(1, 1 + piece.shape[-1], dtype=torch.int64, device=words.device)
        found.append(_mixed(piece, place).sum(-1))
    return torch.stack(found, -1)


def _mixed(words: torch.Tensor, place: torch.Tensor) -> torch.Tensor:
    words = words ^ (place * _signed(GOLDEN))
    words = (words ^ _right(words, 30)) * _signed(FIRST)
    return (words ^ _right(words, 27)) * _signed(SECOND)


def _signed(number: int) -> int:
    return number - 2**64 if number >= 2**63 else number


def _right(words: torch.Tensor, by: int) -> torch.Tensor:
    """Shifted as numbers without a sign."""
    return (words >> by) & ((1 << (64 - by)) - 1)
