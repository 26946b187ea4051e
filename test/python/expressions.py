# RUN: %python %s %t
# REQUIRES: python, plain-libdash
"""Expressions of a manifest: their values, by the bytes of a region, and what is not of the
language."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))

from fixtures import refused, write  # noqa: E402
from stub_driver import StubDriver  # noqa: E402

from dash_attn import Kernel, ManifestError  # noqa: E402

TMP = Path(sys.argv[1])
SIZES = {"batch": 2, "heads": 16, "kv_heads": 16, "q_rows": 1000, "kv_rows": 1}
PLACE = "manifest.workspace[0].bytes"
RIGHT = {
    "17": 17,
    "batch*heads*q_tiles*64*4": 131072,
    "ceildiv(q_rows, 64)": 16,
    "ceildiv(960, 64)": 15,
    "align(9+workers, 8)": 144,
    "align(136, 8)": 136,
    "max(3, 4) - min(batch, heads)": 2,
    "heads % 3": 1,
    "(batch + heads) * 2": 36,
    "10 - 3 - 2": 5,
    "2 + 3 * 4": 14,
    "7 % 4 * 2": 6,
    "(0 - 7) % 4": 1,
    "0 - ceildiv(0 - 7, 2)": 3,
    "9223372036854775806 + 1 - 9223372036854775800": 7,
    "+".join(["1"] * 60): 60,
    768: 768,
    "ceildiv(align(q_rows, 128), min(64, 128))": 16,
}
LIMITS = (
    "may have whole numbers, names, + - * %, parentheses and ceildiv, align, min, max of two values"
)
WRONG = {
    "batch *": f"'batch *' {LIMITS}, found its end",
    "__import__('os')": f"'__import__('os')' {LIMITS}, found '__import__('",
    "batch / 2": f"'batch / 2' {LIMITS}, found '/ 2' behind it",
    "batch ** heads": f"'batch ** heads' {LIMITS}, found '* heads'",
    "2.5": f"'2.5' {LIMITS}, found '.5' behind it",
    "batch.real": f"'batch.real' {LIMITS}, found '.real' behind it",
    "min(1, 2, 3)": f"'min(1, 2, 3)' {LIMITS}, found ', 3)' where ')' belongs",
    "min(1)": f"'min(1)' {LIMITS}, found ')' where a second value belongs",
    "(1": f"'(1' {LIMITS}, found '' where ')' belongs",
    "True": "'True' uses 'True', which is no size",
    "9" * 1000: f"'{'9' * 1000}' {LIMITS}, found '{'9' * 1000}', which has more than 64 bits",
    "1" + " " * 1024: "expected an expression of at most 1024 characters, found 1025",
    "(" * 400 + "1" + ")" * 400: "expected an expression of at most 64 levels, found more",
    "+".join(["1"] * 102): "expected an expression of at most 64 levels, found more",
    "batch % 0": "'batch % 0' divides by zero",
    "9223372036854775807 + 1": "'9223372036854775807 + 1' leaves the range of 64 bits",
    "0 - 9223372036854775807 - 2": "'0 - 9223372036854775807 - 2' leaves the range of 64 bits",
}


def region_of(expression: str | int) -> int:
    kernel = Kernel.load(
        write(TMP, lambda raw: raw["workspace"][0].update(bytes=expression)), DRIVER
    )
    return kernel.reserve(**SIZES).region("descriptors")[1]


def main() -> None:
    for text, value in RIGHT.items():
        assert region_of(text) == value, (text, region_of(text))
    for text, message in WRONG.items():
        found = refused(lambda text=text: region_of(text), ManifestError)
        assert found.removeprefix(f"{TMP}/kernel.json: ") == f"{PLACE}: {message}", found


DRIVER = StubDriver()
main()
