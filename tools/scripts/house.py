"""What the house hooks share: the files of the project, and how a finding is reported.

A hook is a script that prints one line per finding, `path:line: expected ..., found ...; what to
do`, and exits with 1 if there was one. Each takes --root, so that the tests in test/House can show
it a small tree that breaks its rule.
"""

import argparse
import os
import re
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LLVM_BIN = Path(os.environ.get("DASH_LLVM_BIN", "/usr/lib/llvm-22/bin"))
SHEBANG = re.compile(r"#!.*\b(python|bash|sh)[0-9.]*\b")
LANGUAGES = {"py": "python", "sh": "shell", "cmake": "cmake"}


def parse_arguments(description, **more):
    """Reads --root and, for each keyword, one more positional or flag given as keyword arguments of
    argparse."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(
        "--root", type=Path, default=ROOT, help="the tree to check; this project by default"
    )
    for name, options in more.items():
        parser.add_argument(name if options.pop("positional", False) else f"--{name}", **options)
    return parser.parse_args()


def project_files(root, *suffixes):
    """Paths relative to root of the files with one of the suffixes: tracked or new, not ignored.
    Sorted."""
    command = ["git", "-C", str(root), "ls-files", "-co", "--exclude-standard"]
    if (root / ".git").exists():
        listing = subprocess.run(command, capture_output=True, text=True, check=False)
    else:
        listing = None
    if listing is not None and listing.returncode == 0:
        paths = [Path(line) for line in listing.stdout.splitlines()]
    else:  # a fixture, or a copy without its history
        paths = [path.relative_to(root) for path in root.rglob("*") if path.is_file()]
        paths = [path for path in paths if not path.parts[0].startswith("build")]
    # Fixtures break the rules on purpose.
    paths = [path for path in paths if "Inputs" not in path.parts and (root / path).is_file()]
    return sorted(path for path in set(paths) if not suffixes or path.suffix in suffixes)


def language_of(root, path):
    """python, shell or cmake, by the ending; by the first line where there is none. None for other
    files."""
    name = path.name.removesuffix(".in") if path.name.endswith(".cmake.in") else path.name
    if name == "CMakeLists.txt":
        return "cmake"
    if "." in name:
        return LANGUAGES.get(name.rpartition(".")[2])
    with open(root / path, encoding="utf-8", errors="replace") as file:
        match = SHEBANG.match(file.readline(200))
    if match is None:
        return None
    return "python" if match[1] == "python" else "shell"


def files_in(root, language):
    """Those of `project_files` that are in a language, as `language_of` has it."""
    return [path for path in project_files(root) if language_of(root, path) == language]


def read(path):
    return Path(path).read_text(encoding="utf-8")


def circle_in(graph):
    """Modules of which each asks for the next, and the last the first, beginning with the first by
    name; None if there are none. `graph` has a set or dict of modules for each."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        # Which names the first import, and the first again at its end.
        circle = error.args[1][:0:-1]
        first = circle.index(min(circle))
        return circle[first:] + circle[:first]
    return None


class Findings:
    """Collects findings; `finish` prints them and ends the script."""

    def __init__(self, what):
        self.what = what
        self.lines = []

    def add(self, path, line, message):
        self.lines.append(f"{path}:{line}: {message}")

    def finish(self):
        for line in self.lines:
            print(line)
        if self.lines:
            print(f"{self.what}: {len(self.lines)} to repair")
        sys.exit(1 if self.lines else 0)
