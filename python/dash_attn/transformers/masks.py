"""The mask that a model asks for: not made, but read, and given to its attention as what it means.

Models build a mask once and hand it to all layers. Ours is no tensor but an object that says
what is seen, so that it may go wherever a mask goes (another device, slices, checkpointed and
compiled layers), and nothing can be computed with it that would be lost: that is refused.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NoReturn

import torch
from transformers import masking_utils
from transformers.masking_utils import (
    and_masks,
    bidirectional_mask_function,
    causal_mask_function,
    packed_sequence_mask_function,
    sliding_window_bidirectional_overlay,
    sliding_window_overlay,
)

from .documents import Documents
from .refusal import cannot_wait, refuse


@dataclasses.dataclass(frozen=True, eq=False)
class Mask:
    """Row i sees column j where i + q_offset - left <= j + kv_offset <= i + q_offset + right,
    None for no bound; of packed documents those of its own document only.

    q_length, kv_length: how many rows and columns there are. q_offset: an int, or a tensor where
    the host does not know it, which a cache goes on counting with. used: then how many columns are
    written, rows of this mask among them, [batch] of int32 on the device.
    """

    q_length: int
    kv_length: int
    q_offset: Any = 0
    kv_offset: int = 0
    left: int | None = None
    right: int | None = None
    documents: Documents | None = None
    used: torch.Tensor | None = None
    batch: int = 1  # for those who look at the shape

    ndim = 4  # transformers takes it for a mask that is there already
    dtype = torch.bool

    @property
    def shape(self) -> torch.Size:
        return torch.Size((self.batch, 1, self.q_length, self.kv_length))

    def dim(self) -> int:
        """As of a tensor, which models ask for."""
        return self.ndim

    def size(self, dimension: int | None = None) -> Any:
        """As of a tensor."""
        return self.shape if dimension is None else self.shape[dimension]

    def to(self, *_: Any, **__: Any) -> Mask:
        """Itself: it has no memory that could be elsewhere."""
        return self

    def contiguous(self) -> Mask:
        """Itself: it has no memory that could lie otherwise."""
        return self

    def __getitem__(self, index: Any) -> Mask:
        """The mask of fewer rows or columns, [:, :, rows, columns]."""
        index = index if isinstance(index, tuple) else (index,)
        if Ellipsis in index:
            at = index.index(Ellipsis)
            index = index[:at] + (slice(None),) * (self.ndim + 1 - len(index)) + index[at + 1 :]
        index += (slice(None),) * (self.ndim - len(index))
        if (
            len(index) != self.ndim
            or any(not isinstance(one, slice) or one.step not in (None, 1) for one in index)
            or any(
                range(length)[one] != range(length) for length, one in zip(self.shape[:2], index)
            )
        ):
            _refuse_use(f"indexed by {index}")
        rows, columns = (
            range(length)[one] for length, one in zip((self.q_length, self.kv_length), index[2:])
        )
        if (len(rows), len(columns)) != (self.q_length, self.kv_length):
            if self.documents is not None:
                _refuse_use("cut while documents are packed")
            if self.used is not None:
                _refuse_use("cut while the length of a cache is on the device")
        return dataclasses.replace(
            self,
            q_length=len(rows),
            kv_length=len(columns),
            q_offset=self.q_offset + rows.start,
            kv_offset=self.kv_offset + columns.start,
        )

    @classmethod
    def __torch_function__(cls, function: Any, *_: Any, **__: Any) -> NoReturn:
        _refuse_use(f"given to {getattr(function, '__name__', function)}")

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (torch.Tensor, bool, int, float)):
            _refuse_use("compared")
        return self is other

    __hash__ = object.__hash__

    def __getattr__(self, name: str) -> Any:
        if hasattr(torch.Tensor, name) and not name.startswith("__"):
            _refuse_use(f"asked for its {name}")
        raise AttributeError(name)


def _refuse_use(how: str) -> NoReturn:
    raise refuse(
        "a model that leaves the mask to its attention",
        f"one that computes with it: the mask is {how}",
    )


for _name in (
    "add",
    "radd",
    "sub",
    "rsub",
    "mul",
    "rmul",
    "truediv",
    "and",
    "rand",
    "or",
    "ror",
    "xor",
    "lt",
    "le",
    "gt",
    "ge",
):
    setattr(
        Mask, f"__{_name}__", lambda self, other, name=_name: _refuse_use(f"an operand of {name}")
    )
for _name in ("invert", "neg", "bool", "len", "iter", "float", "int"):
    setattr(Mask, f"__{_name}__", lambda self, name=_name: _refuse_use(f"an operand of {name}"))


def mask(
    *,
    batch_size: int = 1,
    q_length: int,
    kv_length: int,
    q_offset: Any = 0,
    kv_offset: int = 0,
    mask_function: Callable[..., Any] = causal_mask_function,
    attention_mask: Any = None,
    **_: Any,
) -> Mask:
    """What transformers calls to make a mask. What no kernel has is refused here, where models
    say what they want."""
    if isinstance(attention_mask, Mask):
        return attention_mask
    seen = read(mask_function)
    if seen is None or seen.is_remapped and seen.documents is None:
        raise refuse(
            "a causal mask, that of a sliding window, or a full one", "another, as of blocks"
        )
    known = (
        None
        if isinstance(q_offset, torch.Tensor)
        else min(q_offset + q_length, kv_offset + kv_length)
    )
    used = None
    if known is None and seen.right == 0 and seen.documents is None:
        used = _used(q_offset, q_length - kv_offset, batch_size)
    if attention_mask is not None and used is not None:
        _refuse_padding_before(attention_mask[:, kv_offset:], used)
    elif attention_mask is not None:
        _refuse_padding(
            attention_mask, kv_offset, known if seen.right == 0 else kv_offset + kv_length
        )
    documents = (
        None if seen.documents is None else Documents.of(seen.documents.expand(batch_size, -1))
    )
    return Mask(
        q_length,
        kv_length,
        q_offset,
        kv_offset,
        seen.left,
        seen.right,
        documents,
        used,
        batch_size,
    )


def _used(q_offset: torch.Tensor, more: int, batch: int) -> torch.Tensor:
    """A copy: the cache counts on in the tensor that it gave, before its layers attend."""
    return (q_offset + more).to(torch.int32).reshape(1).expand(batch).contiguous()


def _refuse_padding_before(attention_mask: torch.Tensor, used: torch.Tensor) -> None:
    """The same where only the device knows how many columns rows see."""
    places = torch.arange(attention_mask.shape[1], device=attention_mask.device)
    is_seen = attention_mask.bool() | (places >= used.to(places.device)[:, None])
    is_right = is_seen.all() & (used <= attention_mask.shape[1]).all().to(is_seen.device)
    if cannot_wait(is_seen):
        torch._assert_async(is_right, "attention_mask with padding")
    elif not bool(is_right):
        raise refuse(
            "sequences of one length",
            f"an attention_mask that hides {int((~is_seen).sum())} tokens as padding, or is"
            " shorter than what the cache holds",
            "leave padding out, or choose another one",
        )


def _refuse_padding(attention_mask: torch.Tensor, begin: int, end: int) -> None:
    """Columns from begin to end are those that rows see; what an attention_mask has no number
    for is hidden, too."""
    seen = attention_mask[:, begin:end].bool()
    expected = "sequences of one length"
    if seen.shape[1] < end - begin:
        raise refuse(
            expected, f"an attention_mask of {attention_mask.shape[1]} columns for {end} tokens"
        )
    if cannot_wait(seen):  # it ends with an error of the device instead
        torch._assert_async(seen.all(), "attention_mask with padding")
    elif not bool(seen.all()):
        raise refuse(
            expected,
            f"an attention_mask that hides {int((~seen).sum())} tokens as padding",
            "leave padding out, or choose another one",
        )


@dataclasses.dataclass(frozen=True)
class Seen:
    """What a mask function says. documents: numbers of each row's document, [batch, rows];
    is_remapped: rows and columns are counted from the begin of each, which is the same for the
    distances that count here."""

    left: int | None = None
    right: int | None = None
    documents: torch.Tensor | None = None
    is_remapped: bool = False


def read(function: Any) -> Seen | None:
    """The meaning of transformers' own mask functions; None of others."""
    if function is causal_mask_function:
        return Seen(right=0)
    if function is bidirectional_mask_function:
        return Seen()
    code = getattr(function, "__code__", None)
    if code is None:
        return None
    if code is _CODES["and"]:
        return _all_of([read(part) for part in _free(function, "mask_functions")])
    if code is _CODES["window"]:
        return Seen(left=_free(function, "sliding_window") - 1)
    if code is _CODES["window both ways"]:
        return Seen(left=_free(function, "sliding_window"), right=_free(function, "sliding_window"))
    if code is _CODES["documents"]:
        return Seen(documents=_free(function, "packed_sequence_mask"))
    if code is _CODES["remapped"]:
        inner = read(_free(function, "mask_function"))
        return (
            None
            if inner is None or inner.documents is not None
            else dataclasses.replace(inner, is_remapped=True)
        )
    return None


def _free(function: Any, name: str) -> Any:
    """What a function took from around it; one by one, as compilers of PyTorch know it."""
    return function.__closure__[function.__code__.co_freevars.index(name)].cell_contents


def _all_of(parts: list[Seen | None]) -> Seen | None:
    if None in parts:
        return None
    documents = [part.documents for part in parts if part.documents is not None]
    if len(documents) > 1:
        return None
    left = [part.left for part in parts if part.left is not None]
    right = [part.right for part in parts if part.right is not None]
    return Seen(
        min(left) if left else None,
        min(right) if right else None,
        documents[0] if documents else None,
        any([part.is_remapped for part in parts]),
    )


def _codes() -> dict[str, Any]:
    """By which functions that transformers makes are told from others. Before 5.18 none was
    remapped."""
    remap = getattr(masking_utils, "remap_positions_for_packed_sequence", None)
    made = {
        "and": and_masks(),
        "window": sliding_window_overlay(1),
        "window both ways": sliding_window_bidirectional_overlay(1),
        "documents": packed_sequence_mask_function(None),
        "remapped": remap and remap(causal_mask_function, None),
    }
    return {name: getattr(one, "__code__", None) for name, one in made.items()}


_CODES = _codes()
