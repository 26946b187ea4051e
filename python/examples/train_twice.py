"""Trains a small Llama of random weights twice with each attention, and compares all weights bit
by bit after each step.

    python3 train_twice.py                  takes less than a minute on an H100 or H200
    python3 train_twice.py --svg FILE       also draws how many weights differ after each step

The status is 0 where the weights of both runs with dash are equal, 1 where they are not, 2 where
this machine cannot run it.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import torch
from transformers import LlamaConfig, LlamaForCausalLM

import dash_attn
import dash_attn.transformers  # noqa: F401  (the first line to add)
from dash_attn import audit
from dash_attn.measure.svg import Picture

STYLE = """
polyline.dash { fill: none; stroke: #0969da; stroke-width: 3 }
polyline.sdpa { fill: none; stroke: #818b98; stroke-width: 2 }
"""


def train(
    attention: str, sizes: argparse.Namespace
) -> tuple[list[list[torch.Tensor]], audit.Run, float]:
    """All weights after each step, what the audit recorded of the first, and the last loss."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=8192,
        hidden_size=sizes.width,
        intermediate_size=2 * sizes.width,
        num_hidden_layers=4,
        head_dim=128,
        num_attention_heads=sizes.width // 128,
        num_key_value_heads=max(1, sizes.width // 512),
        use_cache=False,
        attn_implementation=attention,
    )  # the second: "dash"
    model = LlamaForCausalLM(config).to(sizes.device, torch.bfloat16).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)

    def step() -> torch.Tensor:
        tokens = torch.randint(config.vocab_size, (2, sizes.rows), device=sizes.device)
        loss = model(tokens, labels=tokens).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        weights.append([parameter.detach().clone() for parameter in model.parameters()])
        return loss.detach()

    weights: list[list[torch.Tensor]] = []
    with audit.record(model) as recorded:
        loss = step()
    for _ in range(sizes.steps - 1):
        loss = step()
    return weights, recorded, float(loss)


def refusal(device: str) -> str | None:
    """Why this machine cannot train with dash; None if it can."""
    if torch.device(device).type == "cuda" and not torch.cuda.is_available():
        return "expected an H100 or H200, found no GPU that PyTorch can use"
    q = torch.zeros(1, 1, 128, 128, dtype=torch.bfloat16, device=device)
    return dash_attn.explain(q, q, q, causal=True).refusal or None


def draw(shares: dict[str, list[float]]) -> str:
    """How many of the weights differ, in percent, over the steps."""
    picture = Picture(560, 260, "Weights that differ between two runs of the same training", STYLE)
    picture.text(8, 22, "Weights that differ between two runs of the same training", "title")
    left, right, top, bottom = 56, 500, 44, 216
    most = max(1.0, *(share for line in shares.values() for share in line))
    for i in range(5):
        y = bottom - (bottom - top) * i / 4
        picture.path([(left, y), (right, y)], "grid" if i else "axis")
        picture.text(left - 6, y + 4, f"{most * i / 4:.1f} %", "mute end")
    for name, line in shares.items():
        places = [
            (left + (right - left) * (i + 1) / len(line), bottom - (bottom - top) * share / most)
            for i, share in enumerate(line)
        ]
        picture.path([(left, bottom), *places], name)
        picture.text(right + 6, places[-1][1] + 4, name)
    picture.text((left + right) / 2, bottom + 32, f"{len(line)} steps", "mute middle")
    return picture.finish()


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--rows", type=int, default=4096, help="tokens of a sequence")
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--svg", type=Path)
    arguments = parser.parse_args(argv)
    reason = refusal(arguments.device)
    if reason is not None:
        print(
            f"error: {reason}; 'python3 -m dash_attn.doctor' says what this machine can run, and"
            " what is missing",
            file=sys.stderr,
        )
        return 2
    shares: dict[str, list[float]] = {}
    for attention in ("sdpa", "dash"):
        begun = time.perf_counter()
        (first, recorded, loss), (second, again, _) = (
            train(attention, arguments) for _ in range(2)
        )
        total = sum(one.numel() for one in first[0])
        differing = [count(one, other) for one, other in zip(first, second, strict=True)]
        shares[attention] = [100 * number / total for number in differing]
        print(
            f"{attention}: loss {loss:.4f}; {differing[-1]} of {total} weights differ between two"
            f" runs of {arguments.steps} steps, {time.perf_counter() - begun:.0f} s"
        )
        print(
            "      the audit of the first step:"
            f" {audit.compare(recorded, again) or 'both runs are equal'}",
            flush=True,
        )
        del first, second
    if arguments.svg:
        arguments.svg.write_text(draw(shares), encoding="utf-8")
    return 1 if shares["dash"][-1] else 0


def count(one: list[torch.Tensor], other: list[torch.Tensor]) -> Any:
    """Weights that differ."""
    return sum(int((x != y).sum()) for x, y in zip(one, other, strict=True))


if __name__ == "__main__":
    sys.exit(main())
