# RUN: %torch_python %s
# REQUIRES: torch, plain-libdash
"""attn_implementation="dash": a Llama trains as with PyTorch's attention, and what would mix
documents is refused."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

import torch  # noqa: E402
from fixtures import refused  # noqa: E402
from on_cpu import LAUNCHED  # noqa: E402
from transformers import (
    DataCollatorWithFlattening,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
)  # noqa: E402

import dash_attn.transformers  # noqa: E402, F401
from dash_attn import ArgumentError  # noqa: E402

SIZES = {
    "vocab_size": 64,
    "hidden_size": 128,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 64,
}
TOKENS = torch.arange(24).reshape(2, 12) * 5 % 64
OTHER = "choose another one"
CU = torch.tensor([0, 5, 12, 24], dtype=torch.int32)


def model(
    implementation: str, kind: Any = LlamaForCausalLM, config: Any = LlamaConfig, **options: Any
) -> Any:
    torch.manual_seed(5)
    return kind(config(**SIZES, attn_implementation=implementation, **options)).to(torch.bfloat16)


def gradients(made: Any, **options: Any) -> list[torch.Tensor]:
    made.train()
    made(TOKENS, labels=TOKENS, **options).loss.backward()
    return [parameter.grad.double() for parameter in made.parameters()]


def trains() -> None:
    LAUNCHED.clear()
    ours = gradients(model("dash"))
    assert [(by, window) for by, window, _ in LAUNCHED] == [("dash", (-1, 0))] * 2
    for one, other in zip(ours, gradients(model("sdpa")), strict=True):
        assert (one - other).norm() <= 0.05 * other.norm(), (one - other).norm() / other.norm()
    checkpointed = model("dash")
    checkpointed.gradient_checkpointing_enable()
    assert all(map(torch.equal, gradients(checkpointed), ours))
    # Masks that hide nothing, and positions as they are by themselves.
    assert all(
        map(torch.equal, gradients(model("dash"), attention_mask=torch.ones_like(TOKENS)), ours)
    )
    assert all(
        map(torch.equal, gradients(model("dash"), position_ids=torch.arange(12)[None]), ours)
    )


def windowed(implementation: str, size: int = 4) -> Any:
    return model(implementation, MistralForCausalLM, MistralConfig, sliding_window=size)


def windows() -> None:
    """Mistral's mask: a row sees its own column and those before it, as many as the window has;
    also with a cache, a row at a time."""
    for size, window in ((4, (3, 0)), (11, (10, 0)), (12, (-1, 0)), (100, (-1, 0))):
        LAUNCHED.clear()
        ours = gradients(windowed("dash", size))
        assert [found for _, found, _ in LAUNCHED] == [window] * 2, LAUNCHED
        for one, other in zip(ours, gradients(windowed("sdpa", size)), strict=True):
            assert (one - other).norm() <= 0.05 * other.norm(), (one - other).norm() / other.norm()
    with torch.no_grad():
        found = [
            windowed(name).eval().generate(TOKENS, max_new_tokens=4, do_sample=False)
            for name in ("dash", "sdpa")
        ]
    assert torch.equal(*found), found


def compiled() -> None:
    """As one graph; packed sequences end with an error when it runs."""
    made = model("dash").train()
    function = torch.compile(
        lambda positions: made(TOKENS, labels=TOKENS, position_ids=positions, use_cache=True).loss,
        fullgraph=True,
        backend="aot_eager",
    )
    assert torch.equal(function(torch.arange(12)[None]), made(TOKENS, labels=TOKENS).loss)
    assert "position_ids of packed sequences" in refused(
        lambda: function(torch.tensor([[*range(5), *range(7)]])), RuntimeError
    )


def generates() -> None:
    """With a cache, a row at a time, which sees all before it."""
    with torch.no_grad():
        found = [
            model(name).eval().generate(TOKENS, max_new_tokens=4, do_sample=False)
            for name in ("dash", "sdpa")
        ]
    assert torch.equal(*found), found


def packed_documents() -> None:
    """As the collator packs them: each as it is alone; checkpointed and compiled, too."""
    documents = [
        TOKENS.flatten()[begin:end].tolist()
        for begin, end in zip(CU[:-1].tolist(), CU[1:].tolist())
    ]
    collate = DataCollatorWithFlattening(return_flash_attn_kwargs=True)
    given = collate([{"input_ids": one} for one in documents]) | {"use_cache": False}
    labels = given.pop("labels")
    for make, window in ((model, (-1, 0)), (windowed, (3, 0))):
        LAUNCHED.clear()
        made = make("dash").train()
        logits = made(**given).logits[0]
        made(**given, labels=labels).loss.backward()
        assert LAUNCHED and all(
            (by, found) == ("dash, packed", window) for by, found, _ in LAUNCHED
        ), LAUNCHED
        ours = [parameter.grad.clone() for parameter in made.parameters()]
        other = make("sdpa").train()
        alone = torch.cat([other(torch.tensor([one])).logits[0] for one in documents])
        assert (logits - alone).norm() <= 0.02 * alone.norm(), (
            logits - alone
        ).norm() / alone.norm()
        other(
            **{name: given[name] for name in ("input_ids", "position_ids", "use_cache")},
            labels=labels,
        ).loss.backward()
        for one, parameter in zip(ours, other.parameters(), strict=True):
            assert (one - parameter.grad).norm() <= 0.05 * parameter.grad.norm()
        made.zero_grad()
        made.gradient_checkpointing_enable()
        made(**given, labels=labels).loss.backward()
        assert all(
            torch.equal(one, parameter.grad) for one, parameter in zip(ours, made.parameters())
        )
    made = model("dash").eval()
    function = torch.compile(
        lambda **given: made(**given).logits, fullgraph=True, backend="aot_eager"
    )
    assert torch.equal(function(**given), made(**given).logits)


def refusals() -> None:
    padded = torch.ones_like(TOKENS)
    padded[0, 9:] = 0
    place = "attn_implementation='dash': expected "
    for made, options, message in (
        (
            model("dash"),
            {"attention_mask": padded},
            (
                "sequences of one length, found an attention_mask that hides 3 tokens as padding; "
                f"leave padding out, or {OTHER}"
            ),
        ),
        (
            model("dash"),
            {"attention_mask": torch.ones(2, 1, 12, 12).bool()},
            (
                "a mask of transformers' own functions, found one that was "
                f"made in another way, a tensor of shape (2, 1, 12, 12); {OTHER}"
            ),
        ),
        (model("dash", attention_dropout=0.25), {}, f"dropout to be 0.0, found 0.25; {OTHER}"),
    ):
        LAUNCHED.clear()
        found = refused(
            lambda made=made, options=options: made.train()(TOKENS, **options), ArgumentError
        )
        assert found == place + message, found
        assert not LAUNCHED


trains()
windows()
compiled()
generates()
packed_documents()
refusals()
