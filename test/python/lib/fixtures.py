"""Manifests as dash-opt writes them, and tensors for them. Importing it makes dash_attn
importable."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(SOURCE / "python"))

from dash_attn import Tensor  # noqa: E402
from dash_attn.kernel.tensors import contiguous  # noqa: E402

PTX_TYPES = {"ptr": "u64 .ptr .global .align 1", "i64": "u64", "i32": "u32", "f32": "f32"}
SIZES = ("batch", "heads", "kv_heads", "q_rows", "kv_rows")
READS, WRITES = ("q", "k", "v", "do", "o", "lse"), ("dq", "dk", "dv")
ON_KV = ("k", "v", "dk", "dv")


def parameter(name: str) -> dict[str, str]:
    type_ = (
        "i64"
        if ".stride." in name
        else "i32"
        if name in (*SIZES, "workers", "width")
        else "f32"
        if name == "scale"
        else "ptr"
    )
    return {"name": name, "type": type_}


def strides_of(*tensors: str) -> list[str]:
    return [
        f"{tensor}.stride.{dimension}"
        for tensor in tensors
        for dimension in (("batch", "head") if tensor == "lse" else ("batch", "head", "row"))
    ]


def entry(
    role: str, grid: list[str], block: int, parameters: list[str], **more: Any
) -> dict[str, Any]:
    return {
        "name": f"attention_bwd_{role}",
        "role": role,
        "when": "always",
        "grid": grid,
        "block": [block, 1, 1],
        "cluster": [1, 1, 1],
        "shared_bytes": 0,
        "cooperative": False,
        "registers": None,
        "parameters": [parameter(name) for name in parameters],
        **more,
    }


def tensor_spec(name: str) -> dict[str, Any]:
    on_kv = name in ON_KV
    shape = ["batch", "kv_heads" if on_kv else "heads", "kv_rows" if on_kv else "q_rows"]
    is_lse = name == "lse"
    return {
        "name": name,
        "element": "f32" if is_lse else "bf16",
        "access": "write" if name in WRITES else "read",
        "shape": shape if is_lse else [*shape, "128"],
        "alignment": 4 if is_lse else 16,
        "stride_multiple": 1 if is_lse else 8,
    }


def manifest() -> dict[str, Any]:
    rows = "batch*heads*q_tiles*64"
    region = {"alignment": 128, "initial": "any", "after": "any"}
    sizes = list(SIZES)
    return {
        "version": 1,
        "name": "attention_bwd",
        "ptx": {"file": "kernel.ptx", "sha256": "", "isa": "8.0", "target": "sm_90a"},
        "certificate": "sha256:" + "0" * 64,
        "program": {
            "element": "bf16",
            "head_dim": 128,
            "head_dim_v": 128,
            "mask": "causal",
            "tiles": {"q": 64, "kv": 128},
            "kind": "shift",
            "level": "run",
            "deterministic": True,
            "parts": 1,
            "workers": 132,
            "width": 132,
            "min_workers": 132,
        },
        "sizes": {
            name: {"min": 1, "max": 65535 if name in ("batch", "heads", "kv_heads") else 2**24}
            for name in SIZES
        },
        "constraints": [
            {
                "expression": "heads % kv_heads",
                "equals": 0,
                "message": "heads must be a multiple of kv_heads",
            }
        ],
        "derived": {"q_tiles": "ceildiv(q_rows, 64)", "kv_tiles": "ceildiv(kv_rows, 128)"},
        "tensors": [tensor_spec(name) for name in (*READS, *WRITES)],
        "workspace": [
            {"name": "descriptors", "bytes": "768", **region},
            {"name": "lse2", "bytes": f"4*{rows}", **region},
            {"name": "delta", "bytes": f"4*{rows}", **region},
            {"name": "dq_sum", "bytes": f"4*{rows}*128", **region},
            {
                "name": "turns",
                "bytes": "4*batch*heads*q_tiles",
                "alignment": 16,
                "initial": "zero",
                "after": "zero",
            },
            {
                "name": "order",
                "bytes": "4*(align(9+workers, 8) + 8*batch*kv_heads*kv_tiles + 4*q_tiles*kv_tiles)",
                "alignment": 16,
                "initial": "entry",
                "after": "any",
            },
        ],
        "order": {"source": "entry", "entry": "attention_bwd_order"},
        "entries": [
            entry(
                "order",
                ["workers", "1", "1"],
                1024,
                ["workspace.order", *sizes, "workers", "width"],
                when="sizes-change",
            ),
            entry(
                "prepare",
                ["q_tiles", "heads", "batch"],
                128,
                [
                    "q",
                    "k",
                    "v",
                    "do",
                    "o",
                    "lse",
                    "dk",
                    "dv",
                    *strides_of("q", "k", "v", "do", "o", "lse", "dk", "dv"),
                    *sizes,
                    "workspace.descriptors",
                    "workspace.lse2",
                    "workspace.delta",
                ],
            ),
            entry(
                "main",
                ["workers", "1", "1"],
                384,
                [
                    "workspace.descriptors",
                    "workspace.lse2",
                    "workspace.delta",
                    "workspace.dq_sum",
                    "workspace.turns",
                    "workspace.order",
                    *sizes,
                    "scale",
                ],
                shared_bytes=230000,
                cooperative=True,
            ),
            entry(
                "convert",
                ["q_tiles", "heads", "batch"],
                256,
                ["dq", *strides_of("dq"), *sizes, "scale", "workspace.dq_sum", "workspace.turns"],
                overlaps=True,
            ),
        ],
    }


def with_table(raw: dict[str, Any], table: bytes) -> dict[str, Any]:
    """The same kernel with an order from the file kernel.order, for 4096 rows."""
    raw["order"] = {
        "source": "file",
        "file": "kernel.order",
        "bytes": len(table),
        "sha256": hashlib.sha256(table).hexdigest(),
        "command": "dash-opt --dash-to-ptx=...",
    }
    raw["workspace"][-1] |= {"bytes": str(len(table)), "initial": "file"}
    raw["entries"] = raw["entries"][1:]
    raw["sizes"]["q_rows"] = raw["sizes"]["kv_rows"] = {"value": 4096}
    return raw


def ptx_of(raw: dict[str, Any]) -> bytes:
    """PTX that has the manifest's entries, and nothing in them."""
    text = ".version 8.0\n.target sm_90a\n.address_size 64\n"
    for entry in raw["entries"]:
        lines = [
            f"\t.param .{PTX_TYPES[item['type']]} {entry['name']}_param_{i}"
            for i, item in enumerate(entry["parameters"])
        ]
        text += f".visible .entry {entry['name']}(\n" + ",\n".join(lines) + "\n)\n{\n\tret;\n}\n"
    return text.encode()


def write(
    folder: Path,
    change: Callable[[dict[str, Any]], Any] | None = None,
    table: bytes = b"",
    *,
    name: str = "kernel",
    is_wrong: bool = False,
) -> Path:
    """A manifest and its PTX in `folder`; returns the manifest's path. Where the change is wrong,
    the PTX is that of the manifest before."""
    folder.mkdir(parents=True, exist_ok=True)
    raw = manifest()
    if table:
        with_table(raw, table)
        raw["order"]["file"] = f"{name}.order"
        (folder / f"{name}.order").write_bytes(table)
    if change and not is_wrong:
        change(raw)
    ptx = ptx_of(raw)
    (folder / f"{name}.ptx").write_bytes(ptx)
    raw["ptx"] |= {"file": f"{name}.ptx", "sha256": hashlib.sha256(ptx).hexdigest()}
    if change and is_wrong:
        change(raw)
    path = folder / f"{name}.json"
    path.write_text(json.dumps(raw), encoding="utf-8")
    return path


def tensors(
    batch: int = 2,
    heads: int = 4,
    kv_heads: int = 4,
    q_rows: int = 256,
    kv_rows: int = 256,
    **changed: Any,
) -> dict[str, Any]:
    """Contiguous tensors, one megabyte-aligned piece of pretended memory each; `changed` replaces
    some."""
    found: dict[str, Any] = {}
    for i, name in enumerate((*READS, *WRITES)):
        shape = (batch, kv_heads if name in ON_KV else heads, kv_rows if name in ON_KV else q_rows)
        shape = shape if name == "lse" else (*shape, 128)
        found[name] = Tensor(
            (i + 1) << 40, shape, contiguous(shape), "f32" if name == "lse" else "bf16"
        )
    return found | changed


def refused(call: Callable[[], Any], kind: type[Exception]) -> str:
    """The message with which a call fails; it must fail so."""
    try:
        call()
    except kind as error:
        return str(error)
    raise AssertionError(f"expected a {kind.__name__}, found none")
