"""PTX of an entry as a list of instructions."""

from __future__ import annotations

import re
from dataclasses import dataclass

LABEL = re.compile(r"([$\w]+):")
LINE = re.compile(r"(?:@(!?)([%\w]+)\s+)?([a-z][\w.:]*)\s*(.*);")
REGISTER = re.compile(r"%(?:r|rd|rs|p|f)\d+")
TARGETS = re.compile(r"(\$\w+): \.branchtargets\s+([^;]*);")


class Wrong(Exception):
    """What the kernel must not do."""


@dataclass
class Instruction:
    text: str
    unless: bool
    guard: str
    name: str
    operands: list[str]
    registers: frozenset[str]


def operands_of(text: str) -> list[str]:
    """Split at commas outside of braces and brackets."""
    return [
        part.strip()
        for part in re.findall(r"(?:\{[^}]*\}|\[(?:[^\]{]|\{[^}]*\})*\]|[^,{\[])+", text)
        if part.strip()
    ]


def parse(text: str, entry: str) -> tuple[list[Instruction], dict[str, int], list[str]]:
    """Instructions, labels and parameters of an entry. Labels in braces are local to them; a
    `brx.idx` names all its targets."""
    found = re.search(rf"^\.visible \.entry {entry}\((.*?)\).*?^\{{", text, re.M | re.S)
    if not found:
        raise Wrong(f"expected an entry '{entry}', found none")
    parameters = re.findall(r"\.param [^,]*?(\w+)\s*(?:,|$)", found[1])
    code, labels, blocks, block = [], {}, 0, ""
    depth, body = 1, text[found.end() :].split(".visible .entry")[0]
    tables = dict(TARGETS.findall(body))
    for raw in TARGETS.sub("", body).splitlines():
        line = re.sub(r"\s+", " ", raw.split("//")[0]).strip()
        if line in ("{", "}"):
            depth += 1 if line == "{" else -1
            if depth == 0:
                break
            blocks += line == "{"
            block = f"#{blocks}" if depth > 1 else ""
        elif label := LABEL.fullmatch(line):
            labels[label[1] + block] = len(code)
        elif line and not line.startswith("."):
            part = LINE.fullmatch(line)
            if not part:
                raise Wrong(f"expected an instruction, got '{line}'")
            name, operands = part[3], operands_of(part[4])
            if name.startswith("bra"):
                name, operands = (
                    "bra",
                    [operands[0] + block if not operands[0].startswith("$") else operands[0]],
                )
            elif name.startswith("brx"):
                operands = [operands[0], *operands_of(tables[operands[1]])]
            code.append(
                Instruction(
                    line,
                    part[1] == "!",
                    part[2] or "",
                    name,
                    operands,
                    frozenset(REGISTER.findall(line)),
                )
            )
    return code, labels, parameters
