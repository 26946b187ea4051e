"""Files that appear whole under their names, or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def appears(path: Path) -> Iterator[Path]:
    """Gives a file beside `path` to write to, which takes its place at the end; nothing is left of one that was not finished."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
