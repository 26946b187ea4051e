"""Runs dash-opt, and tells a refusal from a crash."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CRASH = re.compile(
    r"Stack dump|PLEASE submit|Assertion .* failed|terminate called|LLVM ERROR|runtime error:"
)
# file:line:column, or where a split of a file is: file:first line offset :line:column.
LOCATED = re.compile(r":\d+:\d+\)?: error: \S")
# Options are read before there is any input to point at.
OPTION = re.compile(
    r"<Pass-Options-Parser>|failed to add `|for the -|invalid argument|Unknown command line"
    r"|Cannot find option named|no such option|missing argument|invalid properties|option parsing"
)


@dataclass(frozen=True)
class Done:
    """A run that ended, or was ended after its time."""

    code: int | None
    errors: str
    command: str

    def told(self, *lines: str) -> list[str]:
        return [*lines, self.errors.strip()[:1500], self.command]

    def is_crash(self) -> bool:
        return (
            self.code is None or self.code < 0 or self.code > 1 or bool(CRASH.search(self.errors))
        )

    def fault(self) -> str | None:
        """What no input whatever may cause: a hang, a crash, or a refusal that does not say
        where."""
        if self.code is None:
            return "hang"
        if crash := CRASH.search(self.errors):
            return f"crash: {crash[0]}"
        if self.code not in (0, 1):
            return f"crash: exit code {self.code}"
        errors = [line for line in self.errors.splitlines() if re.search(r"\berror: ", line)]
        if OPTION.search(self.errors):
            return None
        lost = [line for line in errors if not LOCATED.search(line)]
        if lost:
            return f"no place: {lost[0]}"
        if self.code == 1 and not errors:
            return f"no error: {self.errors.strip()[:200] or 'silence'}"
        return None


@dataclass(frozen=True)
class Tool:
    dash_opt: str
    folder: Path
    seconds: float = 60

    def path(self, name: str) -> Path:
        """A scratch file of this process."""
        return self.folder / f"{os.getpid()}-{name}"

    def run(self, *arguments: str, text: str | None = None) -> Done:
        command = [self.dash_opt, *arguments]
        words = shlex.join(command)
        try:
            done = subprocess.run(
                command,
                input=(text or "").encode("utf-8", "surrogateescape"),
                capture_output=True,
                check=False,
                timeout=self.seconds,
            )
        except subprocess.TimeoutExpired:
            return Done(None, f"more than {self.seconds} s", words)
        return Done(done.returncode, done.stderr.decode("utf-8", "replace"), words)

    def run_text(self, text: str, *arguments: str) -> Done:
        return self.run(*arguments, "-o", "/dev/null", text=text)

    @staticmethod
    def write_json(path: Path, value: Any) -> None:
        path.write_text(json.dumps(value), encoding="utf-8")
