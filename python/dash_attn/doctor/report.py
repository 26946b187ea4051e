"""A bug report: a .zip of what a maintainer needs to see the same, and nothing private. Paths,
names of users and of machines, and variables of the environment but those that are named here do
not come in; programs and manifests are dash's own, or what the user named by --program."""

from __future__ import annotations

import getpass
import json
import os
import platform
import re
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..support.files import appears
from . import machine
from .calls import Answer

QUOTED = re.compile(r"(['\"])~?/[^'\"]*\1")
BARE = re.compile(r"(?<![\w.])~?/[\w.@+-][^\s'\",;:)]*")
SHOWN = re.compile(r"[\w.,:=+-]*")  # of a variable: no path
LEAST = 2  # characters of a name that is looked for
OURS = {"dash", "root"}  # a user of this name is no secret, and the word stands everywhere
EPOCH = (1980, 1, 1, 0, 0, 0)  # no time of this machine


def without_places(text: str) -> str:
    """Without paths, and without the names of this user and this machine."""
    text = BARE.sub("PATH", QUOTED.sub("'PATH'", text))
    for name, word in _names().items():
        text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", word, text, flags=re.IGNORECASE)
    return text


def _names() -> dict[str, str]:
    found = {
        platform.node(): "HOST",
        platform.node().partition(".")[0]: "HOST",
        os.environ.get("HOSTNAME", ""): "HOST",
        Path(os.environ.get("HOME", "")).name: "USER",
    }
    with suppress(OSError, KeyError, ImportError):
        found[getpass.getuser()] = "USER"
    return {
        name: word
        for name, word in found.items()
        if len(name) >= LEAST and name.lower() not in OURS
    }


def shared(value: Any) -> Any:
    """JSON as a report may have it."""
    if isinstance(value, dict):
        return {name: shared(one) for name, one in value.items() if name != "path"}
    if isinstance(value, (list, tuple)):
        return [shared(one) for one in value]
    return without_places(value) if isinstance(value, str) else value


def write(path: Path, found: dict[str, Any], answers: Sequence[Answer]) -> None:
    """found: of `machine.look`."""
    variables = {
        name: value if SHOWN.fullmatch(value) else "is set"
        for name, value in found["environment"].items()
    }
    about = shared({**found, "environment": variables})
    files = {
        "doctor.json": _json(
            {"machine": about, "calls": [shared(one.as_json()) for one in answers]}
        ),
        "doctor.txt": (
            "\n\n".join(
                [machine.text_of(about), *(without_places(str(one)) for one in answers)]
            ).encode()
            + b"\n"
        ),
        "reproduce.py": Path(__file__).with_name("reproduce.py").read_bytes(),
    }
    for number, one in enumerate(answers):
        for kernel, (told, texts) in enumerate(zip(one.kernels, one.files)):
            place = f"call{number}/kernel{kernel}"
            files |= {f"{place}/{name}": text for name, text in texts.items()}
            files[f"{place}/kernel.json"] = _json(
                {**told, "asked": one.asked, "first_call": shared(told["first_call"])}
            )
    with appears(path) as part, zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, EPOCH), content, zipfile.ZIP_DEFLATED)


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=1) + "\n").encode()
