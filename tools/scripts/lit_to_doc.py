#!/usr/bin/env python3
"""Fills the examples of a page with what the tests show, so that a page cannot say what the tool
does not do.

A description in a .td file, or a page, names a lit test in a line of its own where an example
belongs:

    (* example filepath=test/Schedule/shift.mlir *)         in a description: replaced
    <!-- example filepath=test/Schedule/shift.mlir -->      in a page: stays, unseen, above what it brings

and this script puts the test's command, its input and the output of running it there. Fields after
filepath:

    run=2          its second RUN line; the first without it
    show=output    of command, input and output only these, separated by commas

With an end marker in the page, `<!-- end example -->`, what stands between the two is replaced: so
a page in git can be read as it is, --write refreshes it and --check refuses one that is out of
date.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import house

BEGIN = re.compile(
    r"^(?P<indent>[ \t]*)(?P<open><!--|\(\*) example (?P<fields>[^>*\n]*?)[ \t]*(?:-->|\*\))["
    r" \t]*\n",
    re.M,
)
END = "<!-- end example -->"
RUN = re.compile(r"^\s*(?://|#|;)\s*RUN:\s*(.*)$")
# Lines of a test that speak to lit and FileCheck, not to a reader.
SCAFFOLD = re.compile(
    r"^\s*(?://|#)\s*(?:RUN|REQUIRES|UNSUPPORTED|XFAIL|[A-Z][A-Z0-9_-]*(?:-(?:NEXT|SAME|NOT|DAG|LABEL|"
    r"EMPTY|COUNT-\d+))?):"
)
PARTS = ["command", "input", "output"]


class Failure(Exception):
    """A message for the user; `main` adds the page and line."""


@dataclass
class Example:
    """One marker of a page."""

    path: Path
    run: int
    show: list


def parse_fields(text):
    fields = dict(word.split("=", 1) for word in text.split() if "=" in word)
    unknown = set(fields) - {"filepath", "run", "show"}
    if unknown or "filepath" not in fields:
        raise Failure(f"expected filepath=, and optionally run= and show=, found '{text}'")
    show = fields.get("show", ",".join(PARTS)).split(",")
    if set(show) - set(PARTS):
        raise Failure(
            f"expected show= to list some of {', '.join(PARTS)}, found '{fields['show']}'"
        )
    if not fields.get("run", "1").isdigit() or fields.get("run") == "0":
        raise Failure(f"expected run= to be the number of a RUN line, found '{fields['run']}'")
    return Example(Path(fields["filepath"]), int(fields.get("run", "1")), show)


def run_lines(text):
    """The RUN lines of a test; one that is continued stays broken where it is, as a shell reads it
    too."""
    lines, open_line = [], False
    for line in text.splitlines():
        match = RUN.match(line)
        if not match:
            open_line = False
            continue
        part = match[1].strip()
        if open_line:
            lines[-1] += " \\\n  " + part
        else:
            lines.append(part)
        open_line = lines[-1].endswith("\\")
        lines[-1] = lines[-1].rstrip("\\").strip()
    return lines


def command_of(example, text):
    """The command of the RUN line up to where a checker takes over."""
    lines = run_lines(text)
    if len(lines) < example.run:
        raise Failure(
            f"expected at least {example.run} RUN line(s) in {example.path}, found {len(lines)}"
        )
    return re.split(r"\|\s*(?:FileCheck|not|count|diff|cmp)\b", lines[example.run - 1])[0].rstrip(
        " \\\n"
    )


def reader_input(text):
    lines = [line for line in text.splitlines() if not SCAFFOLD.match(line)]
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines))
    return text.strip("\n")


def output_of(root, bin_dir, command, path):
    examples = root / "dialects" / "dash" / "examples"
    for name, value in (
        ("%dash_examples", examples),
        ("%dash_src", root),
        ("%python", sys.executable),
        ("%s", root / path),
    ):
        command = command.replace(name, str(value))
    left = re.search(r"%\{?[A-Za-z_]\w*", command)
    if left:
        raise Failure(
            "expected a RUN line of %s, %python, %dash_src and %dash_examples only, found"
            f" '{left[0]}' in {path}"
        )
    search = os.pathsep.join([str(bin_dir), str(house.LLVM_BIN), os.environ["PATH"]])
    with tempfile.TemporaryDirectory() as scratch:  # for what -o FILE leaves
        result = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            cwd=scratch,
            env={**os.environ, "PATH": search},
            capture_output=True,
            text=True,
            check=False,
        )
    if result.returncode:
        raise Failure(
            f"expected the command of {path} to succeed, found status {result.returncode}:\n"
            f"  {command}\n{result.stderr.strip()}"
        )
    return (result.stdout or result.stderr).strip("\n")


def render(root, bin_dir, example):
    source = root / example.path
    if not source.is_file():
        raise Failure(f"expected a test at {example.path}, found no such file")
    text = house.read(source)
    command = command_of(example, text)
    shown = (
        command.replace("%dash_examples/", "dialects/dash/examples/")
        .replace("%s", str(example.path))
        .replace("%python", "python3")
    )
    language = {".mlir": "mlir", ".py": "python"}.get(source.suffix, "")
    blocks = {
        "command": lambda: ("Command", "sh", shown.replace("%dash_src/", "")),
        "input": lambda: ("Input", language, reader_input(text)),
        "output": lambda: ("Output", "", output_of(root, bin_dir, command, example.path)),
    }
    lines = []
    for part in example.show:
        title, tag, body = blocks[part]()
        if len(example.show) > 1:
            lines += [f"{title}:", ""]
        lines += [f"```{tag}", *body.splitlines(), "```", ""]
    return lines[:-1]


def expand(root, bin_dir, page, keep_end):
    """The page with all its examples filled in."""
    text, done = house.read(page), 0
    result = []
    for match in BEGIN.finditer(text):
        if match.start() < done:
            continue
        number = text.count("\n", 0, match.start()) + 1
        try:
            lines = render(root, bin_dir, parse_fields(match["fields"]))
        except Failure as failure:
            raise Failure(f"{page}:{number}: {failure}") from None
        kept = match["open"] == "<!--"
        result.append(text[done : match.end() if kept else match.start()])
        done = match.end()
        if not kept:
            result.append("".join(f"{match['indent']}{line}".rstrip() + "\n" for line in lines))
            continue
        following = BEGIN.search(text, done)
        end = text.find(END, done, following.start() if following else len(text))
        block = "".join(f"{match['indent']}{line}".rstrip() + "\n" for line in lines)
        if end >= 0:
            done = end + len(END)
            block += match["indent"] + END
        elif keep_end:
            raise Failure(
                f"{page}:{number}: expected {END} after the example, found none; add it below the"
                " marker"
            )
        result.append(block)
    return "".join(result) + text[done:]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "pages", type=Path, nargs="*", help="all pages of the project that have a marker by default"
    )
    parser.add_argument("--root", type=Path, default=house.ROOT, help="what filepath= starts from")
    parser.add_argument(
        "--bin", type=Path, default=house.ROOT / "build" / "bin", help="where dash-opt is"
    )
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument(
        "--output", type=Path, help="write the page there; standard output without it"
    )
    mode.add_argument("--write", action="store_true", help="refresh the pages in place")
    mode.add_argument("--check", action="store_true", help="refuse pages that are out of date")
    arguments = parser.parse_args()
    pages = arguments.pages or [
        arguments.root / page
        for page in house.project_files(arguments.root, ".md")
        if BEGIN.search(house.read(arguments.root / page))
    ]
    stale = 0
    for page in pages:
        try:
            text = expand(
                arguments.root, arguments.bin.resolve(), page, arguments.write or arguments.check
            )
        except (Failure, OSError) as failure:
            sys.exit(f"error: {failure}")
        if arguments.check:
            if text != house.read(page):
                print(
                    f"{page}:1: expected its examples to be what the tests print, found others; "
                    f"run: tools/scripts/lit_to_doc.py --write {page}"
                )
                stale += 1
        elif arguments.write:
            page.write_text(text, encoding="utf-8")
        elif arguments.output:
            arguments.output.parent.mkdir(parents=True, exist_ok=True)
            arguments.output.write_text(text, encoding="utf-8")
        else:
            sys.stdout.write(text)
    sys.exit(1 if stale else 0)


if __name__ == "__main__":
    main()
