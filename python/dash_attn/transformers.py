"""attn_implementation="dash" in Hugging Face's transformers, from when this is imported.

    import dash_attn.transformers
    model = AutoModelForCausalLM.from_pretrained(NAME, dtype=torch.bfloat16, attn_implementation="dash")

Refuses by ArgumentError what kernels do not serve; above all, packed documents and padding, which would attend to each other.
"""

from __future__ import annotations

import weakref
from typing import Any

import torch
from transformers import AttentionInterface
from transformers.masking_utils import (AttentionMaskInterface, bidirectional_mask_function, causal_mask_function,
                                        sliding_window_causal_mask_function, sliding_window_overlay)

from .errors import ArgumentError
from .torch import attention

NAME = "dash"
# What attention functions of models may be given beside their tensors, and what it must be.
UNSERVED = {"dropout": 0.0, "softcap": None, "s_aux": None, "position_bias": None, "cache": None,
            "cu_seq_lens_q": None, "cu_seq_lens_k": None, "output_attentions": False}
_unpacked: weakref.WeakValueDictionary[int, torch.Tensor] = weakref.WeakValueDictionary()  # positions that were looked at, by their ids


def attend(module: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, attention_mask: Any = None, *,
           scaling: float | None = None, is_causal: bool | None = None, position_ids: torch.Tensor | None = None,
           sliding_window: int | None = None, **others: Any) -> tuple[torch.Tensor, None]:
    """The attention of a layer, as models call it: [batch, heads, rows, head_dim] in, [batch, rows, heads, head_dim] out."""
    for name, served in UNSERVED.items():
        found = others.get(name)
        if found is not None and found != served:
            raise ArgumentError(f"attn_implementation='{NAME}': expected {name} to be {served}, found {_spelled(found)}; choose another one")
    if attention_mask is not None:
        raise ArgumentError(f"attn_implementation='{NAME}': expected no mask but the causal one, found one of shape "
                            f"{tuple(attention_mask.shape)}; choose another one")
    if query.shape[2] > 1:
        _refuse_packing(position_ids)
    causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
    rows, columns = query.shape[2], key.shape[2]
    if sliding_window is None or rows == columns <= sliding_window:
        o = attention(query, key, value, causal=bool(causal) and rows > 1, scale=scaling)
    elif causal:
        o = attention(query, key, value, window=(sliding_window - 1, 0), scale=scaling)
    else:
        raise ArgumentError(f"attn_implementation='{NAME}': expected a causal mask beside sliding_window={sliding_window}, found a full one; "
                            "choose another one")
    return o.transpose(1, 2).contiguous(), None


def mask(*, mask_function: Any = causal_mask_function, attention_mask: torch.Tensor | None = None, local_size: Any = None, **_: Any) -> None:
    """There is none to make. What would need one is refused here, where models say what they want."""
    if mask_function not in (causal_mask_function, bidirectional_mask_function) and not _is_window(mask_function, local_size):
        raise ArgumentError(f"attn_implementation='{NAME}': expected a causal mask, that of a sliding window, or a full one, found another, as "
                            "of packed sequences or blocks; choose another one")
    if attention_mask is not None and not bool(attention_mask.all()):
        raise ArgumentError(f"attn_implementation='{NAME}': expected sequences of one length, found an attention_mask that hides "
                            f"{int((~attention_mask.bool()).sum())} tokens as padding; leave padding out, or choose another one")


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
