"""The attention of a layer, as models call it."""

from __future__ import annotations

from typing import Any

import torch

from ..errors import ArgumentError
from ..torch import attention
from .documents import (
    WITH_OFFSETS,
    demand_positions,
    has_several,
    is_inside,
    packed_unnoticed,
    refuse_unnoticed,
)
from .masks import Mask
from .refusal import cannot_wait, refuse, spelled
from .worlds import attend_in, current_world

# What attention functions are given beside their tensors, and what it must be.
UNSERVED = {"dropout": 0.0, "output_attentions": False}
# And what changes nothing of what attention computes: about other layers, other outputs, the loss,
# or how another attention does it.
HARMLESS = frozenset(
    {
        "deterministic",
        "logits_to_keep",
        "num_items_in_batch",
        "output_hidden_states",
        "output_router_logits",
        "use_cache",
    }
)


def attend(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: Mask | None = None,
    *,
    scaling: float | None = None,
    is_causal: bool | None = None,
    position_ids: torch.Tensor | None = None,
    sliding_window: int | None = None,
    cu_seq_lens_q: torch.Tensor | None = None,
    cu_seq_lens_k: torch.Tensor | None = None,
    max_length_q: int | None = None,
    max_length_k: int | None = None,
    seq_idx: torch.Tensor | None = None,
    s_aux: torch.Tensor | None = None,
    softcap: float | None = None,
    **others: Any,
) -> tuple[torch.Tensor, None]:
    """[batch, heads, rows, head_dim] in, [batch, rows, heads, head_dim] out; v, and so o, may have
    a head dim of their own. s_aux: sinks, [heads]. softcap: at which scores are capped.

    The mask says what is seen; where there is none, all is, as with "eager". is_causal and
    sliding_window may say the same, and are refused if they do not. Raises ArgumentError for
    what is not served, before anything is computed.
    """
    for name, found in others.items():
        _refuse_unknown(name, found)
    if softcap == 0:  # which "eager" divides by
        raise refuse("a softcap above 0, or None", spelled(softcap))
    rows, columns = query.shape[2], key.shape[2]
    seen = _demand_mask(attention_mask, rows, columns)
    has_used = seen.used is not None
    # columns behind the last row's own
    hidden = (
        seen.kv_offset + columns - (seen.q_offset + rows)
        if seen.right is not None and not has_used
        else 0
    )
    if hidden > 0 and seen.right == 0:  # a buffer that is longer than what was written to it
        columns -= hidden
        key, value = key[:, :, :columns], value[:, :, :columns]
    elif (
        not has_used and (seen.left is not None or seen.right is not None)
    ) and seen.q_offset + rows != seen.kv_offset + columns:
        raise refuse(
            "a mask whose last row and last column are one token",
            f"rows {seen.q_offset} to {seen.q_offset + rows} beside columns "
            f"{seen.kv_offset} to {seen.kv_offset + columns}",
        )
    _demand_agreement(module, seen, is_causal, sliding_window, rows, columns)
    if (world := current_world()) is not None:
        if has_used:
            raise _length_on_device("in a world")
        return attend_in(
            world, query, key, value, seen, position_ids, scaling, s_aux, softcap
        ), None
    options = {"scale": scaling, "sink": s_aux, "softcap": 0.0 if softcap is None else softcap}
    if has_used:
        if cu_seq_lens_q is not None or cu_seq_lens_k is not None:
            raise _length_on_device("beside cu_seq_lens")
        bounds = {"causal": True} if seen.left is None else {"window": (seen.left, 0)}
        o = attention(query, key, value, seqused_k=seen.used, **bounds, **options)
        return o.transpose(1, 2).contiguous(), None
    sides = _sides(seen, rows, columns)
    if cu_seq_lens_q is not None or cu_seq_lens_k is not None:
        if query.shape[0] != 1:
            raise refuse(
                "packed documents in one row",
                f"{query.shape[0]} rows beside cu_seq_lens",
                "pack all documents into one",
            )
        options |= {
            "cu_seqlens_q": cu_seq_lens_q,
            "cu_seqlens_k": cu_seq_lens_k,
            "max_seqlen_q": max_length_q,
            "max_seqlen_k": max_length_k,
        }
        return _of_documents(query, key, value, seen, options), None
    if seen.documents is not None:
        offsets, longest = seen.documents.offsets
        options |= {"cu_seqlens_q": offsets, "max_seqlen_q": longest}
        return _of_documents(query, key, value, seen, options), None
    if seq_idx is not None:
        raise refuse(
            "cu_seq_lens_q beside seq_idx", "none", f"pass both, as {WITH_OFFSETS} gives them"
        )
    if rows > 1:
        refuse_unnoticed(rows)
        if (
            not is_inside()
            and position_ids is not None
            and not cannot_wait(position_ids)
            and has_several(position_ids)
        ):
            raise packed_unnoticed()
    return attention(query, key, value, **sides, **options).transpose(1, 2).contiguous(), None


def _refuse_unknown(name: str, found: Any) -> None:
    if found is None or name in HARMLESS:
        return
    if name not in UNSERVED:
        raise refuse(f"no {name} at the attention of a layer", spelled(found))
    if found != UNSERVED[name]:
        raise refuse(f"{name} to be {UNSERVED[name]}", spelled(found))


def _demand_mask(given: Any, rows: int, columns: int) -> Mask:
    if given is None:
        return Mask(rows, columns)
    if not isinstance(given, Mask):
        raise refuse(
            "a mask of transformers' own functions",
            f"one that was made in another way, {spelled(given)}",
        )
    if (given.q_length, given.kv_length) != (rows, columns):
        raise refuse(
            f"{given.q_length} rows and {given.kv_length} columns as the mask has",
            f"{rows} and {columns}",
        )
    if (
        (given.left is not None or given.right is not None)
        and isinstance(given.q_offset, torch.Tensor)
        and given.used is None
    ):
        raise _length_on_device("with packed documents, or a window to both sides")
    return given


def _length_on_device(where: str) -> ArgumentError:
    return refuse(
        f"a cache whose length the host knows {where}",
        "one whose length is on the device, as a StaticCache has it behind its first tokens",
        "use a DynamicCache, or choose another one",
    )


def _demand_agreement(
    module: Any,
    seen: Mask,
    is_causal: bool | None,
    sliding_window: int | None,
    rows: int,
    columns: int,
) -> None:
    """An attention function is told of the mask by its arguments, too; where these say something
    else, one of them is wrong. (Without a mask "eager" hides nothing, whatever they say.)"""
    said = getattr(module, "is_causal", None) if is_causal is None else is_causal
    if rows > 1 and said is not None and bool(said) != (seen.right == 0):
        raise refuse(
            f"a {'causal' if said else 'full'} mask, as is_causal={said} says",
            f"one with {_bounds(seen)}",
        )
    if (
        sliding_window is not None
        and sliding_window - 1 != (columns - 1 if seen.left is None else seen.left)
        and not (seen.left is None and sliding_window >= columns)
    ):
        raise refuse(
            f"the mask of a window, as sliding_window={sliding_window} says",
            f"one with {_bounds(seen)}",
        )


def _bounds(seen: Mask) -> str:
    left, right = (
        "no bound" if side is None else f"{side} columns" for side in (seen.left, seen.right)
    )
    return f"{left} before a row's own and {right} behind it"


def _sides(seen: Mask, rows: int, columns: int) -> dict[str, Any]:
    """For `attention`. A bound that hides nothing is none, and a causal rectangle a window,
    whose forward pass is aligned at the bottom right."""
    if min(0 if side is None else side for side in (seen.left, seen.right)) < 0:
        raise refuse("a window of at least 1 column", f"one of {_bounds(seen)}")
    left = -1 if seen.left is None or seen.left >= columns - 1 else seen.left
    right = -1 if seen.right is None or seen.right >= rows - 1 else seen.right
    if left == -1 and right <= 0 and (right == -1 or rows == columns):
        return {"causal": right == 0}
    return {"window": (columns if left == -1 and right == 0 else left, right)}


def _of_documents(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, seen: Mask, options: dict[str, Any]
) -> torch.Tensor:
    """All rows of the batch one behind the other."""
    if query.shape[2] != key.shape[2]:
        raise refuse(
            "as many rows of q as of k beside packed documents",
            f"{query.shape[2]} and {key.shape[2]}",
        )
    demand_positions(query.shape[2])
    packed = [x.transpose(1, 2).flatten(0, 1) for x in (query, key, value)]
    window = (-1 if seen.left is None else seen.left, -1 if seen.right is None else seen.right)
    return (
        attention(*packed, window=window, **options).unflatten(0, (query.shape[0], -1)).contiguous()
    )
