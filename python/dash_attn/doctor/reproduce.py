"""Does again what a report of `python3 -m dash_attn.doctor --report` is of: python3
reproduce.py, in the folder where it was unpacked.

Each kernel is compiled here, and its PTX and certificate compared with those of the report.
Where there are PyTorch and a GPU, gradients of random tensors are computed three times, and
their bits compared. The status is 0 where all is equal, 1 where something differs.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from dash_attn import Kernel, compile_program
from dash_attn.kernel.orders import texts_of
from dash_attn.kernel.problem import wanted_of
from dash_attn.kernel.runtime import maker_of
from dash_attn.support.records import Record

RUNS = 3


def compare(place: Path) -> tuple[dict[str, Any], Any, list[str]]:
    """What the report says of a kernel, what makes the kernel again, and in what it differs."""
    told = json.loads((place / "kernel.json").read_text(encoding="utf-8"))
    if told["wanted"]:
        texts = texts_of(wanted_of(Record(told["wanted"])))
    else:
        found = {
            one.name: one
            for one in compile_program((place / "program.mlir").read_bytes(), told["options"])
        }
        compiled = found[told["name"]]
        texts = compiled.manifest.encode(), compiled.ptx, compiled.order
    manifest = json.loads(texts[0])
    pairs = (
        ("PTX", told["ptx"], manifest["ptx"]["sha256"]),
        ("certificate", told["certificate"], manifest["certificate"]),
    )
    return (
        told,
        maker_of(texts),
        [
            f"{what}: the report has {reported}, here it is {here}"
            for what, reported, here in pairs
            if reported != here
        ],
    )


def gradients(kernel: Kernel, told: dict[str, Any]) -> str:
    """Whether they have the same bits each time; in words."""
    import torch

    asked, dtype = told["asked"], {"bf16": torch.bfloat16, "f16": torch.float16}[told["element"]]
    batch, heads, kv_heads, rows, columns = told["sizes"] or (
        1,
        asked["heads"],
        asked["kv_heads"],
        asked["rows"],
        asked["kv_rows"] or asked["rows"],
    )
    generator = torch.Generator(device="cuda").manual_seed(0)

    def tensor(of_heads: int, of_rows: int, which: str) -> torch.Tensor:
        return torch.randn(
            batch,
            of_heads,
            of_rows,
            told[which],
            dtype=dtype,
            device="cuda",
            generator=generator,
        )

    of_qk, of_v = "head_dim", "head_dim_v"
    q, do, o, dq = (tensor(heads, rows, one) for one in (of_qk, of_v, of_v, of_qk))
    k, v, dk, dv = (tensor(kv_heads, columns, one) for one in (of_qk, of_v, of_qk, of_v))
    lse = torch.full((batch, heads, rows), 8.0, device="cuda")
    more: dict[str, Any] = {}
    if asked.get("has_sink"):
        of_each = (asked["sequences"],) if asked["sequences"] else (batch,)
        more |= {
            "sink": torch.zeros(heads, device="cuda"),
            "dsink": torch.zeros(*of_each, heads, device="cuda"),
        }
    tensors = [q, k, v, do, o, lse, dq, dk, dv]
    if asked.get("sequences"):
        tensors = [one[0].transpose(0, 1) if one.dim() == 4 else one[0] for one in tensors]
        for name, length in (("cu_seqlens_q", rows), ("cu_seqlens_kv", columns)):
            more[name] = torch.tensor(
                [length * i // asked["sequences"] for i in range(asked["sequences"] + 1)],
                dtype=torch.int32,
                device="cuda",
            )
        more["layout"] = "thd"
    found = []
    for _ in range(RUNS):
        for one in tensors[-3:]:
            one.fill_(float("nan"))  # what is not written shows
        kernel.backward(*tensors, **more)
        found.append([one.contiguous().view(torch.int16).clone() for one in tensors[-3:]])
    same = all(torch.equal(one, other) for run in found[1:] for one, other in zip(found[0], run))
    if not all(torch.isfinite(one).all() for one in tensors[-3:]):
        return "gradients DIFFER from numbers: some are not finite"
    return (
        f"gradients have the same bits in {RUNS} runs"
        if same
        else f"gradients DIFFER between {RUNS} runs"
    )


def has_gpu() -> bool:
    try:
        import torch
    except ImportError:
        return False
    return torch.cuda.is_available()


def main() -> int:
    failed = False
    for place in sorted(Path(__file__).resolve().parent.glob("call*/kernel*/")):
        told, maker, differs = compare(place)
        said = differs or ["the PTX and the certificate are those of the report"]
        if told["wanted"] and has_gpu():
            said.append(gradients(Kernel(maker), told))
        failed |= bool(differs) or "DIFFER" in said[-1]
        print(f"{place.parent.name}/{place.name}: {'; '.join(said)}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
