# RUN: %python %s
# REQUIRES: python
"""Expressions of a manifest: their values, and what is not of the language."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "lib"))

from fixtures import refused  # noqa: E402  (finds dash_attn)

from dash_attn import ManifestError  # noqa: E402
from dash_attn.expressions import Expression  # noqa: E402

VALUES = {"batch": 2, "heads": 16, "q_rows": 1000, "q_tiles": 16, "workers": 132}
RIGHT = {"17": 17, "batch*heads*q_tiles*64*4": 131072, "ceildiv(q_rows, 64)": 16, "ceildiv(960, 64)": 15,
         "align(9+workers, 8)": 144, "align(136, 8)": 136, "min(batch, heads) - max(3, 4)": -2, "heads % 3": 1,
         "(batch + heads) * 2": 36, "9223372036854775806 + 1": 2**63 - 1, "+".join(["1"] * 101): 101, "ceildiv(align(q_rows, 128), min(64, 128))": 16}
LIMITS = "may have whole numbers, names, + - * %, parentheses and ceildiv, align, min, max of two values"
WRONG = {
    "batch *": "here: cannot read the expression 'batch *'",
    "__import__('os')": f"here: '__import__('os')' {LIMITS}, found '__import__('os')'",
    "batch / 2": f"here: 'batch / 2' {LIMITS}, found 'batch / 2'",
    "batch ** heads": f"here: 'batch ** heads' {LIMITS}, found 'batch ** heads'",
    "2.5": f"here: '2.5' {LIMITS}, found '2.5'",
    "True": f"here: 'True' {LIMITS}, found 'True'",
    "batch.real": f"here: 'batch.real' {LIMITS}, found 'batch.real'",
    "min(1, 2, 3)": f"here: 'min(1, 2, 3)' {LIMITS}, found 'min(1, 2, 3)'",
}
LARGE = {
    "9223372036854775807 + 1": "here: '9223372036854775807 + 1' is a number of more than 64 bits",
    "0 - 9223372036854775807 - 1": "here: '0 - 9223372036854775807 - 1' is a number of more than 64 bits",
    "9" * 1000: f"here: '{'9' * 1000}' is a number of more than 64 bits",
    2**70: "here: expected a number of at most 64 bits, found one of 71",
    "1" + " " * 1000: "here: expected an expression of at most 1000 characters, found 1001",
    "+".join(["1"] * 102): "here: expected at most 100 operations, found 101",
}


def main() -> None:
    for text, value in RIGHT.items():
        assert Expression(text)(VALUES) == value, (text, Expression(text)(VALUES))
    assert Expression("ceildiv(q_rows, 64) * batch").names == {"q_rows", "batch"}
    assert Expression(768)({}) == 768
    for text, message in WRONG.items():
        found = refused(lambda text=text: Expression(text, "here"), ManifestError)
        assert found == message, found
    found = refused(lambda: Expression("rows + batch", "here")({"batch": 1}), ManifestError)
    assert found == "here: 'rows + batch' uses 'rows', known are batch", found
    found = refused(lambda: Expression("batch % 0", "here")(VALUES), ManifestError)
    assert found == "here: 'batch % 0' divides by zero", found
    found = refused(lambda: Expression("(" * 400 + "1" + ")" * 400, "here"), ManifestError)
    assert found.startswith("here: cannot read the expression"), found
    for text, message in LARGE.items():
        found = refused(lambda text=text: Expression(text, "here")(VALUES), ManifestError)
        assert found == message, found


main()
