"""Core attention of Megatron-Core over its context-parallel group, at level world.

    attention = spec.submodules.self_attention.submodules
    attention.core_attention = ModuleSpec(WorldAttention, params={"of_world": {"kept": "inputs"}})

It takes the place of TEDotProductAttention and has its arguments. Rows stay where Megatron's
context parallelism puts them: each sequence is cut into twice as many pieces as there are ranks,
and rank r has piece r and the r-th piece from the end. It imports nothing of Megatron.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.utils.weak import WeakIdKeyDictionary

from ..kernel.problem import demand
from .function import attention
from .problem import Home
from .world import World

# Words of AttnMaskType. Rows of padding are behind all others of their sequence.
MASKS = ("causal", "padding_causal")
MOST_WORLDS = 16  # that are kept
_worlds: OrderedDict[Any, World] = OrderedDict()
_lengths: WeakIdKeyDictionary = WeakIdKeyDictionary()  # of sequences, by the tensor of offsets


class WorldAttention(torch.nn.Module):
    """of_world: options of `World`. world: that of the last call, for `hashes` and `checked`.
    Raises ArgumentError for what no world serves."""

    def __init__(
        self,
        config: Any,
        layer_number: int,
        attn_mask_type: Any,
        attention_type: str,
        attention_dropout: float | None = None,
        softmax_scale: float | None = None,
        cp_comm_type: str | None = None,
        pg_collection: Any = None,
        of_world: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        demand(
            None
            if attention_type == "self"
            else f"attention_type: expected 'self', found {attention_type!r}"
        )
        dropout = config.attention_dropout if attention_dropout is None else attention_dropout
        demand(
            None
            if not dropout
            else f"attention_dropout: expected 0, found {dropout}: a world serves no dropout"
        )
        for name, neutral in (
            ("softmax_type", "vanilla"),
            ("window_size", None),
            ("apply_query_key_layer_scaling", False),
        ):
            found = getattr(config, name, neutral)
            demand(
                None
                if found == neutral
                else (
                    f"config.{name}: expected {neutral!r}, found {found!r}: a world serves no other"
                    " softmax or mask"
                )
            )
        self.group = getattr(pg_collection, "cp", None)
        demand(
            None
            if self.group is not None
            else "pg_collection: expected one with the context-parallel group as 'cp', found none"
        )
        self.attn_mask_type, self.scale, self.of_world = (
            attn_mask_type,
            softmax_scale,
            dict(of_world or {}),
        )
        self.world: World | None = None

    def forward(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        attention_mask: Any,
        attn_mask_type: Any = None,
        attention_bias: Any = None,
        packed_seq_params: Any = None,
    ) -> torch.Tensor:
        """query, key, value: [rows, heads, head_dim] with packed_seq_params, else [rows, batch,
        heads, head_dim]; gives [rows, heads * head_dim] or [rows, batch, heads * head_dim].
        attention_mask is not read: the mask is causal."""
        mask = self.attn_mask_type if attn_mask_type is None else attn_mask_type
        demand(
            None
            if getattr(mask, "name", mask) in MASKS
            else (
                f"attn_mask_type: expected one of {', '.join(MASKS)}, found"
                f" {getattr(mask, 'name', mask)}"
            )
        )
        demand(
            None
            if attention_bias is None
            else "attention_bias: expected none, found one: a world serves no bias"
        )
        group, batch = self.group, 1 if packed_seq_params is not None else query.shape[1]
        if packed_seq_params is not None:
            group = self.group if packed_seq_params.cp_group is None else packed_seq_params.cp_group
            documents = documents_of(packed_seq_params)
        else:
            documents = (query.shape[0] * group.size(),) * batch
            query, key, value = (one.transpose(0, 1).flatten(0, 1) for one in (query, key, value))
        self.world = world_of(group, documents, query, key, self.scale, self.of_world)
        o = attention(query, key, value, world=self.world).flatten(1)
        return (
            o
            if packed_seq_params is not None
            else o.unflatten(0, (batch, -1)).transpose(0, 1).contiguous()
        )


def documents_of(packed: Any) -> tuple[int, ...]:
    """Lengths of all ranks' sequences, with their padding. Waits for the device once for a tensor
    of offsets."""
    found = packed.qkv_format
    demand(
        None if found == "thd" else f"packed_seq_params.qkv_format: expected 'thd', found {found!r}"
    )
    q, kv = (
        packed.cu_seqlens_q if packed.cu_seqlens_q_padded is None else packed.cu_seqlens_q_padded,
        (
            packed.cu_seqlens_kv
            if packed.cu_seqlens_kv_padded is None
            else packed.cu_seqlens_kv_padded
        ),
    )
    kept = _lengths.get(q)
    if kept is None or kept[0] != (q._version, id(kv), kv._version):
        lengths, of_kv = (tuple(int(one) for one in offsets.diff().tolist()) for offsets in (q, kv))
        demand(
            None
            if lengths == of_kv
            else (
                "packed_seq_params: expected as many rows of kv as of q in each sequence, found"
                f" {of_kv} beside {lengths}"
            )
        )
        # Lists that are filled up for CUDA graphs end with sequences without rows.
        kept = _lengths[q] = (
            (q._version, id(kv), kv._version),
            tuple(length for length in lengths if length),
        )
    return kept[1]


def homes_of(documents: Sequence[int], ranks: int) -> tuple[Home, ...]:
    """Where Megatron's context parallelism has the rows of each sequence."""
    homes = []
    for document, rows in enumerate(documents):
        demand(
            None
            if rows % (2 * ranks) == 0
            else (
                f"packed_seq_params: expected sequences of a multiple of {2 * ranks} rows, as"
                f" {ranks} context-parallel ranks cut them, found {rows} in sequence {document};"
                " pad it"
            )
        )
        piece = rows // (2 * ranks)
        homes += [
            (rank, document, at * piece, piece)
            for rank in range(ranks)
            for at in (rank, 2 * ranks - 1 - rank)
        ]
    return tuple(homes)


def world_of(
    group: Any,
    documents: tuple[int, ...],
    q: torch.Tensor,
    k: torch.Tensor,
    scale: float | None,
    options: Mapping[str, Any],
) -> World:
    """The same for all layers of a micro-batch. Ranks of a group ask for worlds in one order."""
    ranks = group.size()
    key = (
        group,
        documents,
        q.shape[1:],
        k.shape[1:],
        q.dtype,
        scale,
        tuple(sorted((name, repr(value)) for name, value in options.items())),
    )
    if key in _worlds:
        _worlds.move_to_end(key)
        return _worlds[key]
    homes = homes_of(documents, ranks) if ranks > 1 else None
    found = _worlds[key] = World(
        group,
        documents,
        heads=q.shape[1],
        kv_heads=k.shape[1],
        head_dim=q.shape[2],
        dtype=q.dtype,
        scale=scale,
        homes=homes,
        **options,
    )
    if len(_worlds) > MOST_WORLDS:
        _worlds.popitem(last=False)
    return found
