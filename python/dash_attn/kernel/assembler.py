"""ptxas, as libdash finds it and reads what it says (include/dash/Support/Assembler.h): its code
may be right and several times too slow."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

CUDA = "/usr/local/cuda/bin"
GOOD = "that of CUDA 12.4, 12.6 or newer"
_WAITS = re.compile(r".*\(C75\d\d\).*")
_RELEASE = re.compile(r"release [\d.]+, V([\d.]+)")


def find_assemblers() -> list[str]:
    """Those that have a turn, the best first: the program that DASH_PTXAS names, and no other;
    else each ptxas on PATH, and then that of /usr/local/cuda. Each once."""
    if named := os.environ.get("DASH_PTXAS"):
        return [shutil.which(named) or named]
    found: dict[tuple[int, int], str] = {}
    for folder in (*filter(None, os.environ.get("PATH", "").split(os.pathsep)), CUDA):
        if path := shutil.which("ptxas", path=folder):
            status = os.stat(path)
            found.setdefault((status.st_dev, status.st_ino), path)
    return list(found.values())


def packaged_assemblers() -> list[str]:
    """Those that packages bring: Triton, which PyTorch installs, and NVIDIA's compiler. None where
    DASH_PTXAS names one."""
    if os.environ.get("DASH_PTXAS"):
        return []
    places = ("triton/backends/nvidia/bin/ptxas", "nvidia/*/bin/ptxas")
    return [
        str(path)
        for folder in filter(os.path.isdir, sys.path)
        for place in places
        for path in sorted(Path(folder).glob(place))
        if os.access(path, os.X_OK)
    ]


def spell(ptxas: str) -> str:
    """ "'/usr/bin/ptxas' (CUDA 12.3.107)"."""
    try:
        said = subprocess.run(
            [ptxas, "--version"], capture_output=True, text=True, check=False, timeout=20
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        said = ""
    release = _RELEASE.search(said)
    return f"'{ptxas}' ({'CUDA ' + release[1] if release else 'whose version is not known'})"


def find_waits(said: str) -> list[str]:
    """The lines in which an assembler says that products wait for each other. Its status is that
    of success."""
    return [line.strip() for line in _WAITS.findall(said)]


def refusal_of(ptxas: str, status: int, said: str) -> str | None:
    """Why what it made is not used, if so: with its name, its version and its words."""
    if status:
        return f"{spell(ptxas)} refuses the PTX: {said.strip()}; expected {GOOD}"
    waits = find_waits(said)
    return (
        f"{spell(ptxas)} lets products wait for each other: {waits[0]}; expected {GOOD}"
        if waits
        else None
    )
