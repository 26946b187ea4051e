"""Compiled programs, kept for later processes in folders named `programs`.

A first call compiles its program, which takes half a second, and has it assembled, which takes
two. Folders beside libdash and among the user's cached files keep both:

  KEY.program     what the compiler made of a program, but for its PTX
  HASH.ptx        PTX of this hash, which programs with tables share
  HASH.cubin      the code assembled from it, read by libdash when it loads the PTX

Each file begins with the line `sha256 HASH`, of everything after it. KEY names the program, its
options and the build of libdash, so another build compiles anew.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import logging
import os
import struct
import time
import zlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from ..support.files import appears, read_bytes
from .compiler import Compiled, compile_program
from .library import library

log = logging.getLogger("dash_attn")
MOST_BYTES = 1 << 26  # of a file
MOST_OF_FOLDER = 1 << 28  # of the user's; the oldest go
SLOW = 0.2  # seconds that are worth a line in the log
ADVICE = "`python3 -m dash_attn.cubin --all` does so ahead of the first call"
NOTES, GNU_BUILD_ID = 4, 3  # of ELF


def compiled_program(program: str, options: str, name: str) -> Compiled:
    """What the compiler makes of a program with one function: kept by an earlier process, or
    new."""
    key = key_of(program, options, name)
    for folder, is_users in folders():
        if (found := _find(folder, key, is_users)) is not None:
            return found
    begun = time.perf_counter()
    (made,) = compile_program(program, options, name=name)
    tell("compiled", name, time.perf_counter() - begun)
    if key and (users := users_folder()):
        with contextlib.suppress(OSError):  # a full disk, or no right to write
            keep_program(users, key, made)
            _trim(users)
    return made


def tell(what: str, name: str, seconds: float) -> None:
    """Says in the log what a call waited for."""
    if seconds > SLOW:
        log.info("%s '%s' in %.1f s; %s", what, name, seconds, ADVICE)


def key_of(program: str, options: str, name: str) -> str:
    """The key of a file. Empty where libdash does not say which build it is: then nothing is
    kept."""
    build = build_id()
    return (
        hashlib.sha256("\n".join((build, name, options, program)).encode()).hexdigest()
        if build
        else ""
    )


def keep_program(folder: Path, key: str, made: Compiled) -> None:
    ptx_hash = hashlib.sha256(made.ptx).hexdigest()
    fields = {
        "name": made.name,
        "manifest": made.manifest,
        "ptx": ptx_hash,
        "order": base64.b64encode(made.order).decode(),
    }
    write_kept(folder / f"{ptx_hash}.ptx", zlib.compress(made.ptx, 9))
    write_kept(folder / f"{key}.program", zlib.compress(json.dumps(fields).encode(), 9))


def write_kept(path: Path, content: bytes) -> None:
    """As `_read` and libdash's findKept read it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with appears(path) as part:
        part.write_bytes(
            b"sha256 " + hashlib.sha256(content).hexdigest().encode() + b"\n" + content
        )


def has_kept(path: Path) -> bool:
    return _read(path, False) is not None


def folders() -> Iterator[tuple[Path, bool]]:
    """Each with whether only files of this user count there. Beside libdash, files are trusted as
    it is."""
    yield shipped_folder(), False
    if users := users_folder():
        yield users, True


def shipped_folder() -> Path:
    return Path(os.path.abspath(library()._name)).parent / "programs"


def users_folder() -> Path | None:
    """In the folder of libdash's caches (include/dash/Support/CacheFolder.h). None where nothing is
    kept."""
    found = cache_folder()
    return found and found / "programs"


def cache_folder() -> Path | None:
    if named := os.environ.get("DASH_CACHE"):
        return None if named == "off" else Path(named)
    for name, below in (("XDG_CACHE_HOME", ""), ("HOME", ".cache")):
        if (at := os.environ.get(name, "")).startswith("/"):
            return Path(at, below, "dash")
    return None


@cache
def build_id() -> str:
    """What the linker made of libdash's content, in hexadecimal digits; empty where it made
    nothing."""
    with open(library()._name, "rb") as file, contextlib.suppress(struct.error):
        head = file.read(64)
        (at,), (size, count) = (
            struct.unpack_from("<Q", head, 32),
            struct.unpack_from("<HH", head, 54),
        )
        for number in range(count if head[:5] == b"\x7fELF\x02" else 0):
            file.seek(at + number * size)
            kind, _, offset, _, _, length = struct.unpack("<IIQQQQ", file.read(40))
            if kind == NOTES and length < 1 << 16:
                file.seek(offset)
                if found := _build_id_in(file.read(length)):
                    return found
    return ""


def _build_id_in(notes: bytes) -> str:
    at = 0
    while at + 12 <= len(notes):
        of_name, of_content, kind = struct.unpack_from("<III", notes, at)
        content = at + 12 + (of_name + 3) // 4 * 4
        if kind == GNU_BUILD_ID and notes[at + 12 : at + 12 + of_name] == b"GNU\0":
            return notes[content : content + of_content].hex()
        at = content + (of_content + 3) // 4 * 4
    return ""


def _read(path: Path, is_users: bool) -> bytes | None:
    """What a file keeps. None where it is not there, is damaged, or another user wrote it."""
    try:
        if is_users and (path.is_symlink() or path.stat().st_uid != os.geteuid()):
            return None
        head, _, content = read_bytes(path, MOST_BYTES).partition(b"\n")
    except (OSError, ValueError):
        return None
    return content if head == b"sha256 " + hashlib.sha256(content).hexdigest().encode() else None


def _find(folder: Path, key: str, is_users: bool) -> Compiled | None:
    if not key or (about := _read(folder / f"{key}.program", is_users)) is None:
        return None
    fields = json.loads(zlib.decompress(about))
    if (ptx := _read(folder / f"{fields['ptx']}.ptx", is_users)) is None:
        return None
    return Compiled(
        fields["name"], zlib.decompress(ptx), fields["manifest"], base64.b64decode(fields["order"])
    )


def _trim(folder: Path) -> None:
    files = sorted(
        (
            (status.st_mtime, status.st_size, path)
            for path in folder.iterdir()
            for status in [path.stat()]
        ),
        reverse=True,
    )
    total = 0
    for _, size, path in files:
        total += size
        if total > MOST_OF_FOLDER:
            path.unlink(missing_ok=True)
