"""What tests of kernels share: seeded inputs in any layout, poison, comparison of bits, the peers'
gradients. Needs PyTorch."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch

from .. import reference
from ..kernel.runtime import Kernel
from ..reference import CAUSAL, Mask

OUTPUTS = ("dq", "dk", "dv")
DTYPES = {"bf16": torch.bfloat16, "f16": torch.float16}
BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


@dataclass(frozen=True)
class Case:
    """A problem. memory: "bhsd" contiguous, "bshd" as transposed views, "packed" slices of one
    tensor, "padded" rows."""

    head_dim: int
    mask: Mask
    q_rows: int
    kv_rows: int
    batch: int = 1
    heads: int = 2
    kv_heads: int = 2
    memory: str = "bhsd"
    seed: int = 0
    element: str = "bf16"
    softcap: float | None = None
    has_sink: bool = False
    head_dim_v: int = 0  # of v, o and their gradients; 0 is head_dim

    @property
    def name(self) -> str:
        element = "" if self.element == "bf16" else f"-{self.element}"
        element += (f"-cap{self.softcap:g}" if self.softcap else "") + "-sink" * self.has_sink
        apart = f"-{self.head_dim_v}" if self.columns_v != self.head_dim else ""
        return (
            f"d{self.head_dim}{apart}-{self.mask.name}-q{self.q_rows}-kv{self.kv_rows}-b{self.batch}-h{self.heads}"
            f"-g{self.heads // self.kv_heads}-{self.memory}{element}"
        )

    @property
    def columns_v(self) -> int:
        return self.head_dim_v or self.head_dim

    @property
    def dtype(self) -> torch.dtype:
        return DTYPES[self.element]

    @property
    def scale(self) -> float:
        return self.head_dim**-0.5

    @property
    def outputs(self) -> tuple[str, ...]:
        return OUTPUTS + ("dsink",) * self.has_sink

    def options(self, tensors: dict[str, torch.Tensor]) -> dict[str, Any]:
        """Those of `reference.forward` and `reference.backward`."""
        return {
            "scale": self.scale,
            "mask": self.mask,
            "softcap": self.softcap,
            "sink": tensors.get("sink"),
        }

    def with_seed(self, seed: int) -> Case:
        return replace(self, seed=seed)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def allocate(case: Case, names: tuple[str, ...], device: str) -> dict[str, torch.Tensor]:
    """Uninitialised tensors [batch, heads, rows, head_dim] in the case's memory; `names` share what
    is packed."""
    shapes = {
        name: (
            (case.kv_heads, case.kv_rows)
            if name in ("k", "v", "dk", "dv")
            else (case.heads, case.q_rows)
        )
        for name in names
    }
    options: dict[str, Any] = {"dtype": case.dtype, "device": device}
    b, columns = (
        case.batch,
        {
            name: case.columns_v if name in ("v", "do", "o", "dv") else case.head_dim
            for name in names
        },
    )
    if case.memory == "bshd":
        return {
            name: torch.empty(b, s, h, columns[name], **options).transpose(1, 2)
            for name, (h, s) in shapes.items()
        }
    if case.memory == "padded":  # rows longer than they need to be, and some in front
        return {
            name: torch.empty(b, h, s + 3, columns[name] + 8, **options)[:, :, 3:, : columns[name]]
            for name, (h, s) in shapes.items()
        }
    if (
        case.memory == "packed"
        and len({s for _, s in shapes.values()}) == len(set(columns.values())) == 1
    ):
        rows, heads = case.q_rows, [h for h, _ in shapes.values()]
        whole = torch.empty(b, rows, sum(heads), case.head_dim, **options)
        return {name: part.transpose(1, 2) for name, part in zip(names, whole.split(heads, dim=2))}
    return {name: torch.empty(b, h, s, columns[name], **options) for name, (h, s) in shapes.items()}


def make_inputs(case: Case, device: str = "cuda") -> dict[str, torch.Tensor]:
    """Random q, k, v, do, and their o and lse as a forward pass gives them; dq, dk and dv poisoned.

    o is the float64 forward rounded to the case's type, lse rounded to f32. Rows that see nothing
    have the LSE +inf of FlashAttention if the seed is even, and -inf if it is odd.
    """
    generator = torch.Generator(device=device).manual_seed(case.seed)
    tensors = {
        **allocate(case, ("q", "k", "v"), device),
        **allocate(case, ("do",), device),
        **allocate(case, ("o",), device),
        **allocate(case, OUTPUTS, device),
    }
    for name in ("q", "k", "v", "do"):
        tensors[name].normal_(generator=generator)
    if case.softcap:  # so large that the cap is felt: a third of the scores are above half of it
        tensors["q"].mul_(case.softcap / 2)
    if case.has_sink:
        tensors["sink"] = torch.randn(case.heads, device=device, generator=generator)
        tensors["dsink"] = torch.empty(case.batch, case.heads, device=device)
    o, lse = reference.forward(tensors["q"], tensors["k"], tensors["v"], **case.options(tensors))
    tensors["o"].copy_(o)
    lse = lse.float()
    tensors["lse"] = torch.where(
        torch.isfinite(lse), lse, float("inf") * (-1) ** case.seed
    ).contiguous()
    poison(tensors)
    return tensors


def poison(tensors: dict[str, torch.Tensor]) -> None:
    """Fills outputs with NaN: what a kernel does not write shows."""
    for name in {*OUTPUTS, "dsink"} & tensors.keys():
        tensors[name].fill_(float("nan"))


def poison_workspace(
    kernel: Kernel,
    case: Case,
    stream: int = 0,
    byte: int = 0xFF,
    device: int = 0,
    **more: int,
) -> None:
    """Allocates the workspace if need be and fills with `byte` all of it that a launch may find in
    any state. more: sizes that are not the case's, such as those of a list."""
    workspace = kernel.reserve(device=device, stream=stream, **sizes_of(case), **more)
    with kernel.driver.on(device):
        for region in kernel.manifest["workspace"]:
            if region["initial"] in ("any", "entry"):
                address, size = workspace.region(region["name"])
                kernel.driver.fill(address, byte, size, stream)
    workspace.forget()


def wrong_words(kernel: Kernel, stream: int = 0, device: int = 0) -> str:
    """Empty if the workspace is as a launch leaves it, zeros where they have to be and counters of
    turns at their end; else which word is not. Waits for the stream."""
    workspace, program = kernel.workspace(device, stream), kernel.manifest["program"]
    apart = {"all": ("turns", "dk_turns", "dv_turns"), "parts": ("dk_turns", "dv_turns")}.get(
        program.get("apart"), ()
    )
    # The entry that rounds waits for all tiles; where none waits, tiles without a chain keep a
    # zero.
    ends = [-1] if any(entry.get("overlaps") for entry in kernel.manifest["entries"]) else [-1, 0]
    with kernel.driver.on(device):
        kernel.driver.synchronize(stream)
        for region in kernel.manifest["workspace"]:
            name = region["name"]
            is_chain = (
                name in ("turns", "dk_turns", "dv_turns")
                and name not in apart
                and program["deterministic"]
            )
            if region["after"] == "zero" or is_chain:
                words = torch.frombuffer(
                    bytearray(kernel.driver.read(*workspace.region(name))), dtype=torch.int32
                )
                wrong = (
                    ~torch.isin(words, torch.tensor(ends if is_chain else [0], dtype=torch.int32))
                ).nonzero()
                if len(wrong):
                    return (
                        f"{name}[{int(wrong[0])}] = {int(words[wrong[0]])} ({len(wrong)} of"
                        f" {len(words)} words)"
                    )
    return ""


def sizes_of(case: Case) -> dict[str, int]:
    return {
        "batch": case.batch,
        "heads": case.heads,
        "kv_heads": case.kv_heads,
        "q_rows": case.q_rows,
        "kv_rows": case.kv_rows,
    }


def run(
    kernel: Kernel, case: Case, tensors: dict[str, torch.Tensor], **options: Any
) -> dict[str, torch.Tensor]:
    """Launches; the gradients as contiguous copies, in the stream's order."""
    kernel.backward(**tensors, scale=case.scale, **options)
    return {
        name: tensors[name].clone(memory_format=torch.contiguous_format) for name in case.outputs
    }


def first_difference(found: torch.Tensor, expected: torch.Tensor, name: str) -> str:
    """Empty if both have the same bits; else where they differ first, in C order."""
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return (
            f"{name}: expected {expected.dtype} {tuple(expected.shape)}, found {found.dtype}"
            f" {tuple(found.shape)}"
        )
    type_ = BITS[found.element_size()]
    differs = found.contiguous().view(type_) != expected.contiguous().view(type_)
    count = int(differs.sum())
    if count == 0:
        return ""
    flat, index = int(differs.flatten().nonzero()[0]), []
    for size in reversed(found.shape):
        flat, position = divmod(flat, size)
        index.append(position)
    at = tuple(reversed(index))
    return (
        f"{name}{list(at)}: expected {float(expected[at])!r}, found {float(found[at])!r} "
        f"({count} of {found.numel()} elements differ)"
    )


def differences(found: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> str:
    return "; ".join(
        filter(None, (first_difference(found[name], expected[name], name) for name in expected))
    )


def errors(
    found: dict[str, torch.Tensor], exact: dict[str, Any], uncorrected: dict[str, Any]
) -> dict[str, float]:
    """reference.relative_error of each gradient, beside `references`; NaN where one holds something
    that is not finite."""
    return {
        name: (
            reference.relative_error(found[name], exact[name], uncorrected[name])
            if torch.isfinite(found[name]).all()
            else float("nan")
        )
        for name in found
    }


def references(
    case: Case, tensors: dict[str, torch.Tensor]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """(gradients, gradients without the softmax correction) in float64."""
    inputs = [tensors[name] for name in ("q", "k", "v", "do", "o", "lse")]
    return tuple(
        reference.backward(*inputs, **case.options(tensors), corrected=corrected)
        for corrected in (True, False)
    )


def flash_arguments(case: Case) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Those behind the tensors, of PyTorch's operators of FlashAttention-2: by place and by
    name."""
    if not case.mask.is_band:
        raise RuntimeError("it knows no bitmaps and unions")
    if case.softcap or case.has_sink:
        raise RuntimeError("PyTorch's operators take neither a softcap nor a sink")
    options = {"scale": case.scale}
    if case.mask.left >= 0 or case.mask.right > 0:
        options |= {"window_size_left": case.mask.left, "window_size_right": case.mask.right}
    return (None, None, case.q_rows, case.kv_rows, 0.0, case.mask == CAUSAL), options


def demand_own_attention() -> None:
    """Raises RuntimeError where PyTorch's attention is not its own, to measure beside."""
    module = sys.modules.get("dash_attn.torch.dropin")
    if module is not None and module.state()["is_enabled"]:
        raise RuntimeError(
            "expected PyTorch's own attention, to measure beside, found dash_attn.enable(); end it"
            " by dash_attn.disable()"
        )


def flash_backward(case: Case, tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """PyTorch's FlashAttention-2 on the same o and LSE. Its operators take [batch, rows, heads,
    head_dim], grouped heads as well, and align masks at the bottom right
    (scaled_dot_product_attention, which does not, refuses such shapes)."""
    q, k, v, do, o = (
        tensors[name].transpose(1, 2).contiguous() for name in ("q", "k", "v", "do", "o")
    )
    demand_own_attention()
    lse = tensors["lse"]
    lse = torch.where(torch.isfinite(lse), lse, float("inf")).contiguous()
    rest, options = flash_arguments(case)
    made = torch.ops.aten._flash_attention_forward(q, k, v, *rest, False, **options)
    gradients = torch.ops.aten._flash_attention_backward(
        do, q, k, v, o, lse, *rest, made[2], made[3], **options
    )
    return {
        name: gradient.transpose(1, 2).contiguous() for name, gradient in zip(OUTPUTS, gradients)
    }


def emulated_backward(case: Case, tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The roundings to 16 bits that every kernel on tensor cores does (P and dS as factors,
    results), and no others: the yardstick where PyTorch's kernel cannot run."""
    inputs = [tensors[name] for name in ("q", "k", "v", "do", "o", "lse")]
    gradients = reference.backward(
        *inputs, **case.options(tensors), rounded=lambda x: x.to(case.dtype).double()
    )
    return {
        name: gradient.to(torch.float32 if name == "dsink" else case.dtype)
        for name, gradient in gradients.items()
    }
