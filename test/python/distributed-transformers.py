# RUN: %torch_python %s
# REQUIRES: torch, plain-libdash
"""A model of transformers whose tokens lie on several ranks: as on one, and as each document alone;
what contradicts the world is refused."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from fixtures import refused  # noqa: E402
from ranks import on_ranks  # noqa: E402
from transformers import LlamaConfig, LlamaForCausalLM  # noqa: E402
from worlds import scattered  # noqa: E402

import dash_attn.transformers  # noqa: E402, F401
from dash_attn import ArgumentError  # noqa: E402
from dash_attn.distributed import World  # noqa: E402
from dash_attn.transformers.masks import Mask  # noqa: E402
from dash_attn.transformers.worlds import attend_in  # noqa: E402

DOCUMENTS = (300, 1, 70)
TOKENS = torch.arange(sum(DOCUMENTS)) * 7 % 64
SIZES = {
    "vocab_size": 64,
    "hidden_size": 128,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
}
PLACE = "attn_implementation='dash': expected "


def model(by: str) -> Any:
    torch.manual_seed(5)
    return LlamaForCausalLM(LlamaConfig(**SIZES, attn_implementation=by)).to(torch.bfloat16)


def of_rank(rank: int, seed: int) -> Any:
    size = dist.get_world_size()
    world = World(
        dist.group.WORLD,
        DOCUMENTS,
        heads=2,
        kv_heads=1,
        head_dim=64,
        cut=0,
        homes=scattered(DOCUMENTS, size, seed) if seed else None,
    )
    made, positions, labels = model("dash"), world.positions()[None], world.labels(TOKENS)
    if seed == 2:
        made.gradient_checkpointing_enable()
        made.train()
    tokens = world.shard(TOKENS)[None]
    with world.as_current():
        logits = made(tokens, position_ids=positions, use_cache=False).logits[0]
        loss = torch.nn.functional.cross_entropy(
            logits.float(), labels, ignore_index=-100, reduction="sum"
        )
        loss.backward()
        if size == 2 and not seed:
            refusals(rank, world, made, tokens, positions)
    total = torch.stack([loss.detach(), (labels != -100).sum()])
    weight = made.model.layers[0].self_attn.k_proj.weight.grad.float()
    for one in (total, weight):
        dist.all_reduce(one)
    return [total, weight]


def refusals(
    rank: int, world: World, made: Any, tokens: torch.Tensor, positions: torch.Tensor
) -> None:
    """Before anything is sent: both ranks are refused alike."""
    others = (
        PLACE
        + "position_ids that are world.positions()[None], found others; they are this rank's rows'"
        " positions in the world's documents"
    )
    for given, options, message in (
        (tokens, {"position_ids": positions + 1}, others),
        (tokens, {}, others if rank else None),
        (tokens[:, 1:], {"position_ids": positions[:, 1:]}, others),
    ):
        if message is not None:
            found = refused(
                lambda given=given, options=options: made(given, use_cache=False, **options),
                ArgumentError,
            )
            assert found == message, found
    cu = torch.tensor([0, 5, tokens.shape[1]], dtype=torch.int32)
    packed = {"cu_seq_lens_q": cu, "cu_seq_lens_k": cu, "max_length_q": 200, "max_length_k": 200}
    found = refused(
        lambda: made(tokens, position_ids=positions, use_cache=False, **packed), ArgumentError
    )
    assert found.startswith(
        PLACE
        + "position_ids that begin anew where cu_seq_lens_q has a document begin, and nowhere else,"
        " found others"
    ), found
    slow = World(dist.group.WORLD, DOCUMENTS, heads=2, kv_heads=1, head_dim=64, cut=0, scale=0.5)
    with slow.as_current():
        found = refused(
            lambda: made(tokens, position_ids=positions, use_cache=False), ArgumentError
        )
        assert (
            found
            == PLACE
            + "a scale of 0.5, as the world has it, found 0.125; make the world with scale=0.125"
        ), found
    two = torch.cat([tokens, tokens]), torch.cat([positions, positions])
    found = refused(lambda: made(two[0], position_ids=two[1], use_cache=False), ArgumentError)
    assert "one row of the batch" in found or "position_ids" in found, found


def refusals_of_a_layer() -> None:
    q, k = torch.zeros(1, 2, 9, 64), torch.zeros(1, 1, 9, 64)
    one, two = (World(ranks, (9,), heads=2, kv_heads=1, head_dim=64, cut=0) for ranks in (1, 2))
    causal, positions = Mask(9, 9, right=0), torch.arange(9)[None]
    for world, of_k, mask, given, options, message in (
        (two, k, causal, positions, {}, "a world of processes, found one of 2 virtual ranks"),
        (
            one,
            k[:, :, 1:],
            causal,
            positions,
            {},
            (
                "one row of the batch, with all tokens of this rank, and no cache, found 1 rows of"
                " 9 tokens beside 8"
            ),
        ),
        (
            one,
            k,
            causal,
            positions,
            {"softcap": 50.0},
            "no softcap within a world, found 50.0",
        ),
        (
            one,
            k,
            causal,
            positions,
            {"sink": torch.zeros(2)},
            "causal attention within documents, as a world has it, found a sink",
        ),
        (
            one,
            k,
            Mask(9, 9),
            positions,
            {},
            "causal attention within documents, as a world has it, found another mask",
        ),
        (
            one,
            k,
            Mask(9, 9, left=3, right=0),
            positions,
            {},
            "causal attention within documents, as a world has it, found another mask",
        ),
        (
            one,
            k,
            causal,
            None,
            {},
            "position_ids that are world.positions()[None], found none at the attention of a layer",
        ),
    ):
        found = refused(
            lambda: attend_in(world, q, of_k, of_k, mask, given, None, **{"sink": None} | options),
            ArgumentError,
        )  # noqa: B023
        assert found.startswith(PLACE + message), found


def alone() -> tuple[torch.Tensor, torch.Tensor]:
    """By eager attention, document by document."""
    made, total, at = model("eager"), torch.zeros(2), 0
    for length in DOCUMENTS:
        tokens = TOKENS[at : at + length]
        logits = made(tokens[None], use_cache=False).logits[0, :-1].float()
        loss = torch.nn.functional.cross_entropy(logits, tokens[1:], reduction="sum")
        loss.backward()
        total += torch.stack([loss.detach(), torch.tensor(float(length - 1))])
        at += length
    return total, made.model.layers[0].self_attn.k_proj.weight.grad.float()


if __name__ == "__main__":
    refusals_of_a_layer()
    found = [on_ranks(size, of_rank, seed)[0] for size, seed in ((1, 0), (2, 0), (2, 1), (3, 2))]
    for whole, of_whole in (found[0], alone()):
        for total, weight in found:
            assert total[1] == whole[1] == sum(DOCUMENTS) - len(DOCUMENTS), (total, whole)
            assert (total[0] - whole[0]).abs() <= 0.002 * whole[0], (total, whole)
            assert (weight - of_whole).norm() <= 0.05 * of_whole.norm(), (
                weight - of_whole
            ).norm() / of_whole.norm()
