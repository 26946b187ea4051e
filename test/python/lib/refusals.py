"""Arguments that every launcher refuses, and its messages: those of Python and those of the C API
are the same."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fixtures import tensors

MIB = 1 << 20


def with_(name: str, **changed: Any) -> dict[str, Any]:
    given = tensors()
    return given | {name: replace(given[name], **changed)}


REFUSED = (
    (with_("k", dtype="f16"), "k: expected elements of bf16, found f16"),
    (with_("lse", dtype="bf16"), "lse: expected elements of f32, found bf16"),
    (with_("v", pointer=1 << 60), "v: expected memory of device 0, found memory of device 1"),
    (
        with_("do", shape=(2, 4, 256), strides=(1, 1, 1)),
        (
            "do: expected the dimensions [batch, heads, q_rows, 128], found "
            "shape (2, 4, 256) with 3 strides"
        ),
    ),
    (
        with_("k", shape=(3, 4, 256, 128)),
        (
            "k: expected batch = 2, found 3 in shape (3, 4, 256, 128) of [batch, "
            "kv_heads, kv_rows, 128]"
        ),
    ),
    (
        with_("q", shape=(2, 4, 256, 64)),
        "q: expected 128, found 64 in shape (2, 4, 256, 64) of [batch, heads, q_rows, 128]",
    ),
    (tensors(kv_heads=3), "heads must be a multiple of kv_heads; found heads = 4, kv_heads = 3"),
    (tensors(q_rows=0), "'attention_bwd' serves q_rows = 1 to 16777216, found 0"),
    (tensors(batch=65536), "'attention_bwd' serves batch = 1 to 65535, found 65536"),
    (
        with_("q", pointer=MIB + 8),
        "q: expected an address that is a multiple of 16 bytes, found 0x100008",
    ),
    (
        with_("lse", pointer=MIB + 2),
        "lse: expected an address that is a multiple of 4 bytes, found 0x100002",
    ),
    (with_("o", pointer=0), "o: expected memory, found a null pointer"),
    (
        with_("v", strides=(131072, 32768, 1, 256)),
        (
            "v: expected the innermost dimension to be contiguous, found a stride of 256 "
            "elements; pass a contiguous copy"
        ),
    ),
    (
        with_("q", strides=(131072 + 4, 32768, 128, 1)),
        (
            "q: expected strides that are positive multiples of 8 elements, found "
            "(131076, 32768, 128, 1) for shape (2, 4, 256, 128)"
        ),
    ),
    (
        with_("do", strides=(0, 32768, 128, 1)),
        (
            "do: expected strides that are positive multiples of 8 elements, found "
            "(0, 32768, 128, 1) for shape (2, 4, 256, 128)"
        ),
    ),
    (
        with_("dk", strides=(32768, 32768, 128, 1)),
        (
            "dk: elements of an output share memory: strides (32768, 32768, 128, 1) for "
            "shape (2, 4, 256, 128)"
        ),
    ),
    (with_("dq", pointer=tensors()["o"].pointer + 1024), "dq: this output shares memory with o"),
    (with_("dv", pointer=tensors()["dk"].pointer), "dk: this output shares memory with dv"),
)
