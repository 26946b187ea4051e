# RUN: %torch_python %s
# REQUIRES: torch, plain-libdash
"""Megatron's core attention over a world. Stand-ins have the arguments and fields that
Megatron-Core's TransformerConfig, PackedSeqParams and Attention.forward have; Megatron itself is
not there. One and two ranks have the bits of a world of one rank."""

from __future__ import annotations

import dataclasses
import enum
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from fixtures import refused  # noqa: E402
from ranks import on_ranks  # noqa: E402
from worlds import found_of, made, whole, zigzag  # noqa: E402

from dash_attn import ArgumentError  # noqa: E402
from dash_attn.distributed import megatron  # noqa: E402

DOCUMENTS = (700, 64, 120)
SQUARE = (256, 256)  # a batch of two
AttnMaskType = enum.Enum(
    "AttnMaskType", "padding causal no_mask padding_causal arbitrary bidirectional"
)
CONFIG = SimpleNamespace(
    attention_dropout=0.0,
    softmax_type="vanilla",
    window_size=None,
    apply_query_key_layer_scaling=False,
)


@dataclasses.dataclass
class PackedSeqParams:
    qkv_format: Any = None
    cu_seqlens_q: Any = None
    cu_seqlens_kv: Any = None
    cu_seqlens_q_padded: Any = None
    cu_seqlens_kv_padded: Any = None
    max_seqlen_q: Any = None
    max_seqlen_kv: Any = None
    local_cp_size: Any = None
    cp_group: Any = None
    total_tokens: Any = None
    seq_idx: Any = None


def packed(lengths: tuple[int, ...], **fields: Any) -> PackedSeqParams:
    cu = torch.tensor([0, *lengths]).cumsum(0).int()
    return PackedSeqParams(
        **{"qkv_format": "thd", "cu_seqlens_q": cu, "cu_seqlens_kv": cu} | fields
    )


def layer(group: Any, **more: Any) -> megatron.WorldAttention:
    given = {
        "config": CONFIG,
        "layer_number": 1,
        "attn_mask_type": AttnMaskType.causal,
        "attention_type": "self",
        "cp_comm_type": "p2p",
        "softmax_scale": None,
        "pg_collection": SimpleNamespace(cp=group),
        "of_world": {"cut": 0},
    }
    return megatron.WorldAttention(**given | more)


def rows_of(documents: tuple[int, ...], rank: int, ranks: int) -> torch.Tensor:
    begins = torch.tensor([0, *documents]).cumsum(0)
    return torch.cat(
        [
            torch.arange(begins[document] + first, begins[document] + first + count)
            for of, document, first, count in zigzag(documents, ranks)
            if of == rank
        ]
    )


def of_rank(rank: int) -> list[torch.Tensor]:
    """o, dq, dk and dv of this rank's rows: packed, and of a batch."""
    group, ranks, found = dist.group.WORLD, dist.get_world_size(), []
    for documents in (DOCUMENTS, SQUARE):
        q, k, v, do = (
            one[rows_of(documents, rank, ranks)].requires_grad_(i < 3)
            for i, one in enumerate(whole(documents))
        )
        core = layer(group)
        if documents is DOCUMENTS:
            # Documents with padding; and a list that is filled up.
            params = packed(
                (690, 64, 120),
                cu_seqlens_q_padded=(cu := torch.tensor([0, *documents, 0, 0]).cumsum(0).int()),
                cu_seqlens_kv_padded=cu,
            )
            o = core(
                q,
                k,
                v,
                None,
                attn_mask_type=AttnMaskType.padding_causal,
                attention_bias=None,
                packed_seq_params=params,
            )
            assert o.shape == (q.shape[0], q.shape[1] * q.shape[2])
            again = layer(group)
            again(q, k, v, None, packed_seq_params=dataclasses.replace(params, cp_group=group))
            assert again.world is core.world
        else:
            *of_batch, upstream = (
                one.unflatten(0, (2, -1)).transpose(0, 1) for one in (q, k, v, do)
            )
            o = core(*of_batch, None, attn_mask_type=None)
            assert (
                o.shape == (*of_batch[0].shape[:2], q.shape[1] * q.shape[2]) and o.is_contiguous()
            )
            do = upstream
        gradients = torch.autograd.grad(o, (q, k, v), do.flatten(-2))
        o = o if o.dim() == 2 else o.transpose(0, 1).flatten(0, 1)
        found += [o.detach().unflatten(-1, q.shape[1:]), *gradients]
    if rank == 0 and ranks == 1:
        refusals(group)
    return found


def refusals(group: Any) -> None:
    for more, message in (
        ({"attention_type": "cross"}, "attention_type: expected 'self', found 'cross'"),
        (
            {"attention_dropout": 0.1},
            "attention_dropout: expected 0, found 0.1: a world serves no dropout",
        ),
        (
            {"config": SimpleNamespace(**vars(CONFIG) | {"window_size": (512, 0)})},
            (
                "config.window_size: expected None, found (512, 0): a world serves no other softmax"
                " or mask"
            ),
        ),
        (
            {"pg_collection": None},
            "pg_collection: expected one with the context-parallel group as 'cp', found none",
        ),
    ):
        assert (
            said := refused(lambda more=more: layer(group, **more), ArgumentError)
        ) == message, said
    q, k, v, _ = whole((32,))
    other = packed((32,), cu_seqlens_kv=torch.tensor([0, 31]).int())
    for given, message in (
        (
            {"attn_mask_type": AttnMaskType.padding},
            "attn_mask_type: expected one of causal, padding_causal, found padding",
        ),
        ({"attention_bias": q}, "attention_bias: expected none, found one: a world serves no bias"),
        (
            {"packed_seq_params": packed((32,), qkv_format="sbhd")},
            "packed_seq_params.qkv_format: expected 'thd', found 'sbhd'",
        ),
        (
            {"packed_seq_params": other},
            (
                "packed_seq_params: expected as many rows of kv as of q in each sequence, found"
                " (31,) beside (32,)"
            ),
        ),
    ):
        assert (
            said := refused(lambda given=given: layer(group)(q, k, v, None, **given), ArgumentError)
        ) == message, said
    assert (
        refused(lambda: megatron.homes_of((64, 30), 2), ArgumentError)
        == "packed_seq_params: expected sequences of a multiple of 4 rows, as 2 context-parallel"
        " ranks cut them, found 30 in sequence 1; pad it"
    )
    for i in range(megatron.MOST_WORLDS + 1):
        layer(group)(q[: 2 + i], k[: 2 + i], v[: 2 + i], None, packed_seq_params=packed((2 + i,)))
    assert len(megatron._worlds) == megatron.MOST_WORLDS


if __name__ == "__main__":
    torch.set_num_threads(1)
    expected = [found_of(made(1, documents), whole(documents)) for documents in (DOCUMENTS, SQUARE)]
    for ranks in (1, 2):
        found = on_ranks(ranks, of_rank)
        for i, documents in enumerate((DOCUMENTS, SQUARE)):
            order = torch.cat([rows_of(documents, rank, ranks) for rank in range(ranks)]).argsort()
            o, _, *gradients = expected[i]
            for wanted, *parts in zip((o, *gradients), *(one[4 * i : 4 * i + 4] for one in found)):
                assert torch.equal(torch.cat(parts)[order], wanted), (ranks, documents)
