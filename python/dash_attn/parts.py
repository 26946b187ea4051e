"""Into how many parts the query heads of a kv head are cut: as many as `kind=auto` takes, where few heads meet many multiprocessors."""

from __future__ import annotations

import ctypes
import functools
import json

from .compiler import compile_program
from .library import HANDLER, Handle, Size, StringRef, check, library, make
from .problem import Wanted, program_of

FEW = 4  # kv tiles for each worker: with more of them, parts save less than asking takes
ROWS = 64  # a tile of q: sizes that have the same tiles have the same parts


def parts_for(wanted: Wanted, batch: int, heads: int, kv_heads: int, q_rows: int, kv_rows: int) -> int:
    """wanted: of one part. Follows from these numbers alone, and so do the bits."""
    if heads == kv_heads or wanted.is_list:
        return 1
    return _choose(wanted, batch, heads, kv_heads, *(-(-rows // ROWS) * ROWS for rows in (q_rows, kv_rows)))


@functools.lru_cache(maxsize=4096)
def _choose(wanted: Wanted, *sizes: int) -> int:
    manifest, workers, kv_tile = _about(wanted)
    batch, _, kv_heads, _, kv_rows = sizes
    if batch * kv_heads * -(-kv_rows // kv_tile) >= FEW * workers:
        return 1
    names = (b"batch", b"heads", b"kv_heads", b"q_rows", b"kv_rows")
    given = (Size * len(names))(*(Size(StringRef.of(name), value) for name, value in zip(names, sizes)))
    parts = ctypes.c_int64()
    check(library().dashPlannerChooseParts(_planner(), StringRef.of(manifest), given, len(names), HANDLER, None, ctypes.byref(parts)))
    return parts.value


@functools.lru_cache(maxsize=None)
def _about(wanted: Wanted) -> tuple[bytes, int, int]:
    """The manifest of one part, its workers, and the rows of its kv tiles."""
    program, options, name = program_of(wanted)
    (compiled,) = compile_program(program, options, name=name)
    about = json.loads(compiled.manifest)["program"]
    return compiled.manifest.encode(), about["workers"], about["tiles"]["kv"]


@functools.lru_cache(maxsize=None)
def _planner() -> Handle:
    """Of the process; never given back."""
    return make(library().dashPlannerCreate)
