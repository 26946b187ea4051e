"""attn_implementation="dash" in Hugging Face's transformers, from when this is imported.

    import dash_attn.transformers
    model = AutoModelForCausalLM.from_pretrained(NAME, dtype=torch.bfloat16, attn_implementation="dash")

Packed documents are those of cu_seq_lens_q, as DataCollatorWithFlattening(return_flash_attn_kwargs=True) gives them. Refuses by
ArgumentError what kernels do not serve; above all, packed documents without these, and padding, which would attend to each other.
"""

from __future__ import annotations

import weakref
from typing import Any

import torch
from transformers import AttentionInterface, masking_utils
from transformers.masking_utils import (AttentionMaskInterface, and_masks, bidirectional_mask_function, causal_mask_function,
                                        packed_sequence_mask_function, sliding_window_causal_mask_function, sliding_window_overlay)

from .errors import ArgumentError
from .torch import attention

NAME = "dash"
# What attention functions of models may be given beside their tensors, and what it must be.
UNSERVED = {"dropout": 0.0, "softcap": None, "position_bias": None, "cache": None, "output_attentions": False}
# What `mask` makes of packed documents: no mask, but attention that is given no offsets refuses it. Empty, so nothing else takes it for one.
PACKED = (0, 0, 0, 0)
_unpacked: weakref.WeakValueDictionary[int, torch.Tensor] = weakref.WeakValueDictionary()  # positions that were looked at, by their ids


def attend(module: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, attention_mask: Any = None, *,
           scaling: float | None = None, is_causal: bool | None = None, position_ids: torch.Tensor | None = None,
           sliding_window: int | None = None, cu_seq_lens_q: torch.Tensor | None = None, cu_seq_lens_k: torch.Tensor | None = None,
           max_length_q: int | None = None, max_length_k: int | None = None, s_aux: torch.Tensor | None = None,
           **others: Any) -> tuple[torch.Tensor, None]:
    """The attention of a layer, as models call it: [batch, heads, rows, head_dim] in, [batch, rows, heads, head_dim] out. s_aux: sinks."""
    for name, served in UNSERVED.items():
        found = others.get(name)
        if found is not None and found != served:
            raise ArgumentError(f"attn_implementation='{NAME}': expected {name} to be {served}, found {_spelled(found)}; choose another one")
    causal = bool(getattr(module, "is_causal", True) if is_causal is None else is_causal)
    if cu_seq_lens_q is not None or cu_seq_lens_k is not None:
        if query.shape[0] != 1:
            raise ArgumentError(f"attn_implementation='{NAME}': expected packed documents in one row, found {query.shape[0]} rows beside "
                                "cu_seq_lens; pack all documents into one")
        _refuse_mask(attention_mask, PACKED)
        lengths = {"cu_seqlens_q": cu_seq_lens_q, "cu_seqlens_k": cu_seq_lens_k, "max_seqlen_q": max_length_q, "max_seqlen_k": max_length_k}
        o = attention(*(x[0].transpose(0, 1) for x in (query, key, value)), **_sides(causal, sliding_window), scale=scaling, sink=s_aux, **lengths)
        return o[None].contiguous(), None
    _refuse_mask(attention_mask, None)
    if query.shape[2] > 1:
        _refuse_packing(position_ids)
    rows, columns = query.shape[2], key.shape[2]
    if sliding_window is None or rows == columns <= sliding_window:
        o = attention(query, key, value, causal=causal and rows > 1, scale=scaling, sink=s_aux)
    else:
        o = attention(query, key, value, **_sides(causal, sliding_window), scale=scaling, sink=s_aux)
    return o.transpose(1, 2).contiguous(), None


def _sides(causal: bool, sliding_window: int | None) -> dict[str, Any]:
    if sliding_window is None:
        return {"causal": causal}
    if not causal:
        raise ArgumentError(f"attn_implementation='{NAME}': expected a causal mask beside sliding_window={sliding_window}, found a full one; "
                            "choose another one")
    return {"window": (sliding_window - 1, 0)}


def _refuse_mask(attention_mask: Any, served: tuple[int, ...] | None) -> None:
    shape = None if attention_mask is None else tuple(attention_mask.shape)
    if shape == PACKED != served:
        raise ArgumentError(f"attn_implementation='{NAME}': expected cu_seq_lens_q beside packed documents, found none; "
                            "DataCollatorWithFlattening(return_flash_attn_kwargs=True) gives it, or choose another one")
    if shape not in (None, served):
        raise ArgumentError(f"attn_implementation='{NAME}': expected no mask but the causal one, found one of shape {shape}; choose another one")


def mask(*, mask_function: Any = causal_mask_function, attention_mask: torch.Tensor | None = None, local_size: Any = None,
         **_: Any) -> torch.Tensor | None:
    """There is none to make. What would need one is refused here, where models say what they want, but for packed documents: these are
    served where there are offsets."""
    inner = _unpacked_function(mask_function)
    function = mask_function if inner is None else inner
    if function not in (causal_mask_function, bidirectional_mask_function) and not _is_window(function, local_size):
        raise ArgumentError(f"attn_implementation='{NAME}': expected a causal mask, that of a sliding window, or a full one, found another, as "
                            "of blocks; choose another one")
    if attention_mask is not None and not bool(attention_mask.all()):
        raise ArgumentError(f"attn_implementation='{NAME}': expected sequences of one length, found an attention_mask that hides "
                            f"{int((~attention_mask.bool()).sum())} tokens as padding; leave padding out, or choose another one")
    return None if inner is None else torch.empty(PACKED, dtype=torch.bool)


def _unpacked_function(mask_function: Any) -> Any:
    """Of a mask of packed documents what each has; None where it is another mask. Older versions of transformers name what each has first,
    newer ones count its columns from its own begin."""
    remapping = getattr(masking_utils, "remap_positions_for_packed_sequence", None)
    documents = packed_sequence_mask_function(None)
    try:
        if mask_function.__code__ is not and_masks(documents).__code__:
            return None
        parts = mask_function.__closure__[0].cell_contents
        if remapping is None and len(parts) == 2 and parts[1].__code__ is documents.__code__:
            return parts[0]
        if remapping is None or len(parts) != 2 or parts[0].__code__ is not documents.__code__ or \
                parts[1].__code__ is not remapping(causal_mask_function, None).__code__:
            return None
        return parts[1].__closure__[parts[1].__code__.co_freevars.index("mask_function")].cell_contents
    except (AttributeError, TypeError, ValueError):
        return None


def _is_window(mask_function: Any, size: Any) -> bool:
    """Whether it is the mask of a sliding window of this size and nothing else; what is made in another way is not."""
    made = sliding_window_causal_mask_function(1)
    try:
        if mask_function.__code__ is not made.__code__:
            return False
        window, causal = mask_function.__closure__[0].cell_contents
        return causal is causal_mask_function and window.__code__ is sliding_window_overlay(1).__code__ and \
            type(size) is int and window.__closure__[0].cell_contents == size
    except (AttributeError, TypeError, ValueError):
        return False


def _refuse_packing(position_ids: torch.Tensor | None) -> None:
    """Positions that begin anew belong to another document. All layers of a step have the same ones: read once."""
    if position_ids is None or position_ids.dim() != 2:
        return
    if torch.compiler.is_compiling():  # no program waits for the GPU to decide: this one ends with an error there
        torch._assert_async((position_ids.diff(dim=1) == 1).all(), "position_ids of packed sequences")
        return
    if _unpacked.get(id(position_ids)) is position_ids:
        return
    if bool((position_ids.diff(dim=1) != 1).any()):
        raise ArgumentError(f"attn_implementation='{NAME}': expected position_ids that go up by 1, found others, as of packed sequences; "
                            "choose another one")
    _unpacked[id(position_ids)] = position_ids


def _spelled(found: Any) -> str:
    return f"a tensor of shape {tuple(found.shape)}" if isinstance(found, torch.Tensor) else repr(found)


AttentionInterface.register(NAME, attend)
AttentionMaskInterface.register(NAME, mask)
