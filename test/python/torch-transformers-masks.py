# RUN: %torch_python %s
# REQUIRES: torch, plain-libdash
"""What a model asks to be masked is what its attention computes, or it is refused: caches, windows,
and arguments that say something else."""

from __future__ import annotations

import copy
import inspect
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

import torch  # noqa: E402
from fixtures import refused  # noqa: E402
from on_cpu import LAUNCHED  # noqa: E402
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    ModernBertConfig,
    ModernBertForMaskedLM,  # noqa: E402
    Qwen2MoeConfig,
    Qwen2MoeForCausalLM,
    StaticCache,
    masking_utils,
)
from transformers.utils import TransformersKwargs  # noqa: E402

from dash_attn import ArgumentError  # noqa: E402
from dash_attn.transformers import Mask, attend, attention, mask  # noqa: E402

SIZES = {
    "vocab_size": 64,
    "hidden_size": 128,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
}
GROUPED = SIZES | {"num_key_value_heads": 1}
TOKENS = torch.arange(24).reshape(2, 12) * 5 % 64
PLACE = "attn_implementation='dash': expected "
OTHER = "; choose another one"


def models(kind: Any, config: Any, **options: Any) -> list[Any]:
    """By dash and eager, with weights that make a wrong mask wrong by tens of percent."""
    found = []
    for name in ("dash", "eager"):
        torch.manual_seed(5)
        made = kind(config(**options, attn_implementation=name)).to(torch.bfloat16).train()
        for parameter in made.parameters():
            if parameter.dim() == 2:
                torch.nn.init.normal_(parameter, std=0.1)
        found.append(made)
    return found


def demand_equal(found: torch.Tensor, expected: torch.Tensor, within: float = 0.03) -> None:
    apart = float((found.double() - expected.double()).norm() / expected.double().norm())
    assert apart < within, apart


def static_caches() -> None:
    """First tokens in a buffer that is longer: the rest of it is not seen. Later tokens: how many
    are before them lies on the device, and the cache counts on before its layers attend."""
    dash, eager = (model.eval() for model in models(LlamaForCausalLM, LlamaConfig, **GROUPED))
    for rows in (1, 5, 12):
        caches = [StaticCache(config=model.config, max_cache_len=20) for model in (dash, eager)]
        for tokens in (TOKENS[:, :rows], TOKENS[:, :1], TOKENS[:, 3:7]):
            with torch.no_grad():
                demand_equal(
                    *(
                        model(tokens, past_key_values=cache).logits
                        for model, cache in zip((dash, eager), caches)
                    )
                )
    found = [
        model.generate(
            TOKENS, max_new_tokens=3, cache_implementation="static", disable_compile=True
        )
        for model in (dash, eager)
    ]
    assert torch.equal(*found), found
    windows = [
        model.eval()
        for model in models(MistralForCausalLM, MistralConfig, **GROUPED, sliding_window=4)
    ]
    caches = [StaticCache(config=model.config, max_cache_len=20) for model in windows]
    for tokens in (TOKENS[:, :5], TOKENS[:, 5:6], TOKENS[:, 6:9]):
        with torch.no_grad():
            demand_equal(
                *(
                    model(tokens, past_key_values=cache).logits
                    for model, cache in zip(windows, caches)
                )
            )


def lengths_on_the_device() -> None:
    """What is not served there is said: padding, a bound to both sides, slices, other arguments."""
    offset = torch.tensor(4)
    ones = torch.ones(2, 8)
    seen = mask(batch_size=2, q_length=2, kv_length=20, q_offset=offset, attention_mask=ones)
    offset += 100  # as a cache does
    assert seen.used is not None and seen.used.tolist() == [6, 6]
    padded = ones.clone()
    padded[1, 0] = 0
    given = {"batch_size": 2, "q_length": 2, "kv_length": 20}
    for wrong, hides in ((padded, 1), (ones[:, :5], 0)):
        text = refused(
            lambda wrong=wrong: mask(**given, q_offset=torch.tensor(4), attention_mask=wrong),
            ArgumentError,
        )
        assert text == PLACE + (
            f"sequences of one length, found an attention_mask that hides {hides} tokens as"
            " padding, or is shorter than what the cache holds; leave padding out, or choose"
            " another one"
        ), text
    assert "cut while the length of a cache is on the device" in refused(
        lambda: seen[:, :, :1], ArgumentError
    )
    both = masking_utils.sliding_window_bidirectional_overlay(3)
    wide = mask(**given, q_offset=torch.tensor(4), mask_function=both)
    q, k = (torch.zeros(2, 2, rows, 64, dtype=torch.bfloat16) for rows in (2, 20))
    offsets = torch.tensor([0, 2], dtype=torch.int32)
    for where, function in (
        (" with packed documents, or a window to both sides", lambda: attend(None, q, k, k, wide)),
        (" beside cu_seq_lens", lambda: attend(None, q, k, k, seen, cu_seq_lens_q=offsets)),
    ):
        text = refused(function, ArgumentError)
        assert text == PLACE + (
            f"a cache whose length the host knows{where}, found one whose length is on the device,"
            " as a StaticCache has it behind its first tokens; use a DynamicCache, or choose"
            " another one"
        ), text


def caches_behind_others() -> None:
    dash, eager = (model.eval() for model in models(LlamaForCausalLM, LlamaConfig, **GROUPED))
    # Several rows behind others, which a causal mask of a square does not say.
    with torch.no_grad():
        caches = [model(TOKENS[:, :5], use_cache=True).past_key_values for model in (dash, eager)]
        demand_equal(
            *(
                model(TOKENS[:, 5:9], past_key_values=cache).logits
                for model, cache in zip((dash, eager), caches)
            )
        )


def train_alike(dash: Any, eager: Any, **given: Any) -> None:
    LAUNCHED.clear()
    for model in (dash, eager):
        model(TOKENS, labels=TOKENS, **given).loss.backward()
    for one, other in zip(dash.parameters(), eager.parameters(), strict=True):
        if other.grad is not None:
            demand_equal(one.grad, other.grad, within=0.1)  # of models in bfloat16


def windows_that_nobody_hands_on() -> None:
    """Qwen2-MoE makes a windowed mask and does not tell its attention of the window."""
    options = {
        "use_sliding_window": True,
        "sliding_window": 4,
        "max_window_layers": 2,
        "num_experts": 2,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 128,
        "shared_expert_intermediate_size": 128,
    }
    train_alike(*models(Qwen2MoeForCausalLM, Qwen2MoeConfig, **GROUPED, **options))
    assert [window for _, window, _ in LAUNCHED] == [(-1, 0), (3, 0)], LAUNCHED


def windows_to_both_sides() -> None:
    options = {"local_attention": 6, "global_attn_every_n_layers": 2, "pad_token_id": 0}
    train_alike(*models(ModernBertForMaskedLM, ModernBertConfig, **SIZES, **options))
    assert [window for _, window, _ in LAUNCHED] == [(3, 3), (-1, -1)], LAUNCHED


def attention_of(
    module: torch.nn.Module, given: Any, rows: int = 6, columns: int = 6, **options: Any
) -> Any:
    q, k = (torch.randn(1, 1, length, 64, dtype=torch.bfloat16) for length in (rows, columns))
    return attend(module, q, k, k, given, **options)


def contradictions() -> None:
    """Nothing that an attention function is told goes against the mask, and nothing is left out
    that it is told."""
    module = torch.nn.Module()
    causal, full, window = Mask(6, 6, right=0), Mask(6, 6), Mask(6, 6, left=2, right=0)
    for given, options, text in (
        (
            causal,
            {"is_causal": False},
            (
                "a full mask, as is_causal=False says, found one with no bound before a row's own"
                " and 0 columns behind it"
            ),
        ),
        (
            full,
            {"is_causal": True},
            (
                "a causal mask, as is_causal=True says, found one with no bound before a row's own"
                " and no bound behind it"
            ),
        ),
        (
            None,
            {"is_causal": True},
            (
                "a causal mask, as is_causal=True says, found one with no bound before a row's own"
                " and no bound behind it"
            ),
        ),
        (
            causal,
            {"sliding_window": 3},
            (
                "the mask of a window, as sliding_window=3 says, found one with no bound before a"
                " row's own and 0 columns behind it"
            ),
        ),
        (
            window,
            {"sliding_window": 4},
            (
                "the mask of a window, as sliding_window=4 says, found one with 2 columns before a"
                " row's own and 0 columns behind it"
            ),
        ),
        (
            None,
            {"sliding_window": 3},
            (
                "the mask of a window, as sliding_window=3 says, found one with no bound before a"
                " row's own and no bound behind it"
            ),
        ),
        (
            Mask(6, 6, left=-1, right=0),
            {},
            (
                "a window of at least 1 column, found one of -1 columns before a row's own and 0"
                " columns behind it"
            ),
        ),
        (Mask(6, 7, right=0), {}, "6 rows and 7 columns as the mask has, found 6 and 6"),
        (
            Mask(6, 6, q_offset=2, right=0),
            {},
            (
                "a mask whose last row and last column are one token, found rows 2 to 8 beside"
                " columns 0 to 6"
            ),
        ),
        (
            Mask(6, 6, q_offset=-2, left=2, right=2),
            {},
            (
                "a mask whose last row and last column are one token, found rows -2 to 4 beside"
                " columns 0 to 6"
            ),
        ),
        (
            torch.ones(1, 1, 6, 6),
            {},
            (
                "a mask of transformers' own functions, found one that was made in another way, a"
                " tensor of shape (1, 1, 6, 6)"
            ),
        ),
        (
            causal,
            {"block_indices": torch.zeros(2, 3)},
            "no block_indices at the attention of a layer, found a tensor of shape (2, 3)",
        ),
        (causal, {"indices": [1]}, "no indices at the attention of a layer, found [1]"),
        (
            causal,
            {"attention_bias": 0.5},
            "no attention_bias at the attention of a layer, found 0.5",
        ),
        (causal, {"softcap": 0.0}, "a softcap above 0, or None, found 0.0"),
        (causal, {"anything": False}, "no anything at the attention of a layer, found False"),
        (causal, {"dropout": 0.25}, "dropout to be 0.0, found 0.25"),
        (causal, {"output_attentions": True}, "output_attentions to be False, found True"),
    ):
        found = refused(
            lambda given=given, options=options: attention_of(module, given, **options),
            ArgumentError,
        )
        assert found == PLACE + text + OTHER, found
    module.is_causal = True
    assert "as is_causal=True says" in refused(lambda: attention_of(module, full), ArgumentError)
    attention_of(module, full, is_causal=False)
    attention_of(module, Mask(1, 6), rows=1)  # a row sees all before it, causal or not
    # What agrees, what says nothing, and what hides nothing.
    for given, options in (
        (causal, {"is_causal": True, "sliding_window": 6}),
        (window, {"sliding_window": 3}),
        (window, {}),
        (causal, {"sliding_window": 100}),
        (
            causal,
            {
                "dropout": 0.0,
                "output_attentions": False,
                "use_cache": True,
                "indices": None,
                "num_items_in_batch": torch.tensor(3),
            },
        ),
    ):
        attention_of(module, given, **options)


def what_is_handed_on() -> None:
    """Models hand on to attention what transformers says that they may be given: dash knows what
    each of these means."""
    known = set(inspect.signature(attend).parameters) | set(attention.UNSERVED) | attention.HARMLESS
    assert set(TransformersKwargs.__annotations__) <= known, (
        set(TransformersKwargs.__annotations__) - known
    )


def sees(given: Mask) -> torch.Tensor:
    rows, columns = (
        torch.arange(given.q_length)[:, None] + given.q_offset,
        torch.arange(given.kv_length) + given.kv_offset,
    )
    return (columns >= rows - (99 if given.left is None else given.left)) & (
        columns <= rows + (99 if given.right is None else given.right)
    )


def meanings() -> None:
    """A mask that is read says what the function says; what has no such meaning is refused."""
    causal, both = masking_utils.causal_mask_function, masking_utils.bidirectional_mask_function
    window, overlay = (
        masking_utils.sliding_window_causal_mask_function(3),
        masking_utils.sliding_window_overlay(3),
    )
    sizes = {"batch_size": 1, "q_length": 4, "kv_length": 9, "q_offset": 6, "kv_offset": 1}
    for function in (
        causal,
        both,
        window,
        overlay,
        masking_utils.sliding_window_bidirectional_mask_function(2),
        masking_utils.and_masks(window, causal),
        masking_utils.and_masks(overlay, both),
        masking_utils.and_masks(window, masking_utils.sliding_window_overlay(2)),
    ):
        expected = masking_utils.sdpa_mask(
            mask_function=function, allow_is_causal_skip=False, **sizes
        )[0, 0]
        assert torch.equal(sees(mask(mask_function=function, **sizes)), expected), function
    chunks = masking_utils.chunked_causal_mask_function(4, torch.zeros(1, dtype=torch.int))
    for function in (
        chunks,
        masking_utils.or_masks(causal, both),
        masking_utils.and_masks(causal, lambda *_: True),
        print,
        None,
        masking_utils.and_masks(causal, masking_utils.padding_mask_function(torch.ones(1, 9))),
    ):
        found = refused(
            lambda function=function: mask(mask_function=function, **sizes), ArgumentError
        )
        assert (
            found
            == PLACE
            + "a causal mask, that of a sliding window, or a full one, found another, as of blocks"
            + OTHER
        ), found


def padding() -> None:
    """In a buffer only what rows see counts: what was not written yet may be hidden."""
    sizes = {"q_length": 2, "kv_length": 6, "q_offset": 1}
    for seen in ([1, 1, 1], [1, 1, 1, 0, 0, 0], [1, 1, 1, 1, 1, 1]):
        mask(attention_mask=torch.tensor([seen]), **sizes)
    assert "hides 1 tokens as padding" in refused(
        lambda: mask(attention_mask=torch.tensor([[0, 1, 1, 1]]), **sizes), ArgumentError
    )
    found = refused(lambda: mask(attention_mask=torch.tensor([[1, 1]]), **sizes), ArgumentError)
    assert (
        found
        == PLACE
        + "sequences of one length, found an attention_mask of 2 columns for 3 tokens"
        + OTHER
    ), found
    full = masking_utils.bidirectional_mask_function
    assert "hides 1 tokens" in refused(
        lambda: mask(
            attention_mask=torch.tensor([[1, 1, 1, 1, 1, 0]]), mask_function=full, **sizes
        ),
        ArgumentError,
    )


def what_models_do_with_masks() -> None:
    given = Mask(4, 9, q_offset=5, left=2, right=0, batch=2)
    assert (
        given.shape == (2, 1, 4, 9)
        and given.size(-1) == 9
        and given.dim() == given.ndim == 4
        and given.dtype == torch.bool
    )
    for same in (
        given.to("cpu"),
        given.to(torch.bfloat16),
        given.contiguous(),
        given[:],
        given[:, :, :, :9],
        given[..., :20],
        given[:, :, :4],
    ):
        assert torch.equal(sees(same), sees(given))
    for index in (
        (..., slice(1, 5)),
        (slice(None), slice(None), slice(1, 3)),
        (..., slice(2, 4), slice(-3, None)),
    ):
        expected = torch.empty(2, 1, 4, 9)[index].shape
        assert given[index].shape == expected and torch.equal(
            sees(given[index]),
            sees(given)[
                (
                    index[-2:]
                    if index[0] is ... and len(index) > 2
                    else index[-1:]
                    if index[0] is not ...
                    else (slice(None), *index[1:])
                )
            ],
        )
    for copied in (copy.deepcopy(given), copy.copy(given)):
        assert torch.equal(sees(copied), sees(given))
    x = torch.zeros(4, 9)
    for use in (
        lambda: x + given,
        lambda: given + x,
        lambda: given & x,
        lambda: ~given,
        lambda: torch.where(given, x, x),
        lambda: given.masked_fill(x, 0),
        lambda: given == 0,
        lambda: given[:, 0],
        lambda: given[:1],
        lambda: given[:, :, ::2],
        lambda: 1.0 - given,
        lambda: bool(given),
        lambda: list(given),
        lambda: given.bool(),
        lambda: x.masked_fill(given, 0),
        lambda: torch.nn.functional.scaled_dot_product_attention(x, x, x, given),
    ):
        assert refused(use, ArgumentError).startswith(
            PLACE
            + "a model that leaves the mask to its attention, found one that computes with it: the"
            " mask is "
        )
    assert not hasattr(given, "anything else")


def compiled() -> None:
    """As one graph, with masks that are made in it or come from outside."""
    dash, _ = models(MistralForCausalLM, MistralConfig, **GROUPED, sliding_window=4)
    function = torch.compile(
        lambda tokens, **given: dash(tokens, use_cache=False, **given).logits,
        fullgraph=True,
        backend="aot_eager",
    )
    expected = dash(TOKENS, use_cache=False).logits
    assert torch.equal(function(TOKENS), expected)
    assert torch.equal(function(TOKENS, attention_mask=Mask(12, 12, left=3, right=0)), expected)
    assert torch.equal(function(TOKENS, attention_mask=torch.ones_like(TOKENS)), expected)
    padded = torch.ones_like(TOKENS)
    padded[0, 9:] = 0
    assert "attention_mask with padding" in refused(
        lambda: function(TOKENS, attention_mask=padded), RuntimeError
    )


static_caches()
lengths_on_the_device()
caches_behind_others()
windows_that_nobody_hands_on()
windows_to_both_sides()
contradictions()
what_is_handed_on()
meanings()
padding()
what_models_do_with_masks()
compiled()
