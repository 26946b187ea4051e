"""Trains a small Llama of random weights twice with each attention, and compares all weights bit by bit.

    python3 train_twice.py               needs an H100 or H200, PyTorch and transformers; takes less than a minute
"""

from __future__ import annotations

import argparse
import sys
import time

import torch
from transformers import LlamaConfig, LlamaForCausalLM

import dash_attn.transformers  # noqa: F401  (the first line to add)


def train(attention: str, steps: int, device: str, rows: int, width: int) -> tuple[list[torch.Tensor], float]:
    """All weights, and the last loss."""
    torch.manual_seed(0)
    config = LlamaConfig(vocab_size=8192, hidden_size=width, intermediate_size=2 * width, num_hidden_layers=4, head_dim=128,
                         num_attention_heads=width // 128, num_key_value_heads=max(1, width // 512), use_cache=False,
                         attn_implementation=attention)  # the second: "dash"
    model = LlamaForCausalLM(config).to(device, torch.bfloat16).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    for _ in range(steps):
        tokens = torch.randint(config.vocab_size, (4, rows), device=device)
        loss = model(tokens, labels=tokens).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return [parameter.detach() for parameter in model.parameters()], float(loss)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--rows", type=int, default=2048, help="tokens of a sequence")
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--device", default="cuda")
    arguments = parser.parse_args()
    differing = {}
    for attention in ("sdpa", "dash"):
        begun = time.perf_counter()
        (first, loss), (second, _) = (train(attention, arguments.steps, arguments.device, arguments.rows, arguments.width)
                                      for _ in range(2))
        differing[attention] = sum(int((one != other).sum()) for one, other in zip(first, second))
        print(f"{attention}: loss {loss:.4f}; {differing[attention]} of {sum(one.numel() for one in first)} weights differ between two "
              f"runs of {arguments.steps} steps, {time.perf_counter() - begun:.0f} s", flush=True)
    return 1 if differing["dash"] else 0


if __name__ == "__main__":
    sys.exit(main())
