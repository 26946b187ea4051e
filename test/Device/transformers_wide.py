#!/usr/bin/env python3
"""transformers_wide.py [MODEL…] [--json FILE] [--steps N] [--rows N]: models of transformers whose
heads have neither 64 nor 128 columns, trained by two lines: attn_implementation="dash" behind
`import dash_attn.transformers`. And by dash_attn.enable(), which serves what it can of "sdpa".

Models are small and of random weights, with the head dims, masks, norms and softcaps of the real
ones: DeepSeek-V3 (q and k 192, v 128), Gemma 3 (256, with windows and norms of q and k), Phi-3 (96)
and Gemma 2 (256, with windows and a softcap of 50). DeepSeek's layers have no experts here, whose
sums are no matter of attention.

    gradients  of a model of float32 whose q, k and v are rounded to bfloat16 on their way into
               attention, beside "eager" in float32: at most BESIDE times as far off as PyTorch's
               own attention of the same tensors. That is "sdpa", or "eager" with a softcap.
    training   of a model of bfloat16, twice: all weights are equal after each step. Beside it
               "sdpa" with dash_attn.enable(), whose weights are equal too where nothing is left to
               cuDNN, and "sdpa" without, which nothing fails by.

It says which calls dash served, by what, and how many it refused, and why. Without a GPU kernels
are computed on the CPU (test/python/lib/on_cpu.py), which takes `--rows 40`. It needs PyTorch,
transformers and dash_attn.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parents[1] / "python")]

import compare_models  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
from small_models import spread  # noqa: E402
from transformers import AttentionInterface  # noqa: E402

import dash_attn  # noqa: E402
from dash_attn import ArgumentError  # noqa: E402
from dash_attn.support.records import write_record  # noqa: E402
from dash_attn.torch.aten_backward import DETERMINISTIC, OPERATORS  # noqa: E402
from dash_attn.transformers import attention as layer  # noqa: E402

# How much farther off than PyTorch's own attention the logits and the gradients of each kind of
# weight may be. Both round alike, so it is near 1; kinds of few numbers, as of norms, vary.
BESIDE = 1.5
BATCH, VOCABULARY, LEARNING_RATE = 2, 512, 3e-4
ENABLED = "sdpa, enable()"


class Model(NamedTuple):
    """kind: of transformers, without what its classes end with; head_dims: of q and k, and of v."""

    kind: str
    head_dims: tuple[int, int]
    options: dict[str, Any]
    has_windows: bool = False

    def config(self, rows: int, attention: str) -> Any:
        kind = getattr(transformers, f"{self.kind}Config", None)
        kind = getattr(transformers, f"{self.kind}TextConfig", kind)
        options = {"hidden_size": 512, "num_attention_heads": 4, "num_key_value_heads": 2}
        options |= {"vocab_size": VOCABULARY, "intermediate_size": 1024, "num_hidden_layers": 2}
        options |= dict.fromkeys(("pad_token_id", "bos_token_id", "eos_token_id"), 0)
        if self.has_windows:
            options |= {
                "sliding_window": rows // 4,
                "layer_types": ["sliding_attention", "full_attention"],
            }
        options |= self.options
        return kind(**options, use_cache=False, attn_implementation=attention)

    def build(self, rows: int, attention: str) -> Any:
        """The same weights each time, as a training begins with."""
        torch.manual_seed(3)
        return getattr(transformers, f"{self.kind}ForCausalLM")(self.config(rows, attention))


MODELS = {
    "deepseek-v3": Model(
        "DeepseekV3",
        (192, 128),
        {
            "num_key_value_heads": 4,
            "q_lora_rank": 256,
            "kv_lora_rank": 128,
            "qk_nope_head_dim": 128,
            "qk_rope_head_dim": 64,
            "v_head_dim": 128,
            "first_k_dense_replace": 2,
        },
    ),
    "gemma-3": Model("Gemma3", (256, 256), {"head_dim": 256}, has_windows=True),
    "phi-3": Model("Phi3", (96, 96), {"hidden_size": 384, "num_key_value_heads": 4}),
    # A scale of 1, not 1/16: scores are so large that the softcap counts.
    "gemma-2": Model(
        "Gemma2",
        (256, 256),
        {"head_dim": 256, "query_pre_attn_scalar": 1, "attn_logit_softcapping": 50.0},
        has_windows=True,
    ),
}


# ---- Attention -----------------------------------------------------------------------------------

served: Counter[str] = Counter()  # calls
refused: Counter[str] = Counter()  # reasons
computed: dict[str, str] = {}  # by what each call is computed


def attend(*given: Any, **options: Any) -> Any:
    """dash's, of rounded tensors."""
    try:
        return compare_models.attend(*given, **options)
    except ArgumentError as error:
        refused[str(error)] += 1
        raise


def counted(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, **options: Any) -> Any:
    """What `attend` calls, with what serves it; compiled programs are not counted."""
    o = dash_attn.attention(q, k, v, **options)
    if torch.compiler.is_compiling():  # `explain` reads numbers, which would end the program there
        return o
    shown = {name: list(x.shape) if torch.is_tensor(x) else x for name, x in options.items()}
    named = {name: one for name, one in shown.items() if one not in (None, 0.0, False)}
    name = f"q {list(q.shape)}, k {list(k.shape)}, v {list(v.shape)}, {named}"
    if name not in computed:
        computed[name] = str(dash_attn.explain(q, k, v, **options))
    served[name] += 1
    return o


AttentionInterface.register("dash", attend)
layer.attention = counted


# ---- Gradients -----------------------------------------------------------------------------------


def tokens(rows: int, device: str, seed: int) -> torch.Tensor:
    draw = torch.Generator().manual_seed(seed)
    return torch.randint(1, VOCABULARY, (BATCH, rows), generator=draw).to(device)


def gradients(one: Model, rows: int, attention: str, device: str) -> dict[str, torch.Tensor]:
    """Logits, and gradients of each kind of weight that attention has, and of all others."""
    model = one.build(rows, attention)
    spread(model)  # weights as large as those of trained models
    model = model.to(device).train()
    logits = model(tokens(rows, device, 1)).logits
    draw = torch.Generator().manual_seed(9)
    (logits * torch.randn(logits.shape, generator=draw).to(logits)).sum().backward()
    found = defaultdict(list)
    found["logits"].append(logits.detach())
    for name, parameter in model.named_parameters():
        kind = name.split(".")[-2] if ".self_attn." in name else "others"
        found[kind].append(parameter.grad)
    return {kind: torch.cat([x.flatten().double() for x in each]) for kind, each in found.items()}


def errors(found: dict[str, torch.Tensor], exact: dict[str, torch.Tensor]) -> dict[str, float]:
    return {kind: float((found[kind] - one).norm() / one.norm()) for kind, one in exact.items()}


def compare_gradients(one: Model, rows: int, device: str) -> tuple[dict[str, Any], list[str]]:
    exact = gradients(one, rows, "eager", device)
    peer = compare_models.peer_of(one.config(rows, "eager"))
    ours, theirs = (
        errors(gradients(one, rows, attention, device), exact) for attention in ("dash", peer)
    )
    faults = [
        f"{kind}: expected an error of at most {BESIDE} times {theirs[kind]:.2e} of {peer},"
        f" found {ours[kind]:.2e}"
        for kind in exact
        if not ours[kind] <= BESIDE * theirs[kind]
    ]
    return {
        kind: {"dash": ours[kind], "peer": theirs[kind], "ratio": ours[kind] / theirs[kind]}
        for kind in exact
    } | {"peer is": peer}, faults


# ---- Training ------------------------------------------------------------------------------------


def train(
    one: Model, rows: int, attention: str, device: str, steps: int
) -> tuple[list[list[torch.Tensor]], list[float]]:
    """All weights after each step, and the losses."""
    model = one.build(rows, attention).to(device, torch.bfloat16).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE)
    weights, losses = [], []
    for step in range(steps):
        text = tokens(rows, device, step)
        loss = model(text, labels=text).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        weights.append([parameter.detach().clone() for parameter in model.parameters()])
        losses.append(loss.item())
    return weights, losses


def train_twice(
    one: Model, rows: int, attention: str, device: str, steps: int
) -> tuple[dict[str, Any], list[str]]:
    """How many weights differ between two runs after each step."""
    (first, losses), (second, _) = (train(one, rows, attention, device, steps) for _ in range(2))
    differing = [
        sum(int((x != y).sum()) for x, y in zip(*step, strict=True)) for step in zip(first, second)
    ]
    moved = sum(int((x != y).sum()) for x, y in zip(first[0], first[-1], strict=True))
    total = sum(x.numel() for x in first[0])
    found = {"losses": losses, "differing": differing, "moved": moved, "weights": total}
    faults = [f"{total} weights: expected equal ones in two runs, found {differing} that differ"]
    return found, faults if any(differing) or not moved else []


def train_enabled(
    one: Model, rows: int, device: str, steps: int
) -> tuple[dict[str, Any], list[str]]:
    """ "sdpa" with the drop-in, and what it left."""
    with dash_attn.enable() as enabled:
        before = enabled.served.copy(), enabled.left.copy()
        found, faults = train_twice(one, rows, "sdpa", device, steps)
        of_dash, of_others = enabled.served - before[0], enabled.left - before[1]
    found["served"] = dict(of_dash)
    found["left"] = [
        {"operator": name, "reason": reason, "count": count}
        for (name, reason), count in of_others.items()
    ]
    passes = {name for name, _ in of_others if name in OPERATORS}  # of gradients
    return found, faults if all(name in DETERMINISTIC for name in passes) else []


# ---- All -----------------------------------------------------------------------------------------


def check(name: str, one: Model, rows: int, device: str, steps: int) -> dict[str, Any]:
    """What was found of a model, and its faults. A part that breaks off is a fault of its own."""
    begun = time.monotonic()
    for counter in (served, refused, computed):
        counter.clear()
    row: dict[str, Any] = {"name": name, "head_dims": one.head_dims, "faults": []}
    parts: dict[str, Callable[[], tuple[dict[str, Any], list[str]]]] = {
        "gradients": lambda: compare_gradients(one, rows, device),
        "dash": lambda: train_twice(one, rows, "dash", device, steps),
        ENABLED: lambda: train_enabled(one, rows, device, steps),
        "sdpa": lambda: (train_twice(one, rows, "sdpa", device, steps)[0], []),
    }
    for part, run in parts.items():
        if part == ENABLED and device == "cpu":
            row[part] = {"broke off": "its operators are those of a GPU"}
            continue
        try:
            row[part], faults = run()
        except Exception as error:
            said = f"{type(error).__name__}: {error}".split("\n")[0][:400]
            row[part] = {"broke off": said}
            # transformers refuses "sdpa" of what has a softcap
            faults = [] if "sdpa" in part and "does not support an attention" in said else [said]
        row["faults"] += [f"{name}, {part}: {fault}" for fault in faults]
    row["served"] = [
        {"call": call, "count": count, "by": computed[call].splitlines()}
        for call, count in served.items()
    ]
    row["refused"] = [{"reason": reason, "count": count} for reason, count in refused.items()]
    if not served:
        row["faults"].append(f"{name}: expected calls that dash serves, found none")
    return row | {"seconds": round(time.monotonic() - begun, 1)}


def report(row: dict[str, Any]) -> None:
    of_qk, of_v = row["head_dims"]
    print(f"{row['name']}, head dims {of_qk} and {of_v}, {row['seconds']} s")
    for kind, found in row["gradients"].items():
        if isinstance(found, dict):
            print(
                f"  {kind:20} dash {found['dash']:.2e}, {row['gradients']['peer is']}"
                f" {found['peer']:.2e}: {found['ratio']:.2f}x"
            )
    for part in ("dash", ENABLED, "sdpa"):
        found = row[part]
        if "broke off" in found:
            print(f"  {part}: {found['broke off']}")
            continue
        print(
            f"  {part}: {found['differing'][-1]} of {found['weights']} weights differ between two"
            f" runs of {len(found['losses'])} steps, loss {found['losses'][-1]:.4f}"
        )
    for one in row["served"]:
        print(f"  served {one['count']} times: {one['call']}")
        print("    " + "\n    ".join(one["by"]))
    print(f"  refused: {sum(one['count'] for one in row['refused'])}")
    for one in row["refused"]:
        print(f"    {one['count']} times: {one['reason']}")
    for name, count in row[ENABLED].get("served", {}).items():
        print(f"  enable() served {count} times: {name}")
    for one in row[ENABLED].get("left", ()):
        print(f"  enable() left {one['count']} times: {one['operator']}: {one['reason']}")
    for fault in row["faults"]:
        print(f"  FAULT {fault}")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"of {', '.join(MODELS)}")
    parser.add_argument("--steps", type=int, default=5, help="of each training")
    parser.add_argument("--rows", type=int, default=1024, help="tokens of a sequence")
    parser.add_argument("--json", type=Path, help="write what was found there")
    arguments = parser.parse_args()
    if unknown := set(arguments.models) - set(MODELS):
        parser.error(f"expected models of {', '.join(MODELS)}, found {', '.join(sorted(unknown))}")
    transformers.logging.set_verbosity_error()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cpu":
        compare_models.on_cpu(with_float32=False)
    rows = []
    for name in arguments.models or MODELS:
        rows.append(check(name, MODELS[name], arguments.rows, device, arguments.steps))
        report(rows[-1])
    faults = [fault for row in rows for fault in row["faults"]]
    on = torch.cuda.get_device_name() if device == "cuda" else "cpu"
    print(f"{on}: {len(rows)} models, {len(faults)} faults")
    if arguments.json:
        write_record(
            arguments.json,
            {
                "device": on,
                "torch": torch.__version__,
                "transformers": transformers.__version__,
                "rows": arguments.rows,
                "steps": arguments.steps,
                "beside": BESIDE,
                "models": rows,
            },
        )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
