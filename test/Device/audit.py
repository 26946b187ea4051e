"""dash_attn.audit on the GPU: planted faults and PyTorch's own attention are found, dash repeats,
and what a recorded step costs."""

from __future__ import annotations

import statistics
import time
from typing import Any

import torch
from group import Skip, Test, demand
from torch import nn

from dash_attn import attention
from dash_attn.audit import Run, compare, record
from dash_attn.measure.bundle import BundledKernel
from dash_attn.torch.hash_log import Log

STEPS = 4
MOST_COST = 1.10  # of a step that keeps the GPU busy
FAULTS: list[str] = []  # what goes wrong in the next call of `unsteady`


@torch.library.custom_op("dash_test::unsteady", mutates_args=())
def unsteady(x: torch.Tensor) -> torch.Tensor:
    found = x.clone()
    bits = found.view(torch.int16).view(-1)
    for fault in FAULTS:
        if fault == "flip":
            bits[12345] ^= 1
        else:
            bits[[12345, 54321]] = bits[[54321, 12345]]
    return found


unsteady.register_autograd(lambda ctx, do: do)


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = (
            nn.Linear(*sizes, dtype=torch.bfloat16, device="cuda")
            for sizes in ((512, 2048), (2048, 512))
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + unsteady(self.down(torch.relu(self.up(x))))


def tests(kernels: list[BundledKernel], quick: bool) -> list[Test]:
    return [
        Test(f"audit {test.__name__}", kernels[0].name, test)
        for test in (hashes, planted, of_sdpa, *(() if quick else (costs,)))
    ]


def hashes() -> dict[str, Any]:
    """Those of the GPU are those of the CPU, for all widths of words; and how quick they are."""
    torch.manual_seed(1)
    x = torch.randn(1 << 26, device="cuda", dtype=torch.bfloat16)
    given = [
        x[: 1 << 20],
        x[3:8191],
        x[1:3],
        x[: 1 << 12].view(64, 64).t(),
        x[:999].float(),
        x[:77].to(torch.uint8),
        x[: 1 << 12].view(64, 64)[:, ::3],
    ]
    logs = [Log(torch.device(name)) for name in ("cuda:0", "cpu")]
    for tensor in given:
        logs[0].add(tensor)
        logs[1].add(tensor.cpu())
    found, expected = (log.values()[: len(given)] for log in logs)
    demand(
        found == expected,
        "hashes of the GPU are not those of the CPU",
        found=found,
        expected=expected,
    )
    ends = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
    ends[0].record()
    for _ in range(10):
        logs[0].add(x)
    ends[1].record()
    torch.cuda.synchronize()
    return {"gigabytes_a_second": round(10 * x.numel() * 2 / ends[0].elapsed_time(ends[1]) / 1e6)}


def planted() -> dict[str, Any]:
    def run(*faults: str) -> Run:
        torch.manual_seed(3)
        model = nn.Sequential(*(Layer() for _ in range(3)))
        x = torch.randn(4096, 512, device="cuda", dtype=torch.bfloat16)
        with record(model) as found:
            FAULTS[:] = faults
            model(x).square().mean().backward()
            FAULTS.clear()
        return found

    whole = run()
    demand(compare(whole, run()) is None, f"two equal runs differ: {compare(whole, run())}")
    said = {}
    for fault in ("flip", "swap"):
        said[fault] = str(compare(whole, run(fault)))
        demand(
            said[fault].startswith(
                "step 0, forward of 0: dash_test.unsteady.default, output 0, whose inputs match"
            ),
            said[fault],
        )
    return said


def llama(implementation: str, width: int, layers: int) -> tuple[nn.Module, Any]:
    try:
        import dash_attn.transformers  # noqa: F401
        from transformers import LlamaConfig, LlamaForCausalLM
    except ImportError as error:
        raise Skip(f"transformers is needed: {error}") from None
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=8192,
        hidden_size=width,
        intermediate_size=2 * width,
        num_hidden_layers=layers,
        head_dim=128,
        num_attention_heads=width // 128,
        num_key_value_heads=width // 512,
        use_cache=False,
        attn_implementation=implementation,
    )
    model = LlamaForCausalLM(config).to("cuda", torch.bfloat16).train()
    return model, torch.optim.AdamW(model.parameters(), lr=3e-4)


def step(model: nn.Module, optimizer: Any, batch: int, rows: int) -> None:
    tokens = torch.randint(8192, (batch, rows), device="cuda")
    model(tokens, labels=tokens).loss.backward()
    optimizer.step()
    optimizer.zero_grad()


def of_sdpa() -> dict[str, Any]:
    """A few steps of training, twice with each attention: PyTorch's backward pass is named, and
    dash repeats."""
    said = {}
    for implementation in ("sdpa", "dash"):
        runs = []
        for _ in range(2):
            model, optimizer = llama(implementation, 1024, 4)
            with record(model) as found:
                for _ in range(STEPS):
                    step(model, optimizer, 2, 4096)
            runs.append(found)
        said[implementation] = str(compare(*runs))
    demand(said["dash"] == "None", "two runs with dash differ", **said)
    demand(
        "backward of model.layers." in said["sdpa"] and "attention" in said["sdpa"],
        "PyTorch's attention is not named",
        **said,
    )
    return said


def costs() -> dict[str, Any]:
    """Times of recorded steps beside plain ones, in turns: of a model that keeps the GPU busy, and
    of one that waits for the host."""
    measured = {}
    for width, layers, batch, rows in ((4096, 4, 4, 4096), (2048, 8, 4, 2048)):
        model, optimizer = llama("dash", width, layers)
        times: dict[str, list[float]] = {"plain": [], "recorded": [], "every": []}
        for number in range(7):
            for name, found in times.items():
                torch.cuda.synchronize()
                begun = time.perf_counter()
                if name == "plain":
                    for _ in range(2):
                        step(model, optimizer, batch, rows)
                else:
                    with record(model, every=name == "every") as run:
                        for _ in range(2):
                            step(model, optimizer, batch, rows)
                torch.cuda.synchronize()
                if number > 1:
                    found.append((time.perf_counter() - begun) / 2)
        middle = {name: statistics.median(found) for name, found in times.items()}
        measured[f"width {width}, {layers} layers, {batch} x {rows} tokens"] = {
            "plain_ms": round(1e3 * middle["plain"], 1),
            "recorded": round(middle["recorded"] / middle["plain"], 3),
            "every": round(middle["every"] / middle["plain"], 3),
            "entries": len(run.entries) // 2,
        }
        del model, optimizer
        torch.cuda.empty_cache()
    busy = next(iter(measured.values()))
    demand(
        busy["recorded"] <= MOST_COST,
        f"a recorded step costs more than {MOST_COST} of a plain one",
        measured=measured,
    )
    return {"measured": measured}
