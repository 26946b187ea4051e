"""What will serve this machine, and a model: python3 -m dash_attn.doctor [CALL OPTIONS |
--config MODEL | --program FILE] [--json] [--report FILE]

Says which GPU, driver, assemblers, caches and versions there are; which calls are served, by
which kernels, with which certificate, or what refuses them; and what a first call costs. A call
is that of the options, or those of a model's layers: MODEL is a config.json of transformers, a
folder with one, or the name of a model that transformers has downloaded; nothing is downloaded
here. Needs no GPU and no framework. What is planned is kept in the cache, as by a first call.

--report writes a .zip for a bug report: programs, manifests, certificates, versions, and a script
that does the same again. It holds no names of users and machines, no paths, and of the environment
only what --json lists.

The status is 0 where everything is served here; 1 where a call is refused, or no GPU of this
machine can run it (--gpu CAPABILITY asks for another machine's); 2 for trouble: wrong arguments,
a file that cannot be read.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import ArgumentError, LibraryError
from ..kernel.assembler import find_assemblers
from ..kernel.commands import DIFFERS, GOOD, parser_of, run
from ..kernel.problem import CAUSAL, ELEMENTS, FULL, LEVELS, ROW, Window
from . import machine, report
from .calls import Answer, Call, answer, of_program
from .models import calls_of

__all__ = ["main"]


def _mask(text: str) -> Window:
    sides = {"full": FULL, "causal": CAUSAL}.get(text)
    if sides is None:
        try:
            left, right = map(int, text.split(","))
        except ValueError:
            raise argparse.ArgumentTypeError(
                "expected full, causal, or LEFT,RIGHT of a window, -1 where there is no bound,"
                f" found {text!r}"
            ) from None
        sides = left, right
    return sides


def _count(text: str) -> int:
    if not text.isdigit() or not 0 < int(text) < 2**31:
        raise argparse.ArgumentTypeError(f"expected a whole number above 0, found {text!r}")
    return int(text)


def _capability(text: str) -> int:
    major, _, minor = text.partition(".")
    if not (major.isdigit() and (minor or "0").isdigit()):
        raise argparse.ArgumentTypeError(
            f"expected a compute capability such as 9.0, found {text!r}"
        )
    return 10 * int(major) + int(minor or 0)


def _parser() -> argparse.ArgumentParser:
    parser, example = parser_of("doctor", __doc__), Call()
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--config", metavar="MODEL", help="the calls of this model's layers")
    what.add_argument("--program", type=Path, metavar="FILE", help="a program of your own, as MLIR")
    parser.add_argument("--options", default="", help="of --program: those of --dash-to-ptx")
    call = parser.add_argument_group("a call, or what a model's configuration does not say")
    for name, about in (
        ("head-dim", "of q and k"),
        ("head-dim-v", "of v (default: that of q)"),
        ("heads", "of q"),
        ("kv-heads", "of k and v"),
        ("rows", "of q"),
        ("kv-rows", "of k and v (default: those of q)"),
        ("batch", "how many"),
        ("sequences", "packed ones, whose lengths come with each call (default: none, a batch)"),
    ):
        call.add_argument(f"--{name}", type=_count, help=about)
    call.add_argument(
        "--mask", dest="window", type=_mask, help="full, causal, or LEFT,RIGHT of a window"
    )
    call.add_argument("--dtype", choices=ELEMENTS, help=f"(default: {example.dtype})")
    call.add_argument("--level", choices=(*LEVELS, ROW), help="of determinism (default: run)")
    call.add_argument("--softcap", type=float, help="at which scores are capped")
    call.add_argument(
        "--sinks",
        dest="has_sink",
        action="store_const",
        const=True,
        help="heads have a score without a value",
    )
    parser.add_argument(
        "--gpu",
        type=_capability,
        metavar="CAPABILITY",
        help="ask for a machine with such a GPU, as 9.0, in place of this one",
    )
    parser.add_argument(
        "--assemble",
        action="store_true",
        help="also assemble each kernel by the first ptxas, and say what it says",
    )
    parser.add_argument("--json", action="store_true", help="say it as JSON")
    parser.add_argument("--report", type=Path, metavar="FILE", help="write a .zip for a bug report")
    return parser


def _answers(
    arguments: argparse.Namespace, found: dict[str, Any], notes: list[str]
) -> list[Answer]:
    given = {
        name: value
        for name in Call.__dataclass_fields__
        if (value := getattr(arguments, name, None)) is not None
    }
    if arguments.program:
        if given:
            raise ArgumentError(
                f"--program: expected no options of a call beside it, found {', '.join(given)}; the"
                " program says them"
            )
        return [of_program(arguments.program, arguments.options)]
    if arguments.options:
        raise ArgumentError("--options: expected --program beside it, found none")
    if arguments.sequences and given.get("batch", 1) != 1:
        raise ArgumentError(
            "--batch: expected none beside --sequences, whose rows are those of all, found"
            f" {arguments.batch}"
        )
    base = Call(**({"kv_heads": given["heads"]} if "heads" in given else {}) | given)
    calls = [base]
    if arguments.config:
        calls, told = calls_of(arguments.config, base)
        calls = [replace(call, **given) for call in calls]
        notes += told
    ptxas = next(iter(find_assemblers()), "") if arguments.assemble else ""
    if arguments.assemble and not ptxas:
        raise ArgumentError("--assemble: expected a ptxas on PATH or in DASH_PTXAS, found none")
    if arguments.gpu is not None:
        return [answer(call, arguments.gpu, ptxas=ptxas) for call in calls]
    gpu = next(
        (gpu for gpu in found["gpus"] if not gpu["refused"]), next(iter(found["gpus"]), None)
    )
    if gpu is None:
        return [answer(call, ptxas=ptxas) for call in calls]
    return [answer(call, _capability(gpu["capability"]), gpu["name"], ptxas) for call in calls]


def _consult(arguments: argparse.Namespace) -> int:
    found, notes, answers = machine.look(), list[str](), list[Answer]()
    if found["dash"]:
        answers = _answers(arguments, found, notes)
    elif arguments.config or arguments.program:
        raise LibraryError(found["missing"][0])
    if arguments.json:
        print(
            json.dumps(
                {"machine": found, "calls": [one.as_json() for one in answers], "notes": notes},
                indent=1,
            )
        )
    else:
        print(
            "\n\n".join(
                [
                    machine.text_of(found),
                    *map(str, answers),
                    *(f"{'note':<12} {note}" for note in notes),
                ]
            )
        )
    if arguments.report:
        report.write(arguments.report, found, answers)
        print(f"{'report':<12} {arguments.report}", flush=True) if not arguments.json else None
    is_served = answers and not any(one.refused for one in answers)
    return GOOD if is_served and (arguments.gpu is not None or not found["missing"]) else DIFFERS


def main(argv: list[str] | None = None) -> int:
    """The command; argv without its name, that of the process if None. Returns the exit status."""
    arguments = _parser().parse_args(argv)
    return run("doctor", lambda: _consult(arguments))
