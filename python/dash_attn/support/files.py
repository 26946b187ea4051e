"""Files that appear whole under their names, or not at all; and files that a stranger may have
made."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LONGEST = 200  # of a name, that something is put behind


@contextmanager
def appears(path: Path) -> Iterator[Path]:
    """Gives a file beside `path` to write to, which takes its place at the end; nothing is left
    of one that was not finished.

    Its name cannot be guessed and is not taken yet, so no link that lies there is followed. It
    has the mode that any new file has, and is on the disk before it takes the place. What is
    there and is no file, such as /dev/stdout, is given itself. A link is replaced, and not what
    it points to.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        yield path
        return
    part = _make_beside(path)
    try:
        yield part
        with part.open("rb") as written:
            os.fsync(written.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _make_beside(path: Path) -> Path:
    """`tempfile.mkstemp`, but with the mode that the umask leaves: asking for that changes it,
    in all threads."""
    while True:
        part = path.with_name(f"{path.name[:LONGEST]}.{secrets.token_hex(8)}.part")
        try:
            os.close(
                os.open(
                    part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666
                )
            )
        except FileExistsError:
            continue
        return part


def write_text(path: Path, text: str) -> None:
    with appears(path) as part:
        part.write_text(text, encoding="utf-8")


def read_text(path: str | Path, most: int = 1 << 28) -> str:
    """What a regular file of at most so many bytes holds, as UTF-8. Raises OSError and
    ValueError."""
    return read_bytes(path, most).decode("utf-8")


def read_bytes(path: str | Path, most: int = 1 << 28) -> bytes:
    """What a regular file of at most so many bytes holds. Nothing else is waited for, or read
    without end. Raises OSError and ValueError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            raise ValueError("expected a regular file, found a folder, a pipe or a device")
        if about.st_size > most:
            raise ValueError(
                f"expected a file of at most {most} bytes, found one of {about.st_size}"
            )
        with open(descriptor, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(descriptor)
