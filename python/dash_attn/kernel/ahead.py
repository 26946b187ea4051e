"""What `attention` asks for, compiled and assembled ahead of the first call.

Kernels serve any sizes, but for one thing: the number of parts that an order cuts a head into is
a constant of its program. `ORDERS` has those that `kind=auto` takes for 97 % of 3,779 sizes: batch
1 to 32, 4 to 64 heads, 1 to 8 of them to a kv head, 128 to 16,384 rows. Others are compiled when
they are first asked for. Above head dim MOST_TOGETHER there are no such orders, and two programs
serve all sizes of a mask.

Forwards of few rows fold query heads: `FOLDED` has what a decoded token takes in groups of 2, 4, 6
and 8 query heads. Groups of 3, 5 and 7 have no folds.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple

from ..errors import ArgumentError, ManifestError
from .assembler import refusal_of as refusal_of_assembler
from .compiler import Compiled, compile_program
from .coverage import ask
from .orders import q_tiles_of
from .problem import (
    ANY_SIZES,
    CAUSAL,
    FULL,
    ROW,
    SEARCHED,
    Wanted,
    Window,
    demand,
    parts_of,
    program_of,
    refusal_of,
)
from .tasks import tiles_of
from .programs import has_kept, keep_program, key_of, shipped_folder, users_folder, write_kept

HeadDims = tuple[int, int]  # of q and k, and of v
# Those of models that are trained: Phi-3 has 96, DeepSeek-V3 192 and 128, Gemma 256.
HEAD_DIMS: tuple[HeadDims, ...] = (
    (64, 64),
    (96, 96),
    (128, 128),
    (192, 192),
    (192, 128),
    (256, 256),
)
ELEMENTS = ("bf16", "f16")
# Query heads of a q tile, at the head dims of Llama, Mistral and Qwen; without sinks.
FOLDED: dict[HeadDims, tuple[int, ...]] = {(64, 64): (2, 4, 8), (128, 128): (2, 4, 8)}

ONE_TILE = 1, 1, 1, 64, 64  # sizes


class Order(NamedTuple):
    """Programs, one for each kind, as `Wanted` has them. Those with tables share their PTX."""

    kinds: tuple[str, ...]
    is_table: bool
    parts: int = 1
    has_runs: bool = False
    apart: str = ""


ORDERS: dict[Window, tuple[Order, ...]] = {
    FULL: (
        Order(("shift", "ascending", SEARCHED, "symmetric-shift"), is_table=True),
        Order(("shift", "symmetric-shift", "ascending"), is_table=False),
        Order(("shift", SEARCHED), is_table=True, parts=2),
        Order(("shift", "ascending"), is_table=True, parts=4, apart="parts"),
        Order((SEARCHED, "shift"), is_table=True, parts=4),
        Order(("ascending", "shift"), is_table=True, parts=8, has_runs=True, apart="parts"),
        Order(("ascending",), is_table=True, parts=16, has_runs=True, apart="parts"),
        Order(("shift", "ascending"), is_table=True, parts=8, apart="parts"),
        Order((SEARCHED,), is_table=True, parts=8),
        Order(("shift",), is_table=False, parts=2),
        Order(("shift", "ascending"), is_table=True, parts=4, has_runs=True, apart="parts"),
        Order(("ascending",), is_table=True, parts=16, has_runs=True, apart="all"),
        Order(("ascending",), is_table=True, parts=4, has_runs=True, apart="all"),
        Order(("ascending",), is_table=True, parts=8, has_runs=True, apart="all"),
        Order((SEARCHED,), is_table=True, parts=8, has_runs=True),
    ),
    CAUSAL: (
        Order((SEARCHED, "ascending", "descending", "symmetric-shift"), is_table=True),
        Order((SEARCHED, "symmetric-shift", "descending"), is_table=True, parts=2),
        Order((SEARCHED, "symmetric-shift"), is_table=True, parts=4),
        Order((SEARCHED,), is_table=True, parts=8, has_runs=True, apart="parts"),
        Order((SEARCHED,), is_table=True, parts=16, has_runs=True, apart="parts"),
        Order((SEARCHED,), is_table=True, parts=4, has_runs=True),
        Order(("descending", "ascending", SEARCHED), is_table=True, parts=4, apart="parts"),
        Order((SEARCHED,), is_table=True, parts=6, has_runs=True, apart="all"),
        Order((SEARCHED,), is_table=True, parts=12, has_runs=True, apart="all"),
        Order(
            (SEARCHED, "descending", "symmetric-shift", "ascending"),
            is_table=True,
            parts=8,
            apart="parts",
        ),
        Order((SEARCHED,), is_table=True, parts=8, has_runs=True, apart="all"),
        Order(("symmetric-shift",), is_table=False),
        Order((SEARCHED,), is_table=True, parts=2, has_runs=True),
        Order((SEARCHED,), is_table=True, parts=8),
        Order((SEARCHED,), is_table=True, parts=8, has_runs=True),
        Order((SEARCHED,), is_table=True, parts=16, has_runs=True, apart="all"),
        Order((SEARCHED,), is_table=True, parts=4, has_runs=True, apart="parts"),
    ),
}


def wanted_programs(head_dims: Sequence[HeadDims], elements: Sequence[str]) -> list[Wanted]:
    """Each once. Raises ArgumentError for what no kernel serves."""
    for head_dim, head_dim_v in head_dims:
        demand(refusal_of(ask(head_dim=head_dim, head_dim_v=head_dim_v)))
    for element in elements:
        demand(refusal_of(ask(element=element)))
    return list(dict.fromkeys(_wanted(head_dims, elements)))


def _wanted(head_dims: Sequence[HeadDims], elements: Sequence[str]) -> Iterator[Wanted]:
    for window, orders in ORDERS.items():
        for dims, element in itertools.product(head_dims, elements):
            one = Wanted(*dims, element, window)
            if len(parts_of(one)) > 1:
                yield from _parts(one)
                continue
            for order in orders:
                sizes = ANY_SIZES if order.is_table else ()
                for kind in order.kinds:
                    of_batch = one._replace(
                        kind=kind,
                        parts=order.parts,
                        has_runs=order.has_runs,
                        sizes=sizes,
                        apart=order.apart,
                    )
                    yield of_batch
                    if order.parts == 1:
                        yield of_batch._replace(has_sink=True)
            for has_sink in (False, True):
                yield one._replace(is_list=True, has_sink=has_sink)
                yield from _forwards(one._replace(has_sink=has_sink))
            yield from _folded(one)


def _parts(one: Wanted) -> Iterator[Wanted]:
    """Programs of head dims that have one for each part of the gradients."""
    passing = one._replace(passes_ds=tiles_of(one, *ONE_TILE) > 0)
    alike = one._replace(is_list=True), passing
    for of_kv, of_q in map(parts_of, dict.fromkeys((one, *alike))):
        yield of_kv
        yield of_q
        if not of_q.is_list:
            yield of_q._replace(sizes=ANY_SIZES)
    yield from _forwards(one)


def _forwards(one: Wanted) -> Iterator[Wanted]:
    """Those of batches, with a table and with formulas, and of packed sequences."""
    for q_tile in q_tiles_of(one):
        forward = one._replace(level=ROW, is_forward=True, q_tile=q_tile)
        yield forward._replace(is_list=True)
        for sizes in (ANY_SIZES, ()):
            yield forward._replace(sizes=sizes)


def _folded(one: Wanted) -> Iterator[Wanted]:
    """Forwards of few rows: so many are short, and batches of them have tables."""
    forward = one._replace(level=ROW, is_forward=True, q_tile=q_tiles_of(one)[-1])
    for fold in FOLDED.get((one.head_dim, one.head_dim_v), ()):
        yield forward._replace(fold=fold, is_list=True)
        yield forward._replace(fold=fold, sizes=ANY_SIZES)


def make(
    folder: Path,
    programs: Sequence[Wanted],
    assemblers: Sequence[str],
    jobs: int,
    tick: Callable[[int, int], None],
) -> tuple[int, int]:
    """Keeps each program and its code in the folder. Returns how many programs and how many codes
    are new. tick: called with how many are done and how many there are."""
    if not key_of("", "", ""):
        raise ArgumentError(
            "expected a libdash with a build ID, found one without; link it with --build-id"
        )
    one = _Maker(folder, assemblers)
    done = 0
    tick(done, len(programs))
    with ThreadPoolExecutor(jobs) as pool:
        for future in as_completed([pool.submit(one.make, wanted) for wanted in programs]):
            future.result()
            done += 1
            tick(done, len(programs))
    return one.programs, one.codes


class _Maker:
    def __init__(self, folder: Path, assemblers: Sequence[str]) -> None:
        self.folder, self.assemblers = folder, assemblers
        self.programs = self.codes = 0
        self._under_way: set[str] = set()

    def make(self, wanted: Wanted) -> None:
        program, options, name = program_of(wanted)
        key = key_of(program, options, name)
        (made,) = compile_program(program, options, name=name)
        if not has_kept(self.folder / f"{key}.program"):
            keep_program(self.folder, key, made)
            self.programs += 1
        ptx_hash = hashlib.sha256(made.ptx).hexdigest()
        path = self.folder / f"{ptx_hash}.cubin"
        if ptx_hash in self._under_way or has_kept(path):
            return
        self._under_way.add(ptx_hash)  # programs with tables share their PTX
        write_kept(path, self._assemble(made))
        self.codes += 1

    def _assemble(self, made: Compiled) -> bytes:
        """By the first assembler that neither refuses the PTX nor makes slow code of it."""
        refusals: dict[str, None] = {}
        target = json.loads(made.manifest)["ptx"]["target"]
        with tempfile.TemporaryDirectory(prefix="dash-ahead-") as at:
            source, code = Path(at, "kernel.ptx"), Path(at, "kernel.cubin")
            source.write_bytes(made.ptx)
            for ptxas in self.assemblers:
                done = subprocess.run(
                    [ptxas, f"-arch={target}", str(source), "-o", str(code)],
                    capture_output=True,
                    text=True,
                    check=False,
                )
                refusal = refusal_of_assembler(ptxas, done.returncode, done.stderr + done.stdout)
                if refusal is None:
                    return code.read_bytes()
                refusals[refusal] = None
        raise ManifestError("\n".join(refusals))


class Bar:
    """Progress on standard error: a bar on a terminal, else a line for each tenth."""

    def __init__(self) -> None:
        self._begun, self._said = time.monotonic(), -1

    def __call__(self, done: int, count: int) -> None:
        seconds, width = time.monotonic() - self._begun, 30
        rest = f", {seconds / done * (count - done):.0f} s left" if 0 < done < count else ""
        text = f"{done} of {count} programs, {seconds:.0f} s{rest}"
        if sys.stderr.isatty():
            filled = width * done // max(count, 1)
            sys.stderr.write(
                f"\r[{'#' * filled}{' ' * (width - filled)}]"
                f" {text}\x1b[K{chr(10) * (done == count)}"
            )
            sys.stderr.flush()
        elif 10 * done // max(count, 1) != self._said:
            self._said = 10 * done // max(count, 1)
            print(text, file=sys.stderr, flush=True)


def usual_jobs() -> int:
    return len(os.sched_getaffinity(0))


def usual_folder() -> Path:
    """Beside libdash, where every user finds it, or the user's own. Raises OSError where there is
    neither."""
    shipped, users = shipped_folder(), users_folder()
    if os.access(shipped if shipped.exists() else shipped.parent, os.W_OK | os.X_OK):
        return shipped
    if users is None:
        raise OSError(
            f"cannot write to {shipped.parent}, and DASH_CACHE keeps nothing; name a folder by --to"
        )
    return users
