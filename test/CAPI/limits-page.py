# RUN: env PYTHONPATH=%dash_src/python %python %s --root %dash_src | FileCheck %s
# REQUIRES: python, plain-libdash
# RUN: sed 's/multiples of 8 up to 256/multiples of 4 up to 512/; s/serve q_rows up to/serve rows up to/' %dash_src/dialects/dash/docs/limits.md > %t.md
# RUN: not env PYTHONPATH=%dash_src/python %python %s --root %dash_src --page %t.md | FileCheck %s --check-prefix=OTHER
# CHECK: {{[0-9]+}} limits, each with a test that gives its message
# OTHER: expected what the library covers,
# OTHER: | head dims of q and k, and of v | multiples of 4 up to 512 |
# OTHER: expected test/Pipeline/check-sizes-invalid to give the message of 'up to 2097152 rows of q', found no "kernels serve rows up to 2097152"
"""The page of limits says what the library says of its coverage; each row's message stands in the
test that it names, and each of the compiler's messages about coverage has a row."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from dash_attn.kernel.coverage import Coverage, limits

LITERALS = re.compile(r'"((?:kernels (?:add|are|cover|of|serve|take) )[^"]*)"')
COVERED = "lib/Pipeline"  # where the compiler says what kernels cover


def stated(one: Coverage) -> str:
    """The table between the marks, from the library's answer."""
    rows = (
        (
            "head dims of q and k, and of v",
            f"multiples of {one.head_dim_multiple} up to {one.head_dim}",
        ),
        ("rows of q and of k, over all sequences of a list", one.rows),
        ("sequences of a launch", one.sequences),
        ("heads of a launch", one.kv_heads),
        ("address of q, k, v, do and o", f"a multiple of {one.alignment} bytes"),
        (
            "strides of q, k, v, do and o, but the innermost",
            f"multiples of {one.stride_multiple} elements",
        ),
        ("GPU", f"compute capability {one.capability // 10}.{one.capability % 10}"),
    )
    return "\n".join(
        ["| what | limit |", "|---|---|", *(f"| {what} | {limit} |" for what, limit in rows)]
    )


def said_by(root: Path, test: str) -> str:
    """The text of a test and of what it reads, with literals of several lines as one."""
    paths = [root / "test" / f"{test}{suffix}" for suffix in (".mlir", ".py", ".test")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in paths if path.exists())
    for name in re.findall(r"^from (\w+) import", text, re.M):
        library = paths[0].parent / "lib" / f"{name}.py"
        text += library.read_text(encoding="utf-8") if library.exists() else ""
    return re.sub(r'"\s*\n\s*f?"', "", text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--page", type=Path)
    arguments = parser.parse_args()
    root, page = arguments.root, arguments.page or arguments.root / "dialects/dash/docs/limits.md"
    page = page.read_text(encoding="utf-8")
    wrong = []
    expected, found = (
        stated(limits()),
        page.partition("<!-- coverage -->")[2].partition("<!-- end coverage -->")[0].strip(),
    )
    if found != expected:
        wrong.append(f"expected what the library covers,\n{expected}\nfound\n{found}")
    rows = re.findall(r'^\| ([^|]+) \| "([^|]+)" \| `([^`|]+)` \|$', page, re.M)
    for what, message, test in rows:
        if message not in said_by(root, test):
            wrong.append(
                f"expected test/{test} to give the message of '{what}', found no \"{message}\""
            )
    for path in sorted((root / COVERED).glob("*.cpp")):
        for literal in LITERALS.findall(path.read_text(encoding="utf-8")):
            if not any(
                message.startswith(literal.rstrip()) or literal.startswith(message)
                for _, message, _ in rows
            ):
                wrong.append(
                    f'expected a row for {path.name}\'s message, found none for "{literal}"'
                )
    print(
        "\n".join(wrong)
        if wrong
        else f"{len(rows)} limits, each with a test that gives its message"
    )
    return len(wrong)


sys.exit(main())
