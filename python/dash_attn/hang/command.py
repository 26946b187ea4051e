"""python3 -m dash_attn.hang"""

from __future__ import annotations

import sys
from pathlib import Path

from ..errors import ArgumentError
from ..kernel.commands import DIFFERS, GOOD, parser_of
from ..support.files import read_bytes, read_text, write_text
from .looks import MOST_BYTES, Dump
from .picture import drawn
from .ranks import explain_ranks, load


def main() -> int:
    parser = parser_of("hang", sys.modules["dash_attn.hang"].__doc__)
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help=(
            "a .zip of hang.watch; or a workspace, and the kernel's manifest; or reports, .json, of"
            " several ranks"
        ),
    )
    parser.add_argument(
        "--sizes",
        default="",
        help=(
            "of the launch, such as batch=1,heads=8,kv_heads=8,q_rows=4096,kv_rows=4096; beside a"
            " workspace"
        ),
    )
    parser.add_argument(
        "--order", type=Path, help="the order's bytes, where they are not behind the workspace"
    )
    parser.add_argument(
        "--before",
        type=Path,
        metavar="FILE",
        help="an earlier dump of the same launch: says whether it moves",
    )
    parser.add_argument("--json", action="store_true", help="say it for programs")
    parser.add_argument(
        "--svg", type=Path, metavar="FILE", help="draw which worker waits for which"
    )
    arguments = parser.parse_args()
    files = [Path(name) for name in arguments.files]
    if all(file.suffix == ".json" for file in files):
        lines = explain_ranks([load(file) for file in files])
        print("\n".join(lines))
        return DIFFERS if lines else GOOD
    look = _dump(files, arguments.sizes, arguments.order).look()
    before = (
        _dump([arguments.before, *files[1:]], arguments.sizes, arguments.order).look()
        if arguments.before
        else None
    )
    print(look.json() if arguments.json else look.describe(before))
    if arguments.svg:
        write_text(
            arguments.svg, drawn(look.data, f"which worker waits for which: {files[0].name}")
        )
    return GOOD if look.is_done or before and before.given != look.given else DIFFERS


def _dump(files: list[Path], sizes: str, order: Path | None) -> Dump:
    if files[0].suffix == ".zip":
        if len(files) > 1 or sizes or order:
            raise ArgumentError(
                f"{files[0]}: expected a dump of hang.watch alone, which has its manifest, sizes"
                " and order; found more beside it"
            )
        return Dump.load(files[0])
    if len(files) != 2 or not sizes:
        raise ArgumentError(
            f"{files[0]}: expected WORKSPACE MANIFEST --sizes SIZES, or a .zip of hang.watch, found"
            f" {len(files)} file{'s' * (len(files) != 1)}{'' if sizes else ' and no sizes'}"
        )
    regions = {"workspace": read_bytes(files[0], MOST_BYTES)}
    if order is not None:
        regions["order"] = read_bytes(order, MOST_BYTES)
    return Dump(read_text(files[1]), _sizes(sizes), regions)


def _sizes(text: str) -> dict[str, int]:
    found = {}
    for part in text.split(","):
        name, equals, number = part.partition("=")
        if not equals or not number.isdecimal() or len(number) > 12:
            raise ArgumentError(f"--sizes: expected NAME=NUMBER,..., found '{part[:60]}'")
        found[name] = int(number)
    return found
