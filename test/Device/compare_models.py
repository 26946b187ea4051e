"""Models of transformers with attn_implementation="dash" beside "eager": each case is served and
equal, or refused, never different.

    python3 compare_models.py [--json FILE] [--kind KIND]… [--bfloat16] [--part NUMBER/PARTS]
    [TYPE…]

Models are of float32, and so is eager attention. Without a GPU kernels are computed on the CPU
(test/python/lib/on_cpu.py), in float32, too. On a GPU they take bfloat16, so q, k and v are rounded
on their way into dash, and results are as far off as that rounding makes them: at most twice as far
as those of PyTorch's own attention ("sdpa") with q, k and v rounded in the same way, where both are
far off.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import small_models
import torch
import transformers
from small_models import KINDS, MOST_TOKEN, NotBuilt, accepts
from transformers import AttentionInterface, DynamicCache, StaticCache
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import AttentionMaskInterface, eager_mask, sdpa_mask

import dash_attn.transformers
from dash_attn import ArgumentError

ROWS, DOCUMENTS = 24, (5, 7, 12)
# How far results and gradients may be off, relative to the norm of eager's. In float32 1e-5 is the
# most that was found. bfloat16 has 8 bits: q, k, v, o and their gradients are each off by up to
# 2^-9, and some layers with their softmax make a few percent of it, or more where weights have
# small gradients: then PyTorch's own attention of rounded tensors says how much. A wrong mask makes
# tens of percent.
EQUAL = {torch.float32: 2e-4, torch.bfloat16: 0.06}
BESIDE_PEER, PEER, PLAIN = 2, "rounded", "rounded eager"
SERVED, REFUSED, ABSENT, DIFFERENT, FAILED = "served", "refused", "absent", "different", "failed"
NO_ATTENTION = "its attention is its own: it asks for no attn_implementation"
Outcome = tuple[str, str]  # one of these five, and why

elements = torch.bfloat16  # what kernels are given
calls: list[str] = []  # the modules whose attention was asked for


def attend(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: Any,
    **options: Any,
) -> Any:
    """dash's, of rounded tensors."""
    if not torch.compiler.is_compiling():  # a list that grows would compile each call anew
        calls.append(type(module).__name__)
    given = (x.to(elements) for x in (query, key, value))
    found, weights = dash_attn.transformers.attend(module, *given, attention_mask, **options)
    return found.to(query.dtype), weights


def peer(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: Any,
    **options: Any,
) -> Any:
    """PyTorch's, of rounded tensors."""
    calls.append(type(module).__name__)
    mask = (
        attention_mask.to(elements)
        if torch.is_tensor(attention_mask) and attention_mask.is_floating_point()
        else attention_mask
    )
    found, weights = sdpa_attention_forward(
        module, *(x.to(elements) for x in (query, key, value)), mask, **options
    )
    return found.to(query.dtype), weights


def plain(module: Any, *given: Any, **options: Any) -> Any:
    """The model's own matrix products and softmax, of rounded tensors and a rounded mask: PyTorch
    has no other attention with a softcap."""
    calls.append(type(module).__name__)
    function = sys.modules[type(module).__module__].eager_attention_forward
    rounded = (None if one is None else one.to(elements) for one in given)
    found, weights = function(module, *rounded, **options)
    return found.to(given[0].dtype), weights


AttentionInterface.register("dash", attend)
AttentionInterface.register(PEER, peer)
AttentionInterface.register(PLAIN, plain)
AttentionMaskInterface.register(PEER, sdpa_mask)
AttentionMaskInterface.register(PLAIN, eager_mask)


def peer_of(config: Any) -> str:
    """PyTorch's attention for a model of this configuration."""
    text = config.get_text_config(decoder=True)
    return PLAIN if getattr(text, "attn_logit_softcapping", None) is not None else PEER


def tokens(batch: int, rows: int, device: str, seed: int = 1) -> torch.Tensor:
    return torch.randint(
        3, MOST_TOKEN, (batch, rows), generator=torch.Generator().manual_seed(seed)
    ).to(device)


def result(output: Any) -> torch.Tensor:
    for name in ("logits", "prediction_logits", "last_hidden_state"):
        if torch.is_tensor(found := getattr(output, name, None)):
            return found
    return next(one for one in output.values() if torch.is_tensor(one) and one.is_floating_point())


def gradients(model: Any, **given: Any) -> list[torch.Tensor]:
    """The result and the gradient of each weight, all of one norm."""
    model.zero_grad()
    found = result(model(**given))
    draw = torch.Generator().manual_seed(9)
    (found * torch.randn(found.shape, generator=draw).to(found)).sum().backward()
    return [found.detach()] + [
        parameter.grad for parameter in model.parameters() if parameter.grad is not None
    ]


@torch.no_grad()
def forward(model: Any, **given: Any) -> list[torch.Tensor]:
    return [result(model(**given))]


def distance(found: list[torch.Tensor], expected: list[torch.Tensor]) -> float:
    """The largest of all, each relative to its own norm, or to a thousandth of the largest
    gradient's where it is nearly 0."""
    if len(found) != len(expected) or any(
        one.shape != other.shape for one, other in zip(found, expected)
    ):
        return float("inf")
    # Gradients that are nearly 0, as of a bias of keys, are the noise of rounding: all are one
    # vector.
    if elements is not torch.float32 and len(found) > 1:
        found, expected = (
            [one[0], torch.cat([x.flatten() for x in one[1:]])] for one in (found, expected)
        )
    norms = [one.double().norm() for one in expected]
    least = 1e-3 * max(norms[1:], default=0)
    each = [
        (one.double() - other.double()).norm() / max(norm, least, 1e-30)
        for one, other, norm in zip(found, expected, norms)
    ]
    return float(max(torch.stack(each).nan_to_num(nan=torch.inf)))


def outcome(
    dash: Callable[[], Any], *eager: Callable[[], Any], runs: Callable[[], Any] | None = None
) -> Outcome:
    """eager: what it may be equal to; what cannot be computed is no case, nor what eager cannot,
    given the same: runs."""
    expected = []
    if runs:
        try:
            runs()
        except Exception as error:
            return ABSENT, f"eager: {type(error).__name__}: {error}".split("\n")[0][:160]
    for one in eager:
        try:
            expected.append(one())
        except Exception as error:
            reason = f"{type(error).__name__}: {error}".split("\n")[0][:160]
    if not expected:
        return ABSENT, f"eager: {reason}"
    calls.clear()
    try:
        found = dash()
    except Exception as error:
        if isinstance(error, ArgumentError):
            return REFUSED, str(error)
        return FAILED, f"{type(error).__name__}: {error}".split("\n")[0][:300]
    if not calls:
        return ABSENT, NO_ATTENTION
    apart = [distance(found, one) for one in expected]
    return (SERVED if min(apart) <= EQUAL[elements] else DIFFERENT), f"{min(apart):.1e}"


# ---- Cases ---------------------------------------------------------------------------------------


def cases(kind: str, eager: Any, dash: Any, device: str) -> Iterator[tuple[str, Outcome]]:
    if kind == "image":
        pixels = torch.randn(
            2, 3, small_models.IMAGE, small_models.IMAGE, generator=torch.Generator().manual_seed(2)
        ).to(device)
        yield (
            "plain",
            outcome(
                lambda: gradients(dash, pixel_values=pixels),
                lambda: gradients(eager, pixel_values=pixels),
            ),
        )
        return
    given = {"input_ids": tokens(2, ROWS, device)}
    if small_models.names(eager, "decoder_input_ids"):
        given["decoder_input_ids"] = tokens(2, 10, device, seed=2)
    no_cache = {"use_cache": False} if accepts(eager, "use_cache") else {}
    both = (dash, eager)
    yield (
        "plain",
        outcome(*(lambda model=model: gradients(model, **given, **no_cache) for model in both)),
    )
    ones = {"attention_mask": torch.ones_like(given["input_ids"])}
    yield (
        "mask of ones",
        outcome(
            *(lambda model=model: forward(model, **given, **ones, **no_cache) for model in both)
        ),
    )
    padding = {
        "attention_mask": torch.tensor([[1] * ROWS, [1] * (ROWS - 3) + [0] * 3], device=device)
    }
    yield (
        "padding",
        outcome(
            *(lambda model=model: forward(model, **given, **padding, **no_cache) for model in both)
        ),
    )
    if kind != "seq2seq":
        yield from packed(kind, eager, dash, device, no_cache)
    if kind in ("causal", "image and text"):
        yield from cached(eager, dash, device)
    elif kind == "seq2seq":
        yield "cache", outcome(*(lambda model=model: decode_after(model, given) for model in both))


@torch.no_grad()
def decode_after(model: Any, given: dict[str, Any]) -> list[torch.Tensor]:
    """For an encoder and a decoder: some rows, and another one."""
    model = model.eval()
    first = model(**given, use_cache=True)
    states = (
        {"encoder_outputs": first.encoder_last_hidden_state[None]}
        if hasattr(first, "encoder_last_hidden_state")
        else {"input_ids": given["input_ids"]}
    )
    then = model(
        **states,
        decoder_input_ids=given["decoder_input_ids"][:, :1],
        past_key_values=first.past_key_values,
        use_cache=True,
    )
    model.train()
    return [result(first), result(then)]


def packed(
    kind: str, eager: Any, dash: Any, device: str, no_cache: dict[str, Any]
) -> Iterator[tuple[str, Outcome]]:
    if not accepts(eager, "position_ids"):
        return
    row = tokens(1, ROWS, device, seed=3)
    positions = torch.cat([torch.arange(length) for length in DOCUMENTS])[None].to(device)
    offsets = torch.tensor([0, *DOCUMENTS]).cumsum(0).int().to(device)
    lengths = {
        "cu_seq_lens_q": offsets,
        "cu_seq_lens_k": offsets,
        "max_length_q": max(DOCUMENTS),
        "max_length_k": max(DOCUMENTS),
    }
    given = {"input_ids": row, "position_ids": positions}

    def alone() -> list[torch.Tensor]:
        ends = offsets.tolist()
        return [
            torch.cat(
                [
                    forward(
                        eager,
                        input_ids=row[:, begin:end],
                        position_ids=positions[:, begin:end],
                        **no_cache,
                    )[0]
                    for begin, end in zip(ends, ends[1:])
                ],
                dim=1,
            )
        ]

    # Models that are not of attention alone carry states from one document to the next, as with
    # eager: equal to it is equal, too.
    yield (
        "packed",
        outcome(
            lambda: gradients(dash, **given, **no_cache),
            lambda: gradients(eager, **given, **no_cache),
        ),
    )
    if kind == "masked":
        return
    if accepts(eager, "cu_seq_lens_q"):
        yield (
            "packed, offsets",
            outcome(
                lambda: forward(dash, **given, **no_cache, **lengths),
                alone,
                lambda: forward(eager, **given, **no_cache, **lengths),
                runs=lambda: forward(eager, **given, **no_cache, **lengths),
            ),
        )
    yield (
        "packed, cache",
        outcome(lambda: forward(dash, **given), alone, runs=lambda: forward(eager, **given)),
    )
    yield (
        "packed, mask of ones",
        outcome(
            lambda: forward(dash, **given, **no_cache, attention_mask=torch.ones_like(row)), alone
        ),
    )
    if "mrope" in str(eager.config.to_dict()):
        three = {"input_ids": row, "position_ids": positions.expand(3, 1, -1)}
        yield (
            "packed, 3 rows",
            outcome(
                lambda: forward(dash, **three, **no_cache),
                alone,
                runs=lambda: forward(eager, **three, **no_cache),
            ),
        )
        text = {"position_ids": torch.arange(ROWS, device=device).expand(3, 1, -1)}
        yield (
            "3 rows",
            outcome(
                *(
                    lambda model=model: forward(model, input_ids=row, **text, **no_cache)
                    for model in (dash, eager)
                )
            ),
        )


def cached(eager: Any, dash: Any, device: str) -> Iterator[tuple[str, Outcome]]:
    text, both = tokens(2, ROWS, device, seed=4), (dash, eager)
    dynamic = lambda model: DynamicCache(config=model.config.get_text_config(decoder=True))  # noqa: E731
    static = lambda model: StaticCache(
        config=model.config.get_text_config(decoder=True), max_cache_len=ROWS + 8
    )  # noqa: E731
    for name, make, pieces in (
        ("cache", dynamic, (12, 1, 1)),
        ("cache, from 1", dynamic, (1, 1, 1)),
        ("cache, pieces", dynamic, (6, 4, 5)),
        ("static, 1", static, (1,)),
        ("static, 12", static, (12,)),
        ("static, decoding", static, (12, 1, 1)),
    ):
        yield (
            name,
            outcome(
                *(
                    lambda model=model, make=make, pieces=pieces: steps(
                        model, text, make(model), pieces
                    )
                    for model in both
                )
            ),
        )


@torch.no_grad()
def steps(
    model: Any, text: torch.Tensor, cache: Any, pieces: tuple[int, ...]
) -> list[torch.Tensor]:
    """So many rows of the text at a time, each after what is in the cache."""
    model.eval()
    found, at = [], 0
    try:
        for rows in pieces:
            found.append(
                result(
                    model(input_ids=text[:, at : at + rows], past_key_values=cache, use_cache=True)
                )
            )
            at += rows
    finally:
        model.train()
    return found


# ---- Tables --------------------------------------------------------------------------------------


def compare(kind: str, model_type: str, device: str) -> dict[str, Any]:
    """One model in all cases: {"kind", "type", "seconds", "cases": {name: outcome}} or {"kind",
    "type", "absent": why}."""
    row: dict[str, Any] = {"kind": kind, "type": model_type}
    begun = time.monotonic()
    try:
        eager, dash = small_models.build(kind, model_type, device)
    except NotBuilt as reason:
        return row | {"absent": str(reason)}
    except Exception as error:
        return row | {"absent": f"transformers: {error!r}"[:200]}
    found = dict(cases(kind, eager, dash, device))
    if elements != torch.float32 and any(state == DIFFERENT for state, _ in found.values()):
        by = peer_of(eager.config)
        beside = dict(cases(kind, *small_models.build(kind, model_type, device, by), device))
        found = {name: beside_peer(one, beside[name]) for name, one in found.items()}
    return row | {"cases": found, "seconds": round(time.monotonic() - begun, 2)}


def beside_peer(found: Outcome, of_peer: Outcome) -> Outcome:
    """Served, if PyTorch's attention of rounded tensors is as far off from eager's."""
    if found[0] != DIFFERENT or of_peer[0] not in (SERVED, DIFFERENT):
        return found
    state = SERVED if float(found[1]) <= BESIDE_PEER * float(of_peer[1]) else DIFFERENT
    return state, f"{found[1]}, {PEER} {of_peer[1]}"


def faults(rows: list[dict[str, Any]]) -> list[str]:
    """What is neither served and equal nor refused."""
    return [
        f"{row['type']} ({row['kind']}), {name}: {state}: {why}"
        for row in rows
        for name, (state, why) in row.get("cases", {}).items()
        if state in (DIFFERENT, FAILED)
    ]


def on_cpu(with_float32: bool = True) -> None:
    """Has kernels and forward passes computed on the CPU."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python/lib"))
    import on_cpu  # noqa: F401

    from dash_attn.kernel import problem

    if with_float32:
        global elements
        elements = torch.float32
        problem.ELEMENTS["float32"] = "bf16"  # libdash is asked about what kernels have


def selected(kinds: list[str] | None, types: list[str], part: str) -> list[tuple[str, str]]:
    """Kinds and types; part: such as 2/4."""
    found = [
        (kind, one)
        for kind in kinds or KINDS
        for one in small_models.types_of(kind)
        if not types or one in types
    ]
    number, parts = map(int, part.split("/"))
    return found[number - 1 :: parts]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "types", nargs="*", metavar="TYPE", help="as transformers names them; all, if none is named"
    )
    parser.add_argument(
        "--kind", action="append", choices=KINDS, help="of models; all, if none is named"
    )
    parser.add_argument("--bfloat16", action="store_true", help="round on the CPU as on a GPU")
    parser.add_argument(
        "--part",
        default="1/1",
        metavar="NUMBER/PARTS",
        help="of all models only one of so many parts",
    )
    parser.add_argument(
        "--json", type=Path, help="write the rows there, for tools/scripts/record_models.py"
    )
    arguments = parser.parse_args()
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cpu":
        on_cpu(not arguments.bfloat16)
    rows = []
    for one in selected(arguments.kind, arguments.types, arguments.part):
        rows.append(compare(*one, device))
        print(json.dumps(rows[-1]), flush=True)
    if arguments.json:
        arguments.json.write_text(
            json.dumps(
                {
                    "transformers": transformers.__version__,
                    "torch": torch.__version__,
                    "device": device,
                    "rows": rows,
                }
            )
        )
    sys.exit("\n".join(faults(rows)) or None)


if __name__ == "__main__":
    main()
