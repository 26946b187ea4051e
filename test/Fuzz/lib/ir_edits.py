"""One thing of the workers changed between two passes, and the other passes run: dash-opt refuses
it with a place, or the PTX of the main kernel still keeps its order, which `ptx_machine` proves. A
dropped wait that goes unnoticed is what this looks for.

What a kernel computes is not looked at: two factors of a product that are swapped before the passes
are another product.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import ptx_order
from tool import Tool

# Prologue and epilogue alone, one after the other, and walks of the steady state.
WALKS = [[1, 1, 2, 3], [4, 1, 5]]
# Each so many edits are of another program.
EDITS_A_PROGRAM = 50
# Behind these there are instructions, and no part of the compiler knows what a slot was: the
# machine is what finds an edit.
HELD_BY_MACHINE = ("dash-convert-to-nvvm", "dash-lower-roles")
PROGRAMS = [("full", 64), ("causal", 128), ("full", 128), ("causal", 64)]
PIPELINE = "kind=shift q-tile=64 workers=4"

OP = re.compile(r"\s*(?:%[^=]*= )?[a-z_]+\.\w+")
NUMBER = re.compile(r"(?<![\w%#.@])\d+(?![\w.])")
VALUE = re.compile(r"%[\w$.-]+(?:#\d+)?")
WORDS = [
    ("full", "empty"),
    ("warp", "thread", "all"),
    ("producer", "consumer", "reducer"),
    ("operand", "accumulator"),
    ("rows", "columns"),
    ("transpose ", ""),
    ("async ", ""),
]


@dataclass(frozen=True)
class Edit:
    what: str
    line: int
    before: str
    after: str
    text: str


def workers_of(text: str) -> range:
    """The lines inside of dash.workers, or of the main kernel's entry where roles have become
    branches."""
    lines = text.splitlines()
    for begins in (r"\s*dash\.workers\b", r"\s*llvm\.func @\w+_main\("):
        if found := [i for i, line in enumerate(lines) if re.match(begins, line)]:
            indent = re.match(r"\s*", lines[found[0]])[0]
            return range(found[0] + 1, lines.index(indent + "}", found[0]))
    return range(0)


def is_whole(line: str) -> bool:
    """Whether an op begins and ends on this line."""
    return not line.rstrip().endswith("{") and bool(OP.match(line))


def drop(rng: random.Random, lines: list[str], at: int) -> list[str]:
    return [""] if is_whole(lines[at]) else []


def swap(rng: random.Random, lines: list[str], at: int) -> list[str]:
    return (
        [lines[at + 1] + "\n" + lines[at]]
        if is_whole(lines[at]) and is_whole(lines[at + 1])
        else []
    )


def number(rng: random.Random, lines: list[str], at: int) -> list[str]:
    found = list(NUMBER.finditer(lines[at]))
    if not found:
        return []
    one = rng.choice(found)
    value = int(one[0])
    others = {0, 1, 2, value + 1, value - 1, 2 * value, value // 2, 2**31, 2**63 - 1} - {value}
    return [lines[at][: one.start()] + str(rng.choice(sorted(others))) + lines[at][one.end() :]]


def operand(rng: random.Random, lines: list[str], at: int) -> list[str]:
    begin = lines[at].find(" = ") + 1
    found = list(VALUE.finditer(lines[at], begin))
    near = {value for line in lines[max(at - 3, 0) : at + 4] for value in VALUE.findall(line)}
    if not found:
        return []
    one = rng.choice(found)
    others = sorted(near - {one[0]})
    return (
        [lines[at][: one.start()] + rng.choice(others) + lines[at][one.end() :]] if others else []
    )


def word(rng: random.Random, lines: list[str], at: int) -> list[str]:
    changed = [
        re.sub(rf"\b{one}(?=\W|\b)", other, lines[at], count=1)
        for group in WORDS
        for one in group
        for other in group
        if one and one != other
    ]
    changed = [line for line in changed if line != lines[at]]
    return [rng.choice(changed)] if changed else []


CHANGES: list[Callable[[random.Random, list[str], int], list[str]]] = [
    drop,
    swap,
    number,
    operand,
    word,
]


def draw(rng: random.Random, text: str) -> Edit:
    lines = text.splitlines()
    places = [i for i in workers_of(text) if OP.match(lines[i]) or "tiles(<" in lines[i]]
    while True:
        at, change = rng.choice(places), rng.choice(CHANGES)
        if changed := change(rng, lines, at):
            replaced = 2 if change is swap else 1
            edited = [*lines[:at], changed[0], *lines[at + replaced :]]
            return Edit(
                change.__name__,
                at + 1,
                "\n".join(lines[at : at + replaced]),
                changed[0],
                "\n".join(edited) + "\n",
            )


@dataclass(frozen=True)
class Stage:
    """What a pass left behind, and the passes that follow."""

    name: str
    text: str
    rest: tuple[str, ...]


@dataclass(frozen=True)
class Program:
    stages: tuple[Stage, ...]
    ptx: str

    @staticmethod
    def of(root: Path, tool: Tool, mask: str, head_dim: int) -> Program:
        """The dumps of one run of the whole pipeline, whose own word is taken for its passes and
        their order. A pass that only looks leaves no stage: an edit behind it is one behind the
        pass before, which it has looked at."""
        example = root / f"dialects/dash/examples/bwd-{mask}.mlir"
        source = example.read_text(encoding="utf-8").replace("x128xbf16", f"x{head_dim}xbf16")
        output = tool.path(f"unedited-{mask}-{head_dim}").resolve()
        command = [
            tool.dash_opt,
            f"--dash-to-ptx={PIPELINE} output={output}",
            "-o",
            "/dev/null",
            "--dump-pass-pipeline",
            "--mlir-print-ir-after-all",
        ]
        done = subprocess.run(command, input=source, capture_output=True, check=False, text=True)
        if done.returncode:
            raise RuntimeError(f"the unedited program is refused: {done.stderr[-1000:]}")
        passes = re.findall(
            r"^  (dash-[\w-]+(?:\{.*?\})?),?$", done.stderr.split("IR Dump After", 1)[0], re.M
        )
        parts = re.split(
            r"^// -----// IR Dump After \w+ \((\S+)\) //----- //\n", done.stderr, flags=re.M
        )
        dumps = [text for name, text in zip(parts[1::2], parts[2::2]) if name.startswith("dash-")]
        stages, before = [], ""
        for i, (one, text) in enumerate(zip(passes, dumps)):
            rest = [other for other in passes[i + 1 :] if not other.startswith("dash-emit-ptx")]
            if text != before and workers_of(text):
                stages.append(Stage(one.split("{")[0], text, tuple(rest)))
            before = text
        stages = stages[: 1 + [stage.name for stage in stages].index("dash-lower-roles")]
        program = Program(tuple(stages), output.with_suffix(".ptx").read_text(encoding="utf-8"))
        if wrong := differs(program.ptx, output.with_suffix(".json")):
            raise RuntimeError(f"the unedited program is wrong: {wrong}")
        return program


@cache
def program_of(root: Path, tool: Tool, number: int) -> Program:
    return Program.of(root, tool, *PROGRAMS[number])


def differs(ptx: str, manifest: Path) -> str:
    """What the machine says against a kernel."""
    try:
        for walks in WALKS:
            ptx_order.run(ptx, json.loads(manifest.read_text(encoding="utf-8")), walks)
    except ptx_order.Wrong as wrong:
        return str(wrong)
    # What no kernel may ask of it.
    except (ArithmeticError, LookupError, TypeError, ValueError) as wrong:
        return f"{type(wrong).__name__}: {wrong}"
    return ""


def run_with(tool: Tool, stage: Stage, text: str) -> tuple[str, str]:
    """What comes of a text, and the command."""
    source, output = tool.path("edited.mlir"), tool.path("edited")
    source.write_text(text, encoding="utf-8")
    ends = [
        at for at, one in enumerate(stage.rest) if one.startswith("dash-verify-stage{after=Target")
    ]
    passes = [
        *stage.rest[: ends[0]],
        f"dash-emit-ptx{{output={output.resolve()}}}",
        *stage.rest[ends[0] :],
    ]
    done = tool.run(
        str(source), f"--pass-pipeline=builtin.module({','.join(passes)})", "-o", "/dev/null"
    )
    return (
        done.fault() or ("refused" if done.code else ""),
        f"{done.command}\n  {done.errors.strip()[:1500]}",
    )


def outcome(tool: Tool, program: Program, stage: Stage, edit: Edit) -> tuple[str, str]:
    found, told = run_with(tool, stage, edit.text)
    if found:
        return found, told
    ptx = tool.path("edited.ptx").read_text(encoding="utf-8")
    if ptx == program.ptx:
        return "the same", told
    wrong = differs(ptx, tool.path("edited.json"))
    if wrong and stage.name in HELD_BY_MACHINE:
        return "found in the PTX", told
    return f"silent: {wrong}" if wrong else "in order", told


FINE = ("refused", "the same", "in order", "found in the PTX")


def check(root: Path, folder: Path, dash_opt: str, seed: int, index: int) -> tuple[str, str]:
    """The edit of an index: its outcome, and if it must not be, its story."""
    number = seed * 1_000_000 + index
    rng, tool = random.Random(number), Tool(dash_opt, folder)
    program = program_of(root, tool, (seed - 1 + index // EDITS_A_PROGRAM) % len(PROGRAMS))
    stage = program.stages[number % len(program.stages)]
    edit = draw(rng, stage.text)
    found, told = outcome(tool, program, stage, edit)
    if found in FINE:
        return found, ""
    kept = folder / f"edit-{hashlib.sha256(edit.text.encode()).hexdigest()[:12]}.mlir"
    kept.write_text(edit.text, encoding="utf-8")
    return (
        found,
        (
            f"{found}\n  {edit.what} behind {stage.name}, seed {number}, line {edit.line} of"
            f" {kept}\n  - {edit.before.strip()}\n  + {edit.after.strip()}\n  {told}"
        ),
    )
