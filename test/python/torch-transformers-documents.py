# RUN: %torch_python %s
# REQUIRES: torch, plain-libdash
"""Packed documents are noticed, whatever shape their positions have and whatever is beside them:
served apart, or refused."""

from __future__ import annotations

import gc
import inspect
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

import torch  # noqa: E402
from fixtures import refused  # noqa: E402
from on_cpu import LAUNCHED  # noqa: E402
from transformers import (
    BartConfig,
    BartForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    PersimmonConfig,
    PersimmonForCausalLM,  # noqa: E402
    Qwen2_5_VLTextConfig,
    Qwen2_5_VLTextModel,
    masking_utils,
)

from dash_attn import ArgumentError  # noqa: E402
from dash_attn.transformers import attend, documents, mask  # noqa: E402

SIZES = {
    "vocab_size": 64,
    "hidden_size": 128,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
}
TOKENS = torch.arange(24)[None] * 5 % 64
LENGTHS = (5, 7, 12)
OFFSETS = torch.tensor([0, 5, 12, 24], dtype=torch.int32)
POSITIONS = torch.cat([torch.arange(length) for length in LENGTHS])[None]
PACKED = {
    "cu_seq_lens_q": OFFSETS,
    "cu_seq_lens_k": OFFSETS,
    "max_length_q": 12,
    "max_length_k": 12,
}
ROPE = {
    "rope_parameters": {"rope_type": "default", "mrope_section": [8, 12, 12], "rope_theta": 10000.0}
}
PLACE = "attn_implementation='dash': expected "
UNNOTICED = (
    PLACE
    + "position_ids that go up by 1, found others, as of packed documents, where the model takes"
    " them for one; leave attention_mask out and pass use_cache=False, or pass cu_seq_lens_q, as"
    " DataCollatorWithFlattening(return_flash_attn_kwargs=True) gives it, or choose another one"
)


def model(kind: Any, config: Any, **options: Any) -> Any:
    torch.manual_seed(5)
    return kind(config(**SIZES, **options, attn_implementation="dash")).to(torch.bfloat16).eval()


def result(output: Any) -> torch.Tensor:
    return output.logits if hasattr(output, "logits") else output.last_hidden_state


def demand_apart(made: Any, **given: Any) -> None:
    """Each document as it is alone."""
    LAUNCHED.clear()
    found = result(made(TOKENS, **given))
    found.float().sum().backward()
    assert LAUNCHED and all(by == "dash, packed" for by, _, _ in LAUNCHED), LAUNCHED
    alone = torch.cat(
        [
            result(made(TOKENS[:, begin:end], use_cache=False))
            for begin, end in zip(OFFSETS, OFFSETS[1:])
        ],
        dim=1,
    )
    assert (found - alone).norm() <= 0.02 * alone.norm(), (found - alone).norm() / alone.norm()


def demand_unnoticed(made: Any, **given: Any) -> None:
    LAUNCHED.clear()
    found = refused(lambda: result(made(TOKENS, **given)).float().sum().backward(), ArgumentError)
    assert found == UNNOTICED, found
    assert not LAUNCHED


def of_two_dimensions() -> None:
    """Persimmon does not hand positions to its attention."""
    ones = torch.ones_like(TOKENS)
    for made in (
        model(LlamaForCausalLM, LlamaConfig),
        model(PersimmonForCausalLM, PersimmonConfig),
    ):
        demand_apart(made, position_ids=POSITIONS, use_cache=False)
        demand_apart(made, position_ids=POSITIONS, use_cache=False, **PACKED)
        demand_apart(made, position_ids=POSITIONS, **PACKED)
        demand_apart(made, position_ids=POSITIONS, attention_mask=ones, **PACKED)
        for given in ({}, {"attention_mask": ones}, {"attention_mask": ones, "use_cache": False}):
            demand_unnoticed(made, position_ids=POSITIONS, **given)
            without_names(made, position_ids=POSITIONS, **given)
        made.train().gradient_checkpointing_enable()
        demand_apart(made, position_ids=POSITIONS, use_cache=False)
    found = refused(
        lambda: made(
            TOKENS.expand(2, -1), position_ids=POSITIONS.expand(2, -1), use_cache=False, **PACKED
        ),
        ArgumentError,
    )
    assert (
        found
        == PLACE
        + "packed documents in one row, found 2 rows beside cu_seq_lens; pack all documents"
        " into one"
    ), found
    # Several rows of a batch, each with its own documents.
    made = model(LlamaForCausalLM, LlamaConfig)
    tokens, positions = TOKENS.reshape(2, 12), torch.tensor([[*range(5), *range(7)], [*range(12)]])
    found = made(tokens, position_ids=positions, use_cache=False).logits
    alone = torch.cat(
        [
            made(TOKENS[:, begin:end], use_cache=False).logits
            for begin, end in zip(OFFSETS, OFFSETS[1:])
        ],
        dim=1,
    ).reshape(found.shape)
    assert (found - alone).norm() <= 0.02 * alone.norm()


def without_names(made: Any, **given: Any) -> None:
    """The same arguments, by their places."""
    names = list(inspect.signature(type(made).forward).parameters)[1:]
    given["input_ids"] = TOKENS
    arguments = [given.pop(name, None) for name in names[: names.index("position_ids") + 1]]
    assert refused(lambda: made(*arguments, **given), ArgumentError) == UNNOTICED


def of_three_rows() -> None:
    """Qwen2.5-VL: time, height and width; with a row of text's positions before them transformers
    looks for documents there."""
    made = model(Qwen2_5_VLTextModel, Qwen2_5_VLTextConfig, num_key_value_heads=1, **ROPE)
    three = POSITIONS.expand(3, 1, -1)
    for positions in (POSITIONS, three, three.clone()):
        for given in ({"use_cache": False}, {}, {"attention_mask": torch.ones_like(TOKENS)}):
            demand_unnoticed(made, position_ids=positions, **given)
    demand_apart(made, position_ids=POSITIONS.expand(4, 1, -1), use_cache=False)
    demand_apart(made, position_ids=three, use_cache=False, **PACKED)
    # A text, an image of 2 x 3, a text: what get_rope_index makes of them is one document.
    image = torch.tensor(
        [
            [0, 1, 2, 2, 2, 2, 2, 2, 5, 6],
            [0, 1, 2, 2, 2, 3, 3, 3, 5, 6],
            [0, 1, 2, 3, 4, 2, 3, 4, 5, 6],
        ]
    )[:, None]
    for positions in (image, torch.cat([torch.arange(10)[None, None], image])):
        made(TOKENS[:, :10], position_ids=positions, use_cache=False)
    twice = torch.cat([image, image], dim=-1)
    assert (
        refused(lambda: made(TOKENS[:, :20], position_ids=twice, use_cache=False), ArgumentError)
        == UNNOTICED
    )


def numbered_by_others() -> None:
    """Documents of a mask function of a stranger's: those that are interrupted are no sequences of
    rows."""
    q = torch.randn(1, 2, 4, 64, dtype=torch.bfloat16)
    for numbers, expected in (
        ([[0, 0, 1, 1]], None),
        (
            [[0, 1, 0, 1]],
            PLACE + "documents whose numbers ascend in a row, found others; choose another one",
        ),
    ):
        function = masking_utils.and_masks(
            masking_utils.packed_sequence_mask_function(torch.tensor(numbers)),
            masking_utils.causal_mask_function,
        )
        given = mask(batch_size=1, q_length=4, kv_length=4, mask_function=function)
        call = lambda given=given: attend(torch.nn.Module(), q, q, q, given)  # noqa: E731
        assert call() if expected is None else refused(call, ArgumentError) == expected


def begins() -> None:
    for positions, expected in (
        ([[0, 1, 2, 3]], []),
        ([[7, 8, 9, 10]], []),
        ([[0, 1, 0, 1]], [2]),
        ([[0, 0, 0, 1]], [1, 2]),
        ([[0, 1, 3, 4]], [2]),
        ([0, 1, 0, 1], [2]),
    ):
        found = documents.begins_of(torch.tensor(positions))
        assert [at + 1 for at in found[0].nonzero()[:, 0].tolist()] == expected, positions
    for rows, expected in (
        ([[0, 0], [0, 0], [0, 0]], [1]),  # texts of a token each
        ([[0, 1, 1, 2], [0, 1, 1, 2], [0, 1, 2, 2]], []),
        ([[4, 9, 9, 3], [4, 9, 9, 3], [4, 9, 9, 3]], [3]),
        # Images at the very begin.
        ([[0, 0, 0, 0, 0], [0, 0, 1, 1, 0], [0, 1, 0, 1, 0]], [4]),
    ):
        found = documents.begins_of(torch.tensor(rows)[:, None])
        assert [at + 1 for at in found[0].nonzero()[:, 0].tolist()] == expected, rows


def written_again() -> None:
    """A buffer that was looked at has other positions later; and one that is gone leaves its place
    to another."""
    made = model(PersimmonForCausalLM, PersimmonConfig)
    buffer = torch.arange(24)[None].clone()
    made(TOKENS, position_ids=buffer)
    buffer.copy_(POSITIONS)
    demand_unnoticed(made, position_ids=buffer)
    buffer.copy_(torch.arange(24)[None])
    made(TOKENS, position_ids=buffer)
    known = documents._has_begins._known
    assert id(buffer) in known
    place = id(buffer)
    del buffer
    gc.collect()
    assert place not in known
    with torch.inference_mode():  # such tensors count no versions
        buffer = torch.arange(24)[None].clone()
        made(TOKENS, position_ids=buffer)
        buffer.copy_(POSITIONS)
        assert refused(lambda: made(TOKENS, position_ids=buffer), ArgumentError) == UNNOTICED


def offsets_that_say_something_else() -> None:
    llama = model(LlamaForCausalLM, LlamaConfig)
    collator = ", as DataCollatorWithFlattening(return_flash_attn_kwargs=True) gives them"
    found = refused(lambda: llama(TOKENS, **PACKED), ArgumentError)
    assert (
        found
        == PLACE
        + "position_ids beside cu_seq_lens_q, found none: positions would go on from one document"
        f" to the next; pass both{collator}"
    ), found
    disagree = (
        PLACE + "position_ids that begin anew where cu_seq_lens_q has a document begin, and nowhere"
        f" else, found others; pass those of one collator{collator}"
    )
    for offsets in (
        [0, 24],
        [0, 5, 24],
        [0, 5, 12],
        [5, 12, 24],
        [0, 5, 12, 25],
        [-1, 0, 5, 12, 24],
        [0, 5, 9, 12, 24],
    ):
        cu = torch.tensor(offsets, dtype=torch.int32)
        found = refused(
            lambda cu=cu: llama(TOKENS, position_ids=POSITIONS, cu_seq_lens_q=cu, cu_seq_lens_k=cu),
            ArgumentError,
        )
        assert found == disagree, found
    # A model that takes no positions would go on counting, whatever offsets say; one that loses the
    # offsets would mix documents.
    bart = model(
        BartForCausalLM,
        BartConfig,
        d_model=128,
        decoder_layers=1,
        decoder_attention_heads=2,
        decoder_ffn_dim=128,
    )
    found = refused(
        lambda: bart(TOKENS, position_ids=POSITIONS, use_cache=False, **PACKED), ArgumentError
    )
    assert (
        found
        == PLACE
        + "a model that takes position_ids, beside cu_seq_lens_q, found BartDecoder, which does"
        " not; choose another one"
    ), found
    layers = llama.model.layers
    for layer in layers:
        layer.register_forward_pre_hook(
            lambda module, arguments, given: (
                arguments,
                {name: one for name, one in given.items() if "seq" not in name},
            ),
            with_kwargs=True,
        )
    found = refused(lambda: llama(TOKENS, position_ids=POSITIONS, **PACKED), ArgumentError)
    assert (
        found
        == PLACE
        + "cu_seq_lens_q at each layer of the model that it was given to, found none; choose"
        " another one"
    ), found
    llama(TOKENS)  # what was refused leaves nothing behind


def of_a_layer_alone() -> None:
    """Without a model around it, attention looks at the positions that it is given."""
    q = torch.randn(1, 2, 24, 64, dtype=torch.bfloat16)
    module = torch.nn.Module()
    assert (
        refused(lambda: attend(module, q, q, q, position_ids=POSITIONS), ArgumentError) == UNNOTICED
    )
    attend(module, q, q, q, position_ids=torch.arange(24)[None])
    found = refused(lambda: attend(module, q, q, q, seq_idx=torch.zeros(1, 24)), ArgumentError)
    assert (
        found == PLACE + "cu_seq_lens_q beside seq_idx, found none; pass both, as"
        " DataCollatorWithFlattening(return_flash_attn_kwargs=True) gives them"
    ), found
    found = refused(
        lambda: attend(module, q[:, :, :12], q, q, cu_seq_lens_q=OFFSETS, cu_seq_lens_k=OFFSETS),
        ArgumentError,
    )
    assert (
        found
        == PLACE
        + "as many rows of q as of k beside packed documents, found 12 and 24; choose another one"
    ), found


def compiled() -> None:
    """Programs do not wait for the device to decide: what would mix documents ends with an error
    when it runs."""
    made = model(LlamaForCausalLM, LlamaConfig)
    function = torch.compile(
        lambda **given: made(TOKENS, **given).logits, fullgraph=True, backend="aot_eager"
    )
    alone = made(TOKENS).logits
    for given in (
        {},
        {"use_cache": False},
        {"position_ids": torch.arange(24)[None]},
        {"position_ids": torch.arange(24)[None], "use_cache": False},
    ):
        assert torch.equal(function(**given), alone)
    for given in ({}, {"use_cache": False}, {"attention_mask": torch.ones_like(TOKENS)}):
        assert "position_ids of packed sequences" in refused(
            lambda given=given: function(position_ids=POSITIONS, **given), RuntimeError
        )
    assert torch.equal(
        function(position_ids=POSITIONS, use_cache=False, **PACKED),
        made(TOKENS, position_ids=POSITIONS, use_cache=False, **PACKED).logits,
    )
    other = torch.tensor([0, 6, 12, 24], dtype=torch.int32)
    wrong = PACKED | {"cu_seq_lens_q": other, "cu_seq_lens_k": other}
    assert "position_ids and cu_seq_lens_q" in refused(
        lambda: function(position_ids=POSITIONS, use_cache=False, **wrong), RuntimeError
    )


of_two_dimensions()
of_three_rows()
numbered_by_others()
begins()
written_again()
offsets_that_say_something_else()
of_a_layer_alone()
compiled()
