"""Compiles forwards of all kinds, and has tools/scripts/check_ptxas.py look at each: no warning, no
serialized product, and nothing spilled but what MOST_SPILLED says, for the reason beside it."""

from __future__ import annotations

import argparse
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools" / "scripts"), str(ROOT / "python")]

from dash_attn.kernel.orders import q_tiles_of  # noqa: E402
from dash_attn.kernel.problem import (  # noqa: E402
    ANY_SIZES,
    CAUSAL,
    FULL,
    ROW,
    Wanted,
    program_of,
)

DIMS = (64, 64), (96, 96), (128, 128), (192, 128), (192, 192), (256, 256)
MASKS = {"causal": CAUSAL, "full": FULL, "window": (255, 3)}
PIECE = 2688  # a multiple of every kv tile that these head dims have
OF_EVERY_HEAD_DIM: dict[str, dict] = {"table": {"sizes": ANY_SIZES}, "list": {"is_list": True}}
OF_SOME: dict[str, dict] = {
    "formulas": {},
    "cut": {"cut": PIECE},
    "cut-list": {"cut": PIECE, "is_list": True},
    "fold-list": {"fold": 4, "is_list": True},
    "fold-cut": {"fold": 4, "cut": PIECE},
    "softcap": {"softcap": 30.0},
    "sink": {"has_sink": True},
    "sink-softcap-list": {"has_sink": True, "softcap": 30.0, "is_list": True},
    "unrounded": {"is_unrounded": True},
    "f16": {"element": "f16"},
}
SOME = (64, 64), (128, 128), (192, 128)
MOST_SPILLED = 16  # bytes of stack, of stores and of loads of a thread of the main kernel
REASON = (
    "warps that load have 24 registers, for places in the order; a word of a consumer between items"
)


def forward(dims: tuple[int, int], mask: str, fields: dict) -> Wanted:
    of_row = Wanted(*dims, "bf16", MASKS[mask], level=ROW, is_forward=True)
    return of_row._replace(**fields)


def named() -> dict[str, Wanted]:
    found = {}
    for dims in DIMS:
        name = "x".join(map(str, dims))
        for variant, fields in OF_EVERY_HEAD_DIM.items():
            for mask in MASKS:
                one = forward(dims, mask, fields)
                for q_tile in q_tiles_of(one):
                    found[f"{name}-{mask}-{variant}-{q_tile}"] = one._replace(q_tile=q_tile)
        for variant, fields in OF_SOME.items() if dims in SOME else ():
            found[f"{name}-{variant}"] = forward(dims, "causal", fields)
    return found


class Gate:
    def __init__(self, arguments: argparse.Namespace):
        self.scratch, self.ptxas = Path(arguments.tmp), arguments.ptxas
        self.scratch.mkdir(parents=True, exist_ok=True)

    def check(self, name: str, one: Wanted) -> str:
        """What is wrong with it, or nothing."""
        text, options, _ = program_of(one)
        output = self.scratch / name
        compiled = subprocess.run(
            ["dash-opt", "-", f"--dash-to-ptx={options} output={output}", "-o", "/dev/null"],
            input=text,
            capture_output=True,
            text=True,
            check=False,
        )
        if compiled.returncode:
            return f"{name}: {compiled.stderr[:1000]}"
        command = [sys.executable, str(ROOT / "tools/scripts/check_ptxas.py"), f"{output}.ptx"]
        command += ["--ptxas", self.ptxas]
        command += ["--allow-spills", f"attention_fwd_main={MOST_SPILLED}:{REASON}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return f"{name}:\n{done.stdout}{done.stderr}" if done.returncode else ""

    def run(self) -> int:
        every = named()
        with ThreadPoolExecutor(2) as pool:
            failures = [text for text in pool.map(self.check, every, every.values()) if text]
        print(f"{len(every)} forwards")
        print("\n".join(failures), file=sys.stderr)
        return 1 if failures else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ptxas", required=True)
    parser.add_argument("--tmp", required=True, help="a folder")
    return Gate(parser.parse_args()).run()


if __name__ == "__main__":
    sys.exit(main())
