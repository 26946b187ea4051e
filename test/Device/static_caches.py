#!/usr/bin/env python3
"""static_caches.py [--json FILE]: models of transformers that generate with a StaticCache, whose
length only the device knows, on this GPU.

Each generates from prompts of a batch of 1 and of 3: the prompt at once, then a token at a time.
All are given the tokens that "eager" in float32 finds, so each step's logits are beside its own.
They are at most BESIDE times as far off as those of PyTorch's own attention. That one, and dash,
are given q, k and v that are rounded to bfloat16.

    dash      attn_implementation="dash": every call is served, and two runs have equal bits
    enable()  "sdpa" under dash_attn.enable(), twice alike: what it serves, and what it leaves
    compiled  dash, and decoding as transformers compiles it for static caches, twice alike; or
              the message that refuses it

Models are small and of random weights, with heads of real ones: Llama (128, groups of 4), Mistral
(64, a window), Gemma 2 (256, windows, a softcap) and DeepSeek-V3 (192 and 128). Without a GPU
kernels are computed on the CPU. `--only` takes some parts.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parents[1] / "python")]

import compare_models  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
import transformers_wide as wide  # noqa: E402
from by_parts import add_only, finish, run_parts  # noqa: E402
from small_models import spread  # noqa: E402
from transformers import LogitsProcessor, LogitsProcessorList  # noqa: E402

import dash_attn  # noqa: E402
from dash_attn import ArgumentError  # noqa: E402

BESIDE = wide.BESIDE
BATCHES, NEW = (1, 3), 12  # sequences, and tokens of each
MODELS = {
    "llama": wide.Model(
        "Llama", (128, 128), {"head_dim": 128, "num_attention_heads": 8, "num_key_value_heads": 2}
    ),
    "mistral": wide.Model("Mistral", (64, 64), {"head_dim": 64, "sliding_window": 16}),
    "gemma-2": wide.MODELS["gemma-2"],
    "deepseek-v3": wide.MODELS["deepseek-v3"],
}


class Forced(LogitsProcessor):
    """The next token is that of these, [batch, tokens] behind a prompt."""

    def __init__(self, wanted: torch.Tensor, prompt: int) -> None:
        self.wanted, self.prompt = wanted, prompt

    def __call__(self, ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        forced = torch.full_like(scores, float("-inf"))
        return forced.scatter(1, self.wanted[:, ids.shape[1] - self.prompt, None], 0.0)


class Case:
    """A model, and prompts of so many tokens. Runs are made in the order in which they are asked
    for, eager's first."""

    def __init__(self, name: str, batch: int, rows: int, device: str) -> None:
        self.name, self.model, self.rows = f"{name}, batch {batch}", MODELS[name], rows
        self.device = device
        draw = torch.Generator().manual_seed(batch)
        self.prompts = torch.randint(1, wide.VOCABULARY, (batch, rows), generator=draw).to(device)
        self.peer = compare_models.peer_of(self.model.config(rows, "eager"))
        self.wanted: torch.Tensor | None = None
        self.exact = self.logits("eager")
        self.of_peer = self.error(self.logits(self.peer))

    def logits(self, attention: str, is_compiled: bool = False) -> torch.Tensor:
        """Each step's, [tokens, batch, words]."""
        model = self.model.build(self.rows, attention)
        spread(model)
        model = model.to(self.device).eval()
        forced = (
            LogitsProcessorList()
            if self.wanted is None
            else LogitsProcessorList([Forced(self.wanted, self.rows)])
        )
        found = model.generate(
            self.prompts,
            attention_mask=torch.ones_like(self.prompts),
            max_new_tokens=NEW,
            min_new_tokens=NEW,
            do_sample=False,
            use_cache=True,
            cache_implementation="static",
            disable_compile=not is_compiled,
            return_dict_in_generate=True,
            output_logits=True,
            logits_processor=forced,
        )
        if self.wanted is None:
            self.wanted = found.sequences[:, self.rows :]
        return torch.stack(found.logits)

    def error(self, found: torch.Tensor) -> list[float]:
        """How far off the prompt's last logits are, and the worst step behind it."""
        apart = (found.double() - self.exact.double()).flatten(1).norm(dim=1)
        norms = self.exact.double().flatten(1).norm(dim=1)
        return [float(apart[0] / norms[0]), float((apart[1:] / norms[1:]).max())]

    def wrong(self, found: torch.Tensor, again: torch.Tensor) -> list[str]:
        """What is wrong with the logits of two runs."""
        bad = ["two runs differ"] * (not torch.equal(found, again))
        for what, ours, theirs in zip(("prompt", "tokens"), self.error(found), self.of_peer):
            if not ours <= BESIDE * theirs:
                bad.append(f"{what}: {ours:.2e}, expected at most {BESIDE} times {theirs:.2e}")
        return bad


def twice(case: Case, run: Callable[[], torch.Tensor]) -> dict[str, Any]:
    found, again = run(), run()
    return {"error": case.error(found), "peer": case.of_peer, "wrong": case.wrong(found, again)}


def by_dash(case: Case) -> dict[str, Any]:
    for counter in (wide.served, wide.refused, wide.computed):
        counter.clear()
    found = twice(case, lambda: case.logits("dash"))
    layers = case.model.config(case.rows, "dash").num_hidden_layers
    calls = sum(wide.served.values())
    if calls != 2 * NEW * layers or wide.refused:
        found["wrong"].append(f"expected {2 * NEW * layers} calls to be served, found {calls}")
    return found | {"calls": calls}


def by_enabled(case: Case) -> dict[str, Any]:
    with dash_attn.enable() as enabled:
        before = enabled.served.copy(), enabled.left.copy()
        found = twice(case, lambda: case.logits(case.peer))
        served, left = enabled.served - before[0], enabled.left - before[1]
    return found | {"served": dict(served), "left": [[*each, left[each]] for each in left]}


def by_compiled(case: Case) -> dict[str, Any]:
    """What transformers compiles is dash's attention and all around it, which rounds otherwise."""
    torch._dynamo.reset()
    try:
        return twice(case, lambda: case.logits("dash", is_compiled=True))
    except Exception as error:
        reasons: list[str] = []
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, ArgumentError):
                return {"refused": str(cause), "wrong": []}
            reasons.append(f"{type(cause).__name__}: {cause}".split("\n")[0][:200])
            cause = cause.__cause__ or cause.__context__
        return {"wrong": reasons[:1]}


WAYS = {"dash": by_dash, "enable()": by_enabled, "compiled": by_compiled}


def check(way: str, name: str, batch: int, rows: int, device: str) -> dict[str, Any]:
    case = Case(name, batch, rows, device)
    found = {"case": f"{case.name}, {way}"} | WAYS[way](case)
    print(found, flush=True)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=300, help="tokens of a prompt")
    parser.add_argument("--json", type=Path)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    ways = [way for way in WAYS if way == "dash" or device == "cuda"]
    parts = {
        way: [
            lambda way=way, name=name, batch=batch: check(way, name, batch, arguments.rows, device)
            for name in MODELS
            for batch in BATCHES
        ]
        for way in ways
    }
    add_only(parser, parts)
    arguments = parser.parse_args()
    transformers.logging.set_verbosity_error()
    if device == "cpu":
        compare_models.on_cpu(with_float32=False)
    found = run_parts(parser, arguments.only, parts)
    cases = [one for some in found.values() for one in some]
    wrong = [f"{one['case']}: {said}" for one in cases for said in one["wrong"]]
    more = {"transformers": transformers.__version__, "rows": arguments.rows}
    return finish(arguments.json, wrong, **more, beside=BESIDE, cases=cases)


if __name__ == "__main__":
    sys.exit(main())
