# RUN: %torch_python %s %dash_src
# REQUIRES: torch, plain-libdash
"""Some models beside eager, in all cases: served and equal, or refused, and what the page says; a
mask that is not heeded is found."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(sys.argv[1])
sys.path[:0] = [str(ROOT / name) for name in ("test/python/lib", "test/Device", "tools/scripts")]

import fixtures  # noqa: E402, F401
import transformers  # noqa: E402

transformers.logging.set_verbosity_error()

import compare_models  # noqa: E402
import record_models  # noqa: E402

from dash_attn.transformers import masks  # noqa: E402

# A window that is not handed on, positions that are not handed on or of three rows, windows to both
# sides, a bias, and an encoder with a decoder.
MODELS = (
    ("causal", "llama"),
    ("causal", "qwen2_moe"),
    ("causal", "persimmon"),
    ("image and text", "qwen2_5_vl"),
    ("masked", "modernbert"),
    ("seq2seq", "bart"),
    ("seq2seq", "t5"),
    ("causal", "bloom"),
    ("image", "vit"),
)


def main() -> None:
    compare_models.on_cpu()
    rows = [compare_models.compare(kind, model, "cpu") for kind, model in MODELS]
    assert all("cases" in row for row in rows), rows
    assert not compare_models.faults(rows), compare_models.faults(rows)
    page = (ROOT / record_models.PAGE).read_text(encoding="utf-8")
    for row in rows:
        line = f"| {row['type']} | {row['kind']} | {' | '.join(record_models.cells(row))} |"
        assert line in page, line
    states = {
        (row["type"], name): state for row in rows for name, (state, _) in row["cases"].items()
    }
    assert (
        states["llama", "plain"]
        == states["qwen2_moe", "plain"]
        == states["modernbert", "plain"]
        == states["llama", "static, 1"]
        == "served"
    )
    assert (
        states["llama", "padding"]
        == states["persimmon", "packed, cache"]
        == states["qwen2_5_vl", "packed, 3 rows"]
        == "refused"
    )

    meaning = masks.read
    masks.read = lambda function: masks.Seen(right=meaning(function).right)
    (fault,) = [
        one
        for one in compare_models.faults([compare_models.compare("causal", "qwen2_moe", "cpu")])
        if ", plain:" in one
    ]
    assert fault.startswith("qwen2_moe (causal), plain: different: "), fault


main()
