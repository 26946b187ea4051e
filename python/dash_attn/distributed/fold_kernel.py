"""`tree.fold` in one pass over the memory. Needs Triton, which PyTorch brings along where there
are GPUs."""

# No annotations from the future: Triton reads those of its functions.
import torch
import triton
import triton.language as tl

BLOCK = 4096


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


def add(left, right):
    """The sum of tensors of one shape, contiguous."""
    count = left.numel()
    if count:
        with torch.cuda.device(right.device):
            add_words[-(-count // BLOCK),](left, right, count, BLOCK, num_warps=8)
