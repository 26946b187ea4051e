"""Does again what a report of `python3 -m dash_attn.doctor --report` is of: python3
reproduce.py, in the folder where it was unpacked.

Each kernel is compiled here, and its PTX and certificate compared with those of the report.
Where there are PyTorch and a GPU, it computes with random tensors three times, and its bits are
compared. The status is 0 where all is equal, 1 where something differs.
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


def results(kernel: Kernel, told: dict[str, Any]) -> str:
    """Whether what it computes has the same bits each time; in words."""
    import torch

    asked, dtype = told["asked"], {"bf16": torch.bfloat16, "f16": torch.float16}[told["element"]]
    batch, heads, kv_heads, rows, columns = told["sizes"] or (
        1,
        asked["heads"],
        asked["kv_heads"],
        asked["rows"],
        asked["kv_rows"] or asked["rows"],
    )
    is_forward = told["wanted"]["is_forward"]
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
        more["sink"] = torch.zeros(heads, device="cuda")
        if not is_forward:
            of_each = asked["sequences"] or batch
            more["dsink"] = torch.zeros(of_each, heads, device="cuda")
    tensors = [q, k, v, o, lse] if is_forward else [q, k, v, do, o, lse, *kernel.own((dq, dk, dv))]
    written = [i for i in ((3, 4) if is_forward else (6, 7, 8)) if tensors[i] is not None]
    if asked.get("sequences"):
        tensors = [
            one if one is None else one[0].transpose(0, 1) if one.dim() == 4 else one[0]
            for one in tensors
        ]
        for name, length in (("cu_seqlens_q", rows), ("cu_seqlens_kv", columns)):
            more[name] = torch.tensor(
                [length * i // asked["sequences"] for i in range(asked["sequences"] + 1)],
                dtype=torch.int32,
                device="cuda",
            )
        more["layout"] = "thd"
    found = []
    for _ in range(RUNS):
        for i in written:
            tensors[i].fill_(float("nan"))  # what is not written shows
        (kernel.forward if is_forward else kernel.backward)(*tensors, **more)
        found.append([tensors[i].contiguous().view(torch.int16).clone() for i in written])
    what = "o and the LSE" if is_forward else "gradients"
    same = all(torch.equal(one, other) for run in found[1:] for one, other in zip(found[0], run))
    if any(tensors[i].isnan().any() for i in written):
        return f"{what} DIFFER from numbers: some are NaN"
    if not same:
        return f"{what} DIFFER between {RUNS} runs"
    return f"{what} have the same bits in {RUNS} runs"


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
            said.append(results(Kernel(maker), told))
        failed |= bool(differs) or "DIFFER" in said[-1]
        print(f"{place.parent.name}/{place.name}: {'; '.join(said)}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
