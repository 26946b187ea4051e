# RUN: rm -rf %t && mkdir -p %t
# RUN: env TRITON_INTERPRET=1 %torch_python %s %t
# REQUIRES: torch, plain-libdash
"""The audit: two runs of a step are equal, or the operator is named where they part; hashes; files;
certificates."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

import torch  # noqa: E402
from fixtures import SOURCE, refused  # noqa: E402
from on_cpu import LAUNCHED  # noqa: E402
from torch import nn  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

from dash_attn import attention, audit, explain  # noqa: E402
from dash_attn.audit import Divergence, Run, compare  # noqa: E402
from dash_attn.torch import hash_log, hashing  # noqa: E402

TMP = Path(sys.argv[1])
# By operator: what goes wrong with its output, in its third call.
FAULT: dict[str, Callable[[torch.Tensor], None]] = {}
CALLS: dict[str, int] = {}
SEED = [0]  # of a dropout that there is not: another one in each run


def faulty(name: str, tensor: torch.Tensor) -> torch.Tensor:
    CALLS[name] = CALLS.get(name, 0) + 1
    if CALLS[name] == 3 and name in FAULT:
        FAULT[name](tensor)
    return tensor


@torch.library.custom_op("test::half", mutates_args=())
def half(x: torch.Tensor) -> torch.Tensor:
    return faulty("half", x * 0.5)


@torch.library.custom_op("test::half_backward", mutates_args=())
def half_backward(do: torch.Tensor) -> torch.Tensor:
    return faulty("half_backward", do * 0.5)


@torch.library.custom_op("test::twice", mutates_args=(), tags=(torch.Tag.pointwise,))
def twice(x: torch.Tensor) -> torch.Tensor:
    return faulty("pointwise", x * 2)


twice.register_autograd(lambda ctx, do: do * 2)


@torch.library.custom_op("test::attention_forward", mutates_args=())
def with_seed(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    CALLS["seed"] = CALLS.get("seed", 0) + 1
    return x * 3, torch.tensor(len(CALLS) + CALLS["seed"] + SEED[0])


@torch.library.custom_op("test::attention_backward", mutates_args=())
def with_seed_backward(do: torch.Tensor, seed: torch.Tensor) -> torch.Tensor:
    return do * 3


with_seed.register_autograd(
    lambda ctx, do, _: with_seed_backward(do, *ctx.saved_tensors),
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(output[1]),
)
half.register_autograd(lambda ctx, do: half_backward(do))
CONSTANT = torch.ones(8)


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(64, 64, dtype=torch.bfloat16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q = self.linear(x).view(1, 8, 1, 64).transpose(1, 2)
        y = attention(q, q, q, causal=True).transpose(1, 2).reshape(8, 64)
        # What is in it before does not count.
        y = torch.empty(1 << 9, dtype=torch.bfloat16).normal_().view(8, 64) * 0.01 + y
        y = with_seed(half(twice(y)))[0]
        return y * CONSTANT[:, None].to(y.dtype) + x


class Model(nn.Module):
    def __init__(self, is_checkpointed: bool = False) -> None:
        super().__init__()
        self.layers, self.is_checkpointed = (
            nn.ModuleList(Block() for _ in range(4)),
            is_checkpointed,
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=False) if self.is_checkpointed else layer(x)
        return x.float().square().mean()


def run(
    steps: int = 1, seed: int = 0, rate: float = 0.1, every: bool = False, **options: Any
) -> Run:
    torch.manual_seed(5)
    model = Model(**options)
    torch.manual_seed(seed)
    x = torch.randn(8, 64, dtype=torch.bfloat16)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    CALLS.clear()
    SEED[0] += 1
    torch.manual_seed(7)
    with audit.record(model, every) as found:
        for _ in range(steps):
            model(x).backward()
            optimizer.step()
            optimizer.zero_grad()
    return found


def flip(tensor: torch.Tensor) -> None:
    tensor.view(torch.int16).view(-1)[77] ^= 1


def swap(tensor: torch.Tensor) -> None:
    first, second = tensor.view(-1)[5].clone(), tensor.view(-1)[300].clone()
    assert first != second
    tensor.view(-1)[5], tensor.view(-1)[300] = second, first


def place(found: Divergence | None) -> tuple[Any, ...]:
    assert found is not None and found.is_of_values, found
    return found.entry.place


def finds() -> None:
    one = run(2)
    assert compare(one, run(2)) is None
    phases = {entry.phase for entry in one.entries}
    assert phases == {"input", "forward", "backward", "optimizer"} and {
        entry.step for entry in one.entries
    } == {0, 1}, phases
    backwards = {
        entry.path for entry in one.entries if entry.name == "dash.attention_backward.default"
    }
    assert backwards == {f"layers.{i}" for i in range(4)} and len(LAUNCHED) >= 8, backwards
    accumulated = [
        entry.path for entry in one.entries if entry.step == 0 and entry.phase == "optimizer"
    ]
    assert accumulated == [
        f"layers.{i}.linear.{name}" for i in range(4) for name in ("weight", "bias")
    ], accumulated
    for fault in (flip, swap):
        FAULT["half"] = fault
        assert place(compare(one, run(2))) == (0, "forward", "layers.2", "test.half.default", 0)
        FAULT.clear()
        FAULT["half_backward"] = fault  # the last layer comes first
        found = compare(one, run(2))
        assert place(found) == (0, "backward", "layers.1", "test.half_backward.default", 0)
        assert str(found).startswith(
            "step 0, backward of layers.1: test.half_backward.default, output 0, whose inputs"
            " match: "
        ), found
        FAULT.clear()
    assert place(compare(one, run(2, seed=1))) == (0, "input", "", "argument 0 of the model", 0)
    assert place(compare(one, run(2, rate=0.2))) == (
        0,
        "optimizer",
        "layers.0.linear.weight",
        "SGD",
        0,
    )
    CONSTANT[3] = 2
    found = compare(one, run(2))
    assert (
        place(found)[1:3] == ("input", "layers.0")
        and "argument 0 of aten." in str(found)
        and "match" not in str(found)
    ), found
    CONSTANT[3] = 1
    found = compare(one, run(1))
    assert (
        not found.is_of_values
        and found.equal == len(run(1).entries)
        and str(found).endswith("and the end")
    ), found
    recomputed = run(is_checkpointed=True)
    assert compare(recomputed, run(is_checkpointed=True)) is None
    assert {entry.path for entry in recomputed.entries if entry.phase == "recomputed"} >= {
        f"layers.{i}.linear" for i in range(4)
    }
    # A mistake of an operator that is left out is one of the next; with every operator it has a
    # name.
    FAULT["pointwise"] = flip
    assert place(compare(one, run(2)))[:3] == (0, "forward", "layers.2")
    FAULT.clear()
    every = run(every=True)
    FAULT["pointwise"] = flip
    assert place(compare(every, run(every=True))) == (
        0,
        "forward",
        "layers.2",
        "test.twice.default",
        0,
    )
    FAULT.clear()
    assert (
        refused(lambda: compare(one, every), ValueError)
        == "expected two runs of every operator, or two that leave some out, found one of each"
    )
    FAULT["half_backward"] = flip
    assert place(compare(recomputed, run(is_checkpointed=True))) == (
        0,
        "backward",
        "layers.1",
        "test.half_backward.default",
        0,
    )
    FAULT.clear()
    assert (
        refused(lambda: audit.record(3).__enter__(), TypeError)
        == "expected a module of PyTorch, found int"
    )
    with audit.record(every=True) as found:
        torch.ones(3).add_(1)
    names = [entry.name for entry in found.entries]
    assert (
        names[0] == "aten.ones.default"
        and "aten.add_.Tensor" in names
        and found.entries[0].path == ""
    ), names


def hashes() -> None:
    """Each bit and each place count; Triton's kernel, interpreted, says what PyTorch's operators
    say."""
    from dash_attn.torch.hash_kernel import add_hash_of

    def hashed(tensor: torch.Tensor) -> int:
        return int(hashing.hash_words(hashing.as_words(tensor)))

    torch.manual_seed(3)
    for dtype in (torch.bfloat16, torch.float32, torch.float16, torch.uint8, torch.float64):
        tensor = torch.randn(9, 7).mul(50).to(dtype)
        whole, seen = hashed(tensor), set()
        for byte in range(tensor.numel() * tensor.element_size()):
            for bit in range(8):
                changed = tensor.clone()
                changed.view(-1).view(torch.uint8)[byte] ^= 1 << bit
                seen.add(hashed(changed))
        assert len(seen) == 8 * tensor.numel() * tensor.element_size() and whole not in seen
        for i in range(1, tensor.numel()):
            changed = tensor.clone().view(-1)
            changed[0], changed[i] = tensor.view(-1)[i].clone(), tensor.view(-1)[0].clone()
            assert (hashed(changed.view(9, 7)) == whole) == bool(
                tensor.view(-1)[i] == tensor.view(-1)[0]
            )
    # Elements that differ in one bit, the highest of a word.
    sign = torch.full((4096,), 1.0, dtype=torch.bfloat16)
    sign[3] = -1
    moved = [sign.roll(i * 4) for i in range(1, 1000)]
    assert len({hashed(one) for one in (sign, *moved)}) == 1000
    for tensor in (
        torch.randn(5000).to(torch.bfloat16),
        torch.randn(7, 3),
        torch.randn(3).half(),
        torch.arange(9, dtype=torch.uint8),
        torch.randn(4, 6).t(),
        torch.randn(8, 8)[:, ::2],
        torch.ones(4, dtype=torch.bool),
        torch.randn(3, dtype=torch.cfloat).conj(),
    ):
        log = torch.zeros(4, dtype=torch.int64)
        add_hash_of(tensor, log, 2)
        assert log.tolist() == [0, 0, hashed(tensor), 0]
    assert (
        hashed(torch.randn(4, 6).t().clone(memory_format=torch.preserve_format)) != 0
        and hashed(torch.empty(0)) == 0
    )
    # At an odd address.
    shifted = torch.zeros(64, dtype=torch.uint8)[3:][:40].copy_(torch.arange(40))
    assert hashed(shifted) == hashed(torch.arange(40, dtype=torch.uint8))
    large = torch.randn(hashing.AT_ONCE * 2 + 3)
    pieces = hashed(large)
    hashing.AT_ONCE *= 4
    assert pieces == hashed(large)
    log = hash_log.Log(torch.device("cpu"))
    assert [log.add(large[:i]) for i in range(hash_log.SLOTS + 2)] == list(
        range(hash_log.SLOTS + 2)
    )
    assert log.values()[hash_log.SLOTS + 1] == hashed(large[: hash_log.SLOTS + 1]) % 2**64


def files() -> None:
    one, other = run(), run(seed=1)
    for name, found in (("one", one), ("other", other)):
        found.save(TMP / name)
        assert Run.load(TMP / name) == found
    for names, status, said in (
        (("one", "one"), 0, "equal\n"),
        (("one", "other"), 1, f"{compare(one, other)}\n"),
        (("one",), 2, ""),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "dash_attn.audit", *(TMP / name for name in names)],
            capture_output=True,
            text=True,
            check=False,
            env=os.environ | {"PYTHONPATH": str(SOURCE / "python")},
        )
        assert (done.returncode, done.stdout) == (status, said), done
    head = '{"dash_audit": 1, "every": false}\n'
    for content in (
        "",
        "{}",
        "[]",
        f"{head}[1]",
        f'{head}[0, "", "", "", 0, "x"]',
        head.replace("1", "9"),
    ):
        (TMP / "bad").write_text(content, encoding="utf-8")
        assert refused(lambda: Run.load(TMP / "bad"), ValueError).startswith(
            f"{TMP / 'bad'}: expected a file of Run.save, of version 1 or 3: "
        )


def certificates() -> None:
    torch.manual_seed(5)
    model, found = Model(), run()
    q = torch.zeros(1, 1, 8, 64, dtype=torch.bfloat16)
    assert explain(q, q, q, causal=True)  # asks for the kernel: without a GPU nothing else does
    made = json.loads(json.dumps(audit.certificate(model, found)))
    assert made["run"]["entries"] == len(found.entries) and made["run"]["steps"] == 1
    assert [(one["order"], one["level"], one["window"]) for one in made["kernels"]] == [
        ("longest-first", "row", [-1, 0]),
        ("ascending", "run", [-1, 0]),
    ]
    assert made["versions"]["torch"] == torch.__version__ and made["drop_in"]["is_enabled"] is False
    assert audit.check(made, model) == []
    with torch.no_grad():
        model.layers[1].linear.bias.view(torch.int16)[4] ^= 1
    weight = "layers.1.linear.bias"
    changed = json.loads(json.dumps(made))
    changed["versions"]["torch"], changed["kernels"][1]["certificate"] = "2.0", "sha256:0"
    torch.backends.cudnn.deterministic = True
    said = audit.check(changed, model)
    assert said[:2] == [
        f"versions.torch: expected 2.0, found {torch.__version__}",
        "switches.cudnn_deterministic: expected False, found True",
    ]
    assert (
        said[2]
        == f"kernels[1].certificate: expected sha256:0, found {made['kernels'][1]['certificate']}"
        and len(said) == 4
    ), said
    assert said[3].startswith(f"weights.{weight}: expected {made['weights'][weight]}, found "), said
    # A certificate is data: what it says of kernels is no option, no program and no file.
    ran, ptxas = TMP / "ran", TMP / "ptxas"
    ptxas.write_text(f"#!/bin/sh\necho >'{ran}'\n", encoding="utf-8")
    ptxas.chmod(0o755)
    for name, value in (
        ("kind", f"shift ptxas={ptxas}"),
        ("kind", "shift costs=/etc/passwd"),
        ("kind", "file path=/etc/passwd"),
        ("apart", f"all ptxas={ptxas}"),
        ("parts", f"1 ptxas={ptxas}"),
        ("level", f"run) ptxas={ptxas}"),
        ("sizes", [f"1 ptxas={ptxas}"] * 5),
        ("element", "bf16>"),
        ("head_dim", 100),
        ("window", [-1]),
        ("is_list", 0),
        ("fold", 3),
    ):
        changed = json.loads(json.dumps(made))
        changed["kernels"][0][name] = value
        assert refused(lambda changed=changed: audit.check(changed), ValueError).startswith(
            f"kernels[0].{name}: expected "
        )
    assert not ran.exists()
    for change, said in (
        ({"kernels": None}, "kernels: expected a list of objects, found None"),
        ({"kernels": [7]}, "kernels[0]: expected an object, found 7"),
        ({"switches": []}, "switches: expected an object, found []"),
        ({"weights": 1}, "weights: expected an object, found 1"),
    ):
        assert refused(lambda change=change: audit.check(made | change, model), ValueError) == said
    assert (
        refused(lambda: audit.check([]), ValueError) == "the record: expected an object, found []"
    )
    assert (
        refused(lambda: audit.check({}), ValueError)
        == "expected a certificate of version 9, found None"
    )


for test in (finds, hashes, files, certificates):
    test()
