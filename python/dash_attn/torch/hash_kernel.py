"""`hashing.hash_words` in one pass over the memory. Needs Triton, which PyTorch brings along
where there are GPUs."""

# No annotations from the future: Triton reads those of its functions.
import triton
import triton.language as tl

from .hashing import BLOCK, FIRST, GOLDEN, SECOND, as_words

_GOLDEN, _FIRST, _SECOND = tl.constexpr(GOLDEN), tl.constexpr(FIRST), tl.constexpr(SECOND)


@triton.jit(do_not_specialize=["slot", "count"])
def add_hash(words, log, slot, count, block: tl.constexpr):
    """Adds to the log at its slot; a program for each block of words."""
    place = tl.program_id(0).to(tl.int64) * block + tl.arange(0, block)
    is_one = place < count
    word = tl.load(words + place, mask=is_one, other=0).to(tl.int64).to(tl.uint64, bitcast=True)
    word = word ^ ((place + 1).to(tl.uint64, bitcast=True) * _GOLDEN)
    word = (word ^ (word >> 30)) * _FIRST
    word = ((word ^ (word >> 27)) * _SECOND).to(tl.int64, bitcast=True)
    tl.atomic_add(log + slot, tl.sum(tl.where(is_one, word, 0)))


def add_hash_of(tensor, log, slot):
    """On the device that is current, which is the tensor's."""
    size = tensor.numel() * tensor.element_size()
    if (
        tensor.is_contiguous()
        and size % 8 == 0
        and tensor.data_ptr() % 8 == 0
        and not tensor.is_neg()
        and not tensor.is_complex()
    ):
        # what as_words gives, without its views
        words, count = triton.reinterpret(tensor, tl.int64), size // 8
    else:
        words = as_words(tensor)
        count = words.numel()
    if count:
        add_hash[-(-count // BLOCK),](words, log, slot, count, BLOCK, num_warps=8)
