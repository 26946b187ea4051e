"""The ops, attributes and passes that the .td files define, as TableGen itself reads them."""

import json
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import house

KINDS = {"Op": "op", "AttrDef": "attribute", "PassBase": "pass"}


@dataclass
class Entry:
    """One op, attribute or pass."""

    kind: str  # op, attribute or pass
    name: str  # attention_bwd, or the flag dash-apply-schedule
    record: str  # the TableGen name: Dash_AttentionBwdOp, ApplySchedule
    path: Path  # of its .td file, relative to the root
    line: int
    summary: str
    description: str
    has_verifier: bool = False
    options: list = field(default_factory=list)  # (name, description) of a pass

    @property
    def stage(self):
        return self.path.parts[2]  # dialects/dash/<Stage>/File.td


def records_of(root, path):
    """Everything that one .td file says, with what it includes, as llvm-tblgen's JSON."""
    tool = house.LLVM_BIN / "llvm-tblgen"
    include_dirs = [root / "dialects", house.LLVM_BIN.parent / "include"]
    command = [
        str(tool),
        "--dump-json",
        *(f"-I{directory}" for directory in include_dirs),
        str(root / path),
    ]
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        sys.exit(
            f"error: expected llvm-tblgen at {tool}, found: {error}; run tools/check, or set"
            " DASH_LLVM_BIN"
        )
    if result.returncode:
        sys.exit(f"error: {path} is not valid TableGen:\n{result.stderr}")
    return json.loads(result.stdout)


def line_of(root, path, record):
    """Where a record is defined in its own file; 0 if it comes from an included one."""
    for number, line in enumerate(house.read(root / path).splitlines(), 1):
        words = line.replace(":", " ").replace("<", " ").split()
        if words[:1] in (["def"], ["defm"]) and words[1:2] == [record]:
            return number
    return 0


def entry(root, path, record, values):
    kind = next((KINDS[name] for name in values["!superclasses"] if name in KINDS), None)
    line = kind and not values["!anonymous"] and line_of(root, path, record)
    if not line:
        return None
    name = (
        values["argument"]
        if kind == "pass"
        else values.get("opName") or values.get("mnemonic") or record
    )
    options = [(option["def"], "") for option in values.get("options") or []]
    return Entry(
        kind,
        name,
        record,
        path,
        line,
        (values.get("summary") or "").strip(),
        values.get("description") or "",
        bool(values.get("hasVerifier")),
        options,
    )


def entries(root):
    """All entries below dialects/dash, sorted by file and line. A file is read for what it defines
    itself."""
    found = []
    for path in house.project_files(root, ".td"):
        if path.parts[:2] != ("dialects", "dash"):
            continue
        everything = records_of(root, path)
        for record, values in everything.items():
            if not isinstance(values, dict) or "!superclasses" not in values:
                continue
            one = entry(root, path, record, values)
            if one:
                one.options = [
                    (everything[name]["argument"], everything[name]["description"])
                    for name, _ in one.options
                ]
                found.append(one)
    return sorted(found, key=lambda one: (one.path, one.line))
