"""What libFuzzer begins with at each door: the inputs of the tests and what dash-opt writes, and
what earlier runs have kept."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import mutations
import numpy as np
from tool import Tool

KEPT = Path(__file__).resolve().parents[1] / "Inputs"
READERS = ("module", "attributes", "order", "costs", "npy", "manifest", "sizes", "plan")
PASSES = ("passes", "options")
DOORS = READERS + PASSES
SIZES = (
    "q:1024,kv:1024,batch:1,heads:16,kv-heads:4",
    "q:1000+3000,kv:1000+3000",
    "heads:4",
    "q:1,kv:2147483647",
    "",
)


def seeds(root: Path, tool: Tool) -> dict[str, list[bytes]]:
    """By door."""
    corpus = mutations.Corpus.of(root, tool)
    texts = [text.encode("utf-8", "surrogateescape") for text in corpus.inputs]
    found = {
        "module": texts,
        "attributes": [
            bytes([code, *range(first, first + 8)]) for code in range(4) for first in range(12)
        ],
        "passes": [*in_rooms(root)],
        "order": [text.encode() for text in corpus.orders],
        "plan": [(root / "test/World/Inputs/plan.json").read_bytes()],
        "costs": [(root / "dialects/dash/Schedule/costs-h200.json").read_bytes()],
        "npy": [
            array(type_, shape)
            for type_ in ("<u2", "<f2", "<f4")
            for shape in ((), (3,), (2, 0, 4), (1, 2, 3, 4))
        ],
        "manifest": manifests(root, tool),
        "sizes": [text.encode() for text in SIZES],
        "options": options(root),
    }
    for door in DOORS:
        kept = KEPT / f"{door}.json"
        found[door] += (
            [text.encode("latin-1") for text in json.loads(kept.read_text(encoding="utf-8"))]
            if kept.exists()
            else []
        )
    return found


def words(root: Path, tool: Tool) -> list[str]:
    """What dictionaries have: words of the language and numbers at the ends of ranges."""
    known = {
        word
        for text in mutations.Corpus.of(root, tool).inputs
        for word in mutations.TOKEN.findall(text)
        if re.fullmatch(r"[\w.]{3,}|#dash\.\w+|!dash\.\w+", word)
    }
    return sorted(known)[:2000] + mutations.NUMBERS


def in_rooms(root: Path):
    """Inputs of the tests of a pass behind the number of its pipeline."""
    rooms = re.findall(
        r'^    "(.*)",$', (root / "test/Fuzz/lib/passes.cpp").read_text(encoding="utf-8"), re.M
    )
    for path in sorted((root / "test").rglob("*.mlir")):
        name = "dash-" + path.stem.split("-invalid")[0]
        numbers = [i for i, room in enumerate(rooms) if re.search(rf"\b{name}\b(?!-)", room)]
        for piece in (
            re.split(r"^// -----.*$", path.read_text(encoding="utf-8"), flags=re.M)
            if numbers
            else ()
        ):
            yield bytes(numbers[:1]) + re.sub(r"^\s*//.*\n", "", piece, flags=re.M).encode()
    for number in range(len(rooms)):
        yield bytes([number]) + (root / "dialects/dash/examples/bwd-causal.mlir").read_bytes()


def array(type_: str, shape: tuple[int, ...]) -> bytes:
    file = io.BytesIO()
    np.save(file, np.zeros(shape, type_))
    return file.getvalue()


def manifests(root: Path, tool: Tool) -> list[bytes]:
    found = []
    for kind in ("shift", "synthesized sizes=q:256,kv:256,batch:1,heads:2,kv-heads:2"):
        output = tool.path("seed")
        done = tool.run(
            str(root / "dialects/dash/examples/bwd-causal.mlir"),
            f"--dash-to-ptx=kind={kind} workers=4 output={output}",
            "-o",
            "/dev/null",
        )
        if done.code != 0:
            raise RuntimeError("\n".join(done.told("no manifest to start from")))
        found.append(output.with_suffix(".json").read_bytes())
    return found


def options(root: Path) -> list[bytes]:
    """Pass options of the tests, as a pipeline has them."""
    texts = "\n".join(
        path.read_text(encoding="utf-8") for path in sorted((root / "test").rglob("*.mlir"))
    )
    passes = set(re.findall(r"--(dash-[a-z-]+)(?:='([^'\n]*)'|=(\S+))?", texts))
    return sorted(
        f"{name}{{{quoted or bare}}}".encode() if quoted or bare else name.encode()
        for name, quoted, bare in passes
    )
