"""What PyTorch adds to the reasons why something cannot be served. Looks at nothing but types,
sizes and strides, so compiled programs may ask, too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from ..kernel import coverage, masks, problem, sequences
from ..kernel.coverage import Coverage
from ..kernel.problem import (
    CAUSAL,
    FULL,
    LAYOUTS,
    NAMES,
    PACKED,
    TORCH,
    Window,
    refusal_of,
    refusal_of_array,
    refusal_of_gpu,
    refusal_of_layout,
    refusal_of_rectangle,
    refusal_of_sizes,
)

ELEMENTS = {getattr(torch, name): element for name, element in problem.ELEMENTS.items()}
DEVICE = "cuda"
NUMBERS = (int, float, torch.SymFloat)
# No compiled program can call libdash, nor has to read a bitmap.
# torch.compiler.assume_constant_result does this, too, but imports all of the compiler.
for asked in (coverage.ask, coverage.limits, masks.rules_of, masks.refusal_of_rules):
    asked._dynamo_marked_constant = True  # type: ignore[attr-defined]

# Whether FlashAttention's operator can be told to take one split, which keeps a sequence's bits
# whatever is beside it.
HAS_SPLITS = any(
    one.name == "num_splits"
    for one in torch.ops.aten._flash_attention_forward.default._schema.arguments
)


class Lengths(NamedTuple):
    """What is known of packed sequences: offsets, one more than there are sequences, and bounds of
    lengths. cu_k: None is that of q; max: None is all rows."""

    cu_q: Any = None
    cu_k: Any = None
    max_q: Any = None
    max_k: Any = None

    @property
    def are_given(self) -> bool:
        return any(one is not None for one in self)

    def filled(self, q: torch.Tensor, k: torch.Tensor) -> Lengths:
        """Lengths that are not refused. A bound of 1 would have FlashAttention decode, in
        splits. Offsets that are those of q stay None: PyTorch compiles no functions that are
        given a tensor twice."""
        max_q, max_k = self.max_q, self.max_k
        if self.cu_k is None and max_k is None:
            max_k = max_q
        cu_k = None if self.cu_k is self.cu_q or self.cu_k is None else self.cu_k.contiguous()
        return Lengths(
            self.cu_q.contiguous(),
            cu_k,
            max(2, q.shape[0] if max_q is None else max_q),
            max(2, k.shape[0] if max_k is None else max_k),
        )


NO_LENGTHS = Lengths()


def refusal_of_options(
    options: tuple[Any, ...], lengths: Lengths = NO_LENGTHS, is_used: bool = False
) -> str | None:
    """Why these options of `attention` are refused; None if they are not. options: causal, window,
    scale, softcap, level, forward, layout, cut. is_used: whether sequences use some rows alone."""
    causal, window, scale, softcap, level, forward, layout, cut = options
    if layout is None:
        layout = PACKED if lengths.are_given else LAYOUTS[0]
    return (
        refusal_of_layout(layout, lengths.are_given)
        or problem.refusal_of_options(causal, window, scale, level, are_numbers=NUMBERS)
        or problem.refusal_of_softcap(softcap, are_numbers=NUMBERS)
        or problem.refusal_of_cut(cut)
        or problem.refusal_of_forward(
            forward,
            TORCH,
            "PyTorch",
            scale,
            softcap,
            level,
            keeps_level=(lengths.are_given or is_used) and HAS_SPLITS,
            cut=cut,
        )
    )


def refusal_of_sequences(
    q: Any, k: Any, v: Any, lengths: Lengths, window: Window = FULL
) -> str | None:
    """Why no kernel serves these packed sequences. The numbers are on the device, and the host does
    not wait for them: offsets that do not ascend from 0, or end beyond the rows, are not found
    here."""
    reason = (
        refusal_of_plain(q, "cu_seqlens")
        or refusal_of_form(q, k, v, PACKED)
        or refusal_of_offsets(q, lengths)
    )
    if reason:
        return reason
    shapes = q.shape, k.shape, v.shape
    return refusal_of_problem(*shapes, PACKED, window, lengths.cu_q.shape[0] - 1)


def refusal_of_plain(q: Any, beside: str) -> str | None:
    """Why sequences of a list are not divided among devices. beside: what they are told by."""
    if not is_sharded(q):
        return None
    return (
        f"q: expected a plain tensor beside {beside}, found a DTensor; take its local one, and"
        " where documents lie on several GPUs dash_attn.distributed"
    )


def refusal_of_offsets(q: torch.Tensor, lengths: Lengths) -> str | None:
    """Why these are no offsets of sequences, or no bounds of their lengths."""
    if lengths.cu_q is None:
        return sequences.NONE_OF_Q
    for name, offsets, bound in (
        ("q", lengths.cu_q, lengths.max_q),
        ("k", lengths.cu_k, lengths.max_k),
    ):
        if offsets is not None and (
            reason := _refusal_of_offsets(f"cu_seqlens_{name}", offsets, q, lengths.cu_q)
        ):
            return reason
        if bound is not None and (type(bound) not in (int, torch.SymInt) or bound < 1):
            found = (
                "a tensor: the host has to know it, by .item()"
                if hasattr(bound, "ndim")
                else repr(bound)
            )
            return (
                f"max_seqlen_{name}: expected a whole number of at least 1, or None for all rows,"
                f" found {found}"
            )
    return None


def _refusal_of_offsets(name: str, offsets: Any, q: torch.Tensor, of_q: torch.Tensor) -> str | None:
    if reason := refusal_of_kind(name, offsets) or refusal_of_device_of(name, offsets, q):
        return reason
    return sequences.refusal_of_offsets(
        name, dtype_of(offsets), offsets.shape, of_q.shape, "cast it by .int()"
    )


def refusal_of_numbers(q: torch.Tensor, k: torch.Tensor, lengths: Lengths) -> str | None:
    """Why these offsets make no sense; waits for the device."""
    for name, offsets, bound, rows in (
        ("q", lengths.cu_q, lengths.max_q, q.shape[0]),
        ("k", lengths.cu_q if lengths.cu_k is None else lengths.cu_k, lengths.max_k, k.shape[0]),
    ):
        if reason := sequences.refusal_of_numbers(name, offsets.tolist(), rows, bound):
            return reason
    return None


def is_sharded(tensor: Any) -> bool:
    return hasattr(tensor, "placements") and hasattr(tensor, "device_mesh")


def refusal_of_tensors(
    q: Any, k: Any, v: Any, layout: str = "bhsd", window: Window = FULL
) -> str | None:
    """Why no kernel serves these tensors; None if one does."""
    return refusal_of_form(q, k, v, layout) or refusal_of_problem(
        q.shape, k.shape, v.shape, layout, window
    )


def refusal_of_form(q: Any, k: Any, v: Any, layout: str) -> str | None:
    """Why these tensors are no problem of attention, or not one on a GPU."""
    for name, tensor in zip(NAMES, (q, k, v)):
        if reason := refusal_of_kind(name, tensor):
            return reason
        if tensor.device.type != DEVICE:
            return f"{name}: expected a tensor on a CUDA device, found one on '{tensor.device}'"
        if reason := refusal_of_device_of(name, tensor, q):
            return reason
        reason = refusal_of_array(
            name,
            dtype_of(tensor),
            dtype_of(q),
            tensor.dim(),
            tensor.shape,
            layout,
            "cast it, or use torch.autocast",
        )
        if reason:
            return reason
    return refusal_of_sizes(q.shape, k.shape, v.shape, layout)


def refusal_of_kind(name: str, tensor: Any) -> str | None:
    """Why this is no tensor with a shape and strides."""
    if not isinstance(tensor, torch.Tensor):
        return f"{name}: expected a tensor of PyTorch, found {type(tensor).__name__}"
    if tensor.is_nested:
        return f"{name}: expected a dense tensor, found a nested one; pack its sequences"
    return (
        None
        if tensor.layout is torch.strided
        else f"{name}: expected a dense tensor, found one of {tensor.layout}"
    )


def refusal_of_device_of(name: str, tensor: torch.Tensor, q: torch.Tensor) -> str | None:
    """Why a tensor lies elsewhere than q."""
    if tensor.device == q.device:
        return None
    return f"{name}: expected a tensor on '{q.device}' as q, found one on '{tensor.device}'"


def refusal_of_problem(
    q: Sequence[Any],
    k: Sequence[Any],
    v: Sequence[Any],
    layout: str,
    window: Window,
    sequences: int = 0,
) -> str | None:
    """Why kernels do not cover sizes that go together, of shapes."""
    if torch.compiler.is_compiling() or any(
        type(size) is not int for size in (*q, *k, *v, sequences)
    ):
        return _refusal_of_symbols(q, k, v, layout, sequences)
    return refusal_of(problem.coverage_of(q, k, v, layout, window=window, sequences=sequences))


def _refusal_of_symbols(
    q: Sequence[Any], k: Sequence[Any], v: Sequence[Any], layout: str, sequences: int
) -> str | None:
    """The same in programs that are being traced, whose sizes may be anything that they compare
    with nothing. `explain` says what to do."""
    most, heads, rows = (
        coverage.limits(),
        layout.index("h"),
        layout.index("t" if layout == PACKED else "s"),
    )
    for name, columns in (("q", q[-1]), ("v", v[-1])):
        if columns % most.head_dim_multiple or not 0 < columns <= most.head_dim:
            return (
                f"{name}: expected a head dim that is a multiple of {most.head_dim_multiple} up to"
                f" {most.head_dim}, found {columns}"
            )
    if 0 in q or 0 in k:
        return f"q, k: expected sizes of at least 1, found {tuple(q)} and {tuple(k)}"
    if q[heads] % k[heads]:
        return f"k: expected a number of heads that divides that of q, {q[heads]}, found {k[heads]}"
    if q[rows] > most.rows or k[rows] > most.rows:
        return f"q, k: expected at most {most.rows} rows, found {q[rows]} and {k[rows]}"
    if sequences > most.sequences:
        return (
            f"cu_seqlens: expected offsets of at most {most.sequences} sequences, found those of"
            f" {sequences}"
        )
    return None


def coverage_of(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, layout: str = "bhsd"
) -> Coverage:
    """How kernels compute a batch. Raises ArgumentError where none does."""
    found = problem.coverage_of(q.shape, k.shape, v.shape, layout)
    problem.demand(refusal_of(found))
    return found


def dtype_of(tensor: torch.Tensor) -> str:
    """Without what every name begins with."""
    return str(tensor.dtype).removeprefix("torch.")


def refusal_of_foreign(
    q: torch.Tensor, k: torch.Tensor, window: Window, layout: str = "bhsd"
) -> str | None:
    """Why a forward pass of PyTorch does not serve what kernels would."""
    return refusal_of_rectangle(q.shape, k.shape, layout, "PyTorch's") if window == CAUSAL else None


def signature(*tensors: torch.Tensor) -> tuple[Any, ...] | None:
    """Equal for tensors of a device about which everything in this file says the same; None
    where they are not plain ones, of known sizes."""
    found: list[Any] = []
    for tensor in tensors:
        if type(tensor) is not torch.Tensor:
            return None
        try:
            found += (tensor.shape, tensor.stride(), tensor.dtype)
        except RuntimeError:  # nested and sparse ones have no strides
            return None
    return tuple(found)


def is_plain(*tensors: torch.Tensor) -> bool:
    """Whether nothing looks on that has to see operators: no mode, no transform, no profiler, no
    compiler (Dynamo; all others trace by a mode)."""
    for tensor in tensors:
        if type(tensor) is not torch.Tensor:
            return False
    return not (
        torch.compiler.is_dynamo_compiling()
        or torch._C._len_torch_dispatch_stack()
        or torch._C._are_functorch_transforms_active()
        or torch.autograd._profiler_enabled()
    )


def refusal_of_device(index: int | None) -> str | None:
    """Why kernels cannot run on this CUDA device; asked of PyTorch once, as it takes its time."""
    if index not in _DEVICES:
        _DEVICES[index] = _find_refusal(index)
    return _DEVICES[index]


refusal_of_device._dynamo_marked_constant = True  # type: ignore[attr-defined]
_DEVICES: dict[int | None, str | None] = {}


def _find_refusal(index: int | None) -> str | None:
    if not torch.cuda.is_available():
        return refusal_of_gpu("", None)
    return refusal_of_gpu(
        torch.cuda.get_device_name(index), torch.cuda.get_device_capability(index)
    )


def is_steppable(tensor: torch.Tensor) -> bool:
    """Whether kernels can step through it: the innermost dimension in one piece, other strides
    positive multiples of what libdash says, of numbers that stand alone any positive ones."""
    multiple = coverage.limits().stride_multiple if tensor.itemsize == 2 else 1
    *strides, last = tensor.stride()
    if last != 1 and tensor.shape[-1] != 1:
        return False
    for size, stride in zip(tensor.shape, strides):
        if (stride <= 0 or stride % multiple) and size != 1:
            return False
    return True


def readable(tensor: torch.Tensor) -> torch.Tensor:
    """It, or a copy where kernels cannot read it."""
    return tensor if is_readable(tensor) else tensor.clone(memory_format=torch.contiguous_format)


def is_readable(tensor: torch.Tensor) -> bool:
    """Whether kernels can read it as it lies. They cannot step through what is expanded,
    transposed, or a slice of odd numbers of elements, nor begin at odd addresses, which are unknown
    in a program that is being traced."""
    if not is_steppable(tensor):
        return False
    if torch.compiler.is_compiling() or tensor.itemsize != 2:
        return True
    try:
        return tensor.data_ptr() % coverage.limits().alignment == 0
    except RuntimeError:  # it has no memory: a transform or a mode looks on
        return True
